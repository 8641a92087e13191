"""Sums over time of integrands that change their formula where the motion passes a threshold: split there."""

from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from scipy.optimize import brentq

import mbsim_cli as mbsim
from mbsim_cli.assembly import build
from mbsim_cli.model.problem import Block
from mbsim_cli.solve.blocks import SHARES, WEIGHTS
from mbsim_cli.spec.expressions.program import compiled_formula
from mbsim_cli.study.objectives import accumulator, by_few, explicit_parameters
from tests.assembly.texts import load

TEXT = """
parameters: {a: 0.7, b: 0.3}
bodies: {m: {mass: 1, inertia: {zz: 1}}}
joints: {j: {type: revolute, bodies: [ground, m], point: origin, axis: z}}
sensors: {q: {type: coordinate, coordinate: j.angle}, r: {type: position, point: m.origin}}
objectives:
  above: {integral: "if(q > b, 1, 0)"}
  size: {integral: "abs(q - b)"}
  signs: {mean: "t*sign(q)"}
  largest: {rms: "max(q, b, r.x)"}
  two: {integral: "if(q > b, if(r.x < q, a, q), t)"}
  soft: {maximum: "if(q > b, q + 1, q)", sharpness: 3*a}
  turn: {integral: "atan2(q, r.x)"}
  late: {integral: "if(t*q > 0.2, q, 0)"}
  nested: {integral: "if(sign(q)*0.5 + 0.1 > b, 1, 0)"}
analysis: {duration: 2, sensitivity: {method: ddm}}
"""
RHO = np.array([0.7, 0.3])


def signals(time, rho):
    """q = sin(3 a t) - b/2, and r.x = cos(2 t) a."""
    still = 0.0 * time * rho[0]
    return np.stack([np.sin(3.0 * rho[0] * time) - 0.5 * rho[1], rho[0] * np.cos(2.0 * time), still, still], axis=1)


def points(time, rho, **more):
    """A block of time points with exact derivatives of its sensors."""
    columns = [signals(time, rho + 1e-30j * np.eye(2)[k]).imag / 1e-30 for k in range(2)]
    values = {"time": time, "sensors": signals(time, rho).real, "d_sensors": np.stack(columns, axis=2)} | more
    return Block(**dict.fromkeys(Block._fields, ()) | values)


def inside(time, rho):
    """Those of Gauss's rule in steps between given times."""
    lengths = np.diff(time)
    weights = (lengths[:, None] * WEIGHTS).ravel()
    return points((time[:-1, None] + lengths[:, None] * SHARES).ravel(), rho, length=weights)


def load_text(objective):
    """An objective of the model."""
    text = TEXT[: TEXT.index("objectives:")] + f"objectives: {{o: {{{objective}}}}}\n" + TEXT[TEXT.index("analysis:") :]
    return build(load(Path(mkdtemp()), text)).objectives[0]


@pytest.fixture(scope="module")
def objectives(tmp_path_factory):
    return build(load(tmp_path_factory.mktemp("switches"), TEXT)).objectives


def run(objective, steps, rho=RHO, sizes=(), adaptive=False, values=None):
    """The accumulator of an objective after blocks of these sizes."""
    if values is not None:
        numbers = dict(zip("ab", values, strict=True))
        operands = tuple(replace(each, values=numbers) for each in objective.operands)
        objective = replace(objective, values=numbers, operands=operands)
        if objective.sharpness:
            objective = replace(objective, sharpness=3.0 * values[0])
    adding, time = accumulator(objective, 2), np.linspace(0.0, 2.0, steps + 1)
    sizes = sizes or (steps + 1,)
    for rows in np.split(np.arange(steps + 1), np.cumsum(sizes)[:-1]):
        within = {"inside": (inside(time[rows[0] - 1 :][: len(rows) + 1], rho),)} if adaptive and rows[0] else {}
        if adaptive and not rows[0]:
            within = {"inside": (inside(time[rows], rho),)}
        adding.add(points(time[rows], rho, **within), np.zeros((1, len(rows))))
    return adding


EXACT = {}  # values and derivatives by very short steps inside which Gauss's rule is taken


def exact(objective):
    if objective.name not in EXACT:
        found = run(objective, 2000, adaptive=True)
        EXACT[objective.name] = np.append(found.value, found.gradient)
    return EXACT[objective.name]


def closed_form(name):
    """q = sin(w t) - b/2 passes c at t1 = asin(c + b/2)/w and at pi/w - t1, both within two seconds."""
    a, b = RHO
    w = 3.0 * a
    first = np.arcsin(1.5 * b) / w
    by_b = 1.5 / (w * np.sqrt(1.0 - (1.5 * b) ** 2))
    if name == "above":
        return [np.pi / w - 2.0 * first, -np.pi / (w * a) + 2.0 * first / a, -2.0 * by_b]
    whole, upper = (-np.cos(w * 2.0) + 1.0) / w, (np.cos(w * first) - np.cos(np.pi - w * first)) / w
    value = 2.0 * (upper - 1.5 * b * (np.pi / w - 2.0 * first)) - (whole - 3.0 * b)
    return [value]


@pytest.mark.parametrize("adaptive", [False, True])
def test_time_above_a_threshold_has_its_closed_form(objectives, adaptive):
    found = run(objectives[0], 100, adaptive=adaptive)
    tolerance = 1e-6 if adaptive else 5e-4
    assert np.append(found.value, found.gradient) == pytest.approx(closed_form("above"), abs=tolerance)
    assert run(objectives[1], 200, adaptive=True).value == pytest.approx(closed_form("size")[0], abs=1e-8)


@pytest.mark.parametrize("number", range(9))
def test_sums_are_of_second_order_and_fourth_inside_steps(objectives, number):
    """Without a split both are of first order, and derivatives of jumps are lost."""
    objective = objectives[number]
    errors = [
        np.abs(np.append(found.value, found.gradient) - exact(objective))
        for found in (run(objective, steps) for steps in (50, 100, 200, 400, 800))
    ]
    sizes = np.maximum(np.abs(exact(objective)), 0.1)
    assert (errors[-1] < 3e-5 * sizes + 1e-6).all(), errors[-1]
    assert (errors[-1] < 3e-2 * np.max(errors[:2], axis=0) + 1e-7).all(), errors
    gauss = run(objective, 40, adaptive=True)
    assert np.append(gauss.value, gauss.gradient) == pytest.approx(exact(objective), abs=2e-5)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("number", range(9))
def test_gradients_are_those_of_the_computed_sum(objectives, number, adaptive):
    found, e = run(objectives[number], 90, adaptive=adaptive), 1e-6
    for k in range(2):
        ahead, behind = RHO + e * np.eye(2)[k], RHO - e * np.eye(2)[k]
        high, low = (run(objectives[number], 90, rho, adaptive=adaptive, values=rho).value for rho in (ahead, behind))
        assert (high - low) / (2 * e) == pytest.approx(found.gradient[k], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("sizes", [(1,) * 31, (1, 1, 30, 59), (45, 46), (2, 88, 1), (91, 1), (1,) * 32])
@pytest.mark.parametrize("number", range(9))
def test_blocks_may_have_any_size(objectives, number, sizes):
    steps = sum(sizes) - 1
    whole, found = run(objectives[number], steps), run(objectives[number], steps, sizes=sizes)
    assert found.value == pytest.approx(whole.value, rel=1e-12)
    assert found.gradient == pytest.approx(whole.gradient, rel=1e-11, abs=1e-13)
    assert found.uncertainty.errors == pytest.approx(whole.uncertainty.errors, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4])
def test_estimated_errors_are_those_of_the_sum(objectives, number):
    """Without a split every other time point may give the same by chance."""
    found = run(objectives[number], 200)
    true = np.abs(np.append(found.value, found.gradient) - exact(objectives[number]))
    assert (true < 6.0 * found.uncertainty.errors + 1e-5).all()
    assert (found.uncertainty.errors < 6.0 * true + 1e-4).all()


@pytest.mark.parametrize("number", range(9))
@pytest.mark.parametrize("steps", [10, 16, 32])
def test_estimated_errors_of_adaptive_steps_are_no_smaller_than_the_errors(objectives, number, steps):
    """Also of numbers that do not jump, which do not see the share of a switch to the first order."""
    found, expected = run(objectives[number], steps, adaptive=True), exact(objectives[number])[0]
    assert abs(found.value - expected) < found.uncertainty.errors[0] + 1e-12
    assert found.uncertainty.errors[0] < 100.0 / steps**4


def test_sums_without_switches_are_not_touched():
    assert not compiled_formula("x**2 + sqrt(x)*sin(x)", (("x", 1),)).switches


def test_round_off_about_zero_is_no_switch(objectives):
    """A body at rest does not chatter."""
    adding, time = accumulator(objectives[2], 2), np.linspace(0.0, 2.0, 41)
    block = points(time, RHO)
    noise = 1e-17 * (-1.0) ** np.arange(41)
    block.sensors[:, 0] = np.where(time < 1.0, 1.0 - time, noise)
    adding.add(block._replace(d_sensors=0.0 * block.d_sensors), np.zeros((1, 41)))
    assert len(adding.switched) <= 2


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("number", range(9))
def test_a_smooth_term_in_the_same_integrand_does_not_count(objectives, number, adaptive):
    """Derivatives by the instant of a switch have nothing of terms that both formulas share."""
    leaf = objectives[number].operands[0] if objectives[number].operands else objectives[number]
    if leaf.kind != "integral":
        pytest.skip("no integral")
    smooth = load_text("integral: '5*cos(30*t) + a*t'")
    both = load_text(f"integral: '{leaf.integrand.text} + 5*cos(30*t) + a*t'")
    parts = [run(each, 91, adaptive=adaptive) for each in (leaf, smooth)]
    found = run(both, 91, adaptive=adaptive)
    assert found.value == pytest.approx(sum(each.value for each in parts), rel=1e-12)
    assert found.gradient == pytest.approx(sum(each.gradient for each in parts), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("number", range(9))
def test_blocks_of_adaptive_steps_may_have_any_size(objectives, number, size):
    """A switch may lie behind the last time point inside a block, or before the first one."""
    for steps in (17, 18, 19, 20):
        sizes = [1] + [size] * (steps // size) + [steps % size] * (steps % size > 0)
        whole, found = (run(objectives[number], steps, adaptive=True, sizes=each) for each in ((), sizes))
        assert found.value == pytest.approx(whole.value, rel=1e-12)
        assert found.gradient == pytest.approx(whole.gradient, rel=1e-10, abs=1e-13)


def test_switches_at_the_ends_of_adaptive_steps_count_once(objectives):
    """Polynomials of neighbouring steps do not meet there; the derivative by b is steady as the switch passes by."""
    slopes = []
    for steps in np.linspace(9.9, 10.1, 201):
        time = np.append(np.arange(0.0, 2.0, 2.0 / steps), 2.0)
        adding = accumulator(objectives[0], 2)
        adding.add(points(time, RHO, inside=(inside(time, RHO),)), np.zeros((1, len(time))))
        slopes.append(adding.gradient[1])
    assert slopes == pytest.approx([closed_form("above")[2]] * len(slopes), rel=2e-3)


@pytest.mark.parametrize("short", [1e-6, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12])
def test_switches_in_very_short_steps(objectives, short):
    """As near a contact: the number changes by its round-off, or by a billionth of its largest size."""
    first, last = (np.array([1, -1]) * np.arcsin(1.5 * RHO[1]) + [0, np.pi]) / (3.0 * RHO[0])
    slopes = []
    for share in np.linspace(0.0, 1.0, 21):
        near = short * (np.arange(-6, 7) + share)
        time = np.sort(np.concatenate([np.linspace(0.0, 2.0, 61), first + near, last + near]))
        adding = accumulator(objectives[0], 2)
        adding.add(points(time, RHO, inside=(inside(time, RHO),)), np.zeros((1, len(time))))
        slopes.append(adding.gradient[1])
    assert slopes == pytest.approx([closed_form("above")[2]] * len(slopes), rel=1e-4 + 1e-14 / short)


@pytest.mark.parametrize("harmonic", [3, 5])
def test_switches_where_the_polynomials_of_neighbouring_steps_do_not_meet(objectives, monkeypatch, harmonic):
    """The number may pass zero behind the end of the one and before the begin of the other."""

    def wavy(time, rho, signals=signals):
        wave = 0.01 * np.sin(3 * harmonic * rho[0] * time)
        return signals(time, rho) + np.multiply.outer(wave, [1, 0, 0, 0])

    monkeypatch.setitem(points.__globals__, "signals", wavy)
    passage = brentq(lambda time: wavy(np.array([time]), RHO)[0, 0] - RHO[1], 0.0, 0.6)
    slopes = []
    for share in np.linspace(-2e-4, 2e-4, 101):
        time = np.append(np.arange(passage + 0.1 * (share - 2), 2.0, 0.1), 2.0)
        adding = accumulator(objectives[0], 2)
        adding.add(points(time, RHO, inside=(inside(time, RHO),)), np.zeros((1, len(time))))
        slopes.append(adding.gradient[1])
    assert np.ptp(slopes) < 5e-3


@pytest.mark.parametrize("share", [0.01, 0.03, 0.06, 0.072, 0.1, 0.3, 0.93, 0.97, 0.99])
@pytest.mark.parametrize("step", [0.1, 0.02])
def test_estimated_errors_at_a_corner_anywhere_in_an_adaptive_step(step, share):
    """Each of two steps is smooth at its time points, if the corner lies between those of the one and the other."""
    objective = load_text("integral: sqrt(q**2)")
    first, last = (np.array([1, -1]) * np.arcsin(0.5 * RHO[1]) + [0, np.pi]) / (3.0 * RHO[0])

    def summed(time):
        adding = accumulator(objective, 2)
        adding.add(points(time, RHO, inside=(inside(time, RHO),)), np.zeros((1, len(time))))
        return np.append(adding.value, adding.gradient), adding.uncertainty.errors

    time = np.concatenate([np.arange(first - (2 + share) * step, last - 0.1, step), np.linspace(last, 2.0, 20)])
    found, errors = summed(time)
    true = np.abs(found - summed(np.sort(np.append(time, first)))[0])
    assert (true < 2.0 * errors + 1e-10).all()
    assert (errors < 0.2).all()


@pytest.mark.parametrize("number", [1, 3])
def test_round_off_that_was_never_large_does_not_count_in_corners(objectives, number):
    time, noise = np.linspace(0.0, 2.0, 41), 1e-17 * (-1.0) ** np.arange(41)
    block = points(time, RHO)
    block.sensors[:, 0] = RHO[1] + np.where(time < 1.0, noise, time - 1.0)
    adding = accumulator(objectives[number], 2)
    adding.add(block, np.zeros((1, 41)))
    assert np.abs(adding.gradient).max() < 10.0


BLOCK = """
mbsim: 1
gravity: [0, 0, 0]
parameters: {k: 30, c: 0.02, m: 1.3, T: 0.37}
bodies: {a: {mass: m}}
joints: {J: {type: prismatic, bodies: [ground, a], point: origin, axis: x, initial: {displacement: 0.1}}}
laws: {late: {type: spline, between: constant, times: [0, T, 9], values: [0, 0.4, 0.4]}}
forces:
  S: {type: spring_damper, coordinate: J.displacement, stiffness: k, natural_length: 0}
  P: {type: drive, coordinate: J.displacement, law: late}
sensors:
  x: {type: coordinate, coordinate: J.displacement}
  v: {type: coordinate, coordinate: J.displacement, derivative: 1}
objectives:
  above: {integral: "if(x > c, 1, 0)"}
  way: {mean: abs(v)}
  peak: {maximum: "if(x > c, v, x)", sharpness: 9}
  ratio: {expression: "above/way"}
analysis: {formulation: recursive, INTEGRATOR, duration: 1.5, sensitivity: {method: ddm, parameters: all}}
"""
OTHERS = BLOCK[BLOCK.index("  way: ") : BLOCK.index("analysis:")]


def by_rk4(integrand, step=0.01):
    """The model with the integrals of a formula and of a smooth one, by which the adjoint has as many columns."""
    text = BLOCK.replace(OTHERS, "  way: {integral: x}\n").replace("INTEGRATOR", f"integrator: rk4, step: {step}")
    return mbsim.loads(text.replace("if(x > c, 1, 0)", integrand).replace("T: 0.37", "T: 0.373"))


def once(model, method, rho=None, **replaced):
    """Objectives of a run without that by which their errors are estimated."""
    return model.recorded(rho, {"sensitivity": method, **replaced}, second_run=False).objectives


def assert_slopes_of_runs(model, objectives, relative):
    """Differences of runs along two directions have the slopes of the gradients."""
    for way in ([0.7, -0.9, 0.8, 0.6], [0.5, 0.8, -0.7, 0.9]):
        changes = 1e-4 * model.rho * way
        high, low = (once(model, "none", model.rho + change) for change in (changes, -changes))
        for name, found in objectives.items():
            noise = 1e-12 + relative * np.abs(found.gradient * changes).sum()
            slope = 0.5 * (high[name].value - low[name].value)
            assert slope == pytest.approx(found.gradient @ changes, abs=noise), name


@pytest.mark.parametrize(
    "integrator", ["integrator: rk4, step: 0.01", "integrator: dop853, step: 0.05, tolerance: 1e-9"]
)
@pytest.mark.parametrize("time", ["0.4", "0.405"])  # the last is near a switch
def test_methods_agree(integrator, time):
    """With a force that begins at T, near which sums are split, too."""
    model = mbsim.loads(BLOCK.replace("INTEGRATOR", integrator).replace("0.37", time))
    ddm, adjoint = (once(model, method) for method in ("ddm", "adjoint"))
    for name, found in ddm.items():
        assert adjoint[name].value == pytest.approx(found.value, rel=1e-9)
        assert adjoint[name].gradient == pytest.approx(found.gradient, rel=1e-7, abs=1e-9)
    assert_slopes_of_runs(model, ddm, 1e-3)


THROWN = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {y: START, v: 3}
bodies: {ball: {mass: 1}}
joints:
  J: {type: prismatic, bodies: [ground, ball], point: origin, axis: z, initial: {displacement: y, velocity: v}}
sensors: {height: {type: coordinate, coordinate: J.displacement}}
objectives: {flight: {integral: "if(height > START, 1, 0)"}}
analysis: {WAY, duration: 1, sensitivity: {method: ddm, parameters: all}}
"""
WAYS = [
    "rk4, step: 0.01",
    "dop853, step: 0.02",
    "esdirk, step: 0.02",
    "dop853, step: 0.03, error_control: sensitivities",
]


@pytest.mark.parametrize("way", ["formulation: ali3p-rtdyn1, step: 0.01", *(f"integrator: {way}" for way in WAYS)])
@pytest.mark.parametrize("start", ["0", "0.1", "0.3"])
def test_a_number_that_begins_at_zero_passes_it_where_the_run_begins(way, start):
    """A start a little higher changes the end of the flight alone; round-off decided whether its begin moved."""
    way = way.replace("integrator", "formulation: recursive, integrator")
    found = mbsim.loads(THROWN.replace("START", start).replace("WAY", way)).run().objectives["flight"]
    assert np.append(found.value, found.gradient) == pytest.approx([6.0 / 9.81, 1.0 / 3.0, 2.0 / 9.81], rel=1e-9)


REST = [
    "step(abs(v), 0, 0, 0.1, 1)",
    "max(abs(v), 0)",
    "if(abs(v) > 0, 1, 0)",
    "clip(abs(v), 0, 0.3)",
    "max(sin(7*t), c)",
]


@pytest.mark.parametrize("integrand", REST)
def test_numbers_from_rest_on_and_without_sensors(integrand):
    """Some pass zero without a rate, at a time point."""
    model = by_rk4(integrand)
    ddm, adjoint = (once(model, method) for method in ("ddm", "adjoint"))
    assert adjoint["above"].gradient == pytest.approx(ddm["above"].gradient, rel=1e-9, abs=1e-12)
    assert_slopes_of_runs(model, ddm, 1e-3)


HALVES = [
    "if(x > 0, sqrt(x), 0)",
    "if(x > c, sqrt(x - c), sqrt(c - x))",
    "sqrt(max(x, 0))",
    "if(x > c, (x - c)**1.5, 0)",
    "if(abs(x) > 0.03, 1/x, 100/3)",
    "if(x > c, log(x - c), 0)",
    "if(x > 0, 1/x, 0)",
]
BESIDE = ["if(x > c, x - c - 0.003, 0)", "if(x > c, 1/x, 7) + 1000", "atan2(x - c, x + 2)"]


@pytest.mark.parametrize("integrand", BESIDE)
def test_gradients_are_steady_where_a_formula_is_small_or_has_a_pole_near_a_switch(integrand):
    """Whatever the share of the interval at which the switch lies."""
    model, slopes = by_rk4(integrand, 0.005), []
    for c in np.linspace(0.019, 0.025, 13):
        slopes.append(once(model, "ddm", c=c)["above"].gradient[1])
    smooth = np.polynomial.Polynomial.fit(np.arange(13), slopes, 2)(np.arange(13))
    assert slopes == pytest.approx(smooth, rel=5e-3)


@pytest.mark.parametrize("integrand", HALVES)
def test_formulas_that_exist_on_one_side_of_a_switch_alone(integrand):
    """Those with a pole at the switch are not split."""
    model = by_rk4(integrand)
    ddm, adjoint = (once(model, method) for method in ("ddm", "adjoint"))
    assert np.abs(ddm["above"].value) < 50.0
    assert adjoint["above"].gradient == pytest.approx(ddm["above"].gradient, rel=1e-7, abs=1e-12)
    if integrand not in HALVES[-2:]:
        assert_slopes_of_runs(model, ddm, 2e-3)


def test_the_end_of_an_analysis_beside_a_switch():
    """What lies beyond the last time point is extrapolated from those behind the switch."""
    text = BLOCK.replace("INTEGRATOR", "integrator: rk4, step: 0.01").replace("duration: 1.5", "duration: 1.5*T/0.37")
    model = mbsim.loads(text.replace("law: late", "value: 0.4").replace(OTHERS, ""))
    result = model.run(sensitivity="none")
    time, x = result["time"], result["x"].ravel()
    last = max(np.flatnonzero(np.diff(np.sign(x - 0.02))))
    for beyond in (0.4, 1.4, 2.6):
        found = once(model, "ddm", T=0.37 / 1.5 * (time[last] + 0.01 * beyond + 0.01))["above"]
        behind = x[last + 1] > 0.02
        assert found.gradient[3] == pytest.approx(1.5 / 0.37 * behind, abs=1e-6)


@pytest.mark.interpreted  # complex numbers and Runge-Kutta steps
def test_second_derivatives_through_a_switch():
    text = BLOCK.replace("INTEGRATOR", "integrator: rk4, step: 0.02").replace("duration: 1.5", "duration: 0.8")
    model, e, direction = mbsim.loads(text), 1e-5, np.array([1.0, 0.01, 0.05, 0.0])
    ahead, behind = (once(model, "ddm", model.rho + sign * e * direction) for sign in (1.0, -1.0))
    for name in ("above", "way", "peak"):
        found = model.hessian_vector(None, direction, name)
        slope = (ahead[name].gradient - behind[name].gradient) / (2 * e)
        assert slope == pytest.approx(found, rel=1e-5, abs=1e-6), name


def test_adjoints_read_parameters_at_a_fixed_motion(objectives):
    """The few parameters that the adjoint differentiates by on its own."""
    objective = by_few(objectives[0], sorted(explicit_parameters(objectives[0])))
    assert objective.parameters == ("b",)
