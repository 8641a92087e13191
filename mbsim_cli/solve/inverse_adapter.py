"""Torques and their derivatives, one instant after another, by varying the residual of the equations of motion."""

import numpy as np

from mbsim_cli.kernels.drivers.linearise import linearise
from mbsim_cli.model.problem import Motion, Problem, Torques
from mbsim_cli.solve import work as allocate


class InverseDynamics:
    """Torques G(z, z', z'') of a problem without constraints."""

    def __init__(self, problem: Problem, *, matrices: bool):
        self.model, self.theta = problem.model, problem.theta.copy()
        self.n = self.model.tree.column_kind.size
        self.p = problem.theta_rho.shape[1]
        self.matrices = matrices
        columns = (3 * self.n if matrices else 0) + self.p
        dtheta = np.zeros((columns, self.theta.size))
        dtheta[columns - self.p :] = problem.theta_rho.T
        self.at_center = allocate.control(problem.options, redundant=False).at_center
        self.work = allocate.work(self.model, self.theta)
        self.directions = allocate.directions(self.model, dtheta, float)
        self.twists = allocate.sensitivity_work(self.model, self.work, columns, float).twists
        self.state = allocate.state(self.model, float)
        self.sens = allocate.sensitivity(self.model, columns, float)
        self.out = allocate.linearisation(self.model, columns, float)
        if matrices:
            for k, array in enumerate(self.sens[:3]):
                array[:, k * self.n : (k + 1) * self.n] = np.eye(self.n)

    def block(self, motion: Motion) -> Torques:
        """Torques at the instants of a motion."""
        b, n = len(motion.time), self.n
        wide = n if self.matrices else 0
        found = Torques(np.zeros((b, n)), *(np.zeros((b, wide, wide)) for _ in range(3)), np.zeros((b, n, self.p)))
        for row, time in enumerate(motion.time):
            for array, given in zip(self.state[:3], motion[1:], strict=True):
                array[:] = given[row]
            linearise(
                self.model, self.theta, float(time), 0.0, self.at_center, self.directions, self.state, self.sens,
                self.work, self.twists, self.out,
            )  # fmt: skip
            found.torque[row] = self.work.eq.G
            if self.matrices:
                for k, array in enumerate(found[1:4]):
                    array[row] = self.out.dG[:, k * n : (k + 1) * n]
            found.by_parameter[row] = self.out.dG[:, self.out.dG.shape[1] - self.p :]
        return found
