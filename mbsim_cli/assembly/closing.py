"""Closing of loops at t = 0: which coordinates the others determine, and what stays open."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mbsim_cli.assembly.equations import Equations
from mbsim_cli.assembly.groups import Group, System, groups
from mbsim_cli.assembly.kinematics import Poses, poses
from mbsim_cli.assembly.rank import RANK_TOLERANCE, dependent_rows, determined, rank, unit_rows
from mbsim_cli.assembly.vectors import Scalar
from mbsim_cli.model.problem import Problem

MAX_ITERATIONS = 100
CLOSED = 1e-9  # m or rad
SOLVED = 1e-13
CHOICES = 3
LIGHTEST, HEAVIEST = 1e-4, 1e8  # damping of Newton's steps


@dataclass(frozen=True)
class Part:
    """Equations that share no coordinate with any other, at t = 0."""

    rows: np.ndarray  # (k,) numbers of the equations
    columns: np.ndarray  # (l,) numbers of the coordinates
    z: np.ndarray  # (l,)
    phi: np.ndarray  # (k,) what stays open; zero where the target is automatic
    J: np.ndarray  # (k, l), rows scaled to unit length
    redundant: list[int]  # equations that follow from earlier ones
    conflict: int  # by how many too many coordinates are declared independent
    held: np.ndarray  # (l,) bool: coordinates that kept their initial values
    held_velocity: np.ndarray  # (l,) bool: rates that can keep theirs


@dataclass(frozen=True)
class Closing:
    """The mechanism at t = 0; names as in ``Part``, for all m equations and n coordinates."""

    parts: list[Part]
    z: np.ndarray  # (n,)
    at: Poses
    phi: np.ndarray  # (m,)
    held: np.ndarray  # (n,) bool
    held_velocity: np.ndarray  # (n,) bool

    @property
    def J(self) -> np.ndarray:
        """Jacobian (m, n), rows scaled to unit length; dense, for mechanisms with few coordinates."""
        whole = np.zeros((len(self.phi), len(self.z)))
        for part in self.parts:
            whole[np.ix_(part.rows, part.columns)] = part.J
        return whole

    @property
    def noticed(self) -> np.ndarray:
        """Mask (n,) of the coordinates that any equation reads."""
        mask = np.zeros(len(self.z), dtype=bool)
        for part in self.parts:
            mask[part.columns] = np.abs(part.J).max(axis=0, initial=0.0) > 0.0
        return mask

    @property
    def redundant(self) -> list[int]:
        """Rows that follow from earlier ones."""
        return sorted(row for part in self.parts for row in part.redundant)

    @property
    def conflict(self) -> int:
        """By how many too many coordinates are declared independent."""
        return sum(part.conflict for part in self.parts)

    @property
    def rank(self) -> int:
        """Number of constraints that do not follow from others."""
        return len(self.phi) - len(self.redundant)

    @property
    def mobility(self) -> int:
        """Degrees of freedom."""
        return len(self.z) - self.rank

    def mobility_without(self, rows: Sequence[int]) -> int:
        """Degrees of freedom if the constraints of some rows were not there."""
        return self.J.shape[1] - rank(np.delete(self.J, rows, axis=0))


def close(equations: Equations, stated: np.ndarray) -> Closing:
    """Find coordinates that satisfy the equations, starting from the declared ones.

    Where fewer coordinates are declared independent than the mechanism has degrees of freedom, further ones keep their
    initial values: of those that determine the others well, first the ``stated`` ones (n,).
    """
    problem = equations.problem
    tree, theta = problem.model.tree, problem.theta.tolist()
    n, first = len(tree.column_kind), tree.initial[0]
    parts = [_close(group, theta, problem, stated) for group in groups(equations)]
    z, phi = problem.theta[first : first + n].copy(), np.zeros(equations.m)
    held, held_velocity = np.ones((2, n), dtype=bool)
    for part in parts:
        z[part.columns], phi[part.rows] = part.z, part.phi
        held[part.columns], held_velocity[part.columns] = part.held, part.held_velocity
    return Closing(parts, z, poses(tree, theta, z.tolist()), phi, held, held_velocity)


def _close(group: Group, theta: list[float], problem: Problem, stated: np.ndarray) -> Part:
    """Close one group of equations."""
    equations, columns = group.equations, group.columns
    rows, m = equations.of_position, equations.m
    free, stated = ~problem.independent[columns], stated[columns]
    start = problem.theta[problem.model.tree.initial[0] + columns]
    dependent = determined(equations.at(theta, start)[1][rows], free, stated)
    for _ in range(CHOICES):
        z = newton(equations, theta, start, dependent)
        phi, J = equations.at(theta, z)
        better = determined(J[rows], free, stated)
        if len(better) <= rank(J[np.ix_(rows, dependent)]):
            break
        dependent = better
    scaled = unit_rows(J)
    held, held_velocity = np.ones((2, len(columns)), dtype=bool)
    held[dependent] = False
    held_velocity[determined(scaled, free, stated, beyond=True)] = False
    conflict = _conflict(scaled[rows], len(rows) - len(equations.initial_measures), free)
    redundant = [int(group.rows[row]) for row in dependent_rows(scaled[:m])]
    return Part(group.rows, columns, z, phi[:m], scaled[:m], redundant, conflict, held, held_velocity)


def newton(equations: System, theta: Sequence[Scalar], start: np.ndarray, dependent: list[int]) -> np.ndarray:
    """Solve for the dependent coordinates by Newton, damped where it must be (Levenberg, Marquardt).

    Returns the nearest it came, (n,).
    """
    z, damping, rows = start.copy(), 0.0, equations.of_position
    phi, J = equations.at(theta, z)
    for _ in range(MAX_ITERATIONS if dependent else 0):
        size = np.linalg.norm(phi[rows])
        if size < SOLVED or damping > HEAVIEST:
            break
        trial = z.copy()
        trial[dependent] += _damped_step(J[np.ix_(rows, dependent)], phi[rows], damping)
        attempt, slope = equations.at(theta, trial)
        if np.linalg.norm(attempt[rows]) < size:
            z, phi, J = trial, attempt, slope
            damping = damping / 10.0 if damping > LIGHTEST else 0.0
        else:
            damping = max(10.0 * damping, LIGHTEST)
    return z


def _damped_step(J: np.ndarray, phi: np.ndarray, damping: float) -> np.ndarray:
    """Step that minimises |J step + phi|^2 + damping |step|^2."""
    if damping == 0.0:
        return np.linalg.lstsq(J, -phi, rcond=RANK_TOLERANCE)[0]
    return np.linalg.solve(J.T @ J + damping * np.eye(J.shape[1]), -J.T @ phi)


def _conflict(J: np.ndarray, first_declared: int, free: np.ndarray) -> int:
    """Rows that only coordinates declared independent could satisfy, and initial values stated twice.

    Rows from ``first_declared`` on are declared values of cut joints.
    """
    dependent = dependent_rows(J)
    stated_twice = sum(1 for row in dependent if row >= first_declared)
    return len(J) - len(dependent) + stated_twice - rank(J[:, free])
