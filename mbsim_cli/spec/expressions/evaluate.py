"""Value of a parsed expression, real or complex (for the complex step), without numpy."""

import ast
import cmath
import math
from collections.abc import Callable, Mapping
from typing import Any

from mbsim_cli.spec.expressions.syntax import COMPONENTS, ExpressionError, column, function_name

Scalar = float | complex
BUILT_IN: dict[str, float] = {"pi": math.pi, "deg": math.pi / 180}


def _branch(x: Scalar) -> float:
    return x.real if isinstance(x, complex) else x


def _atan2(y: Scalar, x: Scalar) -> Scalar:
    angle = math.atan2(_branch(y), _branch(x))
    if not isinstance(y, complex) and not isinstance(x, complex):
        return angle
    # first order in the imaginary parts: what the complex step needs, on every branch
    y, x = complex(y), complex(x)
    return complex(angle, (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2))


_OF_ONE = ("sqrt", "exp", "log", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
_SPECIAL: dict[str, Callable[..., Any]] = {
    "abs": lambda x: x if _branch(x) >= 0 else -x,
    "atan2": _atan2,
    "hypot": lambda x, y: cmath.sqrt(x * x + y * y) if isinstance(x * y, complex) else math.hypot(x, y),
    "dot": lambda a, b: sum(x * y for x, y in zip(a, b, strict=True)),
    "cross": lambda a, b: [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)],
    "norm": lambda a: cmath.sqrt(sum(x * x for x in a)) if any(isinstance(x, complex) for x in a) else math.hypot(*a),
    "min": lambda *values: min(values, key=_branch),
    "max": lambda *values: max(values, key=_branch),
}


def evaluate(node: ast.expr, scope: Mapping[str, Scalar]) -> Any:
    """Return the value of an expression, a list of three for a vector; ``scope`` gives the names.

    Raises ExpressionError.
    """
    match node:
        case ast.Constant(value=int() | float() as value):
            return _finite(value, node)
        case ast.Name(id=name):
            return BUILT_IN[name] if name in BUILT_IN else scope[name]
        case ast.UnaryOp(op=op, operand=operand):
            value = evaluate(operand, scope)
            return _binary(node, ast.Mult(), -1.0, value) if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(node, op, evaluate(left, scope), evaluate(right, scope))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _call(node, function_name(name), [evaluate(argument, scope) for argument in arguments])
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            a, b = _branch(evaluate(left, scope)), _branch(evaluate(right, scope))
            found = {ast.Lt: a < b, ast.LtE: a <= b, ast.Gt: a > b, ast.GtE: a >= b}
            return float(found[type(op)])
        case ast.List(elts=entries):
            return [evaluate(entry, scope) for entry in entries]
        case ast.Attribute(value=value, attr=name):
            return evaluate(value, scope)[COMPONENTS[name]]
    raise ExpressionError("a number is wanted here", column(node))


def finite_value(tree: ast.expr, scope: Mapping[str, Scalar]) -> Scalar:
    """Return the value of a scalar expression; raises ExpressionError also where it is not finite."""
    value = evaluate(tree, scope)
    if not cmath.isfinite(value):
        raise ExpressionError("value is too large")
    return value


def _binary(node: ast.expr, op: ast.operator, a: Any, b: Any) -> Any:
    if isinstance(a, list) or isinstance(b, list):
        spread = zip(*(x if isinstance(x, list) else [x] * 3 for x in (a, b)), strict=True)
        return [_binary(node, op, x, y) for x, y in spread]
    try:
        match op:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult():
                return a * b
            case ast.Div():
                return a / b
            case ast.Mod():
                return a % b
            case ast.FloorDiv():
                return a // b
            case _:
                return _power(node, a, b)
    except ZeroDivisionError:
        raise ExpressionError("division by zero", column(node)) from None
    except OverflowError:
        raise ExpressionError("value is too large", column(node)) from None


def _power(node: ast.expr, a: Scalar, b: Scalar) -> Scalar:
    if isinstance(b, complex) and not isinstance(a, complex) and a <= 0.0:  # by the exponent, which steps
        if a < 0.0 or b.real <= 0.0:
            raise ExpressionError(f"{a:g} to a power near {b.real:g} is not a real number", column(node))
        return 0j
    result = a**b
    if isinstance(result, complex) and not isinstance(a, complex) and not isinstance(b, complex):
        raise ExpressionError(f"{a:g} to the power {b:g} is not a real number", column(node))
    return result


def _call(node: ast.expr, name: str, values: list[Any]) -> Any:
    try:
        if name in _OF_ONE:
            library = cmath if isinstance(values[0], complex) else math
            return getattr(library, name)(values[0])
        if name in _SPECIAL:
            return _SPECIAL[name](*values)
        from mbsim_cli.spec.expressions.compiling import value_along_motion

        return value_along_motion(name, values)
    except (ValueError, ZeroDivisionError):
        arguments = ", ".join(f"{_branch(value):g}" for value in values if not isinstance(value, list))
        raise ExpressionError(f"{name}({arguments}) is not a real number", column(node)) from None
    except OverflowError:
        raise ExpressionError("value is too large", column(node)) from None


def _finite(value: float, node: ast.expr) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ExpressionError("value is too large", column(node))
    return number
