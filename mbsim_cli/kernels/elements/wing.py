"""Wing: lift and drag of a thin plate, a fin or a sail in the air, at any angle of attack.

The normal force grows with the sine of the angle between flow and plate, so that the lift is proportional to the angle
where that is small, and there is none across the flow: C_L = a sin(alpha) cos(alpha), C_D = C_0 + a sin(alpha)^2.
"""

import numpy as np

from mbsim_cli.kernels.algebra.vectors import axpy3, cross3, dot3, load3, scale3, sub3
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.elements.element import Element, axis, point, velocity
from mbsim_cli.model.codes import Force

NORMAL, WIND, FRICTION, LIFT, SIZE = 3, 6, 9, 10, 11  # places in the block, behind the point; its length
REST = 1e-24  # (m/s)^2: |v| = sqrt(v . v + REST) has a derivative at rest


@kernel
def wing(theta, o, c, v, n):
    """Wrench about the origin; c the centre of pressure, v its velocity, n the normal of the plate."""
    through_air = sub3(v, load3(theta, o + WIND))
    speed = np.sqrt(dot3(through_air, through_air) + REST)
    across = -theta[o + LIFT] * speed * dot3(through_air, n)
    F = axpy3(across, n, scale3(-theta[o + FRICTION] * speed, through_air))
    return (cross3(c, F), F)


ELEMENT = Element(wing, (Force.WING,), {"c": point(), "v": velocity("c"), "n": axis(NORMAL)}, SIZE)
