"""Work arrays of expressions that forces read, in kinematics, twists and covectors; empty where there are none."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.compiler.simd import WIDTH, padded, zeros
from mbsim_cli.model.layout import MEASURE_SIZE, Signals


class SignalWork(NamedTuple):
    """Values at a state, and what the tangent needs."""

    inputs: np.ndarray  # (ni,) what sensors of inputs read
    value: np.ndarray  # (places,) of all tapes, see ``layout.Signals``
    slope: np.ndarray  # (places,) derivatives of each tape's value
    none: np.ndarray  # (0,)
    reach: np.ndarray  # (bodies read, blocks) bits of the columns that move each of ``Signals.bodies``
    seeds: tuple  # SignalSeeds


class SignalSeeds(NamedTuple):
    """Motions along eight columns of the tangent at a time."""

    N: np.ndarray  # (nb + 1, 6, 8), as those of ``workspace.Twists``
    N1: np.ndarray
    N2: np.ndarray
    F: np.ndarray  # (0, 6, 8)
    z: np.ndarray  # (n, 8)
    zd: np.ndarray
    zdd: np.ndarray
    lam: np.ndarray  # (m, 8)
    dtheta: np.ndarray  # (as far as sensors read, 8) zeros
    touch: tuple  # of no numbers
    inputs: np.ndarray  # (ni, 8)
    value: np.ndarray  # (nu, 8)


class NoTouch(NamedTuple):
    """In the place of ``workspace.Touch`` where no number varies."""

    geometry: np.ndarray
    inertia: np.ndarray
    measure: np.ndarray
    force: np.ndarray


class SignalRows(NamedTuple):
    """Variations or covectors in p directions."""

    inputs: np.ndarray  # (ni, p)
    value: np.ndarray  # (nu, p)


def _count(signals):
    """Entries of the record of inputs, signals, and places of all tapes."""
    if not isinstance(signals, Signals):
        return 0, 0, 0
    places = int((signals.steps + np.diff(signals.first_step)).sum())
    return int(signals.row[-1]), signals.theta.size, places


def signal_work(model, reach, dtype):
    """Allocate SignalWork; ``reach`` tells which columns (n,) of the tangent move a body."""
    signals = model.signals
    inputs, number, places = _count(signals)
    n, nb = model.tree.column_kind.size, model.tree.parent.size
    bodies = signals.bodies if isinstance(signals, Signals) else np.zeros(0, np.int64)
    bits = np.zeros((bodies.size, padded(n) // WIDTH), np.int64)
    for r, body in enumerate(bodies):
        for c in reach(body):
            bits[r, c // WIDTH] |= 1 << (c % WIDTH)
    rows = (nb + 1, 6, WIDTH) if number else (0, 6, WIDTH)
    nothing = NoTouch(
        *(np.zeros((count, WIDTH), bool) for count in (nb, nb, model.measures.kind.size, model.forces.kind.size))
    )
    seeds = SignalSeeds(
        *(zeros(rows, dtype) for _ in range(3)),
        zeros((0, 6, WIDTH), dtype),
        *(zeros((n if number else 0, WIDTH), dtype) for _ in range(3)),
        zeros((model.constraints.measure.size if number else 0, WIDTH), dtype),
        zeros((_numbers_read(model) if number else 0, WIDTH), dtype),
        nothing,
        zeros((inputs, WIDTH), dtype),
        zeros((number, WIDTH), dtype),
    )
    return SignalWork(
        np.zeros(inputs, dtype), np.zeros(places, dtype), np.zeros(places, dtype), np.zeros(0, dtype), bits, seeds
    )


def signal_rows(model, p, dtype):
    """Allocate SignalRows for p directions."""
    inputs, number, _ = _count(model.signals)
    return SignalRows(zeros((inputs, p), dtype), zeros((number, p), dtype))


def _numbers_read(model):
    """Entries of theta, from the first on, that sensors of inputs can read."""
    signals, measures = model.signals, model.measures
    blocks = [3, *(signals.sensor_theta + 6)]
    listed = np.diff(measures.first)
    for k in range(measures.kind.size):
        blocks.append(int(measures.theta[k]) + max(MEASURE_SIZE, int(listed[k])))
    for force in model.forces.theta:
        blocks.append(int(force) + 32)
    return int(max(blocks))
