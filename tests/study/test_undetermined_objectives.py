"""Objectives of reactions that redundant constraints leave undetermined: neither value nor gradient, by any method."""

import numpy as np
import pytest

import mbsim_cli as mbsim

SLIDER = """
mbsim: 1
parameters: {m: 2, k: 50}
bodies: {b: {mass: m, inertia: {xx: 1, yy: 1, zz: 1}}}
points: {p: {ground: [0, 0, 1]}}
joints: {j: {type: prismatic, bodies: [ground, b], point: origin, axis: z}}
forces: {s: {type: spring_damper, points: [ground.p, b.origin], stiffness: k, natural_length: 0.5}}
constraints: {c: {type: angle, vectors: [ground.x, b.x], axis: ground.z}}
sensors: {R: {type: reaction, joint: j}}
objectives: {over_no_time: {integral: R.moment.z}, rest: {final: R.moment.z}, known: {final: R.moment.x}}
analysis: {type: equilibrium, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.parametrize("method", ["ddm", "adjoint"])
def test_an_equilibrium(tmp_path, method):
    (tmp_path / "model.yaml").write_text(SLIDER)
    objectives = mbsim.load(tmp_path / "model.yaml").run(sensitivity=method).objectives
    for name in ("over_no_time", "rest"):
        assert np.isnan(objectives[name].value) and np.isnan(objectives[name].gradient).all()
    assert np.isfinite(objectives["known"].gradient).all()
