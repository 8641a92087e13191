"""Preprocessing of flexible bodies: meshes, modes, and the standard input data for simulations.

Independent of model files and kernels; scipy is imported on first use.
"""
