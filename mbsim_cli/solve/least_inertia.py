"""Least inertia of coordinates in the penalty of constraints: a part of the mean inertia.

The penalty of a constraint is in proportion to the inertia that it meets. A massless coordinate that a law drives
meets, by a second constraint, all that it moves: weighed by itself the law would be too soft for that.
"""

from typing import TYPE_CHECKING

import numpy as np

from mbsim_cli.model.codes import EULER_PARAMETERS, ROTATIONS, TRANSLATIONS, Column, Measure
from mbsim_cli.model.coordinates import among, at_rest, kinds, parts_of_bodies
from mbsim_cli.model.layout import MASS, FlexibleTree, Model
from mbsim_cli.model.scales import scales_of, units_of
from mbsim_cli.model.standard_data import MASS as OWN_MASS

if TYPE_CHECKING:
    from mbsim_cli.solve.natural.system import NaturalSystem


SLIGHT = 1e-2  # of a mean inertia


def least_of_joints(model: Model, theta: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """Least inertia (n,) of coordinates of a tree, from their ``inertia`` (n,) at the start.

    It is a part of the mean over coordinates of the same kind, in the same part of the mechanism. Euler parameters have
    one only if all four of a joint have little inertia, because a single one may have little in some positions; elastic
    coordinates have none.
    """
    columns, tree = kinds(model.tree), model.tree
    slides, turns, euler = (among(columns, kind) for kind in (TRANSLATIONS, ROTATIONS, EULER_PARAMETERS))
    part, least, length = parts_of_bodies(model), np.zeros(columns.size), scales_of(model, theta).length
    body = tree.column_body[tree.column] if isinstance(tree, FlexibleTree) else tree.column_body
    for number in sorted(set(part[body].tolist())):  # numpy.unique loads masked arrays
        own, mass = part[body] == number, mean_mass(model, theta, part == number)
        turning = _mean(inertia[own & turns]) or _mean(inertia[own & euler]) or mass * length**2
        least[own] = SLIGHT * np.where(slides, mass, np.where(turns, turning, 0.0))[own]
        for c in np.flatnonzero(own & (columns == Column.EULER_0)):
            four = slice(c, c + len(EULER_PARAMETERS))
            if inertia[four].mean() < SLIGHT * turning:
                least[four] = SLIGHT * turning
    return least


def _mean(numbers: np.ndarray) -> float:
    return float(numbers.mean()) if numbers.size else 0.0


def mean_mass(model: Model, theta: np.ndarray, bodies: np.ndarray) -> float:
    """Mean mass of the bodies of a mask; nodes of flexible bodies do not count."""
    tree = model.tree
    if not isinstance(tree, FlexibleTree):
        return _mean(theta[tree.theta[bodies] + MASS])
    rigid = bodies.copy()
    rigid[[*tree.flexible, *tree.column_body[tree.node]]] = False
    return _mean(np.append(theta[tree.theta[rigid] + MASS], theta[tree.block[bodies[tree.flexible]] + OWN_MASS]))


def least_inertia(system: "NaturalSystem") -> np.ndarray:
    """Least inertia (n,) of natural coordinates: the penalty of a constraint needs some.

    For points and vectors it is a part of the inertia that they have if every body is a mean one of its part of the
    mechanism. Coordinates of joints have no inertia, and move bodies only by their definition: each counts as a whole
    mean body, for with less a constraint on several of them would be too soft.
    """
    model, numbers, bases = system.problem.model, system.problem.theta, system.plan.bases
    theta, part = numbers[None] + 0j, parts_of_bodies(model)
    fields, found = system.fields(theta), np.zeros(system.plan.size)
    lengths = np.array([max((np.linalg.norm(way(theta)[0].real) for way in base.ways), default=0.0) for base in bases])
    of_base, length = part[[base.body for base in bases]], scales_of(model, numbers).length
    mass, squares = (dict.fromkeys(part.tolist(), 0.0) for _ in range(2))
    for number in mass:
        own = of_base == number
        sizes = np.where(lengths[own] > 0.0, lengths[own], lengths[own].max(initial=0.0) or length)
        mass[number], squares[number] = mean_mass(model, numbers, part == number), _mean(np.square(sizes))
        for k, size in zip(np.flatnonzero(own), sizes, strict=True):
            maps = np.abs(fields.poses[bases[k].body][0, :, 1:].real) ** 2
            found += mass[number] * (maps[:3].sum(axis=0) + size * size * maps[3:].sum(axis=0))
    found *= SLIGHT
    rests = at_rest(model.tree)
    for d in system.equations.defined:
        row = system.rows[d.row]
        number, slides = int(part[row.b if rests[row.a] else row.a]), row.kind == Measure.PROJECTION
        found[d.coordinate] = mass[number] * (1.0 if slides else squares[number])
    return found[np.argsort(system.order)]


def extents(system: "NaturalSystem") -> tuple[np.ndarray, np.ndarray]:
    """Squares of the units of coordinates (n,) and equations (m,), as in ``Factor``: lengths in a unit that fits."""
    scales, equations = scales_of(system.problem.model, system.problem.theta), system.equations
    found = np.ones(system.plan.size)
    measured = [c for group in system.plan.groups if group.point for c in group.columns]
    measured += [d.coordinate for d in equations.defined if system.rows[d.row].kind == Measure.PROJECTION]
    found[system.order[measured]] = scales.length**2
    elastic, theirs = system.elastic
    found[elastic] = units_of(system.problem.model, system.problem.theta)[0][theirs] ** 2
    added = [scales.length if row.kind == Measure.PROJECTION else 1.0 for row in equations.added]
    return found, np.concatenate([scales.rows[equations.kept], added, np.ones(len(system.plan.rigid))]) ** 2


def swing(system: "NaturalSystem") -> np.ndarray:
    """Angle (n,) by which a unit of a coordinate turns bodies; 0 for coordinates of a single body, which may spin."""
    shared, found = np.array([len(bodies) > 1 for bodies in system.sharing]), np.zeros(system.plan.size)
    for group in system.plan.groups:
        found[system.order[group.columns]] = 1.0 / group.arm
    return found * shared
