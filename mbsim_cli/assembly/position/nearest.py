"""The closed position nearest to the declared one, and its derivatives.

Least weighted distance |W (z - z_0)| under Phi(z) = 0: the multipliers mu and z solve

    W^2 (z - z_0) + Phi_z^T mu = 0,    Phi = 0,

so that z depends on the declared position and on every number of the model by the implicit function theorem. Second
derivatives of Phi are complex steps of Phi_z^T mu. All is solved for W z, so that weights may differ by powers of ten.
"""

from collections.abc import Sequence

import numpy as np

from mbsim_cli.assembly.parameters.numbers import STEP
from mbsim_cli.assembly.parameters.vectors import Scalar
from mbsim_cli.assembly.position.groups import Scaled
from mbsim_cli.assembly.position.rank import RANK_TOLERANCE

WALKS, STEPS, HALVINGS, CORRECTIONS, POLISHING = 20, 4, 12, 10, 12
SOLVED = 1e-13
REDUNDANT = 1e-14  # singular values, relative, that are but round-off
NEARBY = 1e-9  # of distances that count as equal
STANDS = 1e-10  # step, relative, below which the way to the nearest position has ended


class Nearest:
    """Coordinates with ``weights`` (l,) above 0 move, as little as they can, from ``declared`` (l,)."""

    def __init__(self, equations: Scaled, theta: Sequence[Scalar], declared: np.ndarray, weights: np.ndarray) -> None:
        self.equations, self.theta, self.declared = equations, theta, declared
        self.loose = np.flatnonzero(weights)
        self.weights = weights[self.loose]
        self.rows = equations.of_position

    def from_position(self, z: np.ndarray) -> np.ndarray:
        """The nearest position to which the way goes downhill from a closed one."""
        for _ in range(WALKS):
            z, ended = self._walk(z)
            polished = self._polish(z)
            if polished is not None:
                return polished
            if ended:
                break
        return z

    def _polish(self, z: np.ndarray) -> np.ndarray | None:
        """Newton on the equations of the nearest position, None where it does not lead to one that is as near."""
        farthest, mu = self._distance(z), self._multipliers(z)
        left = self._residual(z, mu, self.theta, self.declared)
        for _ in range(POLISHING):
            size = np.linalg.norm(left)
            if size < SOLVED:
                return z if self._distance(z) <= farthest * (1.0 + NEARBY) + SOLVED else None
            change = self._solve(z, mu, left)
            z, mu = z.copy(), mu - change[self.loose.size :]
            z[self.loose] -= change[: self.loose.size] / self.weights
            left = self._residual(z, mu, self.theta, self.declared)
            if not np.linalg.norm(left) < size:
                return z if size < NEARBY and self._distance(z) <= farthest * (1.0 + NEARBY) + SOLVED else None
        return None

    def derivative(self, z: np.ndarray, d_theta: np.ndarray, d_declared: np.ndarray) -> np.ndarray:
        """Derivative (l,) of the nearest position along directions of theta and of the declared position."""
        mu = self._multipliers(z)
        theta = (np.asarray(self.theta) + 1j * STEP * d_theta).tolist()
        fixed = d_declared.copy()
        fixed[self.loose] = 0.0
        change = self._residual(z + 1j * STEP * fixed, mu, theta, self.declared + 1j * STEP * d_declared).imag / STEP
        fixed[self.loose] = -self._solve(z, mu, change)[: self.loose.size] / self.weights
        return fixed

    def _residual(self, z: np.ndarray, mu: np.ndarray, theta: Sequence[Scalar], declared: np.ndarray) -> np.ndarray:
        phi, J = self.equations.at(theta, z)
        pull = self.weights * (z - declared)[self.loose] + (self._part(J) / self.weights).T @ mu
        return np.concatenate([pull, phi[self.rows]])

    def _solve(self, z: np.ndarray, mu: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Solution of the equations' linearisation, weighted coordinates before multipliers, for a right-hand side."""
        J = self._part(self.equations.at(self.theta, z)[1]) / self.weights
        H = np.eye(self.loose.size)
        for k, column in enumerate(self.loose):
            stepped = z.astype(complex)
            stepped[column] += 1j * STEP
            bent = (self._part(self.equations.at(self.theta, stepped)[1]).T @ mu).imag / STEP
            H[:, k] += bent / (self.weights * self.weights[k])
        whole = np.block([[H, J.T], [J, np.zeros((len(J), len(J)))]])
        return np.linalg.lstsq(whole, right, rcond=RANK_TOLERANCE**2)[0]

    def _part(self, J: np.ndarray) -> np.ndarray:
        """Derivatives of the rows of the position by the coordinates that move."""
        return J[self.rows][:, self.loose]

    def _multipliers(self, z: np.ndarray) -> np.ndarray:
        J = self._part(self.equations.at(self.theta, z)[1]) / self.weights
        return np.linalg.lstsq(J.T, -self.weights * (z - self.declared)[self.loose], rcond=REDUNDANT)[0]

    def _walk(self, z: np.ndarray) -> tuple[np.ndarray, bool]:
        """Go along the closed positions towards the declared one; whether the way has ended."""
        for _ in range(STEPS):
            J = self._part(self.equations.at(self.theta, z)[1]) / self.weights
            way = self.weights * (self.declared - z)[self.loose]
            way -= np.linalg.lstsq(J, J @ way, rcond=RANK_TOLERANCE)[0]
            if np.linalg.norm(way) <= STANDS * (1.0 + np.linalg.norm(z)):
                return z, True
            for halving in range(HALVINGS):
                trial = z.copy()
                trial[self.loose] += 0.5**halving * way / self.weights
                trial = self._closed(trial)
                if self._distance(trial) < self._distance(z):
                    z = trial
                    break
            else:
                return z, True
        return z, False

    def _closed(self, z: np.ndarray) -> np.ndarray:
        """The closed position next to one that is almost closed, as it is where that fails."""
        for _ in range(CORRECTIONS):
            phi, J = self.equations.at(self.theta, z)
            if np.abs(phi[self.rows]).max(initial=0.0) < SOLVED:
                break
            J = self._part(J) / self.weights
            z[self.loose] -= np.linalg.lstsq(J, phi[self.rows], rcond=RANK_TOLERANCE)[0] / self.weights
        return z

    def _distance(self, z: np.ndarray) -> float:
        """From the declared position; positions that are not closed are farther than any."""
        phi = self.equations.at(self.theta, z)[0][self.rows]
        if not np.abs(phi).max(initial=0.0) < 1e3 * SOLVED:
            return np.inf
        return float(np.linalg.norm(self.weights * (z - self.declared)[self.loose]))
