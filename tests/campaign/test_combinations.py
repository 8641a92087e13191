"""All kinds of elements in one model, by each kind of analysis, with rigid bodies and with one that deforms.

Each of these combinations has kernels of its own, which are compiled here. The two derivations of derivatives share
little, and differences of runs share nothing with them.
"""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import yaml

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.solve.forward import forward
from mbsim_cli.solve.lanes import run_beside
from mbsim_cli.study.assembling import Settings, build
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.verification import complex_steps
from tests.blocks import joined
from tests.models.test_lanes import problems_of

ELEMENTS = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {m: 1.3, L: 0.7, k: 30, c: 0.4, d: 0.3}
points:
  A: {ground: [0, 0, 0.5]}
  B: {low: [0, 0, 0]}
  E: {low: [0.5, 0.1, 0.05]}
  G: {ground: [0.3, -0.4, 1.1]}
  H: {ground: [0.9, 0.5, 0.7]}
bodies:
  low: {mass: m, center_of_mass: [0.2, 0.03, 0], inertia: {xx: 0.02, yy: 0.03, zz: 0.04}}
  block: {mass: 0.6, inertia: {xx: 0.02, yy: 0.03, zz: 0.04}}
joints:
  hip:
    {type: revolute, bodies: [ground, arm], point: [A, origin], axis: y,
    initial: {angle: 0.3, angular_velocity: 0.7}}
  knee:
    {type: revolute, bodies: [arm, low], point: [pin, B], axis: y,
    initial: {angle: -0.5, angular_velocity: -0.4}}
  slide:
    {type: planar, bodies: [ground, block], point: origin, axis: y,
    initial: {position: [-0.3, 0.5], velocity: [0.1, 0.2], angle: 0.1, angular_velocity: 0.3}}
forces:
  spring: {type: spring_damper, points: [ground.G, low.E], stiffness: k, damping: c, natural_length: 0.4}
  mount:
    {type: bushing, points: [arm.pin, block.origin], stiffness: [k, k, 40, 5, 5, 5], damping: [1, 1, c, 0.1, 0.1, 0.1]}
  touch:
    {type: contact, center: low.E, radius: 0.46, plane: {point: ground.origin, normal: ground.z}, stiffness: 10*k,
    dissipation: d, friction: 0.3, friction_speed: 0.5}
  balls: {type: contact, points: [low.E, arm.pin], radii: [0.4, 0.3], stiffness: 10*k}
  roll:
    {type: contact, shape: {type: sphere, center: low.E, radius: 0.5}, stiffness: 10*k, friction: 0.3,
    friction_speed: 0.5, against: {type: road, road: {type: sinusoidal, amplitude: 0.1, wavelength: 2}}}
  wheel:
    {type: tyre, center: low.E, axis: low.y, radius: 0.5, stiffness: 10*k, damping: 5, friction: 0.2, onset: 0.01,
    slow_speed: 1, slip: {type: magic_formula, B: 2, C: 1.4}}
  air: {type: drag, point: arm.pin, area: d, coefficient: 1.1, wind: [3, 0, 1]}
  fin: {type: wing, point: low.E, normal: low.z, area: d, lift_slope: 3, wind: [3, 0, 1]}
sensors:
  p: {type: position, point: low.E}
  v: {type: velocity, point: low.E}
  q: {type: position, point: block.origin}
  F: {type: force, force: spring}
  M: {type: bushing, bushing: mount, quantity: torque}
  N: {type: contact, contact: touch, quantity: normal_force}
  R: {type: reaction, joint: knee}
  T: {type: kinetic_energy}
  V: {type: potential_energy}
"""
ARMS = {
    "rigid": """
points: {pin: {arm: [L, 0, 0]}}
bodies: {arm: {mass: 1, center_of_mass: [0.3, 0, 0.02], inertia: {xx: 0.02, yy: 0.03, zz: 0.04}}}
""",
    "flexible": """
bodies:
  arm:
    flexible:
      terms:
        mass: 1
        mdCM: [0.3, 0, 0.02]
        J: {M0: [[0.02, 0, 0], [0, 0.13, 0], [0, 0, 0.14]], M2: [[[[0.01, 0, 0], [0, 0.01, 0], [0, 0, 0.02]]]]}
        Ct: [[0, 0.1, 0.3]]
        Cr: {M0: [[0, -0.05, 0.06]], M1: [[[0, 0, 0]]]}
        Me: [[0.3]]
        Ke: [[8*k]]
      nodes: {pin: {origin: [L, 0, 0], phi: [[0, 0.2, 0.8]], psi: [[0, -1, 0.3]]}}
      damping: {ratio: 0.02}
""",
}
OBJECTIVES = """
objectives:
  motion: {final: p.x + 2*p.z + 0.1*v.x*v.z + q.x + 0.5*q.z}
  forces: {final: F + 0.2*T + 0.1*V + M.y + 0.01*N}
  reaction: {final: R.force.x + R.moment.x + 0.3*R.force.z}
"""
MOVING = """
sensors: {x: {type: position, point: arm.pin}}
forces:
  drive: {type: drive, coordinate: hip.angle, value: "-d*hip.angle*x.z - 0.2*hip.angle.velocity"}
  field: {type: force, point: arm.pin, value: [-d*x.x*x.z, 0, d*v.x]}
  soft:
    {type: spring_damper, points: [ground.H, low.E], natural_length: 0.3, stiffness: k*(1 + 0.3*x.x**2), force: d*v.z}
cables:
  line:
    {path: [ground.H, {center: ground.G, axis: ground.y, radius: 0.05}, low.E], stiffness: k, length: L - 0.1*t,
    rate: -0.1, damping: c, friction: 0.2}
"""
STATES = """
joints:
  knee: {friction: {law: bristle, loss: d, breakaway: 0.5, velocity: 0.2, stiffness: 10, damping: 0.1}}
states: {lag: {initial: d, rate: (hip.angle - lag)/0.1}}
controllers:
  servo:
    {type: pid, coordinate: knee.angle, target: 0.5*lag, kp: k, ki: 1, kd: 0.2, filter: 0.05, limit: 10, anti_windup: 1}
  motor:
    {type: dc_motor, coordinate: hip.angle, voltage: 12, resistance: 0.5, inductance: 2e-2, torque_constant: 0.05,
    gear: 3}
forces: {push: {type: drive, coordinate: hip.angle, value: c*lag}}
objectives: {lag: {final: lag}}
"""
LOADED = """
joints: {hip: {friction: {dynamic: d, radius: 0.05, velocity: 0.5}, armature: 0.1*d}}
"""
CLOSED = """
bodies: {weight: {mass: 0.5}, lifter: {mass: 0.4}}
joints:
  weight: {type: prismatic, bodies: [ground, weight], point: origin, axis: z, initial: {displacement: 0.3}}
  lifter: {type: prismatic, bodies: [ground, lifter], point: origin, axis: z, initial: {displacement: 0.1}}
cables: {rope: {path: [weight.origin, {center: ground.G, axis: ground.y, radius: 0.1*d}, low.E], length: auto}}
constraints:
  cam:
    {type: coupling, of: lifter.displacement, by: hip.angle, offset: auto,
    law: {type: harmonic, amplitude: 0.1*L, angular_frequency: 2}}
"""
FREQUENCIES = "objectives: {slow: {frequency: 1}, fast: {frequency: 3}, damped: {real_part: 1}}"
GAINS = """
objectives:
  slow: {gain: {input: spring, output: p.x, frequency: 0.7}}
  fast: {gain: {input: spring, output: p.z, frequency: 2}}
"""

STEPS = {"step": 2e-3, "duration": 8e-3}
SWING = {"type": "harmonic", "amplitude": 0.2, "frequency": 1, "phase": 0.3}
ANALYSES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "ali3p": (
        {**STEPS, "formulation": "ali3p-rtdyn1", "tolerance": 1e-12},
        (OBJECTIVES, MOVING, STATES, LOADED, CLOSED),
    ),
    "natural": ({**STEPS, "formulation": "ali3p-natural", "tolerance": 1e-12}, (OBJECTIVES, MOVING, STATES, CLOSED)),
    "ali1p": ({**STEPS, "formulation": "ali1p-rtdyn1", "integrator": "rk4"}, (OBJECTIVES, MOVING, STATES, CLOSED)),
    "open tree": ({**STEPS, "formulation": "recursive", "integrator": "rk4"}, (OBJECTIVES, MOVING, STATES)),
    "adaptive": (
        {**STEPS, "formulation": "recursive", "integrator": "dop853", "tolerance": 1e-12},
        (OBJECTIVES, MOVING, STATES),
    ),
    "implicit": (
        {**STEPS, "formulation": "recursive", "integrator": "esdirk", "tolerance": 1e-10},
        (OBJECTIVES, MOVING, STATES),
    ),
    "equilibrium": ({"type": "equilibrium"}, (OBJECTIVES, MOVING, CLOSED)),
    "inverse dynamics": (
        {"type": "inverse_dynamics", "sampling": 0.1, "duration": 0.2, "motion": {"all": SWING}},
        (OBJECTIVES,),
    ),
    "modes": ({"type": "modes", "at": "start"}, (MOVING, CLOSED, FREQUENCIES)),
    "response": (
        {"type": "frequency_response", "inputs": ["spring"], "outputs": ["p"], "frequencies": [0.7, 2], "at": "start"},
        (MOVING, CLOSED, GAINS),
    ),
}
LINEAR = ("modes", "response")  # they have no adjoint
RUNS = ("ali3p", "natural", "ali1p", "open tree", "adaptive", "implicit")


def combined(*parts: Any) -> Any:
    """Mappings over each other, as including files lie over those that they include."""
    if not all(isinstance(part, dict) for part in parts):
        return parts[-1]
    keys = dict.fromkeys(key for part in parts for key in part)
    return {key: combined(*(part[key] for part in parts if key in part)) for key in keys}


def data_of(body: str, parts: tuple[str, ...], analysis: dict[str, Any]) -> dict[str, Any]:
    parts = (ELEMENTS, ARMS[body], *(part for part in parts if body == "rigid" or part != LOADED))
    return combined(*map(yaml.safe_load, parts), {"analysis": analysis})


def model_of(body: str, parts: tuple[str, ...], analysis: dict[str, Any]) -> mbsim.Model:
    return mbsim.loads(data_of(body, parts, analysis))


@pytest.mark.slow
@pytest.mark.parametrize("body", ARMS)
@pytest.mark.parametrize("name", ANALYSES)
def test_derivatives_agree_where_all_elements_act(name, body):
    analysis, parts = ANALYSES[name]
    model = model_of(body, parts, analysis)
    methods = ("ddm", "fd") if name in LINEAR else ("ddm", "fd", "adjoint")
    direct, differences, *adjoint = (model.run(sensitivity=method).objectives for method in methods)
    for objective, found in direct.items():
        size = max(abs(found.gradient))
        assert found.gradient == pytest.approx(differences[objective].gradient, rel=1e-5, abs=1e-6 * size)
        for other in adjoint:
            assert other[objective].gradient == pytest.approx(found.gradient, rel=1e-9, abs=1e-9 * size)


@pytest.mark.slow
@pytest.mark.parametrize("body", ARMS)
@pytest.mark.parametrize("name", [name for name in ANALYSES if name not in LINEAR])
def test_derivatives_by_all_numbers_agree(name, body):
    analysis, parts = ANALYSES[name]
    model = mbsim.loads(data_of(body, parts, analysis), all_numbers=True)
    direct, adjoint = (model.run(sensitivity=method).objectives for method in ("ddm", "adjoint"))
    for objective, found in direct.items():
        expected = adjoint[objective]
        assert found.undefined == expected.undefined
        assert found.gradient == pytest.approx(
            expected.gradient, rel=1e-9, abs=1e-9 * np.nanmax(abs(found.gradient)), nan_ok=True
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ali3p", "open tree", "adaptive"])
def test_derivatives_by_all_numbers_are_those_of_complex_steps(name):
    """Of those whose complex kernels second derivatives take, too."""
    analysis, parts = ANALYSES[name]
    text = json.dumps(data_of("rigid", parts, analysis | {"sensitivity": {"method": "ddm", "parameters": "all"}}))
    assembled = build(spec.load("model.yaml", texts={"model.yaml": text}, every_number=True), Settings(), None)
    direct = evaluate(assembled.problem, assembled.objectives)
    for objective, expected in complex_steps(assembled, SILENT).items():
        size = max(abs(expected.gradient))
        assert direct[objective].gradient == pytest.approx(expected.gradient, rel=1e-9, abs=1e-9 * size)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_fit_finds_what_readings_were_made_with(tmp_path, name):
    analysis, parts = ANALYSES[name]
    model, wanted = model_of("rigid", parts, analysis), {"k": 33.0, "c": 0.5}
    run = model.run(wanted, sensitivity="none")
    columns = {"F": "F", "p": "p.x", "M": "M.y"}
    readings = np.column_stack([run.time, *(run[sensor] for sensor in columns.values())])
    np.savetxt(tmp_path / "run.csv", readings, delimiter=",", header=",".join(["time", *columns]), comments="")
    searches = {
        "measurements": {
            "made": {
                "file": str(tmp_path / "run.csv"),
                "columns": {name: {"sensor": sensor, "sigma": 1e-3} for name, sensor in columns.items()},
            }
        },
        "fit": {"all": {"measurements": ["made"], "parameters": list(wanted)}},
    }
    found = mbsim.loads(combined(data_of("rigid", parts, analysis), searches)).fit("all")
    assert dict(found.parameters) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ddm", "adjoint"])
@pytest.mark.parametrize("name", RUNS)
def test_an_optimisation_finds_a_motion_that_is_known(tmp_path, name, method):
    analysis, parts = ANALYSES[name]
    reached = model_of("rigid", parts, analysis).run({"k": 33.0}, sensitivity="none").objectives["forces"].value
    searches = {
        "objectives": {"miss": {"final": f"(F + 0.2*T + 0.1*V + M.y + 0.01*N - {reached!r})**2"}},
        "optimization": {"near": {"minimize": "miss", "variables": {"k": {"from": 20, "to": 50}}, "tolerance": 1e-8}},
    }
    (tmp_path / "model.yaml").write_text(json.dumps(combined(data_of("rigid", parts, analysis), searches)))
    found = mbsim.optimize(tmp_path / "model.yaml", "near", tmp_path / "out.h5", sensitivity=method)
    assert found.report["optimization"]["variables"]["k"]["value"] == pytest.approx(33.0, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ali3p", "open tree", "adaptive"])
def test_second_derivatives_agree_where_all_elements_act(name):
    """With differences of gradients by all parameters."""
    analysis, parts = ANALYSES[name]
    model, h = model_of("rigid", parts, analysis), 3e-3
    found = model.hessian_vector(None, [by == "k" for by in model.differentiated], "motion")
    high, low = (
        model.run(sensitivity="adjoint", parameters={"k": 30 + side}).objectives["motion"].gradient for side in (h, -h)
    )
    expected = (high - low) / (2 * h)
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6 * max(abs(expected)))


@pytest.mark.slow
@pytest.mark.parametrize("body", ARMS)
def test_coordinates_agree_where_all_elements_act(body):
    """Natural and relative coordinates, and open trees, with steps so short that methods hardly differ."""
    parts = (OBJECTIVES, MOVING, STATES)
    runs = [
        model_of(body, parts, ANALYSES[name][0] | {"step": 1e-4, "duration": 4e-4}).run(sensitivity="none").objectives
        for name in ("ali3p", "natural", "open tree", "implicit")
    ]
    for objective, found in runs[0].items():
        for other in runs[1:]:
            assert other[objective].value == pytest.approx(found.value, rel=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(COMPILER != "linking", reason="others compute one case at a time")
@pytest.mark.parametrize("name", ["ali3p", "open tree"])
def test_eight_cases_have_the_bits_that_they_have_alone(tmp_path, name):
    analysis, _ = ANALYSES[name]
    parts = (OBJECTIVES, CLOSED) if name == "ali3p" else (OBJECTIVES,)
    data = data_of("rigid", parts, analysis)
    del data["forces"]["mount"], data["sensors"]["M"]  # bushings are computed case by case
    data["objectives"]["forces"] = {"final": "F"}
    (tmp_path / "model.yaml").write_text(yaml.safe_dump(data))
    problems = list(problems_of(tmp_path / "model.yaml", 8e-3, 0.01))
    runs, parted = run_beside(problems, lambda: None)
    assert parted < 0.5
    for problem, run in zip(problems, runs, strict=True):
        for values, expected in zip(
            joined(forward(replace(problem, ahead=run))), joined(forward(problem)), strict=True
        ):
            np.testing.assert_array_equal(values, expected)
