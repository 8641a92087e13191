"""Tyres, drag and attitude: exact derivatives in every regime, and what physics asks of them."""

import numpy as np
import pytest

from mbsim_cli.kernels.elements.attitude import attitude, attitude_gradients
from mbsim_cli.kernels.elements.drag import drag_variation, drag_wrench, pull_drag
from mbsim_cli.kernels.elements.tyre import Change, tyre_contact, tyre_own, tyre_quantity, tyre_variation, tyre_wrench
from mbsim_cli.kernels.elements.tyre_pull_back import pull_tyre, pull_tyre_own
from mbsim_cli.model.codes import TYRES, Attitude, Law, TyreQuantity
from mbsim_cli.model.layout import DRAG_SIZE, NONE, RADIUS, TYRE_SIZE, Laws
from tests.kernels.geometry import rotation

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
    """``tyre_contact`` from arrays."""
    return tyre_contact(kind, LAWS, theta, 0, 0, tuple(R.ravel()), tuple(r), (tuple(w), tuple(v)))


def outputs(found):
    """Wrench and quantities as one array."""
    n, f = tyre_wrench(found)
    return np.array([*n, *f, *(tyre_quantity(found, quantity) for quantity in TyreQuantity)])


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("kind", TYRES)
def test_variation_of_a_tyre(kind, name):
    theta = numbers(kind)
    R, r, w, v = wheel(name)
    rng = np.random.default_rng(1)
    found = contact(kind, theta, R, r, w, v)
    for _ in range(20):
        dr, axial, dw, dv = rng.normal(size=(4, 3))
        dtheta = rng.normal(size=theta.size) * np.maximum(1e-3, np.abs(theta))
        dR = np.cross(axial, R.T).T
        step = 1j * EPS
        moved = contact(kind, theta + step * dtheta, R + step * dR, r + step * dr, w + step * dw, v + step * dv)
        exact = outputs(moved).imag / EPS
        dc = dr + dR @ theta[:3] + R @ dtheta[:3]
        de = dR @ theta[3:6] + R @ dtheta[3:6]
        d_rate = dv + np.cross(dw, r + R @ theta[:3]) + np.cross(w, dc)
        own = tyre_own(kind, LAWS, theta, dtheta[:, None], 0, 0, 0, found)
        change = tyre_variation(theta, 0, found, own, *(tuple(d) for d in (dc, de, d_rate, dw)))
        varied = np.array([*change.wrench[0], *change.wrench[1], *(tyre_quantity(change, q) for q in TyreQuantity)])
        assert np.isfinite(varied).all()
        assert np.abs(varied - exact).max() <= 1e-11 * np.abs(exact).max()


@pytest.mark.parametrize("imaginary", [0.0, 1e-3])
@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("kind", TYRES)
def test_pull_back_of_a_tyre(kind, name, imaginary):
    """Each output for itself, on each input and number."""
    theta = numbers(kind) * (1.0 + 1j * imaginary if imaginary else 1.0)
    R, r, w, v = wheel(name)
    found = contact(kind, theta, R, r, w + (0.3j * imaginary if imaginary else 0.0), v)
    numbers_of, inputs = theta.size, 12
    exact = np.zeros((12, numbers_of + inputs), theta.dtype)
    for j, direction in enumerate(np.eye(numbers_of + inputs)):
        dtheta, *moved = np.split(direction, [numbers_of, numbers_of + 3, numbers_of + 6, numbers_of + 9])
        own = tyre_own(kind, LAWS, theta, dtheta[:, None], 0, 0, 0, found)
        exact[:, j] = flat(tyre_variation(theta, 0, found, own, *map(tuple, moved)))
    pulled = np.zeros((numbers_of, 12), theta.dtype)
    for row, hat in enumerate(np.eye(12)):
        change = Change((tuple(hat[:3]), tuple(hat[3:6])), *hat[6:])
        of_wheel, own = pull_tyre(theta, 0, found, change)
        pull_tyre_own(kind, LAWS, theta, row, 0, 0, found, own, pulled)
        size = 1e-12 * np.abs(exact[row]).max()
        np.testing.assert_allclose(np.concatenate([pulled[:, row], *of_wheel]), exact[row], rtol=1e-12, atol=size)


def flat(change):
    """A ``Change`` as one array."""
    return np.array([*change.wrench[0], *change.wrench[1], *change[1:]])


@pytest.mark.parametrize("kind", TYRES)
def test_load_of_a_standing_tyre(kind):
    for deflection in (2e-4, 0.01, 0.03):
        found = contact(kind, numbers(kind), np.eye(3), np.array([0.0, 0.0, R0 - deflection]), np.zeros(3), np.zeros(3))
        assert np.isclose(found.normal_load, K * (deflection - 0.5 * ONSET), rtol=1e-12)
        assert np.allclose(tyre_wrench(found)[1], (0, 0, found.normal_load), atol=1e-12)


@pytest.mark.parametrize("name", ["lifted", "rebound"])
@pytest.mark.parametrize("kind", TYRES)
def test_a_tyre_never_pulls(kind, name):
    R, r, w, _ = wheel(name)
    found = contact(kind, numbers(kind), R, r, w, np.array([3.0, 0.1, 5.0]) - np.cross(w, r))
    assert found.normal_load == 0.0
    assert outputs(found)[:6].tolist() == [0.0] * 6


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


def test_drag_is_quadratic_and_its_variation_exact():
    rng = np.random.default_rng(2)
    theta = np.array([0.1, 0.2, 0.3, -4.0, 1.0, 0.0, 0.6])
    for scale in (0.0, 1e-4, 30.0):
        x, rate, dx, d_rate = rng.normal(size=(4, 3))
        rate = theta[3:6] + scale * rate
        dtheta = rng.normal(size=DRAG_SIZE)
        wrench = drag_wrench(theta, 0, tuple(x), tuple(rate))
        v = rate - theta[3:6]
        assert np.allclose(wrench[1], -0.6 * np.linalg.norm(v) * v, atol=1e-3 * np.linalg.norm(v))
        step = 1j * EPS
        moved = drag_wrench(theta + step * dtheta, 0, tuple(x + step * dx), tuple(rate + step * d_rate))
        found = drag_variation(theta, dtheta[:, None], 0, 0, tuple(x), tuple(rate), tuple(dx), tuple(d_rate))
        assert np.allclose(found, np.imag(moved) / EPS, rtol=1e-12, atol=1e-15)
        hat, pulled = rng.normal(size=(2, 3)), np.zeros((DRAG_SIZE, 1))
        by_x, by_rate = pull_drag(theta, 0, tuple(x), tuple(rate), 0, tuple(map(tuple, hat)), pulled)
        on_variation = pulled[:, 0] @ dtheta + dx @ by_x + d_rate @ by_rate
        assert np.isclose(on_variation, np.sum(hat * found), rtol=1e-12, atol=1e-15)


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
