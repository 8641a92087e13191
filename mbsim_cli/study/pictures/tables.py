"""From a result to a table of histories, with their derivatives and the poses of bodies."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.io.histories import Column
from mbsim_cli.io.results import Content
from mbsim_cli.model.units import quotient
from mbsim_cli.study.pictures.filming import Moved
from mbsim_cli.study.pictures.selection import hint
from mbsim_cli.study.result import Poses, Result

PLACE, TURN = ("x", "y", "z"), ("e0", "e1", "e2", "e3")


def table_of(content: Content, names: Sequence[str], derivatives: bool, poses: bool) -> list[Column]:
    """The time, and the histories of some names (all without) with one column a component.

    With ``derivatives`` those of each history by the parameters follow it, as ``d NAME/d PARAMETER``; with ``poses``
    ``BODY.position.x`` to ``z`` and Euler parameters ``BODY.orientation.e0`` (scalar) to ``e3`` come last.
    Raises UsageError.
    """
    for name in names:
        if name not in content.entries:
            raise UsageError(f"{content.path} holds no history {name!r}{hint(name, content.entries)}")
    if derivatives and not any(entry.sensitivity for entry in content.entries.values()):
        raise UsageError(f"{content.path} holds no derivatives of histories; mbsim run --sensitivity ddm computes them")
    found = [Column("time", "s", content.time)]
    for name in names or content.entries:
        series = content.history(name)
        found += [Column(*of) for of in zip(series.labels, series.units, series.values.T, strict=True)]
        if derivatives and content.entries[name].sensitivity:
            for parameter, number in zip(content.parameters, np.moveaxis(content.derivatives(name), 2, 0), strict=True):
                unit = content.parameters[parameter]["unit"]
                for label, own, values in zip(series.labels, series.units, number.T, strict=True):
                    found.append(Column(f"d {label}/d {parameter}", quotient(own, unit), values))
    return found + (_poses(content) if poses else [])


def _poses(content: Content) -> list[Column]:
    """Place and orientation of every body at all stored times."""
    found = _moved(content)
    named = [(f"position.{axis}", "m") for axis in PLACE] + [(f"orientation.{name}", "1") for name in TURN]
    every = np.concatenate([found.position, found.orientation], axis=2)
    return [
        Column(f"{body}.{name}", unit, every[:, number, k])
        for number, body in enumerate(found.bodies)
        for k, (name, unit) in enumerate(named)
    ]


def _moved(content: Content) -> Poses:
    moved = Moved(content)
    places, turned = moved.poses
    return Poses(tuple(moved.moving.scene.bodies), places, _continued(turned[:, :, [3, 0, 1, 2]]))


def poses_of(result: Result) -> Poses:
    """The poses of a result, by the model that its file holds."""
    with TemporaryDirectory() as folder:
        return _moved(Content(result.save(Path(folder) / "result.h5")))


def _continued(turned: np.ndarray) -> np.ndarray:
    """Euler parameters (N, bodies, 4) without jumps of sign, of which the first scalar is not negative."""
    steps = np.where((turned[1:] * turned[:-1]).sum(axis=2) < 0.0, -1.0, 1.0)
    first = np.where(turned[:1, :, 0] < 0.0, -1.0, 1.0)
    return turned * np.cumprod(np.concatenate([first, steps]), axis=0)[:, :, None]
