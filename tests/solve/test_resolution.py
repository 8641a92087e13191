"""Estimates of what fixed steps do to a motion, beside errors that are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from mbsim_cli.solve.resolution import NoSteps, Resolution


def rows(time, position, velocity):
    shape = (len(time), -1)
    return SimpleNamespace(time=time, position=position.reshape(shape), velocity=velocity.reshape(shape))


def watch(time, position, velocity, sizes=None, units=("rad",)):
    """Resolution of a motion that arrives in blocks, and the shift of every instant."""
    resolution, first, shifts = Resolution(tuple(f"q{k}" for k in range(len(units))), units), 0, []
    for size in sizes or (len(time),):
        block = slice(first, first + size)
        shifts.append(resolution.add(rows(time[block], position[block], velocity[block])))
        first += size
    return resolution, np.concatenate(shifts)


def oscillation(w, h, count):
    """What the trapezoidal rule makes of cos wt: its frequency is 2 atan(wh/2) / h."""
    time = h * np.arange(count + 1)
    phase = 2.0 * np.arctan(0.5 * w * h) * np.arange(count + 1)
    return time, np.cos(phase), -w * np.sin(phase)


@pytest.mark.parametrize("h", [1e-3, 1e-2, 3e-2])
def test_an_oscillation_is_late_by_as_much_as_it_is(h):
    time, z, v = oscillation(10.0, h, round(3.0 / h))
    resolution, shift = watch(time, z, v)
    error, name = resolution.worst
    true = np.abs(z - np.cos(10.0 * time)).max() / np.ptp(z)
    assert name == "q0" and true / 3.0 < error < 3.0 * true
    assert shift[-1] == pytest.approx(2.0 * np.arctan(5.0 * h) / (10.0 * h) * time[-1] - time[-1], rel=0.1)


@pytest.mark.parametrize("periods", [1.0, 5.0, 5.5, 400.0])
def test_many_periods_a_step_look_like_no_motion_however_many(periods):
    time, z, v = oscillation(2.0 * np.pi * periods, 1.0, 100)
    assert watch(time, z, v)[0].worst[0] > 1.0


def test_a_solution_has_no_error_and_neither_has_a_stiff_mode_at_rest():
    time = np.linspace(0.0, 3.0, 301)
    z = np.stack([np.sin(2.0 * time), 1e-6 * (-1.0) ** np.arange(301)], axis=1)
    v = np.stack([2.0 * np.cos(2.0 * time), 1e-6 * (-1.0) ** np.arange(301)], axis=1)
    assert watch(time, z[:, 0], v[:, 0])[0].worst[0] < 1e-9
    alone, beside = watch(time, z[:, 1], v[:, 1])[0], watch(time, z, v, units=("rad", "rad"))[0]
    assert alone.worst[0] > 0.5  # what alone moves is the motion
    assert beside.worst[0] < 1e-2


def test_blocks_may_be_of_any_size():
    random = np.random.default_rng(1)
    time, z, v = 0.1 * np.arange(103), random.normal(size=(103, 3)).cumsum(axis=0), random.normal(size=(103, 3))
    units = ("rad", "m", "rad")
    whole, _ = watch(time, z, v, units=units)
    for sizes in ((1,) * 103, (1, 50, 52), (50, 3, 3, 3, 4, 40)):
        again, shift = watch(time, z, v, sizes, units)
        assert again.worst == (pytest.approx(whole.worst[0]), whole.worst[1]) and shift.shape == (103,)


def test_too_few_steps_tell_nothing():
    time, z, v = oscillation(1.0, 0.1, 3)
    resolution, _ = watch(time, z, v)
    assert np.isnan(resolution.worst[0]) and not resolution.enough and "fewer than 4 steps" in resolution.reason
    assert NoSteps("why", exact=False).add(rows(time, z, v)) is None
