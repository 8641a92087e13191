"""Inverse dynamics of trees, eight time points at once."""
