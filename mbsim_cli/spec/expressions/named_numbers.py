"""``Expressions``: the named numbers of a file, and the value and exact gradient of any number made of them.

A parameter or constant may be an expression of other names. Gradients are total: a parameter defined by an
expression of others passes their influence on, and has one of its own (a change beside what the expression gives).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from mbsim_cli.spec.expressions.evaluate import BUILT_IN, Scalar, finite_value
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import ExpressionError, is_constant, names, parse
from mbsim_cli.spec.reading.messages import MAX_SUGGESTIONS, suggest

if TYPE_CHECKING:
    from mbsim_cli.spec.expressions.integrand import Integrand


def sort(reads: Mapping[str, Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Return names, each behind those that it reads, and cycles, which end where they begin; no recursion."""
    order: list[str] = []
    cycles: list[list[str]] = []
    closed: dict[str, bool] = {}  # False while the name is on the path
    path = [("", list(reads)[::-1])]  # from an unnamed one that reads all of them
    while path:
        name, ahead = path[-1]
        if not ahead:
            path.pop()
            closed[name] = True
            order.append(name)
            continue
        following = ahead.pop()
        if closed.get(following) is False:
            names = [entry for entry, _ in path]
            cycles.append([*names[names.index(following) :], following])
        elif following in reads and following not in closed:
            closed[following] = False
            path.append((following, list(reads[following])[::-1]))
    return order[:-1], cycles  # without the unnamed one


def shown(cycle: Sequence[str]) -> str:
    """Return a cycle as text, shortened in the middle."""
    names = list(cycle) if len(cycle) <= 12 else [*cycle[:10], "...", cycle[-1]]
    return " -> ".join(names)


def connected(reads: Sequence[Sequence[Any]]) -> list[list[int]]:
    """Group rows that share an entry, directly or through others; return the row numbers of each group."""
    leader: dict[Any, Any] = {}  # of each entry: another entry of its group, or itself

    def top(one: Any) -> Any:
        while leader.setdefault(one, one) != one:
            leader[one] = leader[leader[one]]
            one = leader[one]
        return one

    for which in reads:
        for one in which[1:]:
            leader[top(one)] = top(which[0])
    members: dict[Any, list[int]] = {}
    for row, which in enumerate(reads):
        members.setdefault(top(which[0]) if which else (row,), []).append(row)
    return list(members.values())


def reached(start: Any, beside: Callable[[Any], Iterable[Any]]) -> set[Any]:
    """Return all that is reached from a start, itself included, by steps to what stands ``beside`` each."""
    found, stack = {start}, [start]
    while stack:
        fresh = set(beside(stack.pop())) - found
        found |= fresh
        stack.extend(fresh)
    return found


_KEPT_SCOPES = 16


class Expressions:
    """Environment of constants and parameters; ``errors`` names those that have no value, and why."""

    def __init__(self, parameters: Mapping[str, Number], constants: Mapping[str, Number] | None = None):
        self.parameters = tuple(parameters)
        self._parameters = frozenset(parameters)
        self._definitions = {**(constants or {}), **parameters}
        self.names = tuple(self._definitions)  # all constants and parameters
        self.errors: dict[str, ExpressionError] = {}
        self._scopes: dict[tuple, dict[str, Scalar]] = {}
        self._gradients: dict[tuple, dict[str, dict[str, float]]] = {}
        self._reads = {
            name: [used for used in self.names_in(number) if used in self._definitions]
            for name, number in self._definitions.items()
        }
        self._read_by: dict[str, list[str]] | None = None
        self._offsets: Mapping[str, Scalar] = {}
        self._order, cycles = sort(self._reads)
        self._rank = {name: place for place, name in enumerate(self._order)}
        for cycle in cycles:
            message = f"is defined by itself: {shown(cycle)}"
            first = not any(name in self.errors for name in cycle)
            for name in cycle:
                self.errors.setdefault(name, ExpressionError(message, reported=not first or name != cycle[0]))
        self._base: dict[str, Scalar] = {}
        for name in self._order:
            if name not in self.errors:
                try:
                    self._base[name] = self._evaluate(name, self._base)
                except ExpressionError as error:
                    self.errors[name] = error

    def __contains__(self, name: object) -> bool:
        return name in self._definitions

    def value(self, number: Number, values: Mapping[str, Scalar] | None = None) -> Scalar:
        """Value of a number; ``values`` (also complex) replace parameters or constants; raises ExpressionError."""
        if number.literal is not None:
            return number.literal
        self.check_names(number.text)
        return finite_value(parse(number.text), self.scope(values))

    def scope(self, values: Mapping[str, Scalar] | None = None) -> Mapping[str, Scalar]:
        """Return the value of every name, with those in ``values`` replaced."""
        if not values:
            return self._base
        key = tuple(values.items())
        if key not in self._scopes:
            if len(self._scopes) >= _KEPT_SCOPES:
                self._scopes.clear()
            # only names that depend on those replaced are evaluated: a Jacobian replaces each of many names once
            moved = set().union(*(self.affected(name) for name in values if name in self._definitions))
            scope = dict(self._base)
            for name in sorted(moved, key=self._rank.__getitem__):
                if name in values:
                    scope[name] = values[name]
                elif name not in self.errors:
                    scope[name] = self._evaluate(name, scope)
            self._scopes[key] = scope
        return self._scopes[key]

    def gradient(self, number: Number, values: Mapping[str, Scalar] | None = None) -> dict[str, float]:
        """Return the exact derivatives of a number by its parameters; numbers and plain names do not load numpy."""
        if number.literal is not None:
            return {}
        self.check_names(number.text)
        if (name := number.plain_name) is not None:
            return dict(self.name_gradient(name, values)) if name not in BUILT_IN else {}
        if is_constant(parse(number.text)):
            return {}
        from mbsim_cli.spec.expressions.program import compiled_number

        used, program = compiled_number(number.text)
        scope = self.scope(values)
        return self.chain(zip(used, program.gradient([scope[name] for name in used]), strict=True), values)

    def chain(self, by_name: Iterable[tuple[str, Scalar]], values: Mapping[str, Scalar] | None = None) -> dict:
        """Return derivatives by parameters from derivatives by any names (numbers or arrays)."""
        total: dict = {}
        for name, derivative in by_name:
            for parameter, inner in self.name_gradient(name, values).items():
                total[parameter] = total.get(parameter, 0.0) + derivative * inner
        return total

    def name_gradient(self, name: str, values: Mapping[str, Scalar] | None = None) -> dict[str, float]:
        """Return the derivatives of a constant or parameter by the parameters."""
        key = tuple(values.items()) if values else ()
        if key not in self._gradients and len(self._gradients) >= _KEPT_SCOPES:
            self._gradients.clear()
        known = self._gradients.setdefault(key, {})
        if name in known:
            return known[name]
        # what the name reads comes first, so that no chain of definitions is a deep recursion
        needs = reached(name, lambda one: (read for read in self._reads[one] if read not in known))
        for needed in sorted(needs, key=self._rank.__getitem__):
            replaced = values is not None and needed in values
            gradient = {} if replaced else self.gradient(self._definitions[needed], values)
            known[needed] = {**gradient, needed: 1.0} if needed in self._parameters else gradient
        return known[name]

    def beside(self, offsets: Mapping[str, Scalar]) -> "Expressions":
        """The environment where parameters are off what defines them, and others follow; raises ExpressionError."""
        found = copy(self)
        found._offsets, found._scopes, found._gradients = offsets, {}, {}
        found._base = {}
        for name in self._order:
            if name not in self.errors:
                found._base[name] = found._evaluate(name, found._base)
        return found

    def differing(self, other: "Expressions") -> set[str]:
        """Return the names whose values another environment of the same file does not have, to the last bit."""
        here, there = self._base, other._base
        both = here.keys() & there.keys()
        moved = {name for name in both if here[name] != there[name]}
        # zeros of either sign are equal, and quotients by them are not
        turned = {name for name in both if here[name] == 0.0 and str(here[name]) != str(there[name])}
        return (here.keys() ^ there.keys()) | moved | turned

    def names_in(self, number: Number) -> Iterable[str]:
        """Return the names that a number reads."""
        return () if number.literal is not None else names(parse(number.text))

    def affected(self, name: str) -> frozenset[str]:
        """Return the constants and parameters whose values depend on one of them, itself included."""
        if self._read_by is None:
            self._read_by = {}
            for reader, read in self._reads.items():
                for used in read:
                    self._read_by.setdefault(used, []).append(reader)
        read_by = self._read_by
        return frozenset(reached(name, lambda one: read_by.get(one, ())))

    def integrand(self, text: str, sensor_widths: Mapping[str, int]) -> "Integrand":
        """Compile an expression of sensors, time ``t`` and names; numpy is loaded here."""
        from mbsim_cli.spec.expressions.integrand import Integrand

        return Integrand(self, text, sensor_widths)

    def check_names(self, text: str) -> None:
        """Raise ExpressionError when an expression reads a name that nothing defines, or that has no value."""
        for name, offset in names(parse(text)).items():
            if name not in self._definitions:
                hint = suggest(name, self._definitions) if len(self.errors) < MAX_SUGGESTIONS else None
                raise ExpressionError(f"unknown parameter or constant {name!r}", offset, hint)
            if name in self.errors:
                raise ExpressionError(f"{name!r} has no value", offset, reported=True)

    def _evaluate(self, name: str, scope: Mapping[str, Scalar]) -> Scalar:
        number = self._definitions[name]
        if number.literal is None:
            self.check_names(number.text)
        value = finite_value(parse(number.text), scope) if number.literal is None else number.literal
        return value + self._offsets[name] if name in self._offsets else value
