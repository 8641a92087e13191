"""Linear models of a mechanism about a position or a motion."""
