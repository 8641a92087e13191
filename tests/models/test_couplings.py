"""Couplings by a law: cams and gears that are not round. Values by scipy, derivatives in every way."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.kernels.elements.laws import law_third, law_value
from tests.models.command import mbsim as command

MODEL = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {lift: 0.02, base: 0.1, slope: 0.03, m: 1.5, T: 3}
laws:
  profile: LAW
  teeth: {type: polynomial, coefficients: [0, 0.8, slope, -0.02]}
bodies:
  cam: {mass: 2, center_of_mass: [0.02, 0, 0], inertia: {xx: 0.01, yy: 0.01, zz: 0.02}}
  follower: {mass: m, center_of_mass: [0, 0.1, 0], inertia: {xx: 0.01, yy: 0.01, zz: 0.02}}
  wheel: {mass: 0.5, center_of_mass: [0.05, 0, 0], inertia: {xx: 0.01, yy: 0.01, zz: 0.01}}
joints:
  cam: {type: revolute, bodies: [ground, cam], point: origin, axis: z, initial: {angle: 0.4, angular_velocity: 5}}
  guide: {type: prismatic, bodies: [ground, follower], point: origin, axis: y}
  wheel: {type: revolute, bodies: [wheel, cam], point: origin, axis: z}
constraints:
  lift: {type: coupling, of: guide.displacement, by: cam.angle, law: profile}
  turn: {type: coupling, of: wheel.angle, by: cam.angle, law: teeth, offset: 0.1}
forces:
  push: {type: drive, coordinate: cam.angle, value: T}
sensors:
  q: {type: coordinate, coordinate: cam.angle}
  u: {type: coordinate, coordinate: cam.angle, derivative: 1}
  y: {type: coordinate, coordinate: guide.displacement}
  a: {type: coordinate, coordinate: guide.displacement, derivative: 2}
  w: {type: coordinate, coordinate: wheel.angle, derivative: 1}
  R: {type: reaction, constraint: lift, joint: guide}
  l: {type: multiplier, constraint: lift}
objectives:
  q_end: {final: q}
  u_end: {final: u}
  a_all: {integral: "a**2/100 + w**2"}
  load: {integral: "R.force.y**2*1e-3"}
  l_end: {final: l}
analysis: {formulation: FORMULATION, INTEGRATOR step: STEP, duration: 0.1, sensitivity: {method: ddm, parameters: all}}
checks: {agree: {agreement: [AGREEMENT], relative_tolerance: 1e-9}}
"""
HARMONIC = "{type: harmonic, offset: base, amplitude: lift, angular_frequency: 2, phase: 0.3}"
LAWS = {
    "harmonic": HARMONIC,
    "power": "{type: harmonic, offset: base, amplitude: lift, angular_frequency: 2, phase: 0.3, power: 3}",
    "polynomial": "{type: polynomial, coefficients: [base, lift, 0.1, lift, -0.2]}",
    "step": "{type: smooth_step, from: base, to: base + lift, start: 0.2, end: 1.1}",
    "spline": "{type: spline, x: [-0.5, 0.3, 0.7, 1.6], values: [base, base + lift, 0.07, base]}",
    "stop": "{type: one_sided, side: above, start: 0.3, slope: lift, onset: 1.5}",
}


def written(path, law=HARMONIC, formulation="ali3p-rtdyn1", integrator="", step="1e-3", agreement="complex_step"):
    text = MODEL.replace("FORMULATION", formulation).replace("STEP", step).replace("AGREEMENT", agreement)
    path.write_text(text.replace("INTEGRATOR", integrator).replace("LAW", law))
    return path


def motion(lift=0.02, slope=0.03, m=1.5, T=3.0):
    """Angle and rate of the cam at the end: one coordinate, whose inertia follows it."""

    def rates(t, y):
        q, u = y
        s1, s2 = 2 * lift * np.cos(2 * q + 0.3), -4 * lift * np.sin(2 * q + 0.3)
        p, p1, p2 = 0.1 + 0.8 * q + slope * q**2 - 0.02 * q**3, 0.8 + 2 * slope * q - 0.06 * q**2, 2 * slope - 0.12 * q
        J = 0.01 + 0.5 * 0.05**2
        inertia = 0.02 + 2 * 0.02**2 + m * s1**2 + J * (1 - p1) ** 2
        by_q = 2 * m * s1 * s2 - 2 * J * (1 - p1) * p2
        weight = 9.81 * (2 * 0.02 * np.cos(q) + m * s1 + 0.5 * 0.05 * np.cos(q - p) * (1 - p1))
        return [u, (T - weight - 0.5 * by_q * u**2) / inertia]

    return solve_ivp(rates, (0, 0.1), [0.4, 5.0], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("kind", LAWS)
def test_third_derivatives_of_laws(tmp_path, kind):
    problem = build(spec.load(written(tmp_path / "a.yaml", LAWS[kind]))).problem
    law = next(k for k in problem.model.measures.curves.law if k >= 0)
    for x in (0.25, 0.5, 0.9, 1.05):
        found = law_third(problem.model.laws, problem.theta, law, x)
        stepped = law_value(problem.model.laws, problem.theta.astype(complex), law, x + 1e-30j)[2].imag / 1e-30
        assert abs(found - stepped) <= 1e-12 * max(1.0, abs(stepped))


@pytest.mark.slow
def test_values_and_derivatives(tmp_path):
    path = written(tmp_path / "a.yaml", formulation="ali1p-rtdyn1", integrator="integrator: dop853, tolerance: 1e-12,")
    result = mbsim.load(path).run()
    found = np.array([result.objectives[name].value for name in ("q_end", "u_end")])
    assert np.abs(found - motion()).max() <= 1e-9
    np.testing.assert_allclose(result["y"], 0.1 + 0.02 * np.sin(2 * result["q"] + 0.3), atol=1e-12)
    for k, name in ((0, "lift"), (2, "slope"), (3, "m"), (4, "T")):
        value = {"lift": 0.02, "slope": 0.03, "m": 1.5, "T": 3.0}[name]
        ahead, behind = motion(**{name: value * 1.0001}), motion(**{name: value * 0.9999})
        expected = (ahead - behind) / (0.0002 * value)
        found = np.array([result.objectives[name].gradient[k] for name in ("q_end", "u_end")])
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LAWS)
def test_derivations_agree(tmp_path, kind):
    path = written(tmp_path / "a.yaml", LAWS[kind], step="1e-2", agreement="complex_step, adjoint, ali3p-rtdyn0")
    assert command("check", str(path))["passed"]


@pytest.mark.slow
@pytest.mark.parametrize(("formulation", "integrator"), [("ali3p-natural", ""), ("ali1p-rtdyn1", "integrator: rk4,")])
def test_derivations_agree_in_other_formulations(tmp_path, formulation, integrator):
    path = written(tmp_path / "a.yaml", HARMONIC, formulation, integrator, "1e-2", "complex_step, adjoint")
    assert command("check", str(path))["passed"]


def test_what_is_wrong(tmp_path):
    for old, new, message in (
        (", law: profile}", "}", "give terms, or of, by and law"),
        ("by: cam.angle, law: profile", "by: cam.angel, law: profile", "did you mean 'angle'?"),
        ("by: cam.angle, law: profile", "by: guide.displacement, law: profile", "cannot follow itself"),
        ("law: profile}", "law: profil}", "did you mean 'profile'?"),
    ):
        path = written(tmp_path / "a.yaml")
        path.write_text(path.read_text().replace(old, new))
        with pytest.raises(mbsim.ModelError, match=r"a\.yaml:") as caught:
            mbsim.load(path)
        assert message in str(caught.value)
