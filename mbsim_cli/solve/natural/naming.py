"""Names of coordinates and equations in natural coordinates, with their units, and where equations come from."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mbsim_cli.model.codes import Measure
from mbsim_cli.model.names import Names

if TYPE_CHECKING:
    from mbsim_cli.solve.natural.system import NaturalSystem


def coordinate_names(system: "NaturalSystem") -> tuple[str, ...]:
    """Names of the coordinates."""
    names, theirs = [""] * system.plan.size, system.problem.names.coordinates
    for group in system.plan.groups:
        for label, column in zip(group.labels, group.columns, strict=True):
            names[system.order[column]] = f"{group.name}.{label}"
    for d in system.equations.defined:
        names[system.order[d.coordinate]] = theirs[system.coordinate_of(d.column)]
    for mine, other in zip(*system.elastic, strict=True):
        names[mine] = theirs[other]
    return tuple(names)


def names_of(system: "NaturalSystem") -> Names:
    """Names of everything; equations that are left out stand behind the identities."""
    old, kept = system.problem.names, system.equations.kept
    gone = set(range(len(old.constraints))) - set(kept)
    return replace(
        old,
        coordinates=system.coordinate_names,
        coordinate_units=_coordinate_units(system),
        constraints=_constraint_names(system),
        constraint_units=_constraint_units(system),
        identities=(*old.identities, *(old.constraints[i] for i in sorted(gone))),
    )


def _coordinate_units(system: "NaturalSystem") -> tuple[str, ...]:
    """Units of the coordinates."""
    theirs = system.problem.names.coordinate_units
    units = {column: "m" if group.point else "" for group in system.plan.groups for column in group.columns}
    units |= {d.coordinate: theirs[system.coordinate_of(d.column)] for d in system.equations.defined}
    units |= {k: theirs[system.coordinate_of(c)] for c, k in system.equations.elastic.items()}
    return tuple(units[int(c)] for c in np.argsort(system.order))


def _constraint_names(system: "NaturalSystem") -> tuple[str, ...]:
    """Names of the equations."""
    kept = [system.problem.names.constraints[i] for i in system.equations.kept]
    return (*kept, *(row.name for row in system.equations.added), *(rigid.name for rigid in system.plan.rigid))


def _constraint_units(system: "NaturalSystem") -> tuple[str, ...]:
    """Units of the equations."""
    kept = [system.problem.names.constraint_units[i] for i in system.equations.kept]
    added = ["m" if row.kind == Measure.PROJECTION else "rad" for row in system.equations.added]
    return (*kept, *added, *("1" for _ in system.plan.rigid))


def origins_of(system: "NaturalSystem") -> tuple[str, ...]:
    """What each equation comes from."""
    special = {d.row: "definition" for d in system.equations.defined}
    special |= {weld.row: "node" for weld in system.equations.welds}
    added = (special.get(j, "joint") for j in range(len(system.equations.added)))
    return (*("model" for _ in system.equations.kept), *added, *("rigidity" for _ in system.plan.rigid))


def broken_among(system: "NaturalSystem", numbers: np.ndarray) -> np.ndarray:
    """Numbers of broken equations, as ``Block.broken``, among these names."""
    ours, theirs = names_of(system), system.problem.names
    every = (*ours.constraints, *ours.identities)
    return np.array([0 if k == 0 else 1 + every.index(theirs.equation(int(k))) for k in numbers], np.int64)
