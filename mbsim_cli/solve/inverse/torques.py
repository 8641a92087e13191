"""Inverse dynamics of trees along a given motion: torques and their derivatives.

Trees of one-dof columns under applied forces run in SIMD lanes (docs/theory/inverse_dynamics.md); Euler parameters and
springs go through the kernels of the equations of motion, one time point after another.
"""

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.algorithms.motion.workspace import law_entries
from mbsim_cli.kernels.algorithms.torques.links import Chain, system, vary_links
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.kernels.drivers import inverse_dynamics as driver
from mbsim_cli.model.codes import APPLIED, ROTATIONS, TRANSLATIONS, Measure
from mbsim_cli.model.coordinates import among
from mbsim_cli.model.layout import NONE, FlexibleTree, Model
from mbsim_cli.model.problem import Motion, Problem, Torques
from mbsim_cli.solve import allocate


def runs_in_lanes(model: Model, theta: np.ndarray) -> bool:
    """Whether all columns turn or slide, and all forces are applied ones."""
    columns = bool(among(model.tree.column_kind, (*TRANSLATIONS, *ROTATIONS)).all())
    return columns and _only_applied(model) and theta.dtype == np.float64


def _only_applied(model: Model) -> bool:
    """Whether no force depends on the motion, and no coordinate has an inertia of its own."""
    return bool(among(model.forces.kind, APPLIED).all()) and not model.armatures.coordinate.size


class Lanes:
    """Trees of one-dof columns under applied forces, many time points at a time; with derivatives if ``matrices``."""

    def __init__(self, problem: Problem, *, matrices: bool):
        model, theta, dtheta = problem.model, problem.theta, problem.theta_rho
        self._model, self._theta, self._dtheta = model, theta, np.ascontiguousarray(dtheta)
        self._matrices = matrices
        chain = Chain(model.tree, theta)
        self._system = system(model, theta, chain)
        loads = self._system.loads
        self._law = model.forces.law[loads.element, 0]
        by_law = np.zeros((dtheta.shape[1], self._law.size), bool)
        for load in np.flatnonzero(self._law != NONE):  # whether the law's coefficients vary with each parameter
            by_law[:, load] = (dtheta[law_entries(model.laws, [self._law[load]])] != 0.0).any(axis=0)
        self._law_varies = bool(by_law.any())
        self._change = vary_links(model, theta, dtheta, chain, self._system, by_law)
        self._work = driver.lane_work(self._system.links.parent.size)

    def fill(self, motion: Motion, found: Torques) -> None:
        """Torques at the time points of a motion, their derivatives, and whether all are known to be finite."""
        vector, factor = self._system.loads.vector, np.ones((len(motion.time), self._law.size))  # 1 without a law
        if (self._law != NONE).any():
            unused = np.zeros_like(factor), np.zeros_like(factor)
            driver.prescribe(self._model.laws, self._theta, self._law, motion.time, factor, *unused)
        wrench = factor[:, :, None] * vector  # (B, nl, 3) in their own axes
        if not self._matrices:
            driver.lane_torques(self._system, motion, wrench, self._work, found.torque)
            found.finite[...] = False
            return
        d_vector = self._change.vector.transpose(1, 0, 2)
        d_wrench = np.ascontiguousarray(factor[:, :, None, None] * d_vector)  # (B, nl, p, 3)
        if self._law_varies:
            rates = tuple(np.zeros(d_wrench.shape[:3]) for _ in range(3))
            driver.vary_prescribed(self._model.laws, self._theta, self._dtheta, self._law, motion.time, *rates)
            d_wrench += rates[0][..., None] * vector[:, None]
        *filled, finite = found
        finite[...] = driver.lane_derivatives(self._system, motion, wrench, self._change, d_wrench, self._work, *filled)


class General:
    """Any tree and force; derivatives by the motion if ``matrices``, and by the parameters."""

    def __init__(self, problem: Problem, *, matrices: bool):
        model, theta, dtheta = problem.model, problem.theta, problem.theta_rho
        kind = theta.dtype.type
        self._model, self._theta, self._n = model, theta, allocate.sizes(model)[1]
        self._first = 3 * self._n if matrices else 0  # directions of the motion, which stand before the parameters
        self._width = self._first + dtheta.shape[1]
        directions = np.hstack([np.zeros((theta.size, self._first)), dtheta])
        rigid = not isinstance(model.tree, FlexibleTree)
        self._kernel = driver.applied_torques if rigid and _only_applied(model) else driver.general_torques
        self._work = allocate.work_at_instant(model, theta)
        self._directions = allocate.directions(model, allocate.padded_directions(directions, kind), kind)
        self._twists = allocate.twists_of(model, padded(self._width), kind)
        self._sens = allocate.sensitivity(model, padded(self._width), kind)
        for k, array in enumerate(self._sens[:3] if matrices else ()):
            array[:, k * self._n : (k + 1) * self._n] = np.eye(self._n)

    def fill(self, motion: Motion, found: Torques) -> None:
        """Torques at the time points of a motion and their derivatives, which may be infinite."""
        made = np.zeros((*found.torque.shape, padded(self._width)), self._theta.dtype)
        self._kernel(
            self._model, self._theta, motion, self._directions, self._sens, self._work.kin, self._work.comp,
            self._twists, self._work.eq.Q, found.torque, made,
        )  # fmt: skip
        for k, stored in enumerate(found[1:4] if self._first else ()):
            stored[...] = made[:, :, k * self._n : (k + 1) * self._n]
        found.by_parameter[...] = made[:, :, self._first : self._width]
        found.finite[...] = False


class InverseDynamics:
    """Torques of a tree, with derivatives by p parameters, and by the motion if ``matrices``."""

    def __init__(self, problem: Problem, *, matrices: bool):
        measures = problem.model.constraints.measure
        others = np.flatnonzero(problem.model.measures.kind[measures] != Measure.EULER_NORM)
        if others.size:  # Euler parameters carry their norm; any other constraint leaves the torques undetermined
            raise AnalysisError(
                f"inverse dynamics needs a tree without constraints, but '{problem.names.constraints[others[0]]}' is "
                "one; remove it, or use forward dynamics with motions prescribed by constraints"
            )
        self._n, self._p = allocate.sizes(problem.model)[1], problem.theta_rho.shape[1]
        self._dtype = problem.theta.dtype
        fast = runs_in_lanes(problem.model, problem.theta)
        self.matrices = matrices or (fast and self._p > 0)  # in SIMD lanes derivatives by parameters need them
        self._way = (Lanes if fast else General)(problem, matrices=self.matrices)

    def block(self, motion: Motion, room: Torques | None = None) -> Torques:
        """Torques and derivatives at the time points of a motion; in the first rows of ``room``, or in fresh arrays."""
        rows = len(motion.time)
        found = self.room(rows) if room is None else Torques(*(array[:rows] for array in room))
        self._way.fill(motion, found)
        return found

    def room(self, rows: int) -> Torques:
        """Arrays for the torques and derivatives of ``rows`` time points, not cleared."""
        wide = self._n if self.matrices else 0
        shapes: list[tuple[int, ...]] = [(rows, self._n), *[(rows, wide, wide)] * 3, (rows, self._n, self._p)]
        return Torques._make([*(np.empty(shape, self._dtype) for shape in shapes), np.empty(rows, bool)])
