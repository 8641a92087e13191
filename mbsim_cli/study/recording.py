"""Runs an analysis and stores its result, in a file (``record``) or in memory (``MemoryRecord``)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError, InputOutputError, leaving
from mbsim_cli.io.findings import FieldOnMesh, History
from mbsim_cli.io.layout import KeptRows, Origin, Parameters, Stored
from mbsim_cli.io.provenance import Provenance
from mbsim_cli.io.target import check_target
from mbsim_cli.io.writer import Findings, ObjectiveResult, ResultWriter
from mbsim_cli.model.problem import Block
from mbsim_cli.model.units import in_words
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.study.assembling import Settings, load
from mbsim_cli.study.diagnostics.discretisation import values_of
from mbsim_cli.study.diagnostics.health import ModalHealth, ResponseHealth
from mbsim_cli.study.listener import Interrupted, Listener
from mbsim_cli.study.plan import Plan, Timing, plan_run
from mbsim_cli.study.run import Outcome, run

NO_BOUNDS = (float("nan"), float("nan"))


def record(
    path: Path,
    output: Path,
    settings: Settings,
    *,
    command: str,
    listener: Listener,
    force: bool,
    begun: float | None = None,
) -> dict[str, Any]:
    """Run a model file and write the result file; return the report that ``run --json`` prints.

    ``command`` is stored in the result. ``begun`` is the start of the command by ``perf_counter``, s. Raises
    ModelError, AnalysisError, UsageError and InputOutputError.
    """
    timing = Timing()
    with timing.phase("load", begun):
        model_file = load(path, settings)
        plan, target, guard = plan_for_file(output, model_file, settings, timing, listener, force=force)
        plan = plan._replace(second_run=True)
    with timing.phase("compile"):
        plan.compile(listener)
    with listener.shield():  # before the file is created, so that an interruption removes it
        outcome = recorded(plan, target, guard, command, timing, listener)
    return {"model": str(path), "output": str(output)} | outcome.report


def plan_for_file(
    output: Path,
    model_file: ModelFile,
    settings: Settings,
    timing: Timing,
    listener: Listener,
    by: Sequence[str] | None = None,
    *,
    force: bool,
) -> tuple[Plan, Path, dict[str, Any]]:
    """Plan a run whose result goes to a file; also the resolved file, and the ``guard_of`` the model.

    The file is checked twice: before the runs that an automatic step takes, and when the model's tables are known.
    """
    check_target(output, **guard_of(model_file, force))
    plan = plan_run(model_file, settings, timing, listener, by)
    guard = guard_of(model_file, force)
    return plan, check_target(output, **guard), guard


def guard_of(model_file: ModelFile, force: bool) -> dict[str, Any]:
    """Keyword arguments of ``check_target`` and ``ResultWriter`` that protect the model's own files."""
    return {"force": force, "protected": (*map(Path, model_file.source.texts), *model_file.files)}


def recorded(
    plan: Plan,
    target: Path,
    guard: dict[str, Any],
    command: str,
    timing: Timing,
    listener: Listener,
    history: History | None = None,
) -> Outcome:
    """Run a plan and write its result file meanwhile; ``guard`` as from ``guard_of``.

    ``history`` holds the designs of the optimisation whose best design this is. A failed or interrupted run keeps a
    partial result.
    """
    with timing.phase("write"):
        writer = ResultWriter(target, origin_of(plan, command), **guard)
    for partial in writer.removed:
        listener.say(f"mbsim: removed {partial}, which a run that was killed had left")

    def write(block: Block) -> None:
        with timing.phase("write"):
            writer.append(block)

    try:
        listener.poll()
        outcome = run(plan, timing, listener, write)
        with timing.phase("write"):
            writer.findings(findings_of(outcome)._replace(history=history))
        with timing.phase("write"):  # another one, so that the timing that is written holds the first
            writer.finish(asdict(timing))
    except (Interrupted, AnalysisError) as stop:
        _keep(writer, stop, listener)
        raise
    except BaseException:
        writer.discard()
        raise
    return outcome


def origin_of(plan: Plan, command: str) -> Origin:
    """Content of the result file that is known before the run: names, parameters, options and provenance."""
    problem, source = plan.assembled.problem, plan.model_file.source
    options = problem.options
    provenance = Provenance(
        command=command,
        title=plan.model_file.name or "",
        model_text=source.text,
        model_file=source.file,
        included={name: text for name, text in source.texts.items() if name != source.file},
        overrides=plan.settings.overrides,
        options={name: value for name, value in asdict(options).items() if value is not None},
    )
    parameters = Parameters([p.value for p in plan.parameters], [p.bounds or NO_BOUNDS for p in plan.parameters])
    names = plan.named.problem.names, plan.assembled.sensor_rows
    every = options.output_interval
    times = round(options.duration / options.step) // every + 2
    # derivatives by all numbers are too many
    sensitivities = not plan.settings.all_numbers and plan.analysis.stores_sensitivities(problem)
    return Origin(*names, parameters, provenance, every, times, sensitivities, plan.analysis.inverse)


def findings_of(outcome: Outcome) -> Findings:
    """Content of the result file that is known after the run, without the history of an optimisation."""
    plan, diagnostics = outcome.plan, outcome.diagnostics
    multipliers, reactions, health = diagnostics.multipliers, diagnostics.reactions, diagnostics.health
    objectives, fields, values = [], [], values_of(plan.parameters)
    for objective in plan.assembled.objectives:
        name, result = objective.name, outcome.results[objective.name]
        numbers = result.value, objective.unit, result.gradient, plan.method, objective.description
        errors = result.uncertainty.reported(result.value, result.gradient, values)
        of_fields = outcome.by_fields.get(name, {}), outcome.estimates.by_fields.get(name, {})
        flags = multipliers.flags(objective)
        objectives.append(ObjectiveResult(name, *numbers, errors, result.undefined, flags, *of_fields))
    for field in plan.assembled.fields:  # on the meshes of their bodies
        mesh = field.body.mesh()
        assert mesh is not None  # bodies with fields have one
        values = mesh.fields[field.name]
        fields.append(FieldOnMesh(field.name, values, field.body.name, mesh.points, mesh.cells, mesh.kind))
    free = multipliers.descriptions, multipliers.free, multipliers.sensors | reactions.sensors
    of_run = outcome.warnings, dict(health.work), outcome.discretisation
    modes = health.found if isinstance(health, ModalHealth) else None
    responses = health.found if isinstance(health, ResponseHealth) else None
    return Findings(objectives, fields, *free, *of_run, modes, responses)


def _keep(writer: ResultWriter, stop: Interrupted | AnalysisError, listener: Listener) -> None:
    """Keep the partial result and report its path."""
    try:
        partial = writer.keep_partial(str(stop))
    except InputOutputError as error:  # the reason to stop is what ends the command
        listener.warn(f"mbsim: {error}")
        return
    if partial:
        leaving(stop, partial=str(partial))
        listener.warn(f"mbsim: the result up to t = {writer.end:g} s is kept in {partial}")


COMMAND = "mbsim_cli.run"


class MemoryRecord:
    """The result of a run in memory: the content that its result file would have.

    Every ``every``-th time point is stored, and the last one; None takes the model file's output interval.
    """

    def __init__(self, plan: Plan, every: int | None):
        origin = origin_of(plan, COMMAND)
        self._origin = origin = origin if every is None else origin._replace(every=every)
        self._protected = guard_of(plan.model_file, False)["protected"]  # files of the model, which nothing replaces
        self._rows = {row.path: row for row in origin.variables}
        self._variables: dict[str, Stored] = {}  # of a record that was pickled, in place of rows
        self._kept = KeptRows(origin.every)
        self.paths: Sequence[str] = ["time", *self._rows]  # of all variables
        self.axes: Mapping[str, Sequence[str]] = origin.axes  # labels along all but time

    def add(self, block: Block) -> None:
        """Copy the time points of the next block."""
        self._kept.add([block.time, *(row.of(block) for row in self._rows.values())])

    def end(self, outcome: Outcome) -> None:
        """Store what follows from the whole run: objectives, modes, warnings, timing."""
        self._findings, self._timing = findings_of(outcome), asdict(outcome.timing)

    def variable(self, path: str) -> Stored:
        """A variable by its path, one of ``paths``."""
        if path in self._variables:
            return self._variables[path]
        if path == "time":
            return Stored(self._kept.column(0), ("time",), "s")
        row = self._rows[path]
        values = self._kept.column(self.paths.index(path))
        return Stored(values, ("time", *row.axes), in_words(row.unit), () if row.by else row.units)

    @property
    def by_fields(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Derivatives (ne,) by the elements of fields, by objective and field."""
        return {objective.name: objective.by_fields for objective in self._findings.objectives}

    def save(self, path: Path, *, force: bool) -> None:
        """Write the result file of the run; raises InputOutputError and UsageError."""
        target = check_target(path, force=force, protected=self._protected)
        writer = ResultWriter(target, self._origin, force, self._protected)
        try:
            writer.whole([self.variable(name).values for name in self.paths])
            writer.findings(self._findings)
            writer.finish(self._timing)
        except BaseException:
            writer.discard()
            raise

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the stored arrays without the functions that select variables from blocks."""
        variables = {path: self.variable(path) for path in self.paths}
        return vars(self) | {"_variables": variables, "_rows": {}, "_kept": KeptRows(1)}
