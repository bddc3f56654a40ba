"""Ask the real TPU compiler about a training step, with no TPU: lower it here, compile it in another process."""
