"""Numbers of a model file by parameters, vectors of them, and the vector theta of all that kernels read."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from math import nan
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from mbsim_cli.model.layout import STEP
from mbsim_cli.solve.sparse import Sparse
from mbsim_cli.spec.expressions.syntax import ExpressionError
from mbsim_cli.spec.geometry import Scalar
from mbsim_cli.system import waited_for

Table = TypeVar("Table")


def integers(values: Iterable[Any]) -> np.ndarray:
    """The values as an array of 64-bit integers, also if it is empty."""
    return np.array(values if isinstance(values, np.ndarray) else list(values), dtype=np.int64)


def table(of: type[Table], /, **columns: Iterable[Any]) -> Table:
    """A table of ``model.layout`` with its columns as integers."""
    return of(**{name: integers(values) for name, values in columns.items()})


STEEP, SHORTER = 1e10, 1e-8  # derivative that is checked by a shorter step, and the ratio of the steps
MANY = 1_000_000  # entries of d theta / d rho, above which most are zero and it may be sparse


class Numbers:
    """Evaluates the numbers of a file (``environment`` is its ``spec.Expressions``) and remembers which were read.

    Numbers are real, or have a complex step along one parameter; ``lock`` is held while another environment gives them.
    """

    def __init__(self, environment: Any):
        self._environment = environment
        self._values: dict[Any, complex] = {}
        self._stepped: dict[Any, complex] = {}
        self._readers: dict[str, list[Any]] = {}
        self._indexed = 0  # number of values that ``_readers`` covers
        self.read: set[Any] = set()
        self.parameter: str | None = None  # that is stepped along
        self.undefined: dict[str, str] = {}  # by parameters: why formulas have no derivatives
        self.elsewhere = False  # whether another environment gives the numbers
        self.lock = waited_for(RLock())

    def __call__(self, number: Any) -> Scalar:
        """Value of a number, complex where it depends on the parameter that is stepped along."""
        if number.literal is not None:
            return number.literal
        self.read.add(number)
        value = self._values.get(number)
        if value is None:
            value = self._values[number] = float(self._environment.value(number))
        return self._stepped.get(number, value)

    def vector(self, numbers: Sequence[Any]) -> tuple[Scalar, ...]:
        """Values of several numbers."""
        return tuple(self(number) for number in numbers)

    @contextmanager
    def recorded(self) -> Iterator[set[Any]]:
        """The numbers read inside the context; ``read`` does not include them afterwards."""
        before, self.read = self.read, set()
        try:
            yield self.read
        finally:
            self.read = before

    def step_along(self, parameter: str | None) -> set[Any]:
        """Step along a parameter from now on (None: along none); return the numbers read so far that depend on it."""
        self.parameter = parameter
        self._stepped = {} if parameter is None else self.depending_on(parameter, self._by_name())
        return set(self._stepped)

    def _by_name(self) -> dict[str, list[Any]]:
        """Numbers read so far, by the names that they read."""
        if len(self._values) != self._indexed:
            self._indexed, self._readers = len(self._values), self.by_name(self._values)
        return self._readers

    @contextmanager
    def reading(self, environment: Any) -> Iterator[frozenset[Any]]:
        """Evaluate by another environment inside the context; yields the numbers read so far whose values may differ.

        Raises the error of a number that has no value there.
        """
        with self.lock:
            names, readers = environment.differing(self._environment), self._by_name()
            changed = frozenset(number for name in names for number in readers.get(name, ()))
            before = vars(self).copy()
            try:
                self._environment, self._values, self.elsewhere = environment, dict(self._values), True
                self._values.update((number, float(environment.value(number))) for number in changed)
                yield changed
            finally:
                vars(self).update(before)

    def moves(self, numbers: frozenset[Any]) -> bool:
        """Whether any of the numbers is stepped."""
        return not numbers.isdisjoint(self._stepped)

    def by_name(self, numbers: Iterable[Any]) -> dict[str, list[Any]]:
        """Numbers by the names that they read."""
        found: dict[str, list[Any]] = {}
        for number in numbers:
            for name in self._environment.names_in(number):
                found.setdefault(name, []).append(number)
        return found

    def depending_on(self, parameter: str, by_name: Mapping[str, Sequence[Any]]) -> dict[Any, complex]:
        """Those of the numbers that depend on a parameter, a complex step away; none where ``undefined`` says why."""
        affected, found = self._environment.affected(parameter), {}
        self.undefined.pop(parameter, None)
        for number in {number for name in affected for number in by_name.get(name, ())}:
            value, fault = self._stepped_along(parameter, number)
            if fault:
                where = f"{parameter} = {self._beyond(parameter).real:.6g}"
                self.undefined[parameter] = f"{number.text} has no derivative by it at {where}: {fault}"
                return {}
            if value.imag:
                found[number] = value
        return found

    def _stepped_along(self, parameter: str, number: Any) -> tuple[complex, str]:
        """Value of a number a complex step away, and why it has no derivative there, if it has none."""
        try:
            value = complex(self._environment.value(number, {parameter: self._beyond(parameter)}))
            if abs(value.imag) > STEEP * STEP:  # a root at zero is the steeper the shorter the step
                shorter = complex(self._environment.value(number, {parameter: self._beyond(parameter, SHORTER)}))
                if abs(shorter.imag) > 2.0 * SHORTER * abs(value.imag):
                    return value, "its slope is infinite"
        except ExpressionError as error:
            return complex(nan, nan), error.message
        return value, ""

    def depends(self, number: Any, parameter: str) -> bool:
        """Whether a parameter changes a number."""
        return not self._environment.affected(parameter).isdisjoint(self._environment.names_in(number))

    def gradient(self, number: Any, parameters: Sequence[str]) -> list[float]:
        """Derivatives of one number by the given parameters, NaN where it has none."""
        if number.literal is not None:
            return [0.0] * len(parameters)
        stepped = (self._stepped_along(name, number) for name in parameters)
        return [nan if fault else value.imag / STEP for value, fault in stepped]

    def _beyond(self, parameter: str, shorter: float = 1.0) -> Scalar:
        """Value of a parameter with a complex step."""
        return complex(self._environment.scope()[parameter].real, shorter * STEP)


# The vector theta, filled block by block; each block keeps the function that computes it.
#
# A block's function reads the model file's numbers, so evaluating it under a complex step gives its exact
# derivative; only blocks that read a number which depends on the parameter are evaluated for it.

Function = Callable[[], Sequence[Scalar]]


class Theta:
    """Growing list of blocks."""

    def __init__(self, numbers: Numbers):
        self.numbers = numbers
        self._blocks: list[tuple[int, Function, frozenset]] = []
        self._values: list[float] = []

    def __len__(self) -> int:
        return len(self._values)

    def add(self, function: Function) -> int:
        """Append the block that ``function`` computes; return its offset."""
        offset = len(self._values)
        with self.numbers.recorded() as read:
            self._values.extend(function())
        self._blocks.append((offset, function, frozenset(read)))
        return offset

    def values(self) -> np.ndarray:
        """Theta (size,)."""
        return np.array(self._values, dtype=float)

    def renewed(self, changed: frozenset[Any]) -> "Theta":
        """The same where some numbers have changed; raises what their blocks raise."""
        found = copy(self)
        found._values, found._blocks = self._values.copy(), self._blocks.copy()
        for place, (offset, function, read) in enumerate(self._blocks):
            if not read.isdisjoint(changed):
                with self.numbers.recorded() as now:
                    block = function()
                found._values[offset : offset + len(block)] = block
                found._blocks[place] = offset, function, frozenset(now)
        return found

    def beside(self, environment: Any, parameters: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Theta (size,) and d theta / d rho (size, p) where another environment gives the numbers."""
        with self.numbers.reading(environment):
            values = np.concatenate([np.asarray(function(), dtype=float) for _, function, _ in self._blocks])
            return values, self.jacobian(parameters)

    def jacobian(self, parameters: Sequence[str], blocks: Container[int] | None = None, sparse: bool = False) -> Any:
        """d theta / d rho (size, p), or only of blocks at given offsets; with ``sparse`` large ones are ``Sparse``."""
        rows, columns, values = [], [], []
        readers: dict[Any, list[int]] = {}  # blocks by the numbers that they read
        for place, (_, _, read) in enumerate(self._blocks if parameters else ()):
            for number in read:
                readers.setdefault(number, []).append(place)
        try:
            for k, parameter in enumerate(parameters):
                stepped = self.numbers.step_along(parameter)
                for place in sorted({place for number in stepped for place in readers.get(number, ())}):
                    offset, function, _ = self._blocks[place]
                    if blocks is not None and offset not in blocks:
                        continue
                    block = np.asarray(function(), dtype=complex)
                    moved = np.flatnonzero(block.imag)
                    rows.append(offset + moved)
                    columns.append(np.full(moved.size, k))
                    values.append(block.imag[moved] / STEP)
        finally:
            self.numbers.step_along(None)
        empty, shape = [np.zeros(0, int)], (len(self._values), len(parameters))
        found = Sparse(shape, *(np.concatenate(part or empty) for part in (rows, columns, values)))
        return found if sparse and shape[0] * shape[1] > MANY else found.dense
