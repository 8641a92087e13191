"""Starts that are not as the file states them: what moved, and how far."""

from collections.abc import Iterator
from math import pi, remainder
from typing import NamedTuple

import numpy as np

from mbsim_cli.assembly.packing import Packing
from mbsim_cli.assembly.parameters.vectors import IDENTITY, ZERO
from mbsim_cli.assembly.position.closing import CLOSED, Closing
from mbsim_cli.assembly.tree.joints import Pose, is_guess, kind_of, position_at, stated_position
from mbsim_cli.assembly.tree.kinematics import Poses
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.layout import GROUND
from mbsim_cli.model.problem import Problem

ROUNDED = 1e-3  # rad, or the mechanism's unit of length: what is stated nearer to where it is was meant so
CARRIED = 0.1  # the same where other values than the file's move what it states
MOST_TOLD = 6


class _Change(NamedTuple):
    """A coordinate that is not where it was stated."""

    name: str
    stated: float
    found: float
    unit: float  # one radian, or the mechanism's unit of length

    def exceeds(self, bound: float) -> bool:
        return abs(self.found - self.stated) > bound * self.unit


def moved_starts(packing: Packing, problem: Problem, closing: Closing) -> list[str]:
    """Warnings about a start that is not the declared one: what moved, and among how many closed positions."""
    first, stated = problem.model.tree.initial[0], packing.packed.stated & ~_guessed(packing.system)
    declared = problem.theta[first : first + len(closing.z)]
    columns = zip(problem.names.coordinates, declared, closing.z, closing.scales.columns, strict=True)
    of_tree = [_Change(name, float(start), float(end), float(unit)) for name, start, end, unit in columns]
    several = f", the nearest of {closing.closures} that were found" if closing.closures > 1 else ""
    moved = closing.moved & stated & (np.abs(closing.z - declared) > CLOSED * closing.scales.length)
    if moved.any():
        changes = _told([change for change, is_moved in zip(of_tree, moved, strict=True) if is_moved])
        return [f"the declared start does not close the loops; it was moved to a closed position{several}: {changes}"]
    found = [f"the loops close in several positions: the start is at{several[1:]}"] if several else []
    wanted = [change for change, is_stated in zip(of_tree, stated, strict=True) if is_stated]
    wanted += _of_cut_joints(packing.system, closing)
    bound = ROUNDED if packing.model_file.is_as_written else CARRIED
    if (off := [change for change in wanted if change.exceeds(bound)]) and not _begins_a_search(problem):
        keeps = "independent: true in initial keeps those of a joint, and false says that they are a guess"
        found.append(f"loops and other stated values determine {_told(off)}; {keeps}")
    return found


def _guessed(system: System) -> np.ndarray:
    """Mask (n,) of the coordinates of joints that may start anywhere."""
    return np.array([is_guess(system.joints.get(joint)) for joint, _ in system.coordinates], dtype=bool)


def _of_cut_joints(system: System, closing: Closing) -> Iterator[_Change]:
    """What is stated at joints that are cut, which have no coordinates of their own."""
    geometry, index = system.geometry, system.topology.index
    for name in system.topology.cut:
        joint = system.joints[name]
        if is_guess(joint):
            continue
        stated = stated_position(geometry, joint, kind_of(joint))
        first, second = (_pose(closing.at, index[body]) for body in joint.bodies)
        found = position_at(geometry, joint, first, second)
        for coordinate, start, end in zip(system.declared_order(name), stated, found, strict=True):
            if start is None or coordinate.startswith("e"):  # two sets of Euler parameters are one orientation
                continue
            turns = coordinate.startswith("angle")
            change = remainder(end.real - start.real, 2.0 * pi) if turns else end.real - start.real
            unit = 1.0 if turns else closing.scales.length
            yield _Change(f"{name}.{coordinate}", start.real, start.real + change, unit)


def _pose(at: Poses, body: int) -> Pose:
    return (ZERO, IDENTITY) if body == GROUND else (at.r[body], at.R[body])


def _begins_a_search(problem: Problem) -> bool:
    """Whether the start is but where an equilibrium is searched from."""
    return "equilibrium" in (problem.options.analysis, problem.options.start, problem.options.at)


def _told(changes: list[_Change]) -> str:
    told = [f"{change.name} from {_shown(change.stated)} to {_shown(change.found)}" for change in changes[:MOST_TOLD]]
    return ", ".join(told) + (f" and {len(changes) - MOST_TOLD} more" if len(changes) > MOST_TOLD else "")


def _shown(value: float) -> str:
    """A value without the round-off of zero."""
    return f"{round(value, 12) + 0.0:.6g}"
