"""The system of a model file: numbers, tree and columns; places on bodies that deform become bodies of their own."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers, Theta
from mbsim_cli.assembly.tree.elastic import ElasticBody, NodeJoint, ShapeRow, Source
from mbsim_cli.assembly.tree.joints import TreeColumn, both, has_velocity, held_of, independent, tree_columns
from mbsim_cli.assembly.tree.topology import KEEP, MOVING, NEEDED, PREFER, Edge, Topology, span
from mbsim_cli.errors import Issue, ModelError
from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import NONE
from mbsim_cli.spec.base import references, with_entries
from mbsim_cli.spec.bodies import Body
from mbsim_cli.spec.geometry import Geometry, split
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Path


class Coordinate(NamedTuple):
    """A joint coordinate as the user names it; column NONE if its joint is cut."""

    joint: str
    name: str
    column: int
    sign: int  # the column holds sign times the coordinate

    @property
    def uncut(self) -> str:
        """Hint to keep its joint whole."""
        return f"cut another joint of the loop: set joints.{self.joint}.cut to false"


Check = Callable[["System"], Any]  # reads numbers; it may record issues


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
        self.stands_at: dict[str, str] = {}  # paths in the file of what the packing adds
        self._settled: list[tuple[Check, Any, frozenset[Any] | None]] = []  # checks, results, and numbers read
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
        self.coordinates = [self.columns[i] for i in self.coordinate_columns()]
        self._body_of = {joint: body for body, joint in enumerate(topology.joints)}
        self._number = {(joint, column.coordinate): i for i, (joint, column) in enumerate(self.columns)}

    def issue(self, path: str, message: str, hint: str | None = None) -> None:
        """Record that something is wrong at a path of the file."""
        self.issues.append(self.model_file.issue(self.stands_at.get(path, path), message, hint))

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Report a direction without length that is used inside the context, at a path of the file."""
        try:
            yield
        except ZeroDivisionError:
            self.issue(path, "a direction has no length", "directions that must differ are parallel, or one is zero")

    def settle(self, check: Check, *, by_theta: bool = False) -> Any:
        """The result of a check that tables depend on, repeated if numbers change that it reads, by_theta if any."""
        with self.geometry.numbers.recorded() as read:
            found = check(self)
        self._settled.append((check, found, None if by_theta else frozenset(read)))
        return found

    def renewed(self, changed: frozenset[Any]) -> "System | None":
        """The system with changed numbers, None if tables may differ or it has issues; raises errors of checks."""
        found = copy(self)
        found.theta, found.issues, found.warnings = self.theta.renewed(changed), [], self.warnings.copy()
        for check, before, read in self._settled:
            if (read is None or not read.isdisjoint(changed)) and (check(found) != before or found.issues):
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
        """Name of every coordinate, with a minus sign if its column holds the negative."""
        return tuple(("-" if each.sign < 0 else "") + f"{joint}.{each.coordinate}" for joint, each in self.coordinates)

    def coordinate_units(self) -> tuple[str, ...]:
        """Unit of every coordinate."""
        states = {name: spec.unit for name, spec in self.joints.items() if getattr(spec, "unit", None) is not None}
        return tuple(
            integrated(states[owner]) if owner in states else unit_of(column.coordinate)
            for owner, column in self.coordinates
        )

    @property
    def states(self) -> int:
        """Number of states, each of which has a coordinate that moves no body."""
        return sum(spec.stands_for == "state" for spec in self.joints.values())

    def coordinate_columns(self) -> list[int]:
        """Column of every coordinate: all but those of nodes."""
        return [i for i, (owner, _) in enumerate(self.columns) if not isinstance(self.joints.get(owner), NodeJoint)]

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
        return tuple(self.joints[joint].coordinates)


def integrated(unit: str) -> str:
    """Unit of the integral of a state over time."""
    return f"{unit} s" if unit not in ("", "1") and "/" not in unit else "s" if unit in ("", "1") else f"({unit}) s"


def unit_of(coordinate: str) -> str:
    """Unit of a joint coordinate."""
    if coordinate.startswith("angle"):
        return "rad"
    return "1" if coordinate.startswith(("e", "q")) else "m"


_SECTIONS = ("constraints", "forces", "sensors")
_ON_FRAME = ("floating",)  # joints that may hold a frame that no place of the body has
_ON_CHORD = ("spherical", "floating")  # joints that may hold the first node of a chord, which turns against the frame
_ON_PLANE_CHORD = ("revolute",)  # the same of planar bodies: they turn about one axis
_OF_FRAME = ("elastic_coordinate", "strain_energy", "deformation")  # sensors that read the body itself


def check_flexible(system: System) -> None:
    """Record nodes of flexible bodies whose data describe an impossible motion."""
    if not (joints := system.node_joints()):
        return
    from mbsim_cli.reduction.sid_reader import EXACT, difference

    for _, joint in joints:
        node, path = joint.body.sid.nodes[joint.number], f"bodies.{joint.body.name}.flexible"
        if (defect := difference(node.AP.M0, np.eye(3))) > EXACT:  # vectors are given in the axes of the body
            message = f"node {node.name!r} has axes of its own: AP differs from the unit matrix by {defect:.2g}"
            system.issue(path, message, "join nothing to it, or make its axes the body's")
        terms = [
            (name, getattr(sid.nodes[joint.number], name).M1) for sid in joint.body.spanned for name in ("phi", "psi")
        ]
        for name, M1 in terms:
            if M1 is not None and np.any(M1) and (defect := difference(M1, M1.swapaxes(0, 1))) > EXACT:
                message = (
                    f"{name} of first order of node {node.name!r} is not symmetric in the elastic coordinates, by "
                    f"{defect:.2g} of the largest entry: no place moves so"
                )
                system.issue(path, message, "join nothing to this node, or mend the file")
                break


class _Unfolding:
    def __init__(self, model_file: ModelFile, elastic: Mapping[str, ElasticBody]):
        self._file, self._elastic = model_file, elastic
        self._nodes: dict[str, NodeJoint] = {}
        self._issues: list[Issue] = []

    def result(self) -> tuple[ModelFile, Mapping[str, NodeJoint]]:
        """The file whose places on bodies that deform are bodies, and the joints to them by their names."""
        joints = {name: self._joint(f"joints.{name}", spec) for name, spec in self._file.joints.items()}
        sections: dict[str, Any] = {}
        for section in _SECTIONS:
            given = getattr(self._file, section)
            sections[section] = {name: self._item(f"{section}.{name}", spec) for name, spec in given.items()}
        if self._issues:
            raise ModelError(self._issues)
        places = {name: Body() for name in self._nodes}
        bodies = {"bodies": self._file.bodies | places, "joints": joints | self._nodes}
        found = self._file.model_copy(update=bodies | sections)
        sensors = dict(found.sensors)
        for name, spec in sensors.items():
            if spec.type == "reaction" and spec.on in self._elastic:  # acts on the place where the joint is
                places_of, given = spec.bodies(found), spec.bodies(self._file)
                assert places_of is not None and given is not None  # ``check_reactions`` ensures it
                sensors[name] = spec.model_copy(update={"on": places_of[given.index(spec.on)]})
        return found.model_copy(update={"sensors": sensors}), self._nodes

    def _joint(self, place: str, spec: Any) -> Any:
        if not any(body in self._elastic for body in spec.bodies):
            return spec
        bodies, points = list(spec.bodies), list(both(spec.point))
        for side, (body, point) in enumerate(zip(spec.bodies, points, strict=True)):
            if body in self._elastic:
                bodies[side], points[side] = self._point(f"{place}.point", body, point, spec.type)
        return spec.model_copy(update={"bodies": tuple(bodies), "point": tuple(points)})

    def _item(self, place: str, spec: Any) -> Any:
        """A constraint, force or sensor with its references to places."""
        if spec.type in _OF_FRAME:
            if spec.type == "deformation":
                body, node = split(spec.point)
                self._deformed(f"{place}.point", body, node)
                number = self._elastic[body].node(node) if body in self._elastic else None
                if number is not None and self._elastic[body].bends(number).any():
                    self._node(f"{place}.point", body, node)  # products of elastic coordinates move it: a body
            return spec
        changed = dict[Path, str]()
        for path, kind, text, _, _ in references(spec):
            inner = ".".join([place, *(key for key in path if isinstance(key, str))])
            if kind == "point":
                body, point = split(text)
                changed[path] = ".".join(self._point(inner, body, point, "")) if body in self._elastic else text
            elif kind == "vector":
                body, vector = split(text)
                node, dot, own = vector.partition(".")
                turns = body in self._elastic and dot
                changed[path] = f"{self._node(inner, body, node)}.{own}" if turns else text
            elif kind in ("frame", "reacting body"):
                changed[path] = self._body(inner, text, spec.type)
        return with_entries(spec, (), changed)

    def _body(self, place: str, text: str, kind: str) -> str:
        body, node = split(text)
        if body in self._elastic and node:
            return self._node(place, body, node)
        if text in self._elastic and kind == "torque":
            self._at_frame(place, text, kind)
        return text

    def _point(self, place: str, body: str, point: str, joint: str) -> tuple[str, str]:
        """The node or frame that stands for a point of a body that deforms; ``joint`` is the type of its joint."""
        if self._elastic[body].node(point) is not None:
            return self._node(place, body, point), "origin"
        given, at = self._file.points.get(point), [0.0 if point == "origin" else None]
        if point != "origin" and isinstance(given, Mapping) and body in given:
            at = [number.literal for number in given[body]]
        if any(coordinate != 0.0 for coordinate in at):  # or it is given by an expression
            known = ", ".join(node.name for node in self._elastic[body].sid.nodes) or "it has none"
            self._report(place, f"{point!r} is no node of body {body!r}, which deforms", f"nodes: {known}")
        else:
            self._at_frame(place, body, joint)
        return body, point

    def _at_frame(self, place: str, body: str, kind: str) -> None:
        """Report what the frame of a body cannot take: a joint, force or torque where no place of the body moves so."""
        frame = getattr(self._elastic[body].spec, "frame", None)
        chord = getattr(frame, "chord", None)
        if frame == "free" and kind not in _ON_FRAME:
            message = f"the frame of body {body!r} follows its mean motion: no place of the body is there"
            self._report(place, message, "take a node of the body")
        elif chord is not None and kind:
            mesh = getattr(self._elastic[body].spec, "mesh", None)
            planar = getattr(mesh, "type", "") == "rectangle" or getattr(mesh, "planar", False)
            if kind not in (*_ON_CHORD, *(_ON_PLANE_CHORD if planar else ())):
                message = f"the body {body!r} turns against its frame, which lies on a chord"
                self._report(place, message, f"take the node {chord[0]!r}")

    def _node(self, place: str, body: str, node: str) -> str:
        number = self._elastic[body].node(node)
        if number is None:
            self._deformed(place, body, node)
            return body
        name = f"{body}:{node}"
        if name not in self._nodes:
            self._nodes[name] = NodeJoint(self._elastic[body], number, name)
        return name

    def _deformed(self, place: str, body: str, node: str) -> None:
        if body not in self._elastic or self._elastic[body].node(node) is None:
            self._report(place, f"{node!r} is no node of a body that deforms", "see bodies.BODY.flexible.nodes")

    def _report(self, place: str, message: str, hint: str) -> None:
        self._issues.append(self._file.issue(place, message, hint))


def spanning_tree(model_file: ModelFile) -> Topology:
    """Spanning tree of the file's joints; raises ModelError if there is none."""
    needed = {split(name)[0] for name in _constrained_coordinates(model_file)}

    def priority(name: str, spec: Any) -> int:
        if spec.cut is False:
            return KEEP
        if name in needed or independent(spec) or getattr(spec, "armature", None) is not None:
            return NEEDED
        if has_velocity(spec):
            return MOVING
        return PREFER if getattr(spec, "initial", None) is not None and spec.initial.model_fields_set else 0

    edges = [
        Edge(name, spec.bodies[0], spec.bodies[1], len(spec.coordinates), priority(name, spec), spec.cut is True)
        for name, spec in model_file.joints.items()
    ]
    topology, lost, refused = span(list(model_file.bodies), edges)
    issues, hint = [], "a free body has a floating joint to the ground"
    for body in lost:
        message = f"body {body!r} is not connected to the ground by joints"
        issues.append(model_file.issue(f"bodies.{body}", message, hint))
    for name in refused:
        message, hint = "every joint of a loop forbids cutting", "one of them must be cut"
        issues.append(model_file.issue(f"joints.{name}.cut", message, hint))
    if issues:
        raise ModelError(issues)
    return topology


def _constrained_coordinates(model_file: ModelFile) -> Iterator[str]:
    """Coordinates of couplings and motions, whose joints are better not cut: there angles wrap."""
    for spec in model_file.constraints.values():
        yield from getattr(spec, "factors", ())
        if hasattr(spec, "coordinate"):
            yield spec.coordinate
    analysis = model_file.analysis
    if analysis.type == "inverse_dynamics":
        table = analysis.motion.table
        yield from (*analysis.motion.laws, *analysis.drives)
        yield from () if table is None else (name for name in table.columns if "." in name)


def with_released(model_file: ModelFile, released: Collection[tuple[str, str]]) -> ModelFile:
    """The file without constraints that hold the points of joints along axes."""
    joints = dict(model_file.joints)
    for name, axis in released:
        joints[name] = joints[name].holding(joints[name].held.replace(axis, ""))
    return model_file.model_copy(update={"joints": joints}) if released else model_file


def held_as_in_run(model_file: ModelFile, coordinates: Sequence[str]) -> ModelFile:
    """The file whose joints are held along the axes that a run has ``coordinates`` for: others repeat constraints."""
    known, joints = {name.lstrip("-") for name in coordinates}, model_file.joints.items()
    held = [(name, axis) for name, spec in joints for axis in held_of(spec) if f"{name}.{axis}" not in known]
    return with_released(model_file, held)


def unfolded_system(model_file: ModelFile, standard_input: Source | None) -> System:
    """The system of a file before packing: bodies unfolded by ``standard_input``, a tree chosen, gravity in theta."""
    numbers = Numbers(model_file.expressions)
    theta = Theta(numbers)
    theta.add(lambda: numbers.vector(model_file.gravity))
    deforming = [name for name, body in model_file.bodies.items() if body.flexible is not None]
    if deforming and standard_input is None:
        raise ValueError("build needs standard_input for a model with bodies that deform")
    elastic = {
        name: ElasticBody(model_file, name, numbers, standard_input) for name in deforming if standard_input is not None
    }
    nodes: Mapping[str, NodeJoint] = {}
    if elastic:
        model_file, nodes = _Unfolding(model_file, elastic).result()
    geometry = Geometry(numbers, model_file, nodes)
    return System(model_file, geometry, theta, spanning_tree(model_file), list(elastic.values()))
