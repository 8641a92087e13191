"""Wire frames of the shapes of bodies, in the body's axes."""

from itertools import product
from typing import Any

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.tree.frames import frame
from mbsim_cli.assembly.tree.shapes import shape_center

AROUND = 36  # chords of a circle
RIM = 0.6  # radius, of the tread's
_AXES = {"x": 0, "y": 1, "z": 2}


def wire_frame(numbers: Numbers, shape: Any) -> list[np.ndarray]:
    """Polylines (k, 3) of a shape; none of a point mass."""
    center = np.array(shape_center(numbers, shape), dtype=float)
    if shape.type in ("rod", "cylinder"):
        axis = _AXES[shape.axis or "x"]
        half = 0.5 * float(numbers(shape.length)) * np.eye(3)[axis]
        if shape.type == "rod":
            return [np.array([center - half, center + half])]
        return _cylinder(center, half, axis, float(numbers(shape.radius)))
    if shape.type == "box":
        return _box(center, 0.5 * np.array(numbers.vector(shape.size), dtype=float))
    if shape.type == "sphere":
        return [center + _circle(float(numbers(shape.radius)), axis) for axis in range(3)]
    return []


def wheel(center: np.ndarray, axis: np.ndarray, radius: float) -> list[np.ndarray]:
    """Polylines (k, 3) of a tyre about an axis: tread, rim, and two diameters that show how it turns."""
    turn = np.array(frame(tuple(axis)), dtype=float)  # its z is the axis
    tread = _circle(radius, 2) @ turn.T
    rim = RIM * tread
    return [center + line for line in (tread, rim, rim[:: AROUND // 2][:2], rim[AROUND // 4 :: AROUND // 2][:2])]


def _circle(radius: float, axis: int) -> np.ndarray:
    """A closed circle about the origin, across an axis."""
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND + 1)
    points = np.zeros((AROUND + 1, 3))
    points[:, (axis + 1) % 3], points[:, (axis + 2) % 3] = radius * np.cos(angle), radius * np.sin(angle)
    return points


def _cylinder(center: np.ndarray, half: np.ndarray, axis: int, radius: float) -> list[np.ndarray]:
    """Both ends, and along a long one four lines, across a wheel two diameters that show how it turns."""
    circle = _circle(radius, axis)
    ends = [center - half + circle, center + half + circle]
    quarters = range(0, AROUND, AROUND // 4)
    if np.linalg.norm(half) > radius:
        return ends + [np.array([center - half + circle[k], center + half + circle[k]]) for k in quarters]
    return ends + [center + np.array([circle[k], circle[k + AROUND // 2]]) for k in quarters[:2]]


def _box(center: np.ndarray, half: np.ndarray) -> list[np.ndarray]:
    corners = [np.array(signs) for signs in product((-1.0, 1.0), repeat=3)]
    edges = ((a, b) for a in corners for b in corners if (b - a).sum() == 2 and np.count_nonzero(b - a) == 1)
    return [center + half * np.array(edge) for edge in edges]
