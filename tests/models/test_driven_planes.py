"""A point at a given distance from a plane that moves: a lever on a sloping table that is lifted, by its formulas."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from tests.marks import NATURAL

PARAMETERS = {"L": 0.9, "b": 0.25, "d": 0.3, "A": 0.1, "m": 1.7, "w": 3.0}
LEVER = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {L: 0.9, b: 0.25, d: 0.3, A: 0.1, m: 1.7, w: 3}
points:
  tip: {lever: [L, 0, 0]}
vectors:
  across: {all: [0, -1, 0]}
  n: {table: [sin(b), 0, cos(b)]}
bodies:
  lever: {mass: m, center_of_mass: [L/3, 0, 0], inertia: {xx: 0.1, yy: 0.2, zz: 0.2}}
  table: {mass: 5}
joints:
  hinge: {type: revolute, bodies: [ground, lever], point: origin, axis: across}
  lift: {type: prismatic, bodies: [ground, table], point: origin, axis: z}
constraints:
  lifted: {type: motion, coordinate: lift.displacement, law: {type: polynomial, coefficients: [0, 0.2, 0.1]}}
  on_table: {type: point_on_plane, point: lever.tip, plane: {point: table.origin, normal: table.n}, DISTANCE}
sensors:
  q: {type: coordinate, coordinate: hinge.angle}
  rate: {type: coordinate, coordinate: hinge.angle, derivative: 1}
  turn: {type: coordinate, coordinate: hinge.angle, derivative: 2}
  push: {type: reaction, constraint: on_table}
  back: {type: reaction, constraint: on_table, on: table}
  multiplier: {type: multiplier, constraint: on_table}
  carry: {type: reaction, constraint: lifted}
  distance: {type: displacement, points: [table.origin, lever.tip], direction: table.n}
  way: {type: displacement, points: [table.origin, lever.tip], direction: table.n, derivative: 1}
objectives:
  q: {final: q}
  rate: {final: rate}
  turn: {final: turn}
  push_x: {final: push.force.x}
  push_z: {final: push.force.z}
  back: {final: back.force.z}
  multiplier: {final: multiplier}
  carry: {final: carry.force.z}
  power: {final: -multiplier*way}
  distance: {final: distance}
analysis: {step: 1e-3, duration: 0.3, sensitivity: {method: ddm, parameters: all}}
"""
ALI3P = ["ali3p-rtdyn0", "ali3p-rtdyn1", NATURAL]
STATED = "distance: d, law: {type: harmonic, amplitude: A, angular_frequency: w}"


def lever(L, b, d, A, m, w, t=0.3):
    """All objectives; L sin(q + b) is the distance from the table, and the height of the table along its normal."""
    law = [A * np.sin(w * t), A * w * np.cos(w * t), -A * w**2 * np.sin(w * t)]
    lift = [0.2 * t + 0.1 * t**2, 0.2 + 0.2 * t, 0.2]
    y, y1, y2 = (value + s * np.cos(b) for value, s in zip((d + law[0], *law[1:]), lift, strict=True))
    u = np.arcsin(y / L)
    u1 = y1 / (L * np.cos(u))
    u2 = (y2 / L + np.sin(u) * u1**2) / np.cos(u)
    torque = (0.2 + m * L**2 / 9) * u2 + m * 9.81 * L / 3 * np.cos(u - b)
    N = torque / (L * np.cos(u))
    carried = 5 * (9.81 + lift[2]) + N * np.cos(b)
    return np.array([u - b, u1, u2, N * np.sin(b), N * np.cos(b), -N * np.cos(b), -N, carried, N * law[1], d + law[0]])


def found(tmp_path, distance, **options):
    path = tmp_path / "lever.yaml"
    path.write_text(LEVER.replace("DISTANCE", distance))
    result = mbsim.load(str(path)).run(**options).objectives
    return np.array([one.value for one in result.values()]), np.array([one.gradient for one in result.values()])


@pytest.mark.parametrize("sensitivity", ["ddm", "adjoint"])
@pytest.mark.parametrize("formulation", ALI3P)
def test_force_on_bodies_and_power(tmp_path, formulation, sensitivity):
    values, gradients = found(tmp_path, STATED, formulation=formulation, sensitivity=sensitivity)
    slopes = [lever(**(PARAMETERS | {name: value + 1e-30j})).imag / 1e-30 for name, value in PARAMETERS.items()]
    np.testing.assert_allclose(values, lever(**PARAMETERS), rtol=1e-8)
    np.testing.assert_allclose(gradients, np.stack(slopes, axis=1), rtol=1e-7, atol=1e-7)


def test_distance_of_the_start(tmp_path):
    """What it is at the start, less the law there; the normal's side counts."""
    automatic = "distance: auto, law: {type: harmonic, amplitude: A, angular_frequency: w, phase: 90 deg}"
    values, _ = found(tmp_path, automatic, sensitivity="none", duration=1e-3)
    start = 0.9 * np.sin(0.25)
    assert values[-1] == pytest.approx(start + 0.1 * (np.cos(3e-3) - 1), rel=1e-12)
    below, _ = found(tmp_path, "distance: -0.2", sensitivity="none", duration=1e-3)
    assert below[-1] == pytest.approx(-0.2, rel=1e-12)
