"""Numbers and formulas of a model file: their syntax, values and exact derivatives."""
