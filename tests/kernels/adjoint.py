"""Adjoint gradients of random sums of sensors over a whole simulation, beside the direct ones."""

from dataclasses import replace

import numpy as np

from mbsim_cli.solve.adjoint.readings import columns_of
from mbsim_cli.solve.adjoint.whole_run import pull_back
from mbsim_cli.solve.forward import forward, in_blocks, start
from mbsim_cli.solve.tape import Tape
from tests.kernels.differentiate import complex_step, direct

COLUMNS = 2


def weights_of(problem, steps, seed=31):
    """Random adjoints (steps + 1, width, COLUMNS) of all sensors, those of reactions last."""
    width = width_of(problem) + (problem.reacting.width if problem.reacting else 0)
    return np.random.default_rng(seed).normal(size=(steps + 1, width, COLUMNS))


def width_of(problem):
    """Numbers that all sensors but those of reactions read."""
    return int(problem.model.sensors.first[-1])


def adjoint(problem, directions, steps, weights, memory=None, block_steps=None):
    """Derivatives (p, k) of sums of weights (steps + 1, width, k) times sensors along directions (p, len(theta))."""
    h = problem.options.step
    options = replace(problem.options, sensitivity="adjoint", duration=steps * h)
    problem = replace(problem, theta_rho=np.array(directions).T, options=options)
    tape, count = Tape(memory), weights.shape[2]
    blocks = in_blocks(start(problem, tape=tape), block_steps, tape) if block_steps else forward(problem, tape=tape)
    for _ in blocks:
        pass

    def seen(first, record, length=None):
        out = np.zeros((record.time.size, weights.shape[1], columns_of(problem, count)))
        if length is None:  # what is inside steps weighs nothing
            out[:, :, :count] = weights[first : first + record.time.size]
        return out

    return pull_back(problem, tape, count, seen, reacting=weights.shape[1] > width_of(problem)).gradient


def summed(derivatives, weights):
    """The same from derivatives (steps + 1, width, ...) of the sensors."""
    return np.einsum("bw...,bwk->...k", derivatives, weights)


def assert_set_back(problem):
    """A run set back to a checkpoint goes on as it did, to the last bit."""
    simulation = start(replace(problem, options=replace(problem.options, sensitivity="none")))
    simulation.first_block()
    before, made = simulation.checkpoint(), simulation.advance(2)
    again = simulation.replay(before, 2)
    assert np.array_equal(made.acceleration, again.acceleration) and np.array_equal(made.lambda_, again.lam)


def assert_adjoint(problem, directions, steps, weights=None, relative=1e-9):
    """Compare with direct gradients, relative to each sum's largest, and along one direction with the complex step."""
    assert directions
    weights = weights_of(problem, steps) if weights is None else weights
    rows = list(directions.values())
    found = adjoint(problem, rows, steps, weights)
    expected = summed(direct(problem, rows, steps)["d_sensors"], weights)
    size = np.abs(expected).max(axis=0)
    assert (size > 0.0).all(), "nothing varied"
    error = np.abs(found - expected) / size
    worst = dict(sorted(zip(directions, error.max(axis=1).tolist(), strict=True), key=lambda entry: -entry[1])[:8])
    assert error.max() <= relative, worst
    along = np.random.default_rng(7).normal(size=len(rows))
    exact = summed(complex_step(problem, along @ np.array(rows), steps)["sensors"], weights)
    assert (np.abs(along @ found - exact) <= relative * np.abs(along[:, None] * expected).sum(axis=0)).all()
