"""Laws: the compiled kernel and the textbook agree; derivatives are exact."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from mbsim_cli.assembly.parameters.tables import spline
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.kernels.elements.laws import law_value as _law_value
from mbsim_cli.kernels.elements.laws import law_variation as _law_variation
from mbsim_cli.model.codes import Law
from mbsim_cli.model.layout import NONE, Laws
from tests.kernels.textbook_laws import LAW_COUNTS, LAW_NUMBERS, textbook_laws

KNOTS, HEIGHTS = [0.0, 0.4, 1.1, 1.5], [1.0, -0.3, 0.7, 0.2]
SPLINE = [*KNOTS, *spline(KNOTS, HEIGHTS)]
ARGUMENTS = [-0.3, 0.03, 0.08, 0.25, 1.9]


@entry
def law_value(laws, theta, k, x):
    """A door to the kernel, which only compiled code may call."""
    return _law_value(laws, theta, k, x)


@entry
def law_variation(laws, theta, dtheta, k, x):
    """Likewise."""
    return _law_variation(laws, theta, dtheta.reshape(-1, 1), 0, k, x)


def packed(kind, numbers):
    """One law after some other numbers."""
    count = len(KNOTS) if numbers is SPLINE else LAW_COUNTS.get(kind, len(numbers))
    laws = Laws(*(np.array([entry], dtype=np.int64) for entry in (kind, 2, count, NONE, NONE)))
    return laws, np.array([9.0, 9.0, *numbers])


@pytest.mark.parametrize("x", ARGUMENTS)
@pytest.mark.parametrize("kind", Law)
def test_values_and_derivatives(kind, x):
    laws, theta = packed(kind, LAW_NUMBERS[kind])
    value, slope, curvature = law_value(laws, theta, 0, x)
    assert value == pytest.approx(textbook_laws(x)[kind], rel=1e-13)
    stepped = law_value(laws, theta.astype(complex), 0, complex(x, 1e-30))
    assert slope == pytest.approx(stepped[0].imag / 1e-30, rel=1e-12, abs=1e-13)
    assert curvature == pytest.approx(stepped[1].imag / 1e-30, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("x", ARGUMENTS)
@pytest.mark.parametrize("kind", Law)
def test_variation_by_every_coefficient(kind, x):
    laws, theta = packed(kind, LAW_NUMBERS[kind])
    for k in range(2, len(theta)):
        direction = np.eye(len(theta))[k]
        exact = law_variation(laws, theta, direction, 0, x)
        stepped = law_value(laws, theta + 1e-30j * direction, 0, complex(x))
        np.testing.assert_allclose(exact, [entry.imag / 1e-30 for entry in stepped], atol=1e-13)


def test_the_spline_is_natural_and_meets_its_table():
    laws, theta = packed(Law.SPLINE, SPLINE)
    reference = CubicSpline(KNOTS, HEIGHTS, bc_type="natural")
    for x in np.linspace(-0.2, 1.8, 21):
        for order, found in enumerate(law_value(laws, theta, 0, x)):
            assert found == pytest.approx(float(reference(x, order)), abs=1e-13)


@pytest.mark.parametrize("x", [-0.02, -0.0101, -0.004, 0.0, 0.0099, 0.013, 0.02])
def test_a_one_sided_law_is_a_line_that_begins_half_an_onset_farther(x):
    """As the page on the model file states, with dry friction that has no bias."""
    start, onset, slope = 0.3, 0.1, 7.0
    laws = Laws(*(np.array([entry], dtype=np.int64) for entry in (Law.ONE_SIDED, 0, 3, NONE, NONE)))
    above, below = [start, onset, slope], [start, -onset, slope]

    def law_at(numbers, x):
        return _law_value(laws, np.array(numbers), 0, x)[0]

    assert law_at(above, start + onset + abs(x)) == pytest.approx(slope * (onset / 2 + abs(x)))
    assert law_at(below, start - onset - abs(x)) == pytest.approx(-slope * (onset / 2 + abs(x)))
    s = 0.3
    assert law_at(above, start + s * onset) == pytest.approx(slope * onset * (s**3 - s**4 / 2))
    force, slow = 60.0, 0.01
    rises, falls = ([at - slow / 4, slow / 2, k * force / slow] for at, k in ((-slow, 1.0), (slow, -1.0)))

    def dry(rate):
        return -force + law_at(rises, rate) + law_at(falls, rate)

    assert dry(x) == pytest.approx(-dry(-x)) and abs(dry(x)) <= force + 1e-9
    assert dry(0.02) == pytest.approx(force)
