"""Flexible bodies before any motion: meshes, modes, and the standard input data that a simulation needs of them.

Knows neither model files nor kernels; scipy is imported where it is called.
"""
