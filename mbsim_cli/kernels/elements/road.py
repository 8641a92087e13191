"""Contact of a sphere with a road: touched where the road is nearest to the sphere's centre. docs/theory/contact.md."""

import numpy as np

from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.elements.contact import contact
from mbsim_cli.kernels.elements.element import Element, point, turning, velocity
from mbsim_cli.kernels.elements.laws import LAW, SMOOTH_POSITIVE, law_value
from mbsim_cli.model.codes import Force
from mbsim_cli.model.layout import CONTACT_SIZE, SPHERE_RADIUS

STEPS = 3  # of Gauss and Newton; each leaves radius times curvature of the error, and the distance has its square


@kernel
def sphere_on_road(laws, theta, o, road, c, v, w):
    """Contact with the surface z = h(x) of law ``road``, at the place x nearest to the centre c above it."""
    x = c[0]
    height, slope, _ = law_value(laws, theta, road, x)
    for _ in range(STEPS):
        x = x - ((x - c[0]) + (height - c[2]) * slope) / (1.0 + slope * slope)
        height, slope, _ = law_value(laws, theta, road, x)
    q = np.sqrt(1.0 + slope * slope)
    n = (-slope / q, 0.0 * q, 1.0 / q)
    distance = n[0] * (c[0] - x) + n[2] * (c[2] - height)
    return contact(theta, o, c, v, w, n, theta[o + SPHERE_RADIUS] - distance)


SPHERE = {"c": point(), "v": velocity("c"), "w": turning()}
ON_ROAD = Element(sphere_on_road, (Force.SPHERE_ON_ROAD,), SPHERE, CONTACT_SIZE, 8, rules=(LAW, SMOOTH_POSITIVE))
