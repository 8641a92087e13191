"""The natural coordinates that are chosen, their names, and points, vectors and poses as linear functions of them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from mbsim_cli.model.codes import Measure
from mbsim_cli.model.layout import GROUND, Names

if TYPE_CHECKING:
    from mbsim_cli.solve.natural.system import NaturalSystem

STEP = 1e-40  # size of the imaginary step along a direction
SAME = 1e-9  # relative size below which a difference of fields is round-off

Local = Callable[[np.ndarray], np.ndarray]  # theta (T, size) -> vector (T, 3) in body axes


def entries(offset: int) -> Local:
    """Three numbers that follow each other."""
    return lambda theta: theta[:, offset : offset + 3]


def axis(offset: int, k: int, sign: float = 1.0) -> Local:
    """Column k of a rotation matrix that stands by rows."""
    return lambda theta: sign * theta[:, [offset + k, offset + 3 + k, offset + 6 + k]]


def given(vector: np.ndarray) -> Local:
    """A vector that does not depend on theta."""
    return lambda theta: np.broadcast_to(np.asarray(vector, theta.dtype), (len(theta), 3))


def directions_of(theta: np.ndarray, dtheta: np.ndarray) -> np.ndarray:
    """Values of theta (1 + p, size); a complex theta stands alone."""
    if np.iscomplexobj(theta):
        return theta[None]
    return np.concatenate([theta[None] + 0j, theta + 1j * STEP * dtheta.T])


def value_of(stack: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The value in a stack, of the kind of ``like``."""
    return stack[0].copy() if np.iscomplexobj(like) else stack[0].real.copy()


def derivative_of(stack: np.ndarray, p: int) -> np.ndarray:
    """Derivatives (..., p) in a stack; zero where it has none."""
    if len(stack) == 1:
        return np.zeros((*stack.shape[1:], p))
    return np.moveaxis(stack[1:].imag / STEP, 0, -1)


class Fields:
    """Poses of bodies (T, 12, 1 + N), affine in N coordinates: origin, then the columns of the rotation matrix."""

    def __init__(self, theta: np.ndarray, N: int) -> None:
        self.theta, self.N = theta, N
        self.poses: dict[int, np.ndarray] = {}
        ground = np.zeros((len(theta), 12, 1 + N), complex)
        for k in range(3):
            ground[:, 3 + 4 * k, 0] = 1.0
        self.poses[GROUND] = ground

    def vector(self, body: int, local: Local) -> np.ndarray:
        """A vector of a body."""
        columns = self.poses[body][:, 3:].reshape(len(self.theta), 3, 3, -1)
        return np.einsum("tk,tkac->tac", local(self.theta), columns)

    def point(self, body: int, local: Local) -> np.ndarray:
        """A point of a body."""
        return self.poses[body][:, :3] + self.vector(body, local)

    def coordinates(self, columns: list[int], along: np.ndarray) -> np.ndarray:
        """Coordinates (k,) along vectors (T, k, 3)."""
        field = np.zeros((len(self.theta), 3, 1 + self.N), complex)
        for j, column in enumerate(columns):
            field[:, :, 1 + column] = along[:, j]
        return field

    def is_constant(self, field: np.ndarray) -> bool:
        """Whether no coordinate has a part in a field, at theta and along all directions."""
        return vanishes(field[:, :, 1:], field)

    def carried(self, body: int, field: np.ndarray, *, point: bool) -> bool:
        """Whether a field is a point or vector of a body, at theta and along all directions."""
        pose = self.poses[body]
        wanted = field - pose[:, :3] if point else field
        axes = np.moveaxis(pose[:, 3:].reshape(len(self.theta), 3, 3, -1), 1, -1)
        columns, wanted = axes.reshape(len(self.theta), -1, 3), wanted.reshape(len(self.theta), -1)
        base = columns[0].real
        local, *_ = np.linalg.lstsq(base, wanted[0].real, rcond=None)
        size = max(np.abs(wanted[0].real).max(), 1e-300)
        if np.abs(base @ local - wanted[0].real).max() > SAME * size:
            return False
        for k in range(1, len(self.theta)):
            turned = columns[k].imag / STEP
            change = wanted[k].imag / STEP - turned @ local
            moved, *_ = np.linalg.lstsq(base, change, rcond=None)
            largest = max(size, np.abs(change).max(), size * np.abs(turned).max())
            if np.abs(base @ moved - change).max() > SAME * largest:
                return False
        return True


def vanishes(part: np.ndarray, whole: np.ndarray) -> bool:
    """Whether a part vanishes against the whole, in value and derivatives."""
    size = max(np.abs(whole[0]).max(), 1e-300)
    if part.size and np.abs(part[0]).max() > SAME * size:
        return False
    change = np.abs(whole[1:].imag).max(initial=0.0) / STEP
    return not (part[1:].size and np.abs(part[1:].imag).max() / STEP > SAME * max(change, size))


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
    arm: float = np.inf  # distance from the axis of the rotation that they measure; infinite if they also translate


@dataclass
class Base:
    """The point and three vectors that give the pose of a body; the functions give fields (T, 3, 1 + N)."""

    body: int
    origin: Callable[[Fields], np.ndarray]
    vectors: list[Callable[[Fields], np.ndarray]]
    locals: list[Local]  # of origin and vectors
    ways: list[Local]  # those of the vectors that lead to points

    def place(self, fields: Fields) -> None:
        """Add the pose of the body to the fields: its columns are those that give the vectors."""
        at, *locals_ = (local(fields.theta) for local in self.locals)
        inverse = np.linalg.inv(np.stack(locals_, axis=2))  # (T, vector, axis)
        columns: np.ndarray = sum(
            inverse[:, a, :, None, None] * vector(fields)[:, None] for a, vector in enumerate(self.vectors)
        )  # (T, axis, 3, 1 + N)
        origin = self.origin(fields) - np.einsum("tk,tkac->tac", at, columns)
        fields.poses[self.body] = np.concatenate([origin, columns.reshape(len(fields.theta), 9, -1)], axis=1)


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


def names_of(system: "NaturalSystem") -> Names:
    """All names, with units; those of dropped equations are appended to the identities."""
    old, kept, added = system.problem.names, system.equations.kept, system.equations.added
    rigid = system.plan.rigid
    gone = set(range(len(old.constraints))) - set(kept)
    units = {column: "m" if group.point else "" for group in system.plan.groups for column in group.columns}
    units |= {d.coordinate: old.coordinate_units[system.coordinate_of(d.column)] for d in system.equations.defined}
    units |= {k: old.coordinate_units[system.coordinate_of(c)] for c, k in system.equations.elastic.items()}
    return replace(
        old,
        coordinates=system.coordinate_names,
        coordinate_units=tuple(units[int(c)] for c in np.argsort(system.order)),
        constraints=(*(old.constraints[i] for i in kept), *(row.name for row in added), *(each.name for each in rigid)),
        constraint_units=(
            *(old.constraint_units[i] for i in kept),
            *("m" if row.kind == Measure.PROJECTION else "rad" for row in added),
            *("1" for _ in rigid),
        ),
        identities=(*old.identities, *(old.constraints[i] for i in sorted(gone))),
    )


def origins_of(system: "NaturalSystem") -> tuple[str, ...]:
    """The origin of each equation."""
    special = {d.row: "definition" for d in system.equations.defined}
    special |= {weld.row: "node" for weld in system.equations.welds}
    added = (special.get(j, "joint") for j in range(len(system.equations.added)))
    return (*("model" for _ in system.equations.kept), *added, *("rigidity" for _ in system.plan.rigid))
