"""Equations that hold whatever the coordinates are, as out-of-plane ones of planar loops do."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from mbsim_cli.assembly.elements.constraints import Identity
from mbsim_cli.assembly.parameters.numbers import STEP
from mbsim_cli.assembly.parameters.vectors import Scalar
from mbsim_cli.assembly.tree.kinematics import measure_row, measure_value, poses, poses_of_columns
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.among import among
from mbsim_cli.model.codes import ROTATIONS, Measure
from mbsim_cli.model.coordinates import kinds
from mbsim_cli.model.layout import MASS, MEASURE_SIZE, Pairs
from mbsim_cli.model.problem import Problem

SAMPLES = 3
NOTHING = 1e-9  # derivative, relative to the lengths at hand, that counts as none
_GEOMETRIC = (Measure.PROJECTION, Measure.DOT, Measure.ANGLE)


def wanted_rows(packed: Any) -> list[bool]:
    """For every equation whether it depends on the coordinates at all: tried at random configurations."""
    table, pairs = packed.measures.table(), packed.pairs.table()
    columns = (table.kind.tolist(), table.pair.tolist(), table.theta.tolist())
    measures = [tuple(column[measure] for column in columns) for measure in packed.constraints.measure]
    if not any(kind in _GEOMETRIC for kind, *_ in measures):
        return [True] * len(measures)
    places = _random_coordinates(packed.tree.column_kind)
    return packed.system.settle(partial(_wanted, packed.tree, pairs, measures, places), by_theta=True)


def _wanted(
    tree: Any, pairs: Pairs, measures: Sequence[tuple[int, ...]], places: Sequence[list[float]], system: System
) -> list[bool]:
    """The same of equations by kind, pair and block of their measures, tried at some ``places``."""
    rows, wanted = [i for i, (kind, *_) in enumerate(measures) if kind in _GEOMETRIC], [True] * len(measures)
    theta = system.theta.values().tolist()
    for columns in places:
        if not rows:
            break
        at = poses_of_columns(tree, theta, columns)
        extent = 1.0 + max((max(map(abs, r)) for r in at.r), default=0.0)
        for i in rows:
            kind, pair, block = measures[i]
            largest = max(map(abs, measure_row(at, pairs, kind, pair, theta, block)), default=0.0)
            wanted[i] = largest / extent > NOTHING
        rows = [i for i in rows if not wanted[i]]
    return wanted


def left_open(problem: Problem, identities: Sequence[Identity]) -> tuple[np.ndarray, np.ndarray]:
    """What identities leave open, whatever the coordinates are (r,), and its derivatives by the parameters (r, p)."""
    first, n = problem.model.tree.initial[0], kinds(problem.model.tree).size

    def value(identity: Identity, at: Any, theta: list[Scalar]) -> Scalar:
        if identity.automatic:
            return 0.0
        measured = measure_value(at, problem.model.pairs, identity.kind, identity.pair, theta, identity.block)
        return measured - theta[identity.target]

    def values(theta: list[Scalar]) -> np.ndarray:
        at = poses(problem.model.tree, theta, theta[first : first + n])
        return np.array([value(identity, at, theta) for identity in identities])

    derivatives = np.zeros((len(identities), problem.theta_rho.shape[1]))
    if not identities:
        return np.zeros(0), derivatives
    for k in np.flatnonzero(problem.theta_rho[_read(problem, identities)].any(axis=0)):
        derivatives[:, k] = values((problem.theta + 1j * STEP * problem.theta_rho[:, k]).tolist()).imag / STEP
    return values(problem.theta.tolist()), derivatives


def _read(problem: Problem, identities: Sequence[Identity]) -> np.ndarray:
    """Mask of the numbers that identities read: joint frames, initial position, their own."""
    tree, mask = problem.model.tree, np.zeros(problem.theta.size, dtype=bool)
    for offset in tree.theta:
        mask[offset : offset + MASS] = True
    mask[tree.initial[0] : tree.initial[0] + kinds(tree).size] = True
    for identity in identities:
        mask[identity.block : identity.block + MEASURE_SIZE] = True
        mask[identity.target] = True
    return mask


def _random_coordinates(kinds: np.ndarray) -> list[list[float]]:
    """Configurations in general position: any angles, translations of the order of a metre."""
    reach = np.where(among(kinds, ROTATIONS), np.pi, 1.0)
    return (reach * np.random.default_rng(0).uniform(-1.0, 1.0, (SAMPLES, len(kinds)))).tolist()
