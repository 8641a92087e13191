"""Estimates of what fixed steps do to a motion, beside errors that are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from mbsim_cli.solve.adjoint.readings import Pulled, each_defined
from mbsim_cli.solve.resolution import NoSteps, Resolution, elastic_of
from mbsim_cli.study.assembling import Settings, build, load
from tests.models.buggy import MODELS


def rows(time, *motion):
    """A block of coordinates and rates, and of their derivatives where there are any."""
    z, v = (each.reshape(len(time), -1) for each in motion[:2])
    d_z, d_v = (each.reshape(*z.shape, -1) for each in motion[2:] or np.zeros((2, *z.shape, 0)))
    return SimpleNamespace(time=time, position=z, velocity=v, d_position=d_z, d_velocity=d_v)


def watch(time, *motion, sizes=None, units=("rad",), **others):
    """Resolution of a motion that arrives in blocks, and the shifts (1 + p, B) of every instant."""
    resolution, first, shifts = Resolution(tuple(f"q{k}" for k in range(len(units))), units, **others), 0, []
    for size in sizes or (len(time),):
        block = slice(first, first + size)
        shifts.append(resolution.add(rows(time[block], *(each[block] for each in motion))))
        first += size
    return resolution, np.concatenate(shifts, axis=1)


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
    assert shift[0, -1] == pytest.approx(2.0 * np.arctan(5.0 * h) / (10.0 * h) * time[-1] - time[-1], rel=0.1)


def test_damping_forgets_errors_as_a_second_run_tells():
    """A damped mass on a shaken base, 300 decay times: what windows miss adds up, errors do not."""

    def shaken(h, times):
        """Ten periods a decay time, by the trapezoidal rule, beside the steady state."""
        w, c, count = 10.0, 4.0, round(90.0 / h)
        a, time = np.array([[0.0, 1.0], [-w * w, -c]]), h * np.arange(count + 1)
        state, force = np.zeros((count + 1, 2)), np.stack([0 * time, np.sin(7.0 * time)], axis=1)
        amplitude = np.linalg.solve(7j * np.eye(2) - a, [0.0, 1.0])  # of exp(7 i t)
        state[0] = amplitude.imag
        step = np.linalg.inv(np.eye(2) - 0.5 * h * a)
        for k in range(count):
            state[k + 1] = step @ ((np.eye(2) + 0.5 * h * a) @ state[k] + 0.5 * h * (force[k] + force[k + 1]))
        exact = (amplitude[0] * np.exp(7j * time)).imag
        true = np.abs(state[:, 0] - exact).max() / np.ptp(exact)
        return watch(time, *state.T, units=("m",), times=times)[0], true

    times = np.arange(1.0, 91.0)
    (fine, true), (coarse, _) = shaken(1e-2, times), shaken(2e-2, times)
    assert fine.worst[0] > 30.0 * true and true < 1e-2
    fine.compare(coarse, 1.0 / 3.0)
    assert true / 2.0 < fine.worst[0] < 2.0 * true and fine.worst[1] == "q0"


def test_a_run_whose_phase_is_lost_is_not_compared():
    """Two numbers between -1 and 1 differ by no more than two, however often the motion turns."""
    fine, coarse = (watch(*oscillation(w, 1.0, 100), times=np.arange(1.0, 101.0))[0] for w in (40.0, 80.0))
    missed = fine.worst[0]
    fine.compare(coarse, 1.0 / 3.0)
    assert fine.worst[0] == missed > 2.0


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
        again, shift = watch(time, z, v, sizes=sizes, units=units)
        assert again.worst == (pytest.approx(whole.worst[0]), whole.worst[1]) and shift.shape == (1, 103)


@pytest.mark.parametrize("steady", [0.0, 1.0])
def test_derivatives_of_a_steady_motion_have_a_clock_of_their_own(steady):
    """The motion is exact, its derivative swings and is late."""
    h = 1e-2
    time, d_z, d_v = oscillation(10.0, h, 300)
    motion = steady * time, np.full_like(time, steady)
    _, (of_motion, of_derivative) = watch(time, *motion, d_z, d_v, parameters=[1.0])
    assert np.abs(of_motion).max() < 1e-12
    assert of_derivative[-1] == pytest.approx(2.0 * np.arctan(5.0 * h) / (10.0 * h) * time[-1] - time[-1], rel=0.1)


def test_derivatives_that_are_round_off_go_with_the_motion():
    time, z, v = oscillation(10.0, 1e-2, 300)
    noise = np.random.default_rng(2).normal(size=(2, len(time))) * 1e-16
    _, (of_motion, of_derivative) = watch(time, z, v, *noise, parameters=[3.0])
    np.testing.assert_allclose(of_derivative, of_motion, atol=1e-4 * np.abs(of_motion[-1]))


def test_a_coordinate_that_loses_its_phase_tells_no_time():
    """It rings beside a motion that steps follow; alone it is the motion."""
    time, z, v = oscillation(1.0, 1e-2, 600)
    _, ring, rate = oscillation(250.0, 1e-2, 600)
    both = np.stack([z, 1e-2 * ring], axis=1), np.stack([v, 1e-2 * rate], axis=1)
    alone = watch(time, z, v)[1][0, -1]
    assert watch(time, *both, units=("rad", "rad"))[1][0, -1] == pytest.approx(alone, rel=1e-2)
    assert abs(watch(time, ring, rate)[1][0, -1]) > 1e3 * abs(alone)


def test_modes_of_a_body_that_deforms_are_measured_by_the_largest():
    time, z, v = oscillation(1.0, 1e-2, 600)
    _, ring, rate = oscillation(30.0, 1e-2, 600)
    both = np.stack([z, 1e-3 * ring], axis=1), np.stack([v, 1e-3 * rate], axis=1)
    together, apart = (watch(time, *both, units=("1", "1"), elastic=modes) for modes in (slice(0, 2), slice(0)))
    assert together[0].worst[0] < 1e-2 < apart[0].worst[0]
    assert abs(together[1][0, -1]) < 0.1 * abs(apart[1][0, -1])


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-natural"])
def test_the_modes_of_a_body_are_known(formulation):
    settings = Settings(formulation=formulation)
    assembled = build(load(MODELS / "flexible" / "slider_crank.yaml", settings), settings, None)
    names = assembled.problem.names.coordinates
    assert names[elastic_of(assembled.problem)] == tuple(f"crank.q{k}" for k in range(1, 7))


def test_too_few_steps_tell_nothing():
    time, z, v = oscillation(1.0, 0.1, 3)
    resolution, _ = watch(time, z, v)
    assert np.isnan(resolution.worst[0]) and not resolution.enough and "fewer than 4 steps" in resolution.reason
    assert NoSteps("why", exact=False).add(rows(time, z, v)) is None


def test_a_number_without_a_derivative_leaves_the_sizes_of_others():
    """Derivatives and the sums of magnitudes that their errors are compared with are those of each number alone."""

    def pull(problem, tape, count, seen, between, reacting):
        hat = seen(0, None)[0, 0]
        spoiled = np.where(hat[0] != 0.0, np.nan, hat)[None]  # the first number has no derivative, and disturbs all
        return Pulled(spoiled, 0.0, np.array([True, False, False]), 2.0 * abs(spoiled))

    found = each_defined(pull)(None, None, 3, lambda first, record: np.array([[[1.0, -2.0, 3.0]]]))
    assert np.array_equal(found.gradient, [[np.nan, -2.0, 3.0]], equal_nan=True)
    assert np.array_equal(found.sizes, [[np.nan, 4.0, 6.0]], equal_nan=True)
