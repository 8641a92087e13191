"""Objectives: values, exact gradients, and the same answer however the instants arrive."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.assembly import build
from mbsim_cli.model.problem import Block
from mbsim_cli.study.objectives import accumulator
from mbsim_cli.study.streams import Spread
from tests.assembly.texts import load

TEXT = """
parameters: {a: 0.7, b: {value: 2*a}}
bodies: {m: {mass: 1, inertia: {zz: 1}}}
joints: {j: {type: revolute, bodies: [ground, m], point: origin, axis: z}}
sensors:
  r: {type: position, point: m.origin}
  q: {type: coordinate, coordinate: j.angle}
objectives:
  area: {integral: "dot(r - [a, 0, 0], r) + b*q*t", unit: m^2 s}
  end: {final: "r.y*q + a"}
  peak: {maximum: "q**2 + b", sharpness: 5*a}
  both: {expression: "area**2 + a*peak - end"}
  middle: {mean: "q**2 + b"}
  size: {rms: "a*q - r.x"}
  low: {minimum: "q + b", sharpness: 5*a}
  then: {at: {time: "a + 0.02", value: "r.y*q*b"}}
  top: {maximum: "b*r.x - q"}
  pit: {minimum: "q + b"}
  first: {maximum: "r.y - b*t"}
  last: {minimum: "-a*t*t"}
analysis: {duration: 2, sensitivity: {method: ddm}}
"""
VALUES = {"a": 0.7, "b": 1.4}


def signals(time, rho):
    """Sensors (B, 4) that depend on two parameters."""
    columns = np.sin(time * rho[0]), np.cos(time) * rho[1], time * rho[0] * rho[1], np.sin(3 * time + rho[1])
    return np.stack(columns, axis=1)


def blocks(rho, sizes, p=2):
    """Blocks of 41 instants with exact derivatives of the sensors."""
    time = np.linspace(0.0, 2.0, 41)
    columns = [signals(time, np.array(rho) + 1e-30j * np.eye(2)[k]).imag / 1e-30 for k in range(2)]
    sensors, derivatives = signals(time, np.array(rho)), np.stack(columns, axis=2)[:, :, :p]
    empty = dict.fromkeys(Block._fields, ())
    start = 0
    for size in sizes:
        rows = slice(start, start + size)
        yield Block(**empty | {"time": time[rows], "sensors": sensors[rows], "d_sensors": derivatives[rows]})
        start += size


def run(objectives, sizes=(41,), rho=(0.7, 1.4)):
    p = len(objectives[0].parameters)
    accumulators = [accumulator(objective, p) for objective in objectives]
    for block in blocks(rho, sizes, p):
        for each in accumulators:
            each.add(block)
    return np.array([a.value for a in accumulators]), np.array([a.gradient for a in accumulators])


@pytest.fixture
def assembled(tmp_path):
    return build(load(tmp_path, TEXT))


def vertex(time, values):
    """The largest value of the parabola through the largest of some values and those beside it."""
    beside = np.argmax(values) + np.arange(-1, 2)
    found = np.polynomial.Polynomial.fit(time[beside], values[beside], 2)
    return found(found.deriv().roots()[0])


def test_values(assembled):
    time = np.linspace(0.0, 2.0, 41)
    r, q = np.split(signals(time, [0.7, 1.4]), [3], axis=1)
    q = q[:, 0]
    area = np.trapezoid((r * (r - [0.7, 0, 0])).sum(axis=1) + 1.4 * q * time, time)
    peak = np.log(np.trapezoid(np.exp(3.5 * (q**2 + 1.4)), time) / 2.0) / 3.5
    end = r[-1, 1] * q[-1] + 0.7
    middle = np.trapezoid(q**2 + 1.4, time) / 2.0
    size = np.sqrt(np.trapezoid((0.7 * q - r[:, 0]) ** 2, time) / 2.0)
    low = -np.log(np.trapezoid(np.exp(-3.5 * (q + 1.4)), time) / 2.0) / 3.5
    around = slice(13, 17)  # 0.72 s lies between 0.7 and 0.75
    then = np.polynomial.Polynomial.fit(time[around], (r[:, 1] * q * 1.4)[around], 3)(0.72)
    highest = [vertex(time, signal) for signal in (1.4 * r[:, 0] - q, -q - 1.4)]
    values, _ = run(assembled.objectives)
    expected = [area, end, peak, area**2 + 0.7 * peak - end, middle, size, low, then]
    expected += [highest[0], -highest[1], 1.4, -0.7 * 4.0]
    np.testing.assert_allclose(values, expected, rtol=1e-13)


def test_blocks_may_be_of_any_size(assembled):
    value, gradient = run(assembled.objectives)
    for sizes in ((1,) * 41, (1, 20, 20), (40, 1)):
        again = run(assembled.objectives, sizes)
        np.testing.assert_allclose(again[0], value, rtol=1e-14)
        np.testing.assert_allclose(again[1], gradient, rtol=1e-13)


def test_gradients_follow_parameters_through_sensors_expressions_and_sharpness(assembled):
    """Parameter a moves b with it; the sensors move with a, b as they stand."""
    _, gradient = run(assembled.objectives)
    h = 1e-6
    for k, move in enumerate(({"a": 1.0}, {"b": 1.0})):
        values = []
        for s in (h, -h):
            moved = {name: VALUES[name] + s * rate for name, rate in move.items()}
            objectives = assembled.at(moved).objectives
            rho = np.array([0.7, 1.4]) + s * np.eye(2)[k]
            values.append(run(objectives, rho=rho)[0])
        np.testing.assert_allclose(gradient[:, k], (values[0] - values[1]) / (2 * h), rtol=1e-7, atol=1e-8)


def test_a_single_instant_has_a_maximum_and_no_area(assembled):
    first = next(blocks((0.7, 1.4), (1,)))
    for objective, expected in zip(assembled.objectives[:3], (0.0, 0.7, np.sin(1.4) ** 2 + 1.4), strict=True):
        adding = accumulator(objective, 2)
        adding.add(first)
        assert adding.value == pytest.approx(expected + (np.sin(1.4) * 1.4 if objective.kind == "final" else 0.0))


def test_the_largest_value_of_a_parabola_is_exact_wherever_time_points_lie(tmp_path):
    """That of 3 - (t - c)^2 is 3 at the time c, and its derivative by c is zero."""
    (objective,) = build(load(tmp_path, SPIKE.replace("q, sharpness: 1000", "q"))).objectives
    for center in (1.0, 1.013, 1.05, 1.09, 0.013, 0.04, 0.06, 1.94, 1.96, 1.999):
        time = np.linspace(0.0, 2.0, 21)
        slopes = np.stack([2.0 * (time - center), np.ones(21)], axis=1)[:, None]
        values = {"time": time, "sensors": 3.0 - (time[:, None] - center) ** 2, "d_sensors": slopes}
        adding = accumulator(objective, 2)
        adding.add(Block(**dict.fromkeys(Block._fields, ()) | values), np.zeros((1, 21)))
        assert adding.value == pytest.approx(3.0, rel=1e-14)
        np.testing.assert_allclose(adding.gradient, [0.0, 1.0], atol=1e-13)
        beside = abs(1.0 - center) > 0.95  # there it is compared with the time point at the start or at the end
        assert (adding.uncertainty.errors.max() < 1e-13) != beside


@pytest.mark.parametrize(("end", "center"), [(1.96, 1.98), (1.96, 1.955), (2.04, 2.02), (2.04, 2.1)])
def test_largest_values_are_sought_until_the_end_between_two_time_points(tmp_path, end, center):
    """The last time point lies before or behind the end; of a signal that still rises there the end has the value."""
    (objective,) = build(load(tmp_path, SPIKE.replace("q, sharpness: 1000", "q"))).objectives
    time = np.linspace(0.0, 2.0, 21)
    slopes = np.stack([2.0 * (time - center), np.ones(21)], axis=1)[:, None]
    values = {"time": time, "sensors": 3.0 - (time[:, None] - center) ** 2, "d_sensors": slopes}
    adding = accumulator(replace(objective, end=end, end_rho=[0.0, 1.0]), 2)
    adding.add(Block(**dict.fromkeys(Block._fields, ()) | values), np.zeros((1, 21)))
    short = max(0.0, center - end)
    assert adding.value == pytest.approx(3.0 - short**2, rel=1e-13)
    np.testing.assert_allclose(adding.gradient, [-2.0 * short, 1.0 + 2.0 * short], atol=1e-12)


@pytest.mark.parametrize("sizes", [(41,), (1,) * 41, (10, 10, 21), (20, 1, 20), (22, 19)])
@pytest.mark.parametrize("first", [0.0, 0.98])
def test_a_signal_that_stays_at_its_largest_value_has_that(tmp_path, sizes, first):
    """As one that is clipped: no parabola exceeds the bound, and the first of equal values counts in any blocks."""
    (objective,) = build(load(tmp_path, SPIKE.replace("q, sharpness: 1000", "q"))).objectives
    time = np.linspace(0.0, 2.0, 41)
    values = {"time": time, "sensors": np.minimum(1.0, np.minimum(1.0 - first + time, 2.43 - time))[:, None]}
    values["d_sensors"] = np.stack([time, time**2], axis=1)[:, None]
    adding = accumulator(objective, 2)
    for rows in np.split(np.arange(41), np.cumsum(sizes)[:-1]):
        adding.add(Block(**dict.fromkeys(Block._fields, ()) | {name: value[rows] for name, value in values.items()}))
    at = time[np.argmax(values["sensors"])]
    assert adding.value == pytest.approx(1.0, rel=1e-14) and at == pytest.approx(first + 0.02 * (first > 0.0))
    np.testing.assert_allclose(adding.gradient, [at, at**2], atol=1e-13)


def test_the_error_of_a_largest_value_is_estimated(tmp_path):
    """Of a spike between time points: about that of a parabola, also where a block ends beside it."""
    for sizes in ((None,), (1,) * 101, (49, 1, 51), (51, 50), (52, 49)):
        found = spike(tmp_path, 101, 0.3, sizes, sharpness="")
        assert 0.0 < abs(found.value - 10.0) < 2.0 * found.uncertainty.errors[0] < 2.0
        assert found.value == pytest.approx(spike(tmp_path, 101, 0.3, sharpness="").value, rel=1e-14)
    assert spike(tmp_path, 2001, 0.3, sharpness="").value == pytest.approx(10.0, rel=1e-6)


def uncertainties(objectives, step, shift=None):
    """Estimated errors on instants ``step`` apart, and the true ones of quadrature."""
    estimated, values = [], []
    for h in (step, 1e-4):
        time = np.linspace(0.0, 2.0, round(2.0 / h) + 1)
        empty = dict.fromkeys(Block._fields, ())
        columns = [signals(time, np.array([0.7, 1.4]) + 1e-30j * np.eye(2)[k]).imag / 1e-30 for k in range(2)]
        sensors, derivatives = signals(time, np.array([0.7, 1.4])), np.stack(columns, axis=2)
        accumulators = [accumulator(objective, 2) for objective in objectives]
        for each in accumulators:
            for rows in (slice(0, 7), slice(7, 18), slice(18, None)):
                block = Block(**empty | {"time": time[rows], "sensors": sensors[rows], "d_sensors": derivatives[rows]})
                each.add(block, None if shift is None else np.atleast_2d(shift(time[rows])))
        values.append([np.append(a.value, a.gradient) for a in accumulators])
        estimated.append([a.uncertainty.errors for a in accumulators])
    return np.array(estimated[0]), np.abs(np.array(values[0]) - np.array(values[1]))


@pytest.mark.parametrize("step", [0.05, 2.0 / 39.0])  # pairs of intervals, and one over
def test_the_error_of_quadrature_is_estimated(assembled, step):
    estimated, true = uncertainties(assembled.objectives, step, np.zeros_like)
    area, end, peak, both = range(4)
    assert true[area, 0] > 1e-4 and true[peak].max() > 1e-4
    np.testing.assert_allclose(estimated[[area, peak], 0], true[[area, peak], 0], rtol=0.3)
    np.testing.assert_allclose(estimated[area], true[area], rtol=0.3, atol=2e-5)
    np.testing.assert_allclose(estimated[peak, 1:], true[peak, 1:], rtol=1.0, atol=1e-3)
    assert not estimated[end].any() and estimated[both, 0] >= 0.5 * true[both, 0]


SPIKE = """
parameters: {a: 1, w: 0.02}
bodies: {m: {mass: 1, inertia: {zz: 1}}}
joints: {j: {type: revolute, bodies: [ground, m], point: origin, axis: z}}
sensors: {q: {type: coordinate, coordinate: j.angle}}
objectives: {peak: {maximum: q, sharpness: 1000}}
analysis: {duration: 2, sensitivity: {method: ddm}}
"""


def spike(tmp_path, count, off, sizes=(None,), sharpness=", sharpness: 1000"):
    """A maximum over instants whose nearest is ``off`` steps beside a peak of height 10 at 1 s, 0.02 s wide.

    Its derivatives are by the time of the peak, and by its width: both are nought.
    """
    (objective,) = build(load(tmp_path, SPIKE.replace(", sharpness: 1000", sharpness))).objectives
    adding, time = accumulator(objective, 2), np.linspace(0.0, 2.0, count)
    x = (time + off * time[1] - 1.0) / 0.02
    value = 10.0 * np.exp(-x * x)
    slopes = np.stack([value * 2.0 * x / 0.02, value * 2.0 * x * x / 0.02], axis=1)
    start = 0
    for size in sizes:
        rows = slice(start, None if size is None else start + size)
        values = {"time": time[rows], "sensors": value[rows, None], "d_sensors": slopes[rows, None]}
        adding.add(Block(**dict.fromkeys(Block._fields, ()) | values), np.zeros((1, len(time[rows]))))
        start += size or 0
    return adding


@pytest.mark.parametrize("off", [0.1, 0.3, 0.45])
def test_a_peak_between_instants_leaves_errors_of_its_height_and_of_derivatives(tmp_path, off):
    narrow, wide = spike(tmp_path, 101, off), spike(tmp_path, 20001, off)
    found = narrow.uncertainty
    assert abs(narrow.value - wide.value) < 3.0 * found.errors[0] < 5.0
    assert np.all(np.abs(narrow.gradient - wide.gradient) < 4.0 * found.errors[1:])
    assert wide.uncertainty.errors[0] < 1e-6 and np.all(wide.uncertainty.errors[1:] < 1e-2)


def test_a_peak_is_seen_wherever_blocks_begin(tmp_path):
    expected = spike(tmp_path, 101, 0.3).uncertainty
    for sizes in ((1,) * 101, (49, 1, 51), (50, 51), (51, 50), (52, 49)):
        found = spike(tmp_path, 101, 0.3, sizes).uncertainty
        np.testing.assert_allclose(found.errors[1:], expected.errors[1:], rtol=1e-12)
        assert found.errors[0] == pytest.approx(expected.errors[0], rel=1e-12)


def test_what_is_largest_at_an_end_has_no_peak_beside_it(tmp_path):
    (objective,) = build(load(tmp_path, SPIKE)).objectives
    for sign in (1.0, -1.0):
        adding, time = accumulator(objective, 2), np.linspace(0.0, 2.0, 11)
        slopes = np.ones((11, 1, 2)) * time[:, None, None]
        values = {"time": time, "sensors": sign * time[:, None], "d_sensors": slopes}
        adding.add(Block(**dict.fromkeys(Block._fields, ()) | values), np.zeros((1, 11)))
        assert adding.uncertainty.errors[0] < 1e-3 and np.all(adding.uncertainty.errors[1:] < 1e-12)


def test_a_motion_ahead_of_time_moves_objectives(assembled):
    """A shift of 1e-3 t: the integral of f'(t) 1e-3 t, and at the end f' 2e-3."""
    by_both = uncertainties(assembled.objectives, 1e-3, lambda time: 1e-3 * time)[0]
    time = np.linspace(0.0, 2.0, 2001)
    r, q = np.split(signals(time, [0.7, 1.4]), [3], axis=1)
    area = (r * (r - [0.7, 0, 0])).sum(axis=1) + 1.4 * q[:, 0] * time
    peak, end = np.exp(3.5 * (q[:, 0] ** 2 + 1.4)), r[:, 1] * q[:, 0] + 0.7
    ahead = [np.trapezoid(np.gradient(f, time) * 1e-3 * time, time) for f in (area, peak)]
    expected = [ahead[0], np.gradient(end, time)[-1] * 2e-3, ahead[1] / np.trapezoid(peak, time) / 3.5]
    np.testing.assert_allclose(by_both[:3, 0], np.abs(expected), rtol=0.02)


def test_derivatives_are_ahead_by_times_of_their_own(assembled):
    """The motion is exact; the derivative by a is ahead by 1e-3 t, that by b is not."""
    late = uncertainties(assembled.objectives, 1e-3, lambda time: np.stack([0 * time, 1e-3 * time, 0 * time]))[0]
    none = uncertainties(assembled.objectives, 1e-3, np.zeros_like)[0]
    time = np.linspace(0.0, 2.0, 2001)
    by_a = signals(time, np.array([0.7 + 1e-30j, 1.4])).imag / 1e-30
    r, q = signals(time, [0.7, 1.4])[:, 1], signals(time, [0.7, 1.4])[:, 3]
    slope = by_a[:, 1] * q + r * by_a[:, 3] + 1.0  # of the value at the end
    np.testing.assert_allclose(late[1], [0.0, abs(np.gradient(slope, time)[-1]) * 2e-3, 0.0], rtol=0.02, atol=1e-12)
    np.testing.assert_allclose(late[:, [0, 2]], none[:, [0, 2]])
    assert late[0, 1] > none[0, 1]


def test_what_is_continued_to_an_end_between_instants_is_not_exact(assembled):
    end, errors = replace(assembled.objectives[1], end=2.01), []
    for h in (0.1, 0.05):
        adding, time = accumulator(end, 2), np.arange(0.0, 2.0 + 1e-9, h)
        sensors = signals(time, np.array([0.7, 1.4]))
        values = {"time": time, "sensors": sensors, "d_sensors": np.zeros((*sensors.shape, 2))}
        adding.add(Block(**dict.fromkeys(Block._fields, ()) | values), np.zeros((1, len(time))))
        r, q = signals(np.array([2.01]), [0.7, 1.4])[0, [1, 3]]
        true = abs(adding.value - (r * q + 0.7))
        assert 1e-9 < true < adding.uncertainty.errors[0] < 1e2 * true
        errors.append(adding.uncertainty.errors[0])
    assert errors[1] < 0.1 * errors[0]


def test_what_is_not_known_of_a_motion_is_not_zero(assembled):
    unknown = uncertainties(assembled.objectives, 0.05)[0]
    assert np.isnan(unknown[1]).all() and np.isfinite(unknown[0]).all()


def test_only_constants_wander():
    time = np.linspace(0.0, 1.0, 11)
    wave = np.sin(9 * time)
    spread, other = Spread(2), Spread(2)
    for rows in (slice(0, 4), slice(4, None)):
        derivatives = np.stack([time, 2.0 + 1e-5 * wave], axis=1)[rows]
        spread.add(np.vstack([5.0 + 1e-4 * wave[rows], derivatives.T]))
        other.add(np.vstack([wave[rows], derivatives.T]))
    np.testing.assert_allclose(spread.of_constants, [1e-4 * np.ptp(wave), 0.0, 1e-5 * np.ptp(wave)], rtol=1e-6)
    assert not other.of_constants.any()


def test_a_constant_of_zero_is_known_by_what_it_is_made_of():
    """As the energy of a pendulum that starts upright."""
    spread = Spread(0)
    spread.add(1e-5 * np.sin(np.linspace(0.0, 9.0, 50))[None], scale=10.0)
    assert spread.of_constants[0] == pytest.approx(2e-5, rel=0.01)


def test_what_wanders_once_is_no_constant_any_more():
    spread = Spread(1)
    spread.add(np.array([[1.0, 1.0 + 1e-5], [2.0, 2.0 + 1e-6]]))
    assert np.allclose(spread.of_constants, [1e-5, 1e-6])
    spread.add(np.array([[1.0, 1.1], [2.0, 2.0]]))
    spread.add(np.array([[1e3, -1e3], [9.0, 2.0]]), scale=1e9)
    assert not spread.of_constants.any()
