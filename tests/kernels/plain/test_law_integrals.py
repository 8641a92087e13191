"""Integrals of laws against quadrature, and their variations against the complex step."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from mbsim_cli import assembly, spec
from mbsim_cli.kernels.elements.law_integrals import law_integral, law_integral_variation, pull_law_integral
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.model.layout import NONE

MODEL = """
mbsim: 1
parameters: {a: 0.7, b: 1.3, c: -0.2}
bodies: {m: {mass: 1, inertia: {zz: 1}}}
joints: {j: {type: revolute, bodies: [ground, m], point: origin, axis: z}}
forces: {f: {type: rotational_spring_damper, coordinate: j.angle, elongation_law: %s}}
analysis: {sensitivity: {method: ddm}}
"""
LAWS = {  # law: where its integral is zero
    "{type: constant, value: a}": 0.0,
    "{type: polynomial, coefficients: [a, b, c, 0.3, a*b]}": 0.0,
    "{type: harmonic, amplitude: a, angular_frequency: 9*b, phase: c, power: 3, offset: c}": 0.0,
    "{type: harmonic, amplitude: a, angular_frequency: -30*b, phase: c}": 0.0,
    "{type: smooth_step, from: c, to: a, start: 0.1*a, end: 0.6*b}": 0.0,
    "{type: one_sided, side: above, start: 0.2*a, slope: 30*b, onset: 0.2*a}": 0.14,
    "{type: one_sided, side: below, start: 0.2*a, slope: 30*b, onset: 0.2*a}": 0.14,
    "{type: spline, x: [-1, 0.1*a, 0.5*b, 2], values: [c, a, 2, b]}": 0.0,
    "{type: spline, x: [0.2*a, 0.5*b, 2], values: [a, 2, b]}": 0.14,
    "{type: spline, x: [-2, -a, -0.1*b], values: [a, 2, b]}": -0.13,
    "{type: spline, x: [-1, 0.1*a, 0.5*b, 0.9], values: [c, a, 2, b], extrapolate: hold}": 0.0,
    "{type: spline, x: [-1, 0.1*a, 0.5*b, 0.9], values: [c, a, 2, b], extrapolate: linear}": 0.0,
    "{type: windowed, start: 0.3*a, end: 0.3*a + 0.5*b, "
    "law: {type: harmonic, amplitude: b, angular_frequency: pi/(0.5*b), power: 3}}": 0.0,
    "{type: piecewise, breaks: [0.5*a, 1.2*a], laws: [{type: polynomial, coefficients: [a, 1/a]}, "
    "{type: constant, value: a + 0.5}, {type: polynomial, coefficients: [a + 0.5 - 3.6*a*b, 3*b]}]}": 0.0,
}


@pytest.mark.parametrize("law", LAWS)
def test_integrals_and_their_variations(tmp_path, law):
    (tmp_path / "model.yaml").write_text(MODEL % law)
    problem = assembly.build(spec.load(tmp_path / "model.yaml")).problem
    laws, theta, dtheta = problem.model.laws, problem.theta, problem.theta_rho
    k = problem.model.forces.law[0, 1]
    tested = 0
    for x in (-1.6, -0.83, 0.05, 0.31, 0.77, 1.6):
        if np.isnan(law_value(laws, theta, k, x)[0]):
            continue
        parts = np.linspace(LAWS[law], x, 20)
        pieces = [quad(lambda s: law_value(laws, theta, k, s)[0], a, b)[0] for a, b in pairwise(parts)]
        assert law_integral(laws, theta, k, x) == pytest.approx(sum(pieces), rel=1e-8, abs=1e-11)
        by_x = law_integral(laws, theta + 0j, k, x + 1e-30j).imag / 1e-30
        assert by_x == pytest.approx(law_value(laws, theta, k, x)[0], rel=1e-12, abs=1e-13)
        pulled = np.zeros((theta.size, 1))
        pull_law_integral(laws, theta, k, x, 0, 1.3, pulled)
        for j in range(3):
            stepped = law_integral(laws, theta + 1e-30j * dtheta[:, j], k, x + 0j).imag / 1e-30
            assert law_integral_variation(laws, theta, dtheta, j, k, x) == pytest.approx(stepped, rel=1e-12, abs=1e-13)
            assert pulled[:, 0] @ dtheta[:, j] == pytest.approx(1.3 * stepped, rel=1e-12, abs=1e-12)
        tested += 1
    assert tested >= 2
    assert law_integral(laws, theta, NONE, 0.3) == 0.0
