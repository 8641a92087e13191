"""Laws and measures against numpy and the complex step."""

import numpy as np
import pytest

from mbsim_cli.kernels.algebra.spatial import dot6
from mbsim_cli.kernels.elements.laws import law_value, law_variation, pull_law
from mbsim_cli.kernels.elements.measures import (
    factor_rates,
    line,
    line_rates,
    measure_value,
    pull_numbers,
    pull_second,
    second_by_numbers,
    vary_line,
    vary_numbers,
    wrap_angle,
)
from mbsim_cli.model.codes import Law, Measure
from mbsim_cli.model.layout import APART, NONE, Laws
from tests.kernels.elements import USED_ENTRIES
from tests.kernels.geometry import measure, rotation, skew
from tests.kernels.textbook_laws import LAW_COUNTS, LAW_NUMBERS, textbook_laws

EPS = 1e-30
GEOMETRIC = list(USED_ENTRIES)
POINTS = (-0.9, -0.05, 0.0, 0.0011, 0.02, 0.1, 0.5, 3.0)


def law(kind):
    """A law as the model holds it, and its numbers."""
    values = np.array(LAW_NUMBERS[kind], float)
    count = LAW_COUNTS.get(kind, values.size)
    return Laws(*(np.array([entry]) for entry in (int(kind), 0, count, NONE, NONE))), values


def test_laws_have_the_textbook_values():
    for x in POINTS:
        expected = textbook_laws(x)
        assert expected.keys() == set(Law)
        for kind, value in expected.items():
            assert np.isclose(law_value(*law(kind), 0, x)[0], value, rtol=1e-13, atol=1e-14), kind


@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize("kind", Law)
def test_derivatives_of_laws(kind, x):
    laws, theta = law(kind)
    _f, df, ddf = law_value(laws, theta, 0, x)
    ahead = law_value(laws, theta, 0, x + 1j * EPS)
    assert np.allclose([df, ddf], np.imag(ahead[:2]) / EPS, rtol=1e-12)
    for direction in np.eye(theta.size):
        exact = np.imag(law_value(laws, theta + 1j * EPS * direction, 0, x)) / EPS
        assert np.allclose(law_variation(laws, theta, direction[:, None], 0, 0, x), exact, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("x", [point + imaginary for point in POINTS for imaginary in (0.0, 1e-3j)])
@pytest.mark.parametrize("kind", Law)
def test_pull_back_of_laws(kind, x):
    """Three adjoints at once, of value, first and second derivative."""
    laws, theta = law(kind)
    theta = theta * (1.0 + np.imag(x))
    found, hats = np.zeros((theta.size, 3), np.result_type(x)), np.random.default_rng(1).normal(size=(3, 3))
    for k in range(3):
        pull_law(laws, theta, 0, x, k, *hats[k], found)
    varied = np.array([law_variation(laws, theta, np.eye(theta.size), j, 0, x) for j in range(theta.size)])
    np.testing.assert_allclose(found, varied @ hats.T, rtol=1e-12, atol=1e-12 * np.abs(varied).max())
    assert kind == Law.ONE_SIDED or np.abs(varied).max() > 0.0


class Moving:
    """Two bodies with poses, twists V, and variations N of the poses, all about the origin."""

    def __init__(self, kind=None, seed=3):
        rng = np.random.default_rng(seed)
        self.R = [rotation(u / np.linalg.norm(u), 1.0) for u in rng.normal(size=(2, 3))]
        self.r, self.block, self.eta = rng.normal(size=(2, 3)), rng.normal(size=15), rng.normal(size=15)
        if kind == Measure.DISTANCE:
            self.block[APART] = self.eta[APART] = 0.0  # which nothing varies
        self.V, self.N = rng.normal(size=(2, 2, 2, 3))

    def poses(self, dt=0.0, ds=0.0):
        """Poses displaced along V by dt and along N by ds, exact to first order."""
        found = []
        for R, r, V, N in zip(self.R, self.r, self.V, self.N, strict=True):
            pose = np.block([[R, r[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
            moved = (np.eye(4) + ds * twist(N)) @ (np.eye(4) + dt * twist(V)) @ pose
            found.append((tuple(moved[:3, :3].ravel()), tuple(moved[:3, 3])))
        return found

    def seen(self, kind, numbers):
        """Variations of g and of its line with the pose of body b, or with the measure's numbers."""
        poses = self.poses()
        if numbers:
            return vary_numbers(kind, self.block, 0, self.eta[:, None], 0, poses)
        g, x, u = measure_value(kind, self.block, 0, poses)
        N = tuple(map(tuple, self.N[1] - self.N[0]))
        return dot6(N, line(kind, x, u)), vary_line(kind, self.block, 0, poses[0][0], g, x, u, N)

    def factors(self, kind, dt=0.0, ds=0.0):
        """Value g and factors x, u, displaced."""
        poses = self.poses(dt, ds)
        g, x, u = measure_value(kind, self.block + ds * self.eta, 0, poses)
        return g, np.array(x), np.array(u)


def twist(V):
    """4 x 4 matrix of a twist (w, v)."""
    return np.block([[skew(V[0]), V[1][:, None]], [np.zeros((1, 4))]])


@pytest.mark.parametrize("kind", GEOMETRIC)
def test_value_of_a_measure(kind):
    moving = Moving(kind)
    expected = measure(kind, moving.block, *zip(moving.R, moving.r, strict=True))
    assert np.isclose(moving.factors(kind)[0], expected)


@pytest.mark.parametrize("kind", GEOMETRIC)
def test_line_of_a_measure_is_its_gradient(kind):
    moving = Moving(kind)
    _, x, u = moving.factors(kind)
    L = line(kind, tuple(x), tuple(u))
    relative = moving.V[1] - moving.V[0]
    rate = moving.factors(kind, dt=1j * EPS)[0].imag / EPS
    assert np.isclose(relative[0] @ L[0] + relative[1] @ L[1], rate)


@pytest.mark.parametrize("kind", GEOMETRIC)
@pytest.mark.parametrize("numbers", [False, True])
def test_variation_of_a_measure(kind, numbers):
    """Body a sees its own line still: carried along, its variation is that of a line in space."""
    moving = Moving(kind)
    if numbers:
        moving.N = 0.0 * moving.N
    else:
        moving.eta = 0.0 * moving.eta
    dg, dL = moving.seen(kind, numbers)
    g, x, u = moving.factors(kind, ds=1j * EPS)
    L = np.array(line(kind, tuple(x), tuple(u)))
    w, v = moving.N[0]
    carried = np.array([np.cross(w, L[0].real) + np.cross(v, L[1].real), np.cross(w, L[1].real)])
    assert np.isclose(dg, g.imag / EPS)
    assert np.allclose(np.array(dL) + carried, L.imag / EPS)


@pytest.mark.parametrize("kind", GEOMETRIC)
def test_pull_back_of_the_numbers_of_a_measure(kind):
    """Each number for itself, of g and its line and of g''."""
    moving = Moving(kind)
    poses = moving.poses()
    rng = np.random.default_rng(8)
    hat, second_hat, L, V, A = 1.3, -0.4, *(tuple(map(tuple, x)) for x in rng.normal(size=(3, 2, 3)))
    found = np.zeros((15, 2))
    pull_numbers(kind, moving.block, 0, 0, poses, hat, L, found)
    pull_second(kind, moving.block, 0, 1, poses, V, A, second_hat, found)
    for j in range(15):
        dg, dL = vary_numbers(kind, moving.block, 0, np.eye(15), j, poses)
        dg2 = second_by_numbers(kind, moving.block, 0, np.eye(15), j, poses, V, A)
        expected = hat * dg + np.sum(np.array(dL) * L), second_hat * dg2
        np.testing.assert_allclose(found[j], expected, rtol=1e-12, atol=1e-12)


SECOND = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0  # derivative at the middle of five instants


def along(R, r, V, A, t):
    """Pose of a body that moves along the twists V + t A, exact to second order."""
    pose = np.block([[R, r[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
    R, r = np.split(((np.eye(4) + t * V + 0.5 * t * t * (A + V @ V)) @ pose)[:3], [3], axis=1)
    return tuple(R.ravel()), tuple(r.ravel())


@pytest.mark.parametrize("kind", GEOMETRIC)
def test_variation_of_a_second_derivative_with_the_numbers(kind):
    """Body a stands, and body b moves."""
    moving = Moving(kind)
    poses = moving.poses()
    V, A = (twist(x) for x in np.random.default_rng(5).normal(size=(2, 2, 3)))

    def value(t):
        block = moving.block + 1j * EPS * moving.eta
        return measure_value(kind, block, 0, (poses[0], along(moving.R[1], moving.r[1], V, A, t)))[0]

    eta = moving.eta[:, None]
    found = second_by_numbers(kind, moving.block, 0, eta, 0, poses, vector(V), vector(A))
    dt = 1e-3
    expected = sum(w * value(j * dt).imag / EPS for w, j in zip(SECOND, range(-2, 3), strict=True)) / dt**2
    assert np.isclose(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", GEOMETRIC)
def test_rates_of_a_line(kind):
    """Both bodies move."""
    moving = Moving(kind)
    motions = [tuple(twist(x) for x in motion) for motion in np.random.default_rng(6).normal(size=(2, 2, 2, 3))]

    def line_at(t):
        poses = [along(R, r, V, A, t) for R, r, (V, A) in zip(moving.R, moving.r, motions, strict=True)]
        return np.array(line(kind, *measure_value(kind, moving.block, 0, poses)[1:]))

    poses = moving.poses()
    g, x, u = measure_value(kind, moving.block, 0, poses)
    a, b = (tuple(map(vector, motion)) for motion in motions)
    rates = factor_rates(kind, moving.block, 0, poses[0][0], g, x, u, a, b)
    first, second = line_rates(kind, x, u, *rates)
    dt = 1e-3
    expected = sum(w * line_at(j * dt) for w, j in zip(SECOND, range(-2, 3), strict=True)) / dt**2
    assert np.allclose(first, line_at(1j * EPS).imag / EPS)
    assert np.allclose(second, expected, rtol=1e-7, atol=1e-6)


def vector(matrix):
    """Spatial vector of a 4 x 4 matrix of a twist."""
    return (matrix[2, 1], matrix[0, 2], matrix[1, 0]), tuple(matrix[:3, 3])


def test_angles_wrap():
    assert np.isclose(wrap_angle(2 * np.pi - 0.1), -0.1)
    assert np.isclose(wrap_angle(-2 * np.pi + 0.1 + 1j * EPS).imag, EPS)
