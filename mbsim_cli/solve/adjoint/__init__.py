"""Gradients by the adjoint method: pull-backs through runs, through time points, and through sensors."""
