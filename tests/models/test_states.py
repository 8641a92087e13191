"""States beside a mechanism: values by scipy, derivatives by other derivations, no share in energies."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbsim_cli as mbsim
from tests.models.command import mbsim as command

PARAMETERS = {"T": 0.3, "c": 1.7, "kick": 0.4}
MODEL = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {T: 0.3, c: 1.7, kick: 0.4}
laws: {push: {type: harmonic, amplitude: 2, frequency: 1.5}}
bodies: {bar: {mass: 1.2, center_of_mass: [0.4, 0, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.08}}}
joints:
  A:
    type: revolute
    bodies: [ground, bar]
    point: origin
    axis: z
    initial: {angle: 0.3, angular_velocity: kick}
    friction: {loss: 0.3, breakaway: 0.5, velocity: 0.8, viscous: 0.05}
states:
  lag: {initial: kick, rate: "(A.angle - lag)/T", unit: rad}
  wave: {initial: 1, rate: "push(t) - c*wave*lag"}
forces:
  back: {type: drive, coordinate: A.angle, value: "-3*lag + 0.5*wave - 0.2*A.angle.velocity"}
sensors:
  q: {type: coordinate, coordinate: A.angle}
  E: {type: kinetic_energy}
  V: {type: potential_energy}
  sum: {type: coordinate, coordinate: lag.integral}
objectives: {q: {final: q}, lag: {final: lag}, wave: {final: wave}, sum: {final: sum}, E: {final: E}, V: {final: V}}
analysis: {formulation: FORMULATION, INTEGRATOR step: STEP, duration: 0.5, sensitivity: {method: ddm, parameters: all}}
checks:
  derivations agree: {agreement: [AGREEMENT], relative_tolerance: 1e-9}
"""


def written(path, formulation="ali3p-rtdyn1", integrator="", step="1e-3", agreement="complex_step"):
    text = MODEL.replace("FORMULATION", formulation).replace("STEP", step).replace("AGREEMENT", agreement)
    path.write_text(text.replace("INTEGRATOR", integrator))
    return path


def exact(T=0.3, c=1.7, kick=0.4, end=0.5):
    """Angle, both states, the integral of the first, kinetic and potential energy at the end."""
    J = 0.08 + 1.2 * 0.16

    def rates(t, y):
        q, v, lag, wave, _ = y
        torque = -3 * lag + 0.5 * wave - 0.2 * v - 1.2 * 9.81 * 0.4 * np.cos(q) - friction(v)
        return [v, torque / J, (q - lag) / T, 2 * np.sin(2 * np.pi * 1.5 * t) - c * wave * lag, lag]

    found = solve_ivp(rates, (0, end), [0.3, kick, kick, 1.0, 0.0], "DOP853", rtol=1e-12, atol=1e-13)
    q, v, lag, wave, total = found.y[:, -1]
    return np.array([q, lag, wave, total, J * v * v / 2, 1.2 * 9.81 * 0.4 * np.sin(q)])


def friction(v):
    """By Brown and McPhee's law."""
    x = v / 0.8
    return 0.3 * np.tanh(4 * x) + 0.2 * x / ((x / 2) ** 2 + 0.75) ** 2 + 0.05 * v


@pytest.mark.interpreted
def test_values_and_derivatives(tmp_path):
    end = 0.1  # s: steps that are interpreted take their time
    result = mbsim.load(written(tmp_path / "a.yaml")).run(duration=end)
    values = np.array([one.value for one in result.objectives.values()])
    reference = exact(end=end)
    assert np.abs(values - reference).max() <= 2e-5 * np.abs(reference).max()
    for k, (name, value) in enumerate(PARAMETERS.items()):
        ahead, behind = exact(**{name: value + 1e-4, "end": end}), exact(**{name: value - 1e-4, "end": end})
        found = np.array([one.gradient[k] for one in result.objectives.values()])
        expected = (ahead - behind) / 2e-4
        assert np.abs(found - expected).max() <= 1e-4 * np.abs(expected).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulation", "integrator", "agreement"),
    [
        ("ali3p-rtdyn1", "", "complex_step, adjoint, ali3p-rtdyn0"),
        ("ali3p-natural", "", "complex_step, adjoint"),
        ("recursive", "integrator: rk4,", "complex_step, adjoint, conventional, partial_recursive"),
        ("recursive", "integrator: dop853,", "complex_step, adjoint"),
        ("recursive", "integrator: esdirk,", "complex_step, adjoint"),
    ],
)
def test_derivations_agree(tmp_path, formulation, integrator, agreement):
    step = "5e-3" if "rk4" in integrator or not integrator else "0.05"
    assert command("check", str(written(tmp_path / "a.yaml", formulation, integrator, step, agreement)))["passed"]


def test_a_structure_without_states(tmp_path):
    report = command("info", str(written(tmp_path / "a.yaml")))
    assert [body["name"] for body in report["bodies"]] == ["bar"] and report["mobility"] == 1
    assert report["states"] == [{"name": "lag", "unit": "rad"}, {"name": "wave", "unit": ""}]
    uses = {one["name"]: one["used_in"] for one in report["parameters"]}
    assert uses["T"] == ["states.lag.rate"] and uses["c"] == ["states.wave.rate"]
