"""Energies of everything that has one, and what force sensors read, from the file on."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from mbsim_cli import assembly, spec
from mbsim_cli.solve.forward import forward
from tests.models.command import ROOT

MODEL = """
mbsim: 1
gravity: [0.3, 0, -9.81]
parameters: {k: 40, w: 0.02, f: 2, u: 0.3, s: 3000}
points:
  A: {ground: [0, 0, 1], rod: [0, 0, 0]}
  T: {rod: [0.5, u/10, 0.1], arm: [0, 0, 0]}
  E: {arm: [0.3, 0.1, 0.05]}
  H: {ground: [0.2, 0.3, 1.9]}
bodies:
  rod: {mass: 1.3, center_of_mass: [0.2, 0, 0], inertia: {xx: 0.02, yy: 0.05, zz: 0.06}}
  arm: {mass: 0.7, center_of_mass: [0.1, 0, 0], inertia: {xx: 0.02, yy: 0.05, zz: 0.06}}
  wheel: {mass: 2, inertia: {xx: 0.03, yy: 0.05, zz: 0.03}}
joints:
  ball: {type: spherical, bodies: [ground, rod], point: A, initial: {angular_velocity: [0.3, 1, 0.2]}}
  hinge: {type: revolute, bodies: [rod, arm], point: T, axis: y, initial: {angle: 0.4, angular_velocity: 2}}
  ride: {type: floating, bodies: [ground, wheel], initial: {position: [0, 2, 0.31], velocity: [1, 0.2, 0]}}
laws:
  soft: {type: spline, x: [-2, -0.2, 0.1, 1, 3], values: [-30, -3, 1 + u, 20, 50]}
  grip: {type: harmonic, amplitude: u, angular_frequency: 8}
  step: {type: smooth_step, from: 0, to: f, start: -0.2, end: 0.7}
  slope: {type: polynomial, coefficients: [1, u]}
forces:
  rubber:
    {type: spring_damper, points: [ground.H, arm.E], stiffness: k, natural_length: 0.4, elongation_law: soft, force: f}
  twist:
    {type: rotational_spring_damper, coordinate: hinge.angle, stiffness: 3, natural_angle: u, elongation_law: grip,
    torque: f/5}
  hum: {type: rotational_spring_damper, coordinate: hinge.angle, natural_angle: 0, elongation_law: step}
  stop:
    {type: bump_stop, coordinate: hinge.angle, minimum: 0.1, maximum: 0.35 + w, stiffness: 10*k, onset: 0.05 + w}
  rope: {type: bump_stop, points: [ground.H, rod.T], maximum: 0.5 + w, stiffness: 5*k, onset: 0.1}
  motor: {type: drive, coordinate: hinge.angle, value: f/7}
  dead: {type: force, point: arm.E, value: [f, -1, 2*u]}
  tyre:
    {type: tyre, center: wheel.origin, axis: wheel.y, road: ROAD, radius: 0.3 + w, stiffness: s, onset: w,
    friction: FRICTION, slip: {type: magic_formula, B: 8, C: 1.4}}
MORE
sensors:
  potential: {type: potential_energy}
  kinetic: {type: kinetic_energy}
  reads: {type: position, point: arm.E}
SENSORS
analysis: {formulation: recursive, integrator: rk4, step: 1e-3, duration: DURATION, sensitivity: {method: ddm}}
"""
WAVES = {"ROAD": "{type: sinusoidal, amplitude: 0.01, wavelength: 0.6}", "FRICTION": "1e-12"}
LOADS = """
  push: {type: force, point: arm.E, value: [1, f, 2], axes: body, law: slope}
  load: {type: force, point: arm.E, value: [1, f, 2], law: slope}
  turn: {type: torque, body: arm, value: [1, f, 2], axes: body, law: slope}
  spin: {type: torque, body: arm, value: [1, f, 2]}
  air: {type: drag, point: arm.E, area: 0.1*f, coefficient: 1.1, wind: [-3, u, 0]}
  grease: {type: viscous_friction, coordinate: hinge.angle, damping: 0.05}
  bar: {type: anti_roll_bar, coordinates: [hinge.angle, ride.x], ratios: [1, 0.5], stiffness: 5, natural: 0.1}
"""
FORCES = ["rubber", "twist", "hum", "stop", "rope", "motor", "dead", "tyre"]
FORCES += ["push", "load", "turn", "spin", "air", "grease", "bar"]
SENSORS = (
    "".join(f"  f_{name}: {{type: force, force: {name}}}\n" for name in FORCES)
    + """
  x: {type: direction, vector: arm.x}
  y: {type: direction, vector: arm.y}
  z: {type: direction, vector: arm.z}
  v: {type: velocity, point: arm.E}
  angle: {type: coordinate, coordinate: hinge.angle}
  rate: {type: coordinate, coordinate: hinge.angle, derivative: 1}
  ride: {type: coordinate, coordinate: ride.x}
  way: {type: distance, points: [ground.H, arm.E]}
  length: {type: distance, points: [ground.H, rod.T]}
  axle: {type: direction, vector: wheel.y}
  load_z: {type: tyre, tyre: tyre, quantity: normal_load}
  force_x: {type: tyre, tyre: tyre, quantity: longitudinal_force}
  force_y: {type: tyre, tyre: tyre, quantity: lateral_force}
"""
)


def written(folder, duration, more="", sensors="", **changes):
    path = folder / "model.yaml"
    text = MODEL
    for name, value in {**WAVES, **changes, "DURATION": str(duration), "MORE": more, "SENSORS": sensors}.items():
        text = text.replace(name, value)
    path.write_text(text)
    return path


def run(path, values=None, **options):
    """Sensors by name (N, k), their derivatives (N, k, p), times and energies (N, 3)."""
    assembled = assembly.build(spec.load(path, {name: repr(v) for name, v in (values or {}).items()}), **options)
    blocks = list(forward(assembled.problem))
    sensors, d_sensors, time, energy = (
        np.concatenate([getattr(block, name) for block in blocks])
        for name in ("sensors", "d_sensors", "time", "energy")
    )
    rows = assembled.sensor_rows
    return {n: sensors[:, r] for n, r in rows.items()}, {n: d_sensors[:, r] for n, r in rows.items()}, time, energy


@pytest.mark.parametrize("formulation", ["recursive", "ali3p-rtdyn1"])
def test_energy_is_conserved(tmp_path, formulation):
    """By everything that has a potential; the error falls with the order of the integrator."""
    drift, exchanged = {}, 0.0
    for step in (2e-3, 1e-3):
        sensors, _, _, energy = run(written(tmp_path, 0.1), formulation=formulation, step=step, sensitivity="none")
        kinetic, potential = sensors["kinetic"][:, 0], sensors["potential"][:, 0]
        np.testing.assert_array_equal(np.column_stack([kinetic, potential]), energy[:, :2])
        assert np.abs(energy[:, 2]).max() < 1e-9  # power of all else
        drift[step], exchanged = np.ptp(kinetic + potential), np.ptp(kinetic)
    assert drift[1e-3] < (1e-7 if formulation == "recursive" else 1e-3) * exchanged
    assert drift[1e-3] < 0.35 * drift[2e-3]


DRIVEN = """
constraints: {turn: {type: motion, coordinate: hinge.angle, law: {type: polynomial, coefficients: [0.4, 2, -8, 3]}}}
"""


@pytest.mark.parametrize("formulation", ["recursive", "ali3p-rtdyn1"])
@pytest.mark.parametrize("more", ["", DRIVEN])
def test_energy_grows_by_the_power_of_what_has_no_potential(tmp_path, formulation, more):
    """Also by that of a law of motion, in ALI3-P with the forces of the step: of second order, as its motion is."""
    path = written(tmp_path, 0.1, LOADS, FRICTION="0.7")
    path.write_text(path.read_text() + more)
    left = {}
    for step in (2e-3, 1e-3):
        _, _, time, energy = run(path, formulation=formulation, step=step, sensitivity="none")
        mechanical, work = energy[:, 0] + energy[:, 1], np.trapezoid(energy[:, 2], time)
        left[step] = abs(mechanical[-1] - mechanical[0] - work) / abs(work)
        assert abs(work) > 0.5
    assert left[1e-3] < 1e-4 * (1 if formulation == "recursive" else 4) and left[1e-3] < 0.3 * left[2e-3]
    if more:
        free = run(written(tmp_path, 0.1, LOADS, FRICTION="0.7"), formulation=formulation, sensitivity="none")[3]
        assert abs(np.trapezoid(free[:, 2], time) - work) > 0.05 * abs(work)  # the law does a part of it


def test_gradients_of_energies_and_forces(tmp_path):
    path = written(tmp_path, 0.004, LOADS, SENSORS, FRICTION="0.7")
    _, direct, _, _ = run(path)
    for k, (name, value) in enumerate({"k": 40.0, "w": 0.02, "f": 2.0, "u": 0.3, "s": 3000.0}.items()):
        h = 5e-4 * value
        runs = [run(path, {name: value + m * h}, sensitivity="none")[0] for m in (-2, -1, 1, 2)]
        for sensor in ("potential", "kinetic", *(f"f_{force}" for force in FORCES)):
            far, near = runs[3][sensor] - runs[0][sensor], runs[2][sensor] - runs[1][sensor]
            expected = (8.0 * near - far) / (12.0 * h)
            scale = np.abs(expected).max() + 1e-2 * np.abs(runs[0][sensor]).max() / value
            np.testing.assert_allclose(direct[sensor][..., k], expected, atol=1e-8 * scale, err_msg=f"{sensor} {name}")


def one_sided(x, stiffness, onset):
    """Force of a bump stop by its deflection."""
    s = np.clip(x / onset, 0.0, None)
    return stiffness * onset * np.where(s < 1.0, s**3 - 0.5 * s**4, s - 0.5)


def test_force_sensors_read_what_the_forces_are(tmp_path):
    """Each against its formula on what other sensors read; the road is flat."""
    found, _, t, _ = run(
        written(tmp_path, 0.05, LOADS, SENSORS, ROAD="{type: flat}", FRICTION="0.7"), sensitivity="none"
    )
    s = {name: values[:, 0] if values.shape[1] == 1 else values for name, values in found.items()}
    k, w, f, u = 40.0, 0.02, 2.0, 0.3
    soft = CubicSpline([-2, -0.2, 0.1, 1, 3], [-30, -3, 1 + u, 20, 50], bc_type="natural")
    angle, ramp, body = s["angle"], (1 + u * t)[:, None], np.stack([s["x"], s["y"], s["z"]], axis=2)
    quintic = np.clip((angle + 0.2) / 0.9, 0, 1)
    ahead = np.cross(s["axle"], [0, 0, 1]) / np.hypot(*s["axle"][:, :2].T)[:, None]
    left = np.cross([0, 0, 1], ahead)
    wind = s["v"] - [-3, u, 0]
    expected = {
        "rubber": f - k * (s["way"] - 0.4) - soft(s["way"] - 0.4),
        "twist": f / 5 - 3 * (angle - u) - u * np.sin(8 * (angle - u)),
        "hum": -f * quintic**3 * (10 - 15 * quintic + 6 * quintic**2),
        "stop": one_sided(0.1 - angle, 10 * k, 0.05 + w) - one_sided(angle - 0.35 - w, 10 * k, 0.05 + w),
        "rope": -one_sided(s["length"] - 0.5 - w, 5 * k, 0.1),
        "motor": np.full(len(t), f / 7),
        "dead": np.tile([f, -1, 2 * u], (len(t), 1)),
        "tyre": found["force_x"] * ahead + found["force_y"] * left + found["load_z"] * [0, 0, 1],
        "push": ramp * (body @ [1, f, 2]),
        "load": ramp * [1, f, 2],
        "turn": ramp * (body @ [1, f, 2]),
        "spin": np.tile([1, f, 2], (len(t), 1)),
        "air": -0.5 * 1.225 * 0.1 * f * 1.1 * np.linalg.norm(wind, axis=1)[:, None] * wind,
        "grease": -0.05 * s["rate"],
        "bar": -5 * (angle + 0.5 * s["ride"] - 0.1),
    }
    assert set(expected) == set(FORCES)
    for name, value in expected.items():
        assert np.abs(value).max() > 0.1 or name == "grease", name
        np.testing.assert_allclose(s[f"f_{name}"], value, rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("projection", ["mass", "identity"])
def test_the_work_of_what_drives_a_crank_is_of_second_order(projection):
    """With the identity lambda alone would be of first order, though the motion is that of the law."""
    model, errors = spec.load(ROOT / "models/benchmarks/slider_crank_rheonomic.yaml"), []
    for step in (4e-3, 2e-3):
        problem = assembly.build(model, step=step, duration=1.0, output_interval=1, projection=projection).problem
        rows = list(forward(problem))
        time, energy = (np.concatenate([getattr(row, name) for row in rows]) for name in ("time", "energy"))
        mechanical, power = energy[:, 0] + energy[:, 1], energy[:, 2]
        work = np.append(0.0, np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(time)))
        errors.append(np.abs(mechanical - mechanical[0] - work).max() / energy[:, 0].max())
    assert errors[0] < 1e-3
    assert 3.5 < errors[0] / errors[1] < 4.5
