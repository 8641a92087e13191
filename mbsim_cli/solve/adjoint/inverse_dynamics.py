"""Gradients of numbers that see torques and sensors of inverse dynamics: each instant is pulled back for itself.

A covector of torques is a virtual motion of the tree, whose power the torques give; what the motion has of it goes to
the laws and tables that prescribe it. Derivation: docs/theory/adjoint.md, section 4.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.kernels.drivers.pull_instants import MotionCovectors
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.model.problem import InverseBlock, Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.pulled import InstantPuller, Pulled, Seen, each_defined
from mbsim_cli.solve.adjoint.readings import ReactionPuller
from mbsim_cli.solve.inverse.analysis import InverseAnalysis, instants, inverse, with_natural_values
from mbsim_cli.solve.inverse.motion import Trajectory


class TorqueTape:
    """Keeps the times of a run alone: its motion is given, and made once more."""

    def __init__(self) -> None:
        self._times: list[np.ndarray] = []

    def blocks(self, problem: Problem) -> Iterator[InverseBlock]:
        """The instants of the motion, without derivatives."""
        for block in inverse(_of_values(problem)):
            self._times.append(block.time.copy())
            yield block

    @property
    def time(self) -> np.ndarray:
        """All instants (N,)."""
        return np.concatenate(self._times)


def pull_back(
    problem: Problem, count: int, seen: Seen, between: Callable[[], None] = lambda: None, reacting: bool = False
) -> Pulled:
    """Derivatives of ``count`` numbers that see sensors, torques behind the others, and reactions if ``reacting``.

    ``between`` is called after every block.
    """
    natural = with_natural_values(problem)
    return each_defined(lambda of: _Pass(natural, count, reacting).pull_back(of, between), seen)


def _of_values(problem: Problem) -> Problem:
    return replace(problem, theta_rho=problem.theta_rho[:, :0])


class _Pass:
    """One pass over the motion."""

    def __init__(self, problem: Problem, count: int, reacting: bool) -> None:
        self._problem, self._count, self._p = problem, count, padded(count)
        model, theta = problem.model, problem.theta
        self._instants = InstantPuller(model, theta, self._p)
        self._trajectory = Trajectory(problem)
        self._reactions = ReactionPuller(problem, theta, self._p) if reacting else None
        self._width = allocate.sensor_width(model)
        self._torques = self._width + (problem.reacting.width if problem.reacting else 0)  # their first row
        self._theta = zeros((theta.size, self._p), theta.dtype)  # covectors of what prescribes the motion

    def pull_back(self, seen: Seen, between: Callable[[], None]) -> Pulled:
        problem, undefined = self._problem, np.zeros(self._p, bool)
        analysis = InverseAnalysis(_of_values(problem))
        for first, time in instants(problem, analysis):
            record, undetermined = analysis.observed(time)
            hat = seen(first, record)
            undefined |= np.isnan(hat).any(axis=(0, 1)) | (hat[undetermined] != 0.0).any(axis=0)
            hat[:, :, undefined] = 0.0
            self._pull_instants(record, hat)
            between()
        theta = self._instants.theta + self._theta
        if self._reactions:
            theta += self._reactions.theta
        gradient = problem.theta_rho.T @ theta
        gradient[:, undefined] = np.nan
        return Pulled(gradient[:, : self._count], 0.0, undefined[: self._count])

    def _pull_instants(self, record: Record, hat: np.ndarray) -> None:
        of_sensors, of_reactions, of_rows = np.split(hat, [self._width, self._torques], axis=1)
        cov = self._instants.pull(record, seen=of_sensors, mu=torque_covectors(self._problem, of_rows))
        if self._reactions:
            given = self._reactions.pull_back(record, np.ascontiguousarray(of_reactions))
            cov = MotionCovectors(*map(np.add, cov, given))
        self._trajectory.pull_back(record.time, cov, self._theta)


def torque_covectors(problem: Problem, hat: np.ndarray) -> np.ndarray:
    """Covectors (B, n, p) of the torques of all coordinates, from those of torque sensors, hat (B, width, p)."""
    assert problem.prescribed is not None
    out = zeros((len(hat), allocate.sizes(problem.model)[1], hat.shape[2]), hat.dtype)
    for row, (column, sign) in enumerate(problem.prescribed.torque_rows):
        out[:, column] += sign * hat[:, row]
    return out
