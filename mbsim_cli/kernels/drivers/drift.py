"""How far stored instants of closed loops are from their constraints."""

import numpy as np

from mbsim_cli.kernels.algebra.whole import copy_to
from mbsim_cli.kernels.algorithms.equations.turning import expect_recorded
from mbsim_cli.kernels.algorithms.systems.contract import constrain, move, place, rates
from mbsim_cli.kernels.compiler.jit import entry, kernel


@entry
def measure_drift(model, theta, kin, eq, state, record):
    """Fill the rows of the largest |Phi|, |Phi'|, |Phi''|; ``kin``, ``eq`` and ``state`` are work."""
    for row in range(record.time.size):
        t = record.time[row]
        copy_to(record.position[row], state.z)
        copy_to(record.velocity[row], state.zd)
        copy_to(record.acceleration[row], state.zdd)
        expect_recorded(record.expected, row, kin)
        place(model, theta, state.z, False, kin)
        constrain(model, theta, t, state.z, kin, eq)
        move(model, theta, state.z, state.zd, state.zdd, kin)
        rates(model, theta, eq.lines, t, state, kin, eq.phi1, eq.phi2)
        record.drift[row, 0] = _largest(eq.phi)
        record.drift[row, 1] = _largest(eq.phi1)
        record.drift[row, 2] = _largest(eq.phi2)


@kernel
def _largest(x):
    """Largest size of real parts; zero of none."""
    most = 0.0
    for r in range(x.size):
        most = max(most, np.abs(x[r].real))
    return most
