"""Terms of the equations of motion of a tree, element by element: values, variations, pull-backs, tangents."""
