"""The initial state: assembled positions and velocities, accelerations, and their derivatives.

The declared independent coordinates keep their values; where they are fewer than the mobility, further
coordinates are chosen to keep theirs, and Newton on the constraints gives the rest. Derivatives follow from
the constraints at the solution. Constraints with automatic targets take their value here and close nothing.
"""

from dataclasses import dataclass

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.drivers.linearise import Linearisation, linearise
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.ali3p_sensitivity import Sensitivity
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import work as allocate

RANK_TOLERANCE = 1e-9
MAX_ITERATIONS = 60
CLOSED = 1e-10  # largest constraint residual of an assembled mechanism, m or rad


@dataclass(frozen=True)
class Initial:
    """Assembled start. ``theta`` and ``dtheta`` (p, len(theta)) include automatic values."""

    state: State
    sensitivity: Sensitivity
    theta: np.ndarray
    dtheta: np.ndarray
    rank: int  # of the constraint Jacobian
    redundant: np.ndarray  # rows of the Jacobian that depend on others
    dependent: np.ndarray  # coordinates that Newton found
    conflict: int  # number of declared independent coordinates too many
    residual: np.ndarray  # (m,) constraints after assembly
    unassemblable: np.ndarray  # (p,) whether the direction breaks a redundant constraint


class _Start:
    """The start under construction: arrays of kernels, and small dense algebra around them."""

    def __init__(self, problem: Problem, theta: np.ndarray, dtheta: np.ndarray) -> None:
        self.model = problem.model
        self.theta, self.dtheta = theta, dtheta
        self.at_center = allocate.control(problem.options, redundant=False).at_center
        self.dtype = theta.dtype.type
        self.n, self.m = allocate.sizes(self.model)[1:]
        self.p = dtheta.shape[0]
        self.state = allocate.state(self.model, self.dtype)
        self.sens = allocate.sensitivity(self.model, self.p, self.dtype)
        self.work = allocate.work(self.model, self.theta)
        self.twists = allocate.sensitivity_work(self.model, self.work, self.p, self.dtype).twists
        self.out: Linearisation = allocate.linearisation(self.model, self.p, self.dtype)
        self.update_directions()

    def update_directions(self) -> None:
        """Note which numbers vary."""
        self.directions = allocate.directions(self.model, self.dtheta, self.dtype)

    def evaluate(self) -> None:
        """Everything about the current state, along the current sensitivities."""
        linearise(
            self.model, self.theta, 0.0, 0.0, self.at_center, self.directions, self.state, self.sens, self.work,
            self.twists, self.out,
        )  # fmt: skip


@dataclass(frozen=True)
class _Split:
    """Independent rows of a Jacobian and the coordinates that they determine."""

    rows: np.ndarray
    columns: np.ndarray
    rank: int  # of the whole Jacobian

    def solve(self, J: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Dependent part of the solution of J x = right for fixed independent coordinates."""
        if self.rows.size == 0:
            return np.zeros((0, *right.shape[1:]), right.dtype)
        return np.linalg.solve(J[np.ix_(self.rows, self.columns)], right[self.rows])


def _rank_and_pivots(a: np.ndarray) -> tuple[int, np.ndarray]:
    """Rank of a real matrix and its columns, most independent first.

    Gram-Schmidt with column pivoting, each vector orthogonalised twice; importing scipy's would take longer.
    """
    left = a.copy()
    order = np.arange(a.shape[1])
    largest = 0.0
    for rank in range(min(a.shape)):
        sizes = np.linalg.norm(left[:, rank:], axis=0)
        pivot = rank + int(np.argmax(sizes))
        largest = max(largest, sizes.max())
        if sizes.max() <= RANK_TOLERANCE * max(1.0, largest):
            return rank, order
        left[:, [rank, pivot]], order[[rank, pivot]] = left[:, [pivot, rank]], order[[pivot, rank]]
        q = left[:, rank] / np.linalg.norm(left[:, rank])
        for _ in range(2):
            left[:, rank + 1 :] -= np.outer(q, q @ left[:, rank + 1 :])
    return min(a.shape), order


def _split(J: np.ndarray, free: np.ndarray, rows: np.ndarray) -> _Split:
    """Choose dependent coordinates among ``free`` and rows that determine them."""
    real = J.real[rows]
    rank = _rank_and_pivots(real)[0]
    free_rank, order = _rank_and_pivots(real[:, free])
    columns = free[order[:free_rank]]
    row_order = _rank_and_pivots(real[:, columns].T)[1]
    return _Split(rows[row_order[:free_rank]], columns, rank)


def _assemble_position(start: _Start, free: np.ndarray, rows: np.ndarray) -> _Split:
    """Newton on the constraints ``rows`` for coordinates among ``free``."""
    eq = start.work.eq
    start.evaluate()
    split = _split(eq.J, free, rows)
    settled = 0
    for _ in range(MAX_ITERATIONS):
        size = np.abs(eq.phi[split.rows]).max(initial=0.0)
        settled = settled + 1 if size < 1e-12 else 0
        if settled == 3 or split.rows.size == 0:
            break
        try:
            step = -split.solve(eq.J, eq.phi)
        except np.linalg.LinAlgError:
            split = _split(eq.J, free, rows)
            continue
        _damped_step(start, split, step, size)
    return split


def _damped_step(start: _Start, split: _Split, step: np.ndarray, size: float) -> None:
    """Take a Newton step, shortened until the constraints are violated less."""
    state, eq = start.state, start.work.eq
    origin = state.z[split.columns].copy()
    factor = 1.0
    for _ in range(12):
        state.z[split.columns] = origin + factor * step
        start.evaluate()
        if np.abs(eq.phi[split.rows]).max() < max(size, 1e-12):
            return
        factor *= 0.5


def _vary_position(start: _Start, split: _Split, held: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Fill dz; return which directions violate a constraint that the coordinates cannot mend."""
    start.sens.z[held] = start.dtheta[:, start.model.tree.initial[0] + held].T
    start.evaluate()
    J, defect = start.work.eq.J, start.out.dphi[0].copy()
    start.sens.z[split.columns] = -split.solve(J, defect)
    left = defect + J @ start.sens.z - J[:, held] @ start.sens.z[held]
    scale = 1.0 + np.abs(defect[rows]).max(axis=0, initial=0.0)
    return np.abs(left[rows]).max(axis=0, initial=0.0) > 1e-7 * scale


def _fill_automatic(start: _Start, problem: Problem) -> None:
    """Give automatic numbers the value of their measure, and its derivative."""
    start.evaluate()
    for index, measure in problem.automatic:
        start.theta[index] = start.out.measures[measure]
        start.dtheta[:, index] = start.out.d_measures[measure]
    start.update_directions()
    start.evaluate()


def _assemble_velocity(start: _Start, free: np.ndarray) -> _Split:
    """Velocities, and their derivatives."""
    state, eq, sens = start.state, start.work.eq, start.sens
    split = _split(eq.J, free, np.arange(start.m))
    state.zd[split.columns] -= split.solve(eq.J, eq.phi1)
    held = np.setdiff1d(np.arange(start.n), split.columns)
    sens.zd[held] = start.dtheta[:, start.model.tree.initial[0] + start.n + held].T
    start.evaluate()
    sens.zd[split.columns] = -split.solve(eq.J, start.out.dphi[1])
    start.evaluate()
    return split


def _accelerations(start: _Start, rows: np.ndarray) -> None:
    """Accelerations and multipliers of the independent constraints, and their derivatives."""
    state, eq, sens, n = start.state, start.work.eq, start.sens, start.n
    J = eq.J[rows]
    kkt = np.block([[start.out.M, J.T], [J, np.zeros((rows.size, rows.size), start.dtype)]])
    try:
        x = np.linalg.solve(kkt, -np.concatenate([eq.G, eq.phi2[rows]]))
        if not np.isfinite(x).all():
            raise np.linalg.LinAlgError
        state.zdd[:], state.lam[rows] = x[:n], x[n:]
        start.evaluate()
        y = np.linalg.solve(kkt, -np.concatenate([start.out.dG, start.out.dphi[2][rows]]))
    except np.linalg.LinAlgError:
        raise AnalysisError(
            "the initial accelerations cannot be found: the mass matrix is singular; "
            "is there a coordinate that no mass or inertia resists?"
        ) from None
    sens.zdd[:], sens.lam[rows] = y[:n], y[n:]


def assemble(problem: Problem, theta: np.ndarray | None = None, *, motion_only: bool = False) -> Initial:
    """Assemble the start of ``problem``; ``theta`` may replace its numbers (also complex ones).

    ``motion_only`` leaves out the accelerations. Raises AnalysisError where the accelerations are singular.
    """
    theta = np.array(problem.theta if theta is None else theta)
    start = _Start(problem, theta, np.array(problem.theta_rho.T, dtype=theta.dtype, order="C"))
    model, n, m = problem.model, start.n, start.m
    first = model.tree.initial[0]
    start.state.z[:], start.state.zd[:] = theta[first : first + n], theta[first + n : first + 2 * n]
    automatic = {index for index, _ in problem.automatic}
    rows = np.array([r for r in range(m) if model.constraints.theta[r] not in automatic], dtype=int)

    position = _assemble_position(start, np.flatnonzero(~problem.independent), rows)
    held = np.setdiff1d(np.arange(n), position.columns)
    broken = _vary_position(start, position, held, rows)
    residual = start.work.eq.phi.copy()
    residual[np.setdiff1d(np.arange(m), rows)] = 0.0
    _fill_automatic(start, problem)
    velocity = _assemble_velocity(start, np.flatnonzero(~problem.independent_velocity))
    if not motion_only:
        _accelerations(start, velocity.rows)
    return Initial(
        start.state,
        start.sens,
        start.theta,
        start.dtheta,
        velocity.rank,
        np.setdiff1d(np.arange(m), velocity.rows),
        position.columns,
        position.rank - position.columns.size,
        residual,
        broken,
    )
