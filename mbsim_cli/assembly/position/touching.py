"""Where cables of constant length touch their pulleys at the declared start: first guesses of closing.

Two places on each pulley satisfy the equations of an arm, and only one of them is on the side that the path turns to.
Paths of elastic cables are formulas of pulleys with parallel axes, which is checked.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mbsim_cli.assembly.tree.kinematics import Poses, poses
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.coordinates import kinds
from mbsim_cli.model.layout import FlexibleTree, Tree
from mbsim_cli.spec.cables import Pulley
from mbsim_cli.spec.expand_cables import MIDDLE, touches
from mbsim_cli.spec.expressions.number import Many
from mbsim_cli.spec.geometry import split
from mbsim_cli.spec.review import GROUND

PARALLEL = 0.99  # least cosine of the angle between axes of pulleys that lean a little


class _Node(NamedTuple):
    """A point of a path, or a pulley; global axes."""

    place: np.ndarray  # (3,)
    axis: np.ndarray  # (3,) of unit length, against which the path turns by the left hand; zero at a point
    radius: float


def guess_touches(system: System, tree: Tree | FlexibleTree, theta: np.ndarray) -> None:
    """Set the initial values of cable coordinates in theta to those of the declared start."""
    cables = system.model_file.cables
    names = [name for name, cable in cables.items() if any(isinstance(at, Pulley) for at in cable.path)]
    if not names:
        return
    first = tree.initial[0]
    at = poses(tree, theta.tolist(), theta[first : first + kinds(tree).size].tolist())
    for name in names:
        if cables[name].stiffness is not None:
            _require_parallel(system, name, cables[name].path, at)
            continue
        for reference, value in _guesses(system, name, cables[name].path, at):
            coordinate = system.coordinate(reference)
            theta[first + system.number_of(coordinate)] = coordinate.sign * value


def _require_parallel(system: System, name: str, path: Many[str | Pulley], at: Poses) -> None:
    """Report pulleys of an elastic cable that follow each other with axes in other directions."""
    for k, (a, b) in enumerate(pairwise(path)):
        if isinstance(a, Pulley) and isinstance(b, Pulley):
            cosine = abs(_node(system, a, at).axis @ _node(system, b, at).axis)
            if cosine < PARALLEL:
                angle = np.degrees(np.arccos(cosine))
                message = f"axes of pulleys that follow each other must be parallel, not at {angle:.3g} deg"
                hint = "lead the cable through a point between them, or leave out the stiffness for a constant length"
                system.issue(f"cables.{name}.path[{k + 1}].axis", message, hint)


def _guesses(system: System, name: str, path: Many[str | Pulley], at: Poses) -> Iterator[tuple[str, float]]:
    """Coordinates of a cable, and their values."""
    nodes = [_node(system, place, at) for place in path]
    directions = []
    for k, (a, b) in enumerate(pairwise(nodes)):
        length, direction = _straight(a, b)
        directions.append(direction)
        if not length > 0.0:
            message = "nothing runs straight from here to the next place, which is too near at the start"
            system.issue(f"cables.{name}.path[{k}]", message, "the circles of pulleys must not overlap or hold a point")
            return
        yield f"{name}_{k + 1}.length", length
    for k, (place, node) in enumerate(zip(path, nodes, strict=True)):
        if isinstance(place, Pulley):
            n, u, v = node.axis, directions[k - 1], directions[k]
            sign = 1.0 if place.turn == "positive" else -1.0
            meets, leaves = touches(name, k)
            # the arm at a zero angle, the same for both ends
            zero = np.array(at.R[system.topology.index[meets]], dtype=float)[:, 0]
            begin = _angle(zero, np.cross(u, n), n)
            turn = _angle(u, v, n) - MIDDLE * np.pi
            wrap = turn - 2.0 * np.pi * np.round(turn / (2.0 * np.pi)) + (MIDDLE + 2.0 * place.turns) * np.pi
            yield f"{meets}.angle", sign * begin
            yield f"{leaves}.angle", sign * (begin + wrap)


def _node(system: System, place: str | Pulley, at: Poses) -> _Node:
    body, point = split(place if isinstance(place, str) else place.center)
    index = system.topology.index[body]
    r, R = (np.zeros(3), np.eye(3)) if body == GROUND else (np.array(at.r[index]), np.array(at.R[index]))
    where = r + R @ np.array(system.geometry.point(body, point)).real
    if isinstance(place, str):
        return _Node(where, np.zeros(3), 0.0)
    axis = R @ np.array(system.geometry.vector(body, split(place.axis)[1])).real
    axis /= np.linalg.norm(axis) * (1.0 if place.turn == "positive" else -1.0)
    return _Node(where, axis, float(np.real(system.geometry.numbers(place.radius))))


def _straight(a: _Node, b: _Node) -> tuple[float, np.ndarray]:
    """Length of the straight part between two nodes, its direction (3,) across the axes; see ``spec.expand_cables``."""
    away, n = b.place - a.place, a.axis if a.axis.any() else b.axis
    across = away @ n
    flat, q = away - across * n, b.radius * (a.axis @ b.axis if a.axis.any() and b.axis.any() else 1.0) - a.radius
    squared, size = flat @ flat - q * q, flat @ flat
    if not (squared > 0.0 and size > 0.0):
        return 0.0, flat
    s = np.sqrt(squared)
    return np.hypot(s, across), (s * flat + q * np.cross(flat, n)) / size


def _angle(u: np.ndarray, v: np.ndarray, n: np.ndarray) -> float:
    """Angle from u to v about n."""
    return float(np.arctan2(n @ np.cross(u, v), u @ v))
