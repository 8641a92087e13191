"""Inverse dynamics along a given motion."""
