"""Everything about a mechanism in natural coordinates at one instant, as ``solve.instant`` of a tree."""

import numpy as np

from mbsim_cli.kernels.compiler.jit import bound
from mbsim_cli.kernels.drivers.stand import stand
from mbsim_cli.model.layout import Model
from mbsim_cli.solve import allocate


class Standing:
    """A state to be evaluated; ``dtheta`` is (len(theta), p), p ``padded``, and angles are read near ``expected``."""

    def __init__(self, model: Model, theta: np.ndarray, dtheta: np.ndarray, expected: np.ndarray) -> None:
        self.model, self.theta, self.dtheta = model, theta, dtheta
        self.dtype = theta.dtype.type
        self.n, self.m = allocate.sizes(model)[1:]
        self.p = dtheta.shape[1]
        self.state, self.sens = allocate.state(model, self.dtype), allocate.sensitivity(model, self.p, self.dtype)
        self.work = allocate.work_at_instant(model, theta)
        self.work.kin.expected[:] = expected
        self.out = allocate.linearisation(model, self.p, self.dtype)
        self._twists = allocate.twists_of(model, self.p, self.dtype)
        self._stand = bound(
            stand, model, theta, False, allocate.directions(model, dtheta, self.dtype), self.state, self.sens,
            self.work.kin, self.work.comp, self.work.eq, self._twists, self.out,
        )  # fmt: skip

    def evaluate(self, t: float = 0.0) -> None:
        """Everything about the current state, along the current sensitivities."""
        self._stand(t)
