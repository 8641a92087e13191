"""Laws, forces along a measure, and measures against numpy and the complex step."""

import numpy as np
import pytest

from mbsim_cli.kernels.elements.force_law import measure_force, measure_force_variation
from mbsim_cli.kernels.elements.laws import law_value, law_variation
from mbsim_cli.kernels.elements.measures import (
    is_force_line,
    line,
    line_rate_variation,
    line_variation,
    measure_value,
    measure_variation,
    wrap_angle,
)
from mbsim_cli.model.codes import Law, Measure
from mbsim_cli.model.layout import NONE, Forces, Laws
from tests.kernels.geometry import measure, rotation, skew
from tests.kernels.models import LAW_COUNTS, LAW_NUMBERS, USED_ENTRIES, textbook_laws

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


def test_force_along_a_measure():
    none = np.full(3, NONE)
    laws = Laws(np.array([Law.HARMONIC, Law.POLYNOMIAL, Law.SPLINE]), np.zeros(3, int), np.zeros(3, int), none, none)
    theta, starts, counts = [30.0, 1.2, 0.4, 2.0], [], []
    for kind in laws.kind:
        starts.append(len(theta))
        counts.append(int(law(Law(kind))[0].count[0]))
        theta += LAW_NUMBERS[Law(kind)]
    laws, theta = laws._replace(theta=np.array(starts), count=np.array(counts)), np.array(theta)
    one = np.zeros(1, int)
    forces = Forces(one, one, np.array([NONE]), one, np.array([[0, 1, 2]]), one)
    t, g, g1 = 0.3, 0.7, -0.2
    _Q, by_g, by_g1 = measure_force(forces, laws, theta, 0, t, g, g1)
    assert np.isclose(measure_force(forces, laws, theta, 0, t, g + 1j * EPS, g1)[0].imag / EPS, by_g)
    assert np.isclose(measure_force(forces, laws, theta, 0, t, g, g1 + 1j * EPS)[0].imag / EPS, by_g1)
    for direction in np.eye(theta.size):
        exact = measure_force(forces, laws, theta + 1j * EPS * direction, 0, t, g, g1)[0].imag / EPS
        assert np.isclose(
            measure_force_variation(forces, laws, theta, direction[:, None], 0, 0, t, g, g1), exact, atol=1e-13
        )


class Moving:
    """Two bodies with poses, twists V, and variations N, N' of the poses, all about the origin."""

    def __init__(self, seed=3):
        rng = np.random.default_rng(seed)
        self.R = [rotation(u / np.linalg.norm(u), 1.0) for u in rng.normal(size=(2, 3))]
        self.r, self.block, self.eta = rng.normal(size=(2, 3)), rng.normal(size=15), rng.normal(size=15)
        self.V, self.N, self.N1 = rng.normal(size=(3, 2, 2, 3))

    def poses(self, dt=0.0, ds=0.0):
        """Poses displaced along V by dt and along N + dt N' by ds, exact to first order in each and in dt ds."""
        found = []
        for R, r, V, N, N1 in zip(self.R, self.r, self.V, self.N, self.N1, strict=True):
            v, n = twist(V), twist(N + dt * N1)
            pose = np.block([[R, r[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
            moved = (np.eye(4) + ds * n) @ (np.eye(4) + dt * v) @ pose
            found.append((tuple(moved[:3, :3].ravel()), tuple(moved[:3, 3])))
        return found

    def variation(self, kind):
        """``measure_variation`` here."""
        (Ra, ra), (Rb, rb) = self.poses()
        V, N, N1 = ([tuple(map(tuple, x)) for x in of] for of in (self.V, self.N, self.N1))
        return measure_variation(
            kind, self.block, 0, self.eta[:, None], 0, Ra, ra, Rb, rb, V[0], V[1], N[0], N1[0], N[1], N1[1]
        )

    def factors(self, kind, dt=0.0, ds=0.0):
        """Value g and factors x, u, displaced."""
        (Ra, ra), (Rb, rb) = self.poses(dt, ds)
        g, x, u = measure_value(kind, self.block + ds * self.eta, 0, Ra, ra, Rb, rb)
        return g, np.array(x), np.array(u)


def twist(V):
    """4 x 4 matrix of a twist (w, v)."""
    return np.block([[skew(V[0]), V[1][:, None]], [np.zeros((1, 4))]])


@pytest.mark.parametrize("kind", GEOMETRIC)
def test_value_of_a_measure(kind):
    moving = Moving()
    expected = measure(kind, moving.block, *zip(moving.R, moving.r, strict=True))
    assert np.isclose(moving.factors(kind)[0], expected)


@pytest.mark.parametrize("kind", GEOMETRIC)
def test_line_of_a_measure_is_its_gradient(kind):
    moving = Moving()
    _, x, u = moving.factors(kind)
    L = line(is_force_line(kind), tuple(x), tuple(u))
    relative = moving.V[1] - moving.V[0]
    rate = moving.factors(kind, dt=1j * EPS)[0].imag / EPS
    assert np.isclose(relative[0] @ L[0] + relative[1] @ L[1], rate)


@pytest.mark.parametrize("kind", GEOMETRIC)
def test_variation_of_a_measure(kind):
    moving = Moving()
    g, dg, x, u = moving.variation(kind)
    assert np.isclose(g, moving.factors(kind)[0])
    by_time, by_parameter = moving.factors(kind, dt=1j * EPS), moving.factors(kind, ds=1j * EPS)
    assert np.isclose(dg, by_parameter[0].imag / EPS)
    dt = 1e-6
    for found, k in ((x, 1), (u, 2)):
        assert np.allclose(found.x, moving.factors(kind)[k])
        assert np.allclose(found.rate, by_time[k].imag / EPS)
        assert np.allclose(found.delta, by_parameter[k].imag / EPS)
        ahead, behind = (moving.factors(kind, dt=s * dt, ds=1j * EPS)[k].imag / EPS for s in (1, -1))
        assert np.allclose(found.delta_rate, (ahead - behind) / (2 * dt), atol=1e-7)


@pytest.mark.parametrize("kind", GEOMETRIC)
def test_variations_of_a_line(kind):
    moving = Moving()
    _, _, x, u = moving.variation(kind)
    is_line = is_force_line(kind)

    def at(dt, ds):
        factors = moving.factors(kind, dt, ds)
        return np.concatenate(line(is_line, tuple(factors[1]), tuple(factors[2])))

    assert np.allclose(np.concatenate(line_variation(is_line, x.x, u.x, x.rate, u.rate)), at(1j * EPS, 0).imag / EPS)
    assert np.allclose(np.concatenate(line_variation(is_line, x.x, u.x, x.delta, u.delta)), at(0, 1j * EPS).imag / EPS)
    dt = 1e-6
    mixed = (at(dt, 1j * EPS) - at(-dt, 1j * EPS)).imag / EPS / (2 * dt)
    assert np.allclose(np.concatenate(line_rate_variation(is_line, x, u)), mixed, atol=1e-7)


def test_angles_wrap():
    assert np.isclose(wrap_angle(Measure.ANGLE, 2 * np.pi - 0.1), -0.1)
    assert np.isclose(wrap_angle(Measure.ANGLE, -2 * np.pi + 0.1 + 1j * EPS).imag, EPS)
    assert wrap_angle(Measure.DISTANCE, 7.0) == 7.0
