"""Systems as integrators know them."""
