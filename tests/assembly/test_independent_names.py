"""``independent`` as a list: the coordinates that it names keep their values and rates, those of the others follow."""

import numpy as np

import mbsim_cli as mbsim

ROD = """\
mbsim: 1
vectors: {z: {all: [0, 0, 1]}}
bodies: {a: {mass: 1, inertia: {zz: 0.1}}}
joints:
  P: {type: planar, bodies: [ground, a], point: origin, axis: z,
    initial: {position: [0.1, 0.2], angle: 0.3, velocity: [1, 0], independent: [x]}}
constraints: {d: {type: distance, points: [ground.origin, a.origin], distance: auto}}
analysis: {step: 1e-3, duration: 0.01}
"""


def test_rates_of_coordinates_that_are_not_named_follow(tmp_path):
    path = tmp_path / "rod.yaml"
    path.write_text(ROD)
    found = mbsim.run(path)
    rates = [found[f"P.{name}.velocity"][0] for name in ("x", "y")]
    np.testing.assert_allclose(rates, [1.0, -0.5], rtol=1e-12)  # along the circle about the origin
