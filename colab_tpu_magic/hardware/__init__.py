"""Facts about chips, slices and this machine."""
