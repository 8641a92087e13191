"""Closed loops as ordinary differential equations: the work of their formulation, and the check of stored instants."""

import numpy as np

from mbsim_cli.kernels.algorithms.closed_loops.accelerations import ClosedLoops
from mbsim_cli.kernels.algorithms.closed_loops.projections import Loops, Motion
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import Factor, Range
from mbsim_cli.kernels.algorithms.equations.resting_variation import resting
from mbsim_cli.kernels.algorithms.motion.workspace import Kinematics
from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.kernels.drivers.instants import measure_drift
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.coordinates import are_elastic
from mbsim_cli.model.layout import NONE, Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import scales_of
from mbsim_cli.solve import allocate
from mbsim_cli.solve.consistency import Consistency
from mbsim_cli.solve.initial import Initial
from mbsim_cli.solve.instant import Instant


def loops_of(problem: Problem, theta: np.ndarray, p: int, expected: np.ndarray, *, redundant: bool) -> Loops:
    """Allocate Loops for p directions, ``padded``; angles between bodies are read near those ``expected``."""
    model, dtype = problem.model, theta.dtype.type
    nb, n, m = allocate.sizes(model)
    kin, comp, eq, turning = allocate.work_at_instant(model, theta)
    kin.expected[:] = expected
    factor = tangent_of(model, dtype, problem.least)._replace(J=eq.J)

    def z(count: int) -> np.ndarray:
        return np.zeros(count, dtype)

    return Loops(
        np.full(n, NONE, np.int64),
        np.zeros(0, np.int64),
        kin,
        comp,
        eq,
        factor,
        allocate.columns(n, m, 1, dtype),
        Motion(z(n), z(n), z(n), z(m)),
        np.array(scales_of(model, theta).rows, float),
        z(n),
        np.zeros(1, np.int64),
        z(n),
        z(m),
        z(n),
        z(m),
        z(n),
        bool(redundant),
        Range(zeros((n, padded(n)), dtype), np.zeros(max(1, n), np.int64)),
        turning.measure,
        allocate.twists_of(model, p, dtype),
        allocate.columns(n, m, p, dtype),
        resting(nb, n, m, p, dtype),
        resting(nb, n, m, p, dtype),
        Motion(*(zeros((rows, p), dtype) for rows in (n, n, n, m))),
        zeros((n, p), dtype),
    )


def tangent_of(model: Model, dtype: type, least: np.ndarray | None) -> Factor:
    """Allocate a Factor of the equations; coordinates count for an inertia of ``least`` (n,), at least."""
    _, n, m = allocate.sizes(model)
    return allocate.factor(n, m, allocate.STRUCTURE[type(model.tree)](model), dtype)._replace(
        least=np.zeros(n) if least is None else least.copy(), extent=np.where(are_elastic(model.tree), 0.0, 1.0)
    )


def closed_loops(problem: Problem, theta: np.ndarray, p: int, start: Initial) -> ClosedLoops:
    """Allocate ClosedLoops for p directions, ``padded``."""
    loops = loops_of(problem, theta, p, start.expected, redundant=start.redundant.size > 0)
    return ClosedLoops(loops, loops.kin)


class LoopRows:
    """What is seen of stored instants of closed loops: drift, multipliers of dependent constraints, contradictions."""

    def __init__(self, problem: Problem, start: Initial, dtheta: np.ndarray) -> None:
        self._model, self._theta = problem.model, start.theta
        self._at = start.work or allocate.work_at_instant(self._model, self._theta)
        self._state = allocate.state(self._model, self._theta.dtype.type)
        self._consistency: Consistency | None = None
        wanted = problem.theta_rho.shape[1] if problem.options.differentiates else 0
        self.broken = start.broken[:wanted].copy()
        if start.redundant.size:
            units = scales_of(self._model, self._theta).rows
            at = Instant(problem, self._theta, dtheta)
            self._consistency = Consistency(problem, at, start.held, units)
        self._varied = dtheta.shape[1]

    @property
    def kin(self) -> Kinematics:
        """Work of the rows that are looked at."""
        return self._at.kin

    def take(self, record: Record) -> None:
        """Fill in drift."""
        measure_drift(self._model, self._theta, self._at.kin, self._at.eq, self._state, record)

    def judged(self, record: Record, d_record: SensitivityRecord) -> tuple[np.ndarray, np.ndarray]:
        """``broken`` and ``free`` of ``Block``, after sensors are filled in."""
        rows = record.time.size
        broken, free = np.tile(self.broken, (rows, 1)), np.zeros(record.lam.shape, bool)
        if self._consistency is None or not rows:
            return broken, free
        free[:] = self._consistency.free_multipliers(record, 0)
        if self.broken.size and self._varied:
            varied = d_record.position.shape[2] > 0
            found = self._consistency.complete(record, d_record) if varied else self._consistency.breaking(record)
            for row, each in enumerate(found[:, : self.broken.size]):
                self.broken = broken[row] = np.where(self.broken, self.broken, each)
        return broken, free

    def contradiction(self, record: Record) -> tuple[int, str] | None:
        """The first instant at which constraints contradict each other, with a sentence."""
        return self._consistency.contradiction(record) if self._consistency else None

    def contradiction_at(self, position: np.ndarray, expected: np.ndarray, time: float) -> str | None:
        """The same where no step leads on."""
        return self._consistency.contradiction_at(position, expected, time) if self._consistency else None
