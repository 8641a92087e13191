"""Back through steps of ALI3-P, whole or made in pieces."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.drivers.pull_instants import MotionCovectors, pull_balance
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.kernels.drivers.sweep_back import sweep_back
from mbsim_cli.kernels.integrators.ali3p import Control
from mbsim_cli.kernels.integrators.ali3p_adjoint import AdjointWork, Pulling
from mbsim_cli.model.codes import Status
from mbsim_cli.model.layout import Model
from mbsim_cli.solve.balance import require_balance
from mbsim_cli.solve.pieces import Made
from mbsim_cli.solve.stops import later


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


# Back through steps of ALI3-P that were made in pieces: the transpose of ``solve.pieces``.


class PieceSweep:
    """Covectors on their way back through pieces, where those of whole steps pass by."""

    def __init__(self, steps: StepsBack, step: float) -> None:
        self._steps, self._step, self._later = steps, step, later(steps.model)

    def back(self, pieces: Sequence[Made], record: Record, hat: np.ndarray, given: MotionCovectors) -> float:
        """Go back through the pieces of a step, with covectors of sensors and of the motion at its end.

        Returns the size of what was left unsolved.
        """
        worst, nothing = 0.0, (np.zeros_like(hat), MotionCovectors(*(part[:0] for part in given)))
        for made in reversed(pieces):
            at_end = made is pieces[-1]
            seen = (record, hat, given) if at_end else (made.end, *nothing)
            theta, cov = self._steps.theta, self._steps.pulling.cov
            behind = cov.theta.copy()
            cov.theta[:] = 0.0
            if made.piece.is_short(self._step):
                if at_end:
                    self._steps.sweep(1, *seen)
                by_length = self._glide_back(made, seen[0])
            else:
                worst = max(worst, self._at(made).sweep(0, *seen))
                mean = 0.5 * (made.begun.zdd + seen[0].acceleration[0] - seen[0].corrections[0, 1])
                by_length = made.begun.zd @ cov.z + mean @ cov.zd
            late, covector = made.piece.end.late(theta), cov.theta.copy()
            by_time = self._later.rate(self._later.at(late, theta)) @ covector
            cov.theta[:] = behind + self._later.pulled(late, covector)
            for number in made.piece.end.numbers:
                cov.theta[number] += by_length + by_time
            for number in made.piece.begin.numbers:
                cov.theta[number] -= by_length
        return worst

    def _at(self, made: Made) -> StepsBack:
        """The steps of the piece's length, laws as late as its end is."""
        steps, end = self._steps, made.piece.end
        control = made.piece.control(steps.control, steps.theta)
        return replace(steps, theta=self._later.at(end.late(steps.theta), steps.theta), control=control)

    def _glide_back(self, made: Made, end: Record) -> np.ndarray:
        """The same of a piece that took no step; returns covectors (p,) of its length."""
        assert made.stage is not None
        at, cov, rates = self._at(made), self._steps.pulling.cov, made.begun
        length = at.control.h
        z, zd = _unbalanced(at, end, cov.z, cov.zd, cov.zdd)
        by_mean = 0.5 * length * zd
        z, ahead = _unbalanced(at, made.stage, z, np.zeros_like(zd), by_mean)
        cov.z[:], cov.zd[:] = z, zd + ahead + length * z
        cov.zdd[:] = by_mean + length * (ahead + 0.5 * length * z)
        mean = 0.5 * (rates.zdd + made.stage.acceleration[0])
        return mean @ zd + rates.zdd @ ahead + made.stage.velocity[0] @ z


def _unbalanced(
    steps: StepsBack, record: Record, z: np.ndarray, zd: np.ndarray, zdd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Covectors of positions and velocities at a row in place of those of its accelerations, too."""
    nothing = np.zeros_like(steps.pulling.cov.lam)
    out = MotionCovectors(*(part[None].copy() for part in (z, zd, zdd, nothing)))
    found = pull_balance(steps.model, steps.theta, steps.control, record, steps.work, steps.pulling, out)
    require_balance(found, record)
    return out.z[0], out.zd[0]
