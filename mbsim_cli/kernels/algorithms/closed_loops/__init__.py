"""Closed loops as ordinary differential equations: accelerations of index 1, projections onto the constraints."""
