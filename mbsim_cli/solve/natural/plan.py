"""What is chosen as natural coordinates: bases of bodies, groups of coordinates, equations of rigidity; their names."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import Names
from mbsim_cli.solve.natural.fields import Fields, Local

if TYPE_CHECKING:
    from mbsim_cli.solve.natural.system import NaturalSystem


@dataclass
class Group:
    """Coordinates of one point or vector: its components along ``along``, from ``origin`` on."""

    name: str
    body: int
    local: Local
    point: bool
    columns: list[int]
    along: Callable[[Fields], np.ndarray]  # (T, k, 3), orthonormal
    origin: Callable[[Fields], np.ndarray] | None = None  # field, or None for the global origin
    labels: tuple[str, ...] = ("x", "y", "z")
    arm: float = np.inf  # whose turning the coordinates tell; of a point that may move without turning, none


@dataclass
class Base:
    """How the pose of a body follows; the functions give fields (T, 3, 1 + N)."""

    body: int
    origin: Callable[[Fields], np.ndarray]
    vectors: list[Callable[[Fields], np.ndarray]]
    locals: list[Local]  # of origin and vectors

    def place(self, fields: Fields) -> None:
        """Put the pose among the fields."""
        made: list[np.ndarray] = []
        origin = self.origin(fields)
        for vector in self.vectors:
            made.append(vector(fields))
        fields.place(self.body, origin, made, [local(fields.theta) for local in self.locals])


@dataclass
class Rigid:
    """An equation of rigidity: the dot product of two vectors of a body keeps its value."""

    name: str
    body: int
    a: Local
    b: Local
    scale: float

    def shape(self, theta: np.ndarray) -> np.ndarray:
        """S (T, 6)."""
        a, b = self.a(theta), self.b(theta)
        pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        return np.stack([a[:, i] * b[:, j] + a[:, j] * b[:, i] for i, j in pairs], axis=1) / self.scale


@dataclass
class Plan:
    """Bases of all bodies, coordinates and equations of rigidity."""

    bases: list[Base] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    rigid: list[Rigid] = field(default_factory=list)
    size: int = 0

    def new(self, count: int) -> list[int]:
        """Numbers of further coordinates."""
        self.size += count
        return list(range(self.size - count, self.size))


# Names of coordinates and equations in natural coordinates, with their units, and where equations come from.


def coordinate_names(system: "NaturalSystem") -> tuple[str, ...]:
    """Names of the coordinates."""
    names, theirs = [""] * system.plan.size, system.problem.names.coordinates
    for group in system.plan.groups:
        for label, column in zip(group.labels, group.columns, strict=True):
            names[system.order[column]] = f"{group.name}.{label}"
    for d in system.equations.defined:
        names[system.order[d.coordinate]] = theirs[system.coordinate_of(d.column)]
    for mine, other in zip(*system.elastic, strict=True):
        names[mine] = theirs[other]
    return tuple(names)


def names_of(system: "NaturalSystem") -> Names:
    """Names of everything; equations that are left out stand behind the identities."""
    old, kept = system.problem.names, system.equations.kept
    gone = set(range(len(old.constraints))) - set(kept)
    return replace(
        old,
        coordinates=system.coordinate_names,
        coordinate_units=_coordinate_units(system),
        constraints=_constraint_names(system),
        constraint_units=_constraint_units(system),
        identities=(*old.identities, *(old.constraints[i] for i in sorted(gone))),
    )


def _coordinate_units(system: "NaturalSystem") -> tuple[str, ...]:
    """Units of the coordinates."""
    theirs = system.problem.names.coordinate_units
    units = {column: "m" if group.point else "" for group in system.plan.groups for column in group.columns}
    units |= {d.coordinate: theirs[system.coordinate_of(d.column)] for d in system.equations.defined}
    units |= {k: theirs[system.coordinate_of(c)] for c, k in system.equations.elastic.items()}
    return tuple(units[int(c)] for c in np.argsort(system.order))


def _constraint_names(system: "NaturalSystem") -> tuple[str, ...]:
    """Names of the equations."""
    kept = [system.problem.names.constraints[i] for i in system.equations.kept]
    return (*kept, *(row.name for row in system.equations.added), *(rigid.name for rigid in system.plan.rigid))


def _constraint_units(system: "NaturalSystem") -> tuple[str, ...]:
    """Units of the equations."""
    kept = [system.problem.names.constraint_units[i] for i in system.equations.kept]
    added = ["m" if row.kind == Measure.PROJECTION else "rad" for row in system.equations.added]
    return (*kept, *added, *("1" for _ in system.plan.rigid))


def origins_of(system: "NaturalSystem") -> tuple[str, ...]:
    """What each equation comes from."""
    special = {d.row: "definition" for d in system.equations.defined}
    special |= {weld.row: "node" for weld in system.equations.welds}
    added = (special.get(j, "joint") for j in range(len(system.equations.added)))
    return (*("model" for _ in system.equations.kept), *added, *("rigidity" for _ in system.plan.rigid))


def broken_among(system: "NaturalSystem", numbers: np.ndarray) -> np.ndarray:
    """Numbers of broken equations, as ``Block.broken``, among these names."""
    ours, theirs = names_of(system), system.problem.names
    every = (*ours.constraints, *ours.identities)
    return np.array([0 if k == 0 else 1 + every.index(theirs.equation(int(k))) for k in numbers], np.int64)
