"""A value run on symbols: the graph of the scalar operations that it is made of.

A value is a kernel on numbers and tuples of them. Run on symbols it leaves a graph in which each operation stands once,
so calls, tuples and loops of known length need no rules: only scalar operations have derivatives, and ``RULES`` lists
them. A function that branches on its arguments is marked ``branching``; it becomes one operation, with slopes that
``write`` makes of its branches. Functions with loops over data, as laws, come with a rule (``ByHand``).

Not understood: a branch on what varies outside of such functions (an error says where), arrays other than theta.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.kernels.compiler.jit import python_of

__all__ = ["BRANCHING", "Block", "ByHand", "Condition", "Graph", "Operation", "Passive", "Symbol", "branching"]

PACKAGE = __name__.split(".")[0]


class Operation(NamedTuple):
    """One node: ``given`` are numbers of other nodes; ``detail`` is a text, a constant or a function, by kind."""

    kind: str
    given: tuple[int, ...] = ()
    detail: Any = None


@dataclass(frozen=True)
class ByHand:
    """A function that returns ``count`` numbers, each the derivative of the one before by the last argument.

    ``vary`` and ``pull`` are kernels of their variation with theta and its transpose; none if no other numbers enter.
    """

    value: Callable
    count: int
    vary: Callable | None = None
    pull: Callable | None = None


BRANCHING: dict[Callable, tuple[str, ...]] = {}  # with the names of arguments that never vary


def branching(*passive: str) -> Callable:
    """Mark a scalar function that branches on its arguments; ``passive`` are the names of those that never vary."""

    def mark(function: Callable) -> Callable:
        BRANCHING[python_of(function)] = passive
        return function

    return mark


# Text of each operation, and its derivatives by what it is given; y is the operation itself.
RULES: dict[str, tuple[str, Callable]] = {
    "add": ("{0} + {1}", lambda y, a, b: (1.0, 1.0)),
    "sub": ("{0} - {1}", lambda y, a, b: (1.0, -1.0)),
    "mul": ("{0} * {1}", lambda y, a, b: (b, a)),
    "div": ("{0} / {1}", lambda y, a, b: (1.0 / b, -y / b)),
    "neg": ("-{0}", lambda y, a: (-1.0,)),
    "sqrt": ("np.sqrt({0})", lambda y, a: (0.5 / y,)),
    "sin": ("np.sin({0})", lambda y, a: (np.cos(a),)),
    "cos": ("np.cos({0})", lambda y, a: (-np.sin(a),)),
    "tan": ("np.tan({0})", lambda y, a: (1.0 + y * y,)),
    "exp": ("np.exp({0})", lambda y, a: (y,)),
    "log": ("np.log({0})", lambda y, a: (1.0 / a,)),
    "tanh": ("np.tanh({0})", lambda y, a: (1.0 - y * y,)),
    "arctan2": ("atan2({0}, {1})", lambda y, a, b: (b / (a * a + b * b), -a / (a * a + b * b))),
    "pow": ("{0} ** {detail}", None),  # by a constant; see ``Graph.slopes``
}


class Graph:
    """Operations in the order of their need, each of them once."""

    def __init__(self, name: str, decisions: tuple[bool, ...] | None = None):
        self.name = name
        self.operations: list[Operation] = []
        self._known: dict[Operation, int] = {}
        self._decisions, self._decided = decisions, 0

    def symbol(self, kind: str, *given: "Symbol | float", detail: Any = None) -> "Symbol":
        """The node of an operation; sums and products with zero and one are folded."""
        symbols = [each if isinstance(each, Symbol) else self.constant(each) for each in given]
        folded = _folded(kind, symbols, detail)
        if folded is not None:
            return folded if isinstance(folded, Symbol) else self.constant(folded)
        return self.node(Operation(kind, tuple(each.index for each in symbols), detail))

    def constant(self, value: float) -> "Symbol":
        return self.node(Operation("constant", (), float(value)))

    def node(self, operation: Operation) -> "Symbol":
        if operation not in self._known:
            self._known[operation] = len(self.operations)
            self.operations.append(operation)
        return Symbol(self, self._known[operation])

    def slopes(self, index: int) -> list["Symbol | float"]:
        """Derivatives of an operation by each node that it is given."""
        operation = self.operations[index]
        y, given = Symbol(self, index), [Symbol(self, k) for k in operation.given]
        if operation.kind == "pow":
            return [operation.detail * given[0] ** (operation.detail - 1)]
        return list(RULES[operation.kind][1](y, *given))

    def decide(self, condition: "Condition") -> bool:
        """The way to go at a branch."""
        if self._decisions is None:
            raise TypeError(f"{self.name}: a branch on what may vary ({condition.text}): mark the function `branching`")
        if self._decided == len(self._decisions):
            raise Undecided(condition)
        self._decided += 1
        return self._decisions[self._decided - 1]

    def call(self, function: Callable, text: str, given: list["Symbol"], count: int) -> tuple["Symbol", ...]:
        """The numbers that a function returns; its text has places for what it is given."""
        called = self.node(Operation("call", tuple(each.index for each in given), (function, text)))
        return tuple(self.node(Operation("item", (called.index,), k)) for k in range(count))


def _folded(kind: str, given: list["Symbol"], detail: Any) -> "Symbol | float | None":
    """The result of an operation with constants where it is one of them or another node, else none."""
    values = [each.value for each in given]
    if kind == "pow" and detail in (0, 1):
        return given[0] if detail == 1 else 1.0
    if kind in ("add", "sub", "mul", "div", "neg") and None not in values:
        a, b = values[0], values[-1]
        return {"add": a + b, "sub": a - b, "mul": a * b, "neg": -a, "div": a / b if b else None}[kind]
    match kind, values:
        case ("add", [0.0, _]) | ("mul", [1.0, _]):
            return given[1]
        case ("add" | "sub", [_, 0.0]) | ("mul" | "div", [_, 1.0]):
            return given[0]
        case ("mul", [0.0, _] | [_, 0.0]) | ("div", [0.0, _]):
            return 0.0
        case ("sub", [0.0, _]) | ("mul", [-1.0, _]):
            return -given[1]
        case ("mul" | "div", [_, -1.0]):
            return -given[0]
    operation = given[0].graph.operations[given[0].index]
    if kind == "neg" and operation.kind == "neg":
        return Symbol(given[0].graph, operation.given[0])
    return None


class Symbol:
    """A node of a graph, which takes part in arithmetic."""

    __hash__ = None  # comparisons make conditions: nodes are found by their number

    def __init__(self, graph: Graph, index: int):
        self.graph, self.index = graph, index

    @property
    def real(self) -> "Symbol":
        """Branches look at real parts."""
        return self

    @property
    def value(self) -> float | None:
        operation = self.graph.operations[self.index]
        return operation.detail if operation.kind == "constant" else None

    def __pow__(self, exponent: int | float) -> "Symbol":
        return self.graph.symbol("pow", self, detail=exponent)

    def __neg__(self) -> "Symbol":
        return self.graph.symbol("neg", self)

    def arctan2(self, x: "Symbol") -> "Symbol":
        return self.graph.symbol("arctan2", self, x)


def _binary(kind: str) -> tuple[Callable, Callable]:
    return (
        lambda self, other: self.graph.symbol(kind, self, other),
        lambda self, other: self.graph.symbol(kind, other, self),
    )


for _kind, _name in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("div", "truediv")):
    _forward, _reflected = _binary(_kind)
    setattr(Symbol, f"__{_name}__", _forward)
    setattr(Symbol, f"__r{_name}__", _reflected)
for _name in ("sqrt", "sin", "cos", "tan", "exp", "log", "tanh"):  # numpy's functions call methods of these names
    setattr(Symbol, _name, lambda self, kind=_name: self.graph.symbol(kind, self))
for _name, _sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    setattr(Symbol, f"__{_name}__", lambda self, other, sign=_sign: Condition(self.graph, sign, self, other))


class Condition:
    """A comparison; a branch asks its graph which way to go."""

    def __init__(self, graph: Graph, sign: str, left: Any, right: Any):
        self.graph, self.sign, self.sides = graph, sign, (left, right)

    @property
    def text(self) -> str:
        return f" {self.sign} ".join(f"v{each.index}" if isinstance(each, Symbol) else str(each) for each in self.sides)

    def __bool__(self) -> bool:
        return self.graph.decide(self)


class Undecided(Exception):
    """A branch beyond the decisions that were made."""

    def __init__(self, condition: Condition):
        super().__init__(condition)
        self.condition = condition


class Passive:
    """An argument that never varies, by its text."""

    __hash__ = None

    def __init__(self, graph: Graph, text: str):
        self.graph, self.text = graph, text

    def __str__(self) -> str:
        return self.text

    def __getitem__(self, index: Any) -> "Passive":
        indices = index if isinstance(index, tuple) else (index,)
        return Passive(self.graph, f"{self.text}[{', '.join(map(str, indices))}]")

    def __eq__(self, other: Any) -> Condition:  # type: ignore[override]
        return Condition(self.graph, "==", self, int(other))

    def __ne__(self, other: Any) -> Condition:  # type: ignore[override]
        return Condition(self.graph, "!=", self, int(other))


class Block:
    """theta, of which an element reads the numbers from its offset on."""

    def __init__(self, graph: Graph, name: str, offset: str):
        self.graph, self.name, self.offset = graph, name, offset

    def __str__(self) -> str:
        return self.name

    def __getitem__(self, place: "Place") -> Symbol:
        return self.graph.node(Operation("number", (), place.k))


class Place(NamedTuple):
    """An offset, and so many entries behind it."""

    text: str
    k: int = 0

    def __add__(self, more: int) -> "Place":  # type: ignore[override]
        return Place(self.text, self.k + int(more))

    def __str__(self) -> str:
        return f"{self.text} + {self.k}" if self.k else self.text


def runnable(function: Callable, rules: Iterable[ByHand] = ()) -> Callable:
    """A kernel as symbols can run it: what it calls is Python, but for functions with rules of their own."""
    made = {python_of(rule.value): _calling_by_hand(rule) for rule in rules}
    made |= {each: _calling_branches(each) for each in BRANCHING if each is not python_of(function)}
    return _runnable(python_of(function), made)


def _runnable(function: Callable, made: dict[Callable, Callable]) -> Callable:
    if function not in made:
        made[function] = again = FunctionType(function.__code__, dict(function.__globals__), function.__name__)
        for name in function.__code__.co_names:
            called = python_of(function.__globals__.get(name))
            if inspect.isfunction(called) and called.__module__.startswith(PACKAGE):
                again.__globals__[name] = _runnable(called, made)
    return made[function]


def _calling_by_hand(rule: ByHand) -> Callable:
    def call(*given: Any) -> tuple[Symbol, ...]:
        *before, x = given
        varying = [x] if isinstance(x, Symbol) else []  # of time it depends by its numbers alone
        text = f"{python_of(rule.value).__name__}({', '.join([*map(str, before), '{0}' if varying else str(x)])})"
        return x.graph.call(rule, text, varying, rule.count)

    return call


def _calling_branches(function: Callable) -> Callable:
    passive = BRANCHING[function]
    names = list(inspect.signature(function).parameters)

    def call(*given: Any) -> Any:
        by_name = dict(zip(names, given, strict=True))
        varying = [each for name, each in by_name.items() if name not in passive]
        graph = next(each.graph for each in varying if isinstance(each, Symbol))
        symbols = [each if isinstance(each, Symbol) else graph.constant(each) for each in varying]
        places = iter(range(len(symbols)))
        texts = [str(each) if name in passive else f"{{{next(places)}}}" for name, each in by_name.items()]
        text = f"slopes_of_{function.__name__}({', '.join(texts)})"
        return graph.call(function, text, symbols, 1)[0]

    return call
