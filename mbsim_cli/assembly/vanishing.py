"""Equations that hold whatever the coordinates are, as out-of-plane ones of planar loops do."""

from typing import Any

import numpy as np

from mbsim_cli.assembly.kinematics import measure_row, poses
from mbsim_cli.model.codes import Column, Measure

SAMPLES = 3
NOTHING = 1e-9  # derivative, relative to the lengths at hand, that counts as none
_GEOMETRIC = (Measure.PROJECTION, Measure.DOT, Measure.ANGLE)


def wanted_rows(packed: Any) -> list[bool]:
    """For every equation whether it depends on the coordinates at all: tried at random configurations."""
    table, pairs, names = packed.measures.table(), packed.pairs.table(), packed.constraints.names
    rows = [i for i, measure in enumerate(packed.constraints.measure) if table.kind[measure] in _GEOMETRIC]
    if not rows:
        return [True] * len(names)
    theta, wanted = list(packed.system.theta.values()), [True] * len(names)
    generator = np.random.default_rng(0)
    largest = dict.fromkeys(rows, 0.0)
    for _ in range(SAMPLES):
        at = poses(packed.tree, theta, _random_coordinates(packed.tree.column_kind, generator))
        extent = 1.0 + max((max(map(abs, r)) for r in at.r), default=0.0)
        for i in rows:
            measure = packed.constraints.measure[i]
            derivative = measure_row(at, pairs, table.kind[measure], table.pair[measure], theta, table.theta[measure])
            largest[i] = max(largest[i], float(np.abs(derivative).max(initial=0.0)) / extent)
    for i in rows:
        wanted[i] = largest[i] > NOTHING
    return wanted


def _random_coordinates(kinds: Any, generator: np.random.Generator) -> list[float]:
    """A configuration in general position: any angles, translations of the order of a metre."""
    values = generator.uniform(-1.0, 1.0, len(kinds))
    return [
        np.pi * v if Column.ROTATION_X <= kind <= Column.ROTATION_Z else v
        for kind, v in zip(kinds, values, strict=True)
    ]
