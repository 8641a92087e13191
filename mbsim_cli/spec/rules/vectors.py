"""Directions: every vector that gives one has a length, every orientation is a rotation."""

from mbsim_cli.spec.messages import Path
from mbsim_cli.spec.orientation import Orientation
from mbsim_cli.spec.points import DesignVector
from mbsim_cli.spec.review import Review

_UNIT_TOLERANCE = 1e-6


def check(review: Review) -> None:
    """Report vectors of length zero and orientations that are no rotations."""
    for name, given in review.model.vectors.items():
        entries = {"design": given.design} if isinstance(given, DesignVector) else given
        for key, numbers in entries.items():
            _has_length(review, ("vectors", name, key), numbers)
    for name, body in review.model.bodies.items():
        if body.orientation is not None:
            _is_rotation(review, ("bodies", name, "orientation"), body.orientation)
    for name, joint in review.model.joints.items():
        orientation = getattr(getattr(joint, "initial", None), "orientation", None)
        if orientation is not None:
            _is_rotation(review, ("joints", name, "initial", "orientation"), orientation)


def _has_length(review: Review, path: Path, numbers: list) -> None:
    values = review.vector(numbers)
    if values is not None and not any(values):
        review.report(path, "the vector has length zero and gives no direction")


def _is_rotation(review: Review, path: Path, given: Orientation) -> None:
    if given.axis is not None:
        _has_length(review, (*path, "axis"), given.axis)
    if given.euler_parameters is not None:
        values = review.vector(given.euler_parameters)
        if values is not None and abs(sum(x * x for x in values) - 1) > _UNIT_TOLERANCE:
            norm = sum(x * x for x in values) ** 0.5
            review.report((*path, "euler_parameters"), f"have length {norm:.6g}, must have length 1")
    if given.rotation_matrix is not None:
        rows = [review.vector(row) for row in given.rotation_matrix]
        if all(row is not None for row in rows) and not _orthonormal(rows):
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
