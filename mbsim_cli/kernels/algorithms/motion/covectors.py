"""Covectors of scalars: what their variations are linear in. Derivation: docs/theory/adjoint.md.

A scalar that depends on the motion and on theta varies by

    sum over bodies (P . N + D . N' + H . N'') + z^ . dz + zd^ . dz' + zdd^ . dz'' + lam^ . dlambda + theta^ . dtheta,

N the pose twists of ``variation``. Elements add to covectors, of as many scalars at once as there are columns; whatever
is spatial is about the global origin, where a backward sweep has the reference points of all bodies.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.motion.signal_work import signal_rows
from mbsim_cli.kernels.compiler.simd import numbers, zeros


class Covectors(NamedTuple):
    """Covectors of p scalars, ``simd.fitting``; the last row of body arrays is the ground."""

    P: np.ndarray  # (nb + 1, 6, p) of pose twists N
    D: np.ndarray  # (nb + 1, 6, p) of N'
    H: np.ndarray  # (nb + 1, 6, p) of N''
    z: np.ndarray  # (n, p)
    zd: np.ndarray  # (n, p)
    zdd: np.ndarray  # (n, p)
    lam: np.ndarray  # (m, p) of the multipliers that sensors read
    theta: np.ndarray  # (len(theta), p)
    each: np.ndarray  # (p,) ``simd.numbers`` of the columns, which loops go over
    signals: tuple  # signal_work.SignalRows, zero between kernels


class Virtual(NamedTuple):
    """Virtual motions: covectors of the residual G, and what they move bodies by."""

    mu: np.ndarray  # (n, p)
    U: np.ndarray  # (nb + 1, 6, p) sums of S mu; the last row, the ground's, is zero
    each: np.ndarray  # (p,) as those of Covectors


def covectors(model, size, p, dtype=np.float64):
    """Allocate Covectors for ``size`` numbers theta."""
    nb, n, m = model.tree.parent.size, model.tree.column_kind.size, model.constraints.measure.size
    bodies = (zeros((nb + 1, 6, p), dtype) for _ in range(3))
    return Covectors(
        *bodies, *(zeros((k, p), dtype) for k in (n, n, n, m, size)), numbers(p, dtype), signal_rows(model, p, dtype)
    )


def virtual(model, p, dtype=np.float64):
    """Allocate Virtual, all at rest."""
    nb, n = model.tree.parent.size, model.tree.column_kind.size
    return Virtual(zeros((n, p), dtype), zeros((nb + 1, 6, p), dtype), numbers(p, dtype))
