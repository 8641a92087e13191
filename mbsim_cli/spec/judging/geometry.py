"""Small geometry that the rules need, on plain lists: local points and inertia tensors."""

import math
from typing import Any

from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.quantities import DesignPoint, DesignVector

_TOLERANCE = 1e-9
Matrix = list[list[float]]
_IDENTITY: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def local_point(review: Review, body: str, name: str) -> list[float] | None:
    """Return a point's coordinates in the axes of a body; None where something is missing or wrong."""
    if name == "origin":
        return [0.0, 0.0, 0.0]
    if name == "center_of_mass":
        return _center_of_mass(review, body)
    point = review.model.points.get(name)
    if isinstance(point, DesignPoint):
        return _from_design(review, body, point)
    return review.vector(point[body]) if point is not None and body in point else None


def local_vector(review: Review, body: str, name: str) -> list[float] | None:
    """Return a vector's components in the axes of a body, as given; None where something is missing or wrong."""
    vector = review.model.vectors.get(name)
    if isinstance(vector, DesignVector) and body in vector.bodies:
        design, rotation = review.vector(vector.design), _orientation_of(review, body)
        return None if design is None or rotation is None else _transposed_times(rotation, design)
    if isinstance(vector, dict) and (body in vector or "all" in vector):
        return review.vector(vector.get(body, vector.get("all")))
    return _IDENTITY["xyz".index(name)] if name in ("x", "y", "z") else None


def parallel(a: list[float], b: list[float]) -> bool:
    """Whether two vectors are parallel, or one of them is zero."""
    cross = [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]
    return math.hypot(*cross) <= _TOLERANCE * math.hypot(*a) * math.hypot(*b)


def _center_of_mass(review: Review, name: str) -> list[float] | None:
    body = review.model.bodies[name]
    if isinstance(body.center_of_mass, str):
        return local_point(review, name, body.center_of_mass) if body.center_of_mass != "center_of_mass" else None
    if body.center_of_mass is not None:
        return review.vector(body.center_of_mass)
    return _shape_center(review, body.shape) if body.shape is not None else [0.0, 0.0, 0.0]


def _shape_center(review: Review, shape: Any) -> list[float] | None:
    if shape.center is not None:
        return review.vector(shape.center)
    if not hasattr(shape, "length"):
        return [0.0, 0.0, 0.0]
    length = review.value(shape.length)
    return None if length is None else [length / 2 if axis == shape.axis else 0.0 for axis in "xyz"]


def _from_design(review: Review, body: str, point: DesignPoint) -> list[float] | None:
    pose = review.model.bodies[body]
    design = review.vector(point.design)
    position = review.vector(pose.position) if pose.position is not None else [0.0, 0.0, 0.0]
    rotation = _orientation_of(review, body)
    if design is None or position is None or rotation is None:
        return None
    return _transposed_times(rotation, [d - p for d, p in zip(design, position, strict=True)])


def _transposed_times(m: Matrix, a: list[float]) -> list[float]:
    return [sum(m[k][i] * a[k] for k in range(3)) for i in range(3)]


def _orientation_of(review: Review, name: str) -> Matrix | None:
    body = review.model.bodies.get(name)
    return _IDENTITY if body is None else _rotation(review, body.orientation)


def _rotation(review: Review, given: Any) -> Matrix | None:
    if given is None:
        return _IDENTITY
    if given.rotation_matrix is not None:
        return review.matrix(given.rotation_matrix)
    e = review.vector(given.euler_parameters) if given.euler_parameters is not None else _of_axis(review, given)
    if e is None:
        return None
    e0, v = e[0], e[1:]
    skew = [[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]]
    square = 2 * e0 * e0 - 1
    return [[(square if i == j else 0.0) + 2 * (v[i] * v[j] + e0 * skew[i][j]) for j in range(3)] for i in range(3)]


def _of_axis(review: Review, given: Any) -> list[float] | None:
    axis, angle = review.vector(given.axis), review.value(given.angle)
    if axis is None or angle is None or not any(axis):
        return None
    norm = math.hypot(*axis)
    return [math.cos(angle / 2), *(math.sin(angle / 2) * a / norm for a in axis)]


def about_center(tensor: Matrix, mass: float, c: list[float]) -> Matrix:
    """Return the inertia about the centre of mass, which lies at ``c`` from where ``tensor`` is stated (Steiner)."""
    square = sum(x * x for x in c)
    return [[tensor[i][j] - mass * ((square if i == j else 0.0) - c[i] * c[j]) for j in range(3)] for i in range(3)]


def positive_semidefinite(m: Matrix, scale: float) -> bool:
    """Whether a symmetric matrix has no negative eigenvalue beyond round-off at ``scale``."""
    if scale == 0:
        return True
    a = [[entry / scale + (_TOLERANCE if i == j else 0.0) for j, entry in enumerate(row)] for i, row in enumerate(m)]
    # with the small shift every pivot of the elimination must stay positive
    for k in range(3):
        if a[k][k] <= 0:
            return False
        for i in range(k + 1, 3):
            factor = a[i][k] / a[k][k]
            for j in range(k, 3):
                a[i][j] -= factor * a[k][j]
    return True
