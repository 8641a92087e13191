"""Covectors of accelerations and multipliers of the motion that is shown, pulled back to that motion and to numbers."""

import numpy as np

from mbsim_cli.kernels.drivers.pull_back_reactions import MotionCovectors
from mbsim_cli.kernels.drivers.pull_balance import pull_balance
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.allocate import work_of
from mbsim_cli.solve.balance import Balance, require_balance


class BalancePuller:
    """Pulls p columns of their covectors back; ``theta`` (len(theta), p) are the sums of those of numbers."""

    def __init__(self, problem: Problem, theta: np.ndarray, p: int, *, redundant: bool) -> None:
        self._model, self._theta = problem.model, theta
        self._balance = Balance(problem, theta, np.zeros((theta.size, 0), theta.dtype), redundant=redundant)
        self._control = allocate.control(problem.options, redundant=redundant)
        self._work, self._pulling = work_of(self._model, theta, p, problem.least)
        self.theta = self._pulling.cov.theta

    def of(self, record: Record) -> tuple[Record, np.ndarray]:
        """See ``Balance.of``."""
        nothing = allocate.sensitivity_record(self._model, len(record.time), 0, self._theta.dtype.type)
        balanced, _, lost = self._balance.of(record, nothing)
        return balanced, lost

    def pull_back(self, record: Record, hat: MotionCovectors) -> MotionCovectors:
        """Covectors of positions and velocities in place of those of a record of ``of``."""
        out = MotionCovectors(*(part.copy() for part in hat))
        require_balance(
            pull_balance(self._model, self._theta, self._control, record, self._work, self._pulling, out), record
        )
        return out
