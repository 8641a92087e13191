"""Analyses of problems by compiled kernels, block by block: motion, rest, inverse dynamics, and all gradients."""
