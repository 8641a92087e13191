"""Derivatives of elements, generated from the source of their values."""
