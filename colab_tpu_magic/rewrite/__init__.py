"""Turn a captured Keras call into TPU-ready form, rule by rule."""
