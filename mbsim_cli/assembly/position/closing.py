"""Closing of loops at t = 0: which coordinates the others determine, and what stays open."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mbsim_cli.assembly.position.equations import Equations
from mbsim_cli.assembly.position.groups import Group, Scaled, groups
from mbsim_cli.assembly.position.search import CLOSED, Found, Search, dependent_rows, determined, rank, unit_rows
from mbsim_cli.assembly.tree.kinematics import Inertia, Poses
from mbsim_cli.model.codes import ROTATIONS
from mbsim_cli.model.coordinates import among, kinds
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import Scales, scales_of

Accepts = Callable[[np.ndarray], bool]


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
    held: np.ndarray  # (l,) bool: coordinates that kept their initial values, or the nearest to them
    held_velocity: np.ndarray  # (l,) bool: rates that can keep theirs
    found: Found  # how


@dataclass(frozen=True)
class Closing:
    """The mechanism at t = 0; names as in ``Part``, for all m equations and n coordinates."""

    parts: list[Part]
    z: np.ndarray  # (n,)
    at: Poses
    phi: np.ndarray  # (m,) m or rad
    held: np.ndarray  # (n,) bool
    held_velocity: np.ndarray  # (n,) bool
    scales: Scales
    inertia: Inertia

    @property
    def is_closed(self) -> bool:
        """Whether all constraints are met."""
        return bool((self.gaps <= CLOSED).all())

    @property
    def gaps(self) -> np.ndarray:
        """What stays open (m,), lengths in the mechanism's unit."""
        return np.abs(self.phi) / self.scales.rows[: len(self.phi)]

    @property
    def closures(self) -> int:
        """Different closed positions that were found."""
        return max((part.found.closures for part in self.parts), default=1)

    @property
    def moved(self) -> np.ndarray:
        """Mask (n,) of coordinates that had to leave their declared values."""
        mask = np.zeros(len(self.z), dtype=bool)
        for part in self.parts:
            mask[part.columns] = part.found.moved
        return mask

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


def close(equations: Equations, stated: np.ndarray, stated_velocity: np.ndarray, accepts: Accepts) -> Closing:
    """Find coordinates that satisfy the equations, starting from the declared ones.

    Where fewer coordinates are declared independent than the mechanism has degrees of freedom, further ones keep their
    initial values: of those that determine the others well, first the ``stated`` ones (n,); of rates those of
    ``stated_velocity`` (n,). ``accepts`` tells whether a closed position is one of the mechanism.
    """
    problem = equations.problem
    tree, theta = problem.model.tree, equations.theta
    n, first = kinds(tree).size, tree.initial[0]
    scales = scales_of(problem.model, problem.theta, np.array([row[0] for row in equations.rows], dtype=int))
    parts = [_close(group, theta, problem, (stated, stated_velocity), scales, accepts) for group in groups(equations)]
    z, phi = problem.theta[first : first + n].copy(), np.zeros(equations.m)
    held, held_velocity = np.ones((2, n), dtype=bool)
    for part in parts:
        z[part.columns], phi[part.rows] = part.z, part.phi
        held[part.columns], held_velocity[part.columns] = part.held, part.held_velocity
    at = equations.poses(theta, z)
    return Closing(parts, z, at, phi, held, held_velocity, scales, Inertia(problem.model, problem.theta, at))


def scaled_group(group: Group, problem: Problem, scales: Scales) -> Scaled:
    """Equations of a group, lengths in the mechanism's unit."""
    turns = among(kinds(problem.model.tree)[group.columns], ROTATIONS)
    return Scaled(group.equations, scales.rows[group.every_row], scales.columns[group.columns], turns)


def _close(
    group: Group, theta: list[float], problem: Problem, stated: tuple[np.ndarray, np.ndarray], scales: Scales,
    accepts: Accepts,
) -> Part:  # fmt: skip
    """Close one group of equations, lengths measured in the mechanism's unit."""
    columns, m = group.columns, group.equations.m
    equations = scaled_group(group, problem, scales)
    free, stated_angle, stated_rate = ~problem.independent[columns], stated[0][columns], stated[1][columns]
    start = problem.theta[problem.model.tree.initial[0] + columns] / equations.columns
    search = Search(equations, theta, start, free, stated_angle, lambda z: accepts(z * equations.columns))
    found = search.find() if group.geometric else search.keep()
    z, rows = found.z, equations.of_position
    phi, J = equations.at(theta, z)
    scaled = unit_rows(J)
    held, held_velocity = np.ones((2, len(columns)), dtype=bool)
    held[found.dependent] = False
    held_velocity[determined(scaled, free, stated_angle | stated_rate, beyond=True, last=stated_rate)] = False
    if np.abs(phi[rows]).max(initial=0.0) > CLOSED:  # the smallest gap is where equations lose their rank
        scaled = unit_rows(equations.at(theta, search.generic())[1])
    conflict = _conflict(scaled[rows], sum(row < m for row in rows), free)
    units = unit_rows(J)[:m]
    redundant = [int(group.rows[row]) for row in dependent_rows(units)]
    z, open_rows = z * equations.columns, phi[:m] * equations.rows[:m]
    return Part(group.rows, columns, z, open_rows, units, redundant, conflict, held, held_velocity, found)


def _conflict(J: np.ndarray, first_declared: int, free: np.ndarray) -> int:
    """Rows that only coordinates declared independent could satisfy, and initial values stated twice.

    Rows from ``first_declared`` on are declared values of cut joints.
    """
    dependent = dependent_rows(J)
    stated_twice = sum(1 for row in dependent if row >= first_declared)
    return len(J) - len(dependent) + stated_twice - rank(J[:, free])
