"""Drag: a force at a point of a body against its velocity through the air, F = -c |v| v."""

import numpy as np

from mbsim_cli.kernels.algebra.vectors import cross3, dot3, load3, scale3, sub3
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.elements.element import Element, point, velocity
from mbsim_cli.model.codes import Force
from mbsim_cli.model.layout import AIR, DRAG, DRAG_SIZE

REST = 1e-24  # (m/s)^2: |v| = sqrt(v . v + REST) has a derivative at rest


@kernel
def drag(theta, o, c, v):
    """Wrench about the origin; c the point, v its velocity."""
    through_air = sub3(v, load3(theta, o + AIR))
    F = scale3(-theta[o + DRAG] * np.sqrt(dot3(through_air, through_air) + REST), through_air)
    return (cross3(c, F), F)


ELEMENT = Element(drag, (Force.DRAG,), {"c": point(), "v": velocity("c")}, DRAG_SIZE)
