"""Covectors of sensors and equations at single instants, pulled back to their motion and to numbers."""

import numpy as np

from mbsim_cli.kernels.compiler.simd import zeros
from mbsim_cli.kernels.drivers.pull_back_reactions import MotionCovectors
from mbsim_cli.kernels.drivers.pull_instants import Asked, pull_instants
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.model.layout import Model
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.allocate import work_of


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
