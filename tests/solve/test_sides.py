"""Laws that change on output times which parameters move: derivatives are those of central differences."""

import numpy as np
import pytest

import mbsim_cli as mbsim

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
objectives: {peak: {maximum: servo.moment.z, sharpness: 2, unit: N m}, jolt: {integral: "dot(a, a)"}}
analysis: {step: 1e-3, duration: 0.08, sensitivity: {method: ddm, parameters: all}}
"""
OPTIONS = [{"formulation": "ali3p-rtdyn1"}, {"formulation": "ali3p-natural"}, {"formulation": "recursive"}]


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
        np.testing.assert_allclose(adjoint.objectives[key].gradient, found.gradient, rtol=2e-8, atol=1e-8 * found.value)
        slope = (late[key].value - early[key].value) / (2 * change)
        assert np.isclose(found.by("delay"), slope, rtol=2e-4, atol=1e-5 * abs(found.value)), key
