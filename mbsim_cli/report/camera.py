"""The direction of view of pictures, films and pages."""

import re
from typing import NamedTuple

import numpy as np

from mbsim_cli.errors import UsageError

PLANES = {"xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
OBLIQUE = (-60.0, 20.0)  # azimuth and elevation, degrees
FLAT = 1e-6  # extent normal to a plane, over the largest extent, below which motion is plane


class View(NamedTuple):
    """Rows of ``basis`` point right, up and to the eye; ``plane`` names the axes, or is empty."""

    basis: np.ndarray  # (3, 3)
    plane: str = ""

    def project(self, points: np.ndarray) -> np.ndarray:
        """Points (..., 3) as right, up and depth (larger is nearer)."""
        return points @ self.basis.T


def view_of(text: str | None, up: tuple[int, int], points: np.ndarray) -> View:
    """The view of a text, xy, xz, yz or AZIMUTH,ELEVATION; without one the plane in which points (F, P, 3) move."""
    if text is None:  # of several planes the one with the largest extent; at rest that of the points
        extents = np.ptp(points.reshape(-1, 3), axis=0)
        moved = np.ptp(points, axis=0).max(axis=0) if points.ndim == 3 else np.zeros(3)
        seen = moved if moved.max() > FLAT * extents.max() else extents
        planes = [name for name, axes in PLANES.items() if seen[3 - sum(axes)] <= FLAT * seen.max()]
        text = max(planes, key=lambda name: extents[list(PLANES[name])].sum(), default=None)
        if text is None:
            return _oblique(*OBLIQUE, up)
    if text in PLANES:
        right, upward = (np.eye(3)[axis] for axis in PLANES[text])
        return View(np.array([right, upward, np.cross(right, upward)]), text)
    numbers = re.fullmatch(r"\s*([-+]?\d+(?:\.\d*)?)\s*[,/]\s*([-+]?\d+(?:\.\d*)?)\s*", text)
    if numbers is None:
        raise UsageError(f"--view must be xy, xz, yz or AZIMUTH,ELEVATION in degrees such as -60,20, not '{text}'")
    return _oblique(float(numbers[1]), float(numbers[2]), up)


def _oblique(azimuth: float, elevation: float, up: tuple[int, int]) -> View:
    """The view at an azimuth about the vertical, from the next axis (x, if z is up), and an elevation, degrees."""
    az, el = np.deg2rad((azimuth, elevation))
    axis, sense = up
    first, second, vertical = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3] * sense, np.eye(3)[axis] * sense
    across = np.cos(az) * first + np.sin(az) * second
    right = -np.sin(az) * first + np.cos(az) * second
    upward = -np.sin(el) * across + np.cos(el) * vertical
    return View(np.array([right, upward, np.cos(el) * across + np.sin(el) * vertical]))
