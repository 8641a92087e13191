"""Pull-backs of accelerations and projections of closed loops: the transposes of their variations.

All have the symmetric matrix of M and Phi_z. Spatial vectors are about the global origin. Derivation:
docs/theory/closed_loops.md.
"""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.whole import add_scaled, clear, copy_to, is_nothing, scaled
from mbsim_cli.kernels.algorithms.closed_loops.accelerations import ClosedLoops, accelerate
from mbsim_cli.kernels.algorithms.closed_loops.projections import MOST, SOLVED, factor_at
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import solve_constrained
from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.systems.contract import load, move, pull_at_rest, pull_rates, pull_residual
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width

TINY = 1e-300  # columns of nothing are solved
ROUND_OFF = 1e-15  # of covectors


class PulledLoops(NamedTuple):
    """Work of pull-backs of p columns."""

    open_tree: Any  # projections.Loops, without directions; its ``d_columns`` have p
    comp: Any  # Composite of instants
    dyn: Any  # ClosedLoops
    still: Any  # Kinematics of systems at rest: other V, A, S', S'', and the ground without gravity
    virtual: Any  # Virtual
    none: Any  # Virtual without motion
    rest: Any  # Covectors: those of the motion but for z, z', z''
    nu: np.ndarray  # (m, p)
    no_nu: np.ndarray  # (m, p) zeros
    hat: np.ndarray  # (n, p)


@kernel
def pull_accelerations(model, theta, t, state, work, cov):
    """Pull covectors of z'' and of the multipliers back to z, z' and theta; those are zero then.

    Returns whether the accelerations were found, and the relative size of what was left unsolved.
    """
    if is_nothing(cov.zdd) and is_nothing(cov.lam):
        return True, 0.0
    loops = work.open_tree
    kin, eq, columns, moved = loops.kin, loops.eq, loops.d_columns, loops.state
    if not accelerate(model, theta, t, state.z, state.zd, work.dyn, moved.zdd, moved.lam):
        return False, 1.0
    load(model, theta, t, moved, kin, loops.comp, eq)
    copy_to(cov.zdd, work.hat)
    copy_to(cov.zdd, columns.b)
    copy_to(cov.lam, columns.e)
    solve_constrained(loops.factor, SOLVED, columns)
    scaled(-1.0, columns.x, work.virtual.mu)
    scaled(-1.0, columns.mu, work.nu)
    pull_residual(model, theta, t, moved, eq, kin, loops.comp, work.virtual, work.no_nu, cov)
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    pull_rates(
        model, theta, t, moved.z, moved.zd, moved.zdd, eq, kin, loops.comp, work.none, work.no_nu, work.nu, cov
    )  # fmt: skip
    error = share_of(cov.zdd, work.hat)
    clear(cov.zdd)
    clear(cov.lam)
    return True, error


@kernel
def share_of(left, whole):
    """Size of what is left of all columns, relative to the whole."""
    size, most = 0.0, TINY
    for c in range(left.shape[0]):
        for k in range(left.shape[1]):
            size += np.abs(left[c, k]) ** 2
            most += np.abs(whole[c, k]) ** 2
    return np.sqrt(size / (most + size))


@kernel
def pull_settled(model, theta, t, work, state, cov):
    """Turn covectors of projected positions and velocities, ``state``, into those of positions and velocities before.

    The projection was the last one of ``work.open_tree``.
    """
    loops = work.open_tree
    kin, eq, columns = loops.kin, loops.eq, loops.d_columns
    factor_at(model, theta, t, state.z, loops)
    move(model, theta, state.z, state.zd, loops.zero, kin)
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    copy_to(cov.zd, columns.b)
    clear(columns.e)
    solve_constrained(loops.factor, SOLVED, columns)
    scaled(-1.0, columns.x, work.virtual.mu)
    scaled(-1.0, columns.mu, work.nu)
    pull_rates(
        model, theta, t, state.z, state.zd, loops.zero, eq, kin, loops.comp, work.none, work.nu, work.no_nu, cov
    )  # fmt: skip
    clear(work.rest.z)
    pull_at_rest(
        model, theta, t, state.z, loops.zero, loops.y, loops.nu, eq, work.still, loops.comp, work.virtual, work.no_nu,
        work.rest,
    )  # fmt: skip
    add_scaled(1.0, work.rest.z, cov.z)
    clear(cov.zdd)
    _pull_position(model, theta, t, work, state, cov)


@kernel
def _pull_position(model, theta, t, work, state, cov):
    """The same of positions: K^T [a; b] = [z^; 0] with K of the variations, of which M and Phi_z alone are inverted.

    What their solution leaves, of the size of x, is solved for again; each part is pulled back by itself.
    """
    loops = work.open_tree
    columns, whole = loops.d_columns, work.hat
    copy_to(cov.z, columns.b)
    copy_to(cov.z, whole)
    clear(cov.z)
    for _ in range(MOST):
        clear(columns.e)
        add_scaled(1.0, columns.b, cov.z)
        solve_constrained(loops.factor, SOLVED, columns)
        scaled(-1.0, columns.x, work.virtual.mu)
        scaled(-1.0, columns.mu, work.nu)
        _add_transposed(loops, work, cov.z)
        clear(work.rest.z)
        pull_at_rest(
            model, theta, t, state.z, loops.zero, loops.x, loops.mu, loops.eq, work.still, loops.comp, work.virtual,
            work.nu, work.rest,
        )  # fmt: skip
        scaled(-1.0, work.nu, work.nu)
        _add_transposed(loops, work, work.rest.z)
        copy_to(work.rest.z, columns.b)
        if share_of(columns.b, whole) <= ROUND_OFF:
            break


@kernel
def _add_transposed(loops, work, out):
    """out += Phi_z^T nu, in all columns."""
    J, each = loops.eq.J, work.virtual.each
    for r in range(J.shape[0]):
        for c in range(J.shape[1]):
            for g in range(0, each.size, width(each)):
                k = block(each, g)
                add_to(out, c, k, J[r, c] * at(work.nu, r, k))


__all__ = ["ClosedLoops", "PulledLoops", "pull_accelerations", "pull_settled"]
