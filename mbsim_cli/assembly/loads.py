"""Loads of joints that friction reads: multipliers of constraints, which must be determined.

In a planar mechanism constraints hold each loop twice across its plane. A tree joint is then not held there: it carries
nothing that the motion determines. Where loads in the plane are undetermined, friction has no value.
"""

from collections.abc import Iterator

import numpy as np

from mbsim_cli.assembly.position.closing import Closing
from mbsim_cli.assembly.position.search import RANK_TOLERANCE
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.layout import LoadedSignals
from mbsim_cli.model.problem import Problem

UNDETERMINED = 1e-6  # part of a combination of constraints that acts on nothing


def release_loads(problem: Problem, closing: Closing, system: System) -> bool:
    """Let no constraint hold tree joints where it repeats others; whether any load is undetermined."""
    loads = list(_undetermined(problem, closing, system))
    for joint, axis in loads:
        if joint not in system.topology.cut:
            system.joints[joint]._held = system.joints[joint]._held.replace(axis, "")
    return bool(loads)


def require_loads(problem: Problem, closing: Closing, system: System) -> None:
    """Raise ModelError where friction reads loads that are undetermined even so."""
    for joint in dict.fromkeys(joint for joint, _ in _undetermined(problem, closing, system)):
        message = f"constraints that depend on each other leave the load of joint {joint!r} undetermined"
        hint = "friction needs it: give a loss instead of dynamic, or hold nothing twice"
        system.issue(f"joints.{joint}.friction", message, hint)
    system.stop()


def _undetermined(problem: Problem, closing: Closing, system: System) -> Iterator[tuple[str, str]]:
    """Joints and axes along which constraints that depend on each other leave the load undetermined."""
    if not isinstance(problem.model.signals, LoadedSignals) or not len(closing.redundant):
        return
    rows = closing.J / np.linalg.norm(closing.J, axis=1, keepdims=True)
    left, sizes, _ = np.linalg.svd(rows)
    null = left[:, np.count_nonzero(sizes > RANK_TOLERANCE) :]
    for row in np.flatnonzero(np.abs(null).max(axis=1, initial=0.0) > UNDETERMINED):
        joint, _, axis = problem.names.constraints[row].partition(".")
        if axis and axis in getattr(system.joints.get(joint), "_held", ""):
            yield joint, axis
