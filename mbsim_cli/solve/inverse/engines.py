"""The two ways to the torques of a tree: in lanes, and one instant after another."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mbsim_cli.kernels.algorithms.motion.workspace import law_entries
from mbsim_cli.kernels.algorithms.torques.lanes import LANES
from mbsim_cli.kernels.algorithms.torques.links import Chain, system
from mbsim_cli.kernels.algorithms.torques.variation import vary_links
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.kernels.drivers.inverse_general import applied_torques, general_torques
from mbsim_cli.kernels.drivers.inverse_trajectory import lane_derivatives, lane_gradient, lane_torques, lane_work
from mbsim_cli.kernels.drivers.prescribe import prescribe, vary_prescribed
from mbsim_cli.model.among import among
from mbsim_cli.model.codes import APPLIED, ROTATIONS, TRANSLATIONS
from mbsim_cli.model.layout import NONE, FlexibleTree, Model
from mbsim_cli.model.problem import Motion
from mbsim_cli.solve import allocate


def runs_in_lanes(model: Model, theta: np.ndarray) -> bool:
    """Whether all columns turn or slide, and all forces are applied ones."""
    columns = bool(among(model.tree.column_kind, (*TRANSLATIONS, *ROTATIONS)).all())
    return columns and _only_applied(model) and theta.dtype == np.float64


def _only_applied(model: Model) -> bool:
    """Whether no force depends on the motion, and no coordinate has an inertia of its own."""
    return bool(among(model.forces.kind, APPLIED).all()) and not model.armatures.coordinate.size


def cut(arrays: Any, part: slice) -> Any:
    """The same tuple of arrays over some instants."""
    chosen = (array[part] for array in arrays)
    return type(arrays)(*chosen) if hasattr(arrays, "_fields") else tuple(chosen)


class Lanes:
    """Trees of one-dof columns under applied forces, many instants at a time, in threads."""

    def __init__(self, model: Model, theta: np.ndarray, dtheta: np.ndarray, threads: int):
        self._model, self._theta, self._threads = model, theta, threads
        chain = Chain(model.tree, theta)
        self._system = system(model, theta, chain)
        loads = self._system.loads
        self._law = model.forces.law[loads.element, 0].reshape(-1)
        self._sign = np.ones(self._law.size)
        self._dtheta = np.ascontiguousarray(dtheta)
        by_law = np.zeros((dtheta.shape[1], len(self._law)), bool)
        for load, law in enumerate(self._law):
            by_law[:, load] = self._varies(law)
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

        self._run(motion, out, kernel, self._changes(np.require(motion.time, float, "CW")))

    def gradient(self, motion: Motion, covector: np.ndarray, weight: np.ndarray, out: tuple[np.ndarray, ...]) -> None:
        """Torques and three gradients (B, n) for the covector ``covector + weight * torque``."""
        self._run(motion, out, lane_gradient, np.require(covector, float, "CW"), np.require(weight, float, "CW"))

    def _run(self, motion: Motion, out: tuple[np.ndarray, ...], kernel: Callable, *given: np.ndarray) -> None:
        motion = Motion(*(np.require(array, float, "CW") for array in motion))
        wrench = self._wrenches(motion.time)
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

    def _varies(self, law: int) -> np.ndarray:
        """Whether the coefficients of a law vary with each parameter."""
        entries = law_entries(self._model.laws, [law] if law != NONE else [])
        return np.any(self._dtheta[entries] != 0.0, axis=0)

    def _changes(self, time: np.ndarray) -> np.ndarray:
        """Derivatives (B, nl, p, 3) of the loads' vectors, in their own axes."""
        vector = self._vector.transpose(1, 0, 2)
        found = np.ascontiguousarray(self._factors(time)[:, :, None, None] * vector)
        if self._law_varies:
            rates = tuple(np.zeros((len(time), *vector.shape[:2])) for _ in range(3))
            vary_prescribed(self._model.laws, self._theta, self._dtheta, self._law, self._sign, time, *rates)
            found += rates[0][..., None] * self._system.loads.vector[:, None]
        return found

    def _wrenches(self, time: np.ndarray) -> np.ndarray:
        """Vectors (B, nl, 3) of the loads, in their own axes."""
        return self._factors(time)[:, :, None] * self._system.loads.vector

    def _factors(self, time: np.ndarray) -> np.ndarray:
        """What the laws of the loads give (B, nl); one without a law."""
        factor = np.ones((len(time), self._law.size))
        if (self._law != NONE).any():
            rates = np.zeros_like(factor), np.zeros_like(factor)
            prescribe(self._model.laws, self._theta, self._law, self._sign, time, factor, *rates)
        return factor


class General:
    """Any tree and force; derivatives by the motion where wanted, and in p directions of theta (len(theta), p)."""

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
