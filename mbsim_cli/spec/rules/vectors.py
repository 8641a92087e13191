"""Directions: every vector that gives one has a length, every orientation is a rotation."""

from typing import Any

from mbsim_cli.spec.judging.geometry import local_vector, parallel
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.quantities import DesignVector, Orientation
from mbsim_cli.spec.reading.messages import Path

_UNIT_TOLERANCE = 1e-6


def check(review: Review) -> None:
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
