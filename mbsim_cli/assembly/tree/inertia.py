"""Mass, centre of mass and inertia of bodies, from explicit numbers or from a shape."""

from typing import Any

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.parameters.vectors import Scalar, Vector, dot, subtract
from mbsim_cli.assembly.tree.geometry import Geometry, Inertia, shape_inertia


def mass_properties(numbers: Numbers, geometry: Geometry, name: str) -> tuple[Scalar, Vector, Inertia]:
    """Mass, centre of mass in body axes, and inertia about the centre of mass in body axes."""
    body = geometry.bodies[name]
    mass = _body_mass(numbers, body)
    centre = geometry.center_of_mass(name)
    if body.inertia is not None:
        inertia = _entries(numbers, body.inertia)
        about = body.inertia_about
        if about not in (None, "center_of_mass"):
            inertia = _shifted(inertia, mass, subtract(centre, geometry.point(name, about)))
    elif body.shape is not None:
        of_shape = getattr(body.shape, "mass", None)
        inertia = shape_inertia(numbers, body.shape, mass if of_shape is None else numbers(of_shape))
    else:
        inertia = (0.0,) * 6
    return mass, centre, inertia


def _body_mass(numbers: Numbers, body: Any) -> Scalar:
    """Mass: the body's own, or its shape's, or none."""
    if body.mass is not None:
        return numbers(body.mass)
    of_shape = getattr(body.shape, "mass", None)
    return 0.0 if of_shape is None else numbers(of_shape)


def _entries(numbers: Numbers, inertia: Any) -> Inertia:
    """Six entries of an inertia given by names or as a matrix; those that stand twice count half each."""
    if isinstance(inertia, list | tuple):
        m = [numbers.vector(row) for row in inertia]
        twice = (0.5 * (m[i][j] + m[j][i]) for i, j in ((0, 1), (0, 2), (1, 2)))
        return (m[0][0], m[1][1], m[2][2], *twice)
    given = (getattr(inertia, key) for key in ("xx", "yy", "zz", "xy", "xz", "yz"))
    return tuple(0.0 if entry is None else numbers(entry) for entry in given)


def _shifted(inertia: Inertia, mass: Scalar, d: Vector) -> Inertia:
    """Central inertia from the inertia about a point that lies -d from the centre of mass."""
    square = dot(d, d)
    x, y, z = d
    parts = (square - x * x, square - y * y, square - z * z, -x * y, -x * z, -y * z)
    return tuple(entry - mass * part for entry, part in zip(inertia, parts, strict=True))
