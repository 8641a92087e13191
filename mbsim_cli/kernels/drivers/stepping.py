"""What the time loops of open trees share: times of steps, the size of the first one, counts, a test of numbers."""

import numpy as np

from mbsim_cli.kernels.compiler.jit import kernel, merged
from mbsim_cli.kernels.compiler.views import as_column
from mbsim_cli.kernels.integrators.step_control import initial_step, size_of, sum_of, trial_step_of
from mbsim_cli.model.codes import Status

# In ``clock``: time, beginning of the last step, size of the next one (0: unknown), steps tried
TIME, BEGIN, SIZE, TRIED = range(4)
BEFORE_START = -1.0  # the time then
SMALLEST = 1e-14  # step, relative to the time
EARLY = 1e-10  # times before this share of the duration count as that
LONGEST = 0.05  # step, relative to the duration: a short pulse after a rest should not be stepped over
MEETS = 1e-12  # how near, relative to the duration, the end of a step is to a row's time


@kernel
def next_step(t, step, end, adaptive, size):
    """Length of the step from t; the last one ends the run."""
    if not adaptive:
        return step
    size = min(size, LONGEST * end)
    return end - t if t + 1.01 * size >= end else size


@kernel
def smallest_step(t, end):
    """Shortest step from t; round-off of the time leaves little of shorter ones."""
    return SMALLEST * max(t, EARLY * end)


@kernel
def count_step(control, clock, begun, rejected):
    """Count a step that is to be tried, in a call that began at a count of ``begun``; return whether it may be.

    A call pauses behind accepted steps only, where nothing else than the clock is to be kept.
    """
    if control.adaptive and clock[TRIED] >= control.most:
        return Status.TOO_MANY_STEPS
    if control.adaptive and clock[TRIED] >= begun + control.at_once and not rejected:
        return Status.PAUSED
    clock[TRIED] += 1.0
    return Status.OK


@kernel
def end_of_step(t, h, end, adaptive, near):
    """t + h without the round-off of sums."""
    if not adaptive:
        return h * np.round(t / h + 1.0)
    return end if t + h > end - near else t + h


@merged
def guess(control, state, probe):
    """A short explicit Euler step into ``probe``, which tells how fast rates change; return its length."""
    first = size_of(control, state.z, state.z) + size_of(control, state.zd, state.zd)
    rate = size_of(control, state.zd, state.z) + size_of(control, state.zdd, state.zd)
    h = trial_step_of(first, rate)
    for c in range(state.z.size):
        probe.z[c] = state.z[c] + h * state.zd[c]
        probe.zd[c] = state.zd[c] + h * state.zdd[c]
    return h


@merged
def first_step(control, h, state, probe):
    """Length of the first step, after the guess of length h was evaluated."""
    for c in range(state.z.size):
        probe.z[c] = probe.zd[c] - state.zd[c]
        probe.zd[c] = probe.zdd[c] - state.zdd[c]
    rate = size_of(control, state.zd, state.z) + size_of(control, state.zdd, state.zd)
    change = size_of(control, probe.z, state.z) + size_of(control, probe.zd, state.zd)
    return initial_step(control, rate, change, h)


@kernel
def write_counters(counters, out):
    """Store the counts since the row before."""
    for k in range(counters.size):
        out[k] = counters[k]
        counters[k] = 0


@merged
def is_finite(state, sens):
    """Whether accelerations and their sensitivities are; all else reaches them."""
    return np.isfinite(sum_of(as_column(state.zdd)) + sum_of(sens.zdd))
