"""Groups of equations that share no coordinates: each is closed by itself, so that open trees cost no n x n array."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from mbsim_cli.assembly.elements.laws import law_at
from mbsim_cli.assembly.parameters.vectors import Scalar
from mbsim_cli.assembly.position.equations import OF_COORDINATES, Equations, InitialMeasure, of_coordinates
from mbsim_cli.model.coordinates import among, of_columns
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Problem

KEPT = 8  # positions at which equations are remembered


class System(Protocol):
    """What closing needs to know of equations."""

    @property
    def m(self) -> int:
        """Number of constraints."""

    @property
    def of_position(self) -> list[int]:
        """Rows that the position must satisfy."""

    @property
    def initial_measures(self) -> Sequence[InitialMeasure]:
        """Declared values of cut joints, behind the constraints."""

    def at(self, theta: Sequence[Scalar], z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Equations and their Jacobian."""


@dataclass(frozen=True)
class Group:
    """Equations with the numbers of their rows (k,) and coordinates (l,)."""

    equations: System
    rows: np.ndarray
    columns: np.ndarray

    @property
    def every_row(self) -> np.ndarray:
        """Numbers of the rows, those of declared values of cut joints among them."""
        more = len(self.rows) + np.arange(len(self.equations.initial_measures))
        return np.concatenate([self.rows, more]).astype(int)

    @property
    def geometric(self) -> bool:
        """Whether equations between bodies are among them; others are linear, but for norms."""
        return isinstance(self.equations, Equations)


@dataclass(frozen=True)
class Scaled:
    """Equations with coordinates in units ``columns`` (l,), and rows in units ``rows``; ``turns`` (l,) are angles."""

    equations: System
    rows: np.ndarray
    columns: np.ndarray
    turns: np.ndarray
    _known: dict[bytes, tuple] = field(default_factory=dict, repr=False, compare=False)  # what was asked last

    @property
    def m(self) -> int:
        """Number of constraints."""
        return self.equations.m

    @property
    def of_position(self) -> list[int]:
        """Rows that the position must satisfy."""
        return self.equations.of_position

    @property
    def initial_measures(self) -> Sequence[InitialMeasure]:
        """Declared values of cut joints, behind the constraints."""
        return self.equations.initial_measures

    def at(self, theta: Sequence[Scalar], z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Equations and their Jacobian, in these units; for reading only, as they are kept for the next to ask."""
        kept_for, found = self._known.get(z.tobytes(), (None, None))
        if kept_for is not theta:
            phi, J = self.equations.at(theta, z * self.columns)
            found = phi / self.rows, J * self.columns / self.rows[:, None]
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[z.tobytes()] = theta, found
        return found


@dataclass(frozen=True)
class Local:
    """Equations that read the coordinates ``columns`` alone; ``reads`` says which of these each row has."""

    problem: Problem
    rows: list[tuple[int, int, int]]  # measure, theta index of the target, law
    of_position: list[int]
    reads: list[np.ndarray]
    initial_measures: Sequence[InitialMeasure] = ()

    @property
    def m(self) -> int:
        """Number of constraints."""
        return len(self.rows)

    def at(self, theta: Sequence[Scalar], z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Equations (zero where automatic) and their Jacobian by the coordinates z of the group."""
        model, needed = self.problem.model, set(self.of_position)
        phi, J = np.zeros(self.m), np.zeros((self.m, len(z)))
        for i, (measure, target, law) in enumerate(self.rows):
            table, reads = model.measures, self.reads[i]
            value, slope = of_coordinates(table, measure, theta, z[reads])
            np.add.at(J[i], reads, slope)
            if i in needed:
                phi[i] = value - theta[target] - (law_at(model.laws, theta, law, 0.0) if law != NONE else 0.0)
        return phi, J


def groups(equations: Equations) -> list[Group]:
    """One group of all equations, or where none is geometric those that hang together."""
    model, n = equations.problem.model, len(equations.problem.independent)
    kinds = model.measures.kind[[row[0] for row in equations.rows]] if equations.rows else np.zeros(0, int)
    if not among(kinds, OF_COORDINATES).all() or equations.initial_measures:
        return [Group(equations, np.arange(equations.m), np.arange(n))]
    return list(_separate(equations))


def connected(reads: Sequence[Sequence[int]]) -> list[list[int]]:
    """Rows in groups, by the coordinates that they share; a row without any is alone."""
    leader: dict[int, int] = {}  # of a coordinate: another one of its group, or itself

    def top(coordinate: int) -> int:
        while leader.setdefault(coordinate, coordinate) != coordinate:
            leader[coordinate] = leader[leader[coordinate]]
            coordinate = leader[coordinate]
        return coordinate

    for which in reads:
        for coordinate in which[1:]:
            leader[top(coordinate)] = top(which[0])
    members: dict[int, list[int]] = {}
    for row, which in enumerate(reads):
        members.setdefault(top(which[0]) if which else -1 - row, []).append(row)
    return list(members.values())


def _separate(equations: Equations) -> Iterator[Group]:
    """Groups of equations that are connected by coordinates."""
    table = equations.problem.model.measures
    tree = equations.problem.model.tree
    reads = [of_columns(tree, table.coordinate[table.first[k] : table.first[k + 1]]) for k, _, _ in equations.rows]
    wanted = set(equations.of_position)
    for rows in connected([which.tolist() for which in reads]):
        columns = np.unique(np.concatenate([reads[row] for row in rows]))
        local = Local(
            equations.problem,
            [equations.rows[row] for row in rows],
            [place for place, row in enumerate(rows) if row in wanted],
            [np.searchsorted(columns, reads[row]) for row in rows],
        )
        yield Group(local, np.array(rows), columns)
