"""Vectors, rotations, spatial algebra and linear systems."""
