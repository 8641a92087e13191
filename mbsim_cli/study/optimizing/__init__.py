"""Optimisation of parameters by exact gradients: ``optimize``."""
