"""Expressions as written: a whitelist over Python's ``ast``, checked with the column of each fault.

Nothing is ever executed: the text is parsed, every node outside the whitelist is refused, and the
tree is evaluated by ``evaluate``, or made into a program with derivatives by ``program``.
"""

import ast
import re
import warnings
from functools import lru_cache

MAX_LENGTH = 4000
MAX_CALLS = 40  # functions of functions of functions
CONSTANTS = ("pi", "deg")
# number of arguments; min and max take two or more
FUNCTIONS: dict[str, int] = {
    **dict.fromkeys(("sqrt", "exp", "log", "log10", "abs"), 1),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"), 1),
    **dict.fromkeys(("atan2", "hypot", "min", "max"), 2),
}
VECTOR_FUNCTIONS: dict[str, int] = {"dot": 2, "cross": 2, "norm": 1}
ARGUMENTS = {  # of functions along the motion, with names that Adams has given them
    **dict.fromkeys(("step", "step5", "havsin"), "x, x0, h0, x1, h1"),
    "impact": "x, v, x1, k, e, c, d",
    "bistop": "x, v, x1, x2, k, e, c, d",
    "if": "condition, a, b",
    "sign": "x",
    "clip": "x, low, high",
    "smooth_abs": "x, width",
    "smooth_max": "a, b, width",
}
ALONG_MOTION = {name: len(arguments.split(",")) for name, arguments in ARGUMENTS.items()}
COMPONENTS = {"x": 0, "y": 1, "z": 2}
PARTS = ("force", "moment")  # of a reaction: R.force is a vector of its own
_ALLOWED = re.compile(r"[\w\s+\-*/().,\[\]]")  # characters, beside % in repetitions and <>= along the motion
_IF = re.compile(r"\bif(?=\s*\()")  # a word of Python: read as IF
_LOGIC = "conditions are combined by and, or, not: if(x > 0 and v < 0, a, b)"
_CHOICE = "write if(condition, a, b)"
_HINTS = {
    "^": "powers are written **",
    "?": _CHOICE,
    **dict.fromkeys("&|!", _LOGIC),
}  # for characters that cannot stand
_NO_CONDITION = "conditions stand in forces, states, sensors and objectives, not in other numbers"
_UNIT = re.compile(r"(?<=[\w)\]])\s(?=\s*deg\b)")
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SELDOM_EQUAL = "computed numbers are seldom equal: compare with <, <=, > or >="
_WHOLE = (ast.Mod, ast.FloorDiv)  # of whole numbers, in repetitions


class ExpressionError(Exception):
    """An expression is wrong at ``offset`` (characters from its beginning, or None)."""

    def __init__(self, message: str, offset: int | None = None, hint: str | None = None, reported: bool = False):
        super().__init__(message)
        self.message, self.offset, self.hint = message, offset, hint
        self.reported = reported  # a consequence of an error that is reported elsewhere


@lru_cache(maxsize=65536)
def parse(text: str, vectors: bool = False, repeated: bool = False, motion: bool = False) -> ast.expr:
    """Return the checked tree of an expression; ``vectors`` allows what integrands may hold.

    Those also call laws. ``repeated`` allows the operators % and // of repetitions, ``motion`` names with dots, for
    coordinates of joints. Raises ExpressionError.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"expression is longer than {MAX_LENGTH} characters")
    others = "%" * repeated + "<>=" * vectors
    for offset, character in enumerate(text):
        if not _ALLOWED.match(character) and character not in others:
            _refuse_unit(text)
            hint = _NO_CONDITION if character in "<>&|!" and not vectors else _HINTS.get(character)
            if text[offset : offset + 2] == "!=" and vectors:
                hint = _SELDOM_EQUAL
            raise ExpressionError(f"character {character!r} cannot stand in an expression", offset, hint)
    stripped = text.lstrip()
    start = len(text) - len(stripped)
    # each replacement keeps the length, so that columns stay right
    source = _UNIT.sub("*", re.sub(r"\s", " ", stripped).rstrip())
    source = _IF.sub("IF", source) if vectors else source
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, mode="eval").body
        _check(tree, source, start, (vectors, repeated, motion))
    except SyntaxError as error:
        _refuse_unit(text)
        raise _syntax_error(error, source, start) from None
    except (RecursionError, MemoryError, ValueError):
        raise ExpressionError("expression is nested too deeply") from None
    return tree


def _refuse_unit(text: str) -> None:
    """Raise where a text is a number with its unit."""
    from mbsim_cli.spec.expressions.units import instead_of, quantity

    if (found := quantity(text)) is not None:
        raise ExpressionError("numbers stand without units", found.offset, instead_of(found))


def _syntax_error(error: SyntaxError, source: str, start: int) -> ExpressionError:
    if not source:
        return ExpressionError("expression is empty")
    offset = start + min(max((error.offset or 1) - 1, 0), len(source))
    hint = "leave a blank before deg" if re.search(r"\ddeg\b", source) else None
    if (product := re.fullmatch(r"([-+.\w]*\d\.?)\s*([^\W\d]\w*)\s*", source)) and hint is None:
        angle = product[2].lower() in ("degree", "degrees")
        hint = f"write {product[1]} deg" if angle else f"a product is written {product[1]}*{product[2]}"
    if "was never closed" in error.msg:
        hint = "inside { } and [ ] an expression with commas stands in quotes"
    elif re.search(r"(?<![<>=])=(?!=)|<>", source):
        return ExpressionError("expression cannot be read: numbers are compared", offset, _SELDOM_EQUAL)
    elif re.search(r"\b(AND|OR|NOT|And|Or|Not)\b|\b(and|or)\s*\(", source):
        hint = _LOGIC
    elif re.search(r"\b(if|then|else)\b", source):
        hint = _CHOICE
    elif hint is None and (product := re.search(r"(?<![\w.])(\d+\.?\d*)\s*([^\W\d][\w.]*)", source)):
        hint = f"a product is written {product[1]}*{product[2]}"
    return ExpressionError(f"expression cannot be read: {error.msg}", offset, hint)


def column(node: ast.expr) -> int:
    """Return the offset of a node, stored by ``parse`` (ast itself counts bytes)."""
    return node.offset  # type: ignore[attr-defined]


def is_constant(node: ast.expr) -> bool:
    """Return whether a node reads no name, stored by ``parse``."""
    return node.is_constant  # type: ignore[attr-defined]


def _check(node: ast.expr, source: str, start: int, allowed: tuple[bool, bool, bool], inside: int = 0) -> None:
    node.offset = start + len(source.encode()[: node.col_offset].decode())  # type: ignore[attr-defined]
    if inside > MAX_CALLS:
        raise ExpressionError("expression is nested too deeply", column(node), "name its parts as parameters")
    children = _children(node, *allowed)
    if not children and isinstance(node, ast.Attribute):
        for part in ast.walk(node):
            part.offset = column(node)  # type: ignore[attr-defined]
    for child in children:
        _check(child, source, start, allowed, inside + isinstance(node, ast.Call))
    if isinstance(node, ast.Name):
        known = node.id in CONSTANTS
    else:
        known = all(map(is_constant, children)) and dotted(node) is None and law_of(node) is None
    node.is_constant = known  # type: ignore[attr-defined]


_OF_FORCES = ("torque", "torques", "moments", "forces", "reaction", "fx", "fy", "fz", "mx", "my", "mz", "f", "m")


def _in_place_of(name: str) -> str:
    """What to write in an expression of sensors for a name with dots that is no component of a vector."""
    words, shown = name.lower().split(".")[1:], "JOINT.angle"
    if not set(_OF_FORCES).isdisjoint(words):
        sensors = "{type: reaction, joint: A}, {type: force, force: NAME} or {type: torque, coordinate: A.angle}"
        return f"a force or torque is read by a sensor, {sensors}; the parts of a reaction R are R.force and R.moment"
    rate = ", derivative: 1" if words[-1] == "velocity" or len(words) == 1 else ""
    if words[0].startswith(("angle", "displacement")):
        shown, rate = name.removesuffix(".velocity"), ", derivative: 1" * (words[-1] == "velocity")
    return (
        "a vector has .x, .y and .z; a coordinate or its velocity is read by a sensor, whose name stands here, "
        f"as v: {{type: coordinate, coordinate: {shown}{rate}}}"
    )


def _children(node: ast.expr, vectors: bool, repeated: bool, motion: bool) -> list[ast.expr]:
    if motion and dotted(node) is not None:
        return []
    match node:
        case ast.Name():
            return []
        case ast.Constant(value=value) if type(value) in (int, float):
            return []
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return [operand]
        case ast.UnaryOp(op=ast.Not(), operand=operand) if vectors:
            return [operand]
        case ast.BoolOp(values=values) if vectors:
            return values
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OPERATORS + _WHOLE * repeated):
            return [left, right]
        case ast.BinOp(op=op):
            raise ExpressionError("this operator is not known", column(node), "the operators are + - * / **")
        case ast.Call():
            return _arguments(node, vectors)
        case ast.Compare(left=left, ops=ops, comparators=others) if vectors:
            if not all(isinstance(op, _COMPARISONS) for op in ops):
                raise ExpressionError("this comparison is not known", column(node), _SELDOM_EQUAL)
            return [left, *others]
        case ast.IfExp() if vectors:
            raise ExpressionError("this cannot stand in an expression", column(node), _CHOICE)
        case ast.List(elts=entries) if vectors:
            if len(entries) != 3:
                raise ExpressionError(f"a vector has three entries, not {len(entries)}", column(node))
            return entries
        case ast.Attribute(value=value, attr=name) if vectors:
            if name not in COMPONENTS and part_of(node) is None:
                if (whole := dotted(node)) is not None:
                    raise ExpressionError(f"unknown name {whole!r}", column(node), _in_place_of(whole))
                raise ExpressionError(f"a vector has no component {name!r}", column(node), "write .x, .y or .z")
            return [value]
        case ast.Tuple():
            raise ExpressionError("a number is wanted here, not several", column(node), "decimals stand behind a point")
        case ast.List() | ast.Attribute() | ast.Subscript():
            if not vectors and (whole := dotted(node)) is not None:
                hint = "this number does not follow the motion; it reads parameters and constants"
                raise ExpressionError(f"unknown name {whole!r}", column(node), hint)
            hint = "take a component with .x, .y or .z" if vectors else "vectors stand in objectives only"
            raise ExpressionError("a number is wanted here", column(node), hint)
    raise ExpressionError("this cannot stand in an expression", column(node))


def part_of(node: ast.expr) -> str | None:
    """Return the name of a reaction's part, NAME.force or NAME.moment, if the node is one."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=part) if part in PARTS:
            return f"{name}.{part}"
    return None


def function_name(name: str) -> str:
    """Return the name of a function as it stands in a text."""
    return "if" if name == "IF" else name


KNOWN = FUNCTIONS | VECTOR_FUNCTIONS | ALONG_MOTION


def dotted(node: ast.expr) -> str | None:
    """Return names with dots between them as a text, hip.angle.velocity, if the node is such."""
    found = []
    while isinstance(node, ast.Attribute):
        found.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(found)]) if found and isinstance(node, ast.Name) else None


def law_of(node: ast.expr) -> str | None:
    """Return the name of the law that is called, if the node calls one."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if function_name(name) not in KNOWN:
            return name
    return None


def calls_of_laws(text: str) -> dict[str, str]:
    """Return the calls of laws in an expression as they stand there, without those in an argument, and the laws."""
    found: dict[str, str] = {}
    stack: list[ast.expr] = [parse(text, vectors=True)]
    text = text.lstrip()
    line = re.sub(r"\s", " ", text).encode()  # as it is parsed, whose columns count bytes
    while stack:
        node = stack.pop()
        law = law_of(node)
        if law is None:
            stack.extend(node.args if isinstance(node, ast.Call) else _expressions_in(node))
        else:
            first, end = (len(line[:at].decode()) for at in (node.col_offset, node.end_col_offset))
            found[text[first:end]] = law
    return found


def links(node: ast.Compare) -> list[tuple[ast.expr, ast.cmpop, ast.expr]]:
    """Return the comparisons of two numbers in one of these or in a chain, a < b < c."""
    sides = [node.left, *node.comparators]
    return list(zip(sides, node.ops, sides[1:], strict=False))


def unchained(text: str) -> str:
    """Return an expression with every chain a < b < c written as (a < b and b < c)."""
    for (first, end), node in reversed(comparisons_in(text).items()):  # inner ones first
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            both = " and ".join(ast.unparse(ast.Compare(a, [op], [b])) for a, op, b in links(node))
            return unchained(f"{text[:first]}({both}){text[end:]}")
    return text


def comparisons_in(text: str) -> dict[tuple[int, int], ast.Compare | ast.Call]:
    """Return comparisons and signs in a text, each with the offsets of its first character and behind its last."""
    blanks = len(text) - len(text.lstrip())
    line = re.sub(r"\s", " ", text.lstrip()).encode()
    found: dict[tuple[int, int], ast.Compare | ast.Call] = {}
    for node in ast.walk(parse(text, vectors=True)):
        if isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and ast.unparse(node.func) == "sign"):
            first, end = (blanks + len(line[:at].decode()) for at in (node.col_offset, node.end_col_offset))
            found[first, end] = node
    return found


def _expressions_in(node: ast.expr) -> list[ast.expr]:
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def _arguments(node: ast.Call, vectors: bool) -> list[ast.expr]:
    known = KNOWN if vectors else FUNCTIONS
    if not isinstance(node.func, ast.Name):
        raise ExpressionError("only functions can be called", column(node))
    name = function_name(node.func.id)
    if name not in known:
        if vectors and len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred):
            return node.args
        from mbsim_cli.spec.reading.messages import suggest

        of_laws = f"{name} is a law or an unknown function; a law takes one argument"
        raise ExpressionError(of_laws if vectors else f"unknown function {name!r}", column(node), suggest(name, known))
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise ExpressionError(f"{name} takes plain arguments only", column(node))
    count, wanted = len(node.args), known[name]
    if count != wanted and not (name in ("min", "max") and count > 2):
        more = " or more" if name in ("min", "max") else ""
        sentence = f"{name} takes {wanted}{more} argument{'s' * (wanted > 1)}, not {count}"
        raise ExpressionError(sentence, column(node), f"{name}({ARGUMENTS[name]})" if name in ARGUMENTS else None)
    return node.args


@lru_cache(maxsize=65536)
def names(tree: ast.expr) -> dict[str, int]:
    """Return the names that an expression reads, each with the offset of its first use."""
    found: dict[str, int] = {}
    stack = [tree]
    while stack:
        node = stack.pop()
        name = part_of(node) or (node.id if isinstance(node, ast.Name) else None)
        if name is not None:
            if name not in CONSTANTS:
                found[name] = min(column(node), found.get(name, column(node)))
        elif isinstance(node, ast.Call):
            stack.extend(node.args)
        else:
            stack.extend(_expressions_in(node))
    return found
