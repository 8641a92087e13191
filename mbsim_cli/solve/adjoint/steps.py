"""Back through whole steps of ALI3-P."""

from dataclasses import dataclass

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.drivers.pull_back_reactions import MotionCovectors
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.kernels.drivers.sweep_back import sweep_back
from mbsim_cli.kernels.integrators.ali3p import Control
from mbsim_cli.kernels.integrators.ali3p_adjoint import AdjointWork, Pulling
from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import Model


@dataclass(frozen=True)
class StepsBack:
    """The compiled loop and what it goes on from."""

    model: Model
    theta: np.ndarray
    control: Control
    work: AdjointWork
    pulling: Pulling

    def sweep(self, starts: int, record: Record, hat: np.ndarray, given: MotionCovectors) -> float:
        """Go back through a record with covectors of its sensors; ``starts`` (0 or 1) first rows end no step.

        Returns the size of what was left unsolved.
        """
        status, row, error = sweep_back(
            self.model, self.theta, self.control, starts, record, hat, given, self.work, self.pulling
        )
        if Status(status) != Status.OK:
            raise without_solution(record.time[row])
        return error


def without_solution(time: float) -> AnalysisError:
    """What is said where a system that a step solves has become singular."""
    return AnalysisError(f"the adjoint of the step to t = {time:g} s cannot be found: its matrix is singular")
