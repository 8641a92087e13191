"""Columns of joints, measures, laws, forces and bodies that deform, each with its variation and pull-back."""
