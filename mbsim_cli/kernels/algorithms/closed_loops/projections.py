"""The constraints of closed loops as a manifold: positions and velocities are projected onto it, orthogonal in mass.

The projection of z* is the z of Phi(z) = 0 with M x + Phi_z^T mu = 0, x = z - z*, M and Phi_z at z itself; that of
velocities the z' = z'* + y of Phi'(z, z') = 0 with M y + Phi_z^T nu = 0. Both have the matrix of the accelerations at
z, whose factors serve all three, their variations and their pull-backs. Derivation: docs/theory/closed_loops.md.
"""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.whole import add_scaled, clear, copy_to
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import factor_penalised, solve_constrained
from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.equations.resting_variation import Load
from mbsim_cli.kernels.algorithms.systems.contract import (
    compose,
    constrain,
    mass,
    move,
    place,
    shape,
    speeds,
    vary_at_rest,
    vary_bodies_of,
    vary_equations,
    vary_rates,
)
from mbsim_cli.kernels.compiler.jit import kernel

RATIO = 1e6  # of the penalty to inertia in the factorised matrix: a means, no part of any result
SOLVED = 1e-9  # last correction of a solution, relative: the next one is a millionth of it
MOST = 12  # corrections of a position; two as a rule, the second of the size of round-off
ROUND_OFF = 4e-16  # of a position and its extent
CLOSED = 1e-10  # largest constraint that a projection leaves, in its scale of length or rad
UNKNOWN, STANDS, FAILED = range(3)  # ``Loops.found``: of the positions that are evaluated next


class Motion(NamedTuple):
    """Motion and multipliers, as systems take them; or their variations, with a trailing axis."""

    z: np.ndarray
    zd: np.ndarray
    zdd: np.ndarray
    lam: np.ndarray


class Loops(NamedTuple):
    """Constraints as a manifold: work, and what the latest projection has found."""

    driver: np.ndarray  # (n,) NONE: constraints drive coordinates
    euler: np.ndarray  # (0,) none: constraints keep the norms of Euler parameters
    kin: Any  # Kinematics about the global origin
    comp: Any
    eq: Any  # Equations
    factor: Any  # Factor of M and Phi_z
    columns: Any  # Columns
    state: Any  # Motion
    scale: np.ndarray  # (m,) of constraints
    at: np.ndarray  # (n,) positions that ``factor`` is of
    found: np.ndarray  # (1,) STANDS where ``factor`` serves there, FAILED where no projection was found
    x: np.ndarray  # (n,) what projections added, and their multipliers
    mu: np.ndarray  # (m,)
    y: np.ndarray  # (n,)
    nu: np.ndarray  # (m,)
    zero: np.ndarray  # (n,)
    redundant: bool  # constraints depend on each other: multipliers are kept in the range of Phi_z
    reach: Any  # multiplier_range.Range
    turning: np.ndarray  # measures that are angles between bodies, followed from one evaluation to the next
    tw: Any  # Twists of p directions
    d_columns: Any  # Columns of p
    rest: Any  # Resting of p
    other: Any  # Resting of p
    d_state: Any  # Motion of p
    d_raw: np.ndarray  # (n, p) variations before a projection


@kernel
def factor_at(model, theta, t, z, loops):
    """Place bodies and constraints at z and factorise M with Phi_z there; False where that cannot be done."""
    kin, comp, eq, factor = loops.kin, loops.comp, loops.eq, loops.factor
    place(model, theta, z, False, kin)
    constrain(model, theta, t, z, kin, eq)
    shape(model, theta, kin)
    compose(model, kin, comp)
    mass(model, theta, kin, comp, factor.T)
    return factor_penalised(RATIO, factor)


@kernel
def stands_at(z, loops):
    """Whether the factors are of positions z."""
    stands = loops.found[0] == STANDS
    for c in range(z.size):
        stands = stands and loops.at[c] == z[c]
    return stands


@kernel
def settle(model, theta, t, directions, tree, state, sens):
    """Project positions and velocities, with their sensitivities, where that is possible: ``tree`` are Loops."""
    if project(model, theta, t, tree, state) and sens.z.size > 0:
        _vary_position(model, theta, t, directions, tree, state, sens)
        _vary_velocity(model, theta, t, directions, tree, state, sens)


@kernel
def project(model, theta, t, loops, state):
    """Project positions and velocities; returns, and notes in ``loops``, whether that was possible."""
    loops.found[0] = FAILED
    if not _project_position(model, theta, t, loops, state.z):
        return False
    _project_velocity(model, theta, t, loops, state.zd)
    copy_to(state.z, loops.at)
    loops.found[0] = STANDS
    return True


@kernel
def _project_position(model, theta, t, loops, z):
    """z (n,) onto Phi = 0; leaves x, mu in ``loops``, and the factors at the end. False where it is not found.

    Each correction solves for the whole of x: [M Phi_z^T; Phi_z 0] [x; mu] = [0; Phi_z x - Phi], all at the latest z.
    """
    eq, factor, columns, x = loops.eq, loops.factor, loops.columns, loops.x
    clear(x)
    previous, last = np.inf, False
    for _ in range(MOST):
        if not factor_at(model, theta, t, z, loops):
            return False
        for r in range(loops.mu.size):
            rest = -eq.phi[r]
            for c in range(x.size):
                rest += eq.J[r, c] * x[c]
            columns.e[r, 0] = rest
        clear(columns.b)
        solve_constrained(factor, SOLVED, columns)
        size, floor = 0.0, 0.0
        for c in range(x.size):
            weight, step = factor.weight[c], columns.x[c, 0] - x[c]
            size += weight * (step.real * step.real + step.imag * step.imag)
            floor += weight * (factor.extent[c] + z[c].real * z[c].real)
        size = np.sqrt(size)
        if not np.isfinite(size):
            return False
        done = size <= ROUND_OFF * np.sqrt(floor)
        for c in range(x.size):
            z[c] += columns.x[c, 0] - x[c]
            x[c] = columns.x[c, 0]
        for r in range(loops.mu.size):
            loops.mu[r] = columns.mu[r, 0]
        if last or (done and not np.iscomplexobj(z)):
            return _is_closed(loops)
        last = done  # the imaginary part of a complex step converges one correction behind
        if size > 0.5 * previous and not done:
            return size <= 1e3 * ROUND_OFF * np.sqrt(floor) and _is_closed(loops)
        previous = size
    return False


@kernel
def _is_closed(loops):
    """Whether constraints are met: dependent ones may contradict each other."""
    closed = True
    for r in range(loops.scale.size):
        closed = closed and np.abs(loops.eq.phi[r].real) <= CLOSED * loops.scale[r]
    return closed


@kernel
def _project_velocity(model, theta, t, loops, zd):
    """z' (n,) onto Phi' = 0 by the factors; leaves y, nu in ``loops``."""
    eq, columns = loops.eq, loops.columns
    speeds(model, theta, t, eq.J, loops.factor.sparsity, zd, eq.phi1)
    clear(columns.b)
    for r in range(loops.nu.size):
        columns.e[r, 0] = -eq.phi1[r]
    solve_constrained(loops.factor, SOLVED, columns)
    for c in range(zd.size):
        loops.y[c] = columns.x[c, 0]
        zd[c] += columns.x[c, 0]
    for r in range(loops.nu.size):
        loops.nu[r] = columns.mu[r, 0]


@kernel
def _vary_position(model, theta, t, directions, loops, state, sens):
    """Variations of the projected z: dz = dz* + dx, M dx + Phi_z^T dmu = -d(M x + Phi_z^T mu), Phi_z dz = -d Phi.

    The former depends on dz itself, by no more than x is; so the solution is repeated until it stays.
    """
    kin, eq, columns, still = loops.kin, loops.eq, loops.d_columns, loops.zero
    dtheta, touch, nothing = directions.dtheta, directions.touch, loops.d_state.zdd
    move(model, theta, state.z, still, still, kin)
    copy_to(sens.z, loops.d_raw)
    clear(nothing)
    for _ in range(MOST):
        vary_bodies_of(
            model, theta, dtheta, touch, state.z, still, still, kin, sens.z, nothing, nothing, loops.tw
        )  # fmt: skip
        vary_equations(model, theta, dtheta, touch, eq.lines, t, state.z, sens.z, kin, loops.tw, columns.e)
        load = Load(loops.x, loops.mu)
        vary_at_rest(
            model, theta, dtheta, touch, eq.lines, state, sens.z, kin, loops.comp, loops.tw, load, load, loops.rest,
            loops.other,
        )  # fmt: skip
        _add_mass_times_change(loops, sens.z)
        solve_constrained(loops.factor, SOLVED, columns)
        add_scaled(-1.0, columns.x, sens.z)
        if are_small(loops.factor.weight, columns.x, sens.z):
            break


@kernel
def _add_mass_times_change(loops, dz):
    """b = d(M x + Phi_z^T mu) + M (dz - dz*) + Phi_z^T dmu for dmu = 0, what is left of the first equation."""
    T, b, rest = loops.factor.T, loops.d_columns.b, loops.rest.dG
    n, p = b.shape
    for i in range(n):
        for k in range(p):
            b[i, k] = rest[i, k]
        for j in range(n):
            for k in range(p):
                b[i, k] += T[i, j] * (dz[j, k] - loops.d_raw[j, k])


@kernel
def are_small(weights, corrections, whole):
    """Whether corrections (n, p) of variations are those of round-off, by the norm of the inertia."""
    size, most = 0.0, 0.0
    for c in range(whole.shape[0]):
        for k in range(whole.shape[1]):
            size += weights[c] * np.abs(corrections[c, k]) ** 2
            most += weights[c] * np.abs(whole[c, k]) ** 2
    return size <= 1e-26 * most


@kernel
def _vary_velocity(model, theta, t, directions, loops, state, sens):
    """Variations of the projected z', after those of z."""
    kin, eq, columns, still = loops.kin, loops.eq, loops.d_columns, loops.zero
    dtheta, touch, nothing = directions.dtheta, directions.touch, loops.d_state.zdd
    move(model, theta, state.z, state.zd, still, kin)
    clear(nothing)
    vary_bodies_of(
        model, theta, dtheta, touch, state.z, state.zd, still, kin, sens.z, sens.zd, nothing, loops.tw
    )  # fmt: skip
    load = Load(loops.y, loops.nu)
    vary_at_rest(
        model, theta, dtheta, touch, eq.lines, state, sens.z, kin, loops.comp, loops.tw, load, load, loops.rest,
        loops.other,
    )  # fmt: skip
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    moved, d_moved = loops.state, loops.d_state
    copy_to(state.z, moved.z)
    copy_to(state.zd, moved.zd)
    clear(moved.zdd)
    copy_to(sens.z, d_moved.z)
    copy_to(sens.zd, d_moved.zd)
    vary_rates(
        model, theta, dtheta, touch, eq, t, moved, d_moved, kin, loops.tw, columns.e, loops.other.dphi
    )  # fmt: skip
    copy_to(loops.rest.dG, columns.b)
    solve_constrained(loops.factor, SOLVED, columns)
    add_scaled(-1.0, columns.x, sens.zd)
