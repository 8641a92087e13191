"""Expressions as sympy expressions, for exact derivatives; the only home of sympy."""

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from mbsim_cli.spec.evaluate import evaluate
from mbsim_cli.spec.syntax import COMPONENTS, names, parse, part_of

MAX_EXACT_EXPONENT = 64
Symbolic = Any  # sympy.Expr, or a tuple of them


class unit(sympy.Function):
    """x / n, and 0 where n is 0: the derivative of a norm."""


class length(sympy.Function):
    """Euclidean norm of its arguments, with a derivative of 0 where it vanishes."""

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        """Return the derivative by one argument."""
        return unit(self.args[argindex - 1], self)


class wins(sympy.Function):
    """1 where the argument whose number stands first is the largest of the others, else 0."""


class largest(sympy.Function):
    """Largest of its arguments; where some are equal, the first one counts."""

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        """Return the derivative by one argument."""
        return wins(sympy.Integer(argindex - 1), *self.args)


def _unit(x: Any, n: Any) -> Any:
    return np.where(n == 0, 0.0, x / np.where(n == 0, 1.0, n))


def _length(*x: Any) -> Any:
    return np.sqrt(sum(v * v for v in x))


def _largest(*x: Any) -> Any:
    return np.max(np.broadcast_arrays(*x), axis=0)


def _abs(x: Any) -> Any:
    return np.where(np.real(x) < 0, -x, x)  # with the imaginary part of a complex step, which np.abs has not


def _atan2(y: Any, x: Any) -> Any:
    angle = np.arctan2(np.real(y), np.real(x))
    if not (np.iscomplexobj(y) or np.iscomplexobj(x)):
        return angle
    turn = np.real(x) * np.imag(y) - np.real(y) * np.imag(x)
    return angle + 1j * turn / (np.real(x) ** 2 + np.real(y) ** 2)


def _wins(number: int, *x: Any) -> Any:
    return 1.0 * (np.argmax(np.broadcast_arrays(*x), axis=0) == number)


_OWN = {"unit": _unit, "length": _length, "largest": _largest, "wins": _wins, "Abs": _abs, "atan2": _atan2}
NUMPY = [_OWN, "numpy"]


def compiled(symbols: list[sympy.Symbol], expressions: list[sympy.Expr]) -> Callable[..., list[Any]]:
    """Return a vectorised function of the symbols that gives all expressions."""
    # a certain division by zero has no name in numpy
    expressions = [sympy.nan if expression.has(sympy.zoo) else expression for expression in expressions]
    return sympy.lambdify(symbols, expressions, modules=NUMPY, cse=True)


@lru_cache(maxsize=65536)
def partials(text: str) -> tuple[tuple[str, ...], Callable[..., list[Any]]]:
    """Return the names in a scalar expression and the function that gives its derivatives by them."""
    tree = parse(text)
    used = tuple(names(tree))
    # neutral names: a user's name can never shadow a function in the compiled code
    symbols = [sympy.Symbol(f"v{i}", real=True) for i in range(len(used))]
    expression = to_sympy(tree, dict(zip(used, symbols, strict=True)))
    return used, compiled(symbols, [sympy.diff(expression, symbol) for symbol in symbols])


def to_sympy(node: ast.expr, symbols: Mapping[str, Symbolic]) -> Symbolic:
    """Return the sympy expression of a checked tree; names stand for expressions or tuples of them."""
    if not names(node):
        # constants are folded in floating point first: no tower of powers can explode
        value = evaluate(node, {})
        return tuple(map(sympy.Float, value)) if isinstance(value, list) else sympy.Float(value)
    if (part := part_of(node)) is not None:
        return symbols[part]
    match node:
        case ast.Name(id=name):
            return symbols[name]
        case ast.UnaryOp(op=op, operand=operand):
            value = to_sympy(operand, symbols)
            return _entrywise(lambda x: -x, value) if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(op, to_sympy(left, symbols), to_sympy(right, symbols))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _FUNCTIONS[name](*(to_sympy(argument, symbols) for argument in arguments))
        case ast.List(elts=entries):
            return tuple(to_sympy(entry, symbols) for entry in entries)
        case ast.Attribute(value=value, attr=name):
            return to_sympy(value, symbols)[COMPONENTS[name]]
    raise AssertionError(f"unchecked node {ast.dump(node)}")


def _entrywise(operation: Callable[..., sympy.Expr], *values: Symbolic) -> Symbolic:
    width = max((len(value) for value in values if isinstance(value, tuple)), default=0)
    if not width:
        return operation(*values)
    spread = [value if isinstance(value, tuple) else (value,) * width for value in values]
    return tuple(operation(*entries) for entries in zip(*spread, strict=True))


def _binary(op: ast.operator, a: Symbolic, b: Symbolic) -> Symbolic:
    match op:
        case ast.Add():
            return _entrywise(lambda x, y: x + y, a, b)
        case ast.Sub():
            return _entrywise(lambda x, y: x - y, a, b)
        case ast.Mult():
            return _entrywise(lambda x, y: x * y, a, b)
        case ast.Div():
            return _entrywise(lambda x, y: x / y, a, b)
    return a ** _exponent(b)


def _exponent(b: sympy.Expr) -> sympy.Expr:
    exact = isinstance(b, sympy.Float) and abs(b) <= MAX_EXACT_EXPONENT and b == int(b)
    return sympy.Integer(int(b)) if exact else b


def _dot(a: Symbolic, b: Symbolic) -> sympy.Expr:
    return sum((x * y for x, y in zip(a, b, strict=True)), sympy.Integer(0))


def _cross(a: Symbolic, b: Symbolic) -> Symbolic:
    return tuple(a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3))


_FUNCTIONS: dict[str, Callable[..., Symbolic]] = {
    **{name: getattr(sympy, name) for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: getattr(sympy, name) for name in ("sinh", "cosh", "tanh", "atan2")},
    "log10": lambda x: sympy.log(x) / sympy.Float(2.302585092994046),
    "abs": sympy.Abs,
    "hypot": length,
    "min": lambda *values: -largest(*(-value for value in values)),
    "max": largest,
    "dot": _dot,
    "cross": _cross,
    "norm": lambda a: length(*a),
}
