"""Reactions of couplings by a law, in mechanisms some of whose equations hold whatever the coordinates are."""

import numpy as np

import mbsim_cli as mbsim

MODEL = """
mbsim: 1
gravity: [0, -9.81, 0]
laws: {profile: {type: harmonic, offset: 0.1, amplitude: 0.2, angular_frequency: 2}}
points:
  O: {ground: [0, 0, 0], crank: [0, 0, 0]}
  A: {crank: [0.3, 0, 0], rod: [0, 0, 0]}
  B: {rod: [0.8, 0, 0], rocker: [0.6, 0, 0]}
  C: {ground: [0.9, 0, 0], rocker: [0, 0, 0]}
bodies:
  crank: {mass: 1, inertia: {xx: 0.1, yy: 0.1, zz: 0.1}}
  rod: {mass: 1, inertia: {xx: 0.1, yy: 0.1, zz: 0.1}}
  rocker: {mass: 1, inertia: {xx: 0.1, yy: 0.1, zz: 0.1}}
  follower: {mass: 0.5}
joints:
  O: {type: revolute, bodies: [ground, crank], point: O, axis: z, initial: {angle: 1, angular_velocity: 3}}
  A: {type: revolute, bodies: [crank, rod], point: A, axis: z, initial: {angle: -0.8}}
  B: {type: revolute, bodies: [rod, rocker], point: B, axis: z}
  C: {type: revolute, bodies: [ground, rocker], point: C, axis: z, initial: {angle: 1.8}}
  lifter: {type: prismatic, bodies: [ground, follower], point: origin, axis: y}
constraints: {cam: {type: coupling, of: lifter.displacement, by: O.angle, law: profile}}
sensors:
  R: {type: reaction, constraint: cam, joint: O}
  L: {type: multiplier, constraint: cam}
  q: {type: coordinate, coordinate: O.angle}
analysis: {duration: 0.02, step: 0.01}
"""


def test_the_moment_of_a_cam_beside_a_planar_loop(tmp_path):
    """The multiplier times the slope of the law, on the camshaft."""
    path = tmp_path / "a.yaml"
    path.write_text(MODEL)
    result = mbsim.load(path).run()
    slope = 0.4 * np.cos(2.0 * np.squeeze(result["q"]))
    np.testing.assert_allclose(result["R.moment"][:, 2], np.squeeze(result["L"]) * slope, rtol=1e-9)
    assert (np.abs(result["R.moment"][:, 2]) > 0.5).all()
