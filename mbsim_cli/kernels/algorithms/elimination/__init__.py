"""Linear systems with constraints: where their matrices differ from zero, and their solution."""
