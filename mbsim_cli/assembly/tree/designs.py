"""Whether joints allow the design position that their start is taken from."""

from functools import partial
from typing import Any

import numpy as np

from mbsim_cli.assembly.tree.geometry import Geometry
from mbsim_cli.assembly.tree.joints import (
    CUT_EQUATIONS,
    design_frames,
    is_designed,
    joint_frames,
    kind_of,
    stated_position,
)
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.codes import Joint, Measure

ROUNDED = 1e-3  # m or rad: what a drawing with few digits may be off by


def check_designs(system: System) -> None:
    """Record joints that the design position of their bodies would break, where they start from it."""
    for name, spec in system.joints.items():
        system.settle(partial(_check, name, spec))


def _check(name: str, spec: Any, system: System) -> None:
    if not _starts_there(system.geometry, spec):
        return
    gap, turn = _misfit(system.geometry, spec)
    if max(gap, turn) > ROUNDED:
        how = f"their points {gap:.4g} m apart" if gap > ROUNDED else f"its axes {turn:.4g} rad apart"
        a, b = spec.bodies
        message = f"the design position of {a!r} and {b!r} leaves {how}, where the joint allows no motion"
        hint = "mend position or orientation of a body, or points and axes of the joint"
        hint += "" if kind_of(spec) == Joint.FIXED else "; or state its initial position"
        system.issue(f"joints.{name}", message, hint)


def _starts_there(geometry: Geometry, spec: Any) -> bool:
    """Whether anything about the joint's start follows from the design position."""
    kind = kind_of(spec)
    return is_designed(geometry, spec) and (kind == Joint.FIXED or None in stated_position(geometry, spec, kind))


def _misfit(geometry: Geometry, spec: Any) -> tuple[float, float]:
    """How far the joint's points are apart in the design position [m], and its axes [rad], where it lets none move."""
    d, r = design_frames(geometry, spec, joint_frames(geometry, spec))
    equations = CUT_EQUATIONS[kind_of(spec)]
    shifts = [d[e.axis_a].real for e in equations if e.kind == Measure.PROJECTION]
    turns = [r[e.axis_a][e.axis_b].real for e in equations if e.kind == Measure.DOT]
    return float(np.linalg.norm(shifts)), float(np.arcsin(min(1.0, float(np.linalg.norm(turns)))))
