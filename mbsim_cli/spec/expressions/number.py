"""Numbers of the file: ``Number``, ``Expression`` (of the motion), ``Formula`` (of sensors), and lists."""

import ast
import copy
import math
import re
from collections.abc import Container, Iterable, Mapping
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args

from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from mbsim_cli.spec.expressions.evaluate import Scalar, evaluate, finite_value
from mbsim_cli.spec.expressions.syntax import CONSTANTS, ExpressionError, column, dotted, law_of, names, parse, part_of

# ``Scoped``: a text of a repetition that may be a formula; ``values`` gives the names that are its instance's own.

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
        case ast.Compare(left=left, comparators=others):
            made.left, made.comparators = _replaced(left, values), [_replaced(other, values) for other in others]
        case ast.BoolOp(values=conditions):
            made.values = [_replaced(condition, values) for condition in conditions]
        case ast.Attribute(value=vector):
            made.value = _replaced(vector, values)
    return made


_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


class Number:
    """A number of the model file: ``literal`` is its value, None where ``text`` is an expression that gives it."""

    __slots__ = ("literal", "text")

    def __init__(self, value: float | str):
        self.literal = None if isinstance(value, str) else float(value)
        self.text = value if isinstance(value, str) else repr(float(value))

    def __repr__(self) -> str:
        return f"Number({self.text!r})" if self.literal is None else f"Number({self.text})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and (self.literal, self.text) == (other.literal, other.text)

    def __hash__(self) -> int:
        return hash((self.literal, self.text))

    @property
    def plain_name(self) -> str | None:
        """The name that the number is, when it is nothing but one name."""
        return self.text if self.literal is None and _PLAIN_NAME.fullmatch(self.text) else None

    @classmethod
    def read(cls, value: object) -> "Number":
        """Return the number that stands in the file; raises PydanticCustomError."""
        if isinstance(value, str):
            value = _checked(value)
        if type(value) is float or type(value) is int:
            number = float(value)
            if not math.isfinite(number):
                raise PydanticCustomError("number", "must be a finite number")
            return cls(number)
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, Number):
            return value
        raise PydanticCustomError("number", "must be a number or an expression")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        written = core_schema.plain_serializer_function_ser_schema(lambda n: n.text if n.literal is None else n.literal)
        return core_schema.no_info_plain_validator_function(cls.read, serialization=written)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": ["number", "string"]}


class _Auto:
    """Annotation of a number that may be the word ``auto``: its value then follows from the initial position."""

    def __init__(self, kind: type[Number]):
        self._kind = kind

    def _read(self, value: object) -> Number | str:
        return value if value == "auto" and isinstance(value, str) else self._kind.read(value)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": ["number", "string"]}


AutoNumber = Annotated[Number | Literal["auto"], _Auto(Number)]


class Sign(Enum):
    """Annotation of the numbers of a field, also of those in a list or mapping: the sign that they must have."""

    POSITIVE = "must be greater than zero"
    NOT_NEGATIVE = "must not be negative"


Positive = Annotated[Number, Sign.POSITIVE]
NotNegative = Annotated[Number, Sign.NOT_NEGATIVE]


def _checked(text: str, vectors: bool = False, motion: bool = False) -> float | str:
    """An expression that can be read, or the value of one of a repetition; raises PydanticCustomError."""
    try:
        read = fixed(str(text), text.values, vectors, motion) if isinstance(text, Scoped) else text
        if isinstance(read, str):
            parse(read, vectors, motion=motion)
        return read
    except ExpressionError as error:
        # braces are pydantic's placeholders; the text goes in as a value
        context = {"text": error.message, "offset": error.offset, "hint": error.hint}
        raise PydanticCustomError("expression", "{text}", context) from None


# ``Formula``: an expression of sensors (vectors allowed) as it stands in an objective; ``PlainFormula``: of numbers.


def _formula(vectors: bool) -> Any:
    def read(value: object) -> object:
        if type(value) in (int, float):
            value = repr(value)
        return _checked(value, vectors) if isinstance(value, str) else value

    return Annotated[str, BeforeValidator(read), WithJsonSchema({"type": ["number", "string"]})]


Formula = _formula(vectors=True)
PlainFormula = _formula(vectors=False)


def written_out(text: str, definitions: Mapping[str, str]) -> str:
    """An expression with other expressions in the place of their names."""
    if not definitions:
        return text
    names = "|".join(sorted(map(re.escape, definitions), key=len, reverse=True))
    return re.sub(rf"(?<![\w.])({names})(?![\w(])", lambda found: f"({definitions[found[1]]})", text)


def formula(template: str, numbers: Mapping[str, Number]) -> Number:
    """A formula with numbers in the place of names: a literal where all of them are."""
    used = {name: number for name, number in numbers.items() if re.search(rf"\b{name}\b", template)}
    values = {name: number.literal for name, number in used.items() if number.literal is not None}
    if len(values) == len(used):
        return Number(float(evaluate(parse(template), values)))
    return Number(re.sub(r"\b(?:" + "|".join(used) + r")\b", lambda m: f"({used[m[0]].text.strip()})", template))


# ``Expression``: a number of a force that may also read the motion, and what such an expression reads.
#
# It reads sensors as objectives do, coordinates as JOINT.coordinate and JOINT.coordinate.velocity, t, parameters and
# constants, and calls laws by their names.

TIME = "t"
VELOCITY = "velocity"
# names that assembly alone writes into expressions of forces: the measure acted along, its rate, its natural value
VALUE, RATE, NATURAL = "_value", "_rate", "_natural"


class Expression(Number):
    """A number, or an expression of the motion; which of the two, ``is_moving`` tells."""

    __slots__ = ()

    @classmethod
    def read(cls, value: object) -> "Expression":
        """Return what stands in the file; raises PydanticCustomError."""
        if isinstance(value, str):
            return cls(_checked(value, vectors=True, motion=True))
        if isinstance(value, Expression):
            return value
        number = Number.read(value)
        return cls(number.text if number.literal is None else number.literal)


AutoExpression = Annotated[Expression | Literal["auto"], _Auto(Expression)]


class Reading(NamedTuple):
    """Names, with dots or without, and laws that an expression reads, each with the offset of its first use."""

    names: dict[str, int]
    laws: dict[str, int]
    parts: set[str]  # that it names, themselves or by others: see ``model_file.Derived``


def is_moving(number: object, known: Container[str]) -> bool:
    """Whether a number is an expression that reads other names than those known, of parameters and constants."""
    if not isinstance(number, Expression) or number.literal is not None:
        return False
    try:
        return any(name not in known for name in names(parse(number.text)))
    except ExpressionError:
        return True


def read_by(text: str, parts: Mapping[str, str] | None = None) -> Reading:
    """The reading of an expression of the motion, with that of the ``parts`` that it names."""
    found, parts = Reading({}, {}, set()), parts or {}
    stack: list[ast.AST] = [parse(text, vectors=True, motion=True)]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name | ast.Attribute) and (name := _name(node)) is not None:
            part = name if name in parts else name.rpartition(".")[0]
            if part in parts and part not in found.parts:
                found.parts.add(part)
                stack.append(parse(parts[part], vectors=True, motion=True))
            elif part not in parts and name not in CONSTANTS:
                found.names[name] = min(column(node), found.names.get(name, column(node)))
            continue
        if isinstance(node, ast.expr) and (law := law_of(node)) is not None:
            found.laws[law] = min(column(node), found.laws.get(law, column(node)))
        stack.extend(node.args if isinstance(node, ast.Call) else ast.iter_child_nodes(node))
    return found


def _name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else part_of(node) or dotted(node)


def sensor_in(name: str, sensors: Container[str]) -> str | None:
    """The sensor that a name reads: the name itself, or what stands before .x, .y or .z; None where it is none."""
    if name in sensors:
        return name
    before, _, component = name.rpartition(".")
    return before if before in sensors and component in ("x", "y", "z") else None


def coordinate_in(name: str) -> tuple[str, int]:
    """JOINT.coordinate that a name with dots reads, and the order of its derivative."""
    before, _, last = name.rpartition(".")
    return (before, 1) if last == VELOCITY and "." in before else (name, 0)


class _Listed:
    """Annotation of a tuple that is a list in the file, with limits on its length."""

    def __init__(self, **limits: int):
        self.limits: Any = limits

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        entries = handler.generate_schema(get_args(source)[0])
        listed = core_schema.list_schema(entries, strict=False, **self.limits)  # takes tuples too
        written = core_schema.wrap_serializer_function_ser_schema(
            lambda entries, write: write(list(entries)), schema=listed
        )
        return core_schema.no_info_after_validator_function(tuple, listed, serialization=written)

    @property
    def is_vector(self) -> bool:
        """Whether it has three entries, and no other number of them."""
        return self.limits == {"min_length": 3, "max_length": 3}


def takes_lists(kind: Any, metadata: Iterable[Any] = ()) -> bool:
    """Whether values of a type, annotated by ``metadata``, may be lists that are no vectors."""
    marks = (*getattr(kind, "__metadata__", ()), *metadata)
    own = any(isinstance(mark, _Listed) and not mark.is_vector for mark in marks)
    return own or any(map(takes_lists, get_args(kind)))


def length(count: int) -> Any:
    """Return the annotation of a list of exactly so many entries."""
    return _Listed(min_length=count, max_length=count)


T = TypeVar("T")
Many = Annotated[tuple[T, ...], _Listed()]
Some = Annotated[tuple[T, ...], _Listed(min_length=1)]  # one or more
Several = Annotated[tuple[T, ...], _Listed(min_length=2)]  # two or more
Pair = Annotated[tuple[T, ...], length(2)]
Vector = Annotated[tuple[Number, ...], length(3)]
Matrix = Annotated[tuple[Vector, ...], length(3)]
