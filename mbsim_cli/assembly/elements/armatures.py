"""Inertias that coordinates have of their own: armatures of joints, and those of states."""

from functools import partial

from mbsim_cli.assembly.parameters.vectors import Scalar, table
from mbsim_cli.assembly.tree.joints import coordinates_of
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.layout import NONE, Armatures
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.states import StateJoint


def armature_table(system: System) -> Armatures:
    """Armatures of all tree joints; records those of joints that are cut."""
    rows: list[tuple[int, int, int]] = []
    for name, spec in system.joints.items():
        inertia = getattr(spec, "armature", None)
        if inertia is None:
            continue
        coordinate = system.coordinate(f"{name}.{coordinates_of(spec)[0]}")
        if coordinate.column == NONE:
            message = f"joint {name!r} is cut, and its coordinate has no place for an armature"
            system.issue(f"joints.{name}.armature", message, "add cut: false to the joint, and cut another one")
            continue
        stored = int(not isinstance(spec, StateJoint))
        rows.append((coordinate.column, system.theta.add(partial(_inertia, system, inertia)), stored))
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return table(Armatures, **dict(zip(Armatures._fields, columns, strict=True)))


def _inertia(system: System, inertia: Number) -> tuple[Scalar]:
    return (system.geometry.numbers(inertia),)
