"""A run with its record: solve, watch, write, differentiate, report."""

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.cli import analysis, discretisation, signals
from mbsim_cli.cli.analysis import Gradient, Settings, Timing
from mbsim_cli.cli.contact import ContactHealth
from mbsim_cli.cli.differences import derivative, scale_of
from mbsim_cli.cli.finite import FiniteHealth
from mbsim_cli.cli.halving import settled
from mbsim_cli.cli.health import health_of
from mbsim_cli.cli.issues import failure_sentence
from mbsim_cli.cli.output import say
from mbsim_cli.cli.progress import bar
from mbsim_cli.cli.reactions import UnknownReactions
from mbsim_cli.cli.undefined import MultiplierHealth
from mbsim_cli.errors import AnalysisError, InputOutputError, ModelError
from mbsim_cli.io.provenance import Provenance
from mbsim_cli.io.skeleton import Parameters
from mbsim_cli.io.target import check_target
from mbsim_cli.io.writer import ObjectiveResult, ResultWriter
from mbsim_cli.model.problem import Block
from mbsim_cli.model.units import quotient

NO_BOUNDS = (float("nan"), float("nan"))


def record(
    path: Path, output: Path, settings: Settings, *, quiet: bool, force: bool, begun: float | None = None
) -> dict[str, Any]:
    """Run a model and write its result; return what ``run --json`` prints. ``begun`` is when the command was called."""
    timing = Timing()
    with timing.phase("load", begun):
        model_file = analysis.load(path, settings)
        method = analysis.method_of(model_file, settings)
        named = analysis.build(model_file, settings, None if method != "none" else [])
        guard: dict[str, Any] = {
            "force": force,
            "protected": (*map(Path, model_file.source.texts), *model_file.source.tables),
        }
        target = check_target(output, **guard)
    with timing.phase("solve"):
        settings, halving = settled(model_file, settings, None if method == "ddm" else [], quiet)
    timing.move(halving.compiling if halving else 0.0, "solve", "compile")
    with timing.phase("load"):
        if halving:
            named = analysis.build(model_file, settings, None if method != "none" else [])
        assembled = named if method != "fd" else analysis.build(model_file, settings, [])
    with timing.phase("compile"):
        analysis.compile_kernels(assembled.problem, quiet)
        analysis.compile_objectives(assembled.objectives)

    health = health_of(assembled.problem, assembled.objectives)
    resolution = analysis.resolution_of(assembled.problem)
    contact = ContactHealth(assembled.problem, assembled.contacts)
    unknown = UnknownReactions(assembled.problem, assembled.objectives, assembled.sensor_rows, assembled.overdetermined)
    finite = FiniteHealth(assembled.sensor_rows)
    multipliers = MultiplierHealth(assembled.problem, assembled.objectives)
    steps: dict[str, Any] = {}
    with signals.shield():  # from the first byte on, so that no file is left behind
        with timing.phase("write"):
            writer = _writer(target, model_file, named, assembled, settings, guard)
        for left in writer.removed:
            say(f"mbsim: removed {left}, which a run that was killed had left", quiet)
        try:
            signals.poll()
            watch = (health.add, contact.add, unknown.add, finite.add, multipliers.add)
            results = _solve(assembled, writer, watch, resolution, timing, quiet)
            if method == "fd":
                results, steps = _differences(path, settings, model_file, named, results, timing, quiet)
            results = halving.judged(results) if halving else results
            with timing.phase("write"):
                writer.objectives(_stored(assembled.objectives, results, method, multipliers))
                writer.multipliers(multipliers.descriptions, multipliers.free, multipliers.sensors)
            warnings = [*assembled.warnings, *health.warnings, *contact.warnings, *unknown.warnings]
            warnings += multipliers.warnings
            warnings += finite.warnings(unknown.sensors)
            warnings += discretisation.warnings(resolution, results, named.parameters, assembled.problem.options)
            resolved = discretisation.of_motion(resolution) | (halving.report if halving else {})
            with timing.phase("write"):
                writer.finish(asdict(timing), warnings, health.work, resolved)
        except (signals.Stopped, AnalysisError) as stop:
            _keep(writer, stop)
            raise
        except BaseException:
            writer.discard()
            raise
    report = _report(path, output, settings, named, assembled, results, method, health, multipliers, timing)
    report |= {"discretisation": resolved, "warnings": warnings}
    return report | ({"difference_steps": steps} if method == "fd" else {})


def _writer(
    target: Path, model_file: Any, named: Any, assembled: Any, settings: Settings, guard: dict[str, Any]
) -> ResultWriter:
    problem = assembled.problem
    inverse = problem.options.analysis == "inverse_dynamics"
    source = model_file.source
    provenance = Provenance(
        command=shlex.join(["mbsim", *sys.argv[1:]]),
        model_text=source.text,
        model_file=source.file,
        included={name: text for name, text in source.texts.items() if name != source.file},
        overrides=settings.overrides,
        options=asdict(problem.options),
    )
    return ResultWriter(
        target,
        named.problem.names,
        assembled.sensor_rows,
        Parameters(
            [parameter.value for parameter in named.parameters],
            [parameter.bounds or NO_BOUNDS for parameter in named.parameters],
        ),
        provenance,
        every=problem.options.output_interval,
        sensitivities=problem.options.sensitivity == "ddm" if inverse else problem.theta_rho.shape[1] > 0,
        inverse=inverse,
        **guard,
    )


def _solve(
    assembled: Any,
    writer: ResultWriter,
    watch: Sequence[Callable[[Block], None]],
    resolution: Any,
    timing: Timing,
    quiet: bool,
) -> dict[str, Gradient]:

    def write(block: Block) -> None:
        with timing.phase("write"):
            writer.append(block)

    with timing.phase("solve"), bar("solving", assembled.problem.options.duration, quiet) as show:
        consumers = (write, *watch, lambda block: show(float(block.time[-1])) if len(block.time) else None)
        return analysis.evaluate(assembled.problem, assembled.objectives, consumers, resolution)


def _differences(
    path: Path,
    settings: Settings,
    model_file: Any,
    named: Any,
    results: dict[str, Gradient],
    timing: Timing,
    quiet: bool,
) -> tuple[dict[str, Gradient], dict[str, Any]]:
    """Gradients by central differences over whole runs; also the steps chosen and the errors estimated."""
    columns, steps = [], {}
    undefined: dict[str, str] = {}
    with timing.phase("solve"), bar("differences", len(named.parameters), quiet) as show:
        for done, parameter in enumerate(named.parameters, 1):
            name = parameter.name

            def objectives(change: float, name: str = name) -> np.ndarray:
                return analysis.values_at(path, settings, model_file, {name: change})

            try:
                found = derivative(objectives, scale_of(parameter.value))
            except (AnalysisError, ModelError) as error:
                undefined[name] = f"an analysis beside this value fails: {failure_sentence(error)}"
                columns.append(np.full(len(results), np.nan))
                show(done)
                continue
            columns.append(found.derivative)
            steps[name] = {"step": found.step, "estimated_error": dict(zip(results, found.error.tolist(), strict=True))}
            say(f"central differences: {name} with steps down to {found.step:.2e}", quiet)
            show(done)
    gradients = np.array(columns).reshape(len(columns), len(results)).T
    pairs = zip(results.items(), gradients, strict=True)
    return {name: Gradient(result.value, g, result.uncertainty, undefined) for (name, result), g in pairs}, steps


def _stored(
    objectives: Any, results: dict[str, Gradient], method: str, multipliers: MultiplierHealth
) -> list[ObjectiveResult]:
    return [
        ObjectiveResult(
            o.name, r.value, o.unit, r.gradient, method, o.description, r.uncertainty, r.undefined, multipliers.flags(o)
        )
        for o, r in ((o, results[o.name]) for o in objectives)
    ]


def _keep(writer: ResultWriter, stop: signals.Stopped | AnalysisError) -> None:
    """Keep what was computed, and say where."""
    try:
        kept = writer.keep_partial(str(stop))
    except InputOutputError as error:  # the reason to stop is what ends the command
        say(f"mbsim: {error}")
        return
    if kept:
        stop.__dict__["partial"] = str(kept)  # for the JSON object that reports the failure
        say(f"mbsim: the result up to t = {writer.end:g} s is kept in {kept}")


def _report(
    path: Path,
    output: Path,
    settings: Settings,
    named: Any,
    assembled: Any,
    results: dict[str, Gradient],
    method: str,
    health: Any,
    multipliers: MultiplierHealth,
    timing: Timing,
) -> dict[str, Any]:
    options, every = assembled.problem.options, assembled.every_parameter
    return {
        "model": str(path),
        "status": "done",
        "analysis": options.analysis,
        "formulation": options.formulation,
        "integrator": options.integrator if options.open_tree else None,
        "sensitivity": method,
        "step": options.step,
        "steps": health.steps,
        "output": str(output),
        "overrides": dict(settings.overrides),
        "parameters": {p.name: {"value": p.value, "unit": p.unit, "bounds": p.bounds} for p in every},
        "objectives": {
            o.name: _objective(o.unit, results[o.name], named.parameters) | {"flags": multipliers.flags(o)}
            for o in assembled.objectives
        },
        "undetermined_multipliers": multipliers.free,
        "timing": asdict(timing),
        "diagnostics": health.report,
    }


def _objective(unit: str, result: Gradient, parameters: Sequence[Any]) -> dict[str, Any]:
    """Value and derivatives of an objective, with their units."""
    derivatives = list(zip(parameters, map(float, result.gradient), strict=False))  # none without a method
    return {
        "value": result.value,
        "unit": unit,
        "gradient": {parameter.name: number for parameter, number in derivatives},
        "gradient_units": {parameter.name: quotient(unit, parameter.unit) for parameter, _ in derivatives},
        "discretisation": discretisation.of_objective(result, parameters),
        "undefined": dict(result.undefined),
    }
