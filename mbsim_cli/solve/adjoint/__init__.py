"""Gradients by the adjoint: back through runs, time points and what objectives read of them."""
