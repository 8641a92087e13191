"""Programs of expressions: every function against the evaluator and its complex step, ties, ends of domains."""

import warnings

import numpy as np
import pytest

from mbsim_cli.spec import Expressions, Number
from mbsim_cli.spec.expressions.evaluate import evaluate
from mbsim_cli.spec.expressions.program import FUNCTIONS as ELEMENTARY
from mbsim_cli.spec.expressions.program import compiled
from mbsim_cli.spec.expressions.syntax import FUNCTIONS, VECTOR_FUNCTIONS, parse

STEP = 1e-30
NAMES = ("a", "b", "c")
TEXTS = (
    "a + b - c*a/b",
    "-a*-(b + 2)",
    "a**b + a**2 + b**-3 + c**1.5 + 2**a + (-a)**3 + (a - 5)**2",
    "a**0 + b**1 + 0*c + 0/c",
    "min(c, a, b)*max(a, 0.5, b) - min(a*b, 1)",
    "dot([a, b, c], [c, 2, a*b]) + norm(cross([a, b, c], [b, -1, a]))",
    "norm(2*[a, b, 0]/c - [b, 0, c])",
    "cross([a, b, c], [0, 0, 1]).y*[a, b, c].x",
    "exp(sin(a*b))/sqrt(c + cos(a)**2)",
)


def _of_each_function():
    for name, count in FUNCTIONS.items():
        yield f"{name}({', '.join(f'{part}*0.9 - b/9' for part in NAMES[:count])})"
    for name, count in VECTOR_FUNCTIONS.items():
        vectors = ("[a, b*c, c]", "[b, a**2, 1]")[:count]
        yield f"{name}({', '.join(vectors)})" + ".z" * (name == "cross")


@pytest.fixture
def points():
    return np.random.default_rng(11).uniform(0.3, 0.9, (3, 20))


def _program(text):
    return compiled(parse(text, vectors=True), dict.fromkeys(NAMES, 1))


def _evaluated(text, points):
    tree = parse(text, vectors=True)
    return np.array([evaluate(tree, dict(zip(NAMES, column.tolist(), strict=True))) for column in points.T])


def _stepped(points, k):
    moved = points.astype(complex)
    moved[k] += 1j * STEP
    return moved


@pytest.mark.parametrize("text", [*TEXTS, *_of_each_function()])
def test_values_and_derivatives_are_those_of_the_evaluator(text, points):
    program = _program(text)
    assert program.value(points) == pytest.approx(_evaluated(text, points), rel=1e-14)
    gradient = program.gradient(points)
    for k in range(3):
        step = _evaluated(text, _stepped(points, k)).imag / STEP
        assert np.broadcast_to(gradient[k], 20) == pytest.approx(step, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("text", [*TEXTS, *_of_each_function()])
def test_complex_numbers_pass_through_values_and_derivatives(text, points):
    """A complex step through the value is the derivative; one through the derivatives gives a symmetric matrix."""
    program = _program(text)
    gradient = program.gradient(points)
    second = np.zeros((3, 3, 20))
    for k in range(3):
        moved = _stepped(points, k)
        assert np.broadcast_to(np.imag(program.value(moved)) / STEP, 20) == pytest.approx(
            np.broadcast_to(gradient[k], 20), rel=1e-12, abs=1e-14
        )
        second[k] = [np.broadcast_to(np.imag(row) / STEP, 20) for row in program.gradient(moved)]
    assert second == pytest.approx(second.transpose(1, 0, 2), rel=1e-11, abs=1e-12)


def test_each_function_of_the_language_has_a_derivative():
    composed = {"dot", "cross"}  # of products and sums
    assert set(ELEMENTARY) == (set(FUNCTIONS) | set(VECTOR_FUNCTIONS)) - composed


@pytest.mark.parametrize(
    ("text", "at", "value", "gradient"),
    [
        ("max(a, b)", (2, 2), 2, (1, 0)),  # of equal ones the first counts
        ("max(b, a)", (2, 2), 2, (0, 1)),
        ("min(a, b)", (2, 2), 2, (1, 0)),
        ("min(b, a, 2)", (2, 2), 2, (0, 1)),
        ("max(a, 1, b)", (1, 3), 3, (0, 1)),
        ("abs(a)", (0, 1), 0, (0, 0)),
        ("abs(a)*b", (-2, 3), 6, (-3, 2)),
        ("norm([a, b, 0])", (0, 0), 0, (0, 0)),
        ("hypot(a, b)", (0, 0), 0, (0, 0)),
        ("hypot(a, 2*b)", (0, 2), 4, (0, 2)),
        ("a**b", (0, 2), 0, (0, 0)),
        ("a**b", (0, 1), 0, (1, 0)),
        ("a**2 + b**3", (-3, -2), 1, (-6, 12)),
        ("a**-1", (-4, 0), -0.25, (-1 / 16, 0)),
        ("a**1.5", (0, 0), 0, (0, 0)),
        ("atan2(a, b)", (0, -1), np.pi, (-1, 0)),
    ],
)
def test_ties_and_ends_of_domains(text, at, value, gradient):
    at = np.array([*at, 0.0], float)
    program = _program(text)
    for inputs in (at, at.astype(complex)):
        assert program.value(inputs) == pytest.approx(value)
        assert program.gradient(inputs)[:2] == pytest.approx(gradient)
    rows = np.repeat(at[:, None], 4, axis=1)
    assert program.value(rows) == pytest.approx([value] * 4)
    assert np.broadcast_to(program.gradient(rows)[0], 4) == pytest.approx([gradient[0]] * 4)


@pytest.mark.parametrize(("text", "found"), [("sqrt(a)", np.inf), ("1/a", -np.inf), ("log(a)", np.inf), ("0*a", 0)])
def test_derivatives_without_a_number_warn_of_nothing(text, found):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _program(text).gradient((0.0, 1.0, 1.0))[0] == found
        assert _program(f"0*b + {text}").gradient((0.0, np.nan, 1.0))[0] == found


def test_nothing_to_the_power_of_nothing():
    assert _program("a**b").gradient((0.0, 0.0, 1.0))[:2] == [0, -np.inf]


def test_a_square_root_of_nothing_has_no_finite_gradient():
    environment = Expressions({"a": Number(0.0), "b": Number("sqrt(a)")})
    assert environment.gradient(Number("b + 1"))["a"] == np.inf
    assert environment.gradient(Number("a**0.5 * 2"))["a"] == np.inf


def test_what_a_zero_multiplies_is_not_read():
    f = Expressions({"L": Number(1.0)}).integrand("dot(r, [0, 2, 0])*L + 0*norm(v) + v.x**0", {"r": 3, "v": 3})
    assert f.components == {"r": (1,), "v": ()}
    nan = {"r": np.array([[np.nan, 3.0, np.nan]]), "v": np.full((1, 3), np.nan)}
    assert f.value(nan, np.zeros(1)) == 7
    assert f.linearised(nan, np.zeros(1)).by_sensor["r"].tolist() == [[0, 2, 0]]
    assert f.linearised(nan, np.zeros(1)).by_parameter == {"L": 6}


def test_long_sums_and_wide_vectors_take_no_time():
    """Work grows with the length of an expression, not with its square."""
    environment = Expressions({"L": Number(2.0)})
    f = environment.integrand("+".join(f"L*{k}" for k in range(250)), {})
    assert f.linearised({}, np.zeros(1)).by_parameter == {"L": sum(range(250))}
    wide = environment.integrand("dot(tau, tau)", {"tau": 2000})
    tau = {"tau": np.arange(2000.0)[None]}
    assert (wide.linearised(tau, np.zeros(1)).by_sensor["tau"] == 2 * tau["tau"]).all()
    assert len(wide._program._steps) == 2 * 2000 - 1
