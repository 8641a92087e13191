"""Accelerations of closed loops, [M Phi_z^T; Phi_z 0] [z''; lambda] = [Q; ...], Phi'' = 0: a formulation like others.

Index 1: positions and velocities are expected to meet the constraints, and nothing is added where they do not. The
factors are those of the projection where that was at the same positions. Derivation: docs/theory/closed_loops.md.
"""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import add_scaled, clear, copy_to, is_nothing, scaled
from mbsim_cli.kernels.algebra.linear_solve import factor_range, keep_in_range
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import factor_penalised, solve_constrained
from mbsim_cli.kernels.algorithms.equations.constraints import constraint_speeds, move_lines
from mbsim_cli.kernels.algorithms.equations.forces import measure_and_rate
from mbsim_cli.kernels.algorithms.equations.residual_variation import Load
from mbsim_cli.kernels.algorithms.motion.workspace import LoadedMotion, Motion
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width

# Accelerations --------------------------------------------------------------------------------------------------------


class ClosedLoops(NamedTuple):
    """Everything that the formulation works on."""

    open_tree: Any  # Loops
    kin: Any  # Kinematics of the motion that was evaluated last


@kernel
def accelerate(model, theta, t, motion, dyn, reaction_out):
    """Find z'' and all multipliers (m,); False if the matrix is singular or the projection before has failed."""
    loops = dyn.open_tree
    kin, eq, factor, columns, state = loops.kin, loops.eq, loops.factor, loops.columns, loops.state
    failed, stands = loops.found[0] == FAILED, stands_at(motion.z, loops)
    loops.found[0] = UNKNOWN
    if failed or not (stands or factor_at(model, theta, t, motion.z, loops)):
        return False
    copy_to(motion.z, state.z)
    copy_to(motion.zd, state.zd)
    clear(state.zdd)
    clear(state.lam)
    system.load(model, theta, t, state, kin, loops.comp, eq)
    system.rates(model, theta, t, state, eq.lines, kin, eq.phi1, eq.phi2)
    scaled(-1.0, eq.G, columns.b)
    scaled(-1.0, eq.phi2, columns.e)
    solve_constrained(factor, SOLVED, columns)
    copy_to(columns.x, motion.zdd)
    if loops.redundant:
        factor_range(eq.J, loops.normal)
        keep_in_range(eq.J, loops.normal, columns.mu, columns)
    for r in range(state.lam.size):
        state.lam[r] = reaction_out[r] = columns.mu[r, 0]
    for m in loops.turning:
        g, _, _ = measure_and_rate(model, theta, m, kin)
        kin.expected[m] = g.real
    return True


@kernel
def vary_accelerations(model, theta, directions, t, state, sens, dyn):
    """dz'' (n, p) and variations (m, p) of the multipliers; needs ``accelerate``."""
    loops = dyn.open_tree
    kin, comp, eq, columns = loops.kin, loops.comp, loops.eq, loops.d_columns
    moved, change = loops.state, loops.d_state
    copy_to(state.zdd, moved.zdd)
    system.load(model, theta, t, moved, kin, comp, eq)
    # M once more, and what varies with it
    system.tangent(model, theta, t, 0.0, 0.0, moved, eq.lines, moved.lam, kin, comp, loops.factor.T)
    copy_to(sens.z, change.z)
    copy_to(sens.zd, change.zd)
    clear(change.zdd)
    clear(change.lam)
    system.vary_bodies_of(model, theta, directions, moved, kin, change, loops.tw)
    system.vary_residual(model, theta, directions, t, moved, change, eq, kin, comp, loops.tw, columns.b)
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    system.vary_rates(model, theta, directions, t, moved, change, eq, kin, loops.tw, loops.other.dphi, columns.e)
    solve_constrained(loops.factor, SOLVED, columns)
    scaled(-1.0, columns.x, sens.zdd)
    scaled(-1.0, columns.mu, sens.lam)
    if loops.redundant:  # without the rotation of the range, which ``solve.redundancy`` adds
        keep_in_range(eq.J, loops.normal, sens.lam, columns)


# Projections of positions and velocities onto the manifold of the constraints, orthogonal in mass ---------------------
#
# The projection of z* is the z of Phi(z) = 0 with M x + Phi_z^T mu = 0, x = z - z*, M and Phi_z at z itself; that of
# velocities the z' = z'* + y of Phi'(z, z') = 0 with M y + Phi_z^T nu = 0. Both have the matrix of the accelerations at
# z, whose factors serve all three, their variations and their pull-backs. Derivation: docs/theory/closed_loops.md.


RATIO = 1e6  # of the penalty to inertia in the factorised matrix: a means, no part of any result
SOLVED = 1e-9  # last correction of a solution, relative: the next one is a millionth of it
MOST = 12  # corrections of a position; two as a rule, the second of the size of round-off
ROUND_OFF = 4e-16  # of a position and its extent
STALLED = 0.5  # contraction of corrections, above which they no longer shrink
LOOSE = 1e3  # round-offs below which a correction that no longer shrinks serves
CLOSED = 1e-10  # largest constraint that a projection leaves, in its scale of length or rad
UNKNOWN, STANDS, FAILED = range(3)  # ``Loops.found``: of the positions that are evaluated next


class Loops(NamedTuple):
    """Constraints as a manifold: work, and what the latest projection has found."""

    driver: np.ndarray  # (n,) NONE: constraints drive coordinates
    euler: np.ndarray  # (0,) none: constraints keep the norms of Euler parameters
    kin: Any  # Kinematics about the global origin
    comp: Any
    eq: Any  # Equations
    factor: Any  # Factor of M and Phi_z
    columns: Any  # Columns
    state: Any  # LoadedMotion
    scale: np.ndarray  # (m,) of constraints
    at: np.ndarray  # (n,) positions that ``factor`` is of
    found: np.ndarray  # (1,) STANDS where ``factor`` serves there, FAILED where no projection was found
    x: np.ndarray  # (n,) what projections added, and their multipliers
    mu: np.ndarray  # (m,)
    y: np.ndarray  # (n,)
    nu: np.ndarray  # (m,)
    zero: np.ndarray  # (n,)
    redundant: bool  # constraints depend on each other: multipliers are kept in the range of Phi_z
    normal: Any  # linear_solve.NormalEquations
    turning: np.ndarray  # measures that are angles between bodies, followed from one evaluation to the next
    tw: Any  # Twists of p directions
    d_columns: Any  # Columns of p
    rest: Any  # Resting of p
    other: Any  # Resting of p
    d_state: Any  # LoadedMotion of p
    d_raw: np.ndarray  # (n, p) variations before a projection


@kernel
def factor_at(model, theta, t, z, loops):
    """Place bodies and constraints at z and factorise M with Phi_z there; False where that cannot be done."""
    kin, comp, eq, factor = loops.kin, loops.comp, loops.eq, loops.factor
    system.place(model, theta, z, False, kin)
    system.constrain(model, theta, t, z, kin, eq)
    system.shape(model, theta, kin)
    system.compose(model, kin, comp)
    system.mass(model, theta, kin, comp, factor.T)
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
    if project_motion(model, theta, t, tree, state) and sens.z.size > 0:
        _vary_position(model, theta, t, directions, tree, state, sens)
        _vary_velocity(model, theta, t, directions, tree, state, sens)


@kernel
def project_motion(model, theta, t, loops, state):
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
        copy_to(columns.mu, loops.mu)
        if last or (done and not np.iscomplexobj(z)):
            return _is_closed(loops)
        last = done  # the imaginary part of a complex step converges one correction behind
        if size > STALLED * previous and not done:
            return size <= LOOSE * ROUND_OFF * np.sqrt(floor) and _is_closed(loops)
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
    constraint_speeds(model, theta, t, eq.J, loops.factor.sparsity, zd, eq.phi1)
    clear(columns.b)
    scaled(-1.0, eq.phi1, columns.e)
    solve_constrained(loops.factor, SOLVED, columns)
    copy_to(columns.x, loops.y)
    add_scaled(1.0, columns.x, zd)
    copy_to(columns.mu, loops.nu)


@kernel
def _vary_position(model, theta, t, directions, loops, state, sens):
    """Variations of the projected z: dz = dz* + dx, M dx + Phi_z^T dmu = -d(M x + Phi_z^T mu), Phi_z dz = -d Phi.

    The former depends on dz itself, by no more than x is; so the solution is repeated until it stays.
    """
    kin, eq, columns, still = loops.kin, loops.eq, loops.d_columns, loops.zero
    nothing = loops.d_state.zdd
    system.move(model, theta, Motion(state.z, still, still), kin)
    copy_to(sens.z, loops.d_raw)
    clear(nothing)
    for _ in range(MOST):
        system.vary_bodies_of(
            model, theta, directions, Motion(state.z, still, still), kin, Motion(sens.z, nothing, nothing), loops.tw
        )  # fmt: skip
        system.vary_equations(model, theta, directions, t, state.z, sens.z, eq.lines, kin, loops.tw, columns.e)
        load, rests = Load(loops.x, loops.mu), (loops.rest, loops.other)
        system.vary_at_rest(
            model, theta, directions, state.z, sens.z, eq.lines, kin, loops.comp, loops.tw, (load, load), rests
        )
        _add_mass_times_change(loops, sens.z)
        solve_constrained(loops.factor, SOLVED, columns)
        add_scaled(-1.0, columns.x, sens.z)
        if size_of(loops.factor.weight, columns.x) <= SETTLED * size_of(loops.factor.weight, sens.z):
            break


@kernel
def _add_mass_times_change(loops, dz):
    """b = d(M x + Phi_z^T mu) + M (dz - dz*) + Phi_z^T dmu for dmu = 0, the residual of the first equation."""
    T, b, rest = loops.factor.T, loops.d_columns.b, loops.rest.dG
    n, p = b.shape
    for i in range(n):
        for k in range(p):
            b[i, k] = rest[i, k]
        for j in range(n):
            for k in range(p):
                b[i, k] += T[i, j] * (dz[j, k] - loops.d_raw[j, k])


SETTLED = 1e-26  # of ``size_of`` variations: smaller corrections are round-off


@kernel
def size_of(weights, columns):
    """Sum of squares of columns (n, p), weighted by the inertia."""
    size = 0.0
    for c in range(columns.shape[0]):
        for k in range(columns.shape[1]):
            size += weights[c] * np.abs(columns[c, k]) ** 2
    return size


@kernel
def _vary_velocity(model, theta, t, directions, loops, state, sens):
    """Variations of the projected z', after those of z."""
    kin, eq, columns, still = loops.kin, loops.eq, loops.d_columns, loops.zero
    nothing = loops.d_state.zdd
    system.move(model, theta, Motion(state.z, state.zd, still), kin)
    clear(nothing)
    system.vary_bodies_of(
        model, theta, directions, Motion(state.z, state.zd, still), kin, Motion(sens.z, sens.zd, nothing), loops.tw
    )  # fmt: skip
    load, rests = Load(loops.y, loops.nu), (loops.rest, loops.other)
    system.vary_at_rest(
        model, theta, directions, state.z, sens.z, eq.lines, kin, loops.comp, loops.tw, (load, load), rests
    )
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    moved, d_moved = loops.state, loops.d_state
    copy_to(state.z, moved.z)
    copy_to(state.zd, moved.zd)
    clear(moved.zdd)
    copy_to(sens.z, d_moved.z)
    copy_to(sens.zd, d_moved.zd)
    system.vary_rates(model, theta, directions, t, moved, d_moved, eq, kin, loops.tw, columns.e, loops.other.dphi)
    copy_to(loops.rest.dG, columns.b)
    solve_constrained(loops.factor, SOLVED, columns)
    add_scaled(-1.0, columns.x, sens.zd)


# Pull-backs: transposes of the variations, all with the symmetric matrix of M and Phi_z -------------------------------
#
# Spatial vectors are about the global origin. Derivation: docs/theory/closed_loops.md.


TINY = 1e-300  # added to a divisor: all columns may be zero
ROUND_OFF_OF_ADJOINTS = 1e-15  # remaining adjoints, relative to those given, at which solutions end


class PulledLoops(NamedTuple):
    """Work of pull-backs of p columns."""

    open_tree: Any  # Loops, without directions; its ``d_columns`` have p
    comp: Any  # Composite of time points
    dyn: Any  # ClosedLoops
    still: Any  # Kinematics of systems at rest: other V, A, S', S'', and the ground without gravity
    virtual: Any  # Virtual
    none: Any  # Virtual without motion
    rest: Any  # Adjoints: those of the motion but for z, z', z''
    nu: np.ndarray  # (m, p)
    no_nu: np.ndarray  # (m, p) zeros
    hat: np.ndarray  # (n, p)


@kernel
def pull_accelerations(model, theta, t, state, work, adj):
    """Pull adjoints of z'' and multipliers back to z, z', theta and zero them; return (found, relative residual)."""
    if is_nothing(adj.zdd) and is_nothing(adj.lam):
        return True, 0.0
    loops = work.open_tree
    kin, eq, columns, moved = loops.kin, loops.eq, loops.d_columns, loops.state
    if not accelerate(model, theta, t, Motion(state.z, state.zd, moved.zdd), work.dyn, moved.lam):
        return False, 1.0
    system.load(model, theta, t, moved, kin, loops.comp, eq)
    system.move_columns(model, theta, moved, kin)
    copy_to(adj.zdd, work.hat)
    copy_to(adj.zdd, columns.b)
    copy_to(adj.lam, columns.e)
    solve_constrained(loops.factor, SOLVED, columns)
    scaled(-1.0, columns.x, work.virtual.mu)
    scaled(-1.0, columns.mu, work.nu)
    system.pull_residual(model, theta, t, moved, eq, kin, loops.comp, work.virtual, work.no_nu, adj)
    terms = squares(work.hat) + squares(adj.zdd)  # adjoints of multipliers alone leave hat zero
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    system.pull_rates(model, theta, t, moved, eq, kin, loops.comp, work.none, work.no_nu, work.nu, adj)
    error = np.sqrt(squares(adj.zdd) / (terms + TINY))
    clear(adj.zdd)
    clear(adj.lam)
    return True, error


@kernel
def squares(columns):
    """Sum of the squares of all entries."""
    total = 0.0
    for c in range(columns.shape[0]):
        for k in range(columns.shape[1]):
            total += np.abs(columns[c, k]) ** 2
    return total


@kernel
def share_of(part, whole):
    """Norm of a part, all columns together, relative to that of the whole."""
    size, most = 0.0, TINY
    for c in range(part.shape[0]):
        for k in range(part.shape[1]):
            size += np.abs(part[c, k]) ** 2
            most += np.abs(whole[c, k]) ** 2
    return np.sqrt(size / (most + size))


@kernel
def pull_settled(model, theta, t, pulled, raw, state, adj):
    """Turn adjoints of ``state``, the last projection of ``pulled.open_tree``, into those of ``raw`` (not read)."""
    loops = pulled.open_tree
    kin, eq, columns = loops.kin, loops.eq, loops.d_columns
    factor_at(model, theta, t, state.z, loops)
    moving = Motion(state.z, state.zd, loops.zero)
    system.move(model, theta, moving, kin)
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    copy_to(adj.zd, columns.b)
    clear(columns.e)
    solve_constrained(loops.factor, SOLVED, columns)
    scaled(-1.0, columns.x, pulled.virtual.mu)
    scaled(-1.0, columns.mu, pulled.nu)
    system.pull_rates(model, theta, t, moving, eq, kin, loops.comp, pulled.none, pulled.nu, pulled.no_nu, adj)
    clear(pulled.rest.z)
    resting = LoadedMotion(state.z, loops.zero, loops.y, loops.nu)
    system.pull_at_rest(
        model, theta, t, resting, eq, pulled.still, loops.comp, pulled.virtual, pulled.no_nu, pulled.rest
    )
    add_scaled(1.0, pulled.rest.z, adj.z)
    clear(adj.zdd)
    _pull_position(model, theta, t, pulled, state, adj)


@kernel
def _pull_position(model, theta, t, work, state, adj):
    """The same of positions: K^T [a; b] = [z^; 0] with K of the variations, of which M and Phi_z alone are inverted.

    What their solution leaves, of the size of x, is solved for again; each part is pulled back by itself.
    """
    loops = work.open_tree
    columns, whole = loops.d_columns, work.hat
    copy_to(adj.z, columns.b)
    copy_to(adj.z, whole)
    clear(adj.z)
    for _ in range(MOST):
        clear(columns.e)
        add_scaled(1.0, columns.b, adj.z)
        solve_constrained(loops.factor, SOLVED, columns)
        scaled(-1.0, columns.x, work.virtual.mu)
        scaled(-1.0, columns.mu, work.nu)
        _add_transposed(loops, work, adj.z)
        clear(work.rest.z)
        resting = LoadedMotion(state.z, loops.zero, loops.x, loops.mu)
        system.pull_at_rest(
            model, theta, t, resting, loops.eq, work.still, loops.comp, work.virtual, work.nu, work.rest
        )
        scaled(-1.0, work.nu, work.nu)
        _add_transposed(loops, work, work.rest.z)
        copy_to(work.rest.z, columns.b)
        if share_of(columns.b, whole) <= ROUND_OFF_OF_ADJOINTS:
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
