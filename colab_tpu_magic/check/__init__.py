"""Say what a training would run into, without training."""
