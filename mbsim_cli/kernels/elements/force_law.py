"""Force along a measure: springs, dampers, friction, motors, as one function of g, g' and t.

Q = f_0 + law_t(t) - k (g - g_0) - c g' - law_e(g - g_0) - law_r(g'), conjugate to the rate of g.
"""

from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import add_to, at
from mbsim_cli.kernels.elements.law_integrals import law_integral, law_integral_variation, pull_law_integral
from mbsim_cli.kernels.elements.law_pull_back import pull_law
from mbsim_cli.kernels.elements.laws import law_value, law_variation

STIFFNESS, DAMPING, NATURAL, CONSTANT = 0, 1, 2, 3


@inlined
def measure_force(forces, laws, theta, f, t, g, g1):
    """Force Q, and its derivatives with respect to g and g'."""
    o = forces.theta[f]
    elongation = g - theta[o + NATURAL]
    by_time, _, _ = law_value(laws, theta, forces.law[f, 0], t)
    by_g, slope_g, _ = law_value(laws, theta, forces.law[f, 1], elongation)
    by_g1, slope_g1, _ = law_value(laws, theta, forces.law[f, 2], g1)
    k, c = theta[o + STIFFNESS], theta[o + DAMPING]
    Q = theta[o + CONSTANT] + by_time - k * elongation - c * g1 - by_g - by_g1
    return Q, -k - slope_g, -c - slope_g1


@inlined
def measure_force_variation(forces, laws, theta, dtheta, k, f, t, g, g1):
    """Variation k of Q with the numbers of the force and of its laws, at fixed g and g'."""
    o = forces.theta[f]
    elongation = g - theta[o + NATURAL]
    d_natural = at(dtheta, o + NATURAL, k)
    dQ = at(dtheta, o + CONSTANT, k) - at(dtheta, o + STIFFNESS, k) * elongation + theta[o + STIFFNESS] * d_natural
    dQ -= at(dtheta, o + DAMPING, k) * g1
    by_time, _, _ = law_variation(laws, theta, dtheta, k, forces.law[f, 0], t)
    by_g, _, _ = law_variation(laws, theta, dtheta, k, forces.law[f, 1], elongation)
    by_g1, _, _ = law_variation(laws, theta, dtheta, k, forces.law[f, 2], g1)
    _, slope_g, _ = law_value(laws, theta, forces.law[f, 1], elongation)
    return dQ + by_time - by_g + slope_g * d_natural - by_g1


@inlined
def pull_measure_force(forces, laws, theta, f, t, g, g1, by_g, k, Q_hat, hat_out):
    """Add to hat (len(theta), p) what a covector of Q, in column k, is of the numbers; ``by_g`` is the slope of Q."""
    o, none = forces.theta[f], 0.0 * Q_hat
    elongation = g - theta[o + NATURAL]
    add_to(hat_out, o + STIFFNESS, k, -elongation * Q_hat)
    add_to(hat_out, o + DAMPING, k, -g1 * Q_hat)
    add_to(hat_out, o + NATURAL, k, -by_g * Q_hat)
    add_to(hat_out, o + CONSTANT, k, Q_hat)
    pull_law(laws, theta, forces.law[f, 0], t, k, Q_hat, none, none, hat_out)
    pull_law(laws, theta, forces.law[f, 1], elongation, k, -1.0 * Q_hat, none, none, hat_out)
    pull_law(laws, theta, forces.law[f, 2], g1, k, -1.0 * Q_hat, none, none, hat_out)


@inlined
def force_without_potential(forces, laws, theta, f, t, g1):
    """The part of Q that has no potential: by time and by the rate."""
    by_time, _, _ = law_value(laws, theta, forces.law[f, 0], t)
    by_g1, _, _ = law_value(laws, theta, forces.law[f, 2], g1)
    return by_time - theta[forces.theta[f] + DAMPING] * g1 - by_g1


@inlined
def measure_potential(forces, laws, theta, f, g):
    """Potential k e^2 / 2 + integral of law_e(e) - f_0 g, e = g - g_0, and its derivative by g."""
    o = forces.theta[f]
    e = g - theta[o + NATURAL]
    k, constant = theta[o + STIFFNESS], theta[o + CONSTANT]
    by_g, _, _ = law_value(laws, theta, forces.law[f, 1], e)
    stored = law_integral(laws, theta, forces.law[f, 1], e)
    return 0.5 * k * e * e + stored - constant * g, k * e + by_g - constant


@inlined
def measure_potential_variation(forces, laws, theta, dtheta, k, f, g):
    """Variation k of the potential with the numbers of the force and of its law, at fixed g."""
    o = forces.theta[f]
    e = g - theta[o + NATURAL]
    by_g, _, _ = law_value(laws, theta, forces.law[f, 1], e)
    own = at(dtheta, o + STIFFNESS, k) * (0.5 * e * e) - at(dtheta, o + CONSTANT, k) * g
    own -= at(dtheta, o + NATURAL, k) * (theta[o + STIFFNESS] * e + by_g)
    return own + law_integral_variation(laws, theta, dtheta, k, forces.law[f, 1], e)


@inlined
def pull_measure_potential(forces, laws, theta, f, g, by_g, k, hat, hat_out):
    """Add to hat (len(theta), p) what a covector of the potential is of the numbers; ``by_g`` is its derivative."""
    o = forces.theta[f]
    e = g - theta[o + NATURAL]
    add_to(hat_out, o + STIFFNESS, k, 0.5 * e * e * hat)
    add_to(hat_out, o + CONSTANT, k, -g * hat)
    add_to(hat_out, o + NATURAL, k, -(by_g + theta[o + CONSTANT]) * hat)
    pull_law_integral(laws, theta, forces.law[f, 1], e, k, hat, hat_out)
