"""``Integrand``: an objective's expression as a function of arrays, with exact partial derivatives."""

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.spec.expressions.evaluate import check_formula
from mbsim_cli.spec.expressions.program import Program, compiled_formula
from mbsim_cli.spec.expressions.syntax import names, parse
from mbsim_cli.system import cached_property

if TYPE_CHECKING:
    from mbsim_cli.spec.expressions.named_numbers import Expressions

TIME = "t"


class Linearised(NamedTuple):
    """An expression at B instants, and its derivatives."""

    value: np.ndarray  # (B,)
    by_sensor: dict[str, np.ndarray]  # (B, width) each
    by_parameter: dict[str, np.ndarray]  # (B,) each: explicit ones, not through sensors
    by_time: np.ndarray  # (B,) 1/s: explicit ones


class Integrand:
    """f(sensors, t, parameters) at B instants, t (B,) and sensors (B, width); names include those read indirectly."""

    def __init__(self, expressions: "Expressions", text: str, widths: Mapping[str, int]):
        check_formula(text, {**dict.fromkeys(expressions.names, 1), TIME: 1, **widths})
        tree = parse(text, vectors=True)
        used = names(tree)
        self.text = text
        self.sensors = tuple(name for name in used if name in widths)
        self._widths = {name: widths[name] for name in self.sensors}
        self._names = tuple(name for name in used if name not in widths and name != TIME)
        self._expressions = expressions
        inputs = {**self._widths, **dict.fromkeys((*self._names, TIME), 1)}
        self._program = compiled_formula(text, tuple(inputs.items()))

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Parameters that the expression depends on other than through sensors."""
        return tuple(self._expressions.chain((name, 1.0) for name in self._names))

    def corners(self, sensors: Mapping[str, np.ndarray], t: np.ndarray, values: Mapping[str, Any] | None = None) -> Any:
        """Whether f has a corner in each interval (B - 1,) between instants, other than by switches."""
        return self._program.corners(self._inputs(sensors, t, values), len(t))

    def value(self, sensors: Mapping[str, np.ndarray], t: np.ndarray, values: Mapping[str, Any] | None = None) -> Any:
        """Return f, shape (B,); ``values`` replaces parameter values."""
        return np.broadcast_to(self._program.value(self._inputs(sensors, t, values)), np.shape(t))

    def linearised(
        self, sensors: Mapping[str, np.ndarray], t: np.ndarray, values: Mapping[str, Any] | None = None
    ) -> Linearised:
        """Return f with all its derivatives."""
        value, rows = self._program.value_and_gradient(self._inputs(sensors, t, values))
        shape, left = np.shape(t), iter(rows)
        by_sensor = {
            name: _side_by_side([next(left) for _ in range(width)], shape) for name, width in self._widths.items()
        }
        by_parameter = self._expressions.chain(zip(self._names, left, strict=False), values)  # behind them t is left
        return Linearised(
            np.broadcast_to(value, shape),
            by_sensor,
            {name: np.broadcast_to(row, shape) for name, row in by_parameter.items()},
            np.broadcast_to(rows[-1], shape),
        )

    @cached_property
    def switches(self) -> "list[Integrand]":
        """Numbers by whose signs the expression chooses a formula, of the same sensors and parameters."""
        return [self._with(program) for program in self._program.switches]

    def choices(self, sensors: Mapping[str, np.ndarray], t: np.ndarray, values: Mapping[str, Any] | None = None) -> Any:
        """Its choices of a formula: integers (B, .)."""
        return self._program.choices(self._inputs(sensors, t, values), len(t))

    def frozen(self, choices: Sequence[int]) -> "Integrand":
        """The formula with these choices everywhere."""
        return self._with(self._program.frozen(choices))

    def _with(self, program: Program) -> "Integrand":
        found = copy(self)
        found._program = program
        return found

    def moved(self, parameter: str, step: complex) -> dict[str, complex]:
        """Values in which one parameter is larger by a step."""
        return {parameter: self._expressions.scope()[parameter].real + step}

    @cached_property
    def components(self) -> dict[str, tuple[int, ...]]:
        """Components of each sensor that the expression reads."""
        places = count()
        return {
            name: tuple(k for k, place in zip(range(width), places, strict=False) if self._program.reads(place))
            for name, width in self._widths.items()
        }

    def _inputs(self, sensors: Mapping[str, np.ndarray], t: np.ndarray, values: Mapping[str, Any] | None) -> list[Any]:
        """Values of what the program reads: components of sensors, names, the time."""
        scope = self._expressions.scope(values)
        components = [sensors[name][:, k] for name, width in self._widths.items() for k in range(width)]
        return [*components, *(scope[name] for name in self._names), t]


def _side_by_side(columns: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Numbers or arrays of a shape (B,) as columns (B, w)."""
    found = np.empty((*shape, len(columns)), complex if any(map(np.iscomplexobj, columns)) else float)
    for k, each in enumerate(columns):
        found[..., k] = each
    return found
