"""Everything about one time point: residual, constraints, mass matrix, and their variations in p directions.

Entries take the groups of arrays that they use, not all that a motion works on: each array costs time to compile.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import copy_to, largest_part
from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.equations.forces import expect_recorded
from mbsim_cli.kernels.algorithms.equations.signals import find_loads
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import entry, inlined
from mbsim_cli.kernels.compiler.simd import block, put, width


class Linearisation(NamedTuple):
    """Results; variations have a trailing axis of p directions."""

    M: np.ndarray  # (n, n)
    T: np.ndarray  # (n, padded(n)) tangent M + beta C + gamma K
    dG: np.ndarray  # (n, p) variation of M z'' - Q + Phi_z^T lambda
    dphi: np.ndarray  # (3, m, p) of Phi, Phi', Phi''
    measures: np.ndarray  # (nm,)
    d_measures: np.ndarray  # (nm, p)


@entry
def linearise(model, theta, beta, gamma, at_center, directions, state, sens, kin, comp, eq, tw, out, t):
    """Evaluate at ``state`` (G, Phi, Phi', Phi'', J are left in eq) and vary along ``sens`` and theta."""
    system.evaluate(model, theta, t, at_center, state, kin, comp, eq)
    system.rates(model, theta, t, state, eq.lines, kin, eq.phi1, eq.phi2)
    system.tangent(model, theta, t, beta, gamma, state, eq.lines, state.lam, kin, comp, out.T)
    _vary_equations(model, theta, t, directions, state, sens, kin, eq, tw, out)
    _vary_measures(model, theta, directions, state, sens, kin, tw, out)
    system.vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, out.dG)
    system.mass(model, theta, kin, comp, out.M)
    find_loads(model, theta, state.z, kin)


@entry
def close_loops(model, theta, at_center, directions, state, sens, kin, eq, tw, out, t):
    """Evaluate and vary as ``linearise``, but constraints and measures alone: what closing a mechanism needs."""
    system.place(model, theta, state.z, at_center, kin)
    system.move(model, theta, state, kin)
    system.constrain(model, theta, t, state.z, kin, eq)
    system.rates(model, theta, t, state, eq.lines, kin, eq.phi1, eq.phi2)
    _vary_equations(model, theta, t, directions, state, sens, kin, eq, tw, out)
    _vary_measures(model, theta, directions, state, sens, kin, tw, out)


@inlined
def _vary_equations(model, theta, t, directions, state, sens, kin, eq, tw, out):
    """Variations of the bodies' motion, and of Phi, Phi', Phi''."""
    system.vary_bodies_of(model, theta, directions, state, kin, sens, tw)
    system.vary_equations(model, theta, directions, t, state.z, sens.z, eq.lines, kin, tw, out.dphi[0])
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    system.vary_rates(model, theta, directions, t, state, sens, eq, kin, tw, out.dphi[1], out.dphi[2])


@inlined
def _vary_measures(model, theta, directions, state, sens, kin, tw, out):
    """Measures and their variations."""
    for m in range(model.measures.kind.size):
        out.measures[m] = system.measure(model, theta, m, state, kin)
        for g in range(0, out.d_measures.shape[1], width(out.d_measures)):
            k = block(out.d_measures, g)
            value = system.vary_measure(model, theta, directions, m, g, k, state, sens, kin, tw)
            put(out.d_measures, m, k, value)


@entry
def stand(model, theta, at_center, directions, state, sens, kin, comp, eq, tw, out, t):
    """As ``linearise``, for natural coordinates, without measures and tangent; eq keeps G, Phi, Phi', Phi'', J."""
    system.evaluate(model, theta, t, at_center, state, kin, comp, eq)
    system.rates(model, theta, t, state, eq.lines, kin, eq.phi1, eq.phi2)
    system.mass(model, theta, kin, comp, out.M)
    system.move_columns(model, theta, state, kin)
    _vary_equations(model, theta, t, directions, state, sens, kin, eq, tw, out)
    system.vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, out.dG)


@entry
def measure_drift(model, theta, kin, eq, state, record):
    """Fill the rows of the largest |Phi|, |Phi'|, |Phi''|; ``kin``, ``eq`` and ``state`` are work."""
    for row in range(record.time.size):
        t = record.time[row]
        copy_to(record.position[row], state.z)
        copy_to(record.velocity[row], state.zd)
        copy_to(record.acceleration[row], state.zdd)
        expect_recorded(record.expected, row, kin)
        system.place(model, theta, state.z, False, kin)
        system.constrain(model, theta, t, state.z, kin, eq)
        system.move_bodies(model, theta, state, kin)
        system.rates(model, theta, t, state, eq.lines, kin, eq.phi1, eq.phi2)
        record.drift[row, 0] = largest_part(eq.phi)
        record.drift[row, 1] = largest_part(eq.phi1)
        record.drift[row, 2] = largest_part(eq.phi2)
