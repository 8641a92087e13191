"""Checked trees of expressions made into programs, vectors entry by entry.

What a constant zero multiplies is left out: it is not read, and need not be a number.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import accumulate
from math import pi
from typing import Any

import numpy as np

from mbsim_cli.spec.expressions import program
from mbsim_cli.spec.expressions.evaluate import evaluate
from mbsim_cli.spec.expressions.program import Elementary, Program, Step
from mbsim_cli.spec.expressions.syntax import (
    ALONG_MOTION,
    COMPONENTS,
    dotted,
    function_name,
    is_constant,
    names,
    parse,
    part_of,
)

Part = int | float  # the place of a value, or a constant
Parts = Any  # a Part, or a tuple of those of a vector


def compiled(tree: ast.expr, widths: Mapping[str, int]) -> Program:
    """Program of a scalar expression; its inputs are the names in their order, one for each entry of a vector."""
    ends = accumulate(widths.values())
    places = {
        name: end - 1 if width == 1 else tuple(range(end - width, end))
        for (name, width), end in zip(widths.items(), ends, strict=True)
    }
    compiler = _Compiler(places, sum(widths.values()))
    result = compiler.place(compiler.parts(tree))
    return Program(compiler.inputs, compiler.steps, result)


def steps_of(
    tree: ast.expr, places: Mapping[str, Parts], inputs: int, named: Mapping[str, str]
) -> tuple[list[Step], int]:
    """Steps of a scalar expression behind so many inputs, and the place of its value.

    ``places`` are those of names; ``named`` are expressions that it names, see ``ModelFile.parts``.
    """
    compiler = _Compiler(places, inputs, named)
    result = compiler.place(compiler.parts(tree))
    return compiler.steps, result


@lru_cache(maxsize=65536)
def compiled_number(text: str) -> tuple[tuple[str, ...], Program]:
    """The names that a number reads, and its program."""
    tree = parse(text)
    used = tuple(names(tree))
    return used, compiled(tree, dict.fromkeys(used, 1))


@lru_cache(maxsize=4096)
def compiled_formula(text: str, widths: tuple[tuple[str, int], ...]) -> Program:
    """Program of an expression of vectors, by the names of its inputs and their entries."""
    return compiled(parse(text, vectors=True), dict(widths))


def value_along_motion(name: str, arguments: Sequence[float]) -> float:
    """Value of a function of ``syntax.ALONG_MOTION`` at constants."""
    return float(_Compiler({}, 0)._along_motion(name, *map(float, arguments)))


class _Compiler:
    """Collects steps; one that is there already serves again."""

    def __init__(self, places: Mapping[str, Parts], inputs: int, named: Mapping[str, str] | None = None):
        self.inputs = inputs
        self.steps: list[Step] = []
        self._places, self._named = dict(places), named or {}
        self._known: dict[Any, int] = {}

    def parts(self, node: ast.expr) -> Parts:
        """What an expression is made of."""
        if is_constant(node):  # folded first, so that no tower of powers can explode
            value = evaluate(node, {})
            return tuple(map(float, value)) if isinstance(value, list) else float(value)
        if (part := part_of(node)) is not None:
            return self._places[part]
        if isinstance(node, ast.Attribute) and (path := dotted(node)) is not None and path in self._places:
            return self._places[path]
        match node:
            case ast.Name(id=name):
                return self._of_name(name)
            case ast.UnaryOp(op=op, operand=operand):
                value = self.parts(operand)
                return _entrywise(self._negative, value) if isinstance(op, ast.USub) else value
            case ast.BinOp(left=left, op=op, right=right):
                return _entrywise(self._operator(op), self.parts(left), self.parts(right))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(function_name(name), [self.parts(argument) for argument in arguments])
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                a, b = self.parts(left), self.parts(right)
                a, b = (b, a) if isinstance(op, ast.Gt | ast.GtE) else (a, b)
                strict = isinstance(op, ast.Lt | ast.Gt)
                return self._apply(program.LESS if strict else program.LESS_EQUAL, a, b)
            case ast.List(elts=entries):
                return tuple(self.parts(entry) for entry in entries)
            case ast.Attribute(value=ast.Name(id=vector), attr=name):
                return self._of_name(vector)[COMPONENTS[name]]
            case ast.Attribute(value=value, attr=name):
                return self.parts(value)[COMPONENTS[name]]
        raise AssertionError(f"unchecked node {ast.dump(node)}")

    def _of_name(self, name: str) -> Parts:
        if name in self._named and name not in self._places:
            self._places[name] = self.parts(parse(self._named[name], vectors=True, motion=True))
        return self._places[name]

    def place(self, part: Part) -> int:
        """Place of a part; a constant gets one."""
        if not isinstance(part, float):
            return part
        return self._step(repr(part), lambda: (program.constant(part), ()))

    def _step(self, key: Any, step: Callable[[], Step]) -> int:
        if key not in self._known:
            self.steps.append(step())
            self._known[key] = self.inputs + len(self.steps) - 1
        return self._known[key]

    def _apply(self, operation: Elementary, *parts: Part) -> Part:
        if all(isinstance(part, float) for part in parts):
            with np.errstate(all="ignore"):
                return float(operation.value(*map(np.float64, parts)))
        operands = tuple(map(self.place, parts))
        return self._step((operation, operands), lambda: (operation, operands))

    def _call(self, name: str, arguments: list[Parts]) -> Parts:
        if name in ALONG_MOTION:
            return self._along_motion(name, *arguments)
        if name not in program.FUNCTIONS and name not in ("dot", "cross"):
            place = self.place(arguments[0])
            return self._step(("law", name, place), lambda: (program.law(name), (place,)))
        match name:
            case "dot":
                return reduce(self._sum, map(self._product, *arguments))
            case "cross":
                a, b = arguments
                pairs = ((self._product(a[i - 2], b[i - 1]), self._product(a[i - 1], b[i - 2])) for i in range(3))
                return tuple(self._difference(x, y) for x, y in pairs)
            case "norm":
                return self._apply(program.FUNCTIONS[name], *arguments[0])
        return self._apply(program.FUNCTIONS[name], *arguments)

    def _along_motion(self, name: str, *arguments: Part) -> Part:
        """Functions of ``syntax.ALONG_MOTION``, made of others."""
        match name:
            case "if":
                return self._apply(program.SELECT, *arguments)
            case "sign":
                return self._apply(program.SIGN, *arguments)
            case "clip":
                return self._clip(*arguments)
            case "smooth_abs":
                return self._apply(program.FUNCTIONS["hypot"], *arguments)
            case "smooth_max":
                a, b, width = arguments
                apart = self._apply(program.FUNCTIONS["hypot"], self._difference(a, b), width)
                return self._product(0.5, self._sum(self._sum(a, b), apart))
            case "impact":
                return self._impact(*arguments)
            case "bistop":
                x, v, low, high, *law = arguments
                back = self._impact(self._negative(x), self._negative(v), self._negative(high), *law)
                return self._difference(self._impact(x, v, low, *law), back)
        return self._step_of(name, *arguments)

    def _clip(self, x: Part, low: Part, high: Part) -> Part:
        largest = self._apply(program.FUNCTIONS["max"], x, low)
        return self._apply(program.FUNCTIONS["min"], largest, high)

    def _step_of(self, name: str, x: Part, x0: Part, h0: Part, x1: Part, h1: Part) -> Part:
        """From h0 at x0 to h1 at x1, D = (x - x0)/(x1 - x0) held in [0, 1]."""
        D = self._clip(self._quotient(self._difference(x, x0), self._difference(x1, x0)), 0.0, 1.0)
        if name == "havsin":
            angle = self._product(pi, self._difference(D, 0.5))
            risen = self._product(0.5, self._sum(1.0, self._apply(program.FUNCTIONS["sin"], angle)))
        elif name == "step":  # D^2 (3 - 2 D)
            risen = self._product(self._power(D, 2.0), self._difference(3.0, self._product(2.0, D)))
        else:  # D^3 (10 - D (15 - 6 D))
            inner = self._difference(10.0, self._product(D, self._difference(15.0, self._product(6.0, D))))
            risen = self._product(self._power(D, 3.0), inner)
        return self._sum(h0, self._product(self._difference(h1, h0), risen))

    def _impact(self, x: Part, v: Part, x1: Part, k: Part, e: Part, c: Part, d: Part) -> Part:
        """max(k (x1 - x)^e - c v step(x, x1 - d, 1, x1, 0), 0) where x < x1, else 0."""
        spring = self._product(k, self._power(self._difference(x1, x), e))
        damped = self._product(self._product(c, v), self._step_of("step", x, self._difference(x1, d), 1.0, x1, 0.0))
        force = self._apply(program.FUNCTIONS["max"], self._difference(spring, damped), 0.0)
        return self._apply(program.SELECT, self._apply(program.LESS, x, x1), force, 0.0)

    def _operator(self, op: ast.operator) -> Callable[[Part, Part], Part]:
        match op:
            case ast.Add():
                return self._sum
            case ast.Sub():
                return self._difference
            case ast.Mult():
                return self._product
            case ast.Div():
                return self._quotient
        return self._power

    def _negative(self, a: Part) -> Part:
        return self._apply(program.NEGATE, a)

    def _sum(self, a: Part, b: Part) -> Part:
        if _is_zero(a) or _is_zero(b):
            return b if _is_zero(a) else a
        return self._apply(program.ADD, a, b)

    def _difference(self, a: Part, b: Part) -> Part:
        return a if _is_zero(b) else self._apply(program.SUBTRACT, a, b)

    def _product(self, a: Part, b: Part) -> Part:
        if _is_zero(a) or _is_zero(b):
            return 0.0
        return self._apply(program.MULTIPLY, a, b)

    def _quotient(self, a: Part, b: Part) -> Part:
        return 0.0 if _is_zero(a) and not isinstance(b, float) else self._apply(program.DIVIDE, a, b)

    def _power(self, a: Part, b: Part) -> Part:
        if not isinstance(b, float):
            return self._apply(program.POWER, a, b)
        return 1.0 if b == 0.0 else a if b == 1.0 else self._apply(program.power(b), a)


def _is_zero(part: Part) -> bool:
    return isinstance(part, float) and part == 0.0


def _entrywise(operation: Callable[..., Part], *parts: Parts) -> Parts:
    width = max((len(part) for part in parts if isinstance(part, tuple)), default=0)
    if not width:
        return operation(*parts)
    spread = (part if isinstance(part, tuple) else (part,) * width for part in parts)
    return tuple(operation(*entries) for entries in zip(*spread, strict=True))
