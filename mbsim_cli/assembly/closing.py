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

MAX_ITERATIONS = 60
CLOSED = 1e-9  # m or rad
SOLVED = 1e-13
RANK_TOLERANCE = 1e-8  # of rows scaled to unit length
TINY = 1e-12
HALVINGS = tuple(0.5**k for k in range(11))


@dataclass(frozen=True)
class Closing:
    """The mechanism at t = 0."""

    z: np.ndarray  # (n,)
    at: Poses
    phi: np.ndarray  # (m,) what stays open; zero where the target is automatic
    J: np.ndarray  # (m, n), rows scaled to unit length
    redundant: list[int]  # rows that follow from earlier ones
    conflict: int  # by how many too many coordinates are declared independent

    @property
    def rank(self) -> int:
        """Number of constraints that do not follow from others."""
        return len(self.J) - len(self.redundant)

    @property
    def mobility(self) -> int:
        """Degrees of freedom."""
        return self.J.shape[1] - self.rank


def close(problem: Problem) -> Closing:
    """Find coordinates that satisfy the constraints, starting from the declared ones."""
    first, n = problem.model.tree.initial[0], len(problem.model.tree.column_kind)
    z, theta = problem.theta[first : first + n].copy(), problem.theta.tolist()
    free = np.flatnonzero(~problem.independent)
    phi, J, at = equations(problem, theta, z)
    for _ in range(MAX_ITERATIONS):
        size = np.linalg.norm(phi)
        if size < SOLVED or not free.size:
            break
        step = np.zeros(n)
        step[free] = np.linalg.lstsq(J[:, free], -phi, rcond=RANK_TOLERANCE)[0]
        for factor in HALVINGS:
            trial = equations(problem, theta, z + factor * step)
            if np.linalg.norm(trial[0]) < size:
                break
        else:
            break
        z, (phi, J, at) = z + factor * step, trial
    m = len(problem.model.constraints.measure)
    scaled = J / np.maximum(np.linalg.norm(J, axis=1, keepdims=True), TINY)
    redundant = dependent_rows(scaled[:m])
    return Closing(z, at, phi[:m], scaled[:m], redundant, _conflict(problem, scaled, free))


def _conflict(problem: Problem, J: np.ndarray, free: np.ndarray) -> int:
    """Rows that only coordinates declared independent could satisfy; automatic targets need nothing."""
    automatic = {index for index, _ in problem.automatic}
    rows = [i for i, target in enumerate(problem.model.constraints.theta) if target not in automatic]
    initial = range(len(problem.model.constraints.theta), len(J))
    dependent = dependent_rows(J[[*rows, *initial]])
    rank = len(rows) + len(initial) - len(dependent)
    stated_twice = sum(1 for row in dependent if row >= len(rows))
    return rank + stated_twice - _rank(J[np.ix_([*rows, *initial], free)])


def _rank(J: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(J, tol=RANK_TOLERANCE)) if J.size else 0


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


def equations(problem: Problem, theta: list[float], z: np.ndarray) -> tuple[np.ndarray, np.ndarray, Poses]:
    """Constraints (m,), then declared values of cut joints; their Jacobian; and the poses."""
    model, n = problem.model, len(z)
    at = poses(model.tree, theta, z.tolist())
    automatic = {index for index, _ in problem.automatic}
    constraints = zip(model.constraints.measure, model.constraints.theta, model.constraints.law, strict=True)
    rows = [(measure, target, law, target in automatic) for measure, target, law in constraints]
    rows += [(measure, target, NONE, False) for measure, target, _ in problem.initial_measures]
    phi, J = np.zeros(len(rows)), np.zeros((len(rows), n))
    for i, (measure, target, law, as_is) in enumerate(rows):
        value = _measure(problem, theta, z, at, measure, J[i])
        if not as_is:
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
