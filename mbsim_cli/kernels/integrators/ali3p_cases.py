"""Newton of ALI3-P for eight cases in one step: iterates and solutions in lanes, judged one by one as ``ali3p.newton``.

Each case takes as many iterations as it takes alone, by its own tangent. One that is at its end stays where it is: its
last correction is computed again in each iteration that others need, to the same bits, and taken in the end. Other
ways of an iteration (corrections that stall or grow, tangents that cannot be factorised along the structure) are left
to the step that a case makes alone, whose rules need not be repeated here.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.elimination.constrained_solve import BY_PENALTY
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.compiler.simd import select
from mbsim_cli.kernels.integrators import ali3p
from mbsim_cli.kernels.integrators.ali3p import AMPLIFIED, FEW, ONCE, ROUND_OFF, STALE, STALLED

GOING, ENDED, ALONE = range(3)  # where a case is in its step


class Decisions(NamedTuple):
    """Of each lane, in plain numbers; ``sizes`` as numbers of cases is ``found``."""

    found: np.ndarray  # (3,) size of the correction, of corrected accelerations, and the floor
    sizes: np.ndarray  # (3, 8)
    scale: np.ndarray  # (8,) largest acceleration so far
    trial: np.ndarray  # (8,) the same in the step that is being made
    previous: np.ndarray  # (8,) size of the correction before
    fresh: np.ndarray  # (8,) 1 where the tangent is usable
    before: np.ndarray  # (8,) iterations of the step before
    formed: np.ndarray  # (8,) 1 where it was formed in the step
    stage: np.ndarray  # (8,) GOING, ENDED or ALONE
    count: np.ndarray  # (8,) iterations


@kernel
def begin_steps(decisions):
    """All cases begin a step."""
    for lane in range(decisions.scale.size):
        decisions.trial[lane], decisions.previous[lane] = decisions.scale[lane], np.inf
        decisions.before[lane], decisions.count[lane] = decisions.count[lane], 0
        decisions.fresh[lane], decisions.formed[lane] = int(0 < decisions.before[lane] <= FEW), 0
        decisions.stage[lane] = GOING


@kernel
def cases_at(decisions, stage):
    """Bits of the cases at a stage."""
    found = 0
    for lane in range(decisions.stage.size):
        if decisions.stage[lane] == stage:
            found |= 1 << lane
    return found


@kernel
def correct_cases(control, iteration, checks, state, work, decisions):
    """Solve for the corrections of all cases; check them, and apply those of cases that continue."""
    ali3p.solve_residual(control.h, control.correction_tolerance, work.eq, work.tangent, work.column)
    found = decisions.found
    found[0], found[1], found[2] = ali3p.size_of_correction(control.h, state, work.tangent, work.column)
    for lane in range(decisions.stage.size):
        if decisions.stage[lane] == GOING:
            _decide(lane, control, iteration, checks, decisions)
    going = cases_at(decisions, GOING)
    if going != 0:
        apply_corrections(control.h, going, state, work.column)


@kernel
def _decide(lane, control, iteration, checks, decisions):
    """Whether the case of a lane is at its end, goes on, or is to make the step alone."""
    size, acceleration, floor = decisions.sizes[0, lane], decisions.sizes[1, lane], decisions.sizes[2, lane]
    previous, latest = decisions.previous[lane], decisions.before[lane]
    least = int(checks or latest == 0 or latest > ONCE)
    scale = max(decisions.trial[lane], acceleration)
    decisions.trial[lane] = scale
    decisions.count[lane] = iteration + 1
    decisions.previous[lane] = size
    close = size <= max(ROUND_OFF * scale, AMPLIFIED * floor)
    stalls = close and size > STALLED * previous
    grows = control.bends and not close and size > previous
    if grows or not np.isfinite(size):
        decisions.stage[lane] = ALONE
    elif iteration >= least and ali3p.is_enough(control, scale, size, previous, floor):
        decisions.stage[lane] = ENDED
    elif stalls or iteration + 1 == control.max_iterations:
        decisions.stage[lane] = ALONE
    elif size > STALE * previous:
        decisions.fresh[lane] = 0
        if decisions.formed[lane] != 0 and control.correction_tolerance >= BY_PENALTY:
            decisions.stage[lane] = ALONE


@kernel
def apply_corrections(h, bits, state, columns):
    """Take the corrections of some cases away, as ``ali3p.apply_correction`` does."""
    for c in range(state.z.size):
        x = 1.0 * columns.x[c, 0]
        state.z[c] = select(bits, state.z[c] - 0.25 * h * h * x, state.z[c])
        state.zd[c] = select(bits, state.zd[c] - 0.5 * h * x, state.zd[c])
        state.zdd[c] = select(bits, state.zdd[c] - x, state.zdd[c])
    for r in range(state.lam.size):
        state.lam[r] = select(bits, state.lam[r] - 1.0 * columns.mu[r, 0], state.lam[r])
