"""Sensors that are expressions of others, and stiffness and damping that are: values, and derivatives in every way."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.assembly import build
from tests.models.command import mbsim as command

MODEL = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {L: 0.5, k: 90, c: 2, w: 0.3, T: 0.113}
bodies: {leg: {mass: 2, center_of_mass: [0, -0.3, 0], inertia: {xx: 0.06, yy: 0.01, zz: 0.06}}}
points: {tip: {leg: [L, 0, 0]}, A: {ground: [w, 0.4, 0.1]}}
joints: {hip: {type: revolute, bodies: [ground, leg], point: origin, axis: z, initial: {angle: 1, angular_velocity: 2}}}
sensors:
  r: {type: position, point: leg.tip}
  v: {type: velocity, point: leg.tip}
  R: {type: reaction, joint: hip}
  d: {type: expression, value: "r - [w, 0.4, 0.1]", unit: m}
  far: {type: expression, value: "norm(d) - L*k/100", unit: m}
  rate: {type: expression, value: "dot(d, v)/norm(d)*sin(t + 1)"}
  load: {type: expression, value: "norm(R.force)", unit: N}
FORCES
objectives:
  a: {mean: "far**2"}
  b: {rms: rate}
  low: {minimum: "far + d.x", sharpness: 50}
  d0: {at: {time: T, value: "far*load"}}
  zero: {rms: r.z}
analysis: {formulation: FORMULATION, INTEGRATOR step: STEP, duration: 0.2, sensitivity: {method: ddm, parameters: all}}
checks:
  derivations agree: {agreement: [AGREEMENT], relative_tolerance: 1e-9}
"""
FORCES = """forces:
  f:
    type: spring_damper
    points: [ground.A, leg.tip]
    stiffness: "k*(1 + hip.angle**2)"
    damping: "c*(1 + far**2)"
    force: "k*sin(t)*0.1"
  g: {type: rotational_spring_damper, coordinate: hip.angle, stiffness: "k*d.y**2", natural_angle: w, damping: 0.1}
"""


def written(path, forces="", formulation="ali3p-rtdyn1", integrator="", step="1e-3", agreement="complex_step"):
    text = MODEL.replace("FORMULATION", formulation).replace("STEP", step).replace("AGREEMENT", agreement)
    path.write_text(text.replace("INTEGRATOR", integrator).replace("FORCES", forces))
    return path


def test_histories_and_their_derivatives(tmp_path):
    """By numpy, from the sensors that expressions read."""
    result = mbsim.load(written(tmp_path / "a.yaml")).run()
    r, v, t = result["r"], result["v"], result.time
    d = r - [0.3, 0.4, 0.1]
    size = np.linalg.norm(d, axis=1)
    np.testing.assert_allclose(result["d"], d, rtol=1e-14)
    np.testing.assert_allclose(result["far"], size - 0.45, rtol=1e-12)
    np.testing.assert_allclose(result["rate"], (d * v).sum(axis=1) / size * np.sin(t + 1), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(result["load"], np.linalg.norm(result["R.force"], axis=1), rtol=1e-14)
    assert result.unit("far") == "m" and result.unit("d") == "m"
    moved = np.einsum("bi,bip->bp", d / size[:, None], result.sensitivity("d"))
    explicit = np.array([-0.9, -0.005, 0, 0, 0])
    np.testing.assert_allclose(result.sensitivity("far"), moved + explicit, atol=1e-14)
    assert result.objectives["zero"].value == 0.0 and not result.objectives["zero"].gradient.any()
    steps = np.trapezoid((size - 0.45) ** 2, t) / 0.2
    assert abs(result.objectives["a"].value - steps) <= 1e-14


def test_stiffness_and_damping_are_parts_of_one_expression(tmp_path):
    """Its natural length is that at the start; the numbers of the spring itself are zero then."""
    problem = build(spec.load(written(tmp_path / "a.yaml", FORCES))).problem
    assert problem.model.signals.theta.size == 2
    assert len(problem.automatic) == 2  # of the spring and of the expression
    assert not problem.theta[problem.model.forces.theta[0] : problem.model.forces.theta[0] + 2].any()


def motion(L=0.5, k=90.0, c=2.0, w=0.3):
    """Angle and rate at the end by scipy."""
    J, start = 0.06 + 2 * 0.3**2, None

    def tip(q):
        return np.array([L * np.cos(q), L * np.sin(q), 0.0]), L * np.array([-np.sin(q), np.cos(q), 0.0])

    place = np.array([w, 0.4, 0.1])
    start = np.linalg.norm(tip(1.0)[0] - place)

    def rates(t, y):
        q, u = y
        r, by_q = tip(q)
        d = r - place
        size = np.linalg.norm(d)
        line = d @ by_q / size
        far = size - L * k / 100
        force = -k * (1 + q**2) * (size - start) - c * (1 + far**2) * line * u + k * np.sin(t) * 0.1
        torque = -k * d[1] ** 2 * (q - w) - 0.1 * u - 2 * 9.81 * 0.3 * np.sin(q)
        return [u, (force * line + torque) / J]

    return solve_ivp(rates, (0, 0.2), [1.0, 2.0], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@pytest.mark.slow
def test_stiffness_and_damping_that_follow_the_motion(tmp_path):
    """Steps of dop853 against scipy, and a derivative against differences of it."""
    path = written(tmp_path / "a.yaml", FORCES, "recursive", "integrator: dop853,", "0.05")
    result = mbsim.load(path).run()
    q = np.unwrap(np.arctan2(result["r"][:, 1], result["r"][:, 0]))[-1]
    assert abs(q - motion()[0]) <= 1e-8
    by_k = (motion(k=90.01)[0] - motion(k=89.99)[0]) / 0.02
    r = result["r"][-1]
    found = (r[0] * result.sensitivity("r")[-1, 1, 1] - r[1] * result.sensitivity("r")[-1, 0, 1]) / (r @ r)
    assert abs(found - by_k) <= 1e-5 * abs(by_k)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulation", "integrator", "agreement"),
    [
        ("ali3p-rtdyn1", "", "complex_step, adjoint, ali3p-rtdyn0"),
        ("ali3p-natural", "", "complex_step, adjoint"),
        ("recursive", "integrator: dop853,", "complex_step, adjoint"),
        ("ali1p-rtdyn1", "integrator: rk4,", "complex_step, adjoint"),
    ],
)
def test_derivations_agree(tmp_path, formulation, integrator, agreement):
    path = written(tmp_path / "a.yaml", FORCES, formulation, integrator, "1e-2", agreement)
    assert command("check", str(path))["passed"]
