"""Gradients by the adjoint: back through runs, instants and what objectives read of them."""
