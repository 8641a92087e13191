"""A small valid model, and what is wrong with variants of it."""

from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from mbsim_cli import spec
from mbsim_cli.spec.schema import schema

VALID = """\
mbsim: 1
name: example
gravity: [0, -9.81, 0]
constants: {half: L/2}
parameters:
  L: {value: sqrt(2), unit: m, bounds: [1, 2]}
  m: 1.5
points:
  A: {ground: [0, 0, 0], bar: [0, 0, 0]}
  B: {bar: [L, 0, 0], rod: [0, 0, 0]}
  H: {design: [1, 2, 3], bodies: [rod, ground]}
vectors:
  n: {all: [0, 0, 1]}
bodies:
  bar: {mass: m, center_of_mass: [half, 0, 0], inertia: {zz: 1/6}}
  rod:
    shape: {type: rod, length: 2, mass: 1}
    position: [1, 0, 0]
    orientation: {axis: [0, 0, 1], angle: 90 deg}
joints:
  A: {type: revolute, bodies: [ground, bar], point: A, axis: n, initial: {angle: -135 deg, independent: true}}
  B: {type: universal, bodies: [bar, rod], point: B, axes: [n, x]}
constraints:
  slot: {type: point_on_line, point: rod.H, line: {point: ground.A, direction: ground.x}}
  gear: {type: coupling, terms: {A.angle: 2, B.angle_1: -1}}
  turn: {type: motion, coordinate: A.angle, law: ramp}
forces:
  spring: {type: spring_damper, points: [ground.A, bar.B], stiffness: 100, law: {type: constant, value: 2}}
  motor: {type: drive, coordinate: A.angle, law: wave}
laws:
  ramp: {type: polynomial, coefficients: [0, 1]}
  wave: {type: harmonic, amplitude: 1, frequency: 2}
  step: {type: smooth_step, from: 0, to: 1, start: 1, end: 2}
  table: {type: spline, times: [0, 1, 2], values: [0, 1, 0]}
sensors:
  r: {type: position, point: bar.B}
  q: {type: coordinate, coordinate: A.angle, derivative: 1}
  f: {type: force, force: spring}
objectives:
  psi: {integral: "dot(r, r - [1, 0, 0]) * q", unit: m^2 s}
  peak: {maximum: norm(r), sharpness: 20}
  both: {expression: psi + 2*peak}
analysis: {step: 1e-3, duration: 5, sensitivity: {method: ddm, parameters: [L, m]}}
checks:
  table 7: {objective: psi, value: 1, gradient: {L: 2}, relative_tolerance: 1e-4}
  track: {sensor: r, values: [{time: 1, value: [1, 2, 3]}]}
"""


def write(folder: Path, text: str, name: str = "model.yaml") -> Path:
    """Write a model file and return its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def issues_of(folder: Path, text: str, **others: str) -> list[str]:
    """Issues as printed, without the folder; empty for a valid model."""
    for name, content in others.items():
        write(folder, content, f"{name}.yaml")
    try:
        spec.load(write(folder, text))
    except spec.ModelError as error:
        return [str(issue).replace(f"{folder}/", "") for issue in error.issues]
    return []


def variant(old: str, new: str) -> str:
    """The valid model with one text replaced."""
    assert VALID.count(old) == 1, old
    return VALID.replace(old, new)


@cache
def editor() -> Any:
    """What editors judge data by: the schema, which ``test_schema.py`` shows to be one."""
    return jsonschema.Draft202012Validator(schema())
