"""Natural coordinates of a mechanism: which points and vectors its bodies share, and the numbers that follow."""
