"""Recursions over bodies, equations of motion and their variations: what integrators and drivers call."""
