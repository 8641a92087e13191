"""Applied forces and torques: a vector that the file gives, in global or body axes, times a law of time."""

from mbsim_cli.kernels.algebra.vectors import cross3, scale3
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.derive.trace import ByHand
from mbsim_cli.kernels.elements.element import Element, given, point
from mbsim_cli.kernels.elements.laws import law_value, law_variation, pull_law
from mbsim_cli.model.codes import Force
from mbsim_cli.model.layout import APPLIED_SIZE, NONE, VECTOR


@kernel
def factor_in_time(laws, theta, law, t):
    """A law with its two derivatives; one where there is none."""
    if law == NONE:
        zero = 0.0 * (theta[0] + t)
        return 1.0 + zero, zero, zero
    return law_value(laws, theta, law, t)


@kernel
def point_force(laws, law, f, theta, o, t, c, F):
    """Wrench about the origin of the force F at the point c."""
    by_time, _, _ = factor_in_time(laws, theta, law[f, 0], t)
    force = scale3(by_time, F)
    return (cross3(c, force), force)


@kernel
def torque(laws, law, f, theta, o, t, F):
    """Wrench of the torque F."""
    by_time, _, _ = factor_in_time(laws, theta, law[f, 0], t)
    return (scale3(by_time, F), (0.0, 0.0, 0.0))


SEES, RULES = {"c": point(), "F": given(VECTOR)}, (ByHand(factor_in_time, 3, law_variation, pull_law),)
POINT_FORCE = Element(point_force, (Force.POINT_FORCE,), SEES, APPLIED_SIZE, rules=RULES)
TORQUE = Element(torque, (Force.TORQUE,), SEES, APPLIED_SIZE, rules=RULES)
