"""Laws of all kinds with numbers of their own, and their values from the textbook."""

import numpy as np
from scipy.interpolate import CubicSpline

from mbsim_cli.model.codes import Law

KNOTS = np.array([-6.0, -0.7, 0.00013, 0.1, 0.8, 6.0])
HEIGHTS = 0.4 * KNOTS + 0.3 * np.sin(KNOTS + 0.2)


def spline_numbers(knots, heights):
    """Coefficients of a cubic spline as a law stores them."""
    return (*knots, *CubicSpline(knots, heights).c.T.ravel())


LAW_NUMBERS = {  # rising, so that no force drives itself, with variety around 0 .. 0.1
    Law.CONSTANT: (0.7,),
    Law.POLYNOMIAL: (0.3, 0.8, 0.2, 0.1),
    Law.HARMONIC: (0.4, 0.1, 7.0, 0.3),
    Law.SMOOTH_STEP: (-0.02, 0.17, 0.3, 0.9),
    Law.SPLINE: spline_numbers(KNOTS, HEIGHTS),
    Law.SINE_POWER: (0.4, 0.2, 7.0, 0.4),
    Law.ONE_SIDED: (-0.03, 0.12, 0.9),
}
LAW_COUNTS = {Law.SPLINE: len(KNOTS), Law.SINE_POWER: 3}  # where it is not the number of coefficients


def law_start(kind):
    """Value of a law of ``LAW_NUMBERS`` at t = 0, from the textbook."""
    return textbook_laws(0.0)[kind]


def textbook_laws(x):
    """Values of the laws of ``LAW_NUMBERS``."""
    c = LAW_NUMBERS
    first, last, low, high = c[Law.SMOOTH_STEP]
    s = np.clip((x - first) / (last - first), 0, 1)
    start, onset, slope = c[Law.ONE_SIDED]
    beyond = np.clip((x - start) / onset, 0, 1)

    def sine(offset, amplitude, omega, phase):
        return offset, amplitude, np.sin(omega * x + phase)

    offset, amplitude, plain = sine(*c[Law.HARMONIC])
    offset3, amplitude3, cubed = sine(*c[Law.SINE_POWER])
    return {
        Law.CONSTANT: c[Law.CONSTANT][0],
        Law.POLYNOMIAL: np.polyval(c[Law.POLYNOMIAL][::-1], x),
        Law.HARMONIC: offset + amplitude * plain,
        Law.SMOOTH_STEP: low + (high - low) * (10 * s**3 - 15 * s**4 + 6 * s**5),
        Law.SPLINE: CubicSpline(KNOTS, HEIGHTS)(x),
        Law.SINE_POWER: offset3 + amplitude3 * cubed**3,
        Law.ONE_SIDED: slope * onset * (beyond**3 - beyond**4 / 2) + slope * max(0, x - start - onset),
    }
