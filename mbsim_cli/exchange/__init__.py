"""Robots and mechanisms of other formats, as commented model files."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError, os_errors
from mbsim_cli.exchange.robot import GROUND, NO_POINTS, Joint, Names, Robot, move_inertias, require_finite, turn_onto
from mbsim_cli.exchange.xml import mesh_file, root_of, words
from mbsim_cli.system import open_regular

BEGINNING = 100_000  # bytes read to recognise the format


def read(path: Path, floating: bool | None = None) -> Robot:
    """The robot in a file of URDF, SDF or MJCF.

    ``floating``: whether root links of the first two formats float or are fixed to the ground. None is the default of
    the format: fixed in URDF, floating in SDF. Raises UsageError for another format, InputOutputError where the file
    cannot be read.
    """
    from mbsim_cli.exchange import mjcf, sdf, urdf

    with os_errors(f"cannot read {path}"), open_regular(path) as file:
        root = root_of(file.read(BEGINNING))
    if root == "robot":
        robot = urdf.read(path, bool(floating))
    elif root == "sdf":
        robot = sdf.read(path, None if floating is None else not floating)
    elif root.startswith("mujoco"):
        if floating is not None:
            raise UsageError("--base is for URDF and SDF; in MJCF a freejoint says that a body floats")
        robot = mjcf.read(path)
    else:
        raise UsageError(f"{path} is neither URDF (<robot>), SDF (<sdf>) nor MJCF (<mujoco>)")
    require_finite(robot)
    for joint in robot.joints:
        if joint.limits is not None and not joint.limits[0] < joint.limits[1]:
            robot.remarks.append(f"not taken over: limits of {joint.name}, {words(joint.limits)}, which leave no room")
            joint.limits = None
    move_inertias(robot)
    return robot


def find_meshes(robot: Robot, source: Path, target: Path) -> None:
    """Make paths of meshes relative to the model file, and add a remark on those that pictures cannot show."""
    from mbsim_cli.spec.bodies import SURFACES

    found, left = [], {}
    for visual in robot.visuals:
        file = mesh_file(visual.file, source)
        if file is None:
            left[visual.file] = "not found"
        elif file.suffix.lower() not in SURFACES:
            left[visual.file] = "pictures read .stl and .obj"
        else:
            visual.file = Path(os.path.relpath(file.resolve(), target.resolve().parent)).as_posix()
            found.append(visual)
    robot.visuals = found
    for reason in sorted(set(left.values())):
        files = [name for name, why in left.items() if why == reason]
        robot.remarks.append(f"{len(files)} visual meshes are left out, as {files[0]}: {reason}")


# Joints that close loops, from a further file, for formats that cannot state them.

WAY = "NAME: {type: spherical or revolute, places: {BODY: [x, y, z], BODY: [x, y, z]}, axes: {BODY: [x, y, z], ...}}"


def add_loops(robot: Robot, path: Path) -> None:
    """Add the joints of a YAML file, with points [m] and axes in the axes of both bodies; raises InputOutputError."""
    from mbsim_cli.spec.reading.nodes import NodeError, read_nodes

    try:
        root, doubles = read_nodes(path.read_bytes(), str(path))
        if doubles:
            raise doubles[0]
    except OSError as error:
        raise InputOutputError(f"cannot read {path}: {error.strerror}") from None
    except NodeError as error:
        raise InputOutputError(f"{path}:{error.line}:{error.column}: {error.message}") from None
    stated = None if root is None else root.data()
    if not isinstance(stated, Mapping) or not stated:
        raise InputOutputError(f"{path} must list joints by name: {WAY}")
    taken = {joint.name for joint in robot.joints}
    for name, entry in stated.items():
        if not isinstance(entry, Mapping):
            raise InputOutputError(f"{path}: {name} must have the form {WAY}")
        if (better := Names(NO_POINTS).add(name)) != name:
            raise InputOutputError(f"{path}: no joint is called {name}; {better} would be right")
        if name in taken:
            raise InputOutputError(f"{path}: the robot has a joint {name} already; choose another name")
        robot.joints.append(_joint(robot, name, entry, f"{path}: {name}"))


def _joint(robot: Robot, name: str, entry: Mapping[str, Any], where: str) -> Joint:
    kind = entry.get("type", "spherical")
    if kind not in ("spherical", "revolute"):
        raise InputOutputError(f"{where}: type is spherical or revolute, not {kind!r}")
    if unknown := entry.keys() - {"type", "places", "axes"}:
        raise InputOutputError(f"{where}: unknown key {min(map(str, unknown))!r}; known: type, places, axes")
    if kind == "spherical" and "axes" in entry:
        raise InputOutputError(f"{where}: a spherical joint has no axes; leave them out, or state type: revolute")
    places = _vectors_of_two(robot, entry, "places", where)
    bodies = tuple(places)
    turn, axis = np.eye(3), np.array([1.0, 0, 0])
    if kind == "revolute":
        axes = _vectors_of_two(robot, entry, "axes", where)
        if set(axes) != set(places):
            raise InputOutputError(f"{where}: axes and places are of different bodies")
        first, axis = (axes[body] / (np.linalg.norm(axes[body]) or 1.0) for body in bodies)
        if not (first.any() and axis.any()):
            raise InputOutputError(f"{where}: an axis has no direction")
        turn = turn_onto(axis, first)
    return Joint(name, kind, (bodies[0], bodies[1]), np.array(list(places.values())), turn, axis, closes=True)


def _vectors_of_two(robot: Robot, entry: Mapping[str, Any], key: str, where: str) -> dict[str, np.ndarray]:
    """Vectors (3,) by body, one for each of the two bodies."""
    stated = entry.get(key)
    known = {GROUND} | {body.name for body in robot.bodies}
    if not isinstance(stated, Mapping) or len(stated) != 2:
        raise InputOutputError(f"{where}: {key} must have two bodies with a vector each: {WAY}")
    found = {}
    for body, numbers in stated.items():
        if body not in known:
            raise InputOutputError(f"{where}: there is no body {body!r}; the robot has {', '.join(sorted(known))}")
        try:
            found[body] = np.array(numbers, dtype=float)
        except (TypeError, ValueError):
            found[body] = np.zeros(0)
        if found[body].shape != (3,) or not np.isfinite(found[body]).all():
            raise InputOutputError(f"{where}: {key} of {body} must have three numbers")
    return found
