"""What watching a fit costs: our dashboard beside the progress bars and loggers that people use."""
