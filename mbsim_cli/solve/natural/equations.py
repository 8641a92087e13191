"""Which equations of joints and constraints remain, and which measures stand for coordinates of joints."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.codes import BETWEEN_BODIES, Measure, Sensor
from mbsim_cli.model.coordinates import of_columns
from mbsim_cli.model.layout import GROUND, NONE, FlexibleTree
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.natural.fields import Fields, nothing
from mbsim_cli.solve.natural.joints import Row, TreeJoint, read_multipliers, row_of
from mbsim_cli.solve.natural.plan import Plan


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
class Equations:
    """What is added to the measures and equations of a model, and what is left out."""

    kept: list[int] = field(default_factory=list)  # rows of the model's constraints
    added: list[Row] = field(default_factory=list)  # equations with target zero
    replaced: dict[int, Row] = field(default_factory=dict)  # measures of one coordinate, by number
    sensed: list[tuple[int, Row]] = field(default_factory=list)  # sensors of coordinates, and their measures
    defined: list[Defined] = field(default_factory=list)
    welds: list[Weld] = field(default_factory=list)
    elastic: dict[int, int] = field(default_factory=dict)  # natural coordinates that columns of elastic ones are


def _implied(fields: Fields, row: Row) -> bool:
    """Whether what bodies share, and their rigidity, satisfy an equation already."""
    u_a = fields.vector(row.a, row.u_a)
    if row.kind == Measure.DOT:
        u_b = fields.vector(row.b, row.u_b)
        return (
            fields.carried(row.a, u_b, point=False)
            or fields.carried(row.b, u_a, point=False)
            or (fields.carried(GROUND, u_a, point=False) and _still(u_a, u_b))
            or (fields.carried(GROUND, u_b, point=False) and _still(u_b, u_a))
        )
    if row.kind != Measure.PROJECTION:
        return False
    p_a, p_b = fields.point(row.a, row.p_a), fields.point(row.b, row.p_b)
    if fields.carried(row.a, p_b, point=True):
        return True
    if fields.carried(row.b, p_a, point=True) and fields.carried(row.b, u_a, point=False):
        return True
    return fields.carried(GROUND, u_a, point=False) and _still(u_a, p_b - p_a)


def _still(constant: np.ndarray, other: np.ndarray) -> bool:
    """Whether the dot product with a field that does not move does not depend on the coordinates."""
    product = np.einsum("ta,tac->tc", constant[:, :, 0], other)
    return nothing(product[:, 1:], other)


def equations_of(problem: Problem, fields: Fields, joints: Sequence[TreeJoint], plan: Plan) -> Equations:
    """Choose equations; raise AnalysisError where something reads what natural coordinates do not have."""
    model, found = problem.model, Equations(elastic=_elastic(problem.model.tree, plan))
    columns = [(joint, place) for joint in joints for place in range(len(joint.columns))]
    for joint in joints:
        found.added += [row for row in joint.rows() if not _implied(fields, row)]
    if isinstance(model.tree, FlexibleTree):
        _weld(found, model.tree, columns)
    found.kept += _kept(problem, fields)
    _measure(found, problem, plan, columns)
    for s in np.flatnonzero(model.sensors.kind == Sensor.COORDINATE):
        if int(model.sensors.index[s]) not in found.elastic:
            found.sensed.append((int(s), _measured(columns, int(model.sensors.index[s]), 1.0, problem)))
    return found


def _kept(problem: Problem, fields: Fields) -> Iterator[int]:
    """Rows of the model's constraints, but for what natural coordinates satisfy already, where nobody reads it."""
    model, names, read = problem.model, problem.names.constraints, read_multipliers(problem.model)
    constraints = model.constraints
    for i, k in enumerate(constraints.measure):
        kind = model.measures.kind[k]
        plain = constraints.law[i] == NONE and not problem.theta[constraints.theta[i]]
        may_go = i not in read and kind in BETWEEN_BODIES and plain
        if kind != Measure.EULER_NORM and not (may_go and _implied(fields, row_of(model, int(k), names[i]))):
            yield i


def _measure(found: Equations, problem: Problem, plan: Plan, columns) -> None:
    """Measures of one coordinate become those between bodies; coordinates that others combine are defined."""
    measures, mixed = problem.model.measures, dict[int, int]()
    for k in np.flatnonzero(measures.kind == Measure.COORDINATES):
        listed = measures.coordinate[measures.first[k] : measures.first[k + 1]]
        factors = problem.theta[measures.theta[k] : measures.theta[k] + len(listed)]
        fixed = not problem.theta_rho[measures.theta[k] : measures.theta[k] + len(listed)].any()
        joined = [int(c) for c in listed if int(c) not in found.elastic]
        if len(joined) == len(listed) == 1 and abs(factors[0]) == 1.0 and fixed:
            found.replaced[int(k)] = _measured(columns, joined[0], float(factors[0]), problem)
        else:
            for c in joined:
                _define(found, plan, mixed, columns, c, problem)


def _elastic(tree: Any, plan: Plan) -> dict[int, int]:
    """New coordinates for the columns of elastic ones, in their order."""
    if not isinstance(tree, FlexibleTree):
        return {}
    listed = range(int(tree.elastic[0]), int(tree.elastic[-1]))
    return dict(zip(listed, plan.new(len(listed)), strict=True))


def _weld(found: Equations, tree: FlexibleTree, columns) -> None:
    """Add what holds nodes on their bodies."""
    for v, c in enumerate(tree.node):
        joint, place = columns[c]
        row, sine = joint.weld(place)
        found.welds.append(Weld(len(found.added), v, sine))
        found.added.append(row)


def _define(found: Equations, plan: Plan, mixed: dict[int, int], columns, c: int, problem: Problem) -> None:
    if c not in mixed:
        mixed[c] = plan.new(1)[0]
        found.defined.append(Defined(c, mixed[c], len(found.added)))
        found.added.append(_measured(columns, c, 1.0, problem))


def _measured(columns, c: int, sign: float, problem: Problem) -> Row:
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
