"""Inverse dynamics of trees, eight instants at once."""
