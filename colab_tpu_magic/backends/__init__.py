"""Runtimes: what is connected, and how models and batches get onto it."""
