"""A model at other values: tables that are kept, numbers that are not, and what neither may leave behind."""

from dataclasses import fields, is_dataclass
from threading import Thread

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.assembly.packing import Packing
from mbsim_cli.errors import ModelError
from mbsim_cli.spec import with_values
from tests.assembly.test_theta import EVERYTHING
from tests.assembly.texts import FIVEBAR, MODELS, assemble

OTHERS = ("packing", "theta", "model_file", "choices", "compile")  # functions, and what was read

# Beside a = 0 the loop is no planar one: equations that hold whatever the coordinates are do so there alone.
TILTED = """
parameters: {a: 0}
points:
  A: {ground: [0, 0, 0], one: [0, 0, 0]}
  B: {one: [1, 0, 0], two: [0, 0, 0]}
  C: {two: [1, 0, 0], three: [1, 0, 0]}
  D: {three: [0, 0, 0], ground: [1, 0, 0]}
vectors: {n: {ground: [0, a, 1], three: [0, a, 1]}}
bodies:
  one: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}
  two: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}
  three: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}
joints:
  A: {type: revolute, bodies: [ground, one], point: A, axis: z, initial: {angle: 90 deg, independent: true}}
  B: {type: revolute, bodies: [one, two], point: B, axis: z}
  C: {type: revolute, bodies: [two, three], point: C, axis: z}
  D: {type: revolute, bodies: [three, ground], point: D, axis: n, initial: {angle: -90 deg}, cut: true}
"""

PIECES = """
parameters: {b: 1, c: 2}
points: {O: {ground: [0, 0, 0], body: [0, 0, 0]}}
bodies: {body: {mass: c, inertia: {xx: 1, yy: 1, zz: 1}}}
joints: {O: {type: revolute, bodies: [ground, body], point: O, axis: z}}
forces:
  push: {type: torque, body: body, value: [0, 0, c], law: steps}
laws:
  steps:
    type: piecewise
    breaks: [b]
    laws: [{type: polynomial, coefficients: [0, c]}, {type: constant, value: 2}]
"""


def same(a, b, path=""):
    """All that two have in them, to the last bit."""
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), path
    elif isinstance(a, (list, tuple)):
        assert type(a) is type(b) and len(a) == len(b), path
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{path}[{k}]")
    elif isinstance(a, dict):
        assert list(a) == list(b), path
        for k in a:
            same(a[k], b[k], f"{path}.{k}")
    elif is_dataclass(a):
        for field in (each.name for each in fields(a) if each.name not in OTHERS):
            same(getattr(a, field), getattr(b, field), f"{path}.{field}")
        if hasattr(a, "packing"):
            same(a.theta.values(), b.theta.values(), "theta")
    elif isinstance(a, (int, float, complex, str, slice, type(None))):
        assert repr(a) == repr(b), path


@pytest.fixture
def ways(monkeypatch):
    """Whether tables were kept, for one attempt after another."""
    found, at = [], Packing._at

    def counted(*given):
        packing = at(*given)
        found.append(packing is not None)
        return packing

    monkeypatch.setattr(Packing, "_at", counted)
    return found


def both(assembled, values):
    """What lends its tables against packing anew: equal, or refused with the same words."""
    found = []
    for before in (assembled, None):
        try:
            moved = with_values(assembled.model_file, values)
            found.append(build(moved, before=before, **assembled.choices))
        except ModelError as error:
            found.append(str(error))
    assert isinstance(found[0], str) == isinstance(found[1], str)
    same(*found)
    return found[0]


def test_everything_a_file_can_say_moves_as_if_it_were_packed_anew(tmp_path, ways):
    assembled = assemble(tmp_path, EVERYTHING)
    for values in ({"a": 0.71}, {"s": 0.29, "k": 21}, {"h": 1.3}, {"a": 0.7, "s": 0.3}, {"a": -0.0}, {}):
        both(assembled, values)
    assert ways[:4] == [True] * 4 and ways[-1]


@pytest.mark.parametrize("name", ["human43", "benchmarks/quarter_car", "benchmarks/slider_crank_rheonomic"])
def test_models_move_as_if_they_were_packed_anew(name, ways):
    assembled = build(spec.load(MODELS / f"{name}.yaml"), sensitivity="ddm")
    scope = assembled.model_file.expressions.scope()
    both(assembled, {parameter: 1.001 * scope[parameter].real for parameter in assembled.model_file.parameters})
    assert ways == [True]


def test_refusals_between_good_values_leave_nothing_behind(ways):
    assembled = build(spec.load(FIVEBAR), sensitivity="ddm")
    good, parted, negative = {"L_A1": 1.41, "m_A1": 1.1}, {"L_A1": 9.0}, {"m_A1": -1.0}
    first = assembled.at(good)
    words = [both(assembled, refused) for refused in (parted, negative)]
    assert "no position was found" in words[0] and "negative" in words[1]
    for refused, word in [(negative, words[1]), (parted, words[0])]:
        with pytest.raises(ModelError) as refusal:
            assembled.at(refused)
        assert str(refusal.value) == word
        same(assembled.at(good), first)
    same(assembled.at({}), build(spec.load(FIVEBAR), sensitivity="ddm"))


def test_equations_that_hold_at_some_values_only_are_packed_anew(tmp_path, ways):
    assembled = assemble(tmp_path, TILTED)
    other = both(assembled, {"a": 1e-3})
    assert ways == [False] and (isinstance(other, str) or other.dropped != assembled.dropped)


def test_numbers_that_tables_depend_on_and_laws_that_jump(tmp_path, ways):
    assembled = assemble(tmp_path, PIECES)
    both(assembled, {"c": 2.0})
    assert ways == [True]
    for values in ({"c": 1.9}, {"b": 1.1}, {"b": 0.8, "c": 2.5}):
        both(assembled, values)
    assert "jumps" in both(assembled, {"b": 1.1})


def test_a_thread_that_finds_tables_in_use_makes_its_own():
    assembled = build(spec.load(FIVEBAR), sensitivity="ddm")
    found = []
    with assembled.packing.renewed(with_values(assembled.model_file, {"L_A1": 1.3}), assembled.choices) as packing:
        assert packing is not None
        thread = Thread(target=lambda: found.append(assembled.at({"m_A1": 1.2})))
        thread.start()
        thread.join()
    same(found[0], assembled.at({"m_A1": 1.2}))


def test_numbers_come_back_from_another_environment_that_fails():
    assembled = build(spec.load(FIVEBAR), sensitivity="ddm")
    theta, numbers = assembled.theta, assembled.theta.numbers
    before = theta.jacobian(["L_A1", "m_A1"])
    with pytest.raises(ZeroDivisionError), numbers.reading(assembled.model_file.expressions.beside({"L_A1": 0.1})):
        numbers.step_along("L_A1")
        raise ZeroDivisionError
    assert not numbers.elsewhere
    assert np.array_equal(theta.renewed(frozenset(numbers._values)).values(), theta.values())
    assert np.array_equal(theta.jacobian(["L_A1", "m_A1"]), before)
