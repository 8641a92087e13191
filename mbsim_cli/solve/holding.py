"""What holds coordinates that have next to no inertia of their own: a part of what mean ones have.

The penalty of a constraint is in proportion to the inertia that it meets. A massless coordinate that a law drives
meets, by a second constraint, all that it moves: weighed by itself the law would be too soft for that.
"""

import numpy as np

from mbsim_cli.model.among import all_but, among
from mbsim_cli.model.codes import EULER_PARAMETERS, ROTATIONS, TRANSLATIONS, Column
from mbsim_cli.model.coordinates import kinds
from mbsim_cli.model.flexible import MASS as OWN_MASS
from mbsim_cli.model.layout import MASS, FlexibleTree, Model
from mbsim_cli.model.scales import scales_of

SLIGHT = 1e-2  # of a mean inertia


def least_of_joints(model: Model, theta: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """Inertia (n,) that coordinates of a tree count for, at least, from what they have at the start (n,).

    Each counts for a part of what those of its kind have in the mean. Euler parameters do so only where all four of a
    joint are slight, for one of them may be so by position; elastic coordinates never.
    """
    columns, mass = kinds(model.tree), mean_mass(model, theta)
    slides, turns, euler = (among(columns, kind) for kind in (TRANSLATIONS, ROTATIONS, EULER_PARAMETERS))
    turning = _mean(inertia[turns]) or _mean(inertia[euler]) or mass * scales_of(model, theta).length ** 2
    least = SLIGHT * np.where(slides, mass, np.where(turns, turning, 0.0))
    for c in np.flatnonzero(columns == Column.EULER_0):
        four = slice(c, c + len(EULER_PARAMETERS))
        if inertia[four].mean() < SLIGHT * turning:
            least[four] = SLIGHT * turning
    return least


def _mean(numbers: np.ndarray) -> float:
    return float(numbers.mean()) if numbers.size else 0.0


def mean_mass(model: Model, theta: np.ndarray) -> float:
    """Mass of a mean body; nodes are none."""
    tree = model.tree
    if not isinstance(tree, FlexibleTree):
        return _mean(theta[tree.theta + MASS])
    rigid = all_but(len(tree.theta), [*tree.flexible, *tree.column_body[tree.node]])
    return _mean(np.append(theta[tree.theta[rigid] + MASS], theta[tree.block + OWN_MASS]))
