"""Inverse dynamics of trees along a given motion: torques, their derivatives, gradients of torque objectives.

Trees of one-dof columns under applied forces run in lanes (docs/theory/inverse_dynamics.md); Euler parameters and
springs go through the kernels of the equations of motion, one instant after another.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.algorithms.torques.lanes import LANES
from mbsim_cli.model.codes import Measure
from mbsim_cli.model.memory import together
from mbsim_cli.model.problem import Motion, Problem, Torques
from mbsim_cli.solve import allocate
from mbsim_cli.solve.inverse.engines import General, Lanes, cut, runs_in_lanes
from mbsim_cli.system import cached_property

BLOCK_NUMBERS = 400_000  # numbers of derivatives held at once, about 3 MB: they stay in cache


class TorqueGradient(NamedTuple):
    """Torques, and the gradient of an objective of them, instant by instant; parameters summed over the instants."""

    torque: np.ndarray  # (B, n)
    by_position: np.ndarray  # (B, n)
    by_velocity: np.ndarray  # (B, n)
    by_acceleration: np.ndarray  # (B, n)
    by_parameter: np.ndarray  # (p,), the motion held


class InverseDynamics:
    """Torques of a tree; ``matrices`` asks for derivatives by the motion, ``theta_rho`` for p parameters."""

    def __init__(self, problem: Problem, *, matrices: bool, threads: int = 1):
        _require_tree(problem)
        self.problem, self.matrices = problem, matrices
        self.n, self.p = allocate.sizes(problem.model)[1], problem.theta_rho.shape[1]
        fast = runs_in_lanes(problem.model, problem.theta)
        self._lanes = Lanes(problem.model, problem.theta, problem.theta_rho, max(1, threads)) if fast else None

    @cached_property
    def _general(self) -> General:
        at_center = allocate.control(self.problem.options, redundant=False).at_center
        dtheta = self.problem.theta_rho
        return General(self.problem.model, self.problem.theta, dtheta, matrices=self.matrices, at_center=at_center)

    @property
    def _dense(self) -> bool:
        """Whether matrices are formed: parameters come along with them."""
        return self.matrices or bool(self._lanes and self.p)

    def block(self, motion: Motion, room: Torques | None = None) -> Torques:
        """Torques and derivatives at the instants of a motion; in the first rows of ``room``, or in fresh arrays."""
        found = self.room(len(motion.time)) if room is None else cut(room, slice(0, len(motion.time)))
        self._fill(motion, found)
        return found

    def stream(self, motion: Motion, *, instants: int | None = None) -> Iterator[tuple[slice, Torques]]:
        """Blocks of a long motion: which instants, and their torques, in arrays that the next block overwrites."""
        total = len(motion.time)
        size = instants or self._instants()
        found = self.room(min(size, total))
        for start in range(0, total, size):
            part = slice(start, min(start + size, total))
            yield part, self.block(cut(motion, part), found)

    def gradient(self, motion: Motion, covector: np.ndarray, weight: np.ndarray) -> TorqueGradient:
        """Gradient of the objective with d psi / d torque = covector + weight * torque, both (B, n).

        In lanes no (n, n) matrix is formed unless there are parameters: O(n) an instant. Elsewhere the matrices must
        have been asked for.
        """
        rows, kind = len(motion.time), self.problem.theta.dtype
        found = TorqueGradient(*(np.empty((rows, self.n), kind) for _ in range(4)), np.zeros(self.p, kind))
        if self._lanes:
            self._lanes.gradient(motion, covector, weight, found[:4])
        if self._lanes is None or self.p:
            size = self._instants()
            for start in range(0, rows, size):
                part = slice(start, min(start + size, rows))
                self._pull(cut(motion, part), covector[part], weight[part], cut(found[:4], part), found.by_parameter)
        return found

    def _pull(self, motion, covector, weight, found, by_parameter) -> None:
        """Contract the derivatives of a block with the objective's covector."""
        block = self.block(motion)
        found[0][...] = block.torque
        pulled = covector + weight * block.torque
        by_parameter += np.einsum("ti,tip->p", pulled, block.by_parameter)
        for stored, matrix in zip(found[1:4], block[1:4], strict=True) if self._lanes is None else ():
            stored[...] = np.einsum("ti,tim->tm", pulled, matrix)

    def _fill(self, motion: Motion, found: Torques) -> None:
        if self._lanes and self._dense:
            self._lanes.derivatives(motion, found)
            return
        found.finite[...] = False
        if self._lanes:
            self._lanes.torques(motion, found.torque)
        else:
            matrices = self._general.torques(motion, found.torque)
            found.by_parameter[...] = matrices[:, :, matrices.shape[2] - self.p :]
            for k, stored in enumerate(found[1:4] if self.matrices else ()):
                stored[...] = matrices[:, :, k * self.n : (k + 1) * self.n]

    def _instants(self) -> int:
        numbers = self.n * (3 * self.n * self._dense + self.p + 4)
        return max(1, BLOCK_NUMBERS // max(numbers, 1) // LANES) * LANES

    def room(self, rows: int) -> Torques:
        """Arrays for the torques and derivatives of so many instants, not cleared."""
        wide, kind = self.n if self._dense else 0, self.problem.theta.dtype
        shapes = [(rows, self.n), *[(rows, wide, wide)] * 3, (rows, self.n, self.p), (rows,)]
        return Torques(*together(shapes, [*[kind] * 5, np.bool_]))


def _require_tree(problem: Problem) -> None:
    """Euler parameters carry their norm; any other constraint leaves the torques undetermined."""
    measures = problem.model.constraints.measure
    others = np.flatnonzero(problem.model.measures.kind[measures] != Measure.EULER_NORM)
    if others.size:
        name = problem.names.constraints[others[0]]
        raise AnalysisError(
            f"inverse dynamics needs a tree without constraints, but '{name}' is one; "
            "remove it, or use forward dynamics with motions prescribed by constraints"
        )
