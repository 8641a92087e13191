"""Sums of quantities whose units are known and differ."""

import pytest

from mbsim_cli import spec
from mbsim_cli.spec.expressions.units import dimension_of
from mbsim_cli.spec.warnings import warnings_of

MODEL = """
mbsim: 1
parameters: {k: {value: 3, unit: N/m}, c: {value: 2, unit: N s/m}, L: {value: 1, unit: m}, a: 2}
bodies: {block: {mass: 1}}
joints:
  s: {type: prismatic, bodies: [ground, block], point: origin, axis: x}
sensors:
  r: {type: position, point: block.origin}
  v: {type: velocity, point: block.origin}
  q: {type: angle, vectors: [ground.x, block.x], axis: ground.z}
  E: {type: kinetic_energy}
states: {x: {rate: "s.displacement - x", unit: A}}
forces: {push: {type: drive, coordinate: s.displacement, value: "VALUE"}}
objectives: {one: {final: r.x}}
analysis: {step: 0.01, duration: 1}
"""


def sums_of(tmp_path, value):
    path = tmp_path / "model.yaml"
    path.write_text(MODEL.replace("VALUE", value))
    return [sentence for sentence in warnings_of(spec.load(path)) if "cannot be added" in sentence]


@pytest.mark.parametrize(
    ("value", "column", "units"),
    [
        ("q + r.x", 66, "'q' is in rad or 1 and 'r.x' in m"),
        ("a*(v.x - r.x)", 69, "'v.x' is in m s^-1 and 'r.x' in m"),
        ("k*r.x + c*r.x", 66, "'k * r.x' is in kg m s^-2 and 'c * r.x' in kg m s^-1"),
        ("if(r.x < t, a, 1)", 69, "'r.x' is in m and 't' in s"),
        ("if(t > 1 and not r.x < t, a, 1)", 83, "'r.x' is in m and 't' in s"),
        ("(0 < r.x < t)*a", 67, "'r.x' is in m and 't' in s"),
        ("max(r.x**2, L)", 66, "'r.x ** 2' is in m^2 and 'L' in m"),
        ("sqrt(dot(v, v)) + norm(r)", 66, "in m s^-1 and"),
    ],
)
def test_units_that_cannot_add_up(tmp_path, value, column, units):
    force, state = sums_of(tmp_path, value)
    assert f"model.yaml:13:{column}: forces.push.value: " in force and units in force
    assert "states.x.rate" in state and "'s.displacement' is in m and 'x' in A" in state


@pytest.mark.parametrize(
    "value",
    [
        "q + 0.1", "-40*q - 2*r.x", "k*(r.x - L) + c*v.x", "a + r.x", "sin(q) + q", "r.x/L + q",
        "k*norm(r - [L, 0, 0])", "min(r.x, 1) + L", "sign(v.x)*k*L", "(r.x + 1)*k + c*v.x",
        "(r.x > L and v.x < 1 or not q > 0)*a",
    ],
)  # fmt: skip
def test_what_may_add_up(tmp_path, value):
    assert all("states.x.rate" in sentence for sentence in sums_of(tmp_path, value))


def test_dimensions():
    assert dimension_of("N m/rad") == dimension_of("J") == dimension_of("kg m^2/s^2")
    assert dimension_of("W/(m^2 K)") == (("K", -1.0), ("kg", 1.0), ("s", -3.0))
    assert dimension_of("1") == dimension_of("rad") == ()
    assert dimension_of("m/s kg") is None and dimension_of("furlong") is None
