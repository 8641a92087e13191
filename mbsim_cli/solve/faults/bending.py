"""Why Newton's iteration did not converge: the force that bends most on its way, and a motion too fast for the step.

Newton ends where forces are nearly linear between its iterates. What a force is off its tangent there is its bend.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.rot3 import rotate
from mbsim_cli.kernels.algebra.vec3 import load3
from mbsim_cli.kernels.algorithms.equations.motion_forces import is_tyre, quantities_of
from mbsim_cli.kernels.algorithms.motion.bodies import pose_of
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.kernels.elements.measures import point_of
from mbsim_cli.kernels.integrators.ali3p import State
from mbsim_cli.kernels.integrators.predictor import RINGS
from mbsim_cli.model.coordinates import with_forces
from mbsim_cli.model.layout import AXIS, FRICTION, SLIP_X, SLIP_Y, Model, Names
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve.instant import Instant, Standing

SHORT = 1e-5  # part of the way between two iterates along which tangents are taken
FLAT = 0.1  # sine between a wheel's axis and the road's normal
SOFT = 0.5  # part of what constraints are open by that a correction leaves
SLIGHT = 1e-3  # part of a correction that is round-off of constraints
FAST = 0.2  # change of accelerations in a step, of their size

Stand = Callable[[Model], Instant | Standing]


class Failed(NamedTuple):
    """A step that Newton did not end."""

    time: float
    step: float
    state: State  # the last iterate
    correction: np.ndarray  # (n,) the last one, that led to it
    push: np.ndarray  # (m,) the same of multipliers
    weight: np.ndarray  # (n,) what coordinates count for
    past: np.ndarray  # (n, k) backward differences of accelerations up to the step before
    gaps: np.ndarray  # (m,) of constraints that the correction was to close, by the inertia that they meet
    open: np.ndarray  # (m,) what it leaves of them


def why_not_converged(failed: Failed, problem: Problem, theta: np.ndarray, stand: Stand) -> str | None:
    """A sentence on what was too much for Newton's iteration, or None where nothing is to be seen."""
    if not all(np.isfinite(part).all() for part in (*failed.state[:4], failed.correction, failed.push)):
        return None
    softest = _softest(failed, problem.names)
    if softest:
        found, advice = [softest], "state a larger one, or none"
    else:
        found, advice = [_too_fast(failed, problem.names), _bent(failed, problem, theta, stand)], "try a smaller step"
    causes = "; ".join(cause for cause in found if cause)
    return f"the Newton iteration did not converge at t = {failed.time:.6g} s: {causes}; {advice}"


def _softest(failed: Failed, names: Names) -> str | None:
    """The constraint that the correction has closed least, where it has closed none by much."""
    left, move = np.linalg.norm(failed.open), np.sqrt((failed.weight * failed.correction**2).sum())
    if left <= max(SOFT * np.linalg.norm(failed.gaps), SLIGHT * move):
        return None
    softest = names.constraints[int(np.argmax(np.abs(failed.open)))]
    return f"corrections do not close constraints, least of all '{softest}', for the penalty is too small"


def _too_fast(failed: Failed, names: Names) -> str | None:
    """How accelerations changed in the last steps, where that was much."""
    size, first, second = np.sqrt((failed.weight[:, None] * failed.past[:, :3] ** 2).sum(axis=0))
    if first <= FAST * size:
        return None
    c = int(np.argmax(failed.weight * failed.past[:, 1] ** 2))
    now, unit = failed.past[c, 0], f"{names.coordinate_units[c]}/s^2"
    change = f"that of '{names.coordinates[c]}' from {now - failed.past[c, 1]:.3g} to {now:.3g} {unit} in the last one"
    if second**2 > RINGS * first**2:
        return f"accelerations ring from step to step of {failed.step:g} s, {change}, as stiff forces let them"
    return f"the motion is too fast for a step of {failed.step:g} s: accelerations change much, {change}"


def _bent(failed: Failed, problem: Problem, theta: np.ndarray, stand: Stand) -> str:
    """What bends most: a force, or inertia and constraints by a coordinate."""
    model, forces = problem.model, problem.model.forces

    def way(first: int, end: int) -> _Way:
        return _Way(failed, stand(with_forces(model, first, end)))

    def size(force: np.ndarray) -> float:
        return float((force * force / failed.weight).sum())

    without = way(0, 0).bend
    ways = [way(f, f + 1) for f in range(forces.kind.size)]
    bends = [size(way.bend - without) for way in ways]
    if max(bends, default=0.0) <= size(without):
        c = int(np.argmax(without * without / failed.weight))
        return f"what bends most between its iterates is the motion itself, in '{problem.names.coordinates[c]}'"
    f = int(np.argmax(bends))
    how = _tyre(ways[f].kin, model, theta.real, f) if is_tyre(forces.kind[f]) else ""
    return f"the force of '{problem.names.forces[f]}' bends most between its iterates{how}"


class _Way:
    """From the last iterate but one to the last: what forces are off their tangent at its end."""

    def __init__(self, failed: Failed, at: Instant | Standing) -> None:
        self._failed, self._at = failed, at
        begin, near = self._forces(1.0), self._forces(1.0 - SHORT)
        self.bend = self._forces(0.0) - begin - (near - begin) / SHORT
        self.kin = at.work.kin  # at the end

    def _forces(self, back: float) -> np.ndarray:
        """Forces (n,), some part of the way back from the last iterate."""
        failed, state = self._failed, self._at.state
        h, x = failed.step, back * failed.correction
        state.z[:] = failed.state.z.real + 0.25 * h * h * x
        state.zd[:] = failed.state.zd.real + 0.5 * h * x
        state.zdd[:] = failed.state.zdd.real + x
        state.lam[:] = failed.state.lam.real + back * failed.push
        self._at.evaluate(failed.time)
        return self._at.work.eq.G.real.copy()


def _tyre(kin: Any, model: Model, theta: np.ndarray, f: int) -> str:
    """How the tyre of force f stands on the road; ``kin`` is of a model with this force alone."""
    forces, o = model.forces, model.forces.theta[f]
    R, r = pose_of(kin, model.pairs.b[forces.pair[f]])
    center, axis = point_of(R, r, load3(theta, o)), rotate(R, load3(theta, o + AXIS))
    _, slope, _ = law_value(model.laws, theta, forces.law[f, 0], center[0].real)
    sine = np.linalg.norm(np.cross(np.real(axis), (-slope, 0.0, 1.0))) / np.hypot(1.0, slope)
    if sine < FLAT:
        return f", whose wheel lies flat on the road ({np.degrees(np.arcsin(sine)):.1f} degrees)"
    load, slip_x, slip_y, *_ = np.real(quantities_of(kin, 0))
    asked, bound = np.hypot(theta[o + SLIP_X] * slip_x, theta[o + SLIP_Y] * slip_y), theta[o + FRICTION] * load
    return f", whose slips ask for {asked / bound:.2g} times its friction" if asked > bound > 0.0 else ""
