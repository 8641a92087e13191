"""``Program``: a scalar expression as steps on numbers or whole arrays, with the exact derivatives by all its inputs.

Derivatives go backwards through the steps, so that all of them together cost little more than the value, however many
components a vector has.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

# Elementary operations on numbers and arrays, real or complex: value, and derivative by each argument.
#
# A derivative stands as its product with a covector, which is how a program goes backwards through its steps.

MAX_EXACT_EXPONENT = 64
LN_10 = math.log(10.0)


class Elementary(NamedTuple):
    """``value(*arguments)``; ``pull(k, covector, value, *arguments)`` is covector times derivative by argument k."""

    value: Callable[..., Any]
    pull: Callable[..., Any]
    name: str = ""
    number: float = 0.0  # a constant, or the exponent of a power


def constant(number: float) -> Elementary:
    """A number, of no arguments; quotients by it may be infinite, which Python's own numbers refuse."""
    value = np.float64(number)
    return Elementary(lambda: value, _no_argument, "constant", number)


def _no_argument(k, covector, value):
    raise AssertionError("a constant has no arguments")


def law(name: str) -> Elementary:
    """A law of the model file, which only tapes evaluate: the name stands behind a colon."""
    return Elementary(_no_argument, _no_argument, f"law:{name}")


ADD = Elementary(lambda a, b: a + b, lambda k, covector, value, a, b: covector, "add")
SUBTRACT = Elementary(lambda a, b: a - b, lambda k, covector, value, a, b: -covector if k else covector, "subtract")
MULTIPLY = Elementary(lambda a, b: a * b, lambda k, covector, value, a, b: covector * (a if k else b), "multiply")
DIVIDE = Elementary(
    lambda a, b: a / b, lambda k, covector, value, a, b: (-covector * value if k else covector) / b, "divide"
)
NEGATE = Elementary(lambda a: -a, lambda k, covector, value, a: -covector, "negate")


def _pull_power(k, covector, value, a, b):
    if k == 0:
        return covector * np.where(b == 0, 0.0, b * a ** (b - 1.0))  # a**0 is 1 everywhere
    return covector * np.where(value == 0, 0.0, value * np.log(a))  # 0**b is 0 beside b too


POWER = Elementary(lambda a, b: a**b, _pull_power, "power")


@lru_cache(maxsize=256)
def power(exponent: float) -> Elementary:
    """A power by a constant; small whole exponents are exact also of negative numbers."""
    whole = exponent == int(exponent) and abs(exponent) <= MAX_EXACT_EXPONENT
    n = int(exponent) if whole else exponent
    return Elementary(lambda a: a**n, lambda k, covector, value, a: covector * (n * a ** (n - 1)), "to", float(n))


def _of_one(value: Callable[[Any], Any], slope: Callable[[Any, Any], Any]) -> Elementary:
    """A function of one argument; ``slope(value, a)`` is its derivative."""
    return Elementary(value, lambda k, covector, value, a: covector * slope(value, a))


def _abs(a):
    return np.where(np.real(a) < 0, -a, a)  # with the imaginary part of a complex step, which np.abs has not


def _atan2(y, x):
    angle = np.arctan2(np.real(y), np.real(x))
    if not (np.iscomplexobj(y) or np.iscomplexobj(x)):
        return angle
    turn = np.real(x) * np.imag(y) - np.real(y) * np.imag(x)
    return angle + 1j * turn / (np.real(x) ** 2 + np.real(y) ** 2)


def _pull_atan2(k, covector, value, y, x):
    return covector * ((-y if k else x) / (x * x + y * y))


def _norm(*a):
    return np.sqrt(sum(x * x for x in a))


def _pull_norm(k, covector, value, *a):
    return covector * np.where(value == 0, 0.0, a[k] / np.where(value == 0, 1.0, value))


def _extreme(place_of: Callable[..., Any]) -> Elementary:
    """The first of the largest or of the smallest arguments, which alone has a derivative."""

    def place(a):
        candidates = np.array(np.broadcast_arrays(*a))
        return place_of(candidates.real, axis=0), candidates

    def value(*a):
        found, candidates = place(a)
        return np.take_along_axis(candidates, np.expand_dims(found, 0), 0)[0]

    return Elementary(value, lambda k, covector, value, *a: np.where(place(a)[0] == k, covector, 0.0))


def _none(k, covector, value, *a):
    return 0.0 * np.real(value)  # also beside jumps, where there is no derivative


LESS = Elementary(lambda a, b: np.where(np.real(a) < np.real(b), 1.0, 0.0), _none, "less")
LESS_EQUAL = Elementary(lambda a, b: np.where(np.real(a) <= np.real(b), 1.0, 0.0), _none, "less_equal")
SIGN = Elementary(lambda a: np.sign(np.real(a)), _none, "sign")


def _pull_select(k, covector, value, chosen, a, b):
    return np.where((np.real(chosen) != 0.0) == (k == 1), covector, 0.0) if k else 0.0 * np.real(chosen)


SELECT = Elementary(lambda chosen, a, b: np.where(np.real(chosen) != 0.0, a, b), _pull_select, "select")


FUNCTIONS: dict[str, Elementary] = {
    "sqrt": _of_one(np.sqrt, lambda value, a: 0.5 / value),
    "exp": _of_one(np.exp, lambda value, a: value),
    "log": _of_one(np.log, lambda value, a: 1.0 / a),
    "log10": _of_one(np.log10, lambda value, a: 1.0 / (LN_10 * a)),
    "abs": _of_one(_abs, lambda value, a: np.sign(np.real(a))),
    "sin": _of_one(np.sin, lambda value, a: np.cos(a)),
    "cos": _of_one(np.cos, lambda value, a: -np.sin(a)),
    "tan": _of_one(np.tan, lambda value, a: 1.0 + value * value),
    "asin": _of_one(np.arcsin, lambda value, a: 1.0 / np.sqrt(1.0 - a * a)),
    "acos": _of_one(np.arccos, lambda value, a: -1.0 / np.sqrt(1.0 - a * a)),
    "atan": _of_one(np.arctan, lambda value, a: 1.0 / (1.0 + a * a)),
    "sinh": _of_one(np.sinh, lambda value, a: np.cosh(a)),
    "cosh": _of_one(np.cosh, lambda value, a: np.sinh(a)),
    "tanh": _of_one(np.tanh, lambda value, a: 1.0 - value * value),
    "atan2": Elementary(_atan2, _pull_atan2),
    "hypot": Elementary(_norm, _pull_norm),
    "norm": Elementary(_norm, _pull_norm),
    "min": _extreme(np.argmin),
    "max": _extreme(np.argmax),
}
FUNCTIONS = {name: each._replace(name=name) for name, each in FUNCTIONS.items()}


Step = tuple[Elementary, tuple[int, ...]]  # an operation, and the places of its arguments


class Program:
    """Inputs stand at the first places, and each step adds one; the expression is the value at ``result``."""

    def __init__(self, inputs: int, steps: Sequence[Step], result: int):
        self._inputs = inputs
        self._reached = _reached(inputs, steps, result)
        self._steps, self._result = _without_gaps(inputs, steps, result, self._reached)
        self._selects = any(operation.name == "select" for operation, _ in self._steps)

    def reads(self, place: int) -> bool:
        """Whether an input has an influence."""
        return place in self._reached

    def value(self, inputs: Sequence[Any]) -> Any:
        """Value at the inputs: numbers or arrays of one shape, real or complex; nothing warns of what is not finite."""
        with np.errstate(all="ignore"):
            return self._values(inputs)[self._result]

    def gradient(self, inputs: Sequence[Any]) -> list[Any]:
        """Derivatives by each input, numbers or arrays; 0 by those that have no influence."""
        return self.value_and_gradient(inputs)[1]

    def value_and_gradient(self, inputs: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Both in one pass."""
        with np.errstate(all="ignore"):
            values = self._values(inputs)
            covectors: list[Any] = [None] * len(values)
            covectors[self._result] = np.float64(1.0)
            for place in range(len(values) - 1, self._inputs - 1, -1):
                operation, operands = self._steps[place - self._inputs]
                arguments = [values[k] for k in operands]
                for k, operand in enumerate(operands):
                    pulled = operation.pull(k, covectors[place], values[place], *arguments)
                    if self._selects:  # what is not chosen may have no slope
                        pulled = np.where(np.equal(covectors[place], 0.0), 0.0, pulled)
                    covectors[operand] = pulled if covectors[operand] is None else covectors[operand] + pulled
        return values[self._result], [0.0 if found is None else found for found in covectors[: self._inputs]]

    def _values(self, inputs: Sequence[Any]) -> list[Any]:
        values = [np.asarray(value)[()] for value in inputs]  # infinite where Python's own numbers would raise
        for operation, operands in self._steps:
            values.append(operation.value(*(values[k] for k in operands)))
        return values


def _reached(inputs: int, steps: Sequence[Step], result: int) -> frozenset[int]:
    """Places that the result depends on."""
    found, waiting = {result}, [result]
    while waiting:
        place = waiting.pop()
        fresh = set(steps[place - inputs][1]) - found if place >= inputs else set()
        found |= fresh
        waiting.extend(fresh)
    return frozenset(found)


def _without_gaps(inputs: int, steps: Sequence[Step], result: int, reached: frozenset[int]) -> tuple[list[Step], int]:
    """The steps that are needed, and the place of the result among them."""
    moved = {place: place for place in range(inputs)}
    kept: list[Step] = []
    for place, (operation, operands) in enumerate(steps, inputs):
        if place in reached:
            moved[place] = inputs + len(kept)
            kept.append((operation, tuple(moved[operand] for operand in operands)))
    return kept, moved[result]
