"""Sensitivity analysis of multibody systems, from a YAML model file."""

__version__ = "0.1.0"
