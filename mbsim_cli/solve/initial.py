"""The initial state: assembled positions and velocities, accelerations, and their derivatives.

The declared independent coordinates keep their values; where they are fewer than the mobility, further
coordinates are chosen to keep theirs, and Newton on the constraints gives the rest. Derivatives follow from
the constraints at the solution. Constraints with automatic targets take their value here and close nothing.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.algorithms.equations.signals import SETTLED
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.ali3p_derivatives import Sensitivity
from mbsim_cli.model.codes import Column
from mbsim_cli.model.coordinates import all_but, kinds
from mbsim_cli.model.layout import GRAVITY, NONE, LoadedSignals, Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.solve import allocate, redundancy
from mbsim_cli.solve.allocate import NO_ROWS, Evaluable, Geometry, Instant, WorkAtInstant
from mbsim_cli.solve.faults import require_defined

if TYPE_CHECKING:
    from mbsim_cli.solve.equilibrium import Equilibrium


def quaternion_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a b, each (4,): the rotation b followed by the rotation a."""
    scalar = a[0] * b[0] - a[1:] @ b[1:]
    return np.concatenate([[scalar], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def conjugate(a: np.ndarray) -> np.ndarray:
    """The inverse of unit Euler parameters (4,)."""
    return np.concatenate([a[:1], -a[1:]])


MAX_ITERATIONS = 60
CLOSED = 1e-10  # largest constraint residual of an assembled mechanism, in its scale of length or rad
SOLVED = 1e-12  # largest one that Newton leaves, the same
ACCURATE = 1e-10  # derivatives of assembled positions, relative
LOADED_ITERATIONS = 30  # of accelerations where forces read multipliers
UNSETTLED = 1e-6  # of the largest load: a larger change of multipliers by the last iteration is no round-off


class Initial(NamedTuple):
    """Start of a run. ``theta`` and ``dtheta`` (len(theta), p), p ``padded``, include automatic values."""

    state: State
    sensitivity: Sensitivity
    theta: np.ndarray
    dtheta: np.ndarray
    # of closed loops, which open trees lack
    rank: int = 0  # of the constraint Jacobian
    redundant: np.ndarray = NO_ROWS  # rows of the Jacobian that depend on others
    residual: np.ndarray = NO_ROWS  # (m,) constraints after assembly
    broken: np.ndarray = NO_ROWS  # (p,) equation that the direction breaks, as ``Block.broken``
    held: np.ndarray = NO_ROWS  # coordinates that something else than inertia holds, in an equilibrium
    expected: np.ndarray = NO_ROWS  # (nm,) angles between bodies, with their turns
    equilibrium: "Equilibrium | None" = None  # where it starts from one
    work: WorkAtInstant | None = None  # at the assembled start of a tree, to continue from


def _assemble_position(start: Instant, free: np.ndarray, rows: np.ndarray) -> redundancy.Partition:
    """Newton on the constraints ``rows`` for coordinates among ``free``, from a position that closes them nearly.

    Three successive evaluations must find them closed, so that imaginary parts converge, too.
    """
    eq, scale = start.work.eq, scales_of(start.model, start.theta).rows
    start.evaluate()
    partition = redundancy.partition_of(redundancy.in_units(start), free, rows)
    settled = 0
    for _ in range(MAX_ITERATIONS):
        size = np.abs(eq.phi / scale)[partition.rows].max(initial=0.0)
        settled = settled + 1 if size < SOLVED else 0
        if settled == 3 or partition.rows.size == 0:
            break
        try:
            start.state.z[partition.columns] -= partition.solve(eq.J, eq.phi)
        except np.linalg.LinAlgError:
            partition = redundancy.partition_of(redundancy.in_units(start), free, rows)
            continue
        start.evaluate()
    return partition


def _fill_automatic(start: Instant, problem: Problem) -> None:
    """Give automatic numbers the value of their measure, less that of a law, and its derivative."""
    start.evaluate()
    if not problem.automatic:
        return
    constraints = problem.model.constraints
    driven = {int(constraints.theta[row]): row for row in np.flatnonzero(constraints.law != NONE)}
    for index, measure in problem.automatic:
        if index in driven:  # the constraint's target, zero so far
            start.theta[index] += start.work.eq.phi[driven[index]]
            start.dtheta[index] += start.out.dphi[0, driven[index]]
        else:
            start.theta[index] = start.out.measures[measure]
            start.dtheta[index] = start.out.d_measures[measure]
    start.update_directions()
    start.evaluate()


def _assemble_velocity(start: Instant, free: np.ndarray) -> redundancy.Partition:
    """Velocities that close the loops, dependent ones among ``free``, and their derivatives."""
    state, eq, sens = start.state, start.work.eq, start.sens
    partition = redundancy.partition_of(redundancy.in_units(start), free, np.arange(start.m))
    state.zd[partition.columns] -= partition.solve(eq.J, eq.phi1)
    held = all_but(start.n, partition.columns)
    sens.zd[held] = start.d_rates[held]
    start.evaluate()
    sens.zd[partition.columns] = -partition.solve(eq.J, start.out.dphi[1])
    start.evaluate()
    return partition


def accelerate(start: Evaluable, rows: np.ndarray) -> None:
    """Accelerations and multipliers of the independent constraints, and their derivatives."""
    state, eq, sens, n = start.state, start.work.eq, start.sens, start.n
    J, loaded = eq.J[rows], isinstance(start.model.signals, LoadedSignals)
    kkt = np.block([[start.out.M, J.T], [J, np.zeros((rows.size, rows.size), start.dtype)]])
    try:
        for _ in range(LOADED_ITERATIONS if loaded else 1):
            x = np.linalg.solve(_with_loads(start, kkt, rows), -np.concatenate([eq.G, eq.phi2[rows]]))
            if not np.isfinite(x).all():
                raise np.linalg.LinAlgError
            state.zdd[:] += x[:n]
            state.lam[rows] += x[n:]
            state.lam[:] = redundancy.of_least_norm(eq.J, rows, state.lam)
            start.evaluate()
            if np.abs(x[n:]).max(initial=0.0) <= SETTLED * np.abs(state.lam).max(initial=0.0):
                break
        if loaded:
            require_settled(x[n:], start)
        kkt = _with_loads(start, kkt, rows)
        y = np.linalg.solve(kkt, -np.concatenate([start.out.dG, start.out.dphi[2][rows]]))
    except np.linalg.LinAlgError:
        raise AnalysisError(
            "the initial accelerations cannot be found: the mass matrix is singular; "
            "is there a coordinate that no mass or inertia resists?"
        ) from None
    sens.zdd[:], sens.lam[rows] = y[:n], y[n:]
    sens.lam[:] = redundancy.of_least_norm(eq.J, rows, sens.lam)


def require_settled(change: np.ndarray, at: Evaluable) -> None:
    """Raise AnalysisError if the last iteration changed multipliers that forces read by more than round-off.

    Multipliers of forces in balance are round-off themselves: inertia forces and weights count, too.
    """
    fastest = max(np.abs(at.state.zdd).max(initial=0.0), float(np.linalg.norm(at.theta[GRAVITY : GRAVITY + 3])))
    largest = max(np.abs(at.state.lam).max(initial=0.0), np.abs(at.out.M).max(initial=0.0) * fastest)
    if not np.abs(change).max(initial=0.0) <= UNSETTLED * largest:
        raise AnalysisError(
            f"accelerations and the multipliers that forces read do not converge in {LOADED_ITERATIONS} iterations; "
            "do these forces grow faster with the multipliers than they can be balanced?"
        )


def _with_loads(start: Evaluable, kkt: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The matrix of accelerations and multipliers where forces read multipliers."""
    if not isinstance(start.model.signals, LoadedSignals):
        return kkt
    found = kkt.copy()
    found[: start.n, start.n :] -= forces_by_multipliers(start)[:, rows]
    return found


def forces_by_multipliers(at: Evaluable) -> np.ndarray:
    """Derivatives (n, m) of forces by the multipliers that they read, at a time point that is evaluated."""
    signals: Any = at.work.kin.signals
    load = signals.load
    return load.exerted @ load.slope.T


def require_forces_alone(at: Evaluable, evaluate: Callable[[], object], analysis: str) -> None:
    """Raise AnalysisError if forces vary with multipliers, for which the ``analysis`` does not solve.

    ``evaluate`` evaluates the time point with its multipliers.
    """
    if not isinstance(at.model.signals, LoadedSignals):
        return
    evaluate()
    if forces_by_multipliers(at).any():
        raise AnalysisError(
            f"{analysis} does not solve for forces that depend on multipliers, or friction on loads (dynamic); "
            "forward dynamics from a declared start does"
        )


class StartPosition(NamedTuple):
    """Assembled positions, and numbers with automatic values."""

    start: Instant
    partition: redundancy.Partition
    residual: np.ndarray  # (m,) constraints after assembly
    broken: np.ndarray  # (p,) equation that the direction breaks, as ``Block.broken``
    equilibrium: "Equilibrium | None" = None  # where the positions are those of one

    def at_equilibrium(self, problem: Problem, equilibrium: "Equilibrium") -> "StartPosition":
        """The same at an equilibrium.

        Directions that broke equations in the declared position matter only if automatic numbers, or dependent
        coordinates that the equilibrium holds, come from that position."""
        declared = problem.automatic or np.isin(equilibrium.held, self.partition.columns).any()
        broken = self.broken if declared else redundancy.broken_identities(problem)
        leaves = np.where(equilibrium.leaves[: broken.size], redundancy.beyond_equations(problem.names), 0)
        return self._replace(equilibrium=equilibrium, broken=np.where(broken, broken, leaves))


def open_rows(model: Model, theta: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Numbers of the violated constraints, the worst one last."""
    size = np.abs(residual / scales_of(model, theta).rows)
    order = np.argsort(size, kind="stable")
    return order[~(size[order] <= CLOSED)]


def close_position(problem: Problem, theta: np.ndarray | None = None, kind: type[Instant] = Instant) -> StartPosition:
    """Assemble the positions of ``problem``; ``theta`` may replace its numbers (also complex ones)."""
    theta = np.array(problem.theta if theta is None else theta)
    start = kind(problem, theta, allocate.padded_directions(problem.theta_rho, theta.dtype.type))
    model, n, m = problem.model, start.n, start.m
    first = model.tree.initial[0]
    start.state.z[:], start.state.zd[:] = theta[first : first + n], theta[first + n : first + 2 * n]
    automatic = {index for index, _ in problem.automatic}
    rows = np.array([r for r in range(m) if model.constraints.theta[r] not in automatic], dtype=int)
    position = _assemble_position(start, np.flatnonzero(~problem.independent), rows)
    held = all_but(n, position.columns)
    start.sens.z[held] = start.dtheta[first + held]
    start.evaluate()
    start.sens.z[position.columns] = -position.solve(start.work.eq.J, start.out.dphi[0])
    residual = start.work.eq.phi.copy()
    residual[all_but(m, rows)] = 0.0
    _fill_automatic(start, problem)
    require_defined(problem, start)
    broken = redundancy.broken_identities(problem)
    if position.rank < rows.size:
        broken = np.where(broken, broken, redundancy.broken_equations(start, ACCURATE)[: broken.size])
    return StartPosition(start, position, residual, broken)


def assemble(
    problem: Problem, theta: np.ndarray | None = None, *, motion_only: bool = False, geometry_only: bool = False
) -> Initial:
    """Assemble the start of ``problem``, at its equilibrium if the options ask for it.

    ``motion_only`` skips accelerations, ``geometry_only`` also forces. Raises AnalysisError
    where accelerations are singular, or nothing is at rest.
    """
    settles = problem.options.start == "equilibrium"
    found = close_position(problem, theta, Geometry if geometry_only and not settles else Instant)
    start = found.start
    if settles and not open_rows(start.model, start.theta, found.residual).size:
        from mbsim_cli.solve.equilibrium import find_equilibrium

        found = found.at_equilibrium(problem, find_equilibrium(problem, start))
        _declare_velocity(start)
    else:
        _keep_spins(start, found.partition.columns)
    velocity = _assemble_velocity(start, np.flatnonzero(~problem.independent_velocity))
    require_defined(problem, start)
    if not (motion_only or geometry_only):
        accelerate(start, velocity.rows)
    return initial_of(found, velocity.rank, velocity.rows)


def assemble_closed(problem: Problem, theta: np.ndarray | None = None, *, motion_only: bool = False) -> Initial:
    """The start as ``assemble`` gives it; raise AnalysisError where loops stay open."""
    initial = assemble(problem, theta, motion_only=motion_only)
    require_closed(problem, initial.residual)
    return initial


def initial_of(found: StartPosition, rank: int, rows: np.ndarray, held: np.ndarray = NO_ROWS) -> Initial:
    """The start at the present state; ``rows`` are the independent constraints, ``rank`` that of the Jacobian."""
    start = found.start
    return Initial(
        start.state, start.sens, start.theta, start.dtheta, rank, all_but(start.m, rows), found.residual, found.broken,
        held, start.work.kin.expected.copy(), found.equilibrium, start.work,
    )  # fmt: skip


def _declare_velocity(start: Instant) -> None:
    """Set declared velocities at an equilibrium; a body that was turned there keeps its angular velocity."""
    state, sens, tree = start.state, start.sens, start.model.tree
    state.lam[:], sens.lam[:] = 0.0, 0.0
    state.zd[:] = start.theta[tree.initial[0] + start.n : tree.initial[0] + 2 * start.n]
    for c in np.flatnonzero(kinds(tree) == Column.EULER_0).tolist():
        _keep_spin(start, c)
    start.evaluate()


def _keep_spins(start: Instant, dependent: np.ndarray) -> None:
    """Bodies that loops turn keep their declared angular velocities: their Euler parameters are ``dependent``."""
    first, turned = start.model.tree.initial[0] + start.n, False
    for c in np.flatnonzero(kinds(start.model.tree) == Column.EULER_0).tolist():
        rates = slice(first + c, first + c + 4)
        moves = start.theta[rates].any() or start.dtheta[rates].any()
        if moves and np.isin(np.arange(c, c + 4), dependent).sum() > 1:
            _keep_spin(start, c)
            turned = True
    if turned:
        start.evaluate()


def _keep_spin(start: Instant, c: int) -> None:
    """Rates of Euler parameters are declared for the declared orientation: e' becomes (e' conj(e)) times the new e."""
    state, sens = start.state, start.sens
    first = start.model.tree.initial[0]
    declared, d_declared = start.theta[first:], start.dtheta[first:]
    four, rates = slice(c, c + 4), slice(start.n + c, start.n + c + 4)
    size = declared[four] @ declared[four]  # 1, but not its derivatives: those of guesses are zero
    spin = quaternion_product(declared[rates], conjugate(declared[four])) / size
    state.zd[four] = quaternion_product(spin, state.z[four])
    for k in range(start.p):
        d_spin = quaternion_product(d_declared[rates, k], conjugate(declared[four]))
        d_spin = d_spin + quaternion_product(declared[rates], conjugate(d_declared[four, k]))
        d_spin = (d_spin - 2.0 * (declared[four] @ d_declared[four, k]) * spin) / size
        turned = quaternion_product(d_spin, state.z[four]) + quaternion_product(spin, sens.z[four, k])
        start.d_rates[four, k] = turned


def require_closed(problem: Problem, residual: np.ndarray) -> None:
    """Raise AnalysisError where constraints (m,) are violated at the start."""
    for row in open_rows(problem.model, problem.theta, residual)[-1:]:
        gap, unit = abs(residual[row]), scales_of(problem.model, problem.theta).names[row]
        raise AnalysisError(
            f"no start was found at which the mechanism is assembled: '{problem.names.constraints[row]}' stays open by "
            f"{gap:.3g} {unit}"
        )
