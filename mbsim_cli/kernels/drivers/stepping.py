"""Common parts of the time loops: times of steps, time points inside them, records of counters, a test of numbers.

Steps end at breakpoints, where a law of time changes its formula: no error estimate sees what a step across one does to
derivatives. Its stages lie before the breakpoint, the next step begins with accelerations found behind it.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import sum_of
from mbsim_cli.kernels.compiler.jit import kernel, merged
from mbsim_cli.kernels.compiler.simd import as_column
from mbsim_cli.kernels.drivers.record import write_time_point

# In ``clock``: time, beginning of the last step, size of the next one (0: unknown), steps tried, breakpoints passed,
# time points inside the last step that are not stored yet, and the equal parts of it that these lie in
TIME, BEGIN, SIZE, TRIED, PASSED, DUE, PARTS = range(7)
CLOCK = 7
BEFORE_START = -1.0  # the time then
SMALLEST = 1e-14  # step, relative to the time
DIVISIBLE = 1e3  # steps longer than so many smallest steps may be divided where a force begins
EARLY = 1e-10  # times below this share of the duration count as it
LONGEST = 0.05  # step, relative to the duration: a short pulse after a rest should not be stepped over
INTERVALS = 4.0  # between output times, in one part of a step for integrals: as many time points as these
MEETS = 1e-12  # how near, relative to the duration, the end of a step is to a row's time


class Breakpoints(NamedTuple):
    """Time points at which a law of time changes its formula, in their order; those that round-off parts are one."""

    time: np.ndarray  # (K,) of the clock
    before: np.ndarray  # (K,) end of the stages of a step towards it
    behind: np.ndarray  # (K,) where accelerations behind it are found
    number: np.ndarray  # (K,) offset of the time point in theta


@kernel
def next_breakpoint(clock):
    """Number of the breakpoint that is ahead, or that the clock stands at."""
    return int(clock[PASSED])


@kernel
def next_step(clock, step, end, adaptive, breakpoints):
    """Length of the step from the clock's time; it goes beyond no breakpoint, and the last one ends the run."""
    t, i = clock[TIME], next_breakpoint(clock)
    stop = breakpoints.before[i] if i < breakpoints.time.size else end
    if adaptive:
        size = min(clock[SIZE], LONGEST * end)
        return stop - t if t + 1.01 * size >= stop else size
    size, near = clock[SIZE], MEETS * end
    passed = np.floor((t + near) / step)
    if stop <= step * (passed + 1.0) + near:
        whole = stop - t
    else:
        whole = step if t - step * passed <= near else step * (passed + 1.0) - t
    return size if 0.0 < 1.01 * size < whole else whole


@kernel
def smallest_step(t, end):
    """Shortest step from t; round-off of the time leaves little of shorter ones."""
    return SMALLEST * max(t, EARLY * end)


@kernel
def end_by_clock(clock, h, step, end, adaptive, breakpoints):
    """The clock's time + h without the round-off of sums; on the near side of a breakpoint that it meets."""
    step_end, i = clock[TIME] + h, next_breakpoint(clock)
    if i < breakpoints.time.size and step_end > breakpoints.before[i] - smallest_step(step_end, end):
        return breakpoints.before[i]
    if not adaptive:
        row = step * np.round(step_end / step)
        return row if np.abs(step_end - row) <= MEETS * end else step_end
    return end if step_end > end - MEETS * end else step_end


@merged
def jump(theta, dtheta, number, behind, state, sens):
    """Vary rates, complex ones in the imaginary part, with the time theta[number] of a jump of accelerations."""
    late = theta[number] - theta[number].real
    for c in range(state.zd.size):
        less = state.zdd[c] - behind.zdd[c]
        state.zd[c] += less * late
        for k in range(sens.zd.shape[1]):
            sens.zd[c, k] += less * dtheta[number, k]


@kernel
def number_inside(clock, inside):
    """Number of the next time point inside the last step."""
    return int(clock[PARTS]) * inside.share.size - int(clock[DUE])


@kernel
def time_inside(clock, inside):
    """Time of the next time point inside the last step."""
    number, q = number_inside(clock, inside), inside.share.size
    return clock[BEGIN] + (number // q + inside.share[number % q]) / clock[PARTS] * (clock[TIME] - clock[BEGIN])


@kernel
def take_inside(t, clock, state, sens, inside):
    """Store the next time point inside the last step."""
    row, length = inside.count[0], (clock[TIME] - clock[BEGIN]) / clock[PARTS]
    inside.length[row] = length * inside.weight[number_inside(clock, inside) % inside.weight.size]
    write_time_point(t, state, sens, inside.rows, inside.d_rows, row)
    inside.count[0] = row + 1
    clock[DUE] -= 1.0


@kernel
def write_counters(counters, out):
    """Store the counts since the row before."""
    for j in range(counters.size):
        out[j] = counters[j]
        counters[j] = 0


@merged
def stays_finite(state, sens):
    """Whether accelerations and their sensitivities are; all else reaches them."""
    return np.isfinite(sum_of(as_column(state.zdd)) + sum_of(sens.zdd))
