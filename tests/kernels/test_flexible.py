"""Inertia and elastic forces of flexible bodies against the terms of standard input data, and their derivatives."""

from typing import NamedTuple

import numpy as np
import pytest

from mbsim_cli.kernels.algorithms.motion.workspace import Motion
from mbsim_cli.kernels.elements.flexible_energy import (
    flexible_kinetic,
    flexible_moment,
    flexible_power_lost,
    flexible_strain,
    momentum,
    pull_flexible_kinetic,
    pull_flexible_moment,
    pull_flexible_strain,
    vary_flexible_kinetic,
    vary_flexible_moment,
    vary_flexible_strain,
)
from mbsim_cli.kernels.elements.flexible_inertia import (
    flexible_force,
    flexible_slopes,
    flexible_tangent,
    pull_flexible,
    vary_flexible,
)
from mbsim_cli.reduction.data import deviates, deviations, entries, sid_of
from tests.kernels.flexible import BODIES, State, body, coordinates, packed, random_state, work
from tests.reduction.bodies import dot
from tests.reduction.test_values import first_moment, mass_matrix, velocity_terms


class Forces:
    """Force, moment and elastic rows (6 + n,) at a state, and what kernels need to go on from there."""

    def __init__(self, tree, theta, state, stiff=True):
        self.stiff = stiff
        self.dtype = np.result_type(theta, *vars(state).values())
        self.tree, self.theta, self.el = tree, theta.astype(self.dtype), work(tree, self.dtype)
        self.turning = tuple(tuple(x.astype(self.dtype)) for x in (state.w, state.alpha, state.a))
        self.elastic = Motion(*(coordinates(x.astype(self.dtype)) for x in (state.q, state.qd, state.qdd)))
        rows = np.zeros(tree.elastic[-1], self.dtype)
        moment, force = flexible_force(tree, self.theta, 0, self.turning, self.elastic, self.el, stiff, rows)
        self.all = np.array([*force, *moment, *rows[1:]])

    def slopes(self):
        flexible_slopes(self.tree, self.theta, 0, self.turning, self.elastic, self.el, self.stiff)
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
    adjoints = [random.normal(size=block.shape) for block in (first, second)]
    assert dot(sid_of(sid, *adjoints), sid) == pytest.approx(adjoints[0] @ first + adjoints[1] @ second, rel=1e-12)


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
        seen = tuple(tuple(directions.rows(name)[:, k]) for name in ("w", "alpha", "a"))
        changes = Motion(*(directions.elastic(name) for name in ("q", "qd", "qdd")))
        touched = directions.theta[:, k].any()
        moment, force = vary_flexible(
            here.tree, here.theta, directions.theta, touched, 0, k, here.turning, here.elastic, seen, changes, here.el,
            here.stiff, rows,
        )  # fmt: skip
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


class Adjoints(NamedTuple):
    """Adjoints of one scalar."""

    z: np.ndarray
    zd: np.ndarray
    zdd: np.ndarray
    theta: np.ndarray


def no_adjoints(here):
    count = here.tree.elastic[-1]
    return Adjoints(*(np.zeros((size, 1)) for size in (count, count, count, here.theta.size)))


def on_directions(adj, of_frame, directions):
    """Adjoints on variations (COUNT,); ``of_frame``: those of w, alpha, a, ... by name."""
    pairs = [(adj.theta, directions.theta)]
    pairs += [(hat, directions.elastic(name)) for hat, name in zip(adj, ("q", "qd", "qdd"), strict=False)]
    pairs += [(np.array(hat)[:, None], directions.rows(name)) for name, hat in of_frame.items()]
    return sum((hat * change).sum(0) for hat, change in pairs)


@pytest.mark.parametrize("stiff", [True, False])
@pytest.mark.parametrize("name", BODIES)
def test_pull_back_is_the_transpose_of_the_variation(name, stiff):
    sid = body(name)
    tree, theta = packed(sid)
    here, directions = Forces(tree, theta, random_state(sid), stiff).slopes(), Directions(sid, theta)
    adjoint, adj = np.random.default_rng(6).normal(size=6 + sid.n), no_adjoints(here)
    virtual = tuple(adjoint[3:6]), tuple(adjoint[:3])
    mu = coordinates(adjoint[6:])[:, None]
    found = pull_flexible(tree, here.theta, 0, 0, virtual, mu, here.turning, here.elastic, here.el, stiff, adj)
    expected = varied(here, directions) @ adjoint
    on = on_directions(adj, dict(zip(("w", "alpha", "a"), found, strict=True)), directions)
    assert on == pytest.approx(expected, rel=1e-12, abs=1e-13 * np.abs(expected).max())


def kinetic(tree, theta, state):
    """Kinetic energy; ``a`` of the state is the velocity of the origin."""
    elastic = Motion(coordinates(state.q), coordinates(state.qd), coordinates(state.qdd))
    return flexible_kinetic(tree, theta, 0, (tuple(state.w), tuple(state.a)), elastic)


@pytest.mark.parametrize("name", BODIES)
def test_energies_by_the_terms(name):
    sid = body(name)
    state, (tree, theta) = random_state(sid), packed(sid)
    motion = np.concatenate([state.a, state.w, state.qd])
    moved = mass_matrix(sid, state.q) @ motion
    assert kinetic(tree, theta, state) == pytest.approx(0.5 * motion @ moved, rel=1e-12)
    elastic = Motion(*(coordinates(x) for x in (state.q, state.qd, state.qdd)))
    angular, linear = momentum(tree, theta, 0, (tuple(state.w), tuple(state.a)), elastic)
    assert np.array([*linear, *angular]) == pytest.approx(moved[:6], rel=1e-12)
    mass, h = flexible_moment(tree, theta, 0, elastic[0])
    assert (mass, *h) == pytest.approx((float(sid.mass.M0), *first_moment(sid, state.q)), rel=1e-12)
    strain = sid.ksigma.M0 @ state.q + state.q @ sid.Ke.M0 @ state.q / 2
    assert flexible_strain(tree, theta, 0, elastic[0]) == pytest.approx(strain, rel=1e-12)
    assert flexible_power_lost(tree, theta, 0, elastic[1]) == pytest.approx(-state.qd @ sid.De.M0 @ state.qd, rel=1e-12)


@pytest.mark.parametrize("name", ["solid", "stiffened"])
def test_energy_grows_by_the_power_of_the_forces(name):
    """Of bodies whose terms belong to one mass distribution; ``alpha`` and a - w x v are the rates of w and v."""
    sid = body(name)
    state, v, (tree, theta) = random_state(sid), np.array([0.4, -1.3, 0.8]), packed(sid)
    now = State(state.w, state.alpha, v, state.q, state.qd, state.qdd)
    rate = State(state.alpha, 0 * v, state.a - np.cross(state.w, v), state.qd, state.qdd, 0 * state.q)
    grown = kinetic(tree, theta, now.along(rate, 1e-30j)).imag / 1e-30
    power = Forces(tree, theta, state, stiff=False).all @ np.concatenate([v, state.w, state.qd])
    assert grown == pytest.approx(power, rel=1e-12)


@pytest.mark.parametrize("name", BODIES)
def test_derivatives_of_energies(name):
    sid = body(name)
    state, (tree, theta) = random_state(sid), packed(sid)
    here, directions = Forces(tree, theta, state), Directions(sid, theta)
    z = here.elastic.z
    dz, dzd = directions.elastic("q"), directions.elastic("qd")
    speeds = tuple(state.w), tuple(state.a)
    hat, found, adj = 1.7, [], [no_adjoints(here) for _ in range(3)]
    by_w, by_v = pull_flexible_kinetic(tree, theta, 0, 0, hat, speeds, here.elastic, adj[0])
    pull_flexible_strain(tree, theta, 0, 0, hat, z, adj[1].z, adj[1].theta)
    weights = 0.3, (0.5, -1.1, 0.7)
    pull_flexible_moment(tree, theta, 0, 0, *weights, z, adj[2].z, adj[2].theta)
    for k, change in enumerate(directions.states):
        varying = tree, theta, directions.theta, directions.theta[:, k].any(), 0, k
        dV = tuple(change.w), tuple(change.a)
        dm, dh = vary_flexible_moment(*varying, z, dz)
        found.append(
            [
                vary_flexible_kinetic(*varying, speeds, here.elastic, dV, Motion(dz, dzd, dzd)),
                vary_flexible_strain(*varying, z, dz),
                weights[0] * dm + np.dot(weights[1], dh),
            ]
        )
        moved, numbers = state.along(change, 1e-30j), theta + 1e-30j * directions.theta[:, k]
        m, h = flexible_moment(tree, numbers, 0, coordinates(moved.q))
        values = kinetic(tree, numbers, moved), flexible_strain(tree, numbers, 0, coordinates(moved.q))
        exact = np.array([*values, weights[0] * m + np.dot(weights[1], h)]).imag / 1e-30
        assert found[-1] == pytest.approx(exact, rel=1e-11)
    of_frame = {"w": by_w, "a": by_v}
    pulled = [on_directions(c, frame, directions) for c, frame in zip(adj, (of_frame, {}, {}), strict=True)]
    assert np.array(pulled).T / [hat, hat, 1.0] == pytest.approx(np.array(found), rel=1e-11)
