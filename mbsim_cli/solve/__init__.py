"""Analyses of problems by compiled kernels, block by block: motion, equilibrium, inverse dynamics, and all gradients."""
