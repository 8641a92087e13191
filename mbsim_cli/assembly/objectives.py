"""Objectives of a model file, and inputs and outputs of its linear models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.errors import UsageError, option, require_names
from mbsim_cli.model.problem import Names, Problem, Response, Split
from mbsim_cli.spec.analysis import FrequencyResponse
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import names as names_in
from mbsim_cli.spec.expressions.syntax import parse
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.objectives import MODAL, TRANSFERS
from mbsim_cli.spec.reading.messages import unknown
from mbsim_cli.system import cached_property

# objectives computed from another one: kind of that one, its integrand, and the expression that uses its value
_OF_ANOTHER = {
    "minimum": ("maximum", "-({})", "-maximum"),
    "rms": ("mean", "({})**2", "if(mean > 0, sqrt(if(mean > 0, mean, 1)), 0)"),  # with a derivative where it is zero
}
UNITS = {"phase": "rad", "frequency": "Hz", "real_part": "1/s", "imaginary_part": "rad/s"}


class Transfer(NamedTuple):
    """From an input to an output of a frequency response, at a frequency [Hz]; None: where its gain is largest."""

    input: str
    output: str
    frequency: complex | None
    frequency_rho: Sequence[float]  # (p,)


class Jump(NamedTuple):
    """A time at which signals may jump or have a corner, and spans of time points beside it, s, as of ``Split``."""

    time: complex
    time_rho: Sequence[float]  # (p,)
    before: tuple[float, float]
    behind: tuple[float, float]
    corner: bool = False


@dataclass(frozen=True)
class Objective:
    """One number per simulation; ``compile`` makes its integrand, with derivatives on arrays of times, when needed."""

    name: str
    unit: str
    kind: str  # one of spec.objectives.KINDS
    compile: Callable[[], Any]
    parameters: tuple[str, ...] = ()  # of gradients, p of them
    sensors: Mapping[str, slice] = field(default_factory=dict)  # rows of the record that each sensor fills
    sharpness: complex | None = None  # of a smooth maximum or minimum
    sharpness_rho: Sequence[float] = ()  # (p,)
    end: complex | None = None  # of the analysis, s, None at its last time point; of kind at the time itself
    end_rho: Sequence[float] = ()  # (p,)
    jumps: tuple[Jump, ...] = ()  # of integrands, in order of time
    operands: tuple["Objective", ...] = ()  # of an expression of objectives
    values: Mapping[str, complex] | None = None  # parameter values other than those of the file
    description: str = ""
    mode: int | str | None = None  # of a number of a mode, from 1, or largest
    transfer: Transfer | None = None  # of a gain or phase

    @cached_property
    def integrand(self) -> Any:
        """The compiled expression."""
        return self.compile()


def objectives_of(
    model_file: ModelFile, numbers: Any, sensor_rows: Mapping[str, slice], parameters: Sequence[str],
    end: Number | None = None, jumps: tuple[Jump, ...] = (), every: tuple[Jump, ...] = (), environment: Any = None,
) -> list[Objective]:  # fmt: skip
    """Objectives in the order of the file.

    ``end`` is the number of the file for the end of the analysis, None for its last time point; ``jumps`` are those
    at which integrals are split, as from ``jumps_in``, and ``every`` one counts for values at single times. An
    ``environment`` (``spec.Expressions``) may replace that of the file; ``numbers`` evaluates as ``Numbers``.
    """
    file, expressions = model_file.objectives, environment or model_file.expressions
    found: dict[str, Objective] = {}
    ends = {} if end is None else {"end": numbers(end), "end_rho": numbers.gradient(end, parameters)}
    widths = {sensor: rows.stop - rows.start for sensor, rows in sensor_rows.items()}

    def objective(name: str) -> Objective:
        if name in found:
            return found[name]
        spec = file[name]
        beside = jumps if spec.is_sum else every
        if spec.kind in ("final", "at") and model_file.analysis.type == "forward_dynamics":
            # positions are smooth at corners of forces
            beside = tuple(jump for jump in beside if not jump.corner)
        arguments: dict[str, Any] = {"sensors": sensor_rows, "jumps": beside, **ends}
        names, text = widths, model_file.integrand(spec.text, summed=spec.is_sum)
        if spec.sharpness is not None:
            arguments["sharpness"] = numbers(spec.sharpness)
            arguments["sharpness_rho"] = numbers.gradient(spec.sharpness, parameters)
        if spec.at is not None:
            arguments |= {"end": numbers(spec.at.time), "end_rho": numbers.gradient(spec.at.time, parameters)}
        if spec.kind == "expression":
            operands = [other for other in names_in(parse(spec.text, vectors=True)) if other in file]
            names = dict.fromkeys(operands, 1)
            arguments = {"operands": tuple(map(objective, operands))}
        elif spec.kind in MODAL:
            arguments["mode"] = getattr(spec, spec.kind)
        elif spec.kind in TRANSFERS:
            given = getattr(spec, spec.kind)
            f = given.frequency
            at = (None, ()) if f is None else (numbers(f), numbers.gradient(f, parameters))
            arguments["transfer"] = Transfer(given.input, given.output, *at)
        elif spec.kind in _OF_ANOTHER:
            kind, changed, of_it = _OF_ANOTHER[spec.kind]
            integrand = partial(expressions.integrand, changed.format(text), names)
            operand = Objective(kind, "", kind, integrand, tuple(parameters), **arguments)
            names, text, arguments["operands"] = {kind: 1}, of_it, (operand,)
        found[name] = Objective(
            name=name,
            unit=spec.unit or UNITS.get(spec.kind, ""),
            kind=spec.kind,
            compile=partial(expressions.integrand, text, names),
            parameters=tuple(parameters),
            description=spec.description or "",
            **arguments,
        )
        return found[name]

    return [objective(name) for name in file]


def jumps_in(problem: Problem, splits: Sequence[Split]) -> tuple[Jump, ...]:
    """Where signals may jump or have corners, with derivatives by the parameters of the problem."""
    return tuple(
        Jump(problem.theta[list(numbers)].sum(), problem.theta_rho[list(numbers)].sum(axis=0), before, behind, corner)
        for numbers, before, behind, corner in splits
    )


def expressed(model_file: ModelFile, rows: Mapping[str, slice], parameters: Sequence[str]) -> tuple[Objective, ...]:
    """Each number that sensors of type expression show, as a value of other sensors, in the order of their ``rows``."""
    widths = {sensor: part.stop - part.start for sensor, part in rows.items()}
    texts = [
        f"({model_file.integrand(name)}){component}"
        for name in rows
        if name in model_file.formulas
        for component in ((".x", ".y", ".z") if widths[name] > 1 else ("",))
    ]
    return tuple(
        Objective(text, "", "final", partial(model_file.expressions.integrand, text, widths), tuple(parameters), rows)
        for text in texts
    )


def outputs_of(
    names: Names, sensor_rows: Mapping[str, slice], outputs: Sequence[str] | None
) -> tuple[list[str], list[str], list[int]]:
    """Labels, units and rows of outputs: SENSOR, or SENSOR.component; for None all with rows. Raises UsageError."""
    labels, units, rows = [], [], []
    for name, unit, components in zip(names.sensors, names.sensor_units, names.sensor_components, strict=True):
        part = sensor_rows.get(name, slice(0, 0))
        for k, row in enumerate(range(part.start, part.stop)):
            label = components[k] if k < len(components) and part.stop - part.start > 1 else ""
            labels.append(f"{name}.{label}" if label else name)
            units.append(unit if isinstance(unit, str) else unit[k])
            rows.append(row)
    if outputs is None:
        return labels, units, rows
    picked: list[int] = []
    for output in outputs:
        found = [k for k, label in enumerate(labels) if label == output or label.startswith(f"{output}.")]
        if not found:
            raise UsageError(f"{option('outputs')}: {unknown('sensor', output, labels)}")
        picked += found
    return [labels[k] for k in picked], [units[k] for k in picked], [rows[k] for k in picked]


def responding(system: System, numbers: Numbers, problem: Problem, sensor_rows: Mapping[str, slice]) -> Problem:
    """The problem of a frequency response, with its inputs, outputs and frequencies; records issues."""
    from mbsim_cli.solve.linear.state_space import inputs_of

    file = system.model_file
    given = cast(FrequencyResponse, file.analysis)
    inputs: list[str] = []
    for index, name in enumerate(given.inputs):
        try:
            found = [*inputs, *inputs_of(problem, [name], 0.0).names]
            require_names(option("inputs"), found)  # F has the components F.x, F.y and F.z
            inputs = found
        except UsageError as error:
            system.issue(f"analysis.inputs.{index}", str(error).removeprefix(f"{option('inputs')}: "))
    labels: list[str] = []
    try:
        labels, units, rows = outputs_of(problem.names, sensor_rows, given.outputs or None)
    except UsageError as error:
        system.issue("analysis.outputs", str(error).removeprefix(f"{option('outputs')}: "))
    if not (labels or given.outputs):
        system.issue("analysis", "there are no sensors that could be outputs", "name one under sensors")
    if system.issues:
        return problem
    for name, objective in file.objectives.items():
        transfer = getattr(objective, objective.kind) if objective.kind in TRANSFERS else None
        for key, known in (("input", inputs), ("output", labels)) if transfer is not None else ():
            if getattr(transfer, key) not in known:
                message = unknown(key, getattr(transfer, key), known)
                system.issue(f"objectives.{name}.{objective.kind}.{key}", message)
    if isinstance(given.frequencies, tuple):
        frequencies = np.array([numbers(each) for each in given.frequencies], dtype=float)
    else:
        space = np.geomspace if given.frequencies.scale == "log" else np.linspace
        ends = numbers(given.frequencies.from_), numbers(given.frequencies.to)
        frequencies = space(*ends, given.frequencies.count)
    response = Response(tuple(given.inputs), tuple(labels), tuple(units), tuple(rows), frequencies)
    return replace(problem, response=response)
