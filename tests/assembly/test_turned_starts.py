"""Bodies that closing a loop turns keep the angular velocities that the file states, with derivatives."""

import numpy as np
import pytest

import mbsim_cli as mbsim

# a plate on a ball joint, and a bar that another ball joint ties to it; neither orientation is independent
MODEL = """
mbsim: 1
parameters: {height: 0.5, tilt: 0.4}
points: {A: {ground: [0, 0, 0], plate: [0.1, 0, 0]}, B: {plate: [0.1, 0.02, height], bar: [0, 0.01, 0]}}
bodies:
  plate: {mass: 1, inertia: {xx: 0.1, yy: 0.12, zz: 0.02}}
  bar: {mass: 1, inertia: {xx: 0.03, yy: 0.01, zz: 0.04}}
joints:
  A:
    {type: spherical, bodies: [ground, plate], point: A,
    initial: {orientation: {axis: [1, 0.2, 0.1], angle: tilt}, angular_velocity: [0.3, 0.1, -0.2]}}
  bar:
    {type: floating, bodies: [ground, bar],
    initial: {position: [0.1, 0.2, 0.5], orientation: {axis: [0, 0.2, 0.1], angle: 0.4}}}
  B: {type: spherical, bodies: [plate, bar], point: B}
sensors: {w: {type: angular_velocity, body: plate}, v: {type: velocity, point: bar.origin}}
objectives: {moved: {integral: "dot(v, v)"}, turned: {final: w.x*w.y}}
analysis: {step: 0.01, duration: 0.01, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.interpreted
def test_a_body_that_the_loop_turns_keeps_its_angular_velocity():
    """Central differences of whole runs, each of which closes the loop."""
    model = mbsim.loads(MODEL)
    found = model.run()
    np.testing.assert_allclose(found["w"][0], [0.3, 0.1, -0.2], rtol=1e-12)
    low, high = (model.run(sensitivity="none", tilt=0.4 + h).objectives for h in (-1e-5, 1e-5))
    for key, objective in found.objectives.items():
        assert objective.by("tilt") == pytest.approx((high[key].value - low[key].value) / 2e-5, rel=1e-6)


CLOSED = (
    MODEL.replace("tilt: 0.4", "tilt: 0").replace("[0.1, 0.2, 0.5]", "[0, 0.01, 0.5]").replace("angle: 0.4", "angle: 0")
)


@pytest.mark.interpreted
def test_the_angular_velocity_of_a_body_that_need_not_turn_depends_on_no_angle():
    """Its stated orientation is a guess, which happens to close the loop."""
    found = mbsim.loads(CLOSED).run()
    for component in "xyz":
        np.testing.assert_allclose(found.sensitivity(f"w.{component}")[0], 0.0, atol=1e-15)


WHEEL = "  wheel: {mass: 1, inertia: {xx: 0.1, yy: 0.1, zz: 0.1}}\njoints:\n"
HINGES = """\
  H: {type: revolute, bodies: [ground, wheel], point: H, axis: z}
  K: {type: revolute, bodies: [ground, wheel], point: H, axis: z, cut: true, initial: {angular_velocity: 2}}
"""


@pytest.mark.interpreted
def test_a_body_keeps_its_angular_velocity_beside_a_velocity_of_a_cut_joint():
    """Velocities of cut joints take part in the equations of the start."""
    text = MODEL.replace("joints:\n", WHEEL + HINGES).replace(
        "points: {", "points: {H: {ground: [0, 0, 0], wheel: [0, 0, 0]}, "
    )
    model = mbsim.loads(text + "vectors: {z: {all: [0, 0, 1]}}\n")
    found = model.run()
    np.testing.assert_allclose(found["w"][0], [0.3, 0.1, -0.2], rtol=1e-12)
    np.testing.assert_allclose(found["H.angle.velocity"], 2.0, rtol=1e-12)
    low, high = (model.run(sensitivity="none", tilt=0.4 + h).objectives for h in (-1e-5, 1e-5))
    for key, objective in found.objectives.items():
        assert objective.by("tilt") == pytest.approx((high[key].value - low[key].value) / 2e-5, rel=1e-6)
