"""What is chosen as natural coordinates: bases of bodies, groups of coordinates, and equations of rigidity."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mbsim_cli.solve.natural.fields import Fields, Local


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
