"""Drag: a force at a point of a body against its velocity through the air, F = -c |v| v."""

import numpy as np

from mbsim_cli.kernels.algebra.vec3 import cross3, dot3, load3, scale3, sub3
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.derive.write import Derivatives
from mbsim_cli.model.layout import AIR, DRAG

REST = 1e-6  # (m/s)^2: |v| = sqrt(v . v + REST) has a derivative at rest


@kernel
def drag(theta, o, c, v):
    """Wrench about the origin; c the point, v its velocity."""
    through_air = sub3(v, load3(theta, o + AIR))
    F = scale3(-theta[o + DRAG] * np.sqrt(dot3(through_air, through_air) + REST), through_air)
    return (cross3(c, F), F)


DERIVATIVES = Derivatives(drag, {"c": 3, "v": 3}, ("theta", "o"))
keep_drag, pull_drag = DERIVATIVES.keep, DERIVATIVES.pull_kept
vary_drag, vary_drag_fixed = DERIVATIVES.vary_kept, DERIVATIVES.vary_fixed_kept
