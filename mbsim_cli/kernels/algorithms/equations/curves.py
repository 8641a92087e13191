"""Curves of couplings: what a function of one coordinate takes from a weighted sum of coordinates.

A measure of coordinates is g = c . z - s(x), s its curve if it has one, x the last of its coordinates. Derivatives are
by z; x = sign z, so that slopes have that sign. Models without curves compile nothing of it: ``model.measures.curves``.
"""

from mbsim_cli.kernels.algorithms.by_type import members_by_type
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import at
from mbsim_cli.kernels.elements.law_pull_back import pull_law
from mbsim_cli.kernels.elements.laws import law_third, law_value, law_variation
from mbsim_cli.model.layout import NONE, NoCurves


@kernel
def _place(measures, theta, m, z):
    """Law, sign and argument of the curve of measure m."""
    last = measures.first[m + 1] - 1
    sign = theta[measures.theta[m] + measures.first[m + 1] - measures.first[m]]
    return measures.curves.law[m], sign, sign * z[measures.coordinate[last]]


@kernel
def _find(measures, theta, m, z):
    law, sign, x = _place(measures, theta, m, z)
    s, s1, s2 = law_value(measures.curves.laws, theta, law, x)
    return s, sign * s1, s2


@kernel
def _find_third(measures, theta, m, z):
    law, sign, x = _place(measures, theta, m, z)
    return sign * law_third(measures.curves.laws, theta, law, x)


@kernel
def _vary(measures, theta, dtheta, k, m, z):
    law, sign, x = _place(measures, theta, m, z)
    s, s1, s2 = law_variation(measures.curves.laws, theta, dtheta, k, law, x)
    return s, sign * s1, s2


@kernel
def _pull(measures, theta, m, k, z, value, first, second, theta_out):
    law, sign, x = _place(measures, theta, m, z)
    pull_law(measures.curves.laws, theta, law, x, k, value, sign * first, second, theta_out)


class _Without:
    """Of models without curves."""

    @staticmethod
    def has_curve(measures, m):
        return False

    @staticmethod
    def curve_at(measures, theta, m, z):
        return 0.0, 0.0, 0.0

    @staticmethod
    def third_of_curve(measures, theta, m, z):
        return 0.0

    @staticmethod
    def vary_curve(measures, theta, dtheta, k, m, z):
        zero = 0.0 * at(dtheta, 0, k)
        return zero, zero, zero

    @staticmethod
    def pull_curve(measures, theta, m, k, z, value, first, second, theta_out):
        pass


class _With:
    """Of models with curves."""

    @staticmethod
    def has_curve(measures, m):
        return measures.curves.law[m] != NONE

    @staticmethod
    def curve_at(measures, theta, m, z):
        return _find(measures, theta, m, z)

    @staticmethod
    def third_of_curve(measures, theta, m, z):
        return _find_third(measures, theta, m, z)

    @staticmethod
    def vary_curve(measures, theta, dtheta, k, m, z):
        return _vary(measures, theta, dtheta, k, m, z)

    @staticmethod
    def pull_curve(measures, theta, m, k, z, value, first, second, theta_out):
        _pull(measures, theta, m, k, z, value, first, second, theta_out)


_of_curves = members_by_type("measures.curves", _With, lambda kind: _Without if kind is NoCurves else _With)


has_curve = _of_curves("has_curve", "Whether measure m has a curve.")
curve_at = _of_curves("curve_at", "Value, first and second derivative of the curve of measure m at the coordinates z.")
third_of_curve = _of_curves("third_of_curve", "Its third derivative, that of one side where it jumps.")
vary_curve = _of_curves("vary_curve", "Variation k of these three with the curve's own numbers, at fixed z.")
pull_curve = _of_curves("pull_curve", "Add the pull-back of covectors of these three to the curve's own numbers.")
