"""Joints in natural coordinates: what bodies share, which equations remain, which measures stand for coordinates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.codes import BETWEEN_BODIES, EULER_PARAMETERS, ROTATIONS, TRANSLATIONS, Column, Measure, Sensor
from mbsim_cli.model.coordinates import of_columns
from mbsim_cli.model.layout import GROUND, N_A, NONE, P_A, P_B, P_C, P_P, R_C, R_P, U_A, U_B, FlexibleTree, Model, Names
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.natural.plan import Fields, Local, Plan, axis, entries, given, vanishes

ZERO = given(np.zeros(3))


@dataclass(frozen=True)
class Shared:
    """A point or a vector that two bodies share."""

    name: str
    point: bool
    a: int
    local_a: Local
    b: int
    local_b: Local

    def on(self, body: int) -> Local:
        """Its local coordinates in one of the bodies."""
        return self.local_a if body == self.a else self.local_b

    def other(self, body: int) -> int:
        """The other body."""
        return self.b if body == self.a else self.a


@dataclass(frozen=True)
class Row:
    """A measure between two bodies: an equation with target zero, or the coordinate of a joint."""

    name: str
    kind: Measure
    a: int
    b: int
    p_a: Local = ZERO
    p_b: Local = ZERO
    u_a: Local = ZERO
    u_b: Local = ZERO
    n_a: Local = ZERO

    def numbers(self, theta: np.ndarray) -> np.ndarray:
        """Block (T, 15) of the measure."""
        return np.concatenate([f(theta) for f in (self.p_a, self.p_b, self.u_a, self.u_b, self.n_a)], axis=1)


@dataclass(frozen=True)
class TreeJoint:
    """The joint that carries a body, by its columns."""

    name: str
    parent: int
    child: int
    offset: int
    columns: tuple[int, ...]  # codes.Column, in order

    @property
    def turns(self) -> list[int]:
        """Axes (0, 1, 2) that it turns about, in order; Euler parameters are not among them."""
        return [c - Column.ROTATION_X for c in self.columns if c in ROTATIONS]

    @property
    def slides(self) -> list[int]:
        """Axes that it slides along."""
        return [int(c) for c in self.columns if c in TRANSLATIONS]

    @property
    def spherical(self) -> bool:
        """Whether it allows any rotation."""
        return Column.EULER_0 in self.columns

    @property
    def slides_last(self) -> bool:
        """Whether it slides along axes of the child."""
        return bool(self.slides) and self.columns[0] not in TRANSLATIONS

    def axis_of(self, parent: bool, k: int, sign: float = 1.0) -> Local:
        """Axis k of the joint frame on one of the bodies."""
        return axis(self.offset + (R_P if parent else R_C), k, sign)

    @property
    def points(self) -> tuple[Local, Local]:
        """Joint points on parent and child."""
        return entries(self.offset + P_P), entries(self.offset + P_C)

    def shared(self) -> Iterator[Shared]:
        """The point, where nothing slides, and axes."""
        if not self.slides:
            yield Shared(self.name, True, self.parent, self.points[0], self.child, self.points[1])
        if self.spherical or len(self.turns) > 1:
            return
        for k in self.turns or (0, 1, 2):
            on_parent, on_child = self.axis_of(True, k), self.axis_of(False, k)
            yield Shared(f"{self.name}.{'xyz'[k]}", False, self.parent, on_parent, self.child, on_child)

    def rows(self) -> Iterator[Row]:
        """All constraints of the joint."""
        P, C = self.parent, self.child
        on_p, on_c = self.points
        for k in range(3):
            if k not in self.slides and not self.slides_last:
                yield Row(f"{self.name}.point_{'xyz'[k]}", Measure.PROJECTION, P, C, on_p, on_c, self.axis_of(True, k))
            elif k not in self.slides:
                yield Row(f"{self.name}.point_{'xyz'[k]}", Measure.PROJECTION, C, P, on_c, on_p, self.axis_of(False, k))
        right_angles: list[tuple[str, int, int]] = []
        match None if self.spherical else self.turns:
            case []:
                right_angles = [("tilt_1", 0, 2), ("tilt_2", 1, 2), ("turn", 0, 1)]
            case [k]:
                right_angles = [("tilt_1", (k + 1) % 3, k), ("tilt_2", (k + 2) % 3, k)]
            case [first, second]:
                right_angles = [("square", first, second)]
        for name, i, j in right_angles:
            u_a, u_b = self.axis_of(True, i), self.axis_of(False, j)
            yield Row(f"{self.name}.{name}", Measure.DOT, P, C, u_a=u_a, u_b=u_b)

    def coordinate(self, place: int, sign: float) -> Row | None:
        """Measure of ``sign`` times the coordinate of a column; None for Euler parameters."""
        P, C, code = self.parent, self.child, self.columns[place]
        on_p, on_c = self.points
        name = f"{self.name}.{Column(code).name.lower()}"
        if code in EULER_PARAMETERS:
            return None
        if code in TRANSLATIONS:
            if self.slides_last:
                return Row(name, Measure.PROJECTION, C, P, on_c, on_p, self.axis_of(False, code, -sign))
            return Row(name, Measure.PROJECTION, P, C, on_p, on_c, self.axis_of(True, code, sign))
        k = code - Column.ROTATION_X
        if len(self.turns) == 1:
            u, n = (k + 1) % 3, k
            return self._angle(name, P, C, True, u, n, sign)
        first, last = self.turns[0], self.turns[-1]
        if k == first:
            return self._angle(name, P, C, True, last, first, sign)
        return self._angle(name, C, P, False, first, last, -sign)

    def weld(self, place: int) -> tuple[Row, bool]:
        """Measure of the coordinate of a column, or, then True, of its sine: of the middle one of three rotations."""
        code = self.columns[place]
        if len(self.turns) < 3 or code != Column.ROTATION_X + self.turns[1]:
            row = self.coordinate(place, 1.0)
            assert row is not None
            return row, False
        first, middle, last = self.turns
        name, sign = f"{self.name}.{Column(code).name.lower()}", 1.0 if (first + 1) % 3 == middle else -1.0
        u_a, u_b = self.axis_of(True, first, sign), self.axis_of(False, last)
        return Row(name, Measure.DOT, self.parent, self.child, u_a=u_a, u_b=u_b), True

    def _angle(self, name: str, a: int, b: int, parent: bool, u: int, n: int, sign: float) -> Row:
        u_a, u_b, n_a = self.axis_of(parent, u), self.axis_of(not parent, u), self.axis_of(parent, n, sign)
        return Row(name, Measure.ANGLE, a, b, u_a=u_a, u_b=u_b, n_a=n_a)


def tree_joints(model: Model, names: tuple[str, ...]) -> list[TreeJoint]:
    """Joints of the spanning tree, one a body."""
    tree = model.tree
    return [
        TreeJoint(
            names[i], int(tree.parent[i]), i, int(tree.theta[i]),
            tuple(int(c) for c in tree.column_kind[tree.first_column[i] : tree.first_column[i + 1]]),
        )
        for i in range(tree.parent.size)
    ]  # fmt: skip


def row_of(model: Model, measure: int, name: str) -> Row:
    """A geometric measure of the model."""
    o, pair = int(model.measures.theta[measure]), model.measures.pair[measure]
    kind = Measure(int(model.measures.kind[measure]))
    p_a, p_b, u_a, u_b, n_a = (entries(o + k) for k in (P_A, P_B, U_A, U_B, N_A))
    return Row(name, kind, int(model.pairs.a[pair]), int(model.pairs.b[pair]), p_a, p_b, u_a, u_b, n_a)


def shared_by_constraints(model: Model, named: Names, stack: np.ndarray) -> Iterator[Shared]:
    """Points and axes that equations let coincide: cut joints. Some of their equations may be identities.

    ``stack`` (T, size) holds theta. Those whose multipliers a sensor reads stay equations.
    """
    read = {named.constraints[row].partition(".")[0] for row in read_multipliers(model)}
    closing = [
        row_of(model, int(k), name)
        for row, (k, name) in enumerate(zip(model.constraints.measure, named.constraints, strict=True))
        if model.measures.kind[k] in (Measure.PROJECTION, Measure.DOT)
        and model.constraints.law[row] == NONE
        and name.partition(".")[0] not in read
        and not stack[:, model.constraints.theta[row]].any()
    ]
    groups: dict[tuple, list[Row]] = {}
    for row in closing:
        seen = (row.p_a, row.p_b) if row.kind == Measure.PROJECTION else (row.u_b,)
        key = (row.kind, row.a, row.b, *(f(stack).tobytes() for f in seen))
        groups.setdefault(key, []).append(row)
    for (kind, *_), rows in groups.items():
        first = rows[0]
        normals = np.array([row.u_a(stack)[0].real for row in rows])
        rank = np.linalg.matrix_rank(normals, tol=1e-8)
        name = first.name.rpartition(".")[0]
        if kind == Measure.PROJECTION and rank + sum(f"{name}.{k}" in named.identities for k in "xyz") == 3:
            yield Shared(name, True, first.a, first.p_a, first.b, first.p_b)
        elif kind == Measure.DOT and rank == 2:
            yield Shared(f"{name}.axis", False, first.a, partial(_normal, rows), first.b, first.u_b)


def read_multipliers(model: Model) -> set[int]:
    """Equations whose multipliers sensors read."""
    return set(model.sensors.index[model.sensors.kind == Sensor.MULTIPLIER].tolist())


def _normal(rows: list[Row], theta: np.ndarray) -> np.ndarray:
    """The third axis of the frame whose first and second one are normal to an axis of the other body."""
    n = np.cross(rows[0].u_a(theta), rows[1].u_a(theta))
    return n / np.sqrt((n * n).sum(axis=1))[:, None]


@dataclass(frozen=True)
class Defined:
    """A coordinate of a joint that an equation defines by its measure."""

    column: int  # of the tree
    coordinate: int  # natural
    row: int  # among the added ones


@dataclass(frozen=True)
class Weld:
    """An equation that holds a node on its body: its measure is a linear form of elastic coordinates, or its sine."""

    row: int  # among the added ones
    node: int  # among the columns of nodes, ``FlexibleTree.node``
    sine: bool


@dataclass
class NaturalEquations:
    """Measures and equations added to a model, and the constraints of the model that are kept."""

    kept: list[int] = field(default_factory=list)  # rows of the model's constraints
    added: list[Row] = field(default_factory=list)  # equations with target zero
    replaced: dict[int, Row] = field(default_factory=dict)  # measures of one coordinate, by number
    sensed: list[tuple[int, Row]] = field(default_factory=list)  # sensors of coordinates, and their measures
    defined: list[Defined] = field(default_factory=list)
    welds: list[Weld] = field(default_factory=list)
    elastic: dict[int, int] = field(default_factory=dict)  # natural coordinates that columns of elastic ones are


def _implied(fields: Fields, row: Row) -> bool:
    """Whether shared points and vectors, and rigidity, satisfy an equation already."""
    u_a = fields.vector(row.a, row.u_a)
    if row.kind == Measure.DOT:
        u_b = fields.vector(row.b, row.u_b)
        return (
            fields.carried(row.a, u_b, point=False)
            or fields.carried(row.b, u_a, point=False)
            or (fields.carried(GROUND, u_a, point=False) and is_product_constant(u_a, u_b))
            or (fields.carried(GROUND, u_b, point=False) and is_product_constant(u_b, u_a))
        )
    if row.kind != Measure.PROJECTION:
        return False
    p_a, p_b = fields.point(row.a, row.p_a), fields.point(row.b, row.p_b)
    if fields.carried(row.a, p_b, point=True):
        return True
    if fields.carried(row.b, p_a, point=True) and fields.carried(row.b, u_a, point=False):
        return True
    return fields.carried(GROUND, u_a, point=False) and is_product_constant(u_a, p_b - p_a)


def is_product_constant(constant: np.ndarray, other: np.ndarray) -> bool:
    """Whether the dot product of a field that no coordinate moves with another one does not depend on coordinates."""
    product = np.einsum("ta,tac->tc", constant[:, :, 0], other)
    return vanishes(product[:, 1:], other)


def equations_of(problem: Problem, fields: Fields, joints: Sequence[TreeJoint], plan: Plan) -> NaturalEquations:
    """Choose equations; raise AnalysisError where something reads what natural coordinates do not have."""
    model, found = problem.model, NaturalEquations()
    if isinstance(model.tree, FlexibleTree):
        listed = range(int(model.tree.elastic[0]), int(model.tree.elastic[-1]))
        found.elastic = dict(zip(listed, plan.new(len(listed)), strict=True))
    columns = [(joint, place) for joint in joints for place in range(len(joint.columns))]
    for joint in joints:
        found.added += [row for row in joint.rows() if not _implied(fields, row)]
    if isinstance(model.tree, FlexibleTree):
        for v, c in enumerate(model.tree.node):  # equations that hold nodes on their bodies
            joint, place = columns[c]
            row, sine = joint.weld(place)
            found.welds.append(Weld(len(found.added), v, sine))
            found.added.append(row)
    read, constraints = read_multipliers(model), model.constraints
    for i, k in enumerate(constraints.measure):  # but those that hold already and no sensor reads
        kind = model.measures.kind[k]
        plain = constraints.law[i] == NONE and not problem.theta[constraints.theta[i]]
        may_go = i not in read and kind in BETWEEN_BODIES and plain
        may_go = may_go and _implied(fields, row_of(model, int(k), problem.names.constraints[i]))
        if kind != Measure.EULER_NORM and not may_go:
            found.kept.append(i)
    _measure(found, problem, plan, columns)
    for s in np.flatnonzero(model.sensors.kind == Sensor.COORDINATE):
        if int(model.sensors.index[s]) not in found.elastic:
            found.sensed.append((int(s), _measured(columns, int(model.sensors.index[s]), 1.0, problem)))
    return found


def _measure(found: NaturalEquations, problem: Problem, plan: Plan, columns: list[tuple[TreeJoint, int]]) -> None:
    """Measures of one coordinate become those between bodies; coordinates that others combine or follow are defined."""
    measures, mixed = problem.model.measures, dict[int, int]()
    followed = getattr(problem.model.constraints.followers, "column", ())
    for k in np.flatnonzero(measures.kind == Measure.COORDINATES):
        listed = measures.coordinate[measures.first[k] : measures.first[k + 1]]
        factors = problem.theta[measures.theta[k] : measures.theta[k] + len(listed)]
        fixed = not problem.theta_rho[measures.theta[k] : measures.theta[k] + len(listed)].any()
        joined = [int(c) for c in listed if int(c) not in found.elastic]
        alone = len(joined) == len(listed) == 1 and joined[0] not in followed
        if alone and abs(factors[0]) == 1.0 and fixed:
            found.replaced[int(k)] = _measured(columns, joined[0], float(factors[0]), problem)
        else:
            for c in joined:
                if c not in mixed:
                    mixed[c] = plan.new(1)[0]
                    found.defined.append(Defined(c, mixed[c], len(found.added)))
                    found.added.append(_measured(columns, c, 1.0, problem))


def _measured(columns: list[tuple[TreeJoint, int]], c: int, sign: float, problem: Problem) -> Row:
    """Measure of a coordinate of a joint."""
    joint, place = columns[c]
    row = joint.coordinate(place, sign)
    if row is None:
        name = problem.names.coordinates[int(of_columns(problem.model.tree, np.array(c)))]
        raise AnalysisError(
            f"something reads the Euler parameter {name!r}, which natural coordinates do not have: "
            "use ali3p-rtdyn0 or ali3p-rtdyn1, or read directions or angles of the body"
        )
    return row
