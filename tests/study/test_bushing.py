"""Bushings against closed forms and a potential: forces, statics, energy, momentum; gradients by three methods."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mbsim_cli as mbsim
from mbsim_cli.errors import MbsimError

MOUNT = """\
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {k: 2000, c: 5, kr: 30, f: 3, x0: 0.01, m: 2.0}
points: {tip: {arm: [0.5, 0, 0]}, mount: {load: [-0.1, 0, 0.05]}}
bodies:
  arm: {shape: {type: rod, length: 0.5, mass: 1.0}}
  load: {shape: {type: box, size: [0.2, 0.1, 0.1], mass: m}}
joints:
  A: {type: revolute, bodies: [ground, arm], point: origin, axis: y, initial: {angle: 0.2}}
  free:
    type: floating
    bodies: [arm, load]
    point: [tip, origin]
    initial: {position: [0.1, 0, -0.05], orientation: {axis: [1, 2, 3], angle: 70 deg}, angular_velocity: [0, 3, 1]}
laws:
  rubber: {type: polynomial, coefficients: [0, 0, 0, 1e6]}
forces:
  mount:
    type: bushing
    points: [arm.tip, load.mount]
    stiffness: [k, k, 2*k, kr, 2*kr, 3*kr]
    damping: [c, c, c, 0.1, 0.1, 0.1]
    natural: [x0, 0, 0, 0, 0.1, 0]
    preload: [0, 0, f, 0, 0, 0]
    laws: {x: rubber, rotation_y: {type: polynomial, coefficients: [0, 0, 0, 10]}}
sensors:
  r: {type: position, point: load.origin}
  v: {type: velocity, point: load.origin}
  w: {type: angular_velocity, body: load}
  F: {type: bushing, bushing: mount, quantity: force}
  M: {type: bushing, bushing: mount, quantity: torque}
  d: {type: bushing, bushing: mount, quantity: displacement}
  phi: {type: bushing, bushing: mount, quantity: rotation}
  on_load: {type: force, force: mount}
  T: {type: kinetic_energy}
  V: {type: potential_energy}
  x: {type: direction, vector: arm.x}
  y: {type: direction, vector: arm.y}
  z: {type: direction, vector: arm.z}
objectives:
  end: {final: r.x}
  work: {integral: "F.x**2 + M.y**2 + d.z + phi.y + on_load.z + V"}
analysis: {formulation: recursive, integrator: dop853, tolerance: 1e-11, step: 1e-2, duration: 0.3}
"""


def run(folder, text, **settings):
    path = folder / "mount.yaml"
    path.write_text(text)
    return mbsim.run(path, **({"sensitivity": "none"} | settings))


@pytest.mark.slow
def test_forces_are_those_of_the_potential_and_energy_is_kept(tmp_path):
    found = run(tmp_path, undamped(MOUNT))
    assert np.abs(found["phi"]).max() > 0.9
    energy = found["T"] + found["V"]
    np.testing.assert_allclose(energy, energy[0], atol=1e-7)
    for d, phi, F, M in zip(*(found[name] for name in ("d", "phi", "F", "M")), strict=True):
        np.testing.assert_allclose(
            F, -differences(lambda x, phi=phi: potential(x, Rotation.from_rotvec(phi)), d), rtol=1e-7, atol=1e-6
        )
        turned = lambda turn, d=d, phi=phi: potential(d, Rotation.from_rotvec(turn) * Rotation.from_rotvec(phi))  # noqa: E731
        np.testing.assert_allclose(M, -differences(turned, np.zeros(3)), rtol=1e-7, atol=1e-6)
    axes = np.stack([found[name] for name in "xyz"], axis=2)
    np.testing.assert_allclose(np.einsum("tij,tj->ti", axes, found["F"]), found["on_load"], atol=1e-10)


def undamped(text):
    return text.replace("damping: [c, c, c, 0.1, 0.1, 0.1]", "damping: [0, 0, 0, 0, 0, 0]")


def potential(d, rotation):
    """Of the bushing of MOUNT, at a displacement and a rotation."""
    e = np.append(d, rotation.as_rotvec()) - (0.01, 0, 0, 0, 0.1, 0)
    springs = 0.5 * np.array((2000, 2000, 4000, 30, 60, 90)) @ e**2
    return springs - 3.0 * e[2] + 1e6 * e[0] ** 4 / 4 + 10 * e[4] ** 4 / 4


def differences(function, x, step=1e-4):
    """Gradient by central differences of fourth order."""
    return np.array([
        (8 * (function(x + h) - function(x - h)) - function(x + 2 * h) + function(x - 2 * h)) / (12 * step)
        for h in step * np.eye(3)
    ])  # fmt: skip


@pytest.mark.slow
def test_a_mass_at_rest_presses_with_its_weight(tmp_path):
    text = MOUNT.replace("type: revolute, bodies: [ground, arm], point: origin, axis: y, initial: {angle: 0.2}",
                         "type: fixed, bodies: [ground, arm], point: origin")  # fmt: skip
    text = text.replace("point: [tip, origin]", "point: [tip, mount]").replace(
        "[arm.tip, load.mount]", "[arm.tip, load.mount]"
    )
    text = text.replace("duration: 0.3}", "duration: 0.01, start: equilibrium}")
    found = run(tmp_path, text)
    np.testing.assert_allclose(found["on_load"][0], [0, 0, 2 * 9.81], atol=1e-7)
    assert np.isclose(found["F"][0, 2], 3.0 - 4000 * found["d"][0, 2], rtol=1e-9)


@pytest.mark.slow
def test_damping_is_that_of_the_rates(tmp_path):
    """A full matrix, a pure translation: the force is the first column of the matrices."""
    matrix = np.diag([300.0, 200.0, 100.0, 3.0, 2.0, 1.0])
    matrix[0, 4] = matrix[4, 0] = 7.0
    rows = [list(map(float, row)) for row in matrix]
    start, end = MOUNT.index("    stiffness:"), MOUNT.index("sensors:")
    text = MOUNT[:start] + f"    stiffness_matrix: {rows}\n    damping_matrix: {rows}\n" + MOUNT[end:]
    text = text.replace("initial: {angle: 0.2}", "initial: {angle: 0}")
    text = text.replace(
        "orientation: {axis: [1, 2, 3], angle: 70 deg}, angular_velocity: [0, 3, 1]", "velocity: [0.5, 0, 0]"
    )
    text = text.replace("position: [0.1, 0, -0.05]", "position: [0.14, 0, -0.05]")
    found = run(tmp_path, text)
    np.testing.assert_allclose(found["F"][0], -(0.04 + 0.5) * matrix[0, :3], atol=1e-12)
    np.testing.assert_allclose(found["M"][0], -(0.04 + 0.5) * matrix[0, 3:], atol=1e-12)


@pytest.mark.slow
def test_bodies_of_the_design_position_are_at_rest_without_axes(tmp_path):
    """Frames without axes are parallel in the design position; the first body's axes count."""
    text = """\
mbsim: 1
gravity: [0, 0, 0]
points: {P: {bodies: [a, b], design: [0.3, 0.1, 0]}}
bodies:
  a: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}, orientation: {axis: [0, 0, 1], angle: 90 deg}}
  b: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}, orientation: {axis: [1, 0, 0], angle: 40 deg}}
joints:
  A: {type: floating, bodies: [ground, a], initial: INITIAL_A}
  B: {type: floating, bodies: [ground, b], initial: INITIAL_B}
forces: {mount: {type: bushing, points: [a.P, b.P], stiffness: [1, 1, 1, 1, 1, 1]}}
sensors:
  d: {type: bushing, bushing: mount, quantity: displacement}
  phi: {type: bushing, bushing: mount, quantity: rotation}
analysis: {step: 0.01, duration: 0.01}
"""
    text = text.replace("INITIAL_A", "{orientation: {axis: [0, 0, 1], angle: 90 deg}}").replace(
        "INITIAL_B", "{orientation: {axis: [1, 0, 0], angle: 40 deg}, position: [0.2, 0, 0]}"
    )
    found = run(tmp_path, text)
    np.testing.assert_allclose(found["d"][0], [0, -0.2, 0], atol=1e-12)
    np.testing.assert_allclose(found["phi"][0], 0, atol=1e-12)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("stiffness", "[1, 2, 3]", "stiffness"),
        ("axis", "[arm.z, arm.z]", "must be of one body"),
        ("reference", "[arm.z, load.z]", "give axis with reference"),
        ("stiffness_matrix", str([[float(i + 2 * j) for j in range(6)] for i in range(6)]), "not symmetric"),
    ],
)
def test_mistakes_are_named(tmp_path, key, value, message):
    text = MOUNT.replace("    stiffness: [k, k, 2*k, kr, 2*kr, 3*kr]\n", "") if "stiffness" in key else MOUNT
    text = text.replace("    preload:", f"    {key}: {value}\n    preload:")
    with pytest.raises(MbsimError, match=message):
        run(tmp_path, text)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["recursive, integrator: rk4", "ali3p-rtdyn1", "ali3p-natural"])
def test_gradients_agree(tmp_path, formulation):
    text = MOUNT.replace("recursive, integrator: dop853, tolerance: 1e-11, step: 1e-2", f"{formulation}, step: 1e-3")
    path = tmp_path / "mount.yaml"
    path.write_text(text + "checks: {gradients: {agreement: [complex_step, adjoint], relative_tolerance: 1e-9}}\n")
    assert all(row.passed for row in mbsim.check(path))


@pytest.mark.interpreted
@pytest.mark.parametrize("rate", [3.0, 3.3])
def test_a_bushing_that_passes_half_a_turn_is_named(rate):
    result = mbsim.loads(f"""
mbsim: 1
bodies: {{disc: {{mass: 1, inertia: {{xx: 1, yy: 1, zz: 1}}}}}}
joints: {{axle: {{type: revolute, bodies: [ground, disc], point: origin, axis: z}}}}
constraints:
  drive: {{type: motion, coordinate: axle.angle, law: {{type: polynomial, coefficients: [0, {rate}]}}}}
forces: {{mount: {{type: bushing, points: [ground.origin, disc.origin], stiffness: [0, 0, 0, 0, 0, 5]}}}}
analysis: {{step: 0.05, duration: 1}}
""").run()
    named = [text for text in result.warnings if "bushing mount passes half a turn before t = 1 s" in text]
    assert len(named) == (rate > np.pi)
