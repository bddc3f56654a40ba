"""Run the prepared fit, watch it, and keep what happened."""
