"""Force along a measure: springs, dampers, friction, motors, as one function of g, g' and t.

Q = f_0 + law_t(t) - k (g - g_0) - c g' - law_e(g - g_0) - law_r(g'), conjugate to the rate of g.
"""

from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.derive.write import Derivatives
from mbsim_cli.kernels.elements.element import AlongMeasure
from mbsim_cli.kernels.elements.law_integrals import POTENTIAL, potential
from mbsim_cli.kernels.elements.laws import LAW, law_value
from mbsim_cli.model.codes import Force

STIFFNESS, DAMPING, NATURAL, CONSTANT, SIZE = 0, 1, 2, 3, 4


@kernel
def spring(laws, law, f, theta, o, t, g, g1):
    """The force Q."""
    elongation = g - theta[o + NATURAL]
    by_time, _, _ = law_value(laws, theta, law[f, 0], t)
    by_g, _, _ = law_value(laws, theta, law[f, 1], elongation)
    by_g1, _, _ = law_value(laws, theta, law[f, 2], g1)
    k, c = theta[o + STIFFNESS], theta[o + DAMPING]
    return theta[o + CONSTANT] + by_time - k * elongation - c * g1 - by_g - by_g1


@kernel
def spring_energy(laws, law, f, theta, o, g):
    """Potential k e^2 / 2 + integral of law_e(e) - f_0 g, e = g - g_0."""
    e = g - theta[o + NATURAL]
    stored, _, _ = potential(laws, theta, law[f, 1], e)
    return 0.5 * theta[o + STIFFNESS] * e * e + stored - theta[o + CONSTANT] * g


ENERGY = Derivatives(spring_energy, {"g": 1}, ("theta", "o"), (POTENTIAL,))
ELEMENT = AlongMeasure(spring, (Force.ALONG_MEASURE,), SIZE, ENERGY, rules=(LAW,))
