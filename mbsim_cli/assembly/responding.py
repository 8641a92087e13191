"""Inputs and outputs of linear models, by the names that a model file or a command gives them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from mbsim_cli.assembly.parameters.numbers import Numbers
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.errors import UsageError, option
from mbsim_cli.model.problem import Names, Problem, Response
from mbsim_cli.solve.linear.state_space import inputs_of
from mbsim_cli.spec.analysis import FrequencyResponse
from mbsim_cli.spec.objectives import TRANSFERS
from mbsim_cli.spec.reading.suggestions import unknown


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
    """The problem of a frequency response, with its inputs, outputs and frequencies; records what is wrong."""
    file = system.model_file
    given = cast(FrequencyResponse, file.analysis)
    inputs: list[str] = []
    for index, name in enumerate(given.inputs):
        try:
            inputs += inputs_of(problem, [name], 0.0).names
        except UsageError as error:
            system.issue(f"analysis.inputs.{index}", _without_option(error, "inputs"))
    labels: list[str] = []
    try:
        labels, units, rows = outputs_of(problem.names, sensor_rows, given.outputs or None)
    except UsageError as error:
        system.issue("analysis.outputs", _without_option(error, "outputs"))
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
    response = Response(tuple(given.inputs), tuple(labels), tuple(units), tuple(rows), _frequencies(given, numbers))
    return replace(problem, response=response)


def _without_option(error: UsageError, name: str) -> str:
    return str(error).removeprefix(f"{option(name)}: ")


def _frequencies(given: FrequencyResponse, numbers: Numbers) -> np.ndarray:
    """Frequencies (F,) [Hz]."""
    if isinstance(given.frequencies, list):
        return np.array([numbers(each) for each in given.frequencies], dtype=float)
    ends = numbers(given.frequencies.from_), numbers(given.frequencies.to)
    space = np.geomspace if given.frequencies.scale == "log" else np.linspace
    return space(*ends, given.frequencies.count)
