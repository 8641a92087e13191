"""Angles between bodies, followed with the motion: they go on where their principal value jumps by a turn.

A measure gives an angle in (-pi, pi]. Springs, sensors and objectives read the one of its values, a turn apart, that
is nearest to what the steps before let expect; so it is right as long as that is less than half a turn off. The number
of turns is constant within a step, so that nothing is added to derivatives.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.equations.forces import measure_and_rate
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.model.codes import Measure


class Turns(NamedTuple):
    """Angles at the latest instant, na of them."""

    measure: np.ndarray  # (na,) measures that are angles between bodies
    value: np.ndarray  # (na,) rad
    rate: np.ndarray  # (na,) rad/s
    time: np.ndarray  # (1,) s


def turns(model):
    """Allocate Turns, none followed yet."""
    measure = np.flatnonzero(model.measures.kind == Measure.ANGLE)
    return Turns(measure, np.zeros(measure.size), np.zeros(measure.size), np.zeros(1))


@kernel
def expect_angles(h, turns, kin):
    """Where the angles will be at the end of a step of length h."""
    for j in range(turns.measure.size):
        kin.expected[turns.measure[j]] = turns.value[j] + h * turns.rate[j]


@kernel
def follow_angles(model, theta, kin, turns):
    """Take in the angles of the motion in ``kin``."""
    for j in range(turns.measure.size):
        g, g1, _ = measure_and_rate(model, theta, turns.measure[j], kin)
        turns.value[j] = g.real
        turns.rate[j] = g1.real
        kin.expected[turns.measure[j]] = g.real


@inlined
def expect_recorded(expected, row, kin):
    """Read angles where a stored instant has them; ``expected`` (N, nm), or (N, 0) where there are none."""
    for k in range(expected.shape[1]):
        kin.expected[k] = expected[row, k]
