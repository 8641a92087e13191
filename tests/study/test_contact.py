"""Contacts against closed forms: rest, restitution, slip to roll, momentum; gradients by three methods."""

import re

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.assembly.elements.forces import _exact_dissipation
from tests.marks import COMPILED

SPHERE = "shape: {type: sphere, radius: 0.1, mass: 0.5}"
BALL = f"""\
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {{h: 0.3, e: 0.7, mu: 0.3, v0: 1.0, K: 1e6}}
bodies: {{ball: {{{SPHERE}}}}}
joints:
  free: {{type: floating, bodies: [ground, ball], initial: {{position: [0, 0, h], velocity: [v0, 0, 0]}}}}
forces:
  floor:
    type: contact
    center: ball.origin
    radius: 0.1
    plane: {{point: ground.origin, normal: ground.z}}
    stiffness: K
    restitution: {{value: e, speed: 1.98090888}}
    friction: mu
    friction_speed: 0.01
sensors:
  r: {{type: position, point: ball.origin}}
  v: {{type: velocity, point: ball.origin}}
  w: {{type: angular_velocity, body: ball}}
  d: {{type: contact, contact: floor, quantity: penetration}}
  F: {{type: contact, contact: floor, quantity: normal_force}}
  friction: {{type: contact, contact: floor, quantity: friction}}
  sliding: {{type: contact, contact: floor, quantity: sliding_speed}}
  on_ball: {{type: force, force: floor}}
objectives: {{x: {{final: r.x}}, z: {{final: r.z}}, push: {{integral: F*friction}}}}
analysis: {{formulation: recursive, integrator: dop853, tolerance: 1e-10, step: 1e-3, duration: 0.3}}
"""


def run(folder, text, **settings):
    path = folder / "ball.yaml"
    path.write_text(text)
    return mbsim.run(path, **({"sensitivity": "none"} | settings))


@pytest.mark.parametrize("e", [0.2, 0.5, 0.7, 0.95])
def test_the_dissipation_of_a_restitution_solves_its_equation(e):
    """Velocities before and after an impact, v and e v, by the first integral of m d'' = -k d^n (1 + chi d')."""
    x, slope = _exact_dissipation(e), _exact_dissipation(e + 1e-30j).imag / 1e-30
    assert np.log((1 + x) / (1 - e * x)) == pytest.approx((1 + e) * x, rel=1e-12) and x > 0.1 * (1 - e)
    ahead, behind = _exact_dissipation(e + 1e-5), _exact_dissipation(e - 1e-5)
    assert slope == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)


SOME = [
    pytest.param(0.3, marks=pytest.mark.interpreted),
    *(pytest.param(e, marks=COMPILED) for e in (0.05, 0.7, 0.95)),
]


@pytest.mark.parametrize("e", SOME)
def test_restitution_is_exact_for_stiff_contacts(tmp_path, e):
    speed = np.sqrt(2 * 9.81 * 0.2)
    found = run(tmp_path, BALL, e=e, K=1e11, mu=0.0, duration=0.22)
    rebound = found["v"][-1, 2] + 9.81 * (0.22 - speed / 9.81)
    assert np.isclose(rebound, e * speed, atol=3e-3)
    assert (found["on_ball"][:, 2] >= 0.0).all()


@pytest.mark.interpreted
def test_a_ball_at_rest_presses_with_its_weight(tmp_path):
    text = BALL.replace("type: floating", "type: prismatic, point: origin, axis: z").replace(
        "initial: {position: [0, 0, h], velocity: [v0, 0, 0]}", "initial: {displacement: 0.1}"
    )
    found = run(tmp_path, text.replace("duration: 0.3}", "duration: 0.01, start: equilibrium}"))
    assert np.isclose(found["d"][0], (0.5 * 9.81 / 1e6) ** (2 / 3), rtol=1e-9)
    assert np.isclose(found["F"][0], 0.5 * 9.81, rtol=1e-9)


@pytest.mark.interpreted
def test_slip_to_roll(tmp_path):
    """A sphere rolls from t = 2 v0/(7 mu g) on, with 5/7 of its speed."""
    found = run(tmp_path, BALL, h=0.1 - (0.5 * 9.81 / 1e9) ** (2 / 3), K=1e9, mu=0.2, duration=0.2, tolerance=1e-6)
    rolls = found.time > 2.0 / (7 * 0.2 * 9.81) + 0.02
    np.testing.assert_allclose(found["v"][rolls, 0], 5 / 7, rtol=1e-3)
    np.testing.assert_allclose(found["w"][rolls, 1] * 0.1, 5 / 7, rtol=2e-3)
    slides = found["sliding"] > 0.05
    np.testing.assert_allclose(found["friction"][slides], 0.2 * found["F"][slides], rtol=1e-6)


TWO = f"""\
mbsim: 1
gravity: [0, 0, 0]
parameters: {{y: 0.05, mu: 0.3, chi: 0.2}}
bodies: {{a: {{{SPHERE}}}, b: {{shape: {{type: sphere, radius: 0.2, mass: 1.5}}}}}}
joints:
  A: {{type: floating, bodies: [ground, a], initial: {{velocity: [2, 0, 0], angular_velocity: [0, 0, 5]}}}}
  B: {{type: floating, bodies: [ground, b], initial: {{position: [0.35, y, 0]}}}}
forces:
  hit:
    type: contact
    points: [b.origin, a.origin]
    radii: [0.2, 0.1]
    stiffness: 1e6
    dissipation: chi
    friction: mu
    friction_speed: 0.05
sensors:
  va: {{type: velocity, point: a.origin}}
  vb: {{type: velocity, point: b.origin}}
  ra: {{type: position, point: a.origin}}
  rb: {{type: position, point: b.origin}}
  wa: {{type: angular_velocity, body: a}}
  wb: {{type: angular_velocity, body: b}}
  T: {{type: kinetic_energy}}
  V: {{type: potential_energy}}
objectives: {{x: {{final: ra.x}}, spin: {{final: wb.z}}}}
analysis: {{formulation: recursive, integrator: dop853, tolerance: 1e-11, step: 1e-3, duration: 0.1}}
"""


@pytest.mark.interpreted
def test_colliding_spheres_keep_momentum_and_lose_energy(tmp_path):
    found = run(tmp_path, TWO, duration=0.04, tolerance=1e-9)
    momentum = 0.5 * found["va"] + 1.5 * found["vb"]
    np.testing.assert_allclose(momentum, np.tile([1.0, 0.0, 0.0], (len(momentum), 1)), atol=1e-12)
    spin = 0.4 * 0.5 * 0.01 * found["wa"] + 0.4 * 1.5 * 0.04 * found["wb"]
    whole = spin + np.cross(found["ra"], 0.5 * found["va"]) + np.cross(found["rb"], 1.5 * found["vb"])
    np.testing.assert_allclose(whole, np.tile(whole[0], (len(whole), 1)), atol=1e-12)
    energy = found["T"] + found["V"]
    assert (np.diff(energy) <= 1e-9).all() and energy[-1] < 0.98 * energy[0]


@pytest.mark.interpreted
def test_elastic_spheres_keep_energy(tmp_path):
    energy = (found := run(tmp_path, TWO, mu=0.0, chi=0.0, duration=0.04))["T"] + found["V"]
    np.testing.assert_allclose(energy, energy[0], rtol=1e-8)


HIDDEN = """\
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {h: 0.02, k: 1e6}
bodies: {ball: {mass: 1}}
joints: {fall: {type: prismatic, bodies: [ground, ball], point: origin, axis: z, initial: {displacement: h}}}
forces:
  floor:
    type: contact
    center: ball.origin
    radius: 0
    plane: {point: ground.origin, normal: ground.z}
    stiffness: k
    dissipation: 0.1
sensors: {v: {type: coordinate, coordinate: fall.displacement, derivative: 1}}
objectives: {way: {integral: v**2}, early: {at: {time: 0.024, value: v + 100*h}}}
analysis: {step: 8e-3, duration: 0.2, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.interpreted
def test_check_blames_no_derivative_that_steps_hide(tmp_path):
    """Differences of runs with the same steps converge, to a number that is as wrong."""
    path = tmp_path / "ball.yaml"
    path.write_text(HIDDEN)
    rows = mbsim.check(path)
    missing = [row for row in rows if row.kind == "undefined"]
    assert [(row.parameter, row.passed) for row in missing] == [("h", True), ("k", True)]
    assert "forces begin within steps" in missing[0].message
    # derivatives of another objective are compared, also by these parameters
    assert [(row.objective, row.passed) for row in rows if row.kind == "numerical"] == [("early", True)]
    adjoint = mbsim.run(path, sensitivity="adjoint").objectives["way"]  # which lacks the same
    assert adjoint.undefined.keys() == {"h", "k"}


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["recursive", "ali3p-rtdyn1", "ali3p-natural"])
@pytest.mark.parametrize("text", [BALL, TWO], ids=["plane", "spheres"])
def test_gradients_agree(tmp_path, text, formulation):
    fixed = "recursive, integrator: rk4" if formulation == "recursive" else formulation
    text = re.sub(r"recursive, integrator: dop853, tolerance: [\de-]+, step: 1e-3", f"{fixed}, step: 5e-5", text)
    text = re.sub("duration: .*}", "duration: 0.21}" if "plane:" in text else "duration: 0.04}", text)
    path = tmp_path / "contact.yaml"
    path.write_text(text + "checks: {gradients: {agreement: [complex_step, adjoint]}}\n")
    assert all(row.passed for row in mbsim.check(path))
