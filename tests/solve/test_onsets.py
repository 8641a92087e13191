"""Impacts: gradients beside those of fine adaptive integrations, at steps that alone would miss them."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.model.problem import WORK
from mbsim_cli.solve.forward import start
from tests.marks import COMPILED

DROP = """\
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {height: 0.5, k: 5e4, c: 20}
vectors: {z: {all: [0, 0, 1]}}
bodies: {ball: {shape: {type: sphere, radius: 0.1, mass: 0.5}}}
joints:
  fall: {type: prismatic, bodies: [ground, ball], point: origin, axis: z, initial: {displacement: height}}
forces:
  floor: {type: tyre, center: ball.origin, axis: ball.y, road: {type: flat}, radius: 0.1, stiffness: k, damping: c,
    friction: 0.4, slip: {type: linear, longitudinal_stiffness: 1e3, lateral_stiffness: 1e3}}
sensors: {r: {type: position, point: ball.origin}}
objectives: {end: {final: r.z}, mean: {integral: r.z}}
analysis: {step: 1e-3, duration: 0.5, sensitivity: {method: ddm, parameters: all}}
"""
STOP = """\
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {gap: 0.3, k: 2e4, m: 0.7}
vectors: {z: {all: [0, 0, 1]}}
bodies: {ball: {mass: m}}
joints: {fall: {type: prismatic, bodies: [ground, ball], point: origin, axis: z, initial: {displacement: 0}}}
forces: {stop: {type: bump_stop, coordinate: fall.displacement, minimum: -gap, stiffness: k, onset: 1e-5}}
sensors: {r: {type: position, point: ball.origin}}
objectives: {end: {final: r.z}, mean: {integral: r.z}}
analysis: {step: 5e-3, duration: 0.4, sensitivity: {method: ddm, parameters: all}}
"""
DRY = """\
mbsim: 1
parameters: {k: 400, c: 0.5, Fc: 3, w: 17}
constants: {slow: 0.02}
bodies: {base: {}, a: {mass: 2}}
joints:
  base: {type: prismatic, bodies: [ground, base], point: origin, axis: x}
  J: {type: prismatic, bodies: [base, a], point: origin, axis: x, initial: {displacement: 0.2}}
laws:
  shake: {type: harmonic, amplitude: 0.05, angular_frequency: w}
  dry:
    type: sum
    laws:
      - {type: constant, value: -Fc}
      - {type: one_sided, start: -slow - slow/4, slope: Fc/slow, onset: slow/2}
      - {type: one_sided, start: slow - slow/4, slope: -Fc/slow, onset: slow/2}
constraints: {shake: {type: motion, coordinate: base.displacement, law: shake}}
forces:
  spring:
    {type: spring_damper, coordinate: J.displacement, stiffness: k, damping: c, natural_length: 0.1, rate_law: dry}
  stop: {type: bump_stop, coordinate: J.displacement, minimum: -1, stiffness: 1e5, onset: 1e-3}
sensors: {x: {type: coordinate, coordinate: J.displacement}}
objectives: {mean: {integral: x**2}, end: {final: x}}
analysis: {step: 2e-3, duration: 1, sensitivity: {method: ddm, parameters: all}}
"""
NATURAL = {"formulation": "ali3p-natural"}
FIXED = [
    {"formulation": "ali3p-rtdyn1"},
    NATURAL,
    {"formulation": "recursive", "integrator": "rk4"},
]
EXACT = {"formulation": "recursive", "integrator": "dop853", "tolerance": 1e-12, "sensitivity": "none"}


def load(folder, text):
    path = folder / "model.yaml"
    path.write_text(text)
    return mbsim.load(path)


def differences(model, name):
    """Central differences of all objectives, by runs of an adaptive integrator."""
    value = model.parameters[name]
    up, down = (model.run(parameters={name: (1 + k) * value}, **EXACT).objectives for k in (1e-4, -1e-4))
    return {key: (up[key].value - down[key].value) / (2e-4 * value) for key in up}


def impacts():
    """Each impact by each formulation; natural coordinates are compiled for slow tests alone."""
    for name, text, tolerance in (("tyre", DROP, 0.02), ("stop", STOP, 0.05)):
        for options in FIXED:
            marks = [] if options is not NATURAL else COMPILED if text is STOP else [pytest.mark.slow]
            yield pytest.param(text, tolerance, options, id=f"{name}-{options['formulation']}", marks=marks)


@pytest.mark.parametrize(("text", "tolerance", "options"), list(impacts()))
def test_gradients_pass_impacts(tmp_path, text, tolerance, options):
    model = load(tmp_path, text)
    found = model.run(**options).objectives
    for name in model.parameters:
        for key, truth in differences(model, name).items():
            assert np.isclose(found[key].by(name), truth, rtol=tolerance), (key, name)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param(STOP, FIXED[0], id="stop-ali3p-rtdyn1"),
        pytest.param(DROP, FIXED[0], id="tyre-ali3p-rtdyn1", marks=pytest.mark.slow),
        pytest.param(DROP, FIXED[2], id="tyre-recursive", marks=pytest.mark.slow),
        pytest.param(STOP, FIXED[2], id="stop-recursive"),
        pytest.param(STOP, NATURAL, id="stop-ali3p-natural", marks=COMPILED),
    ],
)
def test_direct_and_adjoint_gradients_agree_through_impacts(tmp_path, text, options):
    """The adjoints in natural coordinates, and those with tyres, are compiled for slow tests alone."""
    model = load(tmp_path, text)
    direct, adjoint = (model.run(sensitivity=method, **options) for method in ("ddm", "adjoint"))
    assert np.array_equal(direct["r"], adjoint["r"])
    for key, objective in direct.objectives.items():
        np.testing.assert_allclose(adjoint.objectives[key].gradient, objective.gradient, rtol=1e-9)


@pytest.mark.interpreted
def test_no_step_is_divided_before_a_tyre_touches(tmp_path):
    """In the air k u + c u' passes zero at 48 ms; the tyre carries nothing there."""
    path = tmp_path / "model.yaml"
    path.write_text(DROP.replace("k: 5e4, c: 20", "k: 1e3, c: 1e3"))
    simulation = start(build(spec.load(path), sensitivity="none", step=4e-3).problem)
    simulation.first_block()
    assert not simulation.advance(15).work[:, WORK.index("rejected")].any()


def test_estimates_know_of_divided_steps(tmp_path):
    model = load(tmp_path, DROP)
    report = model.run().report["objectives"]["end"]
    truth = differences(model, "height")["end"]
    assert abs(report["gradient"]["height"] - truth) <= 5 * report["discretisation"]["gradient"]["height"]


def test_derivatives_that_impacts_hide_are_none(tmp_path):
    """Behind many bounces the error of where the ball is grows beyond the derivative itself; that of the mean not."""
    model = load(tmp_path, DROP.replace("duration: 0.5", "duration: 2"))
    direct = model.run()
    end, mean = direct.objectives["end"], direct.objectives["mean"]
    assert np.isnan([end.by("k"), end.by("c")]).all() and not mean.undefined
    assert "forces begin within steps of 0.001 s" in end.undefined["k"]
    told = direct.report["objectives"]["end"]["discretisation"]
    assert told["gradient"]["k"] > 0.0 and np.isnan(told["relative"]["gradient"]["k"])
    for name in model.parameters:
        assert np.isclose(mean.by(name), differences(model, name)["mean"], rtol=0.2), name


def test_dry_friction_that_turns_round_is_no_impact(tmp_path):
    """Its steps are divided, but each derivative keeps its own error, of second order, near the true one."""
    model = load(tmp_path, DRY)
    coarse, fine = model.run(), model.run(step=2e-4)
    for name, found in coarse.objectives.items():
        truth, told = fine.objectives[name], coarse.report["objectives"][name]["discretisation"]
        assert not found.undefined
        for parameter in model.parameters:
            off, estimate = abs(found.by(parameter) - truth.by(parameter)), told["gradient"][parameter]
            assert estimate / 2 < off < 2 * estimate, (name, parameter)
