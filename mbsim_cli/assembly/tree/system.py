"""What all parts of the packing share: the file's sections, the numbers, the tree and its columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

from mbsim_cli.assembly.parameters.numbers import Theta
from mbsim_cli.assembly.tree.elastic import ElasticBody, NodeJoint, ShapeRow
from mbsim_cli.assembly.tree.geometry import Geometry, split
from mbsim_cli.assembly.tree.joints import TreeColumn, coordinates_of, tree_columns
from mbsim_cli.assembly.tree.topology import Topology
from mbsim_cli.errors import Issue, ModelError
from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import NONE
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.states import StateJoint


@dataclass(frozen=True)
class Coordinate:
    """A joint coordinate as the user names it; column NONE if its joint is cut."""

    joint: str
    name: str
    column: int
    sign: int  # the column holds sign times the coordinate


Judgement = Callable[["System"], Any]  # of numbers; it may record issues


class System:
    """A model file with its tree; collects the issues that the packing finds."""

    def __init__(
        self, model_file: ModelFile, geometry: Geometry, theta: Theta, topology: Topology,
        elastic: Sequence[ElasticBody] = (),
    ):  # fmt: skip
        self.model_file, self.geometry, self.theta, self.topology = model_file, geometry, theta, topology
        self.elastic = elastic  # bodies that deform
        self.shape_rows: list[ShapeRow] = []  # which theta has of their nodes
        self.joints: Mapping[str, Any] = model_file.joints
        self.tables: Any = None  # ``Tables`` that the laws read
        self.issues: list[Issue] = []
        self._settled: list[tuple[Judgement, Any, frozenset[Any] | None]] = []  # what was found, by which numbers
        self.warnings: list[str] = []
        self.columns: list[tuple[str, TreeColumn]] = []  # joint and column, in order
        self.first_column = [0]
        for joint, backwards in zip(topology.joints, topology.reversed, strict=True):
            self.columns += [(joint, column) for column in tree_columns(self.joints[joint], backwards)]
            self.first_column.append(len(self.columns))
        self.first_elastic = [len(self.columns)]
        for deforming in elastic:
            self.columns += [(deforming.name, TreeColumn(name, Column.ELASTIC, 1)) for name in deforming.coordinates]
            self.first_elastic.append(len(self.columns))
        self.coordinates = [(owner, column) for owner, column in self.columns if not self._is_node(owner)]
        self._body_of = {joint: body for body, joint in enumerate(topology.joints)}
        self._number = {(joint, column.coordinate): i for i, (joint, column) in enumerate(self.columns)}

    def issue(self, path: str, message: str, hint: str | None = None) -> None:
        """Record that something is wrong at a path of the file."""
        self.issues.append(self.model_file.issue(path, message, hint))

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Report a direction without length that turns up in what stands at a path of the file."""
        try:
            yield
        except ZeroDivisionError:
            self.issue(path, "a direction has no length", "directions that must differ are parallel, or one is zero")

    def settle(self, judge: "Judgement", *, by_theta: bool = False) -> Any:
        """What a judgement finds that the tables rest on; it is repeated where numbers change that it reads.

        One that reads theta is repeated wherever any number changes.
        """
        with self.geometry.numbers.recorded() as read:
            found = judge(self)
        self._settled.append((judge, found, None if by_theta else frozenset(read)))
        return found

    def renewed(self, changed: frozenset[Any]) -> "System | None":
        """The same where some numbers have changed, without its issues; None where the tables may be others.

        Raises what blocks and judgements raise.
        """
        found = copy(self)
        found.theta, found.issues, found.warnings = self.theta.renewed(changed), [], self.warnings.copy()
        for judge, before, read in self._settled:
            if (read is None or not read.isdisjoint(changed)) and (judge(found) != before or found.issues):
                return None
        return found

    def stop(self) -> None:
        """Raise ModelError if anything is wrong so far."""
        if self.issues:
            raise ModelError(self.issues)

    def coordinate(self, reference: str) -> Coordinate:
        """The coordinate "JOINT.coordinate"."""
        joint, name = split(reference)
        column = self._number.get((joint, name), NONE)
        return Coordinate(joint, name, column, self.columns[column][1].sign if column != NONE else 1)

    @property
    def coordinates_of_joints(self) -> list[str]:
        """Names of the coordinates of all joints, also of those that are cut."""
        return [f"{joint}.{name}" for joint in self.joints for name in self.declared_order(joint)]

    def number_of(self, coordinate: Coordinate) -> int:
        """Number of a coordinate among those of the system; NONE if its joint is cut."""
        return NONE if coordinate.column == NONE else self.coordinate_columns().index(coordinate.column)

    def coordinate_names(self) -> tuple[str, ...]:
        """Name of every coordinate; one whose column holds its negative says so."""
        return tuple(
            ("-" if column.sign < 0 else "") + f"{joint}.{column.coordinate}" for joint, column in self.coordinates
        )

    def coordinate_units(self) -> tuple[str, ...]:
        """Unit of every coordinate."""
        return tuple(self._unit(owner, column.coordinate) for owner, column in self.coordinates)

    @property
    def states(self) -> int:
        """Number of states, each of which has a coordinate that moves no body."""
        return sum(isinstance(spec, StateJoint) for spec in self.joints.values())

    def _unit(self, owner: str, coordinate: str) -> str:
        unit = getattr(self.joints.get(owner), "unit", None)
        return unit_of(coordinate) if unit is None else integrated(unit)

    def euler_columns(self) -> list[tuple[str, int]]:
        """Joint and first column of every set of Euler parameters."""
        return [(joint, i) for i, (joint, column) in enumerate(self.columns) if column.kind == Column.EULER_0]

    def coordinate_columns(self) -> list[int]:
        """Column of every coordinate: all but those of nodes."""
        return [i for i, (owner, _) in enumerate(self.columns) if not self._is_node(owner)]

    def _is_node(self, owner: str) -> bool:
        return isinstance(self.joints.get(owner), NodeJoint)

    def node_joints(self) -> list[tuple[str, NodeJoint]]:
        """Joints between bodies that deform and places on them, by their names."""
        return [(name, spec) for name, spec in self.joints.items() if isinstance(spec, NodeJoint)]

    def bent_columns(self, node: str) -> dict[int, tuple[int, float]]:
        """Columns of a node that products of elastic coordinates move, and their signs, by displacement or rotation."""
        joint, found = self.joints.get(node), {}
        for number, (owner, kept) in enumerate(self.columns):
            if isinstance(joint, NodeJoint) and owner == node:
                coordinate = joint.coordinates.index(kept.coordinate)
                if joint.is_bent(coordinate):
                    found[joint.moving[coordinate]] = number, float(kept.sign)
        return found

    def elastic_columns(self, body: str) -> list[int]:
        """Columns of the elastic coordinates of a body."""
        number = [deforming.name for deforming in self.elastic].index(body)
        return list(range(self.first_elastic[number], self.first_elastic[number + 1]))

    def columns_of(self, joint: str) -> list[TreeColumn]:
        """Columns of a tree joint."""
        body = self._body_of[joint]
        return [column for _, column in self.columns[self.first_column[body] : self.first_column[body + 1]]]

    def declared_order(self, joint: str) -> tuple[str, ...]:
        """Coordinates of a joint in declared order."""
        return coordinates_of(self.joints[joint])


def integrated(unit: str) -> str:
    """Unit of the integral of a state over time."""
    return f"{unit} s" if unit not in ("", "1") and "/" not in unit else "s" if unit in ("", "1") else f"({unit}) s"


def unit_of(coordinate: str) -> str:
    """Unit of a joint coordinate."""
    if coordinate.startswith("angle"):
        return "rad"
    return "1" if coordinate.startswith(("e", "q")) else "m"
