"""``Scoped``: a text of a repetition that may be a formula; ``values`` gives the names that are its instance's own."""

import ast
import copy
from collections.abc import Mapping

from mbsim_cli.spec.expressions.evaluate import Scalar, evaluate, finite_value
from mbsim_cli.spec.expressions.syntax import ExpressionError, column, names, parse

Value = int | float | str  # a text stands for a name or formula of the file
Values = Mapping[str, Value]


class Scoped(str):
    """A text that is read as it stands, and as a formula of ``values`` where a number is wanted."""

    __slots__ = ("values",)
    values: Values

    @classmethod
    def of(cls, text: str, values: Values) -> "Scoped":
        """Return a text with the values of its instance."""
        made = cls(text)
        made.values = values
        return made

    def formula(self, vectors: bool = False, motion: bool = False) -> float | str:
        """Return the value, or a formula of the file's names where it reads any; raises ExpressionError."""
        return fixed(str(self), self.values, vectors, motion)


def fixed(text: str, values: Values, vectors: bool = False, motion: bool = False) -> float | str:
    """Return an expression with the names of an instance replaced, a number where no other names are left."""
    tree = parse(text, vectors, True, motion)
    if isinstance(tree, ast.Name) and isinstance(values.get(tree.id), str):
        return str(values[tree.id])
    if not vectors and _known(tree, values):
        return float(finite_value(tree, _numbers(values)).real)
    return ast.unparse(_replaced(tree, values))


def _numbers(values: Values) -> dict[str, Scalar]:
    return {name: value for name, value in values.items() if not isinstance(value, str)}


def _known(node: ast.expr, values: Values) -> bool:
    """Whether all names of an expression are numbers of the instance."""
    return all(isinstance(values.get(name), int | float) for name in names(node))


def _replaced(node: ast.expr, values: Values) -> ast.expr:
    """A copy of an expression with parts that are known replaced by their values, names of texts by these."""
    if isinstance(node, ast.Name) and isinstance(value := values.get(node.id), str):
        return parse(value)
    if not isinstance(node, ast.List | ast.Constant) and _known(node, values):
        number = evaluate(node, _numbers(values))
        if not isinstance(number, list):
            literal = ast.Constant(abs(float(number)))
            return literal if number >= 0 else ast.UnaryOp(ast.USub(), literal)
    made = copy.copy(node)
    match made:
        case ast.BinOp(left=left, op=op, right=right):
            if isinstance(op, ast.Mod | ast.FloorDiv):
                raise ExpressionError("% and // take numbers of the repetition only", column(node))
            made.left, made.right = _replaced(left, values), _replaced(right, values)
        case ast.UnaryOp(operand=operand):
            made.operand = _replaced(operand, values)
        case ast.Call(args=arguments):
            made.args = [_replaced(argument, values) for argument in arguments]
        case ast.List(elts=entries):
            made.elts = [_replaced(entry, values) for entry in entries]
        case ast.Compare(left=left, comparators=[right]):
            made.left, made.comparators = _replaced(left, values), [_replaced(right, values)]
        case ast.Attribute(value=vector):
            made.value = _replaced(vector, values)
    return made
