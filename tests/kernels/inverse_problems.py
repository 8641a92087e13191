"""Problems of inverse dynamics around trees that were built through the data contract."""

import numpy as np

from benchmarks import trees
from mbsim_cli.model.codes import JOINT_COLUMNS, Force, Joint, Measure
from mbsim_cli.model.layout import NONE, Forces, Names, freeze
from mbsim_cli.model.problem import Motion, Problem


def problem(model, theta, dtheta=None):
    """A Problem with derivatives in the directions dtheta (p, len(theta))."""
    n = model.tree.column_kind.size
    rho = np.zeros((theta.size, 0)) if dtheta is None else dtheta.T
    return Problem(model, Names(), theta, rho, np.ones(n, bool), np.ones(n, bool))


def motion(rng, instants, n):
    """A random Motion, one instant every 10 ms."""
    return Motion(0.01 * np.arange(instants), *trees.random_motion(rng, instants, n))


def loaded_tree(seed, bodies=9, loads=4):
    """Model and theta of a random tree under loads, numbered parent before child but not depth first."""
    rng = np.random.default_rng(seed)
    found = trees.random_bodies(rng, bodies)
    for i, body in enumerate(found):
        body.parent = int(rng.integers(max(-1, i - 3), i)) if i else -1
    found[0].columns = JOINT_COLUMNS[Joint.PRISMATIC]
    return trees.build(found, trees.random_loads(rng, loads, bodies))


def relative(a, b):
    """Largest difference over the largest number."""
    return float(np.abs(a - b).max() / np.abs(b).max())


def with_spring(model, theta, coordinate, stiffness, damping, natural):
    """The same system with a spring and damper on one coordinate."""
    one = np.array([theta.size], np.int64)
    measures = model.measures._replace(
        kind=np.array([int(Measure.COORDINATES)]), pair=np.array([NONE]), theta=one, first=np.array([0, 1]),
        coordinate=np.array([coordinate]),
    )  # fmt: skip
    spring = Forces(
        np.array([int(Force.ALONG_MEASURE)]), np.zeros(1, np.int64), np.array([NONE]), np.zeros(1, np.int64),
        np.full((1, 3), NONE), one + 1,
    )  # fmt: skip
    forces = Forces(*(np.concatenate(both) for both in zip(model.forces, spring, strict=True)))
    numbers = np.concatenate([theta, [1.0, stiffness, damping, natural, 0.0]])
    return freeze(model._replace(measures=measures, forces=forces)), numbers
