"""Shapes and faces of contacts: penetrations by geometry, laws of force, weights at rest, sums of parts, mistakes."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.errors import MbsimError

TEXT = """\
mbsim: 1
gravity: [0, 0, -9.81]
vectors: {u: {rod: [1, 0.2, 0.3]}}
points: {p1: {rod: [0.1, 0, -0.05]}, p2: {rod: [-0.1, 0.02, -0.06]}}
bodies: {rod: {mass: 2, inertia: {xx: 0.02, yy: 0.03, zz: 0.02}}, table: {mass: 5, inertia: {xx: 1, yy: 1, zz: 1}}}
joints:
  free:
    type: floating
    bodies: [ground, rod]
    initial:
      position: [0.05, 0.02, 0.06]
      velocity: [0.3, 0.1, -1.0]
      orientation: {axis: [1, 2, 3], angle: 20 deg}
  lift: {type: prismatic, bodies: [ground, table], point: origin, axis: z}
forces:
  hit:
    type: contact
    shape: SHAPE
    against: FACE
    stiffness: 1e4
    friction: 0.4
    friction_speed: 0.1
sensors:
  d: {type: contact, contact: hit, quantity: penetration}
  F: {type: contact, contact: hit, quantity: normal_force}
  f: {type: contact, contact: hit, quantity: friction}
  G: {type: force, force: hit}
analysis: {formulation: recursive, integrator: rk4, step: 1e-3, duration: 1e-3}
"""
VELOCITIES = "\n  v: {type: velocity, point: rod.origin}\n  vt: {type: velocity, point: table.origin}"
BALL = "{type: sphere, center: rod.p1, radius: 0.1}"
DRUM = "{type: cylinder, center: table.origin, axis: table.x, radius: 0.1}"
RIM = "{type: rim, center: rod.p1, axis: rod.u, radius: 0.1, tube: 0.01}"
HERTZ = "youngs_modulus: [2e6, 1e6]\n    poisson_ratio: [0.3, 0.45]"
PLANE = "{type: plane, point: table.origin, normal: table.z}"


def run(folder, shape, face=PLANE, text=TEXT, parts=()):
    path = folder / "shapes.yaml"
    for number in parts:
        text = text.replace(
            "  f: {type", f"  d{number}: {{type: contact, contact: hit, quantity: penetration, part: {number}}}\n"
            f"  F{number}: {{type: contact, contact: hit, quantity: normal_force, part: {number}}}\n  f: {{type", 1
        )  # fmt: skip
    if parts:
        text = text.replace("  d: {type: contact, contact: hit, quantity: penetration}\n", "")
    path.write_text(text.replace("SHAPE", shape).replace("FACE", face))
    return mbsim.run(path, sensitivity="none")


def pose():
    from scipy.spatial.transform import Rotation

    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    return Rotation.from_rotvec(np.deg2rad(20) * axis).as_matrix(), np.array([0.05, 0.02, 0.06])


R, r = pose()
P1, P2 = (r + R @ p for p in ([0.1, 0, -0.05], [-0.1, 0.02, -0.06]))
U = R @ np.array([1, 0.2, 0.3]) / np.linalg.norm([1, 0.2, 0.3])
ROUND = np.linspace(0, 2 * np.pi, 100001)


def circle(center, radius):
    """Points of a circle across U."""
    x = np.cross(U, [0, 0, 1])
    x /= np.linalg.norm(x)
    return center + radius * (np.outer(np.cos(ROUND), x) + np.outer(np.sin(ROUND), np.cross(U, x)))


def to_segment(p, along, half):
    """Distance of a point from a segment about the origin, by search."""
    return np.linalg.norm(p - np.outer(np.linspace(-half, half, 100001), along), axis=1).min()


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("shape", "face", "penetration"),
    [
        (BALL, PLANE, 0.1 - P1[2]),
        (RIM, PLANE, 0.01 - circle(P1, 0.1)[:, 2].min()),
        (BALL, "{type: sphere, center: table.origin, radius: 0.2}",
         0.3 - np.linalg.norm(P1)),
        (BALL, DRUM,
         0.2 - np.linalg.norm(P1[1:])),
        (BALL,
         "{type: capsule, center: table.origin, axis: table.x, radius: 0.1, length: 0.1}",
         0.2 - to_segment(P1, [1, 0, 0], 0.05)),
        (BALL,
         "{type: capsule, center: table.origin, axis: table.x, radius: 0.1, length: 0.8}",
         0.2 - to_segment(P1, [1, 0, 0], 0.4)),
    ],
)  # fmt: skip
def test_penetrations_are_those_of_the_geometry(tmp_path, shape, face, penetration):
    found = run(tmp_path, shape, face)
    assert np.isclose(found["d"][0], penetration, rtol=1e-6, atol=1e-9)
    assert np.isclose(found["F"][0], 1e4 * max(penetration, 0.0) ** 1.5, rtol=1e-5)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("shape", "heights"),
    [
        ("{type: points, points: [rod.p1, rod.p2]}", [P1[2], P2[2]]),
        ("{type: box, center: rod.origin, size: [0.3, 0.1, 0.2]}",
         [(r + R @ [x, y, z])[2] for x in (-0.15, 0.15) for y in (-0.05, 0.05) for z in (-0.1, 0.1)]),
        ("{type: capsule, center: rod.origin, axis: rod.u, radius: 0.1, length: 0.3}",
         [(r + s * 0.15 * U)[2] - 0.1 for s in (-1, 1)]),
        ("{type: cylinder, center: rod.origin, axis: rod.u, radius: 0.1, length: 0.3}",
         [circle(r + s * 0.15 * U, 0.1)[:, 2].min() for s in (-1, 1)]),
    ],
    ids=["points", "box", "capsule", "cylinder"],
)  # fmt: skip
def test_parts_are_summed(tmp_path, shape, heights):
    numbers = range(1, len(heights) + 1)
    found = run(tmp_path, shape, parts=numbers)
    np.testing.assert_allclose([-found[f"d{k}"][0] for k in numbers], heights, rtol=1e-6, atol=1e-9)
    assert np.isclose(found["F"][0], sum(found[f"F{k}"][0] for k in numbers)) and found["F"][0] > 0.0
    assert np.isclose(found["G"][0, 2], found["F"][0])


@pytest.mark.interpreted
def test_impact_is_that_of_adams(tmp_path):
    """F = K d^e + c STEP(d, 0, 0, depth, 1) d', never negative."""
    text = TEXT.replace("stiffness: 1e4", "stiffness: 1e4\n    exponent: 2.2\n    impact: {damping: 200, depth: 0.02}")
    text = text.replace("quantity: penetration}", "quantity: penetration}" + VELOCITIES, 1)
    text = text.replace("[0.3, 0.1, -1.0]", "[0, 0, -1.0]").replace("duration: 1e-3", "duration: 0.2")
    text = text.replace("    friction: 0.4\n    friction_speed: 0.1\n", "")
    found = run(tmp_path, "{type: sphere, center: rod.origin, radius: 0.08}", text=text)
    d, rate = found["d"], found["vt"][:, 2] - found["v"][:, 2]
    s = np.clip(d / 0.02, 0, 1)
    force = np.where(d > 0, 1e4 * np.maximum(d, 0) ** 2.2 + 200 * s * s * (3 - 2 * s) * rate, 0.0)
    assert found["F"].min() >= 0.0 and found["F"].max() > 100 and (force < -0.1).any()
    sure = np.abs(force) > 0.1 * 1e4 * np.maximum(d, 0) ** 2.2
    np.testing.assert_allclose(found["F"][sure], np.maximum(force, 0)[sure], atol=1e-9)


@pytest.mark.interpreted
def test_stiffness_by_hertz(tmp_path):
    text = TEXT.replace("stiffness: 1e4", "youngs_modulus: [2e6, 1e6]\n    poisson_ratio: [0.3, 0.45]")
    face = "{type: sphere, center: table.origin, radius: 0.2}"
    found = run(tmp_path, "{type: sphere, center: rod.p1, radius: 0.1}", face, text)
    modulus = 1 / ((1 - 0.3**2) / 2e6 + (1 - 0.45**2) / 1e6)
    expected = 4 / 3 * modulus * np.sqrt(0.02 / 0.3) * found["d"][0] ** 1.5
    assert np.isclose(found["F"][0], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    stiffness: 1e4\n", "    stiffness: 1e4\n    law: rigid\n", "rigid impacts are not available"),
        ("    stiffness: 1e4\n", "", "give stiffness, or youngs_modulus with poisson_ratio"),
        (
            "    stiffness: 1e4\n",
            "    stiffness: 1e4\n    dissipation: 1\n    impact: {damping: 1, depth: 1}\n",
            "one of them",
        ),
        ("    friction: 0.4\n", "", "give friction beside friction_speed"),
        (
            "friction: 0.4",
            "friction: 0.4\n    static_friction: 0.3",
            "static_friction: must not be less than friction, which is 0.4",
        ),
        ("quantity: penetration}", "quantity: penetration, part: 3}", "has 2 parts"),
        ("FACE", "{type: cylinder, center: table.origin, axis: table.x, radius: 0.1}", "touch planes alone"),
        ("FACE", "{type: plane, point: rod.origin, normal: rod.z}", "are both on 'rod'"),
        ("FACE", "{type: plane, point: table.origin, normal: rod.z}", "must be of one body"),
        ("FACE", "{type: plane, point: table.origin, normal: table.q}", "unknown vector 'q'"),
        ("", "", "each with a penetration of its own"),
    ],
)
def test_mistakes_are_named(tmp_path, old, new, message):
    with pytest.raises(MbsimError, match=message):
        run(tmp_path, "{type: capsule, center: rod.origin, axis: rod.u, radius: 0.1, length: 0.3}",
            text=TEXT.replace(old, new, 1) if old else TEXT)  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "shape: SHAPE\n    against: FACE",
            "points: [table.origin, rod.p1]\n    radii: [0, 0]",
            "radii: both are zero",
        ),
        ("SHAPE", "{type: points, points: [rod.p1, rod.p2, rod.p1]}", r"shape.points\[2\]: 'rod.p1' stands twice"),
        ("stiffness: 1e4", f"{HERTZ}\n    exponent: 2", "Hertz' exponent is 1.5, not 2"),
        ("stiffness: 1e4", HERTZ, "youngs_modulus: a point has no stiffness by Hertz"),
    ],
)
def test_mistakes_of_spheres_are_named(tmp_path, old, new, message):
    ball = BALL.replace("0.1", "0") if new == HERTZ else BALL
    with pytest.raises(MbsimError, match=message):
        run(tmp_path, ball, text=TEXT.replace(old, new, 1))


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["recursive, integrator: rk4", "ali3p-rtdyn0", "ali3p-natural"])
@pytest.mark.parametrize(
    ("shape", "face"),
    [
        ("{type: box, center: rod.origin, size: [0.3, 0.1, L]}", PLANE),
        ("{type: cylinder, center: rod.origin, axis: rod.u, radius: L/2, length: 0.3}", PLANE),
        ("{type: points, points: [rod.p1, rod.p2]}",
         "{type: capsule, center: table.origin, axis: table.y, radius: L/2, length: 0.1}"),
    ],
    ids=["box", "cylinder", "capsule"],
)  # fmt: skip
def test_gradients_agree(tmp_path, shape, face, formulation):
    text = TEXT.replace("mbsim: 1\n", "mbsim: 1\nparameters: {L: 0.2, K: 1e4, mu: 0.4, c: 50}\n")
    text = text.replace("stiffness: 1e4", "stiffness: K\n    exponent: 2.2\n    impact: {damping: c, depth: 0.01}")
    text = text.replace("friction: 0.4", "friction: mu").replace("recursive, integrator: rk4", formulation)
    text = text.replace("  d: {type: contact, contact: hit, quantity: penetration}\n", "")
    text = text.replace("duration: 1e-3}", "duration: 0.05}").replace("step: 1e-3", "step: 2e-3")
    text += "objectives: {x: {final: G.x}, F: {integral: F**2}}\n"
    text += "checks: {gradients: {agreement: [complex_step, adjoint], relative_tolerance: 1e-9}}\n"
    path = tmp_path / "shapes.yaml"
    path.write_text(text.replace("SHAPE", shape).replace("FACE", face))
    assert all(row.passed for row in mbsim.check(path))
