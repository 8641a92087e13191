"""Compiled kernels: algebra, elements, algorithms, integrators, drivers, and the compiler below them."""
