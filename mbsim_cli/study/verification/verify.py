"""What ``mbsim check`` does with one file: the file's own references, and an independent numerical derivative."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.assembly.densities import field_gradients
from mbsim_cli.errors import AnalysisError, ModelError
from mbsim_cli.model.problem import Block
from mbsim_cli.study.analyses import ANALYSES
from mbsim_cli.study.assembling import build, load
from mbsim_cli.study.automatic_step import settled
from mbsim_cli.study.changed import values_at
from mbsim_cli.study.compiling import compile_kernels
from mbsim_cli.study.evaluation import Gradient, evaluate
from mbsim_cli.study.listener import Asking, Listener
from mbsim_cli.study.plan import Plan
from mbsim_cli.study.run import run
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.timing import Timing
from mbsim_cli.study.verification.agreement import agreements, stepped_objectives
from mbsim_cli.study.verification.comparison import Comparison, compare
from mbsim_cli.study.verification.differences import FIRST, LUCKY, derivative, scale_of

NUMERICAL_TOLERANCE = 1e-6  # of the derivative's size
UNCERTAIN = 1e-4  # largest estimated error of the numerical derivative that may excuse a difference
DIVERGES = 1e-2  # estimated relative error from which differences of analyses tell no derivative
ENOUGH = 1e-7  # relative error of the numerical derivative that needs no more analyses
UNDECIDED = "not decided by differences of analyses"
INSENSITIVE = 1e-4  # of what an objective adds up, and changes by: a derivative below this is compared with that


class Recorder:
    """Keeps the sensors that checks name, at every instant."""

    def __init__(self, rows: Mapping[str, slice]):
        self._rows = rows
        self._times: list[np.ndarray] = []
        self._values: dict[str, list[np.ndarray]] = {name: [] for name in rows}

    def add(self, block: Block) -> None:
        """Take the next instants in."""
        self._times.append(block.time.copy())
        for name, rows in self._rows.items():
            self._values[name].append(block.sensors[:, rows].copy())

    def at(self, name: str, time: float) -> np.ndarray:
        """Sensor (k,) at a time: an instant's own, or the cubic through the four instants around it."""
        times, values = np.concatenate(self._times), np.concatenate(self._values[name])
        step = times[-1] - times[-2] if len(times) > 1 else 1.0
        if not times[0] - 1e-6 * step <= time <= times[-1] + 1e-6 * step:
            raise AnalysisError(f"sensor {name} is checked at t = {time:g} s, but the analysis ends at {times[-1]:g} s")
        nearest = int(np.argmin(abs(times - time)))
        if abs(times[nearest] - time) < 1e-6 * step or len(times) < 4:
            return values[nearest]
        first = min(max(0, int(np.searchsorted(times, time)) - 2), len(times) - 4)
        near = times[first : first + 4]
        weights = [np.prod([(time - b) / (a - b) for b in near if b != a]) for a in near]
        return np.array(weights) @ values[first : first + 4]


def verify(path: Path, settings: Settings, seed: int, listener: Listener) -> list[Comparison]:
    """Run a model with its gradients and compare everything that can be compared; warn of what a run warns of."""
    model_file = load(path, settings)
    parameters = list(model_file.parameters) if settings.all_numbers else _wanted_parameters(model_file)
    settings, halving = settled(model_file, settings, parameters, listener)
    assembled = build(model_file, settings, parameters)
    plan = Plan(model_file, settings, settings.method or "none", assembled, assembled, halving)
    plan.compile(listener)
    recorder = Recorder(_sensor_rows(model_file, assembled))
    outcome = run(plan, Timing(), Asking(listener), recorder.add)
    results = outcome.results
    for warning in outcome.warnings:
        listener.warn(warning if warning.startswith(f"{path}:") else f"{path}: {warning}")
    found = list(_references(str(path), model_file, assembled, results, recorder))
    found += _by_elements(str(path), model_file, settings, assembled, results, listener)
    found += agreements(str(path), model_file, settings, assembled, results, listener)
    uncovered = {name: result for name, result in results.items() if name not in stepped_objectives(model_file)}
    undefined = next(iter(results.values())).undefined if results else {}
    reasons = {name: undefined.get(model_file.parameter_label(name)) for name in parameters}
    found += (_undefined(path, settings, model_file, name, why) for name, why in reasons.items() if why)
    defined = [name for name in parameters if not reasons[name]]
    if defined and uncovered:
        found += _direction(path, settings, model_file, parameters, defined, uncovered, seed)
    found += ANALYSES[assembled.problem.options.analysis].verify(str(path), assembled, seed)
    return found


def _wanted_parameters(model_file: Any) -> list[str]:
    """Parameters of the file's analysis, and those that its checks name, in the file's order."""
    chosen = model_file.analysis.sensitivity.parameters
    named = {name for check in model_file.checks.values() for name in check.gradient}
    return [name for name in model_file.parameters if chosen == "all" or name in chosen or name in named]


def _sensor_rows(model_file: Any, assembled: Any) -> dict[str, slice]:
    used = {check.sensor for check in model_file.checks.values() if check.sensor}
    return {name: rows for name, rows in assembled.sensor_rows.items() if name in used}


def _references(
    model: str, model_file: Any, assembled: Any, results: Mapping[str, Gradient], recorder: Recorder
) -> Iterator[Comparison]:
    value = model_file.expressions.value
    for name, check in model_file.checks.items():
        labels = {"model": model, "name": name, "kind": "benchmark", "source": check.source}
        tolerances = (value(check.relative_tolerance), value(check.absolute_tolerance))
        if check.objective is not None:
            yield from _objective(check, assembled, results[check.objective], value, tolerances, labels)
        elif check.sensor is not None:
            for entry in check.values:
                time = value(entry.time)
                entries = entry.value if isinstance(entry.value, list) else [entry.value]
                labels["objective"] = f"{check.sensor} at {time:g} s"
                yield compare(recorder.at(check.sensor, time), [value(e) for e in entries], *tolerances, **labels)
        elif not check.agreement:
            yield _structure(check, assembled, labels)


def _objective(
    check: Any, assembled: Any, result: Gradient, value: Any, tolerances: tuple[float, float], labels: dict[str, Any]
) -> Iterator[Comparison]:
    labels = labels | {"objective": check.objective}
    if check.value is not None:
        yield compare(result.value, value(check.value), *tolerances, **labels)
    names = assembled.problem.names.parameters
    for parameter, reference in check.gradient.items():
        computed, why = result.gradient[names.index(parameter)], result.undefined.get(parameter)
        row = compare(computed, value(reference), *tolerances, parameter=parameter, **labels)
        yield row if why is None else replace(row, message=f"d {check.objective} / d {parameter} is NaN: {why}")


def _by_elements(
    model: str, model_file: Any, settings: Settings, assembled: Any, results: Mapping[str, Gradient], listener: Listener
) -> Iterator[Comparison]:
    """Compare derivatives by elements of fields, which the adjoint gives."""
    checks = {name: check for name, check in model_file.checks.items() if check.field_gradient}
    if not checks:
        return
    if not assembled.fields:
        assembled = build(model_file, replace(settings, method="adjoint"), None)
        compile_kernels(assembled.problem, listener, objectives=assembled.objectives)
        results = evaluate(assembled.problem, assembled.objectives, listener=listener)
    value = model_file.expressions.value
    for name, check in checks.items():
        moved = results[check.objective].moved
        by_field = {} if moved is None else field_gradients(assembled.fields, moved)
        labels = {"model": model, "name": name, "kind": "benchmark", "source": check.source}
        labels |= {"objective": check.objective}
        tolerances = (value(check.relative_tolerance), value(check.absolute_tolerance))
        for field, elements in check.field_gradient.items():
            computed = by_field[field]
            if beyond := [element for element in elements if int(element) >= computed.size]:
                raise AnalysisError(f"field {field} has {computed.size} elements, none of number {beyond[0]}")
            reference = [value(number) for number in elements.values()]
            chosen = computed[[int(element) for element in elements]]
            yield compare(chosen, reference, *tolerances, parameter=field, **labels)


def _structure(check: Any, assembled: Any, labels: dict[str, Any]) -> Comparison:
    """Compare whole numbers: they agree or not.

    Equations that always hold, as out of the plane of a planar loop, are none that the solver sees, and do not count.
    """
    if check.mobility is not None:
        computed, reference, what = assembled.closing.mobility, check.mobility, "mobility"
    else:
        computed, reference = len(assembled.closing.redundant), check.redundant_constraints
        what = "redundant constraints"
    return compare(computed, reference, 0.0, 0.0, **labels | {"kind": "structure", "objective": what})


def _undefined(path: Path, settings: Settings, model_file: Any, parameter: str, why: str) -> Comparison:
    """Whether a parameter that is said to have no derivatives has none: analyses beside it fail, or do not converge."""
    scale = scale_of(model_file.expressions.scope()[parameter])
    source = f"whole analyses with {model_file.parameter_label(parameter)} changed by at most {FIRST * scale:.1e}"
    label = model_file.parameter_label(parameter)
    labels: dict[str, Any] = {"objective": None, "parameter": label, "source": source}
    numbers = dict.fromkeys(("computed", "reference", "relative_error", "tolerance"))
    row = Comparison(str(path), "no derivative", "undefined", **labels, **numbers, passed=True)
    try:
        found = derivative(lambda change: values_at(model_file, settings, {parameter: change}), scale)
    except (AnalysisError, ModelError):
        return replace(row, message=why)
    if np.any(found.error > DIVERGES * np.abs(found.derivative)):
        return replace(row, message=why)
    return replace(row, passed=False, message=f"{why}; but differences of whole analyses converge")


def _direction(
    path: Path,
    settings: Settings,
    model_file: Any,
    parameters: list[str],
    defined: list[str],
    results: Mapping[str, Gradient],
    seed: int,
) -> Iterator[Comparison]:
    """Compare the gradient along a random direction with differences of whole analyses, from the file on.

    The direction changes the ``defined`` ones of the parameters: beside the values of others there is no analysis.
    These analyses are assembled anew and share no tables with what they check, as further runs do: a number that is not
    known to follow a parameter would be missing from the derivative and from the difference alike. It takes some
    milliseconds each, a thousandth of what ``mbsim check`` takes.
    """
    scales = np.array([scale_of(model_file.expressions.scope()[name]) for name in defined])
    random = np.random.default_rng(seed)
    direction = scales * random.choice([-1.0, 1.0], len(scales)) * random.uniform(0.5, 1.0, len(scales))
    columns = [i for i, name in enumerate(model_file.objectives) if name in results]
    chosen = [parameters.index(name) for name in defined]
    values = np.array([result.value for result in results.values()])
    chords = np.zeros(len(values))  # slopes over whole changes: not zero where derivatives vanish

    def objectives(change: float) -> np.ndarray:
        moved = dict(zip(defined, change * direction, strict=True))
        found = values_at(model_file, settings, moved)[columns]
        np.maximum(chords, abs((found - values) / change), out=chords)
        return found

    numerical = derivative(objectives, 1.0, ENOUGH)
    for i, (name, result) in enumerate(results.items()):
        gradient = result.gradient[chosen]
        added = result.uncertainty.size if result.uncertainty else 0.0
        slight = INSENSITIVE * max(abs(result.value), added, float(chords[i]))
        scale = max(float(np.linalg.norm(gradient * direction)), slight)
        uncertain = LUCKY * float(numerical.error[i])
        row = compare(
            gradient @ direction,
            numerical.derivative[i],
            NUMERICAL_TOLERANCE,
            min(uncertain, UNCERTAIN * scale),
            scale,
            model=str(path),
            name="numerical derivative",
            kind="numerical",
            objective=name,
            parameter=f"direction {seed}",
            source=f"central differences of whole analyses along random direction {seed}, step {numerical.step:.1e}",
        )
        if not row.passed and abs(gradient @ direction - numerical.derivative[i]) <= uncertain:
            doubt = f"d {name} / d direction {seed}: {UNDECIDED}, which are uncertain by {uncertain / scale:.1e}"
            row = replace(row, message=doubt)
        yield row
