"""Multipliers that objectives read, pulled back to the motion and to numbers.

Where equations depend on each other they are kept in the range of J: lambda = P lambda, J w = lambda, and vary by
P lambda' + (1 - P) J' w. So a covector c of them leaves P c to the multipliers as solved, and (1 - P) c to J.
Derivation: docs/theory/adjoint.md, section 7.
"""

import numpy as np

from mbsim_cli.kernels.compiler.simd import zeros
from mbsim_cli.kernels.drivers.observe_reactions import constraint_jacobians
from mbsim_cli.kernels.drivers.pull_back_reactions import MotionCovectors
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.instant_puller import InstantPuller
from mbsim_cli.solve.redundancy import kept_in_range, preimage, without_columns


class MultiplierPuller:
    """Takes the covectors of sensors of multipliers; ``theta`` (len(theta), p) are the sums of those of numbers.

    Coordinates ``held`` are those that something else holds, in an equilibrium; ``turning`` says whether equations
    depend on each other.
    """

    def __init__(self, problem: Problem, theta: np.ndarray, p: int, held: np.ndarray, *, turning: bool) -> None:
        self._columns, self._equations = allocate.multiplier_sensors(problem.model)
        self._model, self._numbers, self._held = problem.model, theta, held
        self._at_center = allocate.control(problem.options, redundant=True).at_center
        self._work = allocate.work(problem.model, theta)
        self._turning = turning
        self._instants = InstantPuller(problem.model, theta, p)
        self.theta = self._instants.theta

    def pull_back(self, record: Record, hat: np.ndarray) -> MotionCovectors:
        """Covectors of the motion at the rows of a record; their part of hat (N, width, p) becomes zero."""
        (_, n, m), rows, p = allocate.sizes(self._model), len(hat), hat.shape[2]
        of_equations = zeros((rows, m, p), hat.dtype)
        for column, equation in zip(self._columns, self._equations, strict=True):
            of_equations[:, equation] += hat[:, column]
        hat[:, self._columns] = 0.0
        if not self._turning:
            return MotionCovectors(*(zeros((rows, n, p), hat.dtype) for _ in range(3)), of_equations)
        kept, carried = self._split(record, of_equations)
        away = np.ascontiguousarray(of_equations - kept)
        # Phi' of a velocity w is J w and what laws of time add, which is there without it too
        moved, still = (
            self._instants.pull(record._replace(velocity=velocity), nu1=sign * away)
            for velocity, sign in ((carried, 1.0), (np.zeros_like(carried), -1.0))
        )
        return MotionCovectors(moved.z + still.z, *(zeros((rows, n, p), hat.dtype) for _ in range(2)), kept)

    def _split(self, record: Record, hat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The parts P c of covectors hat (N, m, p), and the w (N, n) that J takes to the multipliers."""
        J = np.empty((*hat.shape[:2], record.position.shape[1]), self._numbers.dtype)
        constraint_jacobians(
            self._model, self._numbers, self._at_center, self._work, record.time, record.position, J
        )  # fmt: skip
        resisting = without_columns(J, self._held)
        carried = preimage(resisting, record.reaction[..., None])[..., 0]
        return kept_in_range(resisting, hat), np.ascontiguousarray(carried)
