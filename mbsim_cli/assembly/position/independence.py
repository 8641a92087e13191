"""Which initial coordinates keep their declared values when loops are assembled."""

from functools import partial
from typing import Any

import numpy as np

from mbsim_cli.assembly.elements.measures import MeasureTable
from mbsim_cli.assembly.parameters.vectors import Scalar
from mbsim_cli.assembly.position.equations import InitialMeasure
from mbsim_cli.assembly.tree.bodies import declared_independent
from mbsim_cli.assembly.tree.joints import (
    has_position,
    has_velocity,
    independent,
    initial_position,
    initial_velocity,
)
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.codes import Column, Measure
from mbsim_cli.model.coordinates import kinds, moved_by, of_columns
from mbsim_cli.model.layout import NONE


def kept_whatever_values(system: System, packed: Any) -> np.ndarray:
    """Mask (n,): coordinates declared independent, and those that no constraint reaches."""
    return np.array(declared_independent(system), dtype=bool) | ~_constrained_columns(packed)


def independent_columns(packed: Any, theta: np.ndarray) -> np.ndarray:
    """The same at the numbers theta: of independent Euler parameters the largest is left to the norm."""
    mask, initial = packed.kept.copy(), packed.tree.initial[0]
    for first in np.flatnonzero(kinds(packed.tree) == Column.EULER_0):
        if mask[first : first + 4].any():
            values = theta[initial + first : initial + first + 4]
            mask[first + int(np.argmax(np.abs(values)))] = False
    return mask


def stated_columns(system: System) -> np.ndarray:
    """Mask (n,) of the coordinates that have an initial position in the file, and of all elastic ones."""
    stated = {joint: has_position(system.joints[joint]) for joint in system.topology.joints}
    stated |= {body.name: set(body.coordinates) for body in system.elastic}
    return np.array([column.coordinate in stated[name] for name, column in system.coordinates], dtype=bool)


def stated_rates(system: System) -> np.ndarray:
    """Mask (n,) of the coordinates that have an initial velocity in the file."""
    stated = {joint: has_velocity(system.joints[joint]) for joint in system.topology.joints}
    stated |= {body.name: body.rated for body in system.elastic}
    return np.array([column.coordinate in stated[name] for name, column in system.coordinates], dtype=bool)


def held_columns(system: System) -> tuple[int, ...]:
    """Coordinates that keep their initial values in a static equilibrium."""
    found = []
    for index, name in enumerate(getattr(system.model_file.analysis, "hold", ())):
        coordinate = system.coordinate(name)
        if coordinate.column == NONE:
            message = f"{name!r} belongs to a joint that is cut, and cannot be held"
            system.issue(f"analysis.hold[{index}]", message, f"add cut: false to joint {coordinate.joint!r}")
        found.append(system.number_of(coordinate))
    return tuple(found)


def _constrained_columns(packed: Any) -> np.ndarray:
    """Mask (n,) of the coordinates that any constraint but the norm of Euler parameters reads."""
    tree, touched = packed.tree, np.zeros(kinds(packed.tree).size, dtype=bool)
    table = packed.measures.table()
    for measure in packed.constraints.measure:
        if table.kind[measure] == Measure.COORDINATES:
            touched[of_columns(tree, table.coordinate[table.first[measure] : table.first[measure + 1]])] = True
        elif table.kind[measure] != Measure.EULER_NORM:
            touched[moved_by(tree, packed.pairs.columns(table.pair[measure]))] = True
    return touched


def initial_measures(system: System, measures: MeasureTable) -> tuple[InitialMeasure, ...]:
    """Independent initial values of cut joints, and velocities that the file states there."""
    found = []
    for joint in system.topology.cut:
        spec = system.joints[joint]
        declared, rated = independent(spec), has_velocity(spec)
        for place, name in enumerate(system.declared_order(joint)):
            if name not in declared | rated:
                continue
            if name.startswith("e"):
                _refuse_orientation(system, joint, name in declared)
                break
            offset = system.theta.add(partial(_start, system, spec, place))
            measure = measures.coordinate(f"{joint}.{name}", f"joints.{joint}.initial")
            found.append(InitialMeasure(measure, offset, offset + 1, f"{joint}.{name}", name in declared))
    return tuple(found)


def _start(system: System, spec: Any, place: int) -> tuple[Scalar, Scalar]:
    """Initial value and rate of one coordinate."""
    return initial_position(system.geometry, spec)[place], initial_velocity(system.geometry, spec)[place]


def _refuse_orientation(system: System, joint: str, is_independent: bool) -> None:
    """Say that a joint without Euler parameters can keep no orientation, nor its rate."""
    if is_independent:
        system.issue(f"joints.{joint}", "an orientation cannot be independent at a joint that is cut")
    elif system.joints[joint].cut:
        system.warnings.append(f"joint {joint} is cut: its stated angular velocity is not used")
    else:
        message = f"joint {joint!r} is the one of its loop that is cut, and its stated angular velocity would be lost"
        system.issue(
            f"joints.{joint}", message, f"cut another joint of the loop, or leave the velocity out of {joint!r}"
        )
