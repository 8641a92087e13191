"""Mechanisms in other programs, each a script for an environment of its own: see ``benchmarks/peers.py``."""
