"""Gradients of several numbers at once from covectors of what they see, and the kernels' work arrays for it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mbsim_cli.kernels.compiler.simd import fitting, padded, zeros
from mbsim_cli.kernels.drivers.pull_instants import Asked, MotionCovectors, pull_instants
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.kernels.integrators.ali3p_adjoint import AdjointWork, Pulling
from mbsim_cli.model.layout import FlexibleNatural, Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate

Seen = Callable[..., np.ndarray]  # (first, record), and of rows inside steps (first, record, length)


@dataclass(frozen=True)
class Pulled:
    """Derivatives (p, k) of k numbers by the parameters, and the largest relative size of what was left unsolved.

    ``undefined`` (k,) are those that read what is no number.
    """

    gradient: np.ndarray
    error: float
    undefined: np.ndarray


def columns_of(problem: Problem, count: int) -> int:
    """Columns that are pulled back for so many numbers: a single one is alone in open trees, which may be long.

    Elsewhere the arrays are small, and kernels of a single column would be compiled beside those of several.
    """
    alone = problem.options.analysis == "forward_dynamics" and problem.options.integrated
    return fitting(count) if alone else padded(count)


def each_defined(pull: Callable[[Seen], Pulled], seen: Seen) -> Pulled:
    """What ``pull`` finds of covectors; a number without a derivative does not spoil those of the others.

    ``seen(first, record)`` gives the covectors (B, width, p), p ``columns_of`` them, of the sensors at the rows of a
    record, the first of which is the instant ``first``.
    """
    found = pull(seen)
    if len(found.undefined) == 1 or not np.isnan(found.gradient[:, ~found.undefined]).any():
        return found
    for column in np.flatnonzero(~found.undefined):  # it spoils the solutions of all: each for itself
        found.gradient[:, column] = pull(_of_column(seen, column)).gradient[:, column]
    return found


def _of_column(seen: Seen, column: int) -> Seen:
    """Covectors of one number alone."""

    def alone(first: int, record: Record, *length: np.ndarray) -> np.ndarray:
        found = seen(first, record, *length)
        others = np.arange(found.shape[2]) != column
        found[:, :, others] = 0.0
        return found

    return alone


# Allocation of what pull-backs work on.


def work_of(model: Model, theta: np.ndarray, p: int, least: np.ndarray | None = None) -> tuple[AdjointWork, Pulling]:
    """Allocate the work of pull-backs of p columns; ``least`` as in ``Problem``, where equations are solved."""
    _, n, m = allocate.sizes(model)
    dtype = theta.dtype.type
    motion = allocate.work(model, theta, least=least)
    kin = motion.kin
    still = kin._replace(V=kin.V.copy(), A=np.zeros_like(kin.A), S1=kin.S1.copy(), S2=kin.S2.copy())
    if isinstance(model.tree, FlexibleNatural):
        still = still._replace(rate=np.zeros_like(kin.rate), second=np.zeros_like(kin.second))
    columns, seen = allocate.columns(n, m, p, dtype), np.zeros(allocate.sensor_width(model), dtype)
    state = allocate.state(model, dtype)
    work = AdjointWork(
        kin, still, motion.comp, motion.eq, motion.tangent, motion.projection, columns, state, seen
    )  # fmt: skip
    cov = allocate.covectors_of(model, theta.size, p, dtype)
    rest = cov._replace(zd=zeros((n, p), dtype), zdd=zeros((n, p), dtype))
    nu = (zeros((m, p), dtype) for _ in range(3))
    virtual, none = (allocate.virtual_of(model, p, dtype) for _ in range(2))
    return work, Pulling(cov, rest, virtual, none, *nu, np.zeros(n, dtype))


# Covectors of sensors and equations at single instants, pulled back to their motion and to numbers.


class InstantPuller:
    """Pulls p columns of covectors, ``padded``; ``theta`` (len(theta), p) are the sums of those of numbers."""

    def __init__(self, model: Model, theta: np.ndarray, p: int) -> None:
        self._model, self._numbers, self._p = model, theta, p
        self._work, self._pulling = work_of(model, theta, p)
        self.theta = self._pulling.cov.theta

    def pull(
        self,
        record: Record,
        *,
        seen: np.ndarray | None = None,
        mu: np.ndarray | None = None,
        nu: np.ndarray | None = None,
        nu1: np.ndarray | None = None,
        nu2: np.ndarray | None = None,
    ) -> MotionCovectors:
        """Covectors (N, ..., p) of the motion at the rows of a record: see ``Asked``; what is None asks for nothing."""
        rows, dtype = len(record.time), self._numbers.dtype.type
        _, n, m = allocate.sizes(self._model)
        if mu is not None and nu is None:
            nu = np.zeros((rows, m, self._p), dtype)
        if nu2 is not None and nu1 is None:
            nu1 = np.zeros((rows, m, self._p), dtype)
        elif nu1 is not None and nu2 is None:
            nu2 = np.zeros((rows, m, self._p), dtype)
        widths = (allocate.sensor_width(self._model), n, m, m, m)
        asked = Asked(
            *(
                zeros((0, width, self._p), dtype) if hat is None else np.ascontiguousarray(hat, dtype)
                for width, hat in zip(widths, (seen, mu, nu, nu1, nu2), strict=True)
            )
        )
        out = MotionCovectors(*(zeros((rows, k, self._p), dtype) for k in (n, n, n, m)))
        pull_instants(self._model, self._numbers, record, asked, self._work, self._pulling, out)
        return out
