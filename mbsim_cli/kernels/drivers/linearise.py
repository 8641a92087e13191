"""Everything about one instant: residual, constraints, mass matrix, and their variations in p directions."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import entry
from mbsim_cli.kernels._simd import block, put, width
from mbsim_cli.kernels.algorithms.constraint_variation import (
    vary_constraint_forces,
    vary_constraint_rates,
    vary_constraints,
)
from mbsim_cli.kernels.algorithms.constraints import constraint_rates, move_lines
from mbsim_cli.kernels.algorithms.newton_matrix import mass_matrix, newton_matrix
from mbsim_cli.kernels.algorithms.residual_variation import clear_forces, vary_bodies, vary_element_forces
from mbsim_cli.kernels.algorithms.sensor_variation import vary_any_measure
from mbsim_cli.kernels.algorithms.sensors import measure_of_order
from mbsim_cli.kernels.algorithms.systems import evaluate
from mbsim_cli.kernels.algorithms.variation import vary_kinematics


class Linearisation(NamedTuple):
    """Results; variations have a trailing axis of p directions."""

    M: np.ndarray  # (n, n)
    T: np.ndarray  # (n, padded(n)) tangent M + beta C + gamma K
    dG: np.ndarray  # (n, p) variation of M z'' - Q + Phi_z^T lambda
    dphi: np.ndarray  # (3, m, p) of Phi, Phi', Phi''
    measures: np.ndarray  # (nm,)
    d_measures: np.ndarray  # (nm, p)


@entry
def linearise(model, theta, t, beta, gamma, at_center, directions, state, sens, work, tw, out):
    """Evaluate at ``state`` (G, Phi, Phi', Phi'', J are left in work.eq) and vary along ``sens`` and theta."""
    kin, eq, comp, tree = work.kin, work.eq, work.comp, model.tree
    evaluate(model, theta, t, at_center, state, kin, comp, eq)
    constraint_rates(model, theta, eq.lines, t, state.z, state.zd, state.zdd, kin, eq.phi1, eq.phi2)
    newton_matrix(
        model, theta, t, beta, gamma, state.z, state.zd, eq.lines, state.lam, eq.no_eta, kin, comp, out.T
    )  # fmt: skip
    dtheta, touch, no_eta = directions.dtheta, directions.touch, directions.no_eta
    vary_kinematics(tree, theta, dtheta, touch, kin, sens.z, sens.zd, sens.zdd, tw)
    vary_constraints(model, theta, dtheta, touch, eq.lines, t, state.z, sens.z, kin, tw, out.dphi[0])
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    vary_constraint_rates(
        model, theta, dtheta, touch, eq.lines, eq.line_rates, t, state.z, state.zd, state.zdd, sens.z, sens.zd,
        sens.zdd, kin, tw, out.dphi[1], out.dphi[2],
    )  # fmt: skip
    clear_forces(tw, out.dG)
    vary_constraint_forces(model, theta, dtheta, touch, eq.lines, state.lam, sens.z, kin, tw, out.dG)
    vary_element_forces(model, theta, dtheta, touch, no_eta, t, state.z, state.zd, sens.z, sens.zd, kin, tw, out.dG)
    vary_bodies(tree, theta, dtheta, touch, state.z, sens.z, kin, comp, tw, out.dG)
    for k in range(model.measures.kind.size):
        out.measures[k] = measure_of_order(model, theta, k, 0, state.z, state.zd, state.zdd, kin)
        for g in range(0, out.d_measures.shape[1], width(out.d_measures)):
            d = block(out.d_measures, g)
            value = vary_any_measure(
                model, theta, dtheta, touch, k, g, d, state.z, state.zd, state.zdd, sens, kin, tw, 0
            )
            put(out.d_measures, k, d, value)
    mass_matrix(tree, kin, comp, out.M)
