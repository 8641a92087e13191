"""Formulations of open trees: accelerations from forces, their variations and pull-backs."""
