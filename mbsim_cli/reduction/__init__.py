"""Flexible bodies before a simulation: meshes, modes, standard input data; scipy is imported on first use."""
