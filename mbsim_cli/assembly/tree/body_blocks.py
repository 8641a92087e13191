"""Blocks of theta that bodies, their tree joints and armatures fill, and the initial values of the coordinates."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mbsim_cli.assembly.parameters.numbers import integers, table
from mbsim_cli.assembly.tree import joints
from mbsim_cli.assembly.tree.elastic import ElasticBody, NodeJoint, ShapeRow
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.assembly.tree.topology import PairTable
from mbsim_cli.model.layout import GROUND, NONE, Armatures, FlexibleTree, Tree
from mbsim_cli.spec.geometry import Geometry, Scalar, flat, mass_properties

if TYPE_CHECKING:
    from mbsim_cli.reduction.data import StandardInput


def tree_table(system: System) -> Tree:
    """Pack bodies and initial values; return the tree, without what ``with_elastic`` adds."""
    topology = system.topology
    bodies = [system.theta.add(partial(_block_of, system, body)) for body in range(len(topology.bodies))]
    initial = len(system.theta)
    for order, read in enumerate((joints.initial_position, joints.initial_velocity)):
        for joint in topology.joints:
            if not isinstance(system.joints[joint], NodeJoint):
                _add_initial(system, joint, read)
        for deforming in system.elastic:
            system.theta.add(partial(deforming.start, order))
    column_body = np.repeat(range(len(topology.bodies)), np.diff(system.first_column)).tolist()
    column_body += [topology.index[deforming.name] for deforming in system.elastic for _ in range(deforming.n)]
    kinds = [int(column.kind) for _, column in system.columns]
    return table(
        Tree, parent=topology.parent, first_column=system.first_column, column_kind=kinds, column_body=column_body,
        theta=bodies, initial=[initial],
    )  # fmt: skip


def with_elastic(system: System, tree: Tree, pairs: PairTable) -> Tree | FlexibleTree:
    """The tree with the bodies that deform, whose standard input data are packed."""
    if not system.elastic:
        return tree
    bodies = [system.topology.index[deforming.name] for deforming in system.elastic]
    from mbsim_cli.reduction.data import deviates, deviations, entries

    def packed(of: Callable[["StandardInput"], np.ndarray], deforming: ElasticBody) -> int:
        """Offset of numbers of the data of a body."""
        return system.theta.add(lambda: of(deforming.current()).tolist())

    blocks = [packed(entries, deforming) for deforming in system.elastic]
    deviating = [any(map(deviates, deforming.spanned)) for deforming in system.elastic]
    return FlexibleTree(
        *tree,
        flexible=integers(bodies),
        pair=integers(pairs.number(GROUND, body) for body in bodies),
        elastic=integers(system.first_elastic),
        block=integers(blocks),
        deviation=integers(
            packed(deviations, deforming) if has_deviations else NONE
            for deforming, has_deviations in zip(system.elastic, deviating, strict=True)
        ),
        column=integers(system.coordinate_columns()),
        **_nodes(system),
    )


def _nodes(system: System) -> dict[str, np.ndarray]:
    """Columns of nodes, the numbers of their bodies, and the places of their shapes in theta."""
    index = {deforming.name: f for f, deforming in enumerate(system.elastic)}
    columns, bodies, shapes, bend = [], [], [], []
    for column, (owner, kept) in enumerate(system.columns):
        joint = system.joints.get(owner)
        if isinstance(joint, NodeJoint):
            number = joint.coordinates.index(kept.coordinate)
            columns.append(column)
            bodies.append(index[joint.body.name])
            shapes.append(system.theta.add(partial(joint.shapes, number, kept.sign)))
            is_bent = joint.is_bent(number)
            bend.append(system.theta.add(partial(joint.bend, number, kept.sign)) if is_bent else NONE)
            place = joint.moving[number], shapes[-1], float(kept.sign)
            system.shape_rows.append(ShapeRow(joint.body, joint.number, *place, bend[-1]))
    found = {"node": columns, "node_body": bodies, "shape": shapes, "bend": bend}
    return {name: integers(numbers) for name, numbers in found.items()}


def _block_of(system: System, body: int) -> Sequence[Scalar]:
    """Numbers of a body and of the joint that carries it."""
    geometry, joint = system.geometry, system.joints[system.topology.joints[body]]
    frames = joints.joint_frames(geometry, joint)
    p_p, r_p, p_c, r_c = joints.tree_frames(joints.kind_of(joint), frames, system.topology.reversed[body])
    mass, centre, inertia = mass_properties(geometry.numbers, geometry, system.topology.bodies[body])
    return (*p_p, *flat(r_p), *p_c, *flat(r_c), mass, *centre, *inertia)


def _add_initial(system: System, joint: str, read: Callable[[Geometry, joints.AnyJoint], Sequence[Scalar]]) -> None:
    """Pack the initial coordinates of one joint, or their rates, in the order and sense of its columns."""
    spec, geometry = system.joints[joint], system.geometry
    order = system.declared_order(joint)
    columns = system.columns_of(joint)
    if columns:
        held = joints.held_of(spec)
        places = [(NONE if each.coordinate in held else order.index(each.coordinate), each.sign) for each in columns]

        def block() -> Sequence[Scalar]:
            values = read(geometry, spec)
            return [0.0 if place == NONE else sign * values[place] for place, sign in places]

        system.theta.add(block)


def armature_table(system: System) -> Armatures:
    """Armatures of all tree joints, and inertias of states; records those of joints that are cut."""
    rows: list[tuple[int, int, int]] = []
    for name, spec in system.joints.items():
        inertia = getattr(spec, "armature", None)
        if inertia is None:
            continue
        coordinate = system.coordinate(f"{name}.{spec.coordinates[0]}")
        if coordinate.column == NONE:
            message = f"joint {name!r} is cut, and its coordinate has no place for an armature"
            system.issue(f"joints.{name}.armature", message, coordinate.uncut)
            continue
        stored = int(spec.stands_for != "state")
        rows.append((coordinate.column, system.theta.add(partial(system.geometry.numbers.vector, (inertia,))), stored))
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return table(Armatures, **dict(zip(Armatures._fields, columns, strict=True)))
