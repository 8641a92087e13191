"""Closing of loops at t = 0, and the rank of the constraints: for the messages about a mechanism before it runs.

The start of a simulation is computed by ``solve.initial``; this needs no compiled code, and says what is wrong.
"""

from dataclasses import dataclass

import numpy as np

from mbsim_cli.assembly.kinematics import Poses, measure_row, measure_value, poses
from mbsim_cli.assembly.laws import law_at
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Problem

MAX_ITERATIONS = 100
CLOSED = 1e-9  # m or rad
SOLVED = 1e-13
RANK_TOLERANCE = 1e-8  # of rows scaled to unit length
TINY = 1e-12
WELL = 1e-2  # part of a unit row that a coordinate must add to be a good choice
CHOICES = 3
LIGHTEST, HEAVIEST = 1e-4, 1e8  # damping of Newton's steps

Equations = tuple[np.ndarray, np.ndarray, Poses]


@dataclass(frozen=True)
class Closing:
    """The mechanism at t = 0."""

    z: np.ndarray  # (n,)
    at: Poses
    phi: np.ndarray  # (m,) what stays open; zero where the target is automatic
    J: np.ndarray  # (m, n), rows scaled to unit length
    redundant: list[int]  # rows that follow from earlier ones
    conflict: int  # by how many too many coordinates are declared independent
    held: np.ndarray  # (n,) bool: coordinates that kept their initial values
    held_velocity: np.ndarray  # (n,) bool: rates that can keep theirs

    @property
    def rank(self) -> int:
        """Number of constraints that do not follow from others."""
        return len(self.J) - len(self.redundant)

    @property
    def mobility(self) -> int:
        """Degrees of freedom."""
        return self.J.shape[1] - self.rank


def close(problem: Problem, stated: np.ndarray) -> Closing:
    """Find coordinates that satisfy the constraints, starting from the declared ones.

    Where fewer coordinates are declared independent than the mechanism has degrees of freedom, further ones keep their
    initial values: of those that determine the others well, first the ``stated`` ones (n,).
    """
    first, n = problem.model.tree.initial[0], len(problem.model.tree.column_kind)
    start, free = problem.theta[first : first + n], ~problem.independent
    # automatic targets need nothing of the position
    rows = [i for i, automatic in enumerate(_automatic(problem)) if not automatic]
    dependent = _choose(equations(problem, problem.theta.tolist(), start)[1][rows], free, stated)
    for _ in range(CHOICES):
        z, (phi, J, at) = _newton(problem, start, dependent, rows)
        better = _choose(J[rows], free, stated)
        if len(better) <= _rank(J[np.ix_(rows, dependent)]):
            break
        dependent = better
    m = len(problem.model.constraints.measure)
    scaled = _unit_rows(J)
    held, held_velocity = np.ones((2, n), dtype=bool)
    held[dependent] = False
    held_velocity[_choose(scaled, free, stated, beyond=True)] = False
    conflict = _conflict(scaled[rows], m - len(_automatic(problem)) + len(rows), free)
    return Closing(z, at, phi[:m], scaled[:m], dependent_rows(scaled[:m]), conflict, held, held_velocity)


def _newton(problem: Problem, start: np.ndarray, dependent: list[int], rows: list[int]) -> tuple[np.ndarray, Equations]:
    """Newton on some rows for the dependent coordinates, damped where it must be (Levenberg, Marquardt).

    Returns the nearest it came.
    """
    z, theta, damping = start.copy(), problem.theta.tolist(), 0.0
    found = equations(problem, theta, z)
    for _ in range(MAX_ITERATIONS if dependent else 0):
        phi, J = found[0][rows], found[1][np.ix_(rows, dependent)]
        size = np.linalg.norm(phi)
        if size < SOLVED or damping > HEAVIEST:
            break
        trial = z.copy()
        trial[dependent] += _damped_step(J, phi, damping)
        attempt = equations(problem, theta, trial)
        if np.linalg.norm(attempt[0][rows]) < size:
            z, found = trial, attempt
            damping = damping / 10.0 if damping > LIGHTEST else 0.0
        else:
            damping = max(10.0 * damping, LIGHTEST)
    return z, found


def _damped_step(J: np.ndarray, phi: np.ndarray, damping: float) -> np.ndarray:
    """Step that minimises |J step + phi|^2 + damping |step|^2."""
    if damping == 0.0:
        return np.linalg.lstsq(J, -phi, rcond=RANK_TOLERANCE)[0]
    return np.linalg.solve(J.T @ J + damping * np.eye(J.shape[1]), -J.T @ phi)


def _choose(J: np.ndarray, free: np.ndarray, stated: np.ndarray, beyond: bool = False) -> list[int]:
    """Free coordinates that the rows of J determine, as many as the rank; stated ones only where they must be.

    ``beyond`` takes others where the free ones are too few: an automatic target leaves a position but binds its rate.
    """
    rest, chosen = _unit_rows(J).copy(), []
    groups = [(free & ~stated, WELL), (free & stated, WELL), (free, RANK_TOLERANCE)]
    for group, enough in [*groups, (~free & beyond, RANK_TOLERANCE)]:
        candidates = [i for i in np.flatnonzero(group) if i not in chosen]
        while candidates:
            sizes = np.linalg.norm(rest[:, candidates], axis=0)
            best = int(np.argmax(sizes)) if len(sizes) else 0
            if not len(rest) or sizes[best] < enough:
                break
            column = rest[:, candidates[best]] / sizes[best]
            rest -= np.outer(column, column @ rest)
            chosen.append(int(candidates.pop(best)))
    return sorted(chosen)


def _conflict(J: np.ndarray, first_initial: int, free: np.ndarray) -> int:
    """Rows that only coordinates declared independent could satisfy, and initial values stated twice.

    Rows from ``first_initial`` on are declared values of cut joints.
    """
    dependent = dependent_rows(J)
    stated_twice = sum(1 for row in dependent if row >= first_initial)
    return len(J) - len(dependent) + stated_twice - _rank(J[:, free])


def _automatic(problem: Problem) -> list[bool]:
    """For every row whether its target is the initial value."""
    automatic = {index for index, _ in problem.automatic}
    return [target in automatic for target in problem.model.constraints.theta] + [False] * len(problem.initial_measures)


def _unit_rows(J: np.ndarray) -> np.ndarray:
    return J / np.maximum(np.linalg.norm(J, axis=1, keepdims=True), TINY)


def _rank(J: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(_unit_rows(J), tol=RANK_TOLERANCE)) if J.size else 0


def dependent_rows(J: np.ndarray) -> list[int]:
    """Rows of a matrix (of unit rows) that are combinations of rows before them."""
    basis, found = np.zeros((0, J.shape[1])), []
    for number, row in enumerate(J):
        rest = row - basis.T @ (basis @ row)
        rest = rest - basis.T @ (basis @ rest)
        size = np.linalg.norm(rest)
        if size < RANK_TOLERANCE:
            found.append(number)
        else:
            basis = np.vstack([basis, rest / size])
    return found


def equations(problem: Problem, theta: list[float], z: np.ndarray) -> Equations:
    """Constraints (m,), then declared values of cut joints; their Jacobian; and the poses."""
    model, n = problem.model, len(z)
    at = poses(model.tree, theta, z.tolist())
    rows = list(zip(model.constraints.measure, model.constraints.theta, model.constraints.law, strict=True))
    rows += [(measure, target, NONE) for measure, target, _ in problem.initial_measures]
    phi, J = np.zeros(len(rows)), np.zeros((len(rows), n))
    for i, ((measure, target, law), automatic) in enumerate(zip(rows, _automatic(problem), strict=True)):
        value = _measure(problem, theta, z, at, measure, J[i])
        if not automatic:
            wanted = theta[target] + (law_at(model.laws, theta, law, 0.0) if law != NONE else 0.0)
            phi[i] = value - wanted
            if model.measures.kind[measure] == Measure.ANGLE:
                phi[i] = np.remainder(phi[i] + np.pi, 2.0 * np.pi) - np.pi
    return phi, J, at


def _measure(problem: Problem, theta: list[float], z: np.ndarray, at: Poses, measure: int, row: np.ndarray) -> float:
    """Value of a measure; fills its derivatives (n,)."""
    table, pairs = problem.model.measures, problem.model.pairs
    kind, offset = table.kind[measure], table.theta[measure]
    if kind in (Measure.COORDINATES, Measure.EULER_NORM):
        which = table.coordinate[table.first[measure] : table.first[measure + 1]]
        factors = np.array(theta[offset : offset + len(which)]) if kind == Measure.COORDINATES else z[which]
        np.add.at(row, which, factors if kind == Measure.COORDINATES else 2.0 * factors)
        return float(factors @ z[which])
    pair = table.pair[measure]
    columns = pairs.column[pairs.first[pair] : pairs.first[pair + 1]]
    row[columns] = measure_row(at, pairs, kind, pair, theta, offset)
    return measure_value(at, pairs, kind, pair, theta, offset)
