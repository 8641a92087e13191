"""Accelerations of closed loops, [M Phi_z^T; Phi_z 0] [z''; lambda] = [Q; ...], Phi'' = 0: a formulation like others.

Index 1: positions and velocities are expected to meet the constraints, and nothing is added where they do not. The
factors are those of the projection where that was at the same positions. Derivation: docs/theory/closed_loops.md.
"""

from typing import Any, NamedTuple

from mbsim_cli.kernels.algebra.whole import clear, copy_to, scaled
from mbsim_cli.kernels.algorithms.closed_loops.projections import FAILED, SOLVED, UNKNOWN, factor_at, stands_at
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import factor_range, keep_in_range, solve_constrained
from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.equations.forces import measure_and_rate
from mbsim_cli.kernels.algorithms.systems.contract import (
    load,
    rates,
    tangent,
    vary_bodies_of,
    vary_rates,
    vary_residual,
)
from mbsim_cli.kernels.compiler.jit import kernel


class ClosedLoops(NamedTuple):
    """Everything that the formulation works on."""

    open_tree: Any  # projections.Loops
    kin: Any  # Kinematics of the motion that was evaluated last


class Along(NamedTuple):
    """Directions, as systems take them."""

    dtheta: Any  # (len(theta), p)
    touch: Any


@kernel
def accelerate(model, theta, t, z, zd, dyn, zdd_out, reaction_out):
    """z'' (n,) and all multipliers (m,); False where the matrix is singular, or the projection before has failed."""
    loops = dyn.open_tree
    kin, eq, factor, columns, state = loops.kin, loops.eq, loops.factor, loops.columns, loops.state
    failed, stands = loops.found[0] == FAILED, stands_at(z, loops)
    loops.found[0] = UNKNOWN
    if failed or not (stands or factor_at(model, theta, t, z, loops)):
        return False
    copy_to(z, state.z)
    copy_to(zd, state.zd)
    clear(state.zdd)
    clear(state.lam)
    load(model, theta, t, state, kin, loops.comp, eq)
    rates(model, theta, eq.lines, t, state, kin, eq.phi1, eq.phi2)
    for c in range(z.size):
        columns.b[c, 0] = -eq.G[c]
    for r in range(state.lam.size):
        columns.e[r, 0] = -eq.phi2[r]
    solve_constrained(factor, SOLVED, columns)
    for c in range(z.size):
        zdd_out[c] = columns.x[c, 0]
    if loops.redundant:
        factor_range(eq.J, loops.reach)
        keep_in_range(eq.J, loops.reach, columns.mu, columns.b, columns.step)
    for r in range(state.lam.size):
        state.lam[r] = reaction_out[r] = columns.mu[r, 0]
    for m in loops.turning:
        g, _, _ = measure_and_rate(model, theta, m, kin)
        kin.expected[m] = g.real
    return True


@kernel
def vary_accelerations(model, theta, dtheta, touch, t, z, zd, zdd, dz, dzd, dyn, dzdd_out, d_reaction_out):
    """dz'' (n, p) and variations (m, p) of the multipliers; needs ``accelerate``."""
    loops = dyn.open_tree
    kin, comp, eq, columns = loops.kin, loops.comp, loops.eq, loops.d_columns
    state, sens = loops.state, loops.d_state
    for c in range(z.size):
        state.zdd[c] = zdd[c]
    load(model, theta, t, state, kin, comp, eq)
    tangent(model, theta, t, 0.0, 0.0, state, eq, kin, comp, loops.factor.T)  # M once more, and what varies with it
    copy_to(dz, sens.z)
    copy_to(dzd, sens.zd)
    clear(sens.zdd)
    clear(sens.lam)
    vary_bodies_of(model, theta, dtheta, touch, z, zd, state.zdd, kin, sens.z, sens.zd, sens.zdd, loops.tw)
    vary_residual(model, theta, Along(dtheta, touch), t, state, sens, eq, kin, comp, loops.tw, columns.b)
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    vary_rates(
        model, theta, dtheta, touch, eq, t, state, sens, kin, loops.tw, loops.other.dphi, columns.e
    )  # fmt: skip
    solve_constrained(loops.factor, SOLVED, columns)
    scaled(-1.0, columns.x, dzdd_out)
    scaled(-1.0, columns.mu, d_reaction_out)
    if loops.redundant:  # but for what the range turns by, which ``solve.consistency`` adds
        keep_in_range(eq.J, loops.reach, d_reaction_out, columns.b, columns.step)
