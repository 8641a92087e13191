"""Dot-product tests of pull-backs: an adjoint of a scalar on a variation against the scalar's own variation."""

import numpy as np

from mbsim_cli.kernels.algorithms.equations.constraints import constraint_rates, move_lines
from mbsim_cli.kernels.algorithms.equations.sensors import sense
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import pull_gravity, pull_tree, virtual_motion
from mbsim_cli.kernels.algorithms.motion.variation import vary_kinematics
from mbsim_cli.kernels.algorithms.motion.workspace import adjoints, motion_alone, virtual
from mbsim_cli.kernels.algorithms.systems.contract import evaluate
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.kernels.elements import elements
from mbsim_cli.kernels.elements.element import Element
from mbsim_cli.model.codes import ALONG, Axes, Measure
from mbsim_cli.model.layout import (
    COM,
    INERTIA,
    N_A,
    NONE,
    P_A,
    P_B,
    P_C,
    P_P,
    R_C,
    R_P,
    U_A,
    U_B,
)
from mbsim_cli.solve import allocate
from tests.kernels.geometry import skew
from tests.kernels.instant import random_state

SCALARS = 2  # how many are pulled back at once
TIME = 0.05


class Pulled:
    """An instant, variations of it in all its numbers and its state, and a virtual motion; ``frames`` are rotations.

    With ``imaginary``, state and numbers are complex: pull-backs are differentiated by the complex step.
    """

    def __init__(self, model, theta, state, imaginary=0.0, frames=(), seed=3):
        self.rng, self.model = np.random.default_rng(seed), model
        self.dtype = complex if imaginary else float
        frames = [o + frame for o in model.tree.theta for frame in (R_P, R_C)] + list(frames)
        self.state = allocate.state(model, self.dtype)
        for stored, given in zip(self.state, state, strict=False):
            stored[:] = given + (1j * imaginary * self.rng.normal(size=len(given)) if imaginary else 0.0)
        self.theta = theta + 1j * imaginary * self._directions(theta, frames)[:, 0] if imaginary else theta
        self._evaluate()
        self._vary(self._directions(self.theta, frames))
        self.virtual = virtual(model, padded(SCALARS), self.dtype)
        self.virtual.mu[:, :SCALARS] = self.random(len(self.state.z))
        virtual_motion(model.tree, self.kin, self.virtual)
        self.adj = adjoints(model, self.theta.size, padded(SCALARS), self.dtype)

    def _directions(self, theta, frames):
        """Seven random directions of all numbers, relative to their sizes, and none: then the state varies alone."""
        found = np.maximum(0.1, np.abs(theta))[:, None] * self.rng.normal(size=(theta.size, 8))
        found = found.astype(theta.dtype)
        for o in frames:  # rotation matrices turn
            R = theta[o : o + 9].reshape(3, 3)
            found[o : o + 9] = np.array([(skew(w) @ R).ravel() for w in self.rng.normal(size=(8, 3))]).T
        found[:, 7] = 0.0
        return found

    def pull_to_root(self):
        """Adjoints of coordinates and numbers from those of bodies."""
        pull_tree(self.model.tree, self.theta, self.state.z, self.kin, self.comp, self.virtual, self.adj)
        pull_gravity(self.adj)

    def random(self, count):
        """Adjoints (count, SCALARS)."""
        return self.rng.normal(size=(count, SCALARS)).astype(self.dtype)

    def padded(self, values):
        """The same with as many columns as adjoints have."""
        return np.pad(values, ((0, 0), (0, padded(SCALARS) - SCALARS)))

    def _evaluate(self):
        model, theta, state = self.model, self.theta, self.state
        work = allocate.work(model, theta)
        self.kin, self.comp, self.eq = work.kin, work.comp, work.eq
        evaluate(model, theta, TIME, False, state, self.kin, self.comp, self.eq)
        move_lines(model, theta, self.eq.lines, self.kin, self.eq.line_rates)
        motion = motion_alone(state)
        constraint_rates(model, theta, TIME, motion, self.eq.lines, self.kin, self.eq.phi1, self.eq.phi2)
        self.sensors = np.zeros(allocate.sensor_width(model), self.dtype)
        sense(model, theta, TIME, motion, state.lam, self.kin, self.sensors)

    def _vary(self, dtheta):
        """Random variations of the state beside those of the numbers."""
        model, p = self.model, padded(dtheta.shape[1])
        self.sens = allocate.sensitivity(model, p, self.dtype)
        for rows in self.sens:
            rows[:] = self.rng.normal(size=rows.shape)
        self.varied = allocate.directions(model, allocate.padded_directions(dtheta, self.dtype), self.dtype)
        self.twists = allocate.twists_of(model, p, self.dtype)
        vary_kinematics(model.tree, self.theta, self.varied, self.kin, motion_alone(self.sens), self.twists)

    def powers(self, dG):
        """Variation (SCALARS, p) of the power of forces, from what ``tw.F`` and dG (n, p) hold of them."""
        U, mu = self.virtual.U[..., :SCALARS], self.virtual.mu[:, :SCALARS]
        return np.einsum("bik,bip->kp", U, self.twists.F, optimize=True) + mu.T @ dG

    def take(self, expected, summed=False):
        """Take the adjoints, which on the variations must be the expected ones (SCALARS, p) of the scalars.

        ``summed`` are those that ``pull_tree`` has brought to coordinates and numbers.
        """
        adj, tw, sens = self.adj, self.twists, self.sens
        pairs = [] if summed else [(adj.P, tw.N), (adj.D, tw.N1), (adj.H, tw.N2)]
        pairs += [(adj.z, sens.z), (adj.zd, sens.zd), (adj.zdd, sens.zdd), (adj.lam, sens.lam)]
        pairs += [(adj.theta, self.varied.dtheta)]
        found = sum(hat.reshape(-1, hat.shape[-1]).T @ d.reshape(-1, d.shape[-1]) for hat, d in pairs)
        compare(adj, found, expected)


def compare(adj, found, expected):
    """Clear the adjoints; what they gave must be as expected (SCALARS, p), and nothing beyond these scalars."""
    for hat in (*adj._replace(signals=adj.signals.value), adj.signals.inputs):
        hat[:] = 0.0
    assert np.abs(expected).max() > 0.0
    assert np.abs(found[SCALARS:]).max(initial=0.0) == 0.0
    for part in (np.real, np.imag) if np.iscomplexobj(found) else (np.real,):
        size = np.abs(part(expected)).max()
        np.testing.assert_allclose(part(found[:SCALARS]), part(expected), rtol=0.0, atol=1e-12 * size)


def pulled(builder, imaginary=0.0):
    """A random state of a builder's problem."""
    problem = builder.problem()
    return Pulled(problem.model, problem.theta, random_state(builder, problem), imaginary)


def of_axes(model, theta, body, turn, shift):
    """Variation of theta (len(theta),) where all that stands in a body's axes turns and shifts in them."""
    found, o = np.zeros_like(theta), model.tree.theta[body]
    points, frames = [o + P_C, o + COM], [o + R_C]
    for child in np.flatnonzero(model.tree.parent == body):
        points.append(model.tree.theta[child] + P_P)
        frames.append(model.tree.theta[child] + R_P)
    directions = []
    for m in np.flatnonzero(model.measures.pair != NONE):
        a, b = (ends[model.measures.pair[m]] == body for ends in (model.pairs.a, model.pairs.b))
        points += [model.measures.theta[m] + k for k, own in ((P_A, a), (P_B, b)) if own and has_points(model, m)]
        directions += [model.measures.theta[m] + k for k, own in ((U_A, a), (U_B, b), (N_A, a)) if own]
    for f in np.flatnonzero(~np.isin(model.forces.kind, list(ALONG))):
        kind = model.forces.kind[f]
        own, pair = model.forces.theta[f], model.forces.pair[f]
        on_b, on_a = model.pairs.b[pair] == body, model.pairs.a[pair] == body
        turns = on_b and model.forces.axes[f] == Axes.BODY
        for seen in next(element.sees.values() for element in elements(Element) if kind in element.kinds):
            points += [own + seen.place] if (seen.kind, True) in (("point", on_b), ("point_of_first", on_a)) else []
            carried = ("axis", on_b), ("axis_of_first", on_a), ("given", turns)
            directions += [own + seen.place] if (seen.kind, True) in carried else []
    for at in points:
        found[at : at + 3] += np.cross(turn, theta[at : at + 3]) + shift
    for at in directions:
        found[at : at + 3] += np.cross(turn, theta[at : at + 3])
    for at in frames:
        found[at : at + 9] += (skew(turn) @ theta[at : at + 9].reshape(3, 3)).ravel()
    J = theta[o + INERTIA + np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])]
    turned = skew(turn) @ J - J @ skew(turn)
    found[o + INERTIA : o + INERTIA + 6] += turned[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return found


def has_points(model, m):
    """Whether a measure between bodies has points."""
    return model.measures.kind[m] in (Measure.PROJECTION, Measure.DISTANCE)
