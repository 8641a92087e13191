"""Reactions that sensors read: of joints, cut or not, and of constraints."""

from collections.abc import Callable, Sequence
from typing import Any

from mbsim_cli.assembly.elements.constraints import ConstraintTable, Identity
from mbsim_cli.assembly.parameters.vectors import IDENTITY, ZERO, Matrix, Scalar, Vector, table
from mbsim_cli.assembly.tree.geometry import Geometry, split
from mbsim_cli.assembly.tree.joints import joint_frames
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.assembly.tree.topology import PairTable
from mbsim_cli.model.layout import NONE, Constraints, Measures, Model, Reactions, freeze
from mbsim_cli.model.problem import Reacting

PARTS = {"force": "N", "moment": "N m"}


class ReactionTable:
    """Collects reactions; their equations count the identities behind those that are kept."""

    def __init__(self, system: System, pairs: PairTable, constraints: ConstraintTable, identities: Sequence[Identity]):
        self._system, self._pairs, self._identities = system, pairs, identities
        measures = [constraints.measures.pair[measure] for measure in constraints.measure]
        self._pair = [*measures, *(identity.pair for identity in identities)]  # of each equation, NONE of coordinates
        self._equations: dict[str, list[int]] = {}
        for number, name in enumerate([*constraints.names, *(identity.name for identity in identities)]):
            self._equations.setdefault(name.partition(".")[0], []).append(number)
        self._motions: dict[str, list[str]] = {}  # of each joint
        for name, spec in system.model_file.constraints.items():
            if spec.type == "motion":
                self._motions.setdefault(split(spec.coordinate)[0], []).append(name)
        self._rows: list[tuple[int, int, int, int, int, int]] = []
        self._first = [0]
        self._equation: list[int] = []
        self._sign: list[int] = []

    def add(self, spec: Any) -> None:
        """Add a reaction of the model file."""
        system, file = self._system, self._system.model_file
        bodies, joint = spec.bodies(file), spec.joint_of(file)
        on = spec.on or bodies[1]
        column_body = system.topology.index[_carried(system, joint)] if joint in system.topology.joints else NONE
        whole = column_body if spec.constraint is None else NONE
        sign = 1 if column_body != NONE and system.topology.index[on] == column_body else -1
        names = [spec.constraint] if spec.constraint else []
        if not names and whole == NONE:  # a cut joint, with what moves its coordinates
            names = [joint, *self._motions.get(joint, ())]
        for name in names:
            self._add_equations(name, system.topology.index[on])
        self._first.append(len(self._equation))
        axes_body, axes = self._axes(spec, joint, on, bodies)
        point_body, point = self._point(spec, joint, bodies)
        block = system.theta.add(lambda: _block(system.geometry, point, axes))
        index = system.topology.index
        self._rows.append((whole, column_body, sign, index[point_body], index[axes_body], block))

    def table(self, model: Model) -> Reacting | None:
        """The reactions as arrays, and the model with identities as further equations."""
        if not self._rows:
            return None
        joint, column_body, sign, point_body, axes_body, theta = zip(*self._rows, strict=True)
        reactions = table(
            Reactions, joint=joint, column_body=column_body, sign=sign, first=self._first, equation=self._equation,
            equation_sign=self._sign, point_body=point_body, axes_body=axes_body, theta=theta,
        )  # fmt: skip
        whole = freeze(_with(model, self._identities)) if self._identities else model
        return Reacting(whole, _frozen(reactions), len(self._identities))

    def _add_equations(self, name: str, on: int) -> None:
        for number in self._equations.get(name, ()):
            pair = self._pair[number]
            self._equation.append(number)
            self._sign.append(-1 if pair != NONE and self._pairs.bodies(pair)[1] != on else 1)

    def _axes(self, spec: Any, joint: str | None, on: str, bodies: tuple[str, str]):
        if spec.axes == "joint" and joint is not None:
            between = self._system.joints[joint]
            return bodies[0], lambda geometry: joint_frames(geometry, between).R_a
        return (on if spec.axes == "body" else "ground"), lambda geometry: IDENTITY

    def _point(self, spec: Any, joint: str | None, bodies: tuple[str, str]):
        """The joint's point on its second body, or that of the constraint."""
        if joint is not None:
            between = self._system.joints[joint]
            return bodies[1], lambda geometry: joint_frames(geometry, between).p_b
        constraint = self._system.model_file.constraints[spec.constraint]
        if constraint.type == "angle":
            return bodies[1], lambda geometry: ZERO  # a couple is the same about every point
        body, point = split(constraint.points[1] if constraint.type == "distance" else constraint.point)
        return body, lambda geometry: geometry.point(body, point)


def _carried(system: System, joint: str) -> str:
    """Body that a tree joint carries."""
    return system.topology.bodies[system.topology.joints.index(joint)]


def _block(geometry: Geometry, point: Callable[[Geometry], Vector], axes: Callable[[Geometry], Matrix]) -> list[Scalar]:
    return [*point(geometry), *(entry for row in axes(geometry) for entry in row)]


def _frozen(reactions: Reactions) -> Reactions:
    for array in reactions:
        array.flags.writeable = False
    return reactions


def _with(model: Model, identities: Sequence[Identity]) -> Model:
    """The model with equations that the coordinates have no part in."""
    count, kept = len(identities), model.measures
    measures = table(
        Measures,
        kind=[*kept.kind, *(identity.kind for identity in identities)],
        pair=[*kept.pair, *(identity.pair for identity in identities)],
        theta=[*kept.theta, *(identity.block for identity in identities)],
        first=[*kept.first, *[kept.first[-1]] * count],
        coordinate=kept.coordinate,
    )
    first = len(kept.kind)
    constraints = table(
        Constraints,
        measure=[*model.constraints.measure, *range(first, first + count)],
        theta=[*model.constraints.theta, *(identity.target for identity in identities)],
        law=[*model.constraints.law, *[NONE] * count],
    )
    return model._replace(measures=measures, constraints=constraints)
