"""Loops over instants: what Python calls."""
