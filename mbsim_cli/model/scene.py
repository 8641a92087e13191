"""What of a mechanism is drawn: points fixed to its bodies, lines between them, and solids."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Line(NamedTuple):
    """A polyline through points of the scene."""

    kind: str  # body | shape | mesh | spring | spiral | rod | slide
    body: int  # whose colour it has; -1 where it connects bodies
    points: tuple[int, ...]


class Solid(NamedTuple):
    """A solid fixed to a body: its centre, its axes as columns, and its extents along these, m."""

    kind: str  # box | cylinder (about its z) | sphere | wheel (about its z)
    body: int
    center: np.ndarray  # (3,) in the body's axes
    axes: np.ndarray  # (3, 3)
    size: np.ndarray  # (3,)


@dataclass(frozen=True)
class Scene:
    """P points, each fixed to a body (-1: the ground), and what joins them."""

    bodies: tuple[str, ...]
    local: np.ndarray  # (P, 3) in the axes of the point's body, m
    body: np.ndarray  # (P,)
    names: Mapping[str, int]  # point by "body.name"; bodies' origins too
    lines: tuple[Line, ...]
    joints: tuple[int, ...]  # points where joints are
    ground: tuple[int, ...]  # points of the ground
    up: tuple[int, int]  # global axis nearest to the vertical, and 1 or -1: its sense
    solids: tuple[Solid, ...] = ()  # that views in space show in place of the lines of shapes
