"""Adjoint gradients of open trees beside direct ones and the complex step of the whole run."""

from dataclasses import replace

import numpy as np

from mbsim_cli.solve.forward import forward
from tests.kernels.adjoint import adjoint, summed, weights_of
from tests.kernels.differentiate import EPS


def chosen(problem, rows, **options):
    """A problem that ends after so many rows."""
    step = options.get("step", problem.options.step)
    return replace(problem, options=replace(problem.options, **options, duration=rows * step))


def sensors(problem, theta=None, field="sensors"):
    """What sensors show at all instants, or their derivatives."""
    return np.concatenate([getattr(block, field) for block in forward(problem, theta=theta)])


def assert_near_direct(problem, numbers, rows, weights, relative=1e-9, names=()):
    """Compare with direct gradients, relative to each sum's largest; both, (p, k)."""
    found = adjoint(problem, numbers, rows, weights, block_steps=3)
    ddm = replace(problem, theta_rho=np.array(numbers).T, options=replace(problem.options, sensitivity="ddm"))
    expected = summed(sensors(ddm, field="d_sensors"), weights)
    size = np.abs(expected).max(axis=0)
    assert (size > 0.0).all(), "nothing varied"
    error = (np.abs(found - expected) / size).max(axis=1)
    worst = np.argsort(-error)[:8]
    assert error.max() <= relative, [(names[k] if names else k, error[k]) for k in worst]
    return found, expected


def assert_adjoint(builder, rows, *, every=1, stepped=True, relative=1e-9, **options):
    """Compare gradients by every so many numbers, relative to each sum's largest; ``stepped`` by complex step too."""
    problem = chosen(builder.problem(), rows, **options)
    directions = builder.directions()
    names = list(directions)[::every]
    numbers, weights = [directions[name] for name in names], weights_of(problem, rows)
    found, expected = assert_near_direct(problem, numbers, rows, weights, relative, names)
    if stepped:
        along = np.random.default_rng(7).normal(size=len(names))
        moved = problem.theta + 1j * EPS * (along @ np.array(numbers))
        exact = summed(sensors(problem, moved).imag / EPS, weights)
        assert (np.abs(along @ found - exact) <= relative * np.abs(along[:, None] * expected).sum(axis=0)).all()
