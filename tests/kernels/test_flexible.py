"""Inertia and elastic forces of flexible bodies against the terms of standard input data, and their derivatives."""

import numpy as np
import pytest

from mbsim_cli.kernels.elements.flexible import flexible_force
from mbsim_cli.kernels.elements.flexible_tangent import flexible_slopes, flexible_tangent
from mbsim_cli.kernels.elements.flexible_variation import vary_flexible
from mbsim_cli.reduction.data import dot
from mbsim_cli.reduction.packing import deviates, deviations, entries, sid_of
from tests.kernels.flexible import BODIES, State, body, coordinates, packed, random_state, work
from tests.reduction.test_values import mass_matrix, velocity_terms


class Forces:
    """Force, moment and elastic rows (6 + n,) at a state, and what kernels need to go on from there."""

    def __init__(self, tree, theta, state, stiff=True):
        self.stiff = stiff
        self.dtype = np.result_type(theta, *vars(state).values())
        self.tree, self.theta, self.el = tree, theta.astype(self.dtype), work(tree, self.dtype)
        self.turning = [tuple(x.astype(self.dtype)) for x in (state.w, state.alpha, state.a)]
        self.elastic = [coordinates(x.astype(self.dtype)) for x in (state.q, state.qd, state.qdd)]
        rows = np.zeros(tree.elastic[-1], self.dtype)
        moment, force = flexible_force(tree, self.theta, 0, *self.turning, *self.elastic, self.el, stiff, rows)
        self.all = np.array([*force, *moment, *rows[1:]])

    def slopes(self):
        flexible_slopes(self.tree, self.theta, 0, *self.turning, *self.elastic[1:], self.el, self.stiff)
        return self


def force(tree, theta, state):
    return Forces(tree, theta, state).all


def complex_step(tree, theta, state, d_state, d_theta, stiff=True):
    """Derivative of ``force`` along a direction."""
    moved = theta + 1e-30j * d_theta, state.along(d_state, 1e-30j)
    return Forces(tree, *moved, stiff).all.imag / 1e-30


@pytest.mark.parametrize("name", BODIES)
def test_force_by_the_terms(name):
    sid = body(name)
    state = random_state(sid)
    tree, theta = packed(sid)
    accelerations = np.concatenate([state.a, state.alpha, state.qdd])
    expected = mass_matrix(sid, state.q) @ accelerations
    expected += velocity_terms(sid, state.q, state.qd, np.zeros(3), state.w)
    expected[6:] += sid.ksigma.M0 + sid.Ke.M0 @ state.q + sid.De.M0 @ state.qd
    assert force(tree, theta, state) == pytest.approx(expected, rel=1e-12, abs=1e-13 * np.abs(expected).max())


def test_what_deviates():
    assert [deviates(body(name)) for name in BODIES] == [False, True, True]


@pytest.mark.parametrize("name", BODIES)
def test_blocks_have_a_transpose(name):
    sid, random = body(name), np.random.default_rng(1)
    first, second = entries(sid), deviations(sid)
    covectors = [random.normal(size=block.shape) for block in (first, second)]
    assert dot(sid_of(sid, *covectors), sid) == pytest.approx(covectors[0] @ first + covectors[1] @ second, rel=1e-12)


def units(sid):
    """Directions of the tangent's columns: each of alpha, a, w, then each elastic coordinate by beta and gamma."""
    zero = State(*np.zeros((3, 3)), *np.zeros((3, sid.n)))
    for name in ("alpha", "a", "w"):
        for unit in np.eye(3):
            yield State(**{**vars(zero), name: unit})
    for unit in np.eye(sid.n):
        yield State(**{**vars(zero), "q": GAMMA * unit, "qd": BETA * unit, "qdd": unit})


BETA, GAMMA = 0.3, 0.7


@pytest.mark.parametrize("name", BODIES)
def test_tangent_by_complex_step(name):
    sid = body(name)
    state = random_state(sid)
    tree, theta = packed(sid)
    here = Forces(tree, theta, state).slopes()
    tangent = np.full((6 + sid.n, 9 + sid.n), np.nan)
    flexible_tangent(tree, theta, 0, BETA, GAMMA, here.turning[0], here.el, tangent)
    expected = [complex_step(tree, theta, state, unit, np.zeros_like(theta)) for unit in units(sid)]
    found = tangent[[3, 4, 5, 0, 1, 2, *range(6, 6 + sid.n)]].T
    assert found == pytest.approx(np.array(expected), rel=1e-11, abs=1e-12 * np.abs(expected).max())


class Directions:
    """Random variations of a state and of the numbers, the last one of the state alone."""

    COUNT = 3

    def __init__(self, sid, theta):
        random = np.random.default_rng(5)
        self.states = [random_state(sid, seed) for seed in range(1, 1 + self.COUNT)]
        self.theta = random.normal(size=(theta.size, self.COUNT))
        self.theta[:, -1] = 0.0

    def rows(self, name):
        """Variations of an entry of the state (size, COUNT)."""
        return np.array([vars(state)[name] for state in self.states]).T

    def elastic(self, name):
        return np.array([coordinates(vars(state)[name]) for state in self.states]).T


def varied(here, directions):
    """Variations of force, moment and rows (COUNT, 6 + n)."""
    rows = np.zeros((here.tree.elastic[-1], directions.COUNT))
    wrenches = []
    for k in range(directions.COUNT):
        seen = [tuple(directions.rows(name)[:, k]) for name in ("w", "alpha", "a")]
        changes = [directions.elastic(name) for name in ("q", "qd", "qdd")]
        motion = (*here.turning, *here.elastic)
        touched = directions.theta[:, k].any()
        moment, force = vary_flexible(
            here.tree, here.theta, directions.theta, touched, 0, k, *motion, *seen, *changes, here.el, here.stiff, rows
        )
        wrenches.append([*force, *moment])
    return np.hstack([wrenches, rows[1:].T])


@pytest.mark.parametrize("stiff", [True, False])
@pytest.mark.parametrize("name", BODIES)
def test_variation_by_complex_step(name, stiff):
    sid = body(name)
    state = random_state(sid)
    tree, theta = packed(sid)
    directions = Directions(sid, theta)
    found = varied(Forces(tree, theta, state, stiff).slopes(), directions)
    expected = [
        complex_step(tree, theta, state, d, directions.theta[:, k], stiff) for k, d in enumerate(directions.states)
    ]
    assert found == pytest.approx(np.array(expected), rel=1e-11, abs=1e-12 * np.abs(expected).max())
