"""What holds coordinates that have no inertia of their own, or spin: inertia of mean bodies, and angles."""

from typing import TYPE_CHECKING

import numpy as np

from mbsim_cli.model.codes import Measure
from mbsim_cli.solve.holding import SLIGHT, mean_mass

if TYPE_CHECKING:
    from mbsim_cli.solve.natural.system import NaturalSystem


def least_inertia(system: "NaturalSystem") -> np.ndarray:
    """Inertia (n,) that coordinates count for, at least: where there is none, constraints need some.

    Points and vectors count for a part of what they have if every body is a mean one. Coordinates of joints have none
    and move bodies by their definition alone: such a one counts for all of a mean body, or what several hold together
    is held too softly.
    """
    theta = system.problem.theta[None] + 0j
    fields, mass = system.fields(theta), mean_mass(system.problem.model, system.problem.theta)
    found, sizes = np.zeros(system.plan.size), []
    for base in system.plan.bases:
        size = max(np.linalg.norm(local(theta)[0].real) for local in base.locals[1:])
        maps = np.abs(fields.poses[base.body][0, :, 1:].real) ** 2
        found += mass * (maps[:3].sum(axis=0) + size * size * maps[3:].sum(axis=0))
        sizes.append(size)
    found *= SLIGHT
    for d in system.equations.defined:
        slides = system.rows[d.row].kind == Measure.PROJECTION
        found[d.coordinate] = mass * (1.0 if slides else np.mean(np.square(sizes)))
    return found[np.argsort(system.order)]


def swing(system: "NaturalSystem") -> np.ndarray:
    """Angle (n,) by which a coordinate turns bodies, or 0: what spins by itself holds no other in place."""
    shared, found = np.array([len(bodies) > 1 for bodies in system.sharing]), np.zeros(system.plan.size)
    for group in system.plan.groups:
        found[system.order[group.columns]] = 1.0 / group.arm
    return found * shared
