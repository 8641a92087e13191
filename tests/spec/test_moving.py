"""Expressions of the motion: what is wrong with them, with the place of each fault."""

import pytest

from mbsim_cli import spec
from mbsim_cli.spec.loader import load
from tests.spec.example import issues_of, write

MODEL = """\
mbsim: 1
parameters: {k: 3}
laws: {grip: {type: constant, value: 1}}
points: {O: {ground: [0, 0, 0], a: [0, 0, 0]}}
bodies: {a: {mass: 2, inertia: {xx: 1, yy: 1, zz: 1}}}
joints: {A: {type: prismatic, bodies: [ground, a], point: O, axis: x}}
forces:
  one: {type: drive, coordinate: A.displacement, value: "TEXT"}
sensors:
  r: {type: position, point: a.O}
  s: {type: acceleration, point: a.O}
  x: {type: coordinate, coordinate: A.displacement}
  f: {type: force, force: one}
  R: {type: reaction, joint: A}
objectives: {x_end: {final: x}}
"""
PLACE = "model.yaml:8:"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("kk*x", 58, "unknown name 'kk'; did you mean 'k'?"),
        ("2*A.displacemnt", 62, "joint 'A' has no coordinate 'displacemnt'; did you mean 'displacement'?"),
        (
            "A.displacement.acceleration",
            58,
            "no force can depend on 'A.displacement.acceleration': it is an acceleration",
        ),
        ("B.angle", 58, "unknown joint or sensor 'B'"),
        ("s.x", 58, "no force can depend on the sensor 's': it reads accelerations"),
        ("R.force.x", 58, "no force can depend on the sensor 'R.force': it reads forces of constraints"),
        ("f", 58, "no force can depend on the sensor 'f': forces read no sensors of type force"),
        ("gripp(x)", 58, "unknown function or law 'gripp'; did you mean 'grip'?"),
        ("stepp(t, 0, 0, 1, 1)", 58, "stepp is a law or an unknown function; a law takes one argument; did you mean"),
        ("k*r", 58, "must be a number, not a vector; use dot, norm, .x, .y or .z"),
        ("x.y + x", 58, "a number has no component 'y'"),
        ("step(x, 1)", 58, "step takes 5 arguments, not 2; step(x, x0, h0, x1, h1)"),
        ("k*grip", 60, "unknown name 'grip'; grip is a law: write grip(t)"),
        ("k*time", 60, "unknown name 'time'; the time is t"),
        ("if(t > 0 and r, 1, 0)", 71, "a number is wanted here"),
        ("if(0 < x < r, 1, 0)", 69, "a number is wanted here"),
        ("if(not r, 1, 0)", 65, "a number is wanted here"),
        ("if(t > 0 and xx > 0, 1, 0)", 71, "unknown name 'xx'"),
        ("1 if x > 0 else 0", 58, "this cannot stand in an expression; write if(condition, a, b)"),
        ("x = 2", None, "expression cannot be read: numbers are compared; computed numbers are seldom equal"),
    ],
)
def test_what_is_wrong(tmp_path, text, column, message):
    (issue,) = issues_of(tmp_path, MODEL.replace("TEXT", text))
    assert issue.startswith(PLACE if column is None else f"{PLACE}{column}: forces.one.value: ")
    assert message in issue


def test_a_law_of_time_does_not_multiply_an_expression(tmp_path):
    old = '{type: drive, coordinate: A.displacement, value: "TEXT"}'
    new = "{type: force, point: a.O, value: [x, 0, 0], law: grip}"
    (issue,) = issues_of(tmp_path, MODEL.replace(old, new))
    assert "it multiplies a value that is an expression; write law_name(t) in there" in issue


def test_parameters_alone_are_a_number(tmp_path):
    assert load(write(tmp_path, MODEL.replace("TEXT", "k**2 + pi"))).moving == ()


def test_repeated_expressions(tmp_path):
    text = MODEL.replace(
        "bodies: {a",
        "repeat: {d: {for: {i: [1, 2]}, forces: {'g{i}': {type: drive, coordinate: A.displacement, "
        "value: 'if(i > 0 and 0 < x < i, -i*A.displacement.velocity, k)'}}}}\nbodies: {a",
    ).replace("TEXT", "x")
    model = spec.load(write(tmp_path, text))
    assert [number.text for _, number in model.moving][1:] == [
        "IF(1.0 and 0 < x < 1.0, -1.0 * A.displacement.velocity, k)",
        "IF(1.0 and 0 < x < 2.0, -2.0 * A.displacement.velocity, k)",
    ]  # fmt: skip
