"""Loops over time points: what Python calls."""
