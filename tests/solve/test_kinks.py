"""Steps of open trees across instants at which laws of time change: derivatives by these, by formulas."""

import json
import re
from itertools import pairwise
from math import cos

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.assembly.elements.unsmooth_laws import Edge
from mbsim_cli.errors import ModelError
from mbsim_cli.kernels.drivers import stepping
from mbsim_cli.solve.breakpoints import pieces_of
from mbsim_cli.study.assembling import Settings, build
from mbsim_cli.study.evaluation import blocks_of, evaluate

A, B, END, HEIGHT, SLOPE, MASS = 0.031, 0.093, 0.15, 0.7, 1.1, 1.3
TIGHT = {"tolerance": 1e-11, "absolute_tolerance": 1e-11}
INTEGRATORS = {  # and how near derivatives are
    "dop853": (TIGHT | {"integrator": "dop853"}, 1e-9),
    "dop853 loosely": ({"integrator": "dop853", "tolerance": 1e-7, "absolute_tolerance": 1e-7}, 1e-7),
    "esdirk": (TIGHT | {"integrator": "esdirk"}, 1e-7),
    "rk4": ({"integrator": "rk4"}, 2e-3),
}
RAMP = {"type": "spline", "times": ["a", "b"], "values": ["h", 0.0], "extrapolate": "hold"}
PULSE = {"type": "harmonic", "amplitude": "h", "angular_frequency": "pi/(b - a)", "power": 2}
WINDOW = {"type": "windowed", "start": "a", "end": "b", "law": PULSE}
BLEND = {  # constant, then with a constant acceleration, then with the rate that was reached
    "type": "piecewise",
    "breaks": ["a", "b"],
    "laws": [
        {"type": "constant", "value": 0},
        {"type": "polynomial", "coefficients": ["h*a**2/2", "-h*a", "h/2"]},
        {"type": "polynomial", "coefficients": ["h*(a**2 - b**2)/2", "h*(b - a)"]},
    ],
}


def model(law, **how):
    """The file of ``data_of``."""
    return spec.load("m.yaml", texts={"m.yaml": json.dumps(data_of(law, **how))})


def data_of(law, *, drives, also=None, parameters=None, extra=None, sensors=None, **analysis):
    """A slider on a slope that a cart carries: the law drives the cart, or is a force on the slider.

    ``also`` is a law of the slider on a driven cart.
    """
    vectors = {"way": {"ground": [1, 0, 0], "cart": [1, 0, 0]}, "slope": {"cart": [cos(SLOPE), 0, np.sin(SLOPE)]}}
    vectors["slope"]["slider"] = [1, 0, 0]
    body = {"mass": MASS, "center_of_mass": [0.1, 0, 0], "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1}}
    slope = {"type": "prismatic", "bodies": ["cart", "slider"], "point": "slope", "axis": "slope"}
    data = {
        "mbsim": 1,
        "parameters": {"a": A, "b": B, "h": HEIGHT} | (parameters or {}),
        "gravity": [0, 0, 0],
        "bodies": {"cart": body, "slider": body},
        "points": {"way": {"ground": [0, 0, 0], "cart": [0, 0, 0]}, "slope": {"cart": [0, 0, 0], "slider": [0, 0, 0]}},
        "vectors": vectors,
        "joints": {"way": slope | {"bodies": ["ground", "cart"], "point": "way", "axis": "way"}, "slope": slope},
        "sensors": {
            "s": {"type": "coordinate", "coordinate": "slope.displacement"},
            "v": {"type": "coordinate", "coordinate": "slope.displacement", "derivative": 1},
        },
        "objectives": {"s": {"final": "s"}, "v": {"final": "v"}},
        "analysis": {"duration": END, "step": 2e-3, "formulation": "recursive", **analysis},
    }
    if drives:
        motion = {"type": "motion", "coordinate": "way.displacement", "law": law}
        data["constraints"] = {"m": motion}
        if also:
            data["constraints"]["also"] = motion | {"coordinate": "slope.displacement", "law": also}
    else:
        data["joints"]["way"] = data["joints"]["way"] | {"type": "fixed"}
        del data["joints"]["way"]["axis"]
        data["forces"] = {"f": {"type": "drive", "coordinate": "slope.displacement", "law": law}}
    data["sensors"] |= sensors or {}
    return data | (extra or {})


def ramp(a, b, h):
    """Way and rate of the slider at the end under a force that falls from h to zero."""
    rate = (h * a + h * (b - a) / 2) / MASS
    way = h * a * a / 2 + h * a * (b - a) + h * (b - a) ** 2 / 3
    return way / MASS + rate * (END - b), rate


def pulse(a, b, h):
    """The same under h sin^2."""
    rate = h * (b - a) / 2 / MASS
    return rate * (END - (a + b) / 2), rate


def left_behind(way, rate):
    """The same on a cart that goes a way and has a rate at the end."""
    return -cos(SLOPE) * way, -cos(SLOPE) * rate


def blend(a, b, h):
    return left_behind(h * (a * a - b * b) / 2 + h * (b - a) * END, h * (b - a))


CASES = {
    "a force that is held": (RAMP, False, ramp),
    "a force in a window": (WINDOW, False, pulse),
    "a cart in a window": (WINDOW, True, lambda a, b, h: left_behind(0 * a * b * h, 0 * a)),
    "a cart that begins to go": (BLEND, True, blend),
}


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("case", CASES)
def test_derivatives_by_instants_at_which_laws_change(case, integrator, monkeypatch):
    monkeypatch.setattr(stepping, "LONGEST", 0.05)  # as compiled: errors of longer interpreted steps exceed the bound
    (law, drives, formula), (analysis, bound), given = CASES[case], INTEGRATORS[integrator], [A, B, HEIGHT]
    for method in ("ddm", "adjoint"):
        file = model(law, drives=drives, **analysis, sensitivity={"method": method, "parameters": "all"})
        assembled = build(file, Settings(), None)
        found = evaluate(assembled.problem, assembled.objectives)
        for k, name in enumerate(("s", "v")):
            assert found[name].value == pytest.approx(formula(*given)[k], abs=0.01 * bound)
            for j in range(3):
                moved = [x + (1e-30j if i == j else 0) for i, x in enumerate(given)]
                exact = (formula(*moved)[k]).imag / 1e-30
                assert found[name].gradient[j] == pytest.approx(exact, abs=bound), (method, name, j)


@pytest.mark.parametrize("integrator", ["dop853", "esdirk", "rk4"])
@pytest.mark.parametrize("b", [0.03 + 0.06, 0.09, float(np.nextafter(0.09, 1))])
def test_a_kink_at_an_instant_of_results(b, integrator):
    """The row there shows what holds behind it; round-off does not part the one from the other."""
    assembled = build(model(BLEND, drives=True, parameters={"b": b}, **INTEGRATORS[integrator][0]), Settings(), None)
    blocks = list(blocks_of(assembled.problem))
    time, acceleration = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("time", "acceleration"))
    row = int(np.flatnonzero(np.isclose(time, 0.09))[0])
    assert np.allclose(acceleration[row - 1 : row + 2, 0], [HEIGHT, 0.0, 0.0], atol=1e-12)
    assert np.allclose(time, 2e-3 * np.arange(76), atol=1e-15)


@pytest.mark.parametrize("law", [RAMP, WINDOW | {"law": PULSE | {"power": 1}}])
def test_rates_that_jump_take_impulses(law):
    with pytest.raises(ModelError, match=r"constraints.m.law: the rate of the law jumps from .* to .* at 0.0[39]"):
        build(model(law, drives=True), Settings(), None)
    build(model(law, drives=True, formulation="ali3p-rtdyn1"), Settings(), None)
    build(model(law, drives=True, duration=0.02), Settings(), None)


def test_jumps_at_one_instant_that_parameters_part():
    """How much each of them has of the jump that is found is not known."""
    late = json.loads(json.dumps(BLEND).replace('"a"', '"c"').replace("*a", "*c"))
    with pytest.raises(ModelError, match=r"accelerations jump at 0.031 s by several laws, and parameters move these"):
        build(model(BLEND, drives=True, also=late, parameters={"c": A}), Settings(), None)
    build(model(BLEND, drives=True, also=BLEND), Settings(), None)
    build(model(BLEND, drives=True, also=late, parameters={"c": A + 1e-9}), Settings(), None)
    build(model(BLEND, drives=True, also=WINDOW | {"law": PULSE | {"power": 3}}), Settings(), None)


@pytest.mark.parametrize(("law", "drives", "told"), [(RAMP, False, False), (BLEND, True, False), (RAMP, True, True)])
def test_rates_that_jump_are_warned_of(law, drives, told):
    """Steps of ALI3-P end where slopes of forces and accelerations of drives change, but spread an impulse."""
    by = {"formulation": "ali3p-rtdyn1", "sensitivity": {"method": "ddm", "parameters": "all"}}
    warnings = build(model(law, drives=drives, **by), Settings(), None).warnings
    jumps = [
        rf"the rate of the law jumps from \S+ to \S+ at {t} s, a time that depends on {name}: .* derivatives by"
        for t, name in ((A, "a"), (B, "b"))
    ]
    found = [any(re.search(jump, w) for w in warnings) for jump in jumps]
    assert found == [told, told] and len(warnings) == 2 * told
    plain = build(model(law, drives=drives, **by), Settings(), ["h"]).warnings
    assert ["reactions there grow as steps get shorter;" in w for w in plain] == [True] * (2 * told)


KNOTS = {"type": "spline", "times": [0, 0.05, 0.1], "values": [0, 1, 3]}


@pytest.mark.parametrize(
    ("law", "told"),
    [
        (KNOTS | {"extrapolate": "hold"}, ["jumps from 45 to 0 at 0.1 s", "begins at 0 s with a rate of 15"]),
        (KNOTS | {"extrapolate": "linear"}, []),
        (KNOTS | {"times": [-0.1, -0.05, 0], "extrapolate": "hold"}, []),
        (WINDOW | {"start": 0, "law": PULSE | {"angular_frequency": "pi/b", "power": 1}}, ["jumps", "begins"]),
        ({"type": "smooth_step", "from": 0, "to": 1, "start": 0, "end": 0.1}, []),
        ({"type": "polynomial", "coefficients": [0, 3]}, []),  # a motor that turns from the start
        ({"type": "sum", "laws": [{"type": "polynomial", "coefficients": [0, 1e5]}, RAMP]}, []),  # a slight one
    ],
)
def test_rates_that_jump_at_the_ends_of_tables_are_warned_of(law, told):
    """Where no parameter moves these ends, too: the impulse is missing, or is spread over a step."""
    warnings = build(model(law, drives=True, formulation="ali3p-rtdyn1"), Settings(), []).warnings
    assert len(warnings) == len(told) and all(part in w for part, w in zip(told, warnings, strict=True))


def test_jumps_that_parameters_part_are_warned_of():
    late = json.loads(json.dumps(BLEND).replace('"a"', '"c"').replace("*a", "*c"))
    by = {"formulation": "ali3p-rtdyn1", "sensitivity": {"method": "ddm", "parameters": "all"}}
    warnings = build(model(BLEND, drives=True, also=late, parameters={"c": A}, **by), Settings(), None).warnings
    assert sum("accelerations jump by several laws at 0.031 s" in w for w in warnings) == 2
    assert not build(model(BLEND, drives=True, also=late, parameters={"c": A + 1e-9}, **by), Settings(), None).warnings


ACCELERATES = {"acc": {"type": "coordinate", "coordinate": "way.displacement", "derivative": 2}}


@pytest.mark.interpreted
@pytest.mark.parametrize("method", ["ddm", "adjoint"])
@pytest.mark.parametrize("how", ["recursive", "ali3p-rtdyn1"])
@pytest.mark.parametrize(("a", "b"), [(A, B), (0.03, 0.09)])
def test_integrals_follow_times_at_which_accelerations_jump(method, how, a, b):
    """That of the squared acceleration of the cart is h^2 (b - a), also where a and b are output times."""
    by = {"sensitivity": {"method": method, "parameters": "all"}, "formulation": how, "parameters": {"a": a, "b": b}}
    by |= {"step": 0.01, "duration": 0.12}
    integral = {"objectives": {"e": {"integral": "acc**2"}}}
    assembled = build(model(BLEND, drives=True, extra=integral, sensors=ACCELERATES, **by), Settings(), None)
    found = evaluate(assembled.problem, assembled.objectives)["e"]
    assert found.value == pytest.approx(HEIGHT**2 * (b - a), rel=1e-10) and not assembled.warnings
    np.testing.assert_allclose(found.gradient, [-(HEIGHT**2), HEIGHT**2, 2.0 * HEIGHT * (b - a)], rtol=1e-9)


@pytest.mark.interpreted
@pytest.mark.parametrize("how", ["ali3p-rtdyn1", "ali3p-natural"])
def test_roads_do_not_move_with_times_of_motions(how):
    """Of a sphere on the slider: pieces of a step shift laws of time alone to the time of their end."""
    data = data_of(BLEND, drives=True, formulation=how, step=0.01, duration=0.1)
    data["roads"] = {"hills": {"type": "sinusoidal", "wavelength": 0.3, "amplitude": 0.02}}
    ball = {"type": "sphere", "center": "slider.slope", "radius": 0.2}
    touch = {"type": "contact", "shape": ball, "against": {"type": "road", "road": "hills"}, "stiffness": 100}
    data["forces"] = {"roll": touch | {"impact": {"damping": 2, "depth": 0.01}}}
    data["joints"]["slope"] = data["joints"]["slope"] | {"initial": {"displacement": 0.1, "velocity": 0.3}}
    moving = mbsim.loads(json.dumps(data))
    found = moving.run(sensitivity="ddm").objectives
    for parameter, value in (("a", A), ("b", B)):
        late, early = (moving.run(sensitivity="none", **{parameter: value + s * 1e-5}).objectives for s in (1, -1))
        for name in ("s", "v"):
            slope = (late[name].value - early[name].value) / 2e-5
            assert found[name].by(parameter) == pytest.approx(slope, rel=1e-5), (name, parameter)


FALLS = {"type": "spline", "between": "constant", "times": [0, "a", 2], "values": ["3*h", "h", "h"]}


JUMPS = (
    "h/2*((t < a) + (a >= t) + if(b + a - b > t, 2, 0) + if(t >= a, 2, 2*(t < b)))",
    "h*(2 - sign(t - a))",
    "h*(2 + sign(2*a - 2*t))",
    "h/2*((2*t < 2*a) + (a - t >= 0) + if(0 > t/b - a/b, 2, 0) + if(-t - 1 <= -(a + 1), 2, 2*(b*(t - b) < 0)))",
)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("value", "method"), [(None, "ddm"), (None, "adjoint"), (JUMPS[0], "adjoint"), *((value, "ddm") for value in JUMPS)]
)
def test_integrals_follow_times_at_which_forces_jump(method, value):
    """The squared acceleration of the slider under a force that falls to a third, by a law or an expression."""
    force = {"type": "drive", "coordinate": "slope.displacement"} | ({"value": value} if value else {"law": FALLS})
    extra = {"forces": {"f": force}, "objectives": {"e": {"integral": "acc**2"}, "s": {"final": "s"}}}
    slides = {"acc": ACCELERATES["acc"] | {"coordinate": "slope.displacement"}}
    by = {"sensitivity": {"method": method, "parameters": "all"}, "step": 0.05}
    assembled = build(model(FALLS, drives=False, extra=extra, sensors=slides, **by), Settings(), None)
    found, size = evaluate(assembled.problem, assembled.objectives), (HEIGHT / MASS) ** 2
    assert found["e"].value == pytest.approx(size * (9.0 * A + END - A), rel=1e-10)
    by_times = [8.0 * size, 0.0, 2.0 * found["e"].value / HEIGHT]
    np.testing.assert_allclose(found["e"].gradient, by_times, rtol=1e-9, atol=1e-11)
    way = HEIGHT / MASS * (A**2 + 2.0 * A * (END - A) + END**2 / 2.0)
    assert found["s"].value == pytest.approx(way, rel=1e-10)
    by_way = [2.0 * HEIGHT / MASS * (END - A), 0.0, way / HEIGHT]
    np.testing.assert_allclose(found["s"].gradient, by_way, rtol=1e-9, atol=1e-14)
    assert not assembled.warnings and not assembled.problem.branchings


@pytest.mark.interpreted
@pytest.mark.parametrize("integrator", ["dop853", "esdirk"])
def test_integrals_follow_forces_that_jump_within_one_output_interval(integrator, monkeypatch):
    """Time points inside adaptive steps suffice: a is 2 ms before b, and output is every 5 ms. The slider swings."""
    monkeypatch.setattr(stepping, "LONGEST", 0.1)  # integrals are as exact as the time points inside steps are close
    a, b, end, stiffness = A, A + 2e-3, 0.04, 400.0
    rises = FALLS | {"times": [0, "b", 2], "values": [0, "h", "h"]}
    forces = {name: {"type": "drive", "coordinate": "slope.displacement"} for name in "fg"}
    forces["f"]["law"], forces["g"]["law"] = FALLS, rises
    spring = {"type": "spring_damper", "coordinate": "slope.displacement", "natural_length": 0}
    forces["k"] = spring | {"stiffness": stiffness}
    extra = {"forces": forces, "objectives": {"e": {"integral": "acc**2"}, "m": {"maximum": "acc", "sharpness": 2}}}
    slides = {"acc": ACCELERATES["acc"] | {"coordinate": "slope.displacement"}}
    tight = {"tolerance": 1e-9, "absolute_tolerance": 1e-9}
    by = {"step": 5e-3, "duration": end, "integrator": integrator, "extra": extra, "sensors": slides, **tight}

    def integral_of(function, a, b):
        """Of the acceleration, in which each jump of the force begins a cosine."""
        (x, w), total, ends = np.polynomial.legendre.leggauss(20), 0.0, [0.0, a, b, end]
        for k, (low, high) in enumerate(pairwise(ends)):
            t = low + 0.5 * (high - low) * (1.0 + x)
            jumps = zip((3.0, -2.0, 1.0), ends[: k + 1], strict=False)
            acc = sum(size * HEIGHT / MASS * np.cos(np.sqrt(stiffness / MASS) * (t - start)) for size, start in jumps)
            total += 0.5 * (high - low) * (w @ function(acc))
        return total

    exact = {
        "e": lambda *at: integral_of(np.square, *at),
        "m": lambda *at: np.log(integral_of(lambda acc: np.exp(2.0 * acc), *at) / end) / 2.0,
    }
    for method in ("ddm", "adjoint"):
        sensitivity = {"method": method, "parameters": ["a", "b"]}
        file = model(FALLS, drives=False, parameters={"a": a, "b": b}, sensitivity=sensitivity, **by)
        assembled = build(file, Settings(), None)
        found = evaluate(assembled.problem, assembled.objectives)
        for name, value in exact.items():
            assert found[name].value == pytest.approx(value(a, b), rel=1e-8)
            by_times = np.imag([value(a + 1e-30j, b), value(a, b + 1e-30j)]) / 1e-30
            np.testing.assert_allclose(found[name].gradient, by_times, rtol=1e-7)
        assert not assembled.warnings


PUSHED = """
mbsim: 1
gravity: [0, 0, 0]
parameters: {PARAMETERS}
bodies: {cart: {mass: 2}}
joints: {rail: {type: prismatic, bodies: [ground, cart], point: origin, axis: x}}
laws: {u: {type: spline, between: BETWEEN, times: [TIMES], values: [NAMES]}}
forces: {push: {type: drive, coordinate: rail.displacement, law: u}}
sensors: {F: {type: force, force: push}, x: {type: coordinate, coordinate: rail.displacement}}
objectives: {way: {final: x}, effort: {integral: F**2}}
analysis: {formulation: recursive, integrator: INTEGRATOR, step: 0.05, duration: 2, SENSITIVITY}
"""
ROWS = 8  # a quarter of a second each


def pushed(value, between, integrator, method):
    """The file of a cart, 2 kg, that a force with so many values pushes, all of them alike."""
    names = [f"u_{k}" for k in range(ROWS + (between == "linear"))]
    values = [*names, names[-1]] if between == "constant" else names
    filled = {
        "PARAMETERS": ", ".join(f"{name}: {value}" for name in names),
        "TIMES": ", ".join(str(0.25 * k) for k in range(ROWS + 1)),
        "NAMES": ", ".join(values),
        "BETWEEN": between,
        "INTEGRATOR": integrator,
        "SENSITIVITY": f"sensitivity: {{method: {method}, parameters: all}}",
    }
    return re.sub("|".join(filled), lambda found: filled[found[0]], PUSHED)


@pytest.mark.interpreted
@pytest.mark.parametrize("method", ["ddm", "adjoint"])
@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
@pytest.mark.parametrize("between", ["constant", "linear"])
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_derivatives_by_pieces_of_a_law_that_are_alike(value, between, integrator, method):
    """As by a control before its optimisation: steps went across where pieces meet, for no value jumps there."""
    text = pushed(value, between, integrator, method)
    assembled = build(spec.load("m.yaml", texts={"m.yaml": text}), Settings(), None)
    assert len(assembled.problem.splits) == (ROWS - 1) * (between == "constant" or integrator == "rk4")
    found, h = evaluate(assembled.problem, assembled.objectives), 2.0 / ROWS
    begin = h * np.arange(ROWS)
    if between == "constant":  # the way of a push in a piece: its impulse, times the time from its middle on
        way, effort = h * (2.0 - begin - h / 2.0), np.full(ROWS, h)
    else:  # of rising and of falling parts
        falls, rises = h / 2.0 * (2.0 - begin - h / 3.0), h / 2.0 * (2.0 - begin - 2.0 * h / 3.0)
        way, effort = np.append(falls, 0.0) + np.insert(rises, 0, 0.0), np.full(ROWS + 1, h)
        effort[[0, -1]] = h / 2.0
    np.testing.assert_allclose(found["way"].gradient, way / 2.0, rtol=1e-11)
    np.testing.assert_allclose(found["effort"].gradient, 2.0 * value * effort, rtol=1e-11)
    assert not assembled.warnings


HELD = """
mbsim: 1
gravity: [0, 0, 0]
parameters: {a: 0.4823, b: 0.9123, c: 1.3223, first: 0.084, m: 2}
bodies: {cart: {mass: m}}
joints: {rail: {type: prismatic, bodies: [ground, cart], point: origin, axis: x}}
laws: {u: {type: spline, extrapolate: hold, times: [a, b, c], values: [first, -0.875, -0.829]}}
forces: {push: {type: drive, coordinate: rail.displacement, value: 1, law: u}}
sensors: {x: {type: coordinate, coordinate: rail.displacement}}
objectives: {way: {integral: x}}
analysis: {formulation: FORMULATION, step: 0.05, duration: 2, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "recursive, integrator: rk4"])
def test_derivatives_of_a_held_spline_do_not_jump_at_its_ends(formulation):
    """Those by its numbers differ on both sides by their rate over the round-off of time."""
    text = HELD.replace("FORMULATION", formulation)
    problem = build(spec.load("m.yaml", texts={"m.yaml": text}), Settings(), None).problem
    assert [split.corner for split in problem.splits] == [True, True] * ("rk4" in formulation)


BENT = {  # forces that bend, and derivatives of the impulse and of the way by a and b
    "h*max(t - a, 0)": lambda a, b: [[-(END - a), 0.0], [-((END - a) ** 2) / 2, 0.0]],
    "h*max(t - a, 0, t - b)": lambda a, b: [[-(END - a), 0.0], [-((END - a) ** 2) / 2, 0.0]],
    "h*if(b > 0, max(t - a, 0), max(t/(b - b), b))": lambda a, b: [[-(END - a), 0.0], [-((END - a) ** 2) / 2, 0.0]],
    "-h*min(a - t, 0)": lambda a, b: [[-(END - a), 0.0], [-((END - a) ** 2) / 2, 0.0]],
    "h*abs(2*t - 2*a)/2": lambda a, b: [[2 * a - END, 0.0], [2 * a * END - a**2 - END**2 / 2, 0.0]],
    "h*clip(t, a, b)": lambda a, b: [[a, END - b], [a * END - a**2 / 2, (END - b) ** 2 / 2]],
    "h*(b - a)*step(t, a, 0, b, 1)": lambda a, b: [[a - END, END - b], None],
}


@pytest.mark.interpreted
@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
@pytest.mark.parametrize(("value", "exact"), BENT.items())
def test_runge_kutta_steps_end_where_lines_in_time_are_held(value, exact, integrator):
    """Where the force is a polynomial on either side; b is an output time. Steps across a bend were 3e-2 off."""
    force = {"type": "drive", "coordinate": "slope.displacement", "value": value}
    by = {"step": 0.01, "integrator": integrator, "extra": {"forces": {"f": force}}, "parameters": {"b": 0.09}}
    by |= {"sensitivity": {"method": "ddm", "parameters": ["a", "b"]}}
    assembled = build(model(RAMP, drives=False, **by), Settings(), None)
    found, gradients = evaluate(assembled.problem, assembled.objectives), exact(A, 0.09)
    for name, gradient in zip("vs", gradients, strict=True):
        if gradient is not None:
            by_times = HEIGHT / MASS * np.array(gradient)
            np.testing.assert_allclose(found[name].gradient, by_times, rtol=1e-9, atol=1e-13, err_msg=name)


@pytest.mark.interpreted
@pytest.mark.parametrize("how", ["ali3p-rtdyn1", "ali3p-natural"])
def test_steps_end_where_expressions_bend_in_time(how):
    """As where a law of force does, but for those that jump; so derivatives are those by the law."""

    def problem_of(force, method="ddm"):
        force = {"f": {"type": "drive", "coordinate": "slope.displacement"} | force}
        by = {"formulation": how, "step": 0.01, "sensitivity": {"method": method, "parameters": "all"}}
        assembled = build(model(RAMP, drives=False, extra={"forces": force}, **by), Settings(), None)
        return assembled.problem, assembled.objectives

    falls = {"value": "if(t < a, h, if(b > t, h*(b - t)/(b - a), 0))"}
    exact = evaluate(*problem_of({"law": RAMP}))
    for method in ("ddm", "adjoint"):
        found = evaluate(*problem_of(falls, method))
        for name in "sv":
            np.testing.assert_allclose(found[name].gradient, exact[name].gradient, rtol=1e-10)
    for value in ("if(t < a, h, 0.5*h)", "h*sign(t - a)", "h*step(t, a, 0, b, 1)", "h*max(t - a, 0)**2"):
        assert problem_of({"value": value})[0].stops == (), value
    for value, exact in list(BENT.items())[:-1]:
        problem, objectives = problem_of({"value": value})
        assert len(problem.stops) == (2 if "clip" in value else 1), value
        found = evaluate(problem, objectives)
        for name, gradient, near in zip("vs", exact(A, B), (1e-9, 2e-5), strict=True):
            by_times = HEIGHT / MASS * np.array(gradient)
            np.testing.assert_allclose(found[name].gradient[:2], by_times, rtol=1e-9, atol=near, err_msg=value)


@pytest.mark.interpreted
def test_expressions_may_bend_on_an_output_time_where_a_side_is_undefined_beyond(monkeypatch):
    """Runs with shifted times would read (t - a)**1.5 before a."""
    monkeypatch.setattr(stepping, "LONGEST", 0.1)
    force = {"type": "drive", "coordinate": "slope.displacement", "value": "if(t < a, h, h + (t - a)**1.5)"}
    by = {"step": 5e-3, "sensitivity": {"method": "ddm", "parameters": ["a"]}, **TIGHT}
    file = model(RAMP, drives=False, parameters={"a": 0.03}, extra={"forces": {"f": force}}, **by)
    assembled = build(file, Settings(), None)
    found, left = evaluate(assembled.problem, assembled.objectives), END - 0.03
    np.testing.assert_allclose(found["v"].gradient, -(left**1.5) / MASS, rtol=1e-4)
    np.testing.assert_allclose(found["s"].gradient, -(left**2.5) / 2.5 / MASS, rtol=1e-4)


@pytest.mark.parametrize(("a", "parameters", "refused"), [(0.03, "a", True), (0.031, "a", False), (0.03, "h", False)])
@pytest.mark.parametrize("value", ["if(t < a, 1 + sqrt(a - t), 0)", "if(a > t, 0, h + (t - a)**1.5)"])
def test_jumps_on_an_output_time_where_a_side_is_undefined_beyond_are_refused(value, a, parameters, refused):
    """The runs beside would read the root of a negative number, and end with equations that are singular."""
    force = {"type": "drive", "coordinate": "slope.displacement", "value": value}
    by = {"step": 5e-3, "sensitivity": {"method": "ddm", "parameters": [parameters]}, "extra": {"forces": {"f": force}}}
    file = model(RAMP, drives=False, parameters={"a": a}, **by)
    if not refused:
        assert not build(file, Settings(), None).problem.stops
        return
    message = r"forces\.f\.value: the force jumps at 0\.03 s, a time that depends on a, and is undefined beyond it"
    with pytest.raises(ModelError, match=message):
        build(file, Settings(), None)


@pytest.mark.parametrize(
    ("value", "is_told"),
    [
        ("if(t < a, 1 + sqrt(a - t), 0)", True),
        ("if(t < a, 0, 1 + (t - a)**0.9)", True),
        ("if(t < a, 0, (t - a)**0.9)", True),
        ("if(t < a, 1 + (a - t)**1.5, 0)", False),
        ("if(t < 0.031, 1 + sqrt(0.031 - t), h)", False),  # which no parameter moves
        ("if(t < a, tanh((t - a)/1e-5), 3*t)", False),
    ],
)
def test_infinite_slopes_at_times_that_parameters_move_are_warned_of(value, is_told):
    """Derivatives by a were off, by dop853 without a word."""
    force = {"type": "drive", "coordinate": "slope.displacement", "value": value}
    by = {"extra": {"forces": {"f": force}}, "sensitivity": {"method": "ddm", "parameters": "all"}}
    warnings = build(model(RAMP, drives=False, **by), Settings(), None).warnings
    told = "slope of the expression is infinite at 0.031 s, a time that depends on a: derivatives by it are inaccurate"
    assert any(told in warning for warning in warnings) == is_told


@pytest.mark.parametrize(("compared", "ends"), [("t < a", False), ("t <= a", True)])
def test_steps_do_not_end_where_a_force_has_no_slope(compared, ends):
    """At a itself 0**0.9 has none, which ended runs as singular equations; the other comparison does not take it."""
    force = {"type": "drive", "coordinate": "slope.displacement", "value": f"if({compared}, 0, (t - a)**0.9)"}
    file = model(RAMP, drives=False, extra={"forces": {"f": force}}, formulation="ali3p-rtdyn1")
    assert bool(build(file, Settings(), None).problem.stops) == ends


@pytest.mark.parametrize("a", [-1e20, -0.5, 0.0, 1e20, 1e300])
def test_no_steps_end_at_times_outside_a_run_however_far(a):
    force = {"type": "drive", "coordinate": "slope.displacement", "value": "if(t < a, h, h + (t - a))"}
    by = {"parameters": {"a": a}, "formulation": "ali3p-rtdyn1", "extra": {"forces": {"f": force}}}
    problem = build(model(RAMP, drives=False, **by), Settings(), None).problem
    assert problem.stops and not pieces_of(problem, problem.theta)


@pytest.mark.interpreted
@pytest.mark.parametrize("integrator", ["dop853", "esdirk"])
def test_integrals_follow_pieces_of_one_law_beside_another_within_an_output_interval(integrator):
    """A force bends 2 ms behind a; both pieces of the driving law that meet at a, or at b, move with it alike."""
    bends = {"type": "spline", "times": [0, A + 2e-3, 2], "values": [0, 1, 0], "between": "linear"}
    force = {"type": "drive", "coordinate": "slope.displacement", "law": bends}
    extra = {"forces": {"f": force}, "objectives": {"e": {"integral": "acc**2"}}}
    by = {"step": 5e-3, "integrator": integrator, "extra": extra, "sensors": ACCELERATES}
    sensitivity = {"method": "ddm", "parameters": ["a", "b"]}
    assembled = build(model(BLEND, drives=True, sensitivity=sensitivity, **by), Settings(), None)
    found = evaluate(assembled.problem, assembled.objectives)["e"]
    assert found.value == pytest.approx(HEIGHT**2 * (B - A), rel=1e-8)
    np.testing.assert_allclose(found.gradient, [-(HEIGHT**2), HEIGHT**2], rtol=1e-8)
    assert not assembled.warnings


def test_integrals_over_what_jumps_between_two_time_points_are_warned_of():
    extra = {"objectives": {"e": {"integral": "acc**2"}}}
    by = {"sensitivity": {"method": "ddm", "parameters": "all"}, "parameters": {"a": A, "b": A + 3e-3}}
    by["integrator"] = "rk4"
    assembled = build(model(BLEND, drives=True, extra=extra, sensors=ACCELERATES, **by), Settings(), None)
    for t, name in ((A, "a"), (A + 3e-3, "b")):
        assert any(f"signals jump at {t:g} s, a time that depends on {name}," in w for w in assembled.warnings)
    slider = {"acc": ACCELERATES["acc"] | {"coordinate": "slope.displacement"}}
    assert not build(model(WINDOW, drives=False, extra=extra, sensors=slider, **by), Settings(), None).warnings


@pytest.mark.interpreted
@pytest.mark.parametrize(("integrator", "method"), [("dop853", "ddm"), ("esdirk", "ddm"), ("dop853", "adjoint")])
def test_integrals_over_what_jumps_on_an_output_time_just_behind_another_jump(integrator, method):
    """No two time points lie between the jumps; the second one is on an output time and has two runs beside."""
    by = {"sensitivity": {"method": method, "parameters": ["a", "b"]}, "parameters": {"a": A, "b": A + 3e-3}}
    by |= {"integrator": integrator, "extra": {"objectives": {"e": {"integral": "acc**2"}}}, "sensors": ACCELERATES}
    assembled = build(model(BLEND, drives=True, duration=0.04, **by), Settings(), None)
    found = evaluate(assembled.problem, assembled.objectives)["e"]
    assert found.value == pytest.approx(3e-3 * HEIGHT**2, rel=1e-9)
    np.testing.assert_allclose(found.gradient, [-(HEIGHT**2), HEIGHT**2], rtol=1e-8)
    assert not assembled.warnings


@pytest.mark.interpreted
def test_adjoint_of_rows_at_which_accelerations_jump():
    """Rows show what holds behind a jump: the adjoint takes them there, in however many parts it goes back."""
    of = {"objectives": {"e": {"integral": "acc**2"}}}
    by = {"parameters": {"a": 0.03, "b": 0.09}, "integrator": "rk4", "step": 0.03, "extra": of, "sensors": ACCELERATES}
    for method in ("ddm", "adjoint"):
        sensitivity = {"method": method, "parameters": ["h"]}
        assembled = build(model(BLEND, drives=True, sensitivity=sensitivity, **by), Settings(), None)
        found = evaluate(assembled.problem, assembled.objectives)["e"]
        assert found.gradient[0] == pytest.approx(2 * found.value / HEIGHT, rel=1e-12), method


@pytest.mark.interpreted
def test_second_derivatives_by_instants_at_which_laws_change(tmp_path):
    """Of the way under a ramp; where accelerations jump they are those by other numbers alone."""
    by = {"sensitivity": {"method": "ddm", "parameters": "all"}}
    for name, law, drives in (("ramp", RAMP, False), ("blend", BLEND, True)):
        path = tmp_path / f"{name}.yaml"
        path.write_text(json.dumps(data_of(law, drives=drives, **by)))
    given, a, b, h = [A, B, HEIGHT], *np.eye(3)
    hessian = mbsim.load(tmp_path / "ramp.yaml").hessian(given, "s")

    def slope(direction, moved):
        return np.array(ramp(*(np.array(given) + moved + 1e-30j * direction))[0]).imag / 1e-30

    step = 1e-4
    for j, moved in enumerate((a, b, h)):
        exact = [(slope(d, step * moved) - slope(d, -step * moved)) / (2 * step) for d in (a, b, h)]
        assert np.allclose(hessian[:, j], exact, atol=1e-6)
    blend_model = mbsim.load(tmp_path / "blend.yaml")
    exact = [-cos(SLOPE) * x for x in (A - END, END - B, 0.0)]  # of the derivative by h
    assert np.allclose(blend_model.hessian_vector(given, h, "s"), exact, atol=1e-8)
    for law, drives in ((BLEND, True), (FALLS, False)):
        jumping = mbsim.loads(json.dumps(data_of(law, drives=drives, **by)))
        with pytest.raises(mbsim.UsageError, match=r"second derivatives by the time 0.031 s, at which accelerations"):
            jumping.hessian(given, "s")


@pytest.mark.parametrize(("jump", "slope", "rate_jumps", "acceleration_jumps"), [
    (0.0, 1.0, False, False),
    (1e-5, 1.0, True, False),
    (1e-7, 1.0 + 1e-5, False, False),
    (0.0, 1.0 + 1e-3, False, True),
])  # fmt: skip
def test_how_small_a_jump_counts(jump, slope, rate_jumps, acceleration_jumps):
    """Rates are exact, and accelerations are differences of them."""
    away = np.array([0.0, 0.1, 0.2, 0.5, 0.6])
    edge = Edge(0, [], before=1.0 - away, behind=1.0 + jump + slope * away, largest=1.0)
    assert (edge.rate_jumps, edge.acceleration_jumps) == (rate_jumps, acceleration_jumps)
