"""Say what a training would run into, without training. Not named like the function `check`, which it would hide."""
