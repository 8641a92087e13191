"""Laws that change on output times which parameters move: derivatives are those of central differences."""

import json

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.solve.open_trees.open_tree import INSIDE_ROWS
from mbsim_cli.solve.sides import sides_of
from mbsim_cli.study.assembling import Settings, build, load
from mbsim_cli.study.evaluation import blocks_of, evaluate
from tests.campaign.comparison import ALI3P, TIMES
from tests.campaign.generator import FILE
from tests.campaign.test_breakpoints import mechanism

ARM = """\
mbsim: 1
gravity: [0, 0, 0]
parameters: {delay: 0.02, m: 0.3}
vectors: {z: {all: [0, 0, 1]}}
points: {tip: {arm: [0.4, 0, 0]}}
bodies:
  arm: {mass: m, center_of_mass: [0.3, 0, 0], inertia: {zz: 0.02}}
  bob: {mass: 0.1, center_of_mass: [0.1, 0, 0], inertia: {zz: 0.001}}
joints:
  hub: {type: revolute, bodies: [ground, arm], point: origin, axis: z}
  tip: {type: revolute, bodies: [arm, bob], point: [tip, origin], axis: z}
laws: {command: {type: smooth_step, from: 0, to: 1, start: delay, end: delay + 0.04}}
constraints: {servo: {type: motion, coordinate: hub.angle, law: command}}
sensors: {servo: {type: reaction, constraint: servo, axes: joint}, a: {type: acceleration, point: bob.origin}}
objectives: {peak: {maximum: servo.moment.z, sharpness: 0.05, unit: N m}, jolt: {integral: "dot(a, a)"}}
analysis: {step: 1e-3, duration: 0.08, sensitivity: {method: ddm, parameters: all}}
"""
TABLE = "{type: spline, times: [0, delay, 0.05, 0.1], values: [0, 1, -1, 0]}"  # parameters move a row of it
# instants of sums by adaptive steps move with breakpoints: differences see their errors, unless steps are short
OPTIONS = [
    {"formulation": "ali3p-rtdyn1"},
    pytest.param({"formulation": "ali3p-natural"}, marks=pytest.mark.slow),  # its adjoint is compiled for these alone
    {"formulation": "recursive", "step": 2e-4},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: options["formulation"])
@pytest.mark.parametrize("delay", [0.02, 0.0203])  # on output times, and between them
def test_breakpoints_on_output_times(tmp_path, options, delay):
    path = tmp_path / "arm.yaml"
    path.write_text(ARM)
    model = mbsim.load(path)
    direct, adjoint = (model.run(delay=delay, sensitivity=method, **options) for method in ("ddm", "adjoint"))
    alone = model.run(delay=delay, sensitivity="none", **options)
    assert np.array_equal(direct["a"], alone["a"])
    assert np.array_equal(adjoint["a"], alone["a"])
    change = 1e-6
    early, late = (model.run(delay=delay + k * change, sensitivity="none", **options).objectives for k in (-1, 1))
    for key, found in direct.objectives.items():
        np.testing.assert_allclose(adjoint.objectives[key].gradient, found.gradient, rtol=1e-9, atol=1e-9 * found.value)
        slope = (late[key].value - early[key].value) / (2 * change)
        assert np.isclose(found.by("delay"), slope, rtol=2e-4, atol=1e-5 * abs(found.value)), key


def kicked(law, kick):
    """The arm, whose bob is pushed by a law from the parameter ``kick`` on."""
    window = f"{{type: windowed, start: kick, end: kick + 0.03, law: {law}}}"
    push = f"forces: {{push: {{type: drive, coordinate: tip.angle, value: 0.3, law: {window}}}}}\n"
    text = ARM.replace("m: 0.3}", f"m: 0.3, kick: {kick}}}").replace("sensors: {", push + "sensors: {")
    text = text.replace("axes: joint},", "axes: joint}, tip: {type: coordinate, coordinate: tip.angle},")
    return text.replace("objectives: {", 'objectives: {swing: {final: "tip"}, ')


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: options["formulation"])
def test_two_laws_that_change_at_one_time(tmp_path, options):
    """Each parameter has a derivative before the other law changes and one behind it, and the mean is given."""
    path = tmp_path / "arm.yaml"
    for time in (0.02, 0.0203):
        path.write_text(kicked("{type: harmonic, amplitude: 1, angular_frequency: pi/0.03}", time))
        model = mbsim.load(path)
        direct, adjoint, alone = (
            model.run(delay=time, sensitivity=method, **options) for method in ("ddm", "adjoint", "none")
        )
        assert np.array_equal(direct["a"], alone["a"])
        change = 1e-6
        for name in ("delay", "kick"):
            beside = [
                model.run(**({"delay": time} | {name: time + k * change}), sensitivity="none", **options).objectives
                for k in (-1, 1)
            ]
            for key, found in direct.objectives.items():
                assert np.isclose(adjoint.objectives[key].by(name), found.by(name), rtol=1e-9, atol=1e-9 * found.value)
                slope = (beside[1][key].value - beside[0][key].value) / (2 * change)
                assert np.isclose(found.by(name), slope, rtol=3e-4, atol=3e-5 * abs(found.value)), (name, key)


def derivatives(seed, method, parameters):
    """Derivatives of a random mechanism by each of some parameters, in parts of themselves.

    Without its tyre: reactions beside one have kernels that are compiled for nothing else.
    """
    data = mechanism(seed)
    tyres = [name for name, force in data["forces"].items() if force["type"] == "tyre"]
    for tyre in tyres:
        for section, name in (
            ("forces", ""),
            ("sensors", "s_"),
            ("sensors", "t_"),
            ("objectives", "o_s_"),
            ("objectives", "o_t_"),
        ):
            del data[section][name + tyre]
    analysis = {**TIMES, **ALI3P[0], "sensitivity": {"method": method, "parameters": parameters}}
    file = spec.load(FILE, {}, texts={str(FILE): json.dumps({**data, "analysis": analysis})})
    assembled = build(file, Settings(), None)
    sizes = np.array([abs(parameter.value) or 1.0 for parameter in assembled.parameters])
    return {name: found.gradient * sizes for name, found in evaluate(assembled.problem, assembled.objectives).items()}


def test_adjoint_of_what_is_no_linear_function_of_sensors():
    """Reactions at a breakpoint are those of the step before it, or solve the equations behind it: sides differ."""
    direct, adjoint = (derivatives(1, method, "all") for method in ("ddm", "adjoint"))
    for name, found in direct.items():
        largest = np.nanmax(np.abs(found), initial=1e-2)
        np.testing.assert_allclose(adjoint[name], found, atol=1e-9 * largest, rtol=1e-9)


def test_a_derivative_does_not_depend_on_which_others_are_asked():
    """Also where the others move breakpoints that lie on other output times."""
    of_all, alone = (derivatives(25, "ddm", parameters) for parameters in ("all", ["t7"]))
    place = list(mechanism(25)["parameters"]).index("t7")
    for name, found in of_all.items():
        assert np.isclose(alone[name][0], found[place], rtol=1e-8, atol=1e-9), name


@pytest.mark.parametrize("method", ["ddm", "adjoint"])
def test_samples_that_jump_on_an_output_time_have_no_derivative(tmp_path, method):
    path = tmp_path / "arm.yaml"
    pulse = "{type: harmonic, amplitude: 0.1, angular_frequency: pi/0.04, power: 2}"
    text = kicked("{type: harmonic, amplitude: 1, angular_frequency: pi/0.03}", 0.0303)
    smooth = "{type: smooth_step, from: 0, to: 1, start: delay, end: delay + 0.04}"
    assert smooth in text
    path.write_text(text.replace(smooth, f"{{type: windowed, start: delay, end: delay + 0.04, law: {pulse}}}"))
    model = mbsim.load(path)
    found = model.run(sensitivity=method).objectives
    assert (
        np.isnan(found["jolt"].by("delay"))
        and ", an output time, and delay would move" in found["jolt"].undefined["delay"]
    )
    assert not found["swing"].undefined and np.isfinite([found["jolt"].by(name) for name in ("m", "kick")]).all()
    late, early = (model.run(sensitivity="none", delay=0.02 + k * 1e-6).objectives["swing"].value for k in (1, -1))
    assert np.isclose(found["swing"].by("delay"), (late - early) / 2e-6, rtol=1e-4)
    between = model.run(sensitivity=method, delay=0.0203).objectives["jolt"]
    assert np.isfinite(between.by("delay")) and not between.undefined


def test_runge_kutta_steps_end_at_what_parameters_move_whether_it_is_differentiated_or_not(tmp_path):
    """The motion is one, with derivatives by the row of a table and without."""
    path = tmp_path / "arm.yaml"
    text = kicked("TABLE", 0.0).replace("{type: windowed, start: kick, end: kick + 0.03, law: TABLE}", TABLE)
    path.write_text(text)
    model = mbsim.load(path)
    methods = ("none", "ddm", "adjoint")
    none, *others = (model.run(sensitivity=m, formulation="recursive", delay=0.0203)["a"] for m in methods)
    assert all(np.array_equal(none, other) for other in others)


SWITCHED = """\
mbsim: 1
gravity: [0, 0, 0]
parameters: {T: 0.2, b: 0.013, c: 0.013}
bodies: {block: {mass: 1}, other: {mass: 1}}
joints:
  guide: {type: prismatic, bodies: [ground, block], point: origin, axis: x, initial: {velocity: 1}}
  other: {type: prismatic, bodies: [ground, other], point: origin, axis: x}
laws:
  push: {type: spline, times: [0, T], values: [0, 20], between: constant, extrapolate: hold}
  bent: {type: spline, times: [0, b, 1], values: [0, 3, 1], between: linear}
  bending: {type: spline, times: [0, c, 1], values: [0, 2, 5], between: linear}
forces:
  spring: {type: spring_damper, coordinate: guide.displacement, stiffness: 400, natural_length: 0, law: push}
  bent: {type: drive, coordinate: other.displacement, law: bent}
  bending: {type: drive, coordinate: other.displacement, law: bending}
sensors: {a: {type: coordinate, coordinate: guide.displacement, derivative: 2}}
objectives: {jolt: {integral: a**2}}
analysis:
  {formulation: recursive, integrator: dop853, step: 0.05, duration: 0.5, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.parametrize(
    ("T", "c", "w", "tolerance"),
    [
        *(
            (T, c, 20.0, tolerance)
            for T, c in ((0.2, 0.014), (0.21, 0.013), (0.2, 0.013))
            for tolerance in (1e-6, 1e-12)
        ),
        (0.21, 0.013, 500.0, 1e-12),  # by 1300 steps, and one between both forces that is no longer than a shift
    ],
)
def test_integrals_follow_a_jump_from_time_points_inside_steps_of_all_sides(tmp_path, T, c, w, tolerance):
    """On an output time, or while two forces bend elsewhere at one time, output times alone gave -9004 for 688."""
    path = tmp_path / "switched.yaml"
    path.write_text(SWITCHED.replace("stiffness: 400", f"stiffness: {w**2}"))
    found = mbsim.load(path).run(T=T, c=c, tolerance=tolerance).objectives["jolt"]
    F, left = 20.0, 0.5 - T  # a = -w sin(w t) + F cos(w (t - T)) behind T
    by_T = 0.5 * F * w * (np.sin(w * (1.0 - T)) + np.sin(w * T)) - w**2 * F * left * np.cos(w * T)
    by_T += F * w * np.sin(w * T) - 0.5 * F**2 * (1.0 + np.cos(2.0 * w * left))
    assert found.by("T") == pytest.approx(by_T, rel=max(1e-7, 10 * tolerance))


def test_time_points_inside_steps_are_handed_on_within_an_output_interval(tmp_path):
    """An output interval takes hundreds of steps; T is an output time, so that runs are made on both sides of it."""
    path = tmp_path / "switched.yaml"
    path.write_text(SWITCHED.replace("stiffness: 400", "stiffness: 250000").replace("step: 0.05", "step: 0.2"))
    settings = Settings(tolerance=1e-9, duration=0.4)
    problem = build(load(path, settings), settings, ["T"]).problem
    blocks = list(blocks_of(problem))
    parts = [part for block in blocks for part in block.inside]
    assert sides_of(problem) and max(len(part.time) for part in parts) <= INSIDE_ROWS
    assert sum(len(part.time) for part in parts) > 6 * INSIDE_ROWS
    assert sum(part.length.sum() for part in parts) == pytest.approx(0.4, rel=1e-12)
    assert [time for block in blocks for time in block.time] == pytest.approx([0.0, 0.2, 0.4])
