"""Bodies that deform as assembly reads them: standard input data that follow the numbers of the file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.errors import ModelError, UsageError
from mbsim_cli.model.codes import ROTATIONS, TRANSLATIONS, Column
from mbsim_cli.model.layout import NONE, STEP
from mbsim_cli.model.standard_data import LEFT_OVER
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.geometry import Scalar, Vector
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.system import cached_property

if TYPE_CHECKING:
    from mbsim_cli.reduction.data import Node, StandardInput, Taylor
    from mbsim_cli.reduction.mesh import ShapedMesh

Along = Callable[[], "StandardInput"]  # derivatives along the parameter that numbers are stepped along
ByDensity = Callable[["StandardInput"], np.ndarray]  # from an adjoint of all terms to derivatives by densities (ne,)
# from parameters to the mean density of a body, and its derivatives by the field (ne,) and by each of them
Share = Callable[[Sequence[str]], tuple[float, np.ndarray, np.ndarray]]


class Supplied(NamedTuple):
    """Standard input data of a body, and what gives their derivatives."""

    sid: "StandardInput"
    along: Along
    by_density: ByDensity | None = None  # of a body that has densities
    mesh: "Callable[[], ShapedMesh | None]" = lambda: None
    share: Share | None = None
    # that parameters move data from a file along, which have no other zeros
    directions: tuple["StandardInput", ...] = ()
    modal: bool = False  # elastic coordinates are those of modes, computed anew at any values


Source = Callable[[Any, str, Numbers], Supplied]  # of a body of a model file


class ShapeRow(NamedTuple):
    """Where theta has a displacement or a rotation (``row`` 0 .. 5) of a node by the elastic coordinates."""

    body: "ElasticBody"
    node: int
    row: int
    first: int  # in theta
    sign: float
    second: int = NONE  # where theta has what products of the coordinates do, or NONE


_NAMES = ("x", "y", "z", "angle_x", "angle_y", "angle_z")


class ElasticBody:
    """A body that deforms: its standard input data, complex where the numbers are stepped along a parameter."""

    def __init__(self, model_file: ModelFile, name: str, numbers: Numbers, source: Source):
        self.name, self._numbers = name, numbers
        self.spec: Any = model_file.bodies[name].flexible
        with numbers.recorded() as read:
            self._supplied = source(model_file, name, numbers)
        self.sid, self.mesh, self.share = self._supplied.sid, self._supplied.mesh, self._supplied.share
        self.spanned = self.sid, *self._supplied.directions
        self._read = frozenset(read)
        self._moved: tuple[str | None, StandardInput] = None, self.sid
        self.initial = _initial(model_file, self)
        sensors = (sensor for sensor in model_file.sensors.values() if sensor.type == "elastic_coordinate")
        shown = {sensor.number - 1 for sensor in sensors if sensor.body == name}
        moved = {k for given in self.initial for k, number in enumerate(given) if number.literal != 0.0}
        self._single = shown | moved  # coordinates, from 0, that sensors show by themselves, or that start elsewhere
        self.undefined: dict[str, str] = {}  # by parameters: why there are no derivatives
        self.parted: dict[str, set[int]] = {}  # by parameters: modes of equal frequencies that they give others

    @property
    def n(self) -> int:
        """Number of elastic coordinates."""
        return self.sid.n

    @property
    def coordinates(self) -> list[str]:
        """Names of the elastic coordinates."""
        return [f"q{k + 1}" for k in range(self.n)]

    @property
    def rated(self) -> set[str]:
        """Those whose initial rates the file states."""
        return set(self.coordinates) if getattr(self.spec.initial, "velocity", None) is not None else set()

    def current(self) -> "StandardInput":
        """The data at the present numbers."""
        if self._numbers.elsewhere:
            raise UsageError(f"body {self.name!r} deforms: second derivatives need shapes that no analysis follows")
        self._numbers.read |= self._read
        if not self._numbers.moves(self._read):
            return self.sid
        if self._moved[0] != self._numbers.parameter:
            self._moved = self._numbers.parameter, self._data_along()
        return self._moved[1]

    def _data_along(self) -> "StandardInput":
        """The data with a complex step along the parameter; without one where they have no derivative."""
        try:
            found = self._supplied.along()
            if self._supplied.modal:
                from mbsim_cli.reduction.integrals import in_modes, parted

                for pair in parted(self.sid, found):
                    self.parted.setdefault(str(self._numbers.parameter), set()).update(pair)
                found = in_modes(self.sid, found)
            return self.sid.map(_stepped, found)
        except ModelError as error:
            from mbsim_cli.reduction.data import NoDerivative

            if not isinstance(error.__cause__, NoDerivative):
                raise
            why = error.__cause__
            self.undefined[str(self._numbers.parameter)] = f"body {self.name!r}: {why.message}; {why.hint}"
            return self.sid

    def by_density(self, adjoint: "StandardInput") -> np.ndarray:
        """Derivatives by the densities (ne,) that the body has, from an adjoint of all terms."""
        pull_back = self._supplied.by_density
        assert pull_back is not None
        from mbsim_cli.reduction.integrals import of_span

        return pull_back(of_span(self.sid, adjoint) if self._supplied.modal else adjoint)

    @property
    def warnings(self) -> list[str]:
        """Warnings about its data, and about coordinates that the file names and that have no derivative."""
        parted = ((name, sorted(modes & self._single)) for name, modes in self.parted.items())
        found = list(self.sid.warnings)
        for parameter, modes in parted:
            if modes:
                names = " and ".join(f"q{k + 1}" for k in modes)
                found.append(
                    f"{parameter!r} separates modes of equal frequencies: {names}, which the file reads, have no "
                    "derivative by it; gradients of single ones of them depend on an arbitrary choice"
                )
        return found

    def start(self, order: int) -> tuple[Scalar, ...]:
        """Initial elastic coordinates, or their rates for ``order`` 1."""
        return self._numbers.vector(self.initial[order])

    def node(self, name: str) -> int | None:
        """Number of a node, or None."""
        names = [node.name for node in self.sid.nodes]
        return names.index(name) if name in names else None

    def bends(self, node: int) -> np.ndarray:
        """Which displacements and rotations (6,) of a node products of elastic coordinates move: it stiffens."""
        return np.any([_second(sid.nodes[node]).any(axis=(1, 2)) for sid in self.spanned], axis=0)


def _stepped(_: str, term: "Taylor", rate: "Taylor") -> "Taylor":
    """Coefficients with a complex step along their rates."""
    pairs = zip(term, rate, strict=True)
    return type(term)(*(a if b is None else (0.0 if a is None else a) + 1j * STEP * b for a, b in pairs))


def _initial(model_file: ModelFile, body: ElasticBody) -> tuple[Sequence[Any], Sequence[Any]]:
    """Numbers that the file states for the start, as many as there are elastic coordinates; zeros where none are."""
    found = []
    for key in ("position", "velocity"):
        given = getattr(body.spec.initial, key, None)
        if given is not None and len(given) != body.n:
            place = f"bodies.{body.name}.flexible.initial.{key}"
            message = f"has {len(given)} entries, and the body {body.n} elastic coordinates"
            raise ModelError([model_file.issue(place, message)])
        found.append(given if given is not None else [Number(0.0)] * body.n)
    return found[0], found[1]


@dataclass(frozen=True)
class NodeJoint:
    """Joint from a flexible body's frame to a place on it, linear in elastic coordinates (``layout.FlexibleTree``)."""

    body: ElasticBody
    number: int
    name: str  # of the body that stands for the place
    cut: bool = False
    point: None = None
    description: None = None
    stands_for: str = ""

    @property
    def bodies(self) -> tuple[str, str]:
        """The body that deforms, and the place."""
        return self.body.name, self.name

    @cached_property
    def moving(self) -> tuple[int, ...]:
        """Which of the three displacements and the three rotations there are."""
        shapes = np.hstack([_rows(sid.nodes[self.number]) for sid in self.body.spanned])
        moving = np.flatnonzero(shapes.any(axis=1) | self.body.bends(self.number)).tolist()
        return tuple(sorted({*moving, *_computed(self.body.spec, self.number)}))

    def is_bent(self, coordinate: int) -> bool:
        """Whether products of elastic coordinates move a coordinate too: those of a node that stiffens the body."""
        return bool(self.body.bends(self.number)[self.moving[coordinate]])

    @property
    def node(self) -> "Node":
        """The node of the body's data at the place."""
        return self.body.current().nodes[self.number]

    @property
    def type(self) -> str:
        """Type of joint: as a floating one it has no equations if it is cut, and no sense of its axes."""
        return "floating"

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(_NAMES[row] for row in self.moving)

    @property
    def columns(self) -> tuple[Column, ...]:
        """What the coordinates do: true rotations, about x, then y, then z."""
        return tuple((*TRANSLATIONS, *ROTATIONS)[row] for row in self.moving)

    def place(self) -> Vector:
        """The place without deformation, in the axes of the body's frame."""
        return tuple(self.node.origin.M0.tolist())

    def shapes(self, coordinate: int, sign: int) -> list[Scalar]:
        """Change of a coordinate, or of its negative, by each elastic one; unused numbers follow."""
        row = _rows(self.node)[self.moving[coordinate]].tolist()
        return [*(sign * entry for entry in row), *[0.0] * LEFT_OVER]

    def bend(self, coordinate: int, sign: int) -> list[Scalar]:
        """Second derivatives of a coordinate, or of its negative, by the elastic ones: a symmetric matrix by rows."""
        return [sign * entry for entry in _second(self.node)[self.moving[coordinate]].ravel().tolist()]


def _rows(node: "Node") -> Any:
    """Displacements and rotations (6, n) by the elastic coordinates."""
    return np.concatenate([node.phi.M0, node.psi.M0], axis=1).T


def _second(node: "Node") -> Any:
    """Symmetric parts (6, n, n) of displacements and rotations of first order in the elastic coordinates."""
    n = len(node.phi.M0)
    first = [np.zeros((n, n, 3)) if term.M1 is None else term.M1 for term in (node.phi, node.psi)]
    M1 = np.concatenate(first, axis=2).transpose(2, 0, 1)
    return (M1 + M1.swapaxes(1, 2)) / 2


def _computed(spec: Any, number: int) -> set[int]:
    """Rows that a body given by numbers has expressions in, so that they need not stay zero."""
    if getattr(spec, "terms", None) is None:
        return set()
    node = list(spec.nodes.values())[number]
    return {
        3 * place + axis
        for place, rows in enumerate((node.phi, node.psi))
        for row in rows or ()
        for axis, entry in enumerate(row)
        if entry.literal is None
    }
