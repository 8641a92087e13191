"""Onsets: short ranges of an argument over which a force begins, as that of a tyre which touches the road.

A step that passes such a range sees the force before and behind, and nothing of its slope between: derivatives lose by
how much the time of contact moves. Impacts are as short. Steps are divided until some fall within the range, and
within the time that an impact takes. docs/theory/ali3p.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.equations.forces_on_bodies import penetration, sliding_speed, tyre_deflection
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.elements.spring import NATURAL
from mbsim_cli.model.layout import TYRE_DAMPING, TYRE_STIFFNESS

ELONGATION, RATE, DEFLECTION, LOAD, PENETRATION, SLIDING = range(6)
IMPACT = 2.0  # changes of the rate in as many steps as pass an onset, over the speed of an impact


class Onsets(NamedTuple):
    """Onsets of forces, k of them."""

    force: np.ndarray  # (k,)
    argument: np.ndarray  # (k,) ELONGATION or RATE of its measure, DEFLECTION of a tyre, PENETRATION of a contact,
    # LOAD or SLIDING speed of one of these, NaN where it does not touch
    low: np.ndarray  # (k,)
    high: np.ndarray  # (k,)
    side: np.ndarray  # (k,) 1 where there is contact above ``low``, -1 where below ``high``, else 0
    steps: np.ndarray  # (1,) in which an onset is passed, at least
    value: np.ndarray  # (k,) of the argument at the latest step
    rate: np.ndarray  # (k,) of the same, where there is contact
    speed: np.ndarray  # (k,) of the impact that is going on, else 0


@kernel
def find_arguments(model, theta, onsets, state, kin, out):
    """Arguments of all onsets, and their rates where contact is, at the motion in ``kin``; out (k, 2)."""
    for j in range(onsets.force.size):
        f, argument = onsets.force[j], onsets.argument[j]
        if argument == SLIDING:
            out[j, 0], out[j, 1] = sliding_speed(kin, f), 0.0 * theta[0]
        elif argument == PENETRATION:
            out[j, 0], out[j, 1] = penetration(kin, f)
        elif argument >= DEFLECTION:
            o, (u, u1) = model.forces.theta[f], tyre_deflection(model, theta, f, kin)
            load = theta[o + TYRE_STIFFNESS] * u + theta[o + TYRE_DAMPING] * u1 if u.real > 0.0 else np.nan + 0.0 * u
            out[j, 0] = u if argument == DEFLECTION else load
            out[j, 1] = u1
        else:
            g, g1 = system.measure_and_rate_of(model, theta, model.forces.measure[f], state, kin)
            out[j, 0] = g1 if argument == RATE else g - theta[model.forces.theta[f] + NATURAL]
            out[j, 1] = g1


@kernel
def passes_onset(onsets, arguments):
    """Whether a step that ends at ``arguments``, of ``find_arguments``, is too long for an onset or an impact."""
    steps = onsets.steps[0]
    for j in range(onsets.force.size):
        before, behind = onsets.value[j], arguments[j, 0].real
        touched = min(before, behind) < onsets.high[j] and max(before, behind) > onsets.low[j]
        if touched and onsets.high[j] - onsets.low[j] < steps * np.abs(behind - before):
            return True
        if _touches(onsets, j, before) or _touches(onsets, j, behind):
            speed = onsets.speed[j]
            if not _touches(onsets, j, before):
                speed = onsets.side[j] * onsets.rate[j]
            if speed > 0.0 and steps * np.abs(arguments[j, 1].real - onsets.rate[j]) > IMPACT * speed:
                return True
    return False


@kernel
def follow_arguments(arguments, onsets):
    """Go on from ``arguments``; an impact ends where contact does, or where bodies approach each other again."""
    for j in range(onsets.force.size):
        value, rate, side = arguments[j, 0].real, arguments[j, 1].real, onsets.side[j]
        if not _touches(onsets, j, value) or (side * onsets.rate[j] < 0.0 and side * rate > 0.0):
            onsets.speed[j] = 0.0
        elif not _touches(onsets, j, onsets.value[j]):
            onsets.speed[j] = max(side * onsets.rate[j], 0.0)
        onsets.value[j], onsets.rate[j] = value, rate


@kernel
def _touches(onsets, j, value):
    """Whether there is contact at a value of argument j."""
    if onsets.side[j] > 0:
        return value > onsets.low[j]
    return onsets.side[j] < 0 and value < onsets.high[j]
