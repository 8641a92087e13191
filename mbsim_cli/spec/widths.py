"""Width of an integrand's parts: 1 for a number, 3 for a vector; says where they do not fit."""

import ast
from collections.abc import Mapping

from mbsim_cli.spec.evaluate import evaluate
from mbsim_cli.spec.suggestions import suggest
from mbsim_cli.spec.syntax import VECTOR_FUNCTIONS, ExpressionError, column, names, parse


def check_formula(text: str, widths: Mapping[str, int]) -> None:
    """Raise ExpressionError unless the expression is a number, made of names whose width is known."""
    tree = parse(text, vectors=True)
    for name, offset in names(tree).items():
        if name not in widths:
            raise ExpressionError(f"unknown name {name!r}", offset, suggest(name, widths))
    if width(tree, widths) != 1:
        raise ExpressionError("must be a number, not a vector", 0, "use dot, norm, .x, .y or .z")


def width(node: ast.expr, widths: Mapping[str, int]) -> int:
    """Return 1 or 3, or raise ExpressionError with the place where widths do not fit."""
    match node:
        case ast.Name(id=name):
            return widths.get(name, 1)
        case ast.UnaryOp(operand=operand):
            return width(operand, widths)
        case ast.BinOp():
            return _of_binary(node, widths)
        case ast.Call():
            return _of_call(node, widths)
        case ast.List(elts=entries):
            for entry in entries:
                _expect(1, entry, widths)
            return 3
        case ast.Attribute(value=value):
            _expect(3, value, widths)
    return 1


def _of_binary(node: ast.BinOp, widths: Mapping[str, int]) -> int:
    left, right = width(node.left, widths), width(node.right, widths)
    vectors = (left == 3) + (right == 3)
    if isinstance(node.op, ast.Add | ast.Sub) and vectors == 1:
        raise ExpressionError("a vector and a number cannot be added", column(node))
    if isinstance(node.op, ast.Mult) and vectors == 2:
        raise ExpressionError("two vectors are multiplied", column(node), "use dot or cross")
    if isinstance(node.op, ast.Div) and right == 3:
        raise ExpressionError("nothing can be divided by a vector", column(node))
    if isinstance(node.op, ast.Pow) and vectors:
        raise ExpressionError("a vector has no power", column(node), "use dot or norm")
    if not names(node):
        evaluate(node, {})
    return 3 if vectors else 1


def _of_call(node: ast.Call, widths: Mapping[str, int]) -> int:
    name = node.func.id  # type: ignore[attr-defined]
    for argument in node.args:
        _expect(3 if name in VECTOR_FUNCTIONS else 1, argument, widths)
    if not names(node):
        evaluate(node, {})
    return 3 if name == "cross" else 1


def _expect(wanted: int, node: ast.expr, widths: Mapping[str, int]) -> None:
    if width(node, widths) != wanted:
        raise ExpressionError("a vector is wanted here" if wanted == 3 else "a number is wanted here", column(node))
