"""Kernels that vary a value and pull adjoints back, written from its graph.

The variation of a value is a list of linear statements, ``d_y = sum of slope * d_x``, whose slopes are numbers of the
graph too. Read forwards it is the variation, transposed and read backwards the pull-back; eight directions go through
it at once. ``keep`` finds the value and the slopes once for all directions and adjoints of a state.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from mbsim_cli.kernels.algebra.arrays import atan2
from mbsim_cli.kernels.compiler.jit import derived, python_of
from mbsim_cli.kernels.compiler.simd import add_to, at
from mbsim_cli.kernels.derive.trace import (
    BRANCHING,
    RULES,
    Block,
    ByHand,
    Graph,
    Operation,
    Passive,
    Place,
    Symbol,
    Undecided,
    runnable,
)

__all__ = ["Derivatives", "slopes_text"]

Linear = dict[int, list[tuple[int, Symbol | float]]]  # what varies -> what it varies with, and slopes


class Lines(list):
    """Lines of a function."""

    def __call__(self, text: str, depth: int = 1) -> None:
        self.append("    " * depth + text)

    def function(self, head: str) -> str:
        return "\n".join([f"def {head}:", *self, ""])


def leaves(structure: Any) -> Iterator[Any]:
    """Numbers of nested tuples, in order."""
    if isinstance(structure, tuple):
        for each in structure:
            yield from leaves(each)
    else:
        yield structure


def rebuilt(structure: Any, texts: Iterator[str]) -> str:
    """Nested tuples of the texts of their numbers."""
    if isinstance(structure, tuple):
        return "(" + "".join(f"{rebuilt(each, texts)}, " for each in structure).rstrip() + ")"
    return next(texts)


class Values:
    """Writes operations as statements, each once and after what it needs."""

    def __init__(self, graph: Graph, names: dict[int, str] | None = None):
        self.graph, self.names = graph, dict(names or {})

    def name(self, node: Symbol | float | int, lines: Lines, depth: int = 1) -> str:
        """The name of a node; writes what it takes to have it."""
        if isinstance(node, float):
            return repr(node)
        index = node.index if isinstance(node, Symbol) else node
        if index not in self.names:
            self.names[index] = self._written(index, lines, depth)
        return self.names[index]

    def _written(self, index: int, lines: Lines, depth: int) -> str:
        kind, given, detail = self.graph.operations[index]
        if kind == "constant":
            return repr(detail)
        if kind in ("input", "held", "number"):
            return detail
        texts = [self.name(each, lines, depth) for each in given]
        if kind == "item":
            return f"{texts[0]}[{detail}]"
        text = detail[1].format(*texts) if kind == "call" else RULES[kind][0].format(*texts, detail=detail)
        lines(f"v{index} = {text}", depth)
        return f"v{index}"


class Kept(Values):
    """Reads operations from where ``keep`` has put them, and notes which are read."""

    def __init__(self, graph: Graph, names: dict[int, str], slots: dict[int, int], free: Iterator[int]):
        super().__init__(graph, names)
        self.slots, self.free = slots, free

    def _written(self, index: int, lines: Lines, depth: int) -> str:
        kind, _, detail = self.graph.operations[index]
        if kind in ("constant", "held"):
            return repr(detail) if kind == "constant" else detail
        if index not in self.slots:
            self.slots[index] = next(self.free)
        return f"kept[{self.slots[index]}]"


def slopes_text(function: Callable) -> str:
    """Source of the function that gives the value of a branching function and its slopes by all that varies."""
    lines, names = Lines(), list(python_of(function).__code__.co_varnames[: python_of(function).__code__.co_argcount])
    varying = [name for name in names if name not in BRANCHING[function]]
    lines(f"zero = 0.0 * ({' + '.join(varying)})")
    _write_branch(function, names, (), {}, lines, 1)
    return lines.function(f"slopes_of_{function.__name__}({', '.join(names)})")


def _write_branch(
    function: Callable, names: list[str], decisions: tuple, known: dict[int, str], lines: Lines, depth: int
) -> None:
    """Text that follows some decisions; ``known`` names values written above."""
    graph = Graph(function.__name__, decisions)
    inputs = [
        Passive(graph, name) if name in BRANCHING[function] else graph.node(Operation("input", (), name))
        for name in names
    ]
    values = Values(graph, known)
    try:
        value = runnable(function)(*inputs)
    except Undecided as asked:
        sides = [
            values.name(each, lines, depth) + ".real" if isinstance(each, Symbol) and each.value is None else
            repr(each.value) if isinstance(each, Symbol) else str(each)
            for each in asked.condition.sides
        ]  # fmt: skip
        lines(f"if {sides[0]} {asked.condition.sign} {sides[1]}:", depth)
        _write_branch(function, names, (*decisions, True), values.names, lines, depth + 1)
        _write_branch(function, names, (*decisions, False), values.names, lines, depth)
        return
    by: dict[int, Any] = {value.index: 1.0}
    for index in range(value.index, -1, -1):
        if index in by and graph.operations[index].kind not in ("input", "constant"):
            for source, slope in zip(graph.operations[index].given, graph.slopes(index), strict=True):
                by[source] = by.get(source, 0.0) + by[index] * slope
    results = [value, *(by.get(each.index, 0.0) for each in inputs if isinstance(each, Symbol))]
    texts = [values.name(each, lines, depth) for each in results]
    lines(f"return ({', '.join(f'{text} + zero' for text in texts)},)", depth)


class Derivatives:
    """Kernels made of a value.

    ``inputs`` gives how many numbers each argument that varies has, ``held`` those of constant ones that the value
    computes with. ``numbers`` names theta and the offset of the element's block. The other arguments are passed on.
    ``rules`` are those of functions that the value calls. ``room`` is how many numbers ``keep`` may put aside, those of
    the result first, in order. ``slopes`` gives places among them to the slopes of a result of one number by the
    inputs; 0.0 where there is no such input.

    With f the name of the value:

    ================== ============================== ==================================================================
    vary_f             arguments, dtheta, k, d_inputs  variation in direction k
    vary_f_fixed       arguments, d_inputs             the same, the numbers in theta held
    pull_f             arguments, hat, k, hat_out      adjoints of the inputs; adds those of theta to column k
    keep_f             arguments, kept_out             puts aside the result and its slopes (room,)
    ..._kept           kept instead of the inputs      the first three, from what was put aside
    ================== ============================== ==================================================================
    """

    def __init__(
        self,
        value: Callable,
        inputs: dict[str, int],
        numbers: tuple[str, str] | None = None,
        rules: tuple[ByHand, ...] = (),
        room: int = 0,
        held: dict[str, int] | None = None,
        slopes: dict[str, int] | None = None,
    ):
        self.function, self.inputs, self.numbers, self.held = python_of(value), inputs, numbers, held or {}
        self.rules, self.room, self.slopes = rules, room, slopes or {}
        self.vary, self.vary_fixed = self._derived("vary_{}"), self._derived("vary_{}_fixed")
        self.pull, self.keep = self._derived("pull_{}"), self._derived("keep_{}")
        self.vary_kept, self.vary_fixed_kept = self._derived("vary_{}_kept"), self._derived("vary_{}_fixed_kept")
        self.pull_kept = self._derived("pull_{}_kept")

    def _derived(self, form: str) -> Any:
        name = form.format(self.function.__name__)
        return derived(name, lambda: compiled_text(self.texts[form], self.function, self._space))

    @cached_property
    def texts(self) -> dict[str, str]:
        """Source of all kernels, by the form of their names."""
        result = [each.index for each in leaves(self.result)]
        slots = {index: result.index(index) for index in result}
        free = count(len(result))
        texts = {
            "vary_{}": self._vary("vary_{}", self._values(), True),
            "vary_{}_fixed": self._vary("vary_{}_fixed", self._values(), False),
            "pull_{}": self._pull("pull_{}", self._values()),
            "vary_{}_kept": self._vary("vary_{}_kept", self._kept(slots, free), True),
            "vary_{}_fixed_kept": self._vary("vary_{}_fixed_kept", self._kept(slots, free), False),
            "pull_{}_kept": self._pull("pull_{}_kept", self._kept(slots, free)),
        }
        texts["keep_{}"] = self._keep(slots)
        return texts

    # The graph

    @cached_property
    def arguments(self) -> list[str]:
        code = self.function.__code__
        return list(code.co_varnames[: code.co_argcount])

    @cached_property
    def graph(self) -> Graph:
        return Graph(self.function.__name__)

    @cached_property
    def result(self) -> Any:
        """The result of the value, as symbols."""
        return self._symbols(runnable(self.function, self.rules)(*map(self._given, self.arguments)))

    def _symbols(self, found: Any) -> Any:
        if isinstance(found, tuple):
            return tuple(map(self._symbols, found))
        return found if isinstance(found, Symbol) else self.graph.constant(found)

    def _given(self, name: str) -> Any:
        if name in self.inputs or name in self.held:
            kind, count = ("input", self.inputs[name]) if name in self.inputs else ("held", self.held[name])
            places = [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]
            nodes = tuple(self.graph.node(Operation(kind, (), place)) for place in places)
            return nodes[0] if count == 1 else nodes
        if self.numbers and name == self.numbers[0]:
            return Block(self.graph, *self.numbers)
        return Place(name) if self.numbers and name == self.numbers[1] else Passive(self.graph, name)

    @cached_property
    def linear(self) -> Linear:
        """How what the result needs varies; operations appear after those that they are made of."""
        outputs = [each.index for each in leaves(self.result)]
        operations, needed = self.graph.operations, set(outputs)
        for index in range(len(operations) - 1, -1, -1):
            needed |= set(operations[index].given) if index in needed else set()
        found: Linear = {}
        for index in sorted(needed):
            kind, given, _ = operations[index]
            if kind in ("input", "number"):
                found[index] = []
            elif kind == "item":
                self._of_call(index, found)
            elif kind not in ("constant", "call", "held"):
                terms: dict[int, Symbol | float] = {}
                for k, slope in zip(given, self.graph.slopes(index), strict=True):
                    if k in found:
                        terms[k] = terms[k] + slope if k in terms else slope
                if terms:
                    found[index] = list(terms.items())
        return found

    def _of_call(self, index: int, found: Linear) -> None:
        """Add the variation of a number that a function returned."""
        (call,), k = self.graph.operations[index].given, self.graph.operations[index].detail
        given, (rule, _) = self.graph.operations[call].given, self.graph.operations[call].detail
        if isinstance(rule, ByHand) and k + 1 == rule.count and set(given) & set(found):
            raise TypeError(f"{self.function.__name__}: {rule.value.__name__} gives no derivative of its last number")
        first = k + 1 if isinstance(rule, ByHand) else 1
        slopes = [self.graph.node(Operation("item", (call,), first + each)) for each in range(len(given))]
        found[index] = [(each, slope) for each, slope in zip(given, slopes, strict=True) if each in found]

    # Texts

    def _head(self, form: str, *more: str) -> str:
        given = self.arguments
        if form.endswith("_kept"):
            given = [*(name for name in given if name not in self.inputs), "kept"]
        return f"{form.format(self.function.__name__)}({', '.join([*given, *more])})"

    def _kept(self, slots: dict[int, int], free: Iterator[int]) -> Kept:
        return Kept(self.graph, self._values().names, slots, free)

    def _values(self) -> Values:
        numbers = {k: each for k, each in enumerate(self.graph.operations) if each.kind == "number"}
        return Values(self.graph, {k: f"{self.numbers[0]}[{self._place(each)}]" for k, each in numbers.items()})

    def _place(self, operation: Operation) -> str:
        return f"{self.numbers[1]} + {operation.detail}" if operation.detail else self.numbers[1]

    def _keep(self, slots: dict[int, int]) -> str:
        """Source of what puts values aside."""
        result = [(each.index, k) for k, each in enumerate(leaves(self.result))]
        rows = dict.fromkeys([*result, *slots.items()])
        count = len(rows) + len(self.slopes)
        if count > self.room > 0:
            raise ValueError(f"{self.function.__name__} puts {count} numbers aside, and has room for {self.room}")
        values, lines = self._values(), Lines()
        for index, k in rows:
            lines(f"kept_out[{k}] = {values.name(index, lines)}")
        if self.slopes:  # derivatives of a scalar result by all that it depends on
            by: dict[int, Any] = {self.result.index: 1.0}
            for index in sorted(self.linear, reverse=True):
                for source, slope in self.linear[index] if index in by else ():
                    by[source] = by.get(source, 0.0) + by[index] * slope
            by_name = {self.graph.operations[index].detail: slope for index, slope in by.items()}
            for name, place in self.slopes.items():
                lines(f"kept_out[{place}] = {values.name(by_name.get(name, 0.0), lines)}")
        return lines.function(self._head("keep_{}", "kept_out"))

    def _vary(self, form: str, values: Values, own: bool) -> str:
        """Source of the variation; ``own`` numbers vary with direction k of dtheta, or not at all."""
        linear, lines = self.linear, Lines()
        dots: dict[int, str] = {}
        for index, terms in linear.items():
            operation = self.graph.operations[index]
            if operation.kind == "input":
                dots[index] = f"d_{operation.detail}"
            elif operation.kind == "number":
                if own:
                    dots[index] = f"at(dtheta, {self._place(operation)}, k)"
            else:
                parts = [self._times(values, slope, dots[k], lines) for k, slope in terms if k in dots]
                parts += self._own_of_call(index, values, lines) if own and operation.kind == "item" else []
                if parts:
                    dots[index] = _named(f"d{index}", parts, lines)
        zero = f"0.0 * {next(iter(dots.values()), '0.0')}"
        lines(f"return {rebuilt(self.result, (dots.get(each.index, zero) for each in leaves(self.result)))}")
        own_arguments = ["dtheta", "k"] if own else []
        return lines.function(self._head(form, *own_arguments, *(f"d_{each}" for each in self.inputs)))

    def _own_of_call(self, index: int, values: Values, lines: Lines) -> list[str]:
        """The variation of a law with its own numbers."""
        (call,), k = self.graph.operations[index].given, self.graph.operations[index].detail
        rule, text = self.graph.operations[call].detail
        if not isinstance(rule, ByHand) or rule.vary is None:
            return []
        name = f"own{call}"
        if not any(line.strip().startswith(f"{name} =") for line in lines):
            given = text[text.index("(") + 1 : -1].format(*self._names_given(call, values, lines))
            laws, theta, rest = given.split(", ", 2)
            lines(f"{name} = {python_of(rule.vary).__name__}({laws}, {theta}, dtheta, k, {rest})")
        return [f"{name}[{k}]"]

    def _pull(self, form: str, values: Values) -> str:
        """Source of the pull-back."""
        linear, lines = self.linear, Lines()
        hats: dict[int, list[str]] = defaultdict(list)
        places = _places("hat", self.result)
        for each, place in zip(leaves(self.result), places, strict=True):
            hats[each.index].append(place)
        calls: dict[int, dict[int, str]] = defaultdict(dict)
        waiting = sorted(linear, reverse=True)
        for index in waiting:
            if not hats[index] or self.graph.operations[index].kind == "input":
                continue
            name = _named(f"h{index}", hats[index], lines)
            operation = self.graph.operations[index]
            if operation.kind == "number":
                lines(f"add_to(hat_out, {self._place(operation)}, k, {name})")
            if operation.kind == "item":
                calls[operation.given[0]][operation.detail] = name
            for source, slope in linear[index]:
                hats[source].append(self._times(values, slope, name, lines))
        for call, found in calls.items():
            self._pull_own_of_call(call, found, places[0], values, lines)
        zero = f"0.0 * {places[0]}"
        results = []
        for name in self.inputs:
            nodes = self._given(name)
            texts = (_sum(hats[each.index]) if hats[each.index] else zero for each in leaves(nodes))
            results.append(rebuilt(nodes, texts))
        if results:
            lines(f"return {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}")
        return lines.function(self._head(form, "hat", *(["k", "hat_out"] if self.numbers else [])))

    def _pull_own_of_call(self, call: int, found: dict[int, str], like: str, values: Values, lines: Lines) -> None:
        """Pull the numbers that a law returned back to the law's own numbers."""
        rule, text = self.graph.operations[call].detail
        if isinstance(rule, ByHand) and rule.pull is not None:
            given = text[text.index("(") + 1 : -1].format(*self._names_given(call, values, lines))
            hats = ", ".join(found.get(k, f"0.0 * {like}") for k in range(rule.count))
            lines(f"{python_of(rule.pull).__name__}({given}, k, {hats}, hat_out)")

    def _names_given(self, call: int, values: Values, lines: Lines) -> list[str]:
        return [values.name(each, lines) for each in self.graph.operations[call].given]

    def _times(self, values: Values, slope: Symbol | float, what: str, lines: Lines) -> str:
        number = slope if isinstance(slope, float) else slope.value
        if number in (1.0, -1.0):
            return what if number == 1.0 else f"-{what}"
        return f"{values.name(slope, lines)} * {what}"

    # Functions

    @cached_property
    def _space(self) -> dict[str, Any]:
        """Names that the texts use."""
        space = {**self.function.__globals__, "np": np, "at": at, "add_to": add_to, "atan2": atan2}
        _ = self.linear
        for operation in self.graph.operations:
            if operation.kind == "call":
                rule = operation.detail[0]
                if isinstance(rule, ByHand):
                    space |= {python_of(f).__name__: f for f in (rule.value, rule.vary, rule.pull) if f is not None}
                else:
                    space[f"slopes_of_{rule.__name__}"] = slopes_of(rule)
        return space


def _places(name: str, structure: Any) -> list[str]:
    """How the numbers of nested tuples are reached."""
    if isinstance(structure, tuple):
        return [place for k, each in enumerate(structure) for place in _places(f"{name}[{k}]", each)]
    return [name]


def _named(name: str, terms: list[str], lines: Lines) -> str:
    """The name of a sum; a number that has one keeps it."""
    if len(terms) == 1 and terms[0].replace("[", "").replace("]", "").replace("_", "").isalnum():
        return terms[0]
    lines(f"{name} = {_sum(terms)}")
    return name


def _sum(terms: Iterable[str]) -> str:
    return " + ".join(terms).replace("+ -", "- ")


_SLOPES: dict[Callable, Any] = {}


def slopes_of(function: Callable) -> Any:
    """The kernel of ``slopes_text``."""
    if function not in _SLOPES:
        space = {**function.__globals__, "np": np, "atan2": atan2}
        name = f"slopes_of_{function.__name__}"
        _SLOPES[function] = derived(name, lambda: compiled_text(slopes_text(function), function, space))
    return _SLOPES[function]


def compiled_text(text: str, like: Callable, space: dict[str, Any]) -> Callable:
    """A function of generated source; the kernel cache takes it for one of the file that its value stands in."""
    space = dict(space)
    exec(compile(text, like.__code__.co_filename, "exec"), space)
    made = space[text[len("def ") : text.index("(")]]
    made.__module__, made.source = like.__module__, text
    return made
