"""Tyres whose centres begin below the road, as where a coordinate counts down."""

import pytest

import mbsim_cli as mbsim

WHEEL = """
mbsim: 1
gravity: [0, 0, -9.81]
roads: {hill: {type: ramp, start: -10, slope: 0.1}}
bodies: {wheel: {mass: 20, inertia: {xx: 1, yy: 1, zz: 1}}}
joints:
  ride: {type: planar, bodies: [ground, wheel], point: origin, axis: y, reference: x, initial: {position: [0, Y]}}
forces:
  tyre: {type: tyre, center: wheel.origin, axis: wheel.y, road: hill, radius: 0.3, stiffness: 1e5, damping: 300,
    friction: 0.9, slip: {type: magic_formula, B: 8, C: 1.4}}
analysis: {step: 1e-3, duration: 0.01}
"""


@pytest.mark.parametrize(("y", "below"), [(0.3, True), (-0.9, True), (-1.2, False)])
def test_a_tyre_that_begins_below_the_road(tmp_path, y, below):
    """The road is a metre high there; a planar joint about y counts down."""
    path = tmp_path / "wheel.yaml"
    path.write_text(WHEEL.replace("Y", str(y)))
    told = [
        each for each in mbsim.run(path).warnings if "the centre of tyre tyre is below the road at the start" in each
    ]
    assert len(told) == below
