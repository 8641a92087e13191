"""Expressions: values, exact gradients, order of definitions."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mbsim_cli.errors import UsageError
from mbsim_cli.spec import ExpressionError, Expressions, Number, load
from mbsim_cli.spec.expressions.syntax import parse
from tests.spec.example import VALID, write

STEP = 1e-30


def _environment(**texts):
    return Expressions({name: Number(value) for name, value in texts.items()})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-135 deg", -0.75 * math.pi),
        ("90   deg", math.pi / 2),
        ("sin(30 deg)", 0.5),
        ("(20 + 25) deg", math.pi / 4),
        ("deg", math.pi / 180),
        ("2**3**2", 512),
        ("-2**2", -4),
        ("1/4", 0.25),
        ("hypot(3, 4) + atan2(1, 1) + log10(100)", 5 + math.pi / 4 + 2),
        ("min(3, 1, 2) + max(1, 2) + abs(-4)", 7),
        ("  1 +\n 2 ", 3),
        ("1e3", 1000),
    ],
)
def test_values(text, value):
    assert Expressions({}).value(Number(text)) == pytest.approx(value, rel=1e-15)


def test_definitions_may_stand_in_any_order():
    environment = _environment(a="2*b", b="c + 1", c=3)
    assert environment.scope() == {"a": 8, "b": 4, "c": 3}
    assert environment.errors == {}


def test_cycles_are_reported_once():
    environment = _environment(a="b", b="c", c="a + 1", d="a", e=1)
    assert environment.errors["a"].message == "is defined by itself: a -> b -> c -> a"
    assert all(environment.errors[name].reported for name in "bcd")
    assert environment.scope() == {"e": 1}


def test_long_chains_of_definitions():
    names = [f"p{i}" for i in range(5000)]
    texts = dict(zip(names, [f"{name} + 1" for name in names[1:]] + [1], strict=True))
    assert _environment(**texts).scope()["p0"] == 5000


def test_gradients_are_total():
    environment = _environment(a=2, b="3*a", c="a*b")
    assert environment.gradient(Number("c")) == {"a": pytest.approx(2 * 3 * 2), "b": pytest.approx(2), "c": 1}
    assert environment.gradient(Number("a")) == {"a": 1}
    assert environment.gradient(Number("7*2")) == {}
    assert environment.gradient(Number(7.0)) == {}


def test_constants_pass_gradients_on():
    environment = Expressions({"L": Number(2.0)}, {"half": Number("L/2"), "g": Number(9.81)})
    assert environment.gradient(Number("half")) == {"L": 0.5}
    assert environment.gradient(Number("g*half**2")) == {"L": pytest.approx(9.81)}


TEXTS = (
    "sqrt(a) + exp(b) - log(a)*log10(a)",
    "sin(a)*cos(b)/tan(a)",
    "asin(b/4) + acos(b/4) + atan(a)",
    "sinh(a) + cosh(b)*tanh(a)",
    "atan2(a, b) + hypot(a, b)",
    "abs(b - 5)*min(a, b)*max(a, b, 1)",
    "a**b + a**3 + 2**b + b**0.5",
    "(a deg)*pi",
)


@pytest.mark.parametrize("text", TEXTS)
@given(a=st.floats(0.5, 3), b=st.floats(0.5, 3))
def test_gradients_agree_with_the_complex_step(text, a, b):
    assume(len({a, b, 1.0}) == 3)  # min and max have no derivative where two arguments are equal
    environment = _environment(a=a, b=b)
    gradient = environment.gradient(Number(text))
    for name, value in (("a", a), ("b", b)):
        step = environment.value(Number(text), {name: complex(value, STEP)}).imag / STEP
        assert gradient.get(name, 0.0) == pytest.approx(step, rel=1e-12, abs=1e-12)


def test_other_values_reach_dependents():
    environment = _environment(a=2, b="3*a")
    assert environment.value(Number("b"), {"a": 5}) == 15
    assert environment.value(Number("b"), {"b": 1}) == 1
    assert environment.gradient(Number("b**2"), {"a": 1.0}) == {"a": 18, "b": 6}
    with pytest.raises(ExpressionError, match="not a real number"):
        _environment(a=1, b="sqrt(a)").value(Number("b"), {"a": -1})


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "().__class__",
        "a.b",
        "[x for x in y]",
        "lambda: 1",
        "a or b",
        "a == b",
        "f'{a}'",
        "sqrt(x=1)",
        "sqrt(*a)",
        "a[0]",
        "True",
        "1j",
        "None",
        "a; b",
        "a := 1",
        "'text'",
        "(1, 2)",
        "sqrt",
        "\x00",
        "(" * 300 + "1" + ")" * 300,
        "-" * 3999 + "1",
        "+".join(["1"] * 3000),
        "a if a else b",
        "1 # 2",
    ],
)
def test_nothing_but_arithmetic_is_read(text):
    if text == "sqrt":
        with pytest.raises(ExpressionError, match="unknown"):
            Expressions({}).value(Number(text))
        return
    with pytest.raises(ExpressionError):
        parse(text)


@pytest.mark.parametrize("text", ["9**9**9", "10.0**10.0**10.0", "1e308*10", "2**2**2**2**2**2", "exp(1e9)"])
def test_towers_of_powers_end_at_once(text):
    with pytest.raises(ExpressionError, match="too large"):
        Expressions({}).value(Number(text))


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        parse(text)
        parse(text, vectors=True)
    except ExpressionError as error:
        assert error.offset is None or 0 <= error.offset <= len(text)


def test_overrides(tmp_path):
    path = write(tmp_path, VALID)
    assert load(path, {"L": "1.75"}).expressions.scope()["half"] == 0.875
    assert load(path, {"half": "L/4"}).expressions.scope()["half"] == pytest.approx(math.sqrt(2) / 4)
    for name, text, message in (
        ("M", "1", "unknown parameter 'M'; did you mean 'm'"),
        ("m", "1 +", "value '1 \\+' of parameter 'm': expression cannot be read"),
        ("m", "k", "value 'k' of parameter 'm': unknown parameter or constant 'k'"),
        ("L", "half", "is defined by itself"),
        ("m", "", "must be a number"),
    ):
        with pytest.raises(UsageError, match=message):
            load(path, {name: text})
    with pytest.raises(
        UsageError, match=r"unknown parameter 'M'.*; unknown parameter 'q'.*; value '1 m' of parameter 'L'"
    ):
        load(path, {"M": "1", "q": "2", "L": "1 m", "m": "2"})


def test_gradients_through_long_and_branching_definitions():
    chain = {f"p{i}": f"p{i + 1}*2 - p{i + 1}" for i in range(600)} | {"p600": 1}
    assert _environment(**chain).gradient(Number("p0"))["p600"] == 1
    fibonacci = {"f0": 1, "f1": 1} | {f"f{i}": f"f{i - 1} + f{i - 2}" for i in range(2, 60)}
    environment = _environment(**fibonacci)
    assert environment.gradient(Number("f59*1"), {"f0": 1.0})["f0"] == environment.gradient(Number("f59"))["f0"]
