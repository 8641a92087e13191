"""``Program``: an expression as steps on numbers or arrays, with exact derivatives."""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import accumulate, combinations
from math import pi
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.spec.expressions import syntax
from mbsim_cli.spec.expressions.evaluate import evaluate
from mbsim_cli.spec.expressions.named_numbers import reached
from mbsim_cli.system import cached_property

# Elementary operations on numbers and arrays, real or complex: value, and derivative by each argument.
#
# A derivative stands as its product with an adjoint, which is how a program goes backwards through its steps.

MAX_EXACT_EXPONENT = 64
LN_10 = math.log(10.0)


class Elementary(NamedTuple):
    """``value(*arguments)``; ``pull(k, adjoint, value, *arguments)`` is adjoint times derivative by argument k."""

    value: Callable[..., Any]
    pull: Callable[..., Any]
    name: str = ""
    number: float = 0.0  # a constant, or the exponent of a power


def constant(number: float) -> Elementary:
    """A number, of no arguments; quotients by it may be infinite, which Python's own numbers refuse."""
    value = np.float64(number)
    return Elementary(lambda: value, _no_argument, "constant", number)


def _no_argument(k, adjoint, value):
    raise AssertionError("a constant has no arguments")


def law(name: str) -> Elementary:
    """A law of the model file, which only tapes evaluate: the name stands behind a colon."""
    return Elementary(_no_argument, _no_argument, f"law:{name}")


ADD = Elementary(lambda a, b: a + b, lambda k, adjoint, value, a, b: adjoint, "add")
SUBTRACT = Elementary(lambda a, b: a - b, lambda k, adjoint, value, a, b: -adjoint if k else adjoint, "subtract")
MULTIPLY = Elementary(lambda a, b: a * b, lambda k, adjoint, value, a, b: adjoint * (a if k else b), "multiply")
DIVIDE = Elementary(
    lambda a, b: a / b, lambda k, adjoint, value, a, b: (-adjoint * value if k else adjoint) / b, "divide"
)
NEGATE = Elementary(lambda a: -a, lambda k, adjoint, value, a: -adjoint, "negate")


def _pull_power(k, adjoint, value, a, b):
    if k == 0:
        return adjoint * np.where(b == 0, 0.0, b * a ** (b - 1.0))  # a**0 is 1 everywhere
    return adjoint * np.where(value == 0, 0.0, value * np.log(a))  # 0**b is 0 beside b too


POWER = Elementary(lambda a, b: a**b, _pull_power, "power")


@lru_cache(maxsize=256)
def power(exponent: float) -> Elementary:
    """A power by a constant; small whole exponents are exact also of negative numbers."""
    whole = exponent == int(exponent) and abs(exponent) <= MAX_EXACT_EXPONENT
    n = int(exponent) if whole else exponent
    return Elementary(lambda a: a**n, lambda k, adjoint, value, a: adjoint * (n * a ** (n - 1)), "to", float(n))


def _of_one(value: Callable[[Any], Any], slope: Callable[[Any, Any], Any]) -> Elementary:
    """A function of one argument; ``slope(value, a)`` is its derivative."""
    return Elementary(value, lambda k, adjoint, value, a: adjoint * slope(value, a))


def _atan2(y, x):
    angle = np.arctan2(np.real(y), np.real(x))
    if not (np.iscomplexobj(y) or np.iscomplexobj(x)):
        return angle
    turn = np.real(x) * np.imag(y) - np.real(y) * np.imag(x)
    return angle + 1j * turn / (np.real(x) ** 2 + np.real(y) ** 2)


NORM = Elementary(
    lambda *a: np.sqrt(sum(x * x for x in a)),
    lambda k, adjoint, value, *a: adjoint * np.where(value == 0, 0.0, a[k] / np.where(value == 0, 1.0, value)),
)


def _extreme(place_of: Callable[..., Any]) -> Elementary:
    """The first of the largest or of the smallest arguments, which alone has a derivative."""

    def place(a):
        candidates = np.array(np.broadcast_arrays(*a))
        return place_of(candidates.real, axis=0), candidates

    def value(*a):
        found, candidates = place(a)
        return np.take_along_axis(candidates, np.expand_dims(found, 0), 0)[0]

    return Elementary(value, lambda k, adjoint, value, *a: np.where(place(a)[0] == k, adjoint, 0.0))


def _none(k, adjoint, value, *a):
    return 0.0 * np.real(value)  # also beside jumps, where there is no derivative


def _comparison(holds: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison as a number: 1 if it holds, 0 if it does not, NaN if an operand is NaN."""

    def value(a, b):
        a, b = np.real(a), np.real(b)
        return np.where(np.isnan(a) | np.isnan(b), np.nan, np.where(holds(a, b), 1.0, 0.0))

    return value


def _selected(chosen, a, b):
    chosen = np.real(chosen)
    return np.where(np.isnan(chosen), chosen, np.where(chosen != 0.0, a, b))


LESS = Elementary(_comparison(np.less), _none, "less")
LESS_EQUAL = Elementary(_comparison(np.less_equal), _none, "less_equal")
SIGN = Elementary(lambda a: np.sign(np.real(a)), _none, "sign")


def _pull_select(k, adjoint, value, chosen, a, b):
    return np.where((np.real(chosen) != 0.0) == (k == 1), adjoint, 0.0) if k else 0.0 * np.real(chosen)


SELECT = Elementary(_selected, _pull_select, "select")


FUNCTIONS: dict[str, Elementary] = {
    "sqrt": _of_one(np.sqrt, lambda value, a: 0.5 / value),
    "exp": _of_one(np.exp, lambda value, a: value),
    "log": _of_one(np.log, lambda value, a: 1.0 / a),
    "log10": _of_one(np.log10, lambda value, a: 1.0 / (LN_10 * a)),
    "abs": _of_one(  # with the imaginary part of a complex step, which np.abs has not
        lambda a: np.where(np.real(a) < 0, -a, a), lambda value, a: np.sign(np.real(a))
    ),
    "sin": _of_one(np.sin, lambda value, a: np.cos(a)),
    "cos": _of_one(np.cos, lambda value, a: -np.sin(a)),
    "tan": _of_one(np.tan, lambda value, a: 1.0 + value * value),
    "asin": _of_one(np.arcsin, lambda value, a: 1.0 / np.sqrt(1.0 - a * a)),
    "acos": _of_one(np.arccos, lambda value, a: -1.0 / np.sqrt(1.0 - a * a)),
    "atan": _of_one(np.arctan, lambda value, a: 1.0 / (1.0 + a * a)),
    "sinh": _of_one(np.sinh, lambda value, a: np.cosh(a)),
    "cosh": _of_one(np.cosh, lambda value, a: np.sinh(a)),
    "tanh": _of_one(np.tanh, lambda value, a: 1.0 - value * value),
    "atan2": Elementary(_atan2, lambda k, adjoint, value, y, x: adjoint * ((-y if k else x) / (x * x + y * y))),
    "hypot": NORM,
    "norm": NORM,
    "min": _extreme(np.argmin),
    "max": _extreme(np.argmax),
}
FUNCTIONS = {name: each._replace(name=name) for name, each in FUNCTIONS.items()}
_OTHERS = (ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, NEGATE, SIGN, LESS, LESS_EQUAL, SELECT)
OPERATIONS = FUNCTIONS | {each.name: each for each in _OTHERS}


# Whether an operation has a corner in each of the intervals (B - 1,) between B successive instants, other than by a
# switch: a root or a norm that comes close to zero.


def _bottoms(value: np.ndarray) -> np.ndarray:
    """Both intervals beside a minimum that is smaller than the second difference there, as that of abs(x) at zero."""
    before, least, behind = value[:-2], value[1:-1], value[2:]
    beside = (before > least) & (behind >= least) & (least >= 0.0) & (before + behind > 3.0 * least)
    found = np.zeros(max(0, len(value) - 1), bool)
    found[:-1] |= beside
    found[1:] |= beside
    return found


_COMPARING = ("less", "less_equal", "min", "max")  # by the signs of differences of their arguments
_BY_SIGN = ("abs", "sign", "atan2")  # of their first argument
_CORNERS = ("norm", "hypot", "sqrt", "power")  # the last two with exponents that are no whole numbers


Step = tuple[Elementary, tuple[int, ...]]  # an operation, and the places of its arguments

# The choice of a step, from its value and arguments, and the step with that choice alone.

_CHOICES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("less", "less_equal", "sign"), lambda value, *a: value),
    "abs": lambda value, a: a < 0.0,
    "min": lambda value, *a: np.argmin(a, axis=0),
    "max": lambda value, *a: np.argmax(a, axis=0),
    "select": lambda value, chosen, a, b: chosen != 0.0,
    "atan2": lambda value, y, x: np.where(x < 0.0, np.where(y < 0.0, 1, 2), 0),
}
_SAME = _of_one(lambda a: a, lambda value, a: 1.0)


def _frozen(operation: Elementary, operands: tuple[int, ...], choice: int) -> Step:
    match operation.name:
        case "abs":
            return (NEGATE if choice else _SAME), operands
        case "min" | "max":
            return _SAME, (operands[choice],)
        case "select":
            return _SAME, (operands[1 if choice else 2],)
        case "atan2" if not choice:
            return operation, operands
        case "atan2":  # beyond the negative half of the axis x

            def angle(y: Any, x: Any) -> Any:
                across = (np.real(x) < 0.0) & ((np.real(y) < 0.0) != (choice == 1))
                return _atan2(y, x) + np.where(across, -2.0 * pi if choice == 1 else 2.0 * pi, 0.0)

            return Elementary(angle, operation.pull), operands
    return Elementary(lambda: float(choice), operation.pull), ()


class Program:
    """Inputs stand at the first places, and each step adds one; the expression is the value at ``result``."""

    def __init__(self, inputs: int, steps: Sequence[Step], result: int):
        self._inputs = inputs
        # places that the result depends on
        self._reached = reached(result, lambda place: steps[place - inputs][1] if place >= inputs else ())
        self._steps, self._result = _without_gaps(inputs, steps, result, self._reached)
        self._selects = any(operation.name == "select" for operation, _ in self._steps)

    def reads(self, place: int) -> bool:
        """Whether an input has an influence."""
        return place in self._reached

    def corners(self, inputs: Sequence[Any], count: int) -> np.ndarray:
        """Whether it has a corner in each interval (count - 1,) between inputs (count,), other than by switches."""
        found = np.zeros(max(0, count - 1), bool)
        if self._bending:
            with np.errstate(all="ignore"):
                values = [np.broadcast_to(np.real(value), (count,)) for value in self._values(inputs)]
                for place, *exponent in self._bending:
                    found |= _bottoms(values[place]) & np.all([values[k][1:] % 1.0 != 0.0 for k in exponent], axis=0)
        return found

    @cached_property
    def _bending(self) -> list[tuple[int, ...]]:
        """Places of steps that may have corners, and of their exponents if these are no constants."""
        return [
            (place, *(operands[1:] if operation.name == "power" else ()))
            for place, (operation, operands) in enumerate(self._steps, self._inputs)
            if operation.name in _CORNERS or (operation.name == "to" and operation.number % 1.0)
        ]

    @cached_property
    def switches(self) -> "list[Program]":
        """Numbers by whose signs the program chooses a formula: it may have a corner or a jump where they change."""
        found: dict[tuple[int, ...], Program] = {}
        for place, (operation, operands) in enumerate(self._steps, self._inputs):
            before = self._steps[: place - self._inputs]
            for pair in combinations(operands, 2) if operation.name in _COMPARING else ():
                found[pair] = Program(self._inputs, [*before, (SUBTRACT, pair)], place)
            if operation.name in _BY_SIGN:
                found[operands[:1]] = Program(self._inputs, before, operands[0])
        return list(found.values())

    def choices(self, inputs: Sequence[Any], count: int) -> np.ndarray:
        """The choice of each step that has one, at the inputs (count,): integers (count, number of such steps)."""
        with np.errstate(all="ignore"):
            values = [np.broadcast_to(np.real(value), (count,)) for value in self._values(inputs)]
            found = [
                _CHOICES[operation.name](values[place], *(values[k] for k in operands))
                for place, (operation, operands) in enumerate(self._steps, self._inputs)
                if operation.name in _CHOICES
            ]
        return np.nan_to_num(np.reshape(found, (len(found), count)).T).astype(int)

    def frozen(self, choices: Sequence[int]) -> "Program":
        """The program with these choices at all inputs."""
        left = iter(choices)
        steps = [
            _frozen(operation, operands, next(left)) if operation.name in _CHOICES else (operation, operands)
            for operation, operands in self._steps
        ]
        return Program(self._inputs, steps, self._result)

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
            adjoints: list[Any] = [None] * len(values)
            adjoints[self._result] = np.float64(1.0)
            for place in range(len(values) - 1, self._inputs - 1, -1):
                operation, operands = self._steps[place - self._inputs]
                arguments = [values[k] for k in operands]
                for k, operand in enumerate(operands):
                    pulled = operation.pull(k, adjoints[place], values[place], *arguments)
                    if self._selects:  # what is not chosen may have no slope
                        pulled = np.where(np.equal(adjoints[place], 0.0), 0.0, pulled)
                    adjoints[operand] = pulled if adjoints[operand] is None else adjoints[operand] + pulled
        return values[self._result], [0.0 if found is None else found for found in adjoints[: self._inputs]]

    def _values(self, inputs: Sequence[Any]) -> list[Any]:
        values = [np.asarray(value)[()] for value in inputs]  # infinite where Python's own numbers would raise
        for operation, operands in self._steps:
            values.append(operation.value(*(values[k] for k in operands)))
        return values


def _without_gaps(inputs: int, steps: Sequence[Step], result: int, needed: set[int]) -> tuple[list[Step], int]:
    """The steps that are needed, and the place of the result among them."""
    moved = {place: place for place in range(inputs)}
    kept: list[Step] = []
    for place, (operation, operands) in enumerate(steps, inputs):
        if place in needed:
            moved[place] = inputs + len(kept)
            kept.append((operation, tuple(moved[operand] for operand in operands)))
    return kept, moved[result]


Part = int | float  # the place of a value, or a constant
Parts = Any  # a Part, or a tuple of those of a vector


def compiled(tree: ast.expr, widths: Mapping[str, int]) -> Program:
    """Program of a scalar expression; its inputs are the names in their order, one for each entry of a vector."""
    ends = accumulate(widths.values())
    places = {
        name: end - 1 if width == 1 else tuple(range(end - width, end))
        for (name, width), end in zip(widths.items(), ends, strict=True)
    }
    compiler = _Compiler(places, sum(widths.values()))
    result = compiler.place(compiler.parts(tree))
    return Program(compiler.inputs, compiler.steps, result)


def steps_of(
    tree: ast.expr, places: Mapping[str, Parts], inputs: int, named: Mapping[str, str]
) -> tuple[list[Step], int]:
    """Steps of a scalar behind ``inputs``, and the place of its value; ``named``: parts that it names, as texts."""
    compiler = _Compiler(places, inputs, named)
    result = compiler.place(compiler.parts(tree))
    return compiler.steps, result


@lru_cache(maxsize=65536)
def compiled_number(text: str) -> tuple[tuple[str, ...], Program]:
    """The names that a number reads, and its program."""
    tree = syntax.parse(text)
    used = tuple(syntax.names(tree))
    return used, compiled(tree, dict.fromkeys(used, 1))


@lru_cache(maxsize=4096)
def compiled_formula(text: str, widths: tuple[tuple[str, int], ...]) -> Program:
    """Program of an expression of vectors, by the names of its inputs and their entries."""
    return compiled(syntax.parse(text, vectors=True), dict(widths))


def value_along_motion(name: str, arguments: Sequence[float]) -> float:
    """Value of a function of ``syntax.ALONG_MOTION`` at constants."""
    return float(_Compiler({}, 0)._along_motion(name, *map(float, arguments)))


class _Compiler:
    """Collects steps; one that is there already serves again."""

    def __init__(self, places: Mapping[str, Parts], inputs: int, named: Mapping[str, str] | None = None):
        self.inputs = inputs
        self.steps: list[Step] = []
        self._places, self._named = dict(places), named or {}
        self._known: dict[Any, int] = {}

    def parts(self, node: ast.expr) -> Parts:
        """What an expression is made of."""
        if syntax.is_constant(node):  # folded first, so that no tower of powers can explode
            value = evaluate(node, {})
            return tuple(map(float, value)) if isinstance(value, list) else float(value)
        if (part := syntax.part_of(node)) is not None:
            return self._places[part]
        if isinstance(node, ast.Attribute) and (path := syntax.dotted(node)) is not None and path in self._places:
            return self._places[path]
        match node:
            case ast.Name(id=name):
                return self._of_name(name)
            case ast.UnaryOp(op=op, operand=operand):
                value = self.parts(operand)
                if isinstance(op, ast.Not):
                    return self._apply(SELECT, value, 0.0, 1.0)
                return _entrywise(self._negative, value) if isinstance(op, ast.USub) else value
            case ast.BinOp(left=left, op=op, right=right):
                known = {
                    ast.Add: self._sum,
                    ast.Sub: self._difference,
                    ast.Mult: self._product,
                    ast.Div: self._quotient,
                }
                return _entrywise(known.get(type(op), self._power), self.parts(left), self.parts(right))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(syntax.function_name(name), [self.parts(argument) for argument in arguments])
            case ast.Compare():
                each = [self._comparison(op, self.parts(a), self.parts(b)) for a, op, b in syntax.links(node)]
                return each[0] if len(each) == 1 else self._combined(ast.And(), each)
            case ast.BoolOp(op=op, values=conditions):
                return self._combined(op, list(map(self.parts, conditions)))
            case ast.List(elts=entries):
                return tuple(self.parts(entry) for entry in entries)
            case ast.Attribute(value=ast.Name(id=vector), attr=name):
                return self._of_name(vector)[syntax.COMPONENTS[name]]
            case ast.Attribute(value=value, attr=name):
                return self.parts(value)[syntax.COMPONENTS[name]]
        raise AssertionError(f"unchecked node {ast.dump(node)}")

    def _comparison(self, op: ast.cmpop, a: Part, b: Part) -> Part:
        a, b = (b, a) if isinstance(op, ast.Gt | ast.GtE) else (a, b)
        return self._apply(LESS if isinstance(op, ast.Lt | ast.Gt) else LESS_EQUAL, a, b)

    def _combined(self, op: ast.boolop, conditions: list[Part]) -> Part:
        """1 where all conditions hold, or any of them, else 0: by choices, as of if within if."""
        found: Part = 1.0 if isinstance(op, ast.And) else 0.0
        for condition in reversed(conditions):
            both = (found, 0.0) if isinstance(op, ast.And) else (1.0, found)
            found = self._apply(SELECT, condition, *both)
        return found

    def _of_name(self, name: str) -> Parts:
        if name in self._named and name not in self._places:
            self._places[name] = self.parts(syntax.parse(self._named[name], vectors=True, motion=True))
        return self._places[name]

    def place(self, part: Part) -> int:
        """Place of a part; a constant gets one."""
        if not isinstance(part, float):
            return part
        return self._step(repr(part), lambda: (constant(part), ()))

    def _step(self, key: Any, step: Callable[[], Step]) -> int:
        if key not in self._known:
            self.steps.append(step())
            self._known[key] = self.inputs + len(self.steps) - 1
        return self._known[key]

    def _apply(self, operation: Elementary, *parts: Part) -> Part:
        if all(isinstance(part, float) for part in parts):
            with np.errstate(all="ignore"):
                return float(operation.value(*map(np.float64, parts)))
        operands = tuple(map(self.place, parts))
        return self._step((operation, operands), lambda: (operation, operands))

    def _call(self, name: str, arguments: list[Parts]) -> Parts:
        if name in syntax.ALONG_MOTION:
            return self._along_motion(name, *arguments)
        if name not in FUNCTIONS and name not in ("dot", "cross"):
            place = self.place(arguments[0])
            return self._step(("law", name, place), lambda: (law(name), (place,)))
        match name:
            case "dot":
                return reduce(self._sum, map(self._product, *arguments))
            case "cross":
                a, b = arguments
                pairs = ((self._product(a[i - 2], b[i - 1]), self._product(a[i - 1], b[i - 2])) for i in range(3))
                return tuple(self._difference(x, y) for x, y in pairs)
            case "norm":
                return self._apply(FUNCTIONS[name], *arguments[0])
        return self._apply(FUNCTIONS[name], *arguments)

    def _along_motion(self, name: str, *arguments: Part) -> Part:
        """Functions of ``syntax.ALONG_MOTION``, made of others."""
        match name:
            case "if":
                return self._apply(SELECT, *arguments)
            case "sign":
                return self._apply(SIGN, *arguments)
            case "clip":
                return self._clip(*arguments)
            case "smooth_abs":
                return self._apply(FUNCTIONS["hypot"], *arguments)
            case "smooth_max":
                a, b, width = arguments
                apart = self._apply(FUNCTIONS["hypot"], self._difference(a, b), width)
                return self._product(0.5, self._sum(self._sum(a, b), apart))
            case "impact":
                return self._impact(*arguments)
            case "bistop":
                x, v, low, high, *law = arguments
                back = self._impact(self._negative(x), self._negative(v), self._negative(high), *law)
                return self._difference(self._impact(x, v, low, *law), back)
        return self._step_of(name, *arguments)

    def _clip(self, x: Part, low: Part, high: Part) -> Part:
        return self._apply(FUNCTIONS["min"], self._apply(FUNCTIONS["max"], x, low), high)

    def _step_of(self, name: str, x: Part, x0: Part, h0: Part, x1: Part, h1: Part) -> Part:
        """From h0 at x0 to h1 at x1, D = (x - x0)/(x1 - x0) held in [0, 1]."""
        D = self._clip(self._quotient(self._difference(x, x0), self._difference(x1, x0)), 0.0, 1.0)
        if name == "havsin":
            angle = self._product(pi, self._difference(D, 0.5))
            risen = self._product(0.5, self._sum(1.0, self._apply(FUNCTIONS["sin"], angle)))
        elif name == "step":  # D^2 (3 - 2 D)
            risen = self._product(self._power(D, 2.0), self._difference(3.0, self._product(2.0, D)))
        else:  # D^3 (10 - D (15 - 6 D))
            inner = self._difference(10.0, self._product(D, self._difference(15.0, self._product(6.0, D))))
            risen = self._product(self._power(D, 3.0), inner)
        return self._sum(h0, self._product(self._difference(h1, h0), risen))

    def _impact(self, x: Part, v: Part, x1: Part, k: Part, e: Part, c: Part, d: Part) -> Part:
        """max(k (x1 - x)^e - c v step(x, x1 - d, 1, x1, 0), 0) where x < x1, else 0."""
        spring = self._product(k, self._power(self._difference(x1, x), e))
        damped = self._product(self._product(c, v), self._step_of("step", x, self._difference(x1, d), 1.0, x1, 0.0))
        force = self._apply(FUNCTIONS["max"], self._difference(spring, damped), 0.0)
        return self._apply(SELECT, self._apply(LESS, x, x1), force, 0.0)

    def _negative(self, a: Part) -> Part:
        return self._apply(NEGATE, a)

    def _sum(self, a: Part, b: Part) -> Part:
        if _is_zero(a) or _is_zero(b):
            return b if _is_zero(a) else a
        return self._apply(ADD, a, b)

    def _difference(self, a: Part, b: Part) -> Part:
        return a if _is_zero(b) else self._apply(SUBTRACT, a, b)

    def _product(self, a: Part, b: Part) -> Part:
        if _is_zero(a) or _is_zero(b):
            return 0.0
        return self._apply(MULTIPLY, a, b)

    def _quotient(self, a: Part, b: Part) -> Part:
        return 0.0 if _is_zero(a) and not isinstance(b, float) else self._apply(DIVIDE, a, b)

    def _power(self, a: Part, b: Part) -> Part:
        if not isinstance(b, float):
            return self._apply(POWER, a, b)
        return 1.0 if b == 0.0 else a if b == 1.0 else self._apply(power(b), a)


def _is_zero(part: Part) -> bool:
    return isinstance(part, float) and part == 0.0


def _entrywise(operation: Callable[..., Part], *parts: Parts) -> Parts:
    width = max((len(part) for part in parts if isinstance(part, tuple)), default=0)
    if not width:
        return operation(*parts)
    spread = (part if isinstance(part, tuple) else (part,) * width for part in parts)
    return tuple(operation(*entries) for entries in zip(*spread, strict=True))
