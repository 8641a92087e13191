"""Natural coordinates of a mechanism: points and vectors that its bodies share, and the tables of the model."""
