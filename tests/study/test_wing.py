"""Wings: force against the formula, weathervane against its linear frequency; gradients by three methods."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.errors import MbsimError

VANE = """\
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {S: 0.05, slope: 4.5, drag: 0.03, tilt: 0.1}
points: {fins: {vane: [0.4, 0.02, 0]}}
vectors: {n: {vane: [tilt, 1, 0.1]}}
bodies:
  vane: {shape: {type: rod, length: 0.5, mass: 0.4}}
joints:
  A: {type: revolute, bodies: [ground, vane], point: origin, axis: z, initial: {angle: 0.7}}
forces:
  fin:
    type: wing
    point: vane.fins
    normal: vane.n
    area: S
    lift_slope: slope
    drag_coefficient: drag
    wind: [8, 1, 0.5]
sensors:
  q: {type: coordinate, coordinate: A.angle}
  F: {type: force, force: fin}
  v: {type: velocity, point: vane.fins}
  n: {type: direction, vector: vane.n}
objectives: {turn: {integral: "q**2"}, load: {integral: "dot(F, F)"}}
analysis: {step: 2e-3, duration: 0.02}
"""


@pytest.mark.slow
def test_force_is_that_of_the_formula(tmp_path):
    path = tmp_path / "vane.yaml"
    path.write_text(VANE)
    found = mbsim.run(path, sensitivity="none")
    F, v, n = (found[name] for name in "Fvn")
    u, n = v - [8, 1, 0.5], n / np.linalg.norm(n, axis=1, keepdims=True)
    speed = np.linalg.norm(u, axis=1, keepdims=True)
    along = u / speed
    sine = -np.sum(along * n, axis=1, keepdims=True)  # of the angle of attack
    assert np.abs(sine).min() > 0.3
    lift = 4.5 * sine * (n + sine * along)  # normal less its part along the flow, cos(alpha) long
    drag = (0.03 + 4.5 * sine**2) * along
    np.testing.assert_allclose(F, 0.5 * 1.225 * 0.05 * speed**2 * (lift - drag), rtol=1e-6)


@pytest.mark.parametrize("change", ["S: 0.05}", "drag: -1"])
def test_what_no_wing_can_be_is_refused(tmp_path, change):
    path = tmp_path / "vane.yaml"
    path.write_text(VANE.replace("point: vane.fins", "point: ground.origin" if change[0] == "S" else "point: vane.fins")
                    .replace("drag: 0.03", change if change[0] == "d" else "drag: 0.03"))  # fmt: skip
    with pytest.raises(MbsimError, match=r"vane.yaml:\d+:\d+: forces.fin.(point|normal|drag_coefficient)"):
        mbsim.run(path, sensitivity="none")


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn0", "ali3p-rtdyn1", "recursive"])
def test_gradients_by_three_methods(tmp_path, formulation):
    path = tmp_path / "vane.yaml"
    path.write_text(f"{VANE}checks: {{gradients: {{agreement: [complex_step, adjoint]}}}}\n")
    settings = {"integrator": "rk4"} if formulation == "recursive" else {}
    rows = mbsim.check(path, formulation=formulation, **settings)
    assert len(rows) == 20 and all(row.passed for row in rows)
