"""Width of an integrand's parts: 1 for a number, more for a vector; says where they do not fit."""

import ast
from collections.abc import Mapping

from mbsim_cli.spec.expressions.evaluate import evaluate
from mbsim_cli.spec.expressions.syntax import (
    VECTOR_FUNCTIONS,
    ExpressionError,
    column,
    dotted,
    function_name,
    is_constant,
    names,
    parse,
    part_of,
)
from mbsim_cli.spec.reading.suggestions import suggest


def check_formula(text: str, widths: Mapping[str, int], vectors: bool = False) -> None:
    """Raise ExpressionError unless the expression is a number, or a vector of three, made of names of known width."""
    tree = parse(text, vectors=True)
    for name, offset in names(tree).items():
        if name not in widths:
            raise ExpressionError(f"unknown name {name!r}", offset, suggest(name, widths))
    wide = width(tree, widths)
    if vectors and wide not in (1, 3):
        raise ExpressionError("must be a number or a vector of three numbers", 0, "use dot for the sum of squares")
    if not vectors and wide != 1:
        raise ExpressionError("must be a number, not a vector", 0, "use dot, norm, .x, .y or .z")


def width(node: ast.expr, widths: Mapping[str, int]) -> int:
    """Return 1, 3 or another width, or raise ExpressionError with the place where widths do not fit."""
    if (part := part_of(node)) is not None:
        return widths.get(part, 3)
    if isinstance(node, ast.Attribute) and (path := dotted(node)) is not None and path in widths:
        return widths[path]
    match node:
        case ast.Constant():
            evaluate(node, {})
        case ast.Name(id=name):
            return widths.get(name, 1)
        case ast.UnaryOp(operand=operand):
            return width(operand, widths)
        case ast.BinOp():
            return _of_binary(node, widths)
        case ast.Call():
            return _of_call(node, widths)
        case ast.Compare(left=left, comparators=[right]):
            _expect(1, left, widths)
            _expect(1, right, widths)
        case ast.List(elts=entries):
            for entry in entries:
                _expect(1, entry, widths)
            return 3
        case ast.Attribute(value=value, attr=name):
            _expect_components(name, value, widths)
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
    if is_constant(node):
        evaluate(node, {})
    return (left if left != 1 else right) if vectors else 1


def _of_call(node: ast.Call, widths: Mapping[str, int]) -> int:
    name = function_name(node.func.id)  # type: ignore[attr-defined]
    if name in ("dot", "norm") and (wide := width(node.args[0], widths)) not in (1, 3):
        for argument in node.args[1:]:
            _expect(wide, argument, widths)
        return 1
    for argument in node.args:
        _expect(3 if name in VECTOR_FUNCTIONS else 1, argument, widths)
    if is_constant(node):
        evaluate(node, {})
    return 3 if name == "cross" else 1


def _expect(wanted: int, node: ast.expr, widths: Mapping[str, int]) -> None:
    if width(node, widths) != wanted:
        wish = {1: "a number", 3: "a vector"}.get(wanted, "a vector of the same length")
        raise ExpressionError(f"{wish} is wanted here", column(node))


def _expect_components(name: str, node: ast.expr, widths: Mapping[str, int]) -> None:
    wide = width(node, widths)
    if wide == 1:
        raise ExpressionError(f"a number has no component {name!r}", column(node))
    if wide != 3:
        hint = "a sensor of type torque reads that of one coordinate"
        raise ExpressionError(f"torques of {wide} coordinates have no component {name!r}", column(node), hint)
