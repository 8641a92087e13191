"""Integrals, extremes and values of signals that jump at times which parameters move, by formulas."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from mbsim_cli.assembly import build
from mbsim_cli.assembly.objectives import Jump
from mbsim_cli.model.problem import Block
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.objectives import accumulator, by_few, explicit_parameters, stepped
from tests.assembly.texts import load

TEXT = """
parameters: {c: 0.777, d: 1.31}
bodies: {m: {mass: 1, inertia: {zz: 1}}}
joints: {j: {type: revolute, bodies: [ground, m], point: origin, axis: z}}
sensors: {q: {type: coordinate, coordinate: j.angle}}
objectives:
  whole: {integral: q}
  middle: {mean: q}
  square: {integral: q**2}
  size: {rms: q}
  peak: {maximum: q, sharpness: 0.3}
analysis: {duration: 2, sensitivity: {method: ddm}}
"""
TIME = np.linspace(0.0, 2.0, 41)
NEAR = 1e-9 * 0.05
PIECES = [np.polynomial.Polynomial(c) for c in ([1.0, 0.5], [4.0, -2.0], [-1.0, 1.0])]


@pytest.fixture(scope="module")
def objectives(tmp_path_factory):
    return build(load(tmp_path_factory.mktemp("split"), TEXT)).objectives


def jumps(c, d):
    spans = (-np.inf, c - NEAR), (c + NEAR, d - NEAR), (d + NEAR, np.inf)
    return Jump(c, [1.0, 0.0], *spans[:2]), Jump(d, [0.0, 1.0], *spans[1:])


def found_of(objective, c, d, sizes=(41,)):
    """The accumulator of a signal that is one line before c, another between c and d, and another behind."""
    signal = np.select([c > TIME, d > TIME], [piece(TIME) for piece in PIECES[:2]], PIECES[2](TIME))
    adding = accumulator(objective, 2)
    for rows in np.split(np.arange(len(TIME)), np.cumsum(sizes)[:-1]):
        slopes = np.zeros((len(rows), 1, 2))
        values = {"time": TIME[rows], "sensors": signal[rows, None], "d_sensors": slopes}
        adding.add(Block(**dict.fromkeys(Block._fields, ()) | values), np.zeros((1, len(rows))))
    return adding, signal


def exact(c, d, of=lambda piece, t: piece(t)):
    """The integral of a function of the signal."""
    total, (x, w) = 0.0, np.polynomial.legendre.leggauss(20)
    for piece, (low, high) in zip(PIECES, ((0.0, c), (c, d), (d, 2.0)), strict=True):
        half = 0.5 * (high - low)
        total += half * (w @ of(piece, low + half * (1.0 + x)))
    return total


VALUES = {
    "whole": lambda c, d: exact(c, d),
    "middle": lambda c, d: exact(c, d) / 2.0,
    "square": lambda c, d: exact(c, d, lambda piece, t: piece(t) ** 2),
    "size": lambda c, d: np.sqrt(exact(c, d, lambda piece, t: piece(t) ** 2) / 2.0),
    "peak": lambda c, d: np.log(exact(c, d, lambda piece, t: np.exp(0.3 * piece(t))) / 2.0) / 0.3,
}


@pytest.mark.parametrize(("c", "d"), [(0.777, 1.31), (0.8, 1.3), (0.775, 1.999 - 0.1), (0.06, 0.17)])
@pytest.mark.parametrize("sizes", [(41,), (1,) * 41, (16, 1, 24), (17, 24), (1, 20, 20)])
def test_integrals_follow_times_of_jumps(objectives, c, d, sizes):
    """Also times on time points; the trapezoidal rule is exact for lines, and of second order for other functions."""
    for objective in objectives:
        value, h = VALUES[objective.name], 1e-6
        objective = with_jumps(objective, c, d)
        adding, _ = found_of(objective, c, d, sizes)
        bound = 1e-11 if objective.name in ("whole", "middle") else 5e-3
        assert adding.value == pytest.approx(value(c, d), rel=bound)
        by_times = (value(c + h, d) - value(c - h, d)) / (2 * h), (value(c, d + h) - value(c, d - h)) / (2 * h)
        np.testing.assert_allclose(adding.gradient, by_times, rtol=max(bound, 1e-8), err_msg=objective.name)


def with_jumps(objective, c, d):
    operands = tuple(with_jumps(operand, c, d) for operand in objective.operands)
    return replace(objective, jumps=() if operands else jumps(c, d), operands=operands)


@pytest.mark.parametrize(("c", "d"), [(0.777, 1.31), (0.8, 1.3)])
def test_gradients_through_times_agree_by_all_methods(objectives, c, d):
    """Complex steps of the value, differences, and the explicit part of adjoints."""
    for objective in objectives:
        objective = with_jumps(objective, c, d)
        adding, _ = found_of(objective, c, d)
        for k in range(2):
            moved, _ = found_of(stepped(objective, k, 1e-30j), c, d)
            assert np.imag(moved.value) / 1e-30 == pytest.approx(adding.gradient[k], rel=1e-12)
        assert explicit_parameters(objective) == {0, 1}
        parts = by_few(objective, [1]).operands or [by_few(objective, [1])]
        assert [jump.time_rho for part in parts for jump in part.jumps] == [[0.0], [1.0]]


@pytest.mark.parametrize("runs", [(40,), (40, 37)])
def test_jumps_are_extrapolated_to_from_time_points_inside_steps_of_each_run(objectives, runs):
    """So many steps to either side of c; values at output times alone would be 3e-3 off."""
    c, (x, w), p = 0.8, np.polynomial.legendre.leggauss(8), 2
    objective = replace(objectives[0], jumps=jumps(c, 3.0)[:1])

    def block(time, **more):
        values = np.where(time < c, np.sin(20.0 * time), np.cos(20.0 * time))
        given = {"time": time, "sensors": values[:, None], "d_sensors": np.zeros((len(time), 1, p))} | more
        return Block(**dict.fromkeys(Block._fields, ()) | given)

    inside = []
    for steps in runs:
        ends = np.concatenate([np.linspace(0.0, c, steps), np.linspace(c, 2.0, steps)[1:]])
        half = 0.5 * np.diff(ends)[:, None]
        length = (half * w).ravel() / len(runs)
        inside.append(block((ends[:-1, None] + half * (1.0 + x)).ravel(), length=length))
    adding = accumulator(objective, p)
    adding.add(block(TIME, inside=tuple(inside)))
    exact = (1.0 - np.cos(20.0 * c)) / 20.0 + (np.sin(40.0) - np.sin(20.0 * c)) / 20.0
    assert adding.value == pytest.approx(exact, rel=1e-12)
    assert adding.gradient[0] == pytest.approx(np.sin(20.0 * c) - np.cos(20.0 * c), rel=1e-9)


def at_time(objective, end):
    return replace(objective, kind="at", end=end, end_rho=[0.0, 0.0])


@pytest.mark.parametrize(("c", "d"), [(0.777, 1.31), (0.8, 1.3), (0.775, 1.999 - 0.1), (0.06, 0.17)])
@pytest.mark.parametrize("sizes", [(41,), (1,) * 41, (16, 1, 24), (17, 24), (1, 20, 20)])
def test_extremes_and_values_at_times_are_those_of_one_side(objectives, c, d, sizes):
    """A parabola, or a cubic polynomial, across a jump would have a part of it."""
    largest, _ = found_of(with_jumps(replace(objectives[4], sharpness=None), c, d), c, d, sizes)
    assert largest.value == pytest.approx(PIECES[1](c), rel=1e-12)
    np.testing.assert_allclose(largest.gradient, [-2.0, 0.0], atol=1e-10)
    for moment in (c - 1e-3, c, c + 1e-3, 0.5 * (c + d), d - 1e-3, d + 1e-3):
        k = (c <= moment) + (d <= moment)
        found, signal = found_of(with_jumps(at_time(objectives[0], moment), c, d), c, d, sizes)
        assert found.value == pytest.approx(PIECES[k](moment), rel=1e-11)
        assert found.weights(TIME) @ signal == pytest.approx(found.value, rel=1e-13)
        assert found.errors.errors[0] < 1e-11 or c == 0.06  # there two time points give the line


def test_extremes_where_time_points_lie_on_jumps_alone(objectives, monkeypatch):
    """As of samples that a law holds: no parabola goes through several of them."""
    monkeypatch.setitem(globals(), "TIME", np.linspace(0.0, 2.0, 5))
    spans = [(low + NEAR, high - NEAR) for low, high in pairwise([-np.inf, 0.5, 1.0, 1.5, np.inf])]
    at = tuple(Jump(jump, [0.0, 0.0], *pair) for jump, pair in zip((0.5, 1.0, 1.5), pairwise(spans), strict=True))
    objective = replace(objectives[4], sharpness=None, jumps=at)
    adding, values = accumulator(objective, 2), np.array([1.0, 3.0, 4.0, 3.5, -2.0])
    block = {"time": TIME, "sensors": values[:, None], "d_sensors": np.ones((5, 1, 2))}
    adding.add(Block(**dict.fromkeys(Block._fields, ()) | block), np.zeros((1, 5)))
    assert adding.value == 4.0 and adding.gradient.tolist() == [1.0, 1.0]
    np.testing.assert_array_equal(adding.weights(TIME), [0.0, 0.0, 1.0, 0.0, 0.0])


def test_values_between_jumps_with_one_time_point_are_read_across_them(objectives):
    """A value that does not jump is right to more than the zeroth order there."""
    c, d = 0.77, 0.83
    objective = with_jumps(at_time(objectives[0], 0.815), c, d)
    for sizes in ((41,), (1,) * 41, (16, 25), (17, 24)):
        adding = accumulator(objective, 2)
        for rows in np.split(TIME, np.cumsum(sizes)[:-1]):
            values = {"time": rows, "sensors": 3.0 * rows[:, None], "d_sensors": np.zeros((len(rows), 1, 2))}
            adding.add(Block(**dict.fromkeys(Block._fields, ()) | values), np.zeros((1, len(rows))))
        assert adding.value == pytest.approx(3.0 * 0.815, rel=1e-12)
        assert adding.weights(TIME) @ (3.0 * TIME) == pytest.approx(adding.value, rel=1e-13)


@pytest.mark.parametrize(("c", "d"), [(0.777, 1.31), (0.8, 1.3)])
def test_gradients_of_extremes_beside_jumps(objectives, c, d):
    """The signal is largest behind the first jump, its negative behind the second."""
    top = replace(objectives[4], sharpness=None)
    for lines in (PIECES, [-line for line in PIECES]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(globals(), "PIECES", lines)
            adding, signal = found_of(with_jumps(top, c, d), c, d)
            ends = [(0, 0.0, -1), (0, c, 0), (1, c, 0), (1, d, 1), (2, d, 1), (2, 2.0, -1)]
            piece, time, moved = max(ends, key=lambda end: PIECES[end[0]](end[1]))
            assert adding.value == pytest.approx(PIECES[piece](time), rel=1e-12)
            slopes = [PIECES[piece].deriv()(time) * (k == moved) for k in range(2)]
            np.testing.assert_allclose(adding.gradient, slopes, atol=1e-10)
            assert adding.weights(TIME) @ signal == pytest.approx(adding.value, rel=1e-13)
            assert adding.errors.errors[0] < 1e-11
            moving, _ = found_of(stepped(with_jumps(top, c, d), max(moved, 0), 1e-30j), c, d)
            assert np.imag(moving.value) / 1e-30 == pytest.approx(slopes[max(moved, 0)], abs=1e-10)


def test_weights_of_adjoints_are_derivatives_by_the_signal(objectives):
    objective = with_jumps(objectives[0], 0.8, 1.31)
    adding, signal = found_of(objective, 0.8, 1.31)
    weights = adding.weights(TIME)
    assert weights @ signal == pytest.approx(adding.value, rel=1e-14)
    assert weights[16] == 0.0 and weights.sum() == pytest.approx(2.0, rel=1e-14)  # 0.8 s is a time point


def test_a_time_point_on_a_jump_may_have_no_derivative(objectives):
    gradient = np.where(np.arange(41) == 16, np.nan, 1.0)
    signal = np.where(np.arange(41) < 16, 1.0, 3.0)
    adding = accumulator(with_jumps(objectives[0], 0.8, 1.31), 2)
    slopes = np.stack([gradient, gradient], axis=1)[:, None]
    values = {"time": TIME, "sensors": signal[:, None], "d_sensors": slopes}
    adding.add(Block(**dict.fromkeys(Block._fields, ()) | values), np.zeros((1, 41)))
    np.testing.assert_allclose(adding.gradient, [2.0 - 2.0, 2.0], atol=1e-12)
    assert np.isfinite(adding.uncertainty.errors).all()


@pytest.mark.parametrize("count", [40, 41])
@pytest.mark.parametrize("d", [1.31, 1.925])
def test_errors_of_integrals_do_not_count_the_jump(objectives, monkeypatch, count, d):
    """A jump of 1 inside an interval of 0.05 s would be an error of 0.01 by the trapezoidal rule across it.

    Also where two time points lie behind the jump, and the interval between them has no partner.
    """
    monkeypatch.setitem(globals(), "TIME", np.linspace(0.0, 2.0, count))
    for objective in objectives:
        objective = with_jumps(objective, 0.777, d)
        adding, _ = found_of(objective, 0.777, d, (count,))
        off, error = abs(adding.value - VALUES[objective.name](0.777, d)), adding.uncertainty.errors[0]
        assert off <= 1.5 * error + 1e-13 and error < 6e-3
        assert error < 5e-4 or objective.name not in ("whole", "middle")  # of lines: of the sides of jumps alone


@pytest.mark.parametrize(("count", "c", "d"), [(6, 0.1, 1.7), (4, 2.0 / 3.0, 1.39)])
def test_errors_where_one_time_point_lies_beside_a_jump(objectives, monkeypatch, count, c, d):
    """As in runs with twice the step, where two lie there in the run itself; also with no interval between jumps."""
    monkeypatch.setitem(globals(), "TIME", np.linspace(0.0, 2.0, count))
    for objective in objectives:
        adding, _ = found_of(with_jumps(objective, c, d), c, d, (count,))
        assert np.isfinite(adding.gradient).all() and np.isfinite(adding.uncertainty.errors).all()


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("sharpness", [200.0, 20000.0])
def test_sharp_maxima_stay_numbers_beside_jumps(objectives, inside, sharpness):
    """exp(s f) falls by a factor of 1e5 between time points beside the jump, or of 1e500, which is no number.

    Polynomials through that are negative.
    """
    objective = replace(objectives[4], sharpness=sharpness, sharpness_rho=[0.0, 0.0], jumps=jumps(0.777, 1.31)[:1])
    signal = np.where(np.arange(41) < 16, 2.0 - 1.2 * (TIME - 0.777), -1.2 * np.abs(TIME - 0.777))
    signal[:11] = 2.0 + 1.2 * TIME[:11]

    def found_of(given):
        adding = accumulator(given, 2)
        adding._inside = inside
        values = {"time": TIME, "sensors": signal[:, None], "d_sensors": np.ones((41, 1, 2))}
        adding.add(Block(**dict.fromkeys(Block._fields, ()) | values), np.zeros((1, 41)))
        adding._inside = inside
        return adding

    adding = found_of(objective)
    assert 2.0 < adding.value < 2.7 and np.isfinite(adding.gradient).all()
    moved = found_of(stepped(objective, 0, 1e-30j)).value
    assert np.imag(moved) / 1e-30 == pytest.approx(adding.gradient[0] - 1.0, abs=1e-12)  # the signal moves by 1
    weights = adding.weights(TIME) * adding.share(signal)
    assert weights.sum() == pytest.approx(1.0 if not inside else 0.0, abs=1e-12)


GIVEN = """
parameters: {a: 0.3, b: 0.6}
laws: {path: {type: spline, times: [0, a, b, 1], values: [0, 0.2, -0.1, 0.3]}}
bodies: {m: {mass: 1}}
joints: {j: {type: prismatic, bodies: [ground, m], point: origin, axis: x}}
sensors: {tau: {type: torque, coordinate: j.displacement}}
objectives: {effort: {integral: tau**2}}
analysis: {type: inverse_dynamics, sampling: 0.002, duration: 0.9, motion: {laws: {j.displacement: path}},
  sensitivity: {method: ddm}}
"""


def test_integrals_follow_corners_of_accelerations_of_a_given_motion(tmp_path):
    """Times of a spline on samples: on both sides of them derivatives of accelerations differ."""

    def effort(a, b):
        acceleration = CubicSpline([0.0, a, b, 1.0], [0.0, 0.2, -0.1, 0.3], bc_type="natural").derivative(2)
        pieces = pairwise([0.0, a, b, 0.9])
        return sum((v - u) * (acceleration([u, (u + v) / 2, v]) ** 2 @ [1.0, 4.0, 1.0]) / 6.0 for u, v in pieces)

    built = build(load(tmp_path, GIVEN))
    found = evaluate(built.problem, built.objectives)["effort"]
    h = 1e-6
    by_a = (effort(0.3 + h, 0.6) - effort(0.3 - h, 0.6)) / (2 * h)
    by_b = (effort(0.3, 0.6 + h) - effort(0.3, 0.6 - h)) / (2 * h)
    assert found.value == pytest.approx(effort(0.3, 0.6), rel=1e-3)
    np.testing.assert_allclose(found.gradient, [by_a, by_b], rtol=3e-4)


PULSE = """
parameters: {T: 0.11}
laws:
  pulse:
    type: windowed
    start: 0.1
    end: 0.1 + T
    law: {type: harmonic, amplitude: 0.1, angular_frequency: pi/T, power: 3}
bodies: {m: {mass: 2}}
joints: {j: {type: prismatic, bodies: [ground, m], point: origin, axis: x}}
sensors: {tau: {type: torque, coordinate: j.displacement}}
objectives: {effort: {integral: (tau + 40)**2}}
analysis: {type: inverse_dynamics, sampling: 0.001, duration: 0.37, motion: {laws: {j.displacement: pulse}},
  sensitivity: {method: METHOD}}
"""


@pytest.mark.parametrize("method", ["ddm", "adjoint"])
def test_integrals_follow_the_end_of_a_pulse_that_moves(tmp_path, method):
    """The acceleration has a corner there, on a sample; the gradient was wrong by a share of the step, 0.44 %."""
    built = build(load(tmp_path, PULSE.replace("METHOD", method)))
    found = evaluate(built.problem, built.objectives)["effort"]
    of_pulse = (2.0 * 0.1) ** 2 * (np.pi / 0.11) ** 3 * 90.0 * np.pi / 32.0  # of tau^2; that of tau is zero
    assert found.value == pytest.approx(of_pulse + 40.0**2 * 0.37, rel=1e-4)
    assert found.gradient[0] == pytest.approx(-3.0 * of_pulse / 0.11, rel=6e-4)


@pytest.mark.parametrize("method", ["ddm", "adjoint"])
@pytest.mark.parametrize("time", ["0.2995", "0.3", "0.3005"])
def test_values_and_extremes_follow_corners_of_accelerations_of_a_given_motion(tmp_path, method, time):
    """A cubic across a corner had a derivative by its time of -50 in place of 35, a parabola -65 in place of -2."""

    def signal(a, b, at):
        law = CubicSpline([0.0, a, b, 1.0], [0.0, 0.2, -0.1, 0.3], bc_type="natural")
        return law.derivative(2)(at)

    def exact(a, b):
        return [signal(a, b, float(time)), signal(a, b, a)]  # the acceleration is smallest at the corner

    stated = f"{{then: {{at: {{time: {time}, value: tau}}}}, least: {{minimum: tau}}}}"
    text = GIVEN.replace("{effort: {integral: tau**2}}", stated).replace("method: ddm", f"method: {method}")
    built = build(load(tmp_path, text))
    found, h = evaluate(built.problem, built.objectives), 1e-6
    by_a = (np.array(exact(0.3 + h, 0.6)) - exact(0.3 - h, 0.6)) / (2 * h)
    by_b = (np.array(exact(0.3, 0.6 + h)) - exact(0.3, 0.6 - h)) / (2 * h)
    for name, value, *gradient in zip(("then", "least"), exact(0.3, 0.6), by_a, by_b, strict=True):
        assert found[name].value == pytest.approx(value, rel=1e-9)
        if name == "least" or time != "0.3":  # the derivative has two sides at the corner itself
            np.testing.assert_allclose(found[name].gradient, gradient, rtol=1e-6)


def test_jumps_between_many_corners_of_accelerations_are_split(tmp_path):
    """Two samples for each row of a spline, whose times a parameter moves, tell nothing of its small corners."""
    rows = np.linspace(0.0, 1.0, 46)
    found = []
    for factor in ("", "*a"):
        moved = GIVEN.replace("0, a, b, 1]", ", ".join(f"{row!r}{factor}" for row in rows.tolist()) + "]")
        moved = moved.replace("0, 0.2, -0.1, 0.3]", ", ".join(f"{row:.6f}" for row in np.sin(5 * rows)) + "]")
        moved = moved.replace("laws: {path", "laws: {all: {type: sum, laws: [path, late]}, late: WINDOW, path")
        moved = moved.replace("WINDOW", "{type: windowed, start: b, end: b + 1, law: wave}, wave: WAVE")
        moved = moved.replace("WAVE", "{type: harmonic, amplitude: 2, angular_frequency: pi, power: 2}")
        moved = moved.replace("displacement: path", "displacement: all").replace("0.002", "0.01")
        built = build(load(tmp_path, moved.replace("a: 0.3, b: 0.6", "a: 1, b: 0.55")))
        found.append(evaluate(built.problem, built.objectives)["effort"])
    still, moving = found
    assert moving.gradient[1] == pytest.approx(still.gradient[1], rel=1e-9)
    assert moving.value == pytest.approx(still.value, rel=1e-12)
    assert not built.warnings
