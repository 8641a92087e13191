"""Forces that are expressions of the motion, as tapes that one compiled kernel evaluates."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.elements.forces import Moving
from mbsim_cli.assembly.elements.laws import EVERYWHERE, LawTable, Term
from mbsim_cli.assembly.elements.measures import MeasureTable
from mbsim_cli.assembly.elements.sensors import Entry, SensorTable
from mbsim_cli.assembly.parameters.numbers import Numbers, table
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.codes import JUMPING, SENSOR_WIDTH, Law, Operation, Sensor
from mbsim_cli.model.layout import NONE, LoadedSignals, NoSignals, Signals
from mbsim_cli.model.problem import Branching, Options
from mbsim_cli.spec.expressions.number import (
    NATURAL,
    RATE,
    TIME,
    VALUE,
    Number,
    coordinate_in,
    read_by,
    sensor_in,
    written_out,
)
from mbsim_cli.spec.expressions.program import Program, Step, constant, law, steps_of
from mbsim_cli.spec.expressions.syntax import parse
from mbsim_cli.spec.geometry import Scalar

OWN = 3  # places of g, g' and t
_OWN = {VALUE: 0, RATE: 1, TIME: 2}
LATE = "late"  # a number, zero, that is added to t
_SHIFTED = parse(f"{TIME} + {LATE}")
# Codes of operations by their names among those of ``spec.expressions.program``.
CODES = {code.name.lower(): code for code in Operation}
CODES |= {"norm": Operation.HYPOT, "min": Operation.MINIMUM, "max": Operation.MAXIMUM}

TRIES = 3  # motions at random, at which expressions are tried for continuity
BEYOND = 1e-9  # of the run, behind a time and before it: where expressions are tried, too

WATCHED = (*JUMPING, Operation.ATAN2)  # operations whose jumps a run warns of


class Switch(NamedTuple):
    """Values of a comparison of the motion, or a sign, and how parameters move its times (``study.event_times``)."""

    values: tuple[float, ...]  # (k + 1,)
    times: tuple[float, ...]  # (k,) s
    rates: tuple[Mapping[str, float], ...]  # (k,) derivatives of the times by parameters


Switches = Mapping[tuple[int, int], Switch]  # by the number of an expression, and of a step in it


class SignalTable:
    """Collects expressions and sensors that they read; laws of time replace comparisons and signs in ``switches``."""

    def __init__(
        self,
        system: System,
        measures: MeasureTable,
        laws: LawTable,
        sensors: SensorTable,
        options: Options,
        switches: Switches | None = None,
    ):
        self._switches = switches or {}
        self._system, self._measures, self._laws, self._sensors = system, measures, laws, sensors
        self._forward, self._integrated = options.analysis == "forward_dynamics", options.integrated
        self._duration = options.duration
        self.automatic: list[tuple[int, int]] = []  # as those of ``ForceTable``
        self.one_sided: list[int] = []  # laws of expressions that jump at a time and are undefined on a side of it
        self.steep: list[tuple[str, int]] = []  # expressions with an infinite slope at a time, and its place in theta
        self._tapes: list[_Tape] = []
        self._of_force: list[tuple[int, int]] = []
        self._entries: list[Entry] = []
        self._rows: list[int] = [0]
        self._known: dict[Any, int] = {}  # row of what was read before
        self._hidden, parts = system.model_file.derived.hidden, system.model_file.derived.parts
        self._nothing = set[str]()  # loads without a constraint equation, which are zero
        self._formulas = system.model_file.formulas
        self._parts = {name: written_out(part, self._formulas) for name, part in parts.items()}

    def add(self, moving: Moving) -> None:
        """Add the expression of a force, see ``forces.Moving``."""
        tape = _Tape(moving.measure)
        text, parts = written_out(moving.text, self._formulas), self._parts
        reading = read_by(text, parts)
        found = {name: self._read(name) for name in reading.names}
        if self._forward and self._integrated:  # laws of t may take the place of comparisons
            found.setdefault(TIME, None)
        numbers: list[str] = []
        places: dict[str, Any] = {}
        for name, entries in found.items():
            if name == TIME:
                numbers.append(LATE)
            elif name in _OWN:
                places[name] = _OWN[name]
            elif entries is None:
                numbers.append(name)
            else:
                read = tuple(tape.place(entry, row) for entry, row in entries)
                places[name] = read if len(read) > 1 else read[0]
        behind = OWN + len(tape.inputs)
        places |= {name: behind + k for k, name in enumerate(numbers)}
        tree = parse(text, vectors=True, motion=True)
        laws = {name: self._laws.number(name, name, of_time=False) for name in reading.laws}
        first, shifted = behind + len(numbers), list[Step]()
        if TIME in found:  # times of steps may depend on numbers, and so does t: see ``solve.breakpoints.law_rates``
            shifted, places[TIME] = steps_of(_SHIFTED, {TIME: _OWN[TIME], LATE: places[LATE]}, first, {})
        steps, result = steps_of(tree, places, first + len(shifted), parts)
        given = [Number(0.0) if name in (NATURAL, LATE) or name in self._nothing else Number(name) for name in numbers]
        if TIME in reading.names and self._forward:
            fixed = {behind + k: given[k] for k, name in enumerate(numbers) if name not in (NATURAL, LATE)}
            steps = self._with_breakpoints(steps, result, places[TIME], fixed, moving.path, laws)
        tape.write([*shifted, *steps], result, first, laws)
        for (signal, step), switch in self._switches.items():
            if signal == len(self._tapes):
                tape.code[step] = Operation.LAW
                tape.operand[step] = tape.steps, self._laws.add(moving.path, self._terms(switch)), 0
        tape.numbers = behind
        value = self._system.geometry.numbers
        tape.theta = self._system.theta.add(lambda: (*value.vector(given), *tape.constants))
        if NATURAL in numbers:
            self.automatic.append((tape.theta + numbers.index(NATURAL), moving.measure))
        self._tapes.append(tape)
        self._of_force.append((moving.force, moving.component))

    def _terms(self, switch: Switch) -> list[Term]:
        """A law of t with the values of a switch."""
        numbers = self._system.geometry.numbers

        def begins(time: float, rates: Mapping[str, float], at: Mapping[str, float]) -> tuple[Scalar, Scalar]:
            late = sum(rate * (numbers(Number(name)) - at[name]) for name, rate in rates.items())
            return time + late, EVERYWHERE

        found = [Term(Law.CONSTANT, 1, lambda: switch.values[:1])]
        for change, time, rates in zip(np.diff(switch.values).tolist(), switch.times, switch.rates, strict=True):
            at = {name: float(numbers(Number(name))) for name in rates}
            found.append(Term(Law.CONSTANT, 1, partial(tuple, (change,)), partial(begins, time, rates, at)))
        return found

    def _with_breakpoints(
        self, steps: list[Step], result: int, time: int, fixed: Mapping[int, Number], path: str, laws: dict[str, int]
    ) -> list[Step]:
        """The steps behind the place ``time`` of t, with laws that end steps of integrators where t passes a limit.

        ``fixed`` are numbers of the file by their places; laws are added to the table and to ``laws``. Where
        Runge-Kutta methods integrate, laws that are 1, 0 or -1 stand for comparisons and signs of lines in t. ALI3-P,
        which refuses laws of forces that jump, has a law beside those that let the expression bend: it changes nothing
        else. So has a largest or smallest value of such lines, or a magnitude, in Runge-Kutta methods.
        """
        known, found, beside = set(fixed), list[Step](), list[Step]()
        read = _Read(steps, result, time, fixed, self._system.geometry.numbers, self._duration)
        lines: dict[int, Line] = {time: lambda: (1.0, 0.0)}
        within = dict(lines)  # also where a line is held at a limit: it bends at another one as the line would

        def add(place: int, *terms: Term, pair: int = 0) -> str:
            name = f"{path} {place} {pair}"
            laws[name] = self._laws.add(path, terms)
            return name

        for place, (operation, operands) in enumerate(steps, time + 1):
            is_line = not known.issuperset(operands) and {*known, *lines}.issuperset(operands)
            bent = not known.issuperset(operands) and {*known, *within}.issuperset(operands)
            each = [within.get(k) or partial(read.line_of, k) for k in operands] if bent else []
            if is_line and operation.name in ("less", "less_equal", "sign"):
                signed = operation.name == "sign"
                line: Line = each[0] if signed else partial(_combined, "subtract", each)
                sides = partial(read.sides, place, (1.0, -1.0) if signed else (0.0, 1.0))
                if line()[0] and np.isfinite(line()).all():
                    limit = _limit(line())
                    near = BEYOND * read.size_of(limit)
                    ends = self._ends_steps(sides, limit, near)
                    if _is_steep(sides, limit, near):
                        self.steep.append((path, self._system.theta.add(_time(line))))
                        ends = ends and (self._integrated or read.has_rate(limit))
                    if ends and self._integrated:
                        name = add(place, *_switch(line, signed))
                        if not _is_defined_beyond(sides, limit, near):
                            self.one_sided.append(laws[name])
                        operation, operands = law(name), (time,)
                    elif ends:
                        beside.append((law(add(place, _until(line))), (time,)))
            elif bent and operation.name in ("max", "min", "abs"):
                pairs: list[Line] = [partial(_combined, "subtract", pair) for pair in combinations(each, 2)]
                for pair, line in enumerate(each if operation.name == "abs" else pairs):
                    if line()[0] and (self._integrated or read.bends(_limit(line()))):
                        term = _from(line) if self._integrated else _until(line)
                        beside.append((law(add(place, term, pair=pair)), (time,)))
                if len(held := [operand for operand in operands if operand in within]) == 1 and len(operands) == 2:
                    within[place] = within[held[0]]
            elif is_line and _is_linear(operation.name, [operand in lines for operand in operands]):
                lines[place] = within[place] = partial(_combined, operation.name, each)
            if known.issuperset(operands) and not operation.name.startswith("law:"):
                known.add(place)
            found.append((operation, operands))
        return found + beside

    def _ends_steps(self, sides: Callable[[Scalar], list[Any]], limit: Scalar, near: float) -> bool:
        """Whether steps end where an expression, whose ``sides`` are as from ``_Read.sides``, compares t with a limit.

        Those of ALI3-P do where the expression bends; those of Runge-Kutta methods also where it jumps, but not where a
        side that bends is undefined beyond, as (t - a)**1.5: runs with shifted limits (``solve.sides``) read it there.
        """
        bends = not _jumps(sides, limit, near)
        return _is_defined_beyond(sides, limit, near) if bends and self._integrated else bends or self._integrated

    def add_branchings(self, places: Sequence[str]) -> tuple[Branching, ...]:
        """Record the inputs of expressions that may jump; ``places`` are those of all expressions in the file."""
        automatic = {offset for offset, _ in self.automatic}  # numbers that are known at the start only
        starts, rows, found = dict(zip(self._rows, self._entries, strict=False)), dict[Any, int](), list[Branching]()

        def row_of(key: Any, entry: Entry) -> int:
            if key not in rows:
                rows[key] = self._sensors.add_unseen(entry)
            return rows[key]

        for u, (tape, place) in enumerate(zip(self._tapes, places, strict=True)):
            first = [max(start for start in starts if start <= row) for row in tape.inputs]
            known = automatic.isdisjoint(range(tape.theta, tape.theta + tape.steps - tape.numbers))
            loaded = any(starts[start].kind == Sensor.MULTIPLIER for start in first)
            switched = any(signal == u for signal, _ in self._switches)
            if not known or loaded or not (switched or set(tape.code) & set(WATCHED)):
                continue
            own = [NONE, NONE]
            if tape.measure != NONE:
                measures = (Entry(Sensor.MEASURE, "", index=tape.measure, order=order) for order in (0, 1))
                own = [row_of(("own", tape.measure, entry.order), entry) for entry in measures]
            read = [row_of(start, starts[start]) + row - start for start, row in zip(first, tape.inputs, strict=True)]
            found.append(Branching(u, place, (*own, *read)))
        return tuple(found)

    def table(self, forces: int) -> Signals | NoSignals:
        """The expressions as arrays, of a model with ``forces`` force elements."""
        nothing = np.zeros(0, np.int64)
        if not self._tapes:
            return NoSignals(nothing)
        of_force = np.full((forces, 3), NONE)
        for u, place in enumerate(self._of_force):
            of_force[place] = u
        tapes, loaded = self._tapes, any(entry.kind == Sensor.MULTIPLIER for entry in self._entries)
        sizes = [tape.steps + len(tape.code) for tape in tapes]
        found = table(
            Signals,
            of_force=of_force,
            measure=[tape.measure for tape in tapes],
            offset=np.cumsum([0, *sizes[:-1]]),
            numbers=[tape.numbers for tape in tapes],
            theta=[tape.theta for tape in tapes],
            first_step=np.cumsum([0, *(len(tape.code) for tape in tapes)]),
            steps=[tape.steps for tape in tapes],
            result=[tape.result for tape in tapes],
            code=[code for tape in tapes for code in tape.code],
            operand=np.array([row for tape in tapes for row in tape.operand], np.int64).reshape(-1, 3),
            first_input=np.cumsum([0, *(len(tape.inputs) for tape in tapes)]),
            input=[row for tape in tapes for row in tape.inputs],
            **{
                name: [int(getattr(entry, name)) for entry in self._entries]
                for name in ("kind", "body", "index", "order")
            },
            sensor_theta=[entry.theta for entry in self._entries],
            row=self._rows,
            bodies=nothing,  # ``model.coordinates.with_bodies`` finds them
            none=nothing,
        )
        return LoadedSignals(*found) if loaded else found

    def _read(self, name: str) -> list[tuple[Entry, int]] | None:
        """Entries that a name reads, with their rows in the record; None for t, parameters and constants."""
        file = self._system.model_file
        if (sensor := sensor_in(name, file.shown)) is not None:
            entry = self._as_measure(sensor, file.sensors[sensor])
            if entry is None:
                return None
            rows = self._row(("sensor", sensor), entry)
            every = [(entry, rows + k) for k in range(SENSOR_WIDTH[entry.kind])]
            return every if sensor == name else [every["xyz".index(name[-1])]]
        if "." in name:
            coordinate, order = coordinate_in(name)
            measure = self._measures.coordinate(coordinate, "")
            entry = Entry(Sensor.MEASURE, "", index=measure, order=order)
            return [(entry, self._row(("measure", measure, order), entry))]
        return None

    def _as_measure(self, name: str, spec: Any) -> Entry | None:
        """The entry of a sensor; a coordinate is read as a measure, which exists in natural coordinates, too."""
        if spec.type == "multiplier" and name in self._hidden and spec.constraint not in self._sensors.equations:
            self._nothing.add(name)
            return None
        if spec.type == "coordinate":
            measure = self._measures.coordinate(spec.coordinate, f"sensors.{name}.coordinate")
            return Entry(Sensor.MEASURE, "", index=measure, order=spec.derivative)
        if spec.type == "elastic_coordinate":
            column = self._sensors.entry(name, spec).index
            measure = self._measures.combination([column], lambda: (1.0,))
            return Entry(Sensor.MEASURE, "", index=measure, order=spec.derivative)
        return self._sensors.entry(name, spec)

    def _row(self, key: Any, entry: Entry) -> int:
        if key not in self._known:
            self._known[key] = self._rows[-1]
            self._entries.append(entry)
            self._rows.append(self._rows[-1] + SENSOR_WIDTH[entry.kind])
        return self._known[key]


class _Read(NamedTuple):
    """An expression: steps behind the place of t, the place of the value, and numbers of the file by their places.

    All methods but ``line_of`` evaluate it at random motions.
    """

    steps: list[Step]
    result: int
    time: int
    fixed: Mapping[int, Number]
    numbers: Numbers
    duration: float

    def size_of(self, t: Scalar) -> float:
        """Size of times, s: of the run, or of t where that is later."""
        return self.duration + abs(t)

    def line_of(self, place: int) -> tuple[Scalar, Scalar]:
        """The line of a place that depends on fixed numbers alone."""
        program, inputs = Program(self.time + 1, self.steps, place), [0.0] * (self.time + 1)
        for at, number in self.fixed.items():
            if program.reads(at):
                inputs[at] = self.numbers(number)
        return 0.0, program.value(inputs)[()]

    def sides(self, place: int, values: tuple[float, float], t: Scalar) -> list[Any]:
        """The expression at t, if its step at a place has either of two values."""
        inputs, steps = self._at_random(place, t)
        found = []
        for value in values:
            steps[place - self.time - 1] = constant(value), ()
            found.append(Program(self.time + 1, steps, self.result).value(inputs))
        return found

    def bends(self, t: Scalar) -> bool:
        """Whether the rate of the expression jumps at t."""
        rate = partial(self._rate, t)
        near, far = (np.abs(rate(late) - rate(-late)) for late in (0.1 * BEYOND, BEYOND))
        return bool(np.any((near > 0.5 * far) & (near > 1e-9 * np.abs(rate(BEYOND) + rate(-BEYOND)))))

    def has_rate(self, t: Scalar) -> bool:
        """Whether the expression has a finite rate at t, where one side of it has none."""
        rate = partial(self._rate, t)
        return bool(np.all(np.abs(rate(0.0)) <= np.fmax(np.abs(rate(-1e-11)), np.abs(rate(1e-11)))))

    def _rate(self, t: Scalar, late: float) -> Any:
        """The rate of the expression beside t, later by a part of the run."""
        inputs, steps = self._at_random(0, t + late * self.size_of(t) + 1e-30j)
        return np.imag(Program(self.time + 1, steps, self.result).value(inputs)) / 1e-30

    def _at_random(self, seed: int, t: Scalar) -> tuple[list[Any], list[Step]]:
        """Inputs at t, and the steps, with numbers in place of motions and laws."""
        random = np.random.default_rng(seed)
        inputs: list[Any] = list(random.uniform(0.5, 1.5, (self.time + 1, TRIES)))
        for at, number in self.fixed.items():
            inputs[at] = self.numbers(number)
        inputs[self.time] = inputs[_OWN[TIME]] = t
        return inputs, [
            (constant(random.uniform(0.5, 1.5)), ()) if operation.name.startswith("law:") else (operation, operands)
            for operation, operands in self.steps
        ]


# Expressions beside a limit: ``sides`` are as from ``_Read.sides``, ``near`` is a time that is short for them.


def _jumps(sides: Callable[[Scalar], list[Any]], limit: Scalar, near: float) -> bool:
    """Whether an expression jumps at a limit: its sides differ there as much as nearby."""
    before, behind = sides(limit)
    with np.errstate(invalid="ignore"):  # where both sides are infinite
        nearby = [np.abs(np.subtract(*sides(limit + late))) for late in (-near, near)]
    little = np.nan_to_num(0.01 * np.fmax(*nearby), posinf=0.0)
    return not np.isclose(before, behind, rtol=1e-9, atol=little).all()


def _is_defined_beyond(sides: Callable[[Scalar], list[Any]], limit: Scalar, near: float) -> bool:
    """Whether an expression is defined beside a limit as on it."""
    defined = np.isfinite(sides(limit))
    return all(np.isfinite(sides(limit + late))[defined].all() for late in (-near, near))


def _is_steep(sides: Callable[[Scalar], list[Any]], limit: Scalar, near: float) -> bool:
    """Whether the slope of either side is infinite at a limit: it grows on the way there."""
    for sign in (-1.0, 1.0):
        slopes = [np.abs(np.imag(sides(limit + sign * late + 1e-30j))) for late in (near, 0.01 * near)]
        if np.any(slopes[1] > 1.2 * slopes[0]):
            return True
    return False


# Lines in t: slope and value at t = 0, as functions of the numbers of the file.

Line = Callable[[], tuple[Scalar, Scalar]]


_LINES: dict[str, Callable[..., tuple[Scalar, Scalar]]] = {
    "add": lambda p, q: (p[0] + q[0], p[1] + q[1]),
    "subtract": lambda p, q: (p[0] - q[0], p[1] - q[1]),
    "negate": lambda p: (-p[0], -p[1]),
    "multiply": lambda p, q: (p[0] * q[1] + p[1] * q[0], p[1] * q[1]),
    "divide": lambda p, q: (p[0] / q[1], p[1] / q[1]),
}


def _combined(name: str, parts: Sequence[Line]) -> tuple[Scalar, Scalar]:
    with np.errstate(all="ignore"):  # as of 1/0 where an expression does not choose it
        return _LINES[name](*(part() for part in parts))


def _is_linear(name: str, reads: list[bool]) -> bool:
    """Whether an operation on lines, of which ``reads`` tells those that depend on t, gives a line."""
    return name in _LINES and not (name == "multiply" and all(reads)) and not (name == "divide" and reads[1])


def _limit(line: tuple[Scalar, Scalar]) -> Scalar:
    """When a line is zero; never where it has no slope, or is not finite, as by a division by zero."""
    slope, value = line
    with np.errstate(all="ignore"):
        limit = -value / slope if slope else EVERYWHERE
    return limit if np.isfinite(limit) else -EVERYWHERE if limit.real < 0.0 else EVERYWHERE


def _time(line: Line) -> Callable[[], tuple[Scalar]]:
    """A function of the numbers of the file: when a line is zero."""
    return lambda: (_limit(line()),)


def _negative(line: Line) -> tuple[Scalar, Scalar]:
    """The window of all times at which a line is negative."""
    slope, value = line()
    if not slope:
        return (-EVERYWHERE, EVERYWHERE) if value.real < 0.0 else (EVERYWHERE, EVERYWHERE)
    return (-EVERYWHERE, _limit(line())) if slope.real > 0.0 else (_limit(line()), EVERYWHERE)


def _switch(line: Line, signed: bool) -> list[Term]:
    """A law of t that is 1 where a line is negative and 0 elsewhere, or if ``signed`` -1 there and 1 elsewhere."""
    negative = partial(_negative, line)
    if signed:
        return [Term(Law.CONSTANT, 1, lambda: (1.0,)), Term(Law.CONSTANT, 1, lambda: (-2.0,), negative)]
    return [Term(Law.CONSTANT, 1, lambda: (1.0,), negative)]


def _until(line: Line) -> Term:
    """A law of t that bends where a line is zero: t less that time, before it."""
    limit = lambda: _limit(line())  # noqa: E731
    return Term(Law.POLYNOMIAL, 2, lambda: (-limit(), 1.0), lambda: (-EVERYWHERE, limit()))


def _from(line: Line) -> Term:
    """A law of value zero that begins where a line is zero; runs beside a jump (``solve.sides``) do not read it."""
    return Term(Law.SMOOTH_STEP, 4, lambda: (_limit(line()), EVERYWHERE, 0.0, 0.0))


class _Tape:
    """One expression; see ``layout.Signals``."""

    def __init__(self, measure: int):
        self.measure, self.inputs, self.constants = measure, list[int](), list[float]()
        self.numbers = self.theta = self.steps = self.result = 0
        self.code: list[int] = []
        self.operand: list[tuple[int, int, int]] = []

    def place(self, entry: Entry, row: int) -> int:
        """The input that a sensor reads: g or g' if the force acts along this measure."""
        if entry.kind == Sensor.MEASURE and entry.index == self.measure:
            return entry.order
        if row not in self.inputs:
            self.inputs.append(row)
        return OWN + self.inputs.index(row)

    def write(self, steps: list[Step], result: int, first: int, laws: dict[str, int]) -> None:
        """Translate steps; constants are appended to the numbers from index ``first`` on."""
        known: dict[int, Any] = {place: ("before", place) for place in range(first)}
        for place, (operation, operands) in enumerate(steps, first):
            found = [known[operand] for operand in operands]
            known[place] = self._step(operation, found, laws)
        self.steps = first + len(self.constants)
        at = {"before": 0, "constant": first, "step": self.steps}

        def settled(part: Any) -> int:
            return part if isinstance(part, int) else at[part[0]] + part[1]

        self.operand = [(settled(a), settled(b), settled(c)) for a, b, c in self.operand]
        self.result = settled(known[result])

    def _step(self, operation: Any, operands: list[Any], laws: dict[str, int]) -> Any:
        name = operation.name
        if name == "constant":
            return self._constant(operation.number)
        if name.startswith("law:"):
            return self._put(Operation.LAW, operands[0], laws[name[4:]])
        if name == "to":
            return self._power(operands[0], operation.number)
        if name == "log10":
            natural = self._put(Operation.LOG, operands[0])
            return self._put(Operation.DIVIDE, natural, self._constant(float(np.log(10.0))))
        code = CODES[name]
        if name == "select":
            return self._put(code, *operands)
        if name == "norm" and len(operands) == 1:
            return self._put(Operation.ABS, operands[0])
        found = operands[0]
        if len(operands) == 1:
            return self._put(code, found)
        for other in operands[1:]:  # the smallest, the largest, the norm of several
            found = self._put(code, found, other)
        return found

    def _power(self, base: Any, exponent: float) -> Any:
        """Integer powers become products, which are exact for a complex step from negative numbers."""
        if exponent != int(exponent) or abs(exponent) > 64:
            return self._put(Operation.POWER, base, self._constant(exponent))
        count, found = abs(int(exponent)), None
        while count:
            if count & 1:
                found = base if found is None else self._put(Operation.MULTIPLY, found, base)
            count >>= 1
            base = self._put(Operation.MULTIPLY, base, base) if count else base
        return found if exponent > 0 else self._put(Operation.DIVIDE, self._constant(1.0), found)

    def _constant(self, number: float) -> Any:
        self.constants.append(number)
        return ("constant", len(self.constants) - 1)

    def _put(self, code: Operation, a: Any, b: Any = 0, c: Any = 0) -> Any:
        self.code.append(int(code))
        self.operand.append((a, b, c))
        return ("step", len(self.code) - 1)
