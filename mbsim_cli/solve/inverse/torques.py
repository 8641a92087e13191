"""Inverse dynamics of trees along a given motion: torques, their derivatives, gradients of torque objectives.

Trees of one-dof columns under applied forces run in SIMD lanes (docs/theory/inverse_dynamics.md); Euler parameters and
springs go through the kernels of the equations of motion, one time point after another.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.algorithms.motion.workspace import law_entries
from mbsim_cli.kernels.algorithms.torques.lanes import LANES
from mbsim_cli.kernels.algorithms.torques.links import Chain, system, vary_links
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.kernels.drivers.inverse_dynamics import (
    applied_torques,
    general_torques,
    lane_derivatives,
    lane_gradient,
    lane_torques,
    lane_work,
    prescribe,
    vary_prescribed,
)
from mbsim_cli.model.codes import APPLIED, ROTATIONS, TRANSLATIONS, Measure
from mbsim_cli.model.coordinates import among
from mbsim_cli.model.layout import NONE, FlexibleTree, Model
from mbsim_cli.model.problem import Motion, Problem, Torques
from mbsim_cli.solve import allocate
from mbsim_cli.system import cached_property

# The two ways to the torques of a tree: in SIMD lanes, and one time point after another.


def runs_in_lanes(model: Model, theta: np.ndarray) -> bool:
    """Whether all columns turn or slide, and all forces are applied ones."""
    columns = bool(among(model.tree.column_kind, (*TRANSLATIONS, *ROTATIONS)).all())
    return columns and _only_applied(model) and theta.dtype == np.float64


def _only_applied(model: Model) -> bool:
    """Whether no force depends on the motion, and no coordinate has an inertia of its own."""
    return bool(among(model.forces.kind, APPLIED).all()) and not model.armatures.coordinate.size


def cut(arrays: Any, part: slice) -> Any:
    """The same tuple of arrays over some time points."""
    chosen = (array[part] for array in arrays)
    return type(arrays)(*chosen) if hasattr(arrays, "_fields") else tuple(chosen)


class Lanes:
    """Trees of one-dof columns under applied forces, many time points at a time, in threads."""

    def __init__(self, model: Model, theta: np.ndarray, dtheta: np.ndarray, threads: int):
        self._model, self._theta, self._threads = model, theta, threads
        chain = Chain(model.tree, theta)
        self._system = system(model, theta, chain)
        loads = self._system.loads
        self._law = model.forces.law[loads.element, 0].reshape(-1)
        self._sign = np.ones(self._law.size)
        self._dtheta = np.ascontiguousarray(dtheta)
        by_law = np.zeros((dtheta.shape[1], len(self._law)), bool)
        for load in np.flatnonzero(self._law != NONE):  # whether the law's coefficients vary with each parameter
            by_law[:, load] = (self._dtheta[law_entries(model.laws, [self._law[load]])] != 0.0).any(axis=0)
        self._law_varies = bool(by_law.any())
        self._change, self._vector = vary_links(model, theta, dtheta, chain, self._system, by_law)
        self._works = [lane_work(self._system.links.parent.size) for _ in range(threads)]

    def torques(self, motion: Motion, torque_out: np.ndarray) -> None:
        """Torques (B, n)."""
        self._run(motion, (torque_out,), lane_torques)

    def derivatives(self, motion: Motion, out: tuple[np.ndarray, ...]) -> None:
        """Torques (B, n), three matrices (B, n, n), derivatives by parameters (B, n, p), and whether all are finite."""

        def kernel(system: Any, motion: Motion, wrench: np.ndarray, vector: np.ndarray, *rest: Any) -> None:
            *filled, finite = rest
            finite[...] = lane_derivatives(system, motion, wrench, self._change._replace(wrench=vector), *filled)

        self._run(motion, out, kernel, self._changes(np.require(motion.time, float, ("C", "W"))))

    def gradient(self, motion: Motion, adjoint: np.ndarray, weight: np.ndarray, out: tuple[np.ndarray, ...]) -> None:
        """Torques and three gradients (B, n) for the adjoint ``adjoint + weight * torque``."""
        self._run(
            motion, out, lane_gradient, np.require(adjoint, float, ("C", "W")), np.require(weight, float, ("C", "W"))
        )

    def _run(self, motion: Motion, out: tuple[np.ndarray, ...], kernel: Callable, *given: np.ndarray) -> None:
        motion = Motion(*(np.require(array, float, ("C", "W")) for array in motion))
        wrench = self._factors(motion.time)[:, :, None] * self._system.loads.vector  # (B, nl, 3) in their own axes
        rows = len(motion.time)
        chunks = -(-rows // LANES)
        size = max(1, -(-chunks // self._threads)) * LANES
        parts = [slice(start, min(start + size, rows)) for start in range(0, rows, size)]

        def one(part: slice, work: Any) -> None:
            kernel(self._system, cut(motion, part), wrench[part], *cut(given, part), work, *cut(out, part))

        if len(parts) == 1:
            one(parts[0], self._works[0])
        elif parts:
            with ThreadPoolExecutor(len(parts)) as pool:
                list(pool.map(one, parts, self._works))

    def _changes(self, time: np.ndarray) -> np.ndarray:
        """Derivatives (B, nl, p, 3) of the loads' vectors, in their own axes."""
        vector = self._vector.transpose(1, 0, 2)
        found = np.ascontiguousarray(self._factors(time)[:, :, None, None] * vector)
        if self._law_varies:
            rates = tuple(np.zeros((len(time), *vector.shape[:2])) for _ in range(3))
            vary_prescribed(self._model.laws, self._theta, self._dtheta, self._law, self._sign, time, *rates)
            found += rates[0][..., None] * self._system.loads.vector[:, None]
        return found

    def _factors(self, time: np.ndarray) -> np.ndarray:
        """Values (B, nl) of the laws of the loads; 1 without a law."""
        factor = np.ones((len(time), self._law.size))
        if (self._law != NONE).any():
            rates = np.zeros_like(factor), np.zeros_like(factor)
            prescribe(self._model.laws, self._theta, self._law, self._sign, time, factor, *rates)
        return factor


class General:
    """Any tree and force; derivatives by the motion if ``matrices``, and in p directions of theta (len(theta), p)."""

    def __init__(self, model: Model, theta: np.ndarray, dtheta: np.ndarray, *, matrices: bool, at_center: bool):
        kind = theta.dtype.type
        self._model, self._theta, self._at_center = model, theta, at_center
        n = self._n = allocate.sizes(model)[1]
        first = 3 * n if matrices else 0
        d = first + dtheta.shape[1]
        unit = np.zeros((theta.size, first))
        rigid = not isinstance(model.tree, FlexibleTree)
        self._kernel = applied_torques if rigid and _only_applied(model) else general_torques
        self._work = allocate.work_at_instant(model, theta)
        self._directions = allocate.directions(model, allocate.padded_directions(np.hstack([unit, dtheta]), kind), kind)
        self._twists = allocate.twists_of(model, padded(d), kind)
        self._sens = allocate.sensitivity(model, padded(d), kind)
        for k, array in enumerate(self._sens[:3] if matrices else ()):
            array[:, k * n : (k + 1) * n] = np.eye(n)
        self.width = d

    def torques(self, motion: Motion, torque_out: np.ndarray) -> np.ndarray:
        """Torques (B, n); return their derivatives (B, n, d), by the motion first."""
        found = np.zeros((len(motion.time), self._n, padded(self.width)), self._theta.dtype)
        motion = Motion(np.ascontiguousarray(motion.time, float), *(np.ascontiguousarray(x) for x in motion[1:]))
        self._kernel(
            self._model, self._theta, self._at_center, motion, self._directions, self._sens, self._work.kin,
            self._work.comp, self._twists, self._work.eq.Q, torque_out, found,
        )  # fmt: skip
        return found[:, :, : self.width]


BLOCK_NUMBERS = 400_000  # numbers of derivatives held at once, about 3 MB: they stay in cache


class TorqueGradient(NamedTuple):
    """Torques and the gradient of an objective of them at each time point; ``by_parameter`` is summed over time."""

    torque: np.ndarray  # (B, n)
    by_position: np.ndarray  # (B, n)
    by_velocity: np.ndarray  # (B, n)
    by_acceleration: np.ndarray  # (B, n)
    by_parameter: np.ndarray  # (p,), the motion held


class InverseDynamics:
    """Torques of a tree, with derivatives by p parameters, and by the motion if ``matrices``."""

    def __init__(self, problem: Problem, *, matrices: bool, threads: int = 1):
        measures = problem.model.constraints.measure
        others = np.flatnonzero(problem.model.measures.kind[measures] != Measure.EULER_NORM)
        if others.size:  # Euler parameters carry their norm; any other constraint leaves the torques undetermined
            raise AnalysisError(
                f"inverse dynamics needs a tree without constraints, but '{problem.names.constraints[others[0]]}' is "
                "one; remove it, or use forward dynamics with motions prescribed by constraints"
            )
        self.problem, self.matrices = problem, matrices
        self.n, self.p = allocate.sizes(problem.model)[1], problem.theta_rho.shape[1]
        fast = runs_in_lanes(problem.model, problem.theta)
        self._lanes = Lanes(problem.model, problem.theta, problem.theta_rho, max(1, threads)) if fast else None

    @cached_property
    def _general(self) -> General:
        at_center = allocate.control(self.problem, redundant=False).at_center
        dtheta = self.problem.theta_rho
        return General(self.problem.model, self.problem.theta, dtheta, matrices=self.matrices, at_center=at_center)

    @property
    def _dense(self) -> bool:
        """Whether matrices are formed: parameters come along with them."""
        return self.matrices or bool(self._lanes and self.p)

    def block(self, motion: Motion, room: Torques | None = None) -> Torques:
        """Torques and derivatives at the time points of a motion; in the first rows of ``room``, or in fresh arrays."""
        found = self.room(len(motion.time)) if room is None else cut(room, slice(0, len(motion.time)))
        if self._lanes and self._dense:
            self._lanes.derivatives(motion, found)
            return found
        found.finite[...] = False
        if self._lanes:
            self._lanes.torques(motion, found.torque)
            return found
        matrices = self._general.torques(motion, found.torque)
        found.by_parameter[...] = matrices[:, :, matrices.shape[2] - self.p :]
        for k, stored in enumerate(found[1:4] if self.matrices else ()):
            stored[...] = matrices[:, :, k * self.n : (k + 1) * self.n]
        return found

    def stream(self, motion: Motion, *, instants: int | None = None) -> Iterator[tuple[slice, Torques]]:
        """Blocks of a long motion: which time points, and their torques, in arrays that the next block overwrites."""
        total = len(motion.time)
        size = instants or self._instants()
        found = self.room(min(size, total))
        for start in range(0, total, size):
            part = slice(start, min(start + size, total))
            yield part, self.block(cut(motion, part), found)

    def gradient(self, motion: Motion, adjoint: np.ndarray, weight: np.ndarray) -> TorqueGradient:
        """Gradient of the objective with d psi / d torque = adjoint + weight * torque, both (B, n).

        In SIMD lanes no (n, n) matrix is formed unless there are parameters: O(n) a time point. Elsewhere matrices must
        have been asked for.
        """
        rows, kind = len(motion.time), self.problem.theta.dtype
        found = TorqueGradient._make([*(np.empty((rows, self.n), kind) for _ in range(4)), np.zeros(self.p, kind)])
        if self._lanes:
            self._lanes.gradient(motion, adjoint, weight, found[:4])
        if self._lanes is None or self.p:
            size = self._instants()
            for start in range(0, rows, size):
                part = slice(start, min(start + size, rows))
                block = self.block(cut(motion, part))
                found.torque[part] = block.torque
                of_torque = adjoint[part] + weight[part] * block.torque
                found.by_parameter[...] += np.einsum("ti,tip->p", of_torque, block.by_parameter)
                for stored, matrix in zip(found[1:4], block[1:4], strict=True) if self._lanes is None else ():
                    stored[part] = np.einsum("ti,tim->tm", of_torque, matrix)
        return found

    def _instants(self) -> int:
        numbers = self.n * (3 * self.n * self._dense + self.p + 4)
        return max(1, BLOCK_NUMBERS // max(numbers, 1) // LANES) * LANES

    def room(self, rows: int) -> Torques:
        """Arrays for the torques and derivatives of ``rows`` time points, not cleared."""
        wide, kind = self.n if self._dense else 0, self.problem.theta.dtype
        shapes: list[tuple[int, ...]] = [(rows, self.n), *[(rows, wide, wide)] * 3, (rows, self.n, self.p)]
        return Torques._make([*(np.empty(shape, kind) for shape in shapes), np.empty(rows, bool)])
