"""Gradients of numbers that see samples of a driven mechanism: each sample is pulled back for itself.

The transpose of ``solve.kinematics``: forces, accelerations, velocities and positions, in this order, are solutions of
linear equations with the Jacobian of the constraints. Derivation: docs/theory/driven_mechanisms.md.
"""

import numpy as np

from mbsim_cli.kernels.drivers.observe import constraint_jacobians
from mbsim_cli.kernels.drivers.pull_instants import MotionCovectors
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.model.coordinates import all_but
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.pulled import InstantPuller
from mbsim_cli.solve.redundancy import kept_in_range
from mbsim_cli.solve.tape import Began


class MotionSweep:
    """Covectors of p columns, pulled back sample by sample; ``found`` are those of theta alone."""

    def __init__(self, problem: Problem, initial: Began, p: int) -> None:
        self._motion = MotionPuller(problem, initial, p)
        cov = allocate.covectors_of(problem.model, initial.theta.size, p, initial.theta.dtype.type)
        self.found = cov._replace(theta=self._motion.instants.theta)

    def back(self, first: int, record: Record, hat: np.ndarray, given: MotionCovectors) -> float:
        """Pull covectors of the sensors of a record back; return the size of what was left unsolved, 0."""
        cov = self._motion.instants.pull(record, seen=hat)
        if given.z.size:
            cov = MotionCovectors(*map(np.add, cov, given))
        self._motion.pull_back(record, cov)
        return 0.0


class MotionPuller:
    """Pulls p columns of covectors of driven motions back to numbers, which ``instants`` sums."""

    def __init__(self, problem: Problem, initial: Began, p: int) -> None:
        self._model, self._theta = problem.model, initial.theta
        self.instants = InstantPuller(problem.model, initial.theta, p)
        self._at_center = allocate.control(problem.options, redundant=False).at_center
        self._work = allocate.work(problem.model, initial.theta)
        self._rows = np.sort(all_but(allocate.sizes(problem.model)[2], initial.redundant))

    def jacobians(self, record: Record) -> np.ndarray:
        """Jacobians (N, m, n) of the constraints."""
        rows, n, m = len(record.time), *allocate.sizes(self._model)[1:]
        J = np.empty((rows, m, n), self._theta.dtype)
        constraint_jacobians(
            self._model, self._theta, self._at_center, self._work, record.time, record.position, J
        )  # fmt: skip
        return J

    def pull_back(self, record: Record, cov: MotionCovectors) -> None:
        """Pull covectors of the motion and of the multipliers at the rows of a record."""
        J = self.jacobians(record)
        self.pull_motion(record, J, self._of_forces(record, J, cov))

    def _of_forces(self, record: Record, J: np.ndarray, cov: MotionCovectors) -> MotionCovectors:
        """Covectors of the motion, from which the multipliers follow by J^T lambda = -G."""
        hat = cov.lam
        if not hat.any():
            return cov
        if self._rows.size < J.shape[1]:
            hat = kept_in_range(J, hat)
        mu = -np.linalg.solve(J[:, self._rows], hat[:, self._rows])
        return MotionCovectors(*map(np.add, cov, self.instants.pull(record, mu=mu)))

    def pull_motion(self, record: Record, J: np.ndarray, cov: MotionCovectors) -> None:
        """Pull covectors of accelerations, velocities and positions, each of which the constraints determine."""
        transposed = J[:, self._rows].swapaxes(1, 2)

        def of(hat: np.ndarray) -> np.ndarray:
            nu = np.zeros((*J.shape[:2], hat.shape[2]), hat.dtype)
            nu[:, self._rows] = -np.linalg.solve(transposed, hat)
            return nu

        for level in ("nu2", "nu1"):
            hat = cov.zdd if level == "nu2" else cov.zd
            if hat.any():
                nu = of(hat)
                self._steer(record, level, nu)
                cov = MotionCovectors(*map(np.add, cov, self.instants.pull(record, **{level: nu})))
        nu = of(cov.z)
        self._steer(record, "nu", nu)
        self.instants.pull(record, mu=np.zeros_like(cov.z), nu=nu)

    def _steer(self, record: Record, level: str, nu: np.ndarray) -> None:
        """Take covectors of constraints in that something else than their numbers and laws moves."""
