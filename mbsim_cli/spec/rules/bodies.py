"""Bodies and directions: masses, sizes and inertia tensors that exist in nature, vectors that have a length."""

from typing import Any

from mbsim_cli.spec.bodies import SURFACES, Body, Inertia
from mbsim_cli.spec.judging.geometry import about_center, local_point, local_vector, parallel, positive_semidefinite
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.quantities import DesignVector, Orientation
from mbsim_cli.spec.reading.messages import Path

_SYMMETRY = 1e-9
MEASURED = 0.1  # excess of a moment over the sum of the others that errors of measurement explain
_DIAGONAL = ("xx", "yy", "zz")


def check(review: Review) -> None:
    """Report negative masses and sizes, incomplete shapes and impossible inertias."""
    for name, body in review.model.bodies.items():
        path = ("bodies", name)
        _mass(review, path, body.mass)
        if body.shape is not None:
            _shape(review, (*path, "shape"), body.shape)
        if body.inertia is not None:
            _inertia(review, path, name, body)
        for number, visual in enumerate(body.visuals):
            if not visual.mesh.lower().endswith(SURFACES):
                at = (*path, "visuals", number, "mesh")
                review.report(at, f"pictures do not read {visual.mesh}", "a file .stl or .obj, to which others convert")
        if body.visuals and body.flexible is not None:
            review.report((*path, "visuals"), "a flexible body is drawn by its own mesh", "leave visuals out")
        if review.intact("bodies", name):
            _complete(review, path, body)
    _armatures(review)


def _armatures(review: Review) -> None:
    for name, joint in review.model.joints.items():
        value = review.value(getattr(joint, "armature", None))
        if value is not None and value < 0:
            review.report(("joints", name, "armature"), f"the armature is negative: {value:g}")


def _mass(review: Review, path: Path, number: Any) -> None:
    mass = review.value(number)
    if mass is not None and mass < 0:
        review.report((*path, "mass"), f"the mass is negative: {mass:g} kg")


def _shape(review: Review, path: Path, shape: Any) -> None:
    _mass(review, path, shape.mass)
    for key in ("length", "radius"):
        review.positive((*path, key), getattr(shape, key, None))
    for index, number in enumerate(getattr(shape, "size", [])):
        review.positive((*path, "size", index), number)


def _complete(review: Review, path: Path, body: Body) -> None:
    if body.shape is not None and body.shape.mass is None and body.mass is None:
        review.report((*path, "shape"), "key 'mass' is missing", "give it in the shape or in the body", key=True)
    if body.inertia is None and body.inertia_about != "center_of_mass":
        review.report((*path, "inertia_about"), "stands without an inertia")
    if body.shape is not None and None not in (body.shape.mass, body.mass, body.inertia):
        message = "mass and inertia of the body stand beside it, so nothing uses it"
        review.report((*path, "shape", "mass"), message, "a shape is drawn without a mass")


def _inertia(review: Review, path: Path, name: str, body: Body) -> None:
    place = (*path, "inertia")
    tensor = _tensor(review, place, body.inertia)
    if tensor is None:
        return
    scale = max(abs(entry) for row in tensor for entry in row)
    for key, entry in zip(_DIAGONAL, (tensor[i][i] for i in range(3)), strict=True):
        if entry < 0:
            at = (*place, key) if isinstance(body.inertia, Inertia) else place
            review.report(at, f"the moment of inertia {key} is negative: {entry:g} kg m^2")
            return
    if body.inertia_about != "center_of_mass":
        tensor = _moved(review, name, body, tensor)
    if tensor is None:
        return
    where = "" if body.inertia_about == "center_of_mass" else " about the centre of mass"
    if not positive_semidefinite(tensor, scale):
        review.report(place, f"the inertia{where} is not positive semi-definite", "no body has it")
    elif _all_moments_given(body.inertia) and not _triangle(tensor, scale):
        hint = "no principal moment may exceed the sum of the other two"
        review.report(place, f"the inertia{where} violates the triangle inequalities", hint)


def _tensor(review: Review, place: Path, given: Any) -> list[list[float]] | None:
    if isinstance(given, Inertia):
        xx, yy, zz, xy, xz, yz = (
            0.0 if number is None else review.value(number)
            for number in (given.xx, given.yy, given.zz, given.xy, given.xz, given.yz)
        )
        tensor: Any = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    else:
        tensor = [review.vector(row) or [None] * 3 for row in given]
    if any(entry is None for row in tensor for entry in row):
        return None
    scale = max(abs(entry) for row in tensor for entry in row)
    if any(abs(tensor[i][j] - tensor[j][i]) > _SYMMETRY * scale for i in range(3) for j in range(i)):
        review.report(place, "the inertia is not symmetric")
        return None
    return tensor


def _all_moments_given(given: Any) -> bool:
    # a planar model states zz alone: what it leaves out is not judged
    return not isinstance(given, Inertia) or None not in (given.xx, given.yy, given.zz)


def _triangle(tensor: list[list[float]], scale: float) -> bool:
    half_trace = sum(tensor[i][i] for i in range(3)) / 2 + MEASURED / 2 * scale
    distribution = [[(half_trace if i == j else 0.0) - tensor[i][j] for j in range(3)] for i in range(3)]
    return positive_semidefinite(distribution, scale)


def _moved(review: Review, name: str, body: Body, tensor: list[list[float]]) -> list[list[float]] | None:
    if not _all_moments_given(body.inertia) or not review.intact("bodies", name):
        return None
    mass = review.value(body.mass if body.mass is not None else getattr(body.shape, "mass", None))
    if body.mass is None and body.shape is None:
        mass = 0.0
    center = local_point(review, name, "center_of_mass")
    about = local_point(review, name, body.inertia_about)
    if mass is None or center is None or about is None:
        return None
    return about_center(tensor, mass, [c - a for c, a in zip(center, about, strict=True)])


# Directions: every vector that gives one has a length, every orientation is a rotation.

_UNIT_TOLERANCE = 1e-6


def check_vectors(review: Review) -> None:
    """Report vectors of length zero, references along their axis, and orientations that are no rotations."""
    for name, given in review.model.vectors.items():
        entries = {"design": given.design} if isinstance(given, DesignVector) else given
        for key, numbers in entries.items():
            _has_length(review, ("vectors", name, key), numbers)
    for name, body in review.model.bodies.items():
        if body.orientation is not None:
            _is_rotation(review, ("bodies", name, "orientation"), body.orientation)
    for section in ("constraints", "sensors"):
        for name, item in getattr(review.model, section).items():
            if item.type == "angle":
                _measurable(review, (section, name), item)
    for name, joint in review.model.joints.items():
        _across(review, ("joints", name), joint)
        orientation = getattr(getattr(joint, "initial", None), "orientation", None)
        if orientation is not None:
            _is_rotation(review, ("joints", name, "initial", "orientation"), orientation)


def _has_length(review: Review, path: Path, numbers: list) -> None:
    values = review.vector(numbers)
    if values is not None and not any(values):
        review.report(path, "the vector has length zero and gives no direction")


def _across(review: Review, path: Path, joint: Any) -> None:
    axes = getattr(joint, "axis", None) or getattr(joint, "axes", None)
    references = getattr(joint, "reference", None)
    if references is None:
        return
    if axes is None:
        message = "it says how the bodies stand about the axis, and there is no axis"
        review.report((*path, "reference"), message, "give the axis too", key=True)
        return
    for index, body in enumerate(joint.bodies):
        axis, reference = (given if isinstance(given, str) else given[index] for given in (axes, references))
        u, v = local_vector(review, body, axis), local_vector(review, body, reference)
        if u and v and any(u) and any(v) and parallel(u, v):
            message = f"reference {reference!r} is parallel to the axis {axis!r} in body {body!r}"
            review.report((*path, "reference"), message, "it must stand across the axis")
            return


def _measurable(review: Review, path: Path, item: Any) -> None:
    body, _, axis = item.axis.partition(".")
    n = local_vector(review, body, axis)
    for index, text in enumerate(item.vectors):
        other, _, name = text.partition(".")
        u = local_vector(review, other, name) if other == body else None
        if n and u and any(n) and any(u) and parallel(n, u):
            review.report((*path, "vectors", index), f"{text!r} is parallel to the axis {item.axis!r} of the angle")


def _is_rotation(review: Review, path: Path, given: Orientation) -> None:
    if given.axis is not None:
        _has_length(review, (*path, "axis"), given.axis)
    if given.euler_parameters is not None:
        values = review.vector(given.euler_parameters)
        if values is not None and abs(sum(x * x for x in values) - 1) > _UNIT_TOLERANCE:
            norm = sum(x * x for x in values) ** 0.5
            review.report((*path, "euler_parameters"), f"have length {norm:.6g}, must have length 1")
    if given.rotation_matrix is not None:
        rows = review.matrix(given.rotation_matrix)
        if rows is not None and not _orthonormal(rows):
            review.report(
                (*path, "rotation_matrix"), "is not a rotation", "rows of length 1, perpendicular, right-handed"
            )


def _orthonormal(m: list) -> bool:
    for i in range(3):
        for j in range(3):
            if abs(sum(m[i][k] * m[j][k] for k in range(3)) - (i == j)) > _UNIT_TOLERANCE:
                return False
    cross = [m[0][i - 2] * m[1][i - 1] - m[0][i - 1] * m[1][i - 2] for i in range(3)]
    return sum(a * b for a, b in zip(cross, m[2], strict=True)) > 0
