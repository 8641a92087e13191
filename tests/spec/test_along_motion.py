"""Functions of expressions that run along the motion, against their formulas and the complex step."""

import math
from pathlib import Path

import pytest

from mbsim_cli.spec.expressions.evaluate import evaluate
from mbsim_cli.spec.expressions.number import fixed, read_by
from mbsim_cli.spec.expressions.program import compiled
from mbsim_cli.spec.expressions.syntax import ALONG_MOTION, ARGUMENTS, ExpressionError, parse, unchained

PAGE = Path(__file__).parents[2] / "docs/forces.md"


def held(x, x0, x1):
    return min(max((x - x0) / (x1 - x0), 0.0), 1.0)


def step(x, x0, h0, x1, h1):
    D = held(x, x0, x1)
    return h0 + (h1 - h0) * D**2 * (3 - 2 * D)


def step5(x, x0, h0, x1, h1):
    D = held(x, x0, x1)
    return h0 + (h1 - h0) * D**3 * (10 - 15 * D + 6 * D**2)


def havsin(x, x0, h0, x1, h1):
    return (h0 + h1) / 2 + (h1 - h0) / 2 * math.sin(math.pi * held(x, x0, x1) - math.pi / 2)


def impact(x, v, x1, k, e, c, d):
    return max(k * (x1 - x) ** e - c * v * step(x, x1 - d, 1, x1, 0), 0.0) if x < x1 else 0.0


def bistop(x, v, x1, x2, k, e, c, d):
    beyond = max(k * (x - x2) ** e + c * v * step(x, x2, 0, x2 + d, 1), 0.0) if x > x2 else 0.0
    return impact(x, v, x1, k, e, c, d) - beyond


CASES = {
    "step(x, 0, 1, 2, 3)": lambda x, y: step(x, 0, 1, 2, 3),
    "step5(x, 0, 1, 2, 3)": lambda x, y: step5(x, 0, 1, 2, 3),
    "havsin(x, 0, 1, 2, 3)": lambda x, y: havsin(x, 0, 1, 2, 3),
    "impact(x, y, 1, 100, 1.5, 2, 0.1)": lambda x, y: impact(x, y, 1, 100, 1.5, 2, 0.1),
    "bistop(x, y, -0.2, 1, 100, 2.2, 2, 0.1)": lambda x, y: bistop(x, y, -0.2, 1, 100, 2.2, 2, 0.1),
    "if(x < y, sqrt(y - x), x**2)": lambda x, y: math.sqrt(y - x) if x < y else x**2,
    "if (x >= 2*y, 1, 2)*y": lambda x, y: (1 if x >= 2 * y else 2) * y,
    "sign(x)*y": lambda x, y: math.copysign(1, x) * y,
    "clip(x, -0.5, 0.5)*y": lambda x, y: min(max(x, -0.5), 0.5) * y,
    "smooth_abs(x, 0.1)": lambda x, y: math.hypot(x, 0.1),
    "smooth_max(x, y, 0.1)": lambda x, y: (x + y + math.hypot(x - y, 0.1)) / 2,
    "(x > y)*x": lambda x, y: x if x > y else 0.0,
    "if(x > 0.2 and y < 0.5, x*y, y)": lambda x, y: x * y if x > 0.2 and y < 0.5 else y,
    "if(not x > 1 or y < -0.5, x**2, y)": lambda x, y: x**2 if not x > 1 or y < -0.5 else y,
    "if(x > 0 and log(x) < 0, log(x), x)": lambda x, y: math.log(x) if x > 0 and math.log(x) < 0 else x,
    "if(0.1 < y <= 0.3, x, 1 > 2 or not (x > y > 0 and x))": lambda x, y: (
        x if 0.1 < y <= 0.3 else float(not (x > y > 0 and x))
    ),
    "x + (x > 0 or y)": lambda x, y: x + 1.0,
}
POINTS = [(0.3, 0.7), (1.2, 0.1), (-0.4, 0.2), (3.0, -1.0), (0.95, 0.3)]


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize(("x", "y"), POINTS)
def test_values_and_derivatives(text, x, y):
    program = compiled(parse(text, vectors=True), {"x": 1, "y": 1})
    value, slopes = program.value_and_gradient([x, y])
    assert value == pytest.approx(CASES[text](x, y), rel=1e-13, abs=1e-14)
    assert slopes[0] == pytest.approx(program.value([x + 1e-30j, y]).imag / 1e-30, rel=1e-12, abs=1e-14)
    assert slopes[1] == pytest.approx(program.value([x, y + 1e-30j]).imag / 1e-30, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", [name for name in ALONG_MOTION if name != "if"])
def test_values_of_constants(name):
    numbers = (0.4, 0.1, 0.7, 30.0, 1.5, 2.0, 0.1, 0.2)[: ALONG_MOTION[name]]
    text = f"{name}({', '.join(map(str, numbers))})"
    names = dict(zip("abcdefgh", numbers, strict=False))
    program = compiled(parse(f"{name}({', '.join(names)})", vectors=True), dict.fromkeys(names, 1))
    assert evaluate(parse(text, vectors=True), {}) == pytest.approx(
        float(program.value(list(names.values()))), rel=1e-14
    )


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_page_of_forces_names_the_arguments(name):
    assert f"| `{name}({ARGUMENTS[name]})` |" in PAGE.read_text()


def test_what_an_expression_reads():
    found = read_by("-k*hip.angle + if(t < 1, grip(r.x), 0)*hip.angle.velocity*pi")
    assert found.names == {"k": 1, "hip.angle": 3, "t": 18, "r.x": 30, "hip.angle.velocity": 39}
    assert found.laws == {"grip": 25}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("if(x, 1)", "if takes 3 arguments, not 2"),
        ("step(x, 1)", "step takes 5 arguments, not 2"),
        ("x == y", "this comparison is not known"),
        ("0 < x == y", "this comparison is not known"),
        ("x != y", "character '!' cannot stand in an expression"),
        ("x > 0 && y > 0", "character '&' cannot stand in an expression"),
        ("if(x = 1, 2, 3)", "expression cannot be read: numbers are compared"),
        ("x if x > 0 else y", "this cannot stand in an expression"),
        ("stp(x, 1)", "stp is a law or an unknown function; a law takes one argument"),
    ],
)
def test_what_is_wrong(text, message):
    with pytest.raises(ExpressionError) as caught:
        parse(text, vectors=True)
    assert caught.value.message == message


@pytest.mark.parametrize("text", [text for text in CASES if "and" in text or "or" in text or "not" in text])
def test_conditions_of_constants(text):
    """Both ways to a value agree, and so do those of the text that is written back."""
    numbers = text.replace("x", "(0.3 + 0)").replace("y", "(0.2 + 0)")
    exact = pytest.approx(float(CASES[text](0.3, 0.2)), rel=1e-15)
    assert evaluate(parse(numbers, vectors=True), {}) == exact
    assert evaluate(parse(text, vectors=True), {"x": 0.3, "y": 0.2}) == exact
    assert evaluate(parse(unchained(text), vectors=True), {"x": 0.3, "y": 0.2}) == exact
    assert evaluate(parse(str(fixed(text, {"x": 0.3}, vectors=True)), vectors=True), {"y": 0.2}) == exact


def test_chains_are_written_out():
    assert unchained(" 2*(1 < x < 3 <= 4)") == " 2*((1 < x and x < 3 and 3 <= 4))"
    assert unchained("if((1 < x < 2) < y < 3, 1 < 2, 0)") == "if(((1 < x and x < 2) < y and y < 3), 1 < 2, 0)"
    assert unchained("x < 1 and y < 2") == "x < 1 and y < 2"


@pytest.mark.parametrize(
    ("text", "vectors", "hint"),
    [
        ("x > 0 && y > 0", True, "conditions are combined by and, or, not"),
        ("x > 0 | y > 0", True, "conditions are combined by and, or, not"),
        ("!x", True, "conditions are combined by and, or, not"),
        ("if(x > 0 AND y > 0, 1, 0)", True, "conditions are combined by and, or, not"),
        ("if(and(x > 0, y > 0), 1, 0)", True, "conditions are combined by and, or, not"),
        ("x != 0", True, "computed numbers are seldom equal"),
        ("x <> 0", True, "computed numbers are seldom equal"),
        ("x = 0", True, "computed numbers are seldom equal"),
        ("x > 0 ? 1 : 0", True, "write if(condition, a, b)"),
        ("if x > 0 then 1 else 0", True, "write if(condition, a, b)"),
        ("x + 2r.x", True, "a product is written 2*r.x"),
        ("3 x", True, "a product is written 3*x"),
        ("x if x > 0 else 1", True, "write if(condition, a, b)"),
        ("2 > 1", False, "conditions stand in forces"),
    ],
)
def test_hints_about_conditions(text, vectors, hint):
    with pytest.raises(ExpressionError) as caught:
        parse(text, vectors=vectors)
    assert caught.value.hint is not None and caught.value.hint.startswith(hint)
