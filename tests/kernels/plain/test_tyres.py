"""Tyres, drag and attitude: exact derivatives in every regime, and physical properties."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

from mbsim_cli.kernels.elements.columns import attitude, attitude_gradients
from mbsim_cli.kernels.elements.drag import drag
from mbsim_cli.kernels.elements.tyre import ELEMENT as DERIVATIVES
from mbsim_cli.kernels.elements.tyre import grip, tyre
from mbsim_cli.model.codes import TYRES, Attitude, Law
from mbsim_cli.model.layout import NONE, RADIUS, TYRE_SIZE, Laws
from tests.kernels.geometry import rotation
from tests.kernels.plain.test_derived import assert_derivatives

EPS = 1e-30
R0, K, C, ONSET, MU, B, SHAPE, SLOW = 0.2825, 120000.0, 300.0, 1e-4, 0.9, 8.0, 1.4, 0.1
ROAD = (5.5, 5.52, 0.0, -0.01)  # a smooth step down by 1 cm over 2 cm
LEVEL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
# height of the centre over the road, place, velocity, angular velocity, tilt of the wheel
STATES = {
    "rolling": (0.272, 1.0, (3.0, 0.0, 0.0), (0.0, 11.0, 0.0), 0.0),
    "cornering": (0.270, 2.0, (8.0, 0.7, -0.05), (0.1, 29.0, 0.3), 0.06),
    "braking": (0.268, 2.0, (8.0, 0.1, 0.0), (0.0, 20.0, 0.0), -0.03),
    "locked": (0.271, 2.0, (8.0, 0.3, 0.0), (0.0, 0.0, 0.0), 0.02),
    "standing": (0.272, 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0),
    "almost standing": (0.272, 0.0, (1e-5, -1e-6, 1e-7), (0.0, 2e-5, 0.0), 0.01),
    "backwards": (0.272, 0.0, (-2.0, 0.1, 0.0), (0.0, -7.0, 0.0), 0.01),
    "onset": (R0 - 0.6 * ONSET, 0.0, (3.0, 0.1, -0.01), (0.0, 10.0, 0.0), 0.0),
    "rebound": (R0 - 1e-3, 0.0, (3.0, 0.1, 0.395), (0.0, 10.0, 0.0), 0.0),  # damper against spring
    "lifted": (0.31, 0.0, (3.0, 0.1, 0.1), (0.0, 10.0, 0.0), 0.1),
    "edge begins": (0.272, 5.5005, (3.0, 0.1, 0.0), (0.0, 11.0, 0.0), 0.01),
    "edge": (0.27, 5.508, (3.0, 0.1, -0.2), (0.0, 11.0, 0.0), 0.01),
    "edge ends": (0.272, 5.5196, (3.0, 0.0, -0.1), (0.0, 11.0, 0.0), 0.0),
    "lying flat": (0.27, 0.0, (1.0, 0.2, 0.0), (0.0, 0.0, 4.0), 0.5 * np.pi),
}


def numbers(kind):
    """Theta: the tyre, then the road."""
    slip = (1.0, 1.0, B, SHAPE) if kind == TYRES[0] else (40000.0, 30000.0, 0.0, 0.0)
    return np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0, R0, K, C, ONSET, MU, *slip, SLOW, *ROAD])


LAWS = Laws(*(np.array([entry]) for entry in (int(Law.SMOOTH_STEP), TYRE_SIZE, 4, NONE, NONE)))


def road(x):
    """Height of the road."""
    s = np.clip((x - ROAD[0]) / (ROAD[1] - ROAD[0]), 0, 1)
    return ROAD[3] * (10 * s**3 - 15 * s**4 + 6 * s**5)


def wheel(name):
    """Pose and motion about the origin of a wheel in one of the states."""
    gap, x, v, w, tilt = STATES[name]
    r = np.array([x, 0.4, road(x) + gap])
    return rotation(np.array([1.0, 0.0, 0.0]), tilt), r, np.array(w), np.array(v) - np.cross(w, r)


def contact(kind, theta, R, r, w, v):
    """A tyre, from the pose and motion about the origin of its wheel."""
    c = r + R @ theta[:3]
    (_, force), quantities = tyre(
        kind, LAWS, theta, 0, 0, tuple(c), tuple(R @ theta[3:6]), tuple(v + np.cross(w, c)), tuple(w)
    )  # fmt: skip
    return Contact(np.array(force), *quantities)


class Contact(NamedTuple):
    """Force on the wheel, and the quantities of a tyre."""

    force: np.ndarray
    normal_load: float
    slip_x: float
    slip_y: float
    force_x: float
    force_y: float
    deflection: float
    energy: float
    power: float


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("kind", TYRES)
def test_derivatives_of_a_tyre(kind, name):
    theta = numbers(kind)
    R, r, w, v = wheel(name)
    c = r + R @ theta[:3]
    state = (c, R @ theta[3:6], v + np.cross(w, c), w)
    assert_derivatives(DERIVATIVES, {"kind": kind, "laws": LAWS, "road": 0}, theta, state)


@pytest.mark.parametrize("kind", TYRES)
def test_energy_of_a_tyre_is_that_of_its_load_at_rest(kind):
    u = np.linspace(-1e-5, 3e-4, 4001)
    at_rest = [contact(kind, numbers(kind), np.eye(3), np.array([0.0, 0.0, R0 - x]), *np.zeros((2, 3))) for x in u]
    work = np.cumsum([0.0, *0.5 * np.diff(u) * np.array([a.normal_load + b.normal_load for a, b in pairwise(at_rest)])])
    np.testing.assert_allclose([each.energy for each in at_rest], work, atol=1e-6 * work[-1])
    sinking = contact(
        kind, numbers(kind), np.eye(3), np.array([0.0, 0.0, R0 - 0.01]), np.zeros(3), np.array([0, 0, -0.2])
    )
    assert np.isclose(sinking.power, 0.2 * K * (0.01 - 0.5 * ONSET), rtol=1e-12)


@pytest.mark.parametrize("kind", TYRES)
def test_load_of_a_standing_tyre(kind):
    for deflection in (2e-4, 0.01, 0.03):
        found = contact(kind, numbers(kind), np.eye(3), np.array([0.0, 0.0, R0 - deflection]), np.zeros(3), np.zeros(3))
        assert np.isclose(found.normal_load, K * (deflection - 0.5 * ONSET), rtol=1e-12)
        assert np.allclose(found.force, (0, 0, found.normal_load), atol=1e-12)


@pytest.mark.parametrize("name", ["lifted", "rebound"])
@pytest.mark.parametrize("kind", TYRES)
def test_a_tyre_never_pulls(kind, name):
    R, r, w, _ = wheel(name)
    found = contact(kind, numbers(kind), R, r, w, np.array([3.0, 0.1, 5.0]) - np.cross(w, r))
    assert found.normal_load == 0.0
    assert found.force.tolist() == [0.0] * 3


def test_slip_force_is_that_of_the_magic_formula():
    kind, speed = TYRES[0], 20.0
    for slide in (-2.0, -0.3, 0.4, 6.0):
        r = np.array([0.0, 0.0, 0.27])
        w = np.array([0.0, speed / 0.27, 0.0])
        found = contact(kind, numbers(kind), np.eye(3), r, w, np.array([speed, slide, 0.0]) - np.cross(w, r))
        slip = slide / np.hypot(speed, SLOW)
        force = MU * found.normal_load * np.sin(SHAPE * np.arctan(B * abs(slip)))
        assert np.isclose(found.force_y, -np.sign(slide) * force, rtol=1e-3)
        assert np.isclose(found.slip_y, -slip)
        assert abs(found.force_x) <= 1e-9 * force


@pytest.mark.parametrize("kind", TYRES)
def test_slip_forces_never_exceed_friction(kind):
    rng = np.random.default_rng(4)
    for name in STATES:
        R, r, w, _ = wheel(name)
        for v in rng.normal(size=(10, 3)) * (10.0, 10.0, 0.3):
            found = contact(kind, numbers(kind), R, r, w, v - np.cross(w, r))
            assert np.hypot(found.force_x, found.force_y) <= MU * found.normal_load * (1 + 1e-12)


def test_a_linear_tyre_is_linear_at_small_slip():
    speed, r = 20.0, np.array([0.0, 0.0, 0.27])
    w = np.array([0.0, 1.001 * speed / 0.27, 0.0])  # driven
    found = contact(
        TYRES[1], numbers(TYRES[1]), np.eye(3), r, w, np.array([speed, 0.002 * speed, 0.0]) - np.cross(w, r)
    )
    assert np.isclose(found.force_x, 40000.0 * 0.001, rtol=5e-3)
    assert np.isclose(found.force_y, -30000.0 * 0.002, rtol=5e-3)


def test_the_spring_of_a_tyre_is_conservative():
    """Work on a closed path of the centre over the step, without friction and damping."""
    theta = numbers(TYRES[0])
    theta[RADIUS + 2], theta[RADIUS + 4] = 0.0, 0.0
    angle = np.linspace(0.0, 2.0 * np.pi, 20001)
    x, z = 5.51 + 0.015 * np.cos(angle), 0.262 + 0.006 * np.sin(angle)
    places = np.column_stack([x, np.zeros_like(x), z])
    force = np.array([contact(TYRES[0], theta, np.eye(3), r, np.zeros(3), np.zeros(3)).force for r in places])
    work = np.trapezoid(force[:, 0], x) + np.trapezoid(force[:, 2], z)
    assert abs(work) <= 1e-7 * K * 0.02 * 0.012


def test_drag_is_quadratic():
    """It was linear below 1 mm/s, a thousand times too large at 1e-6 m/s."""
    rng = np.random.default_rng(2)
    theta = np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0, -4.0, 1.0, 0.0, 0.6])
    for scale in (0.0, 1e-8, 1e-4, 30.0):
        c, v = rng.normal(size=(2, 3))
        v = scale * v
        moment, force = drag(theta, 0, tuple(c), tuple(theta[6:9] + v))
        assert np.allclose(force, -0.6 * np.linalg.norm(v) * v, rtol=1e-6, atol=0.0)
        assert np.allclose(moment, np.cross(c, force), rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("which", Attitude)
def test_attitude(which):
    angles = {Attitude.ROLL: 0.3, Attitude.PITCH: -0.5, Attitude.YAW: 2.4}
    x, y, z = np.eye(3)
    R = (
        rotation(z, angles[Attitude.YAW])
        @ rotation(y, angles[Attitude.PITCH])
        @ rotation(x, angles[Attitude.ROLL])
    )  # fmt: skip
    rng = np.random.default_rng(3)
    V, N, N1 = rng.normal(size=(3, 2, 3))

    def at(turned, V, N, N1):
        return attitude(which, tuple(turned.ravel()), *(tuple(map(tuple, M)) for M in (V, N, N1)))

    angle, rate, delta, delta_rate = at(R, V, N, N1)
    assert np.isclose(angle, angles[which])
    for axial, found in ((V[0], rate), (N[0], delta)):
        moved = at(R + 1j * EPS * np.cross(axial, R.T).T, V, N, N1)[0]
        assert np.isclose(moved.imag / EPS, found)
    by_turn, rate_by_turn = attitude_gradients(which, tuple(R.ravel()), tuple(map(tuple, V)))
    assert np.isclose(by_turn @ N[0], delta, rtol=1e-12)
    assert np.isclose(rate_by_turn @ N[0] + by_turn @ N1[0], delta_rate, rtol=1e-12)
    varied_V = np.array([V[0] + 1j * EPS * (N1[0] + np.cross(N[0], V[0])), V[1]])
    moved = at(R + 1j * EPS * np.cross(N[0], R.T).T, varied_V, N, N1)[1]
    assert np.isclose(moved.imag / EPS, delta_rate)


@pytest.mark.parametrize("limit", [1e-3, 0.5, 4e3])
def test_friction_of_linear_tyres_does_not_depend_on_the_load(limit):
    """It was divided by at least 1 N: a wheel with 0.5 N held its model car by less than a half."""
    asked = 10.0 * limit
    Q = grip(TYRES[1], limit, 0.0, 0.0, asked * asked)
    assert Q * asked == pytest.approx(10.0 * limit / np.sqrt(101.0), rel=1e-6)
