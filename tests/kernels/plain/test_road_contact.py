"""Spheres on roads: penetration by search for the nearest place, a slope as a plane, gradients by three methods."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import mbsim_cli as mbsim
from mbsim_cli.errors import ModelError
from tests.models.command import mbsim as command

BALL = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {R: 0.1, height: 0.05, m: 2, mu: 0.4}
vectors: {normal: {ground: [-0.2, 0, 1]}}
bodies: {ball: {mass: m, inertia: {xx: 0.4*m*R**2, yy: 0.4*m*R**2, zz: 0.4*m*R**2}}}
roads:
  waves: {type: sinusoidal, amplitude: height, wavelength: 1.5}
  slope: {type: ramp, start: -10, onset: 1e-3, slope: 0.2}
joints:
  free: {type: floating, bodies: [ground, ball], initial: {position: [PLACE, 0, HEIGHT], velocity: [1.5, 0.1, -0.2]}}
forces:
  touch:
    type: contact
    shape: {type: sphere, center: ball.origin, radius: R}
    against: FACE
    stiffness: 1e5
    dissipation: 0.5
    friction: mu
    friction_speed: 0.1
sensors:
  r: {type: position, point: ball.origin}
  d: {type: contact, contact: touch, quantity: penetration}
  F: {type: force, force: touch}
objectives: {place: {final: "r.x + 3*r.z"}, load: {final: norm(F)}}
analysis: {formulation: FORMULATION, step: 1e-3, duration: DURATION, sensitivity: {method: ddm, parameters: all}}
checks:
  derivations agree: {agreement: [adjoint, complex_step], relative_tolerance: 1e-9}
"""


def model(folder, face="{type: road, road: waves}", place=0.2, height=0.13, formulation="recursive", duration=1e-3):
    path = folder / "ball.yaml"
    text = BALL.replace("FACE", face).replace("PLACE", f"{place}").replace("HEIGHT", f"{height}")
    path.write_text(text.replace("FORMULATION", formulation).replace("DURATION", f"{duration}"))
    return path


@pytest.mark.parametrize("place", [-0.3, 0.0, 0.2, 0.6])
def test_a_sphere_touches_where_the_road_is_nearest(tmp_path, place):
    found = mbsim.run(model(tmp_path, place=place), sensitivity="none")

    def away(x):
        return np.hypot(x - place, 0.05 * np.sin(2 * np.pi * x / 1.5) - 0.13)

    nearest = minimize_scalar(away, (place - 0.1, place + 0.1), tol=1e-12).fun
    assert np.isclose(found["d"][0], 0.1 - nearest, atol=1e-8)


@pytest.mark.slow
def test_a_slope_is_a_plane(tmp_path):
    plane = "{type: plane, point: ground.S, normal: ground.normal}"
    road = mbsim.run(model(tmp_path, "{type: road, road: slope}", 0.2, 2.14), sensitivity="ddm")
    path = model(tmp_path, plane, 0.2, 2.14)  # a ramp that begins over its onset lies half of that lower
    path.write_text(path.read_text().replace("vectors:", "points: {S: {ground: [-9.9995, 0, 0]}}\nvectors:"))
    other = mbsim.run(path, sensitivity="ddm")
    assert road["d"][0] > 1e-3
    np.testing.assert_allclose(road["F"], other["F"], rtol=1e-9)
    for name in ("place", "load"):
        np.testing.assert_allclose(
            road.objectives[name].gradient, other.objectives[name].gradient, rtol=1e-9, atol=1e-12
        )


def test_a_road_that_steps_are_too_long_for_is_reported(tmp_path):
    """A ramp that begins over 1 mm at 0.202 m, at 1.5 mm a step; not where the ball flies over it."""
    for height, reported in ((0.09, True), (0.5, False)):
        path = model(tmp_path, "{type: road, road: slope}", 0.2, height, "ali3p-rtdyn1", 4e-3)
        path.write_text(path.read_text().replace("start: -10", "start: 0.202"))
        warnings = [each for each in mbsim.run(path, sensitivity="none").warnings if "passes its road" in each]
        assert len(warnings) == reported
        if reported:
            assert "contact touch passes its road between x = 0.202 m and 0.203 m in 0.68 steps, at t = " in warnings[0]


@pytest.mark.parametrize(
    "formulation", [pytest.param("recursive", marks=pytest.mark.slow), "ali3p-rtdyn1", "ali3p-natural"]
)
def test_gradients(tmp_path, formulation):
    path = model(tmp_path, formulation=formulation, duration=0.01)
    assert command("check", str(path))["passed"]


def test_roads_are_known_and_spheres_touch_them(tmp_path):
    with pytest.raises(ModelError, match=r"ball.yaml:\d+:\d+: forces.touch.against.road: unknown road 'wave'"):
        mbsim.load(model(tmp_path, "{type: road, road: wave}"))
    path = model(tmp_path)
    path.write_text(path.read_text().replace("{type: sphere, center: ball.origin, radius: R}",
                                             "{type: rim, center: ball.origin, axis: ball.y, radius: R}"))  # fmt: skip
    with pytest.raises(ModelError, match="others touch planes alone"):
        mbsim.load(path)
