"""Static shapes at nodes that the frame holds: loads that it takes have none, and gradients know of it."""

import numpy as np
import pytest

import mbsim_cli as mbsim

BRICK = """\
mbsim: 1
gravity: [0, -9, 3]
parameters: {L: 0.8, th: 0.02}
materials: {mat: {youngs_modulus: 5e9, poisson_ratio: 0.3, density: 2000}}
bodies:
  fb:
    flexible:
      mesh: {type: brick, size: [L, 0.06, 3*th], origin: [0, -0.03, -1.5*th], elements: [6, 1, 2]}
      material: mat
      sets: {a: {x: 0}, b: {x: L}}
      frame: FRAME
      modes: {count: 2, static: [STATIC]}
      nodes: {a: {set: a}, b: {set: b, coupling: mean}}
joints: {J0: {type: revolute, bodies: [ground, fb], point: [origin, a], axis: z}}
forces: {f: {type: force, point: fb.b, value: [10, 20, -10], axes: body}}
sensors: {U: {type: strain_energy, body: fb}, p: {type: position, point: fb.b}}
objectives: {energy: {integral: U}, way: {integral: "dot(p, p)"}}
analysis: {step: 2e-4, duration: 6e-4, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("frame", "static", "left_out"),
    [("{chord: [a, b]}", "b", "2"), ("{chord: [a, b]}", "a", "4"), ("{fixed: a}", "a", "6"), ("{fixed: a}", "b", "")],
)
def test_loads_that_the_frame_takes_have_no_shapes(tmp_path, frame, static, left_out):
    path = tmp_path / "brick.yaml"
    path.write_text(BRICK.replace("FRAME", frame).replace("STATIC", static))
    model = mbsim.load(path)
    found = model.run()
    said = [warning for warning in found.warnings if "bend nothing of their own" in warning]
    assert [warning.split("'fb': ")[1][:1] for warning in said] == [left_out] * bool(left_out)
    for name, value in model.parameters.items():
        up, down = (
            model.run(parameters={name: value * (1 + k * 1e-4)}, sensitivity="none").objectives for k in (1, -1)
        )
        for key, objective in found.objectives.items():
            slope = (up[key].value - down[key].value) / (2e-4 * value)
            assert np.isclose(objective.by(name), slope, rtol=1e-5, atol=1e-9 * abs(objective.value)), (key, name)
