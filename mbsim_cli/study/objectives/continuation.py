"""From the last instant to the end of an analysis: what objectives add where its duration is no whole number of steps.

Instants are whole steps. A signal is continued by the polynomial through its last instants, over half a step at most.
Where the duration is a whole number of steps nothing is added, but its derivatives by the duration remain: they are
those of the continued signal, so that gradients by parameters of the duration are exact.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

WHOLE = 1e-9  # of a step, that the round-off of sums of steps stays below


@dataclass(frozen=True)
class Continuation:
    """Weights (k,) of the last k instants in quantities at, or up to, the end of the analysis."""

    value: np.ndarray  # of the signal at the end
    rate: np.ndarray  # of its time derivative there, 1/s
    integral: np.ndarray  # of its integral from the last instant to the end, s


def continuation(time: np.ndarray, end: complex) -> Continuation:
    """Weights for a signal known at the instants ``time`` (k,); analytic in ``end``. They are for reading only."""
    return _continuation(np.asarray(time, dtype=float).tobytes(), end, np.iscomplexobj(end))


@lru_cache(maxsize=8)
def _continuation(instants: bytes, end: complex, is_complex: bool) -> Continuation:
    # the same for all objectives of an analysis, and for all cases of a study; equal keys may be numbers of two kinds
    time = np.frombuffer(instants)
    last, step = time[-1], (time[-1] - time[-2] if len(time) > 1 else 1.0)
    beyond = (end - last) / step
    if abs(beyond.real) <= WHOLE:
        beyond = beyond - beyond.real
    power = np.arange(len(time))
    basis = np.linalg.inv(np.vander((time - last) / step, increasing=True))  # (k, k): powers by instants
    basis[0] = power == power[-1]  # the polynomial's constant is the last value, without round-off
    powers = beyond**power
    slopes = np.append(0.0, power[1:] * powers[:-1])
    return Continuation(powers @ basis, slopes @ basis / step, step * (beyond * powers / (power + 1)) @ basis)


def weighed(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Sums of rows (..., k) times weights (k,); what has no weight may be undefined."""
    used = np.flatnonzero(weights)
    return rows[..., used] @ weights[used]
