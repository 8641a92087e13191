"""``Integrand``: an objective's expression as a vectorised function with exact partial derivatives."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from mbsim_cli.spec.symbolic import compiled, to_sympy
from mbsim_cli.spec.syntax import names, parse
from mbsim_cli.spec.widths import check_formula

if TYPE_CHECKING:
    from mbsim_cli.spec.expressions import Expressions

TIME = "t"


class Integrand:
    """f(sensors, t, parameters) at B instants; sensors are arrays (B, width), t is (B,).

    ``sensors`` and ``parameters`` name what the expression reads, directly or through other names.
    """

    def __init__(self, expressions: "Expressions", text: str, widths: Mapping[str, int]):
        check_formula(text, {**dict.fromkeys(expressions.names, 1), TIME: 1, **widths})
        tree = parse(text, vectors=True)
        used = names(tree)
        self.text = text
        self.sensors = tuple(name for name in used if name in widths)
        self._widths = {name: widths[name] for name in self.sensors}
        self._names = tuple(name for name in used if name not in widths and name != TIME)
        self._expressions = expressions
        self._symbols, by_name = self._make_symbols()
        self._expression = sympy.sympify(to_sympy(tree, by_name))

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Parameters that the expression depends on other than through sensors."""
        return tuple(self._expressions.chain((name, 1.0) for name in self._names))

    def value(self, sensors: Mapping[str, np.ndarray], t: np.ndarray, values: Mapping[str, Any] | None = None) -> Any:
        """Return f, shape (B,); ``values`` replaces parameter values."""
        return np.broadcast_to(self._value(*self._arguments(sensors, t, values))[0], np.shape(t))

    def by_sensor(
        self, sensors: Mapping[str, np.ndarray], t: np.ndarray, values: Mapping[str, Any] | None = None
    ) -> dict[str, np.ndarray]:
        """Return df / d sensor, shape (B, width) each."""
        rows = iter(self._partials(*self._arguments(sensors, t, values)))
        shape = np.shape(t)
        return {
            name: np.stack([np.broadcast_to(next(rows), shape) for _ in range(width)], axis=-1)
            for name, width in self._widths.items()
        }

    def by_parameter(
        self, sensors: Mapping[str, np.ndarray], t: np.ndarray, values: Mapping[str, Any] | None = None
    ) -> dict[str, np.ndarray]:
        """Return the explicit df / d parameter, shape (B,) each."""
        rows = self._partials(*self._arguments(sensors, t, values))[sum(self._widths.values()) :]
        total = self._expressions.chain(zip(self._names, rows, strict=True), values)
        return {name: np.broadcast_to(row, np.shape(t)) for name, row in total.items()}

    @cached_property
    def components(self) -> dict[str, tuple[int, ...]]:
        """Components of each sensor that the expression reads."""
        symbols, used = iter(self._symbols), self._expression.free_symbols
        return {
            name: tuple(k for k, symbol in zip(range(width), symbols, strict=False) if symbol in used)
            for name, width in self._widths.items()
        }

    def _make_symbols(self) -> tuple[list[sympy.Symbol], dict[str, Any]]:
        symbols: list[sympy.Symbol] = []
        by_name: dict[str, Any] = {}
        for name in (*self.sensors, *self._names, TIME):
            count = self._widths.get(name, 1)
            new = [sympy.Symbol(f"v{len(symbols) + i}", real=True) for i in range(count)]
            symbols += new
            by_name[name] = tuple(new) if count > 1 else new[0]
        return symbols, by_name

    def _arguments(
        self, sensors: Mapping[str, np.ndarray], t: np.ndarray, values: Mapping[str, Any] | None
    ) -> list[Any]:
        scope = self._expressions.scope(values)
        components = [sensors[name][:, k] for name, width in self._widths.items() for k in range(width)]
        return [*components, *(scope[name] for name in self._names), t]

    @cached_property
    def _value(self) -> Any:
        return compiled(self._symbols, [self._expression])

    @cached_property
    def _partials(self) -> Any:
        # by sensors' components, then by names; the time is not differentiated by
        return compiled(self._symbols, [sympy.diff(self._expression, symbol) for symbol in self._symbols[:-1]])
