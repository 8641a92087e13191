"""Value of a parsed expression, real or complex (for the complex step), without numpy; widths of its parts."""

import ast
import cmath
import math
import operator
from collections.abc import Callable, Container, Mapping
from typing import Any

from mbsim_cli.spec.expressions import syntax
from mbsim_cli.spec.expressions.syntax import ExpressionError, column
from mbsim_cli.spec.reading.messages import suggest

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
    """Value of an expression, a list of three for a vector, by that of names; raises ExpressionError."""
    match node:
        case ast.Constant(value=int() | float() as value):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if not math.isfinite(number):
                raise ExpressionError("value is too large", column(node))
            return number
        case ast.Name(id=name):
            return BUILT_IN[name] if name in BUILT_IN else scope[name]
        case ast.UnaryOp(op=op, operand=operand):
            value = evaluate(operand, scope)
            if isinstance(op, ast.Not):
                return float(_branch(value) == 0.0)
            return _binary(node, ast.Mult(), -1.0, value) if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right):
            return _binary(node, op, evaluate(left, scope), evaluate(right, scope))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _call(node, syntax.function_name(name), [evaluate(argument, scope) for argument in arguments])
        case ast.Compare():
            sides = ((op, _branch(evaluate(a, scope)), _branch(evaluate(b, scope))) for a, op, b in syntax.links(node))
            return float(all(_COMPARISONS[type(op)](a, b) for op, a, b in sides))
        case ast.BoolOp(op=op, values=conditions):
            hold = (_branch(evaluate(condition, scope)) != 0.0 for condition in conditions)
            return float(all(hold) if isinstance(op, ast.And) else any(hold))
        case ast.List(elts=entries):
            return [evaluate(entry, scope) for entry in entries]
        case ast.Attribute(value=value, attr=name):
            return evaluate(value, scope)[syntax.COMPONENTS[name]]
    raise ExpressionError("a number is wanted here", column(node))


def finite_value(tree: ast.expr, scope: Mapping[str, Scalar]) -> Scalar:
    """Return the value of a scalar expression; raises ExpressionError also where it is not finite."""
    value = evaluate(tree, scope)
    if not cmath.isfinite(value):
        raise ExpressionError("value is too large")
    return value


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
}


def _binary(node: ast.expr, op: ast.operator, a: Any, b: Any) -> Any:
    if isinstance(a, list) or isinstance(b, list):
        spread = zip(*(x if isinstance(x, list) else [x] * 3 for x in (a, b)), strict=True)
        return [_binary(node, op, x, y) for x, y in spread]
    try:
        return _OPERATIONS[type(op)](a, b) if type(op) in _OPERATIONS else _power(node, a, b)
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
        from mbsim_cli.spec.expressions.program import value_along_motion

        return value_along_motion(name, values)
    except (ValueError, ZeroDivisionError):
        arguments = ", ".join(f"{_branch(value):g}" for value in values if not isinstance(value, list))
        raise ExpressionError(f"{name}({arguments}) is not a real number", column(node)) from None
    except OverflowError:
        raise ExpressionError("value is too large", column(node)) from None


def check_formula(text: str, widths: Mapping[str, int], vectors: bool = False, laws: Container[str] = ()) -> None:
    """Raise ExpressionError unless a text is a number or vector of names of known width, and calls ``laws`` alone."""
    tree = syntax.parse(text, vectors=True)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and (law := syntax.law_of(node)) is not None and law not in laws:
            raise ExpressionError(f"unknown function {law!r}", column(node), suggest(law, syntax.KNOWN))
    for name, offset in syntax.names(tree).items():
        if name not in widths:
            raise ExpressionError(f"unknown name {name!r}", offset, suggest(name, widths))
    wide = width(tree, widths)
    if vectors and wide not in (1, 3):
        raise ExpressionError("must be a number or a vector of three numbers", 0, "use dot for the sum of squares")
    if not vectors and wide != 1:
        raise ExpressionError("must be a number, not a vector", 0, "use dot, norm, .x, .y or .z")


def width(node: ast.expr, widths: Mapping[str, int]) -> int:
    """Return 1, 3 or another width, or raise ExpressionError with the place where widths do not fit."""
    if (part := syntax.part_of(node)) is not None:
        return widths.get(part, 3)
    if isinstance(node, ast.Attribute) and (path := syntax.dotted(node)) is not None and path in widths:
        return widths[path]
    match node:
        case ast.Constant():
            evaluate(node, {})
        case ast.Name(id=name):
            return widths.get(name, 1)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            _expect(1, operand, widths)
        case ast.UnaryOp(operand=operand):
            return width(operand, widths)
        case ast.BinOp():
            return _of_binary(node, widths)
        case ast.Call():
            return _of_call(node, widths)
        case ast.Compare(left=left, comparators=others):
            for side in (left, *others):
                _expect(1, side, widths)
        case ast.BoolOp(values=conditions):
            for condition in conditions:
                _expect(1, condition, widths)
        case ast.List(elts=entries):
            for entry in entries:
                _expect(1, entry, widths)
            return 3
        case ast.Attribute(value=value, attr=name):
            wide = width(value, widths)
            if wide == 1:
                raise ExpressionError(f"a number has no component {name!r}", column(value))
            if wide != 3:
                hint = "a sensor of type torque reads that of one coordinate"
                raise ExpressionError(f"torques of {wide} coordinates have no component {name!r}", column(value), hint)
    return 1


def _of_binary(node: ast.BinOp, widths: Mapping[str, int]) -> int:
    left, right = width(node.left, widths), width(node.right, widths)
    vectors = (left != 1) + (right != 1)
    if isinstance(node.op, ast.Add | ast.Sub) and vectors == 1:
        raise ExpressionError("a vector and a number cannot be added", column(node))
    if isinstance(node.op, ast.Mult) and vectors == 2:
        raise ExpressionError("two vectors are multiplied", column(node), "use dot or cross")
    if vectors == 2 and left != right:
        raise ExpressionError("two vectors of different length are combined", column(node))
    if isinstance(node.op, ast.Div) and right != 1:
        raise ExpressionError("nothing can be divided by a vector", column(node))
    if isinstance(node.op, ast.Pow) and vectors:
        raise ExpressionError("a vector has no power", column(node), "use dot or norm")
    if syntax.is_constant(node):
        evaluate(node, {})
    return (left if left != 1 else right) if vectors else 1


def _of_call(node: ast.Call, widths: Mapping[str, int]) -> int:
    name = syntax.function_name(node.func.id)  # type: ignore[attr-defined]
    if name in ("dot", "norm") and (wide := width(node.args[0], widths)) not in (1, 3):
        for argument in node.args[1:]:
            _expect(wide, argument, widths)
        return 1
    for argument in node.args:
        _expect(3 if name in syntax.VECTOR_FUNCTIONS else 1, argument, widths)
    if name == "clip" and all(map(syntax.is_constant, node.args[1:])):
        low, high = (evaluate(argument, {}) for argument in node.args[1:])
        if low > high:
            raise ExpressionError(f"clip has {low:g} as its lowest value, above its highest, {high:g}", column(node))
    if syntax.is_constant(node):
        evaluate(node, {})
    return 3 if name == "cross" else 1


def _expect(wanted: int, node: ast.expr, widths: Mapping[str, int]) -> None:
    if width(node, widths) != wanted:
        wish = {1: "a number", 3: "a vector"}.get(wanted, "a vector of the same length")
        raise ExpressionError(f"{wish} is wanted here", column(node))
