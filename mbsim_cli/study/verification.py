"""``mbsim check``: references of the file, other methods, differences along a direction, derivatives of torques."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.densities import field_gradients
from mbsim_cli.assembly.problem import Assembled
from mbsim_cli.errors import AnalysisError, ModelError
from mbsim_cli.io.layout import KeptRows
from mbsim_cli.model.layout import STEP
from mbsim_cli.model.problem import INTEGRATED, Block, Motion, Problem
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.objectives import Check
from mbsim_cli.spec.parameters import with_values
from mbsim_cli.study.assembling import Settings, build, load
from mbsim_cli.study.compiling import compile_kernels
from mbsim_cli.study.diagnostics.discretisation import SHORTER_STEP
from mbsim_cli.study.diagnostics.undetermined import GRAZES, UnknownReactions
from mbsim_cli.study.evaluation import Gradient, accumulated, evaluate, require_finite
from mbsim_cli.study.listener import Listener, PollOnly
from mbsim_cli.study.objectives import stepped
from mbsim_cli.study.plan import Timing, added, located, plan_run, values_at
from mbsim_cli.study.quadrature import around, continuation
from mbsim_cli.study.run import run
from mbsim_cli.study.streams import ROUND_OFF

# Numerical derivatives of whole analyses, by central differences extrapolated to a vanishing step (Ridders 1982).

FIRST = 1e-3  # of the argument's scale
ALONE = 1e-2  # of a parameter's scale, at which the file says whether the parameter can change without others
SHRINK = 4.0
LEVELS = 4  # two analyses each
ENOUGH = 1e-8  # relative error that needs no further level
LUCKY = 10.0  # what an error may be over its estimate: where noise decides, the smallest of several is a lucky one


class Difference(NamedTuple):
    """Derivatives of k functions, an estimate of their error, and the smallest step used, in the argument's unit."""

    derivative: np.ndarray  # (k,)
    error: np.ndarray  # (k,)
    step: float


def derivative(function: Callable[[float], np.ndarray], scale: float, enough: float = ENOUGH) -> Difference:
    """Differentiate functions (k,) of one argument at zero; ``scale`` is a change of the argument that matters.

    Each level shrinks the step and extrapolates with all before it; for every function the entry of the tableau with
    the smallest estimated error is taken, so that neither the truncation of long steps nor the noise of short ones
    decides.
    """
    before: list[np.ndarray] = []  # row of the tableau
    for level in range(LEVELS):
        step = FIRST * scale / SHRINK**level
        # the next row: the error of central differences is a series in the square of the step
        row, factor = [(function(step) - function(-step)) / (2 * step)], 1.0
        if level == 0:
            best, error = row[0], np.full_like(row[0], np.inf)
        for older in before:
            factor *= SHRINK**2
            row.append((factor * row[-1] - older) / (factor - 1))
            change = np.maximum(abs(row[-1] - row[-2]), abs(row[-1] - older))
            best = np.where(change < error, row[-1], best)
            error = np.minimum(change, error)
        if level > 0 and np.all(error <= enough * abs(best)):
            break
        before = row
    return Difference(best, error, step)


def scale_of(value: float) -> float:
    """Size of a change of a parameter that matters: the parameter's own, or one where it is zero."""
    return abs(value) or 1.0


class Analysed(NamedTuple):
    """A model file with one analysis of it, and the objectives that this found."""

    path: Path
    file: ModelFile
    settings: Settings  # with a step in seconds
    assembled: Assembled
    results: Mapping[str, Gradient]
    divided: bool = False  # whether steps end where forces begin: gradients hold these times, and differences move them

    def tolerances(self, check: Check) -> tuple[float, float]:
        """Relative and absolute tolerance of a check."""
        value = self.file.expressions.value
        return value(check.relative_tolerance).real, value(check.absolute_tolerance).real


class Recorder:
    """Keeps some sensors, by their rows of the record, at every time point."""

    def __init__(self, rows: Mapping[str, slice]):
        self._rows, self._kept = rows, KeptRows(1)

    def add(self, block: Block) -> None:
        """Add the next time points."""
        self._kept.add([block.time, *(block.sensors[:, rows] for rows in self._rows.values())])

    def at(self, name: str, time: float) -> np.ndarray:
        """Sensor (k,) at a time: a time point's own, or that of the cubic through the four around it."""
        times, values = self._kept.column(0), self._kept.column(1 + list(self._rows).index(name))
        step = times[-1] - times[-2] if len(times) > 1 else 1.0
        if not times[0] - 1e-6 * step <= time <= times[-1] + 1e-6 * step:
            raise AnalysisError(f"sensor {name} is checked at t = {time:g} s, but the analysis ends at {times[-1]:g} s")
        nearest = int(np.argmin(abs(times - time)))
        if abs(times[nearest] - time) < 1e-6 * step:
            return values[nearest]
        near = around(times, time)
        return continuation(times[near], time).value @ values[near]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A row of ``mbsim check``: a computed number or vector, and its expected value.

    ``relative_error`` and ``tolerance`` are absolute where the reference is zero; a failure has a ``message`` alone.
    ``source`` says where the reference comes from. One that is not ``decided`` has a reference that is too uncertain to
    show a failure, and passes; its message says how uncertain.
    """

    model: str
    name: str
    kind: str  # benchmark | structure | agreement | numerical | undefined | failure
    objective: str | None = None
    parameter: str | None = None
    computed: float | list[float] | None = None
    reference: float | list[float] | None = None
    relative_error: float | None = None
    tolerance: float | None = None
    passed: bool
    source: str | None = None
    message: str | None = None
    decided: bool = True


def compare(computed: Any, reference: Any, relative: float, absolute: float, scale: float | None = None, **labels: Any):
    """Compare numbers, or vectors by the largest difference of a component relative to the reference's length.

    The error may be ``absolute + relative * scale``; ``scale`` is the size of the reference unless given.
    """
    computed, reference = np.asarray(computed, float), np.asarray(reference, float)
    error = float(np.max(np.abs(computed - reference), initial=0.0))
    size = float(np.linalg.norm(reference)) if scale is None else scale
    allowed, unit = absolute + relative * size, size or 1.0
    passed = bool(error <= allowed)  # NaN is not
    labels |= {"computed": computed.tolist(), "reference": reference.tolist()}
    return Comparison(relative_error=error / unit, tolerance=allowed / unit, passed=passed, **labels)


def unless_undecided(row: Comparison, uncertain: float, scale: float, what: str) -> Comparison:
    """The row, unless it failed by no more than its reference is ``uncertain`` by."""
    if row.passed or row.relative_error is None or not row.relative_error * (scale or 1.0) <= uncertain:
        return row
    message = f"{what}: not decided by differences of analyses, which are uncertain by {uncertain / (scale or 1.0):.1e}"
    return replace(row, passed=True, decided=False, message=message)


# Derivatives of torques against differences of torques, in random directions at a few time points.

TOLERANCE = 1e-7  # of the derivative's size
UNCERTAIN_TORQUES = 1e-5  # largest estimated error of the numerical derivative that may excuse a difference
TIME_POINTS = 3
KINDS = ("position", "velocity", "acceleration")


def torque_directions(model: str, assembled: Assembled, seed: int) -> Iterator[Comparison]:
    """Compare derivatives of torques, which the adjoint has not, by coordinates and parameters in random directions."""
    from mbsim_cli.solve.inverse.analysis import InverseAnalysis
    from mbsim_cli.solve.inverse.torques import InverseDynamics

    problem: Problem = assembled.problem
    if problem.options.sensitivity == "adjoint":
        return
    random = np.random.default_rng(seed)
    count = round(problem.options.duration / problem.options.step) + 1
    time = np.sort(random.choice(count, min(TIME_POINTS, count), replace=False)) * problem.options.step
    block = InverseAnalysis(problem).at(time)
    weight = random.choice([-1.0, 1.0], block.torque.shape[1]) * random.uniform(0.5, 1.0, block.torque.shape[1])
    labels: dict[str, Any] = {"model": model, "name": "numerical derivative", "kind": "numerical"}
    labels["objective"] = "random sum of torques"
    solver = InverseDynamics(replace(problem, theta_rho=problem.theta_rho[:, :0]), matrices=False)
    motion = Motion(*block[:4])

    # weighted sums of torques (T,) a change along a direction beside the motion, and beside the parameters
    def beside_motion(kind: str, direction: np.ndarray, change: float) -> np.ndarray:
        moved = motion._replace(**{kind: np.ascontiguousarray(getattr(motion, kind) + change * direction)})
        return solver.block(moved).torque @ weight

    def moved(direction: np.ndarray, change: float) -> Problem:
        changes = {p.key: change * d for p, d in zip(assembled.parameters, direction, strict=True)}
        return assembled.at(added(assembled.model_file, changes)).problem

    def beside_parameters(direction: np.ndarray, change: float) -> np.ndarray:
        other = moved(direction, change)
        plain = replace(other, options=replace(other.options, sensitivity="none"))
        return InverseAnalysis(plain).at(time).torque @ weight

    asked: dict[str, tuple[np.ndarray, Callable[[float], np.ndarray]]] = {}  # computed derivatives, torques
    for kind in KINDS:
        direction = np.array(random.uniform(-1.0, 1.0, block.position.shape[1]))
        computed = getattr(block, f"by_{kind}") @ direction @ weight
        asked[f"{kind} of all coordinates"] = computed, partial(beside_motion, kind, direction)
    if assembled.parameters:
        scales = np.array([scale_of(parameter.value) for parameter in assembled.parameters])
        along: np.ndarray = scales * random.uniform(-1.0, 1.0, len(scales))
        try:
            for change in (FIRST, -FIRST):
                moved(along, change)
        except ModelError:
            file = assembled.model_file
            without = refused(file, (parameter.key for parameter in assembled.parameters), assembled.at)
            yield from not_compared(model, file, without)
            along[[parameter.key in without for parameter in assembled.parameters]] = 0.0
        asked["all parameters"] = weight @ block.by_parameter @ along, partial(beside_parameters, along)
    for parameter, (computed, torques) in asked.items():
        numerical = derivative(torques, 1.0)
        for k, at in enumerate(time):
            reference, uncertain = float(numerical.derivative[k]), LUCKY * float(numerical.error[k])
            size = max(abs(reference), 1e-3 * float(abs(weight) @ abs(block.torque[k])))
            source = f"central differences at t = {at:g} s, steps down to {numerical.step:.1e}"
            allowed = min(uncertain, UNCERTAIN_TORQUES * size)
            labels |= {"source": source, "parameter": parameter}
            row = compare(computed[k], reference, TOLERANCE, allowed, size, **labels)
            yield unless_undecided(row, uncertain, size, f"d {row.objective} / d {row.parameter}")


CONVERGED = 1e-15  # tolerance under a complex step: the imaginary part converges one iteration after the real one


def complex_steps(assembled: Assembled, listener: Listener) -> dict[str, Gradient]:
    """Objectives and their gradients by one run a parameter, in complex numbers: no derivative of ours is used."""
    problem: Problem = assembled.problem
    directions = problem.theta_rho.T
    options = replace(problem.options, sensitivity="none")
    if not options.integrated:
        options = replace(options, tolerance=CONVERGED)
    plain = replace(problem, theta_rho=problem.theta_rho[:, :0], options=options)
    compile_kernels(plain, listener, problem.theta.astype(complex))
    unknown = UnknownReactions(plain, assembled.objectives)
    values = np.zeros((len(directions), len(assembled.objectives)), complex)
    for k, (parameter, direction) in enumerate(zip(assembled.parameters, directions, strict=True)):
        moved = [stepped(objective, k, complex(parameter.value, STEP)) for objective in assembled.objectives]
        run = accumulated(plain, moved, (unknown.add,), theta=problem.theta + 1j * STEP * direction, listener=listener)
        values[k] = [found.value for found in run.values()]
    names = [objective.name for objective in assembled.objectives]
    results = {n: Gradient(float(v[0].real), v.imag / STEP) for n, v in zip(names, values.T, strict=True)}
    require_finite(plain, results, unknown.objectives)
    return results


# Gradients against differences of whole analyses, from the file on.

NUMERICAL_TOLERANCE = 1e-6  # of the derivative's size
UNCERTAIN = 1e-4  # largest estimated error of the numerical derivative that may excuse a difference
APART = 1e-3  # largest relative difference that step lengths chosen by each analysis may excuse
DIVERGES = 1e-2  # estimated relative error from which differences of analyses tell no derivative
ENOUGH_ALONG = 1e-7  # relative error of the numerical derivative that needs no more analyses
INSENSITIVE = 1e-4  # of what an objective adds up, and changes by: a derivative below this is compared with that


def missing_derivative(analysed: Analysed, parameter: str, why: str) -> Comparison:
    """Whether a parameter has no derivatives, as its gradients state: analyses beside it fail, or do not converge."""
    file, label = analysed.file, analysed.file.parameter_label(parameter)
    scale = scale_of(file.expressions.scope()[parameter].real)
    source = f"whole analyses with {label} changed by at most {FIRST * scale:.1e}"
    names: dict[str, Any] = {"name": "no derivative", "kind": "undefined", "parameter": label}
    row = Comparison(model=str(analysed.path), **names, passed=True, source=source)
    # steps do not tell its value: differences of runs with them do not, either
    if why.endswith((GRAZES, SHORTER_STEP)):
        return replace(row, source=None, message=why)
    try:
        found = derivative(lambda change: values_at(file, analysed.settings, {parameter: change}), scale)
    except (AnalysisError, ModelError):
        return replace(row, message=why)
    if np.any(found.error > DIVERGES * np.abs(found.derivative)):
        return replace(row, message=why)
    return replace(row, passed=False, message=f"{why}; but differences of whole analyses converge")


def along_direction(
    analysed: Analysed, objectives: Sequence[str], parameters: Mapping[str, int], seed: int
) -> Iterator[Comparison]:
    """Compare the gradients of objectives along a random direction with differences of whole analyses.

    The direction changes the ``parameters`` given, with their places in gradients: beside values of others there is no
    analysis. These analyses are assembled anew and share no tables with what they check, as further runs do: a number
    that is not known to follow a parameter would be missing from the derivative and from the difference alike. It takes
    some milliseconds each, a thousandth of what ``mbsim check`` takes.
    """
    scales = np.array([scale_of(analysed.file.expressions.scope()[name].real) for name in parameters])
    random = np.random.default_rng(seed)
    direction = scales * random.choice([-1.0, 1.0], len(scales)) * random.uniform(0.5, 1.0, len(scales))
    results = [analysed.results[name] for name in objectives]
    columns = [i for i, name in enumerate(analysed.file.objectives) if name in objectives]
    values = np.array([result.value for result in results])
    chords = np.zeros(len(values))  # the steepest slopes over whole changes: these do not vanish with derivatives

    def changed(change: float) -> np.ndarray:
        moved = {name: change * part for name, part in zip(parameters, direction, strict=True)}
        found = values_at(analysed.file, analysed.settings, moved)[columns]
        np.maximum(chords, abs((found - values) / change), out=chords)
        return found

    numerical = derivative(changed, 1.0, ENOUGH_ALONG)
    labels: dict[str, Any] = {"model": str(analysed.path), "name": "numerical derivative", "kind": "numerical"}
    source = f"central differences of whole analyses along random direction {seed}, step {numerical.step:.1e}"
    labels |= {"parameter": f"direction {seed}", "source": source}
    compared = zip(objectives, results, numerical.derivative, numerical.error, chords, strict=True)
    for name, result, reference, error, chord in compared:
        gradient = result.gradient[list(parameters.values())]
        scale = max(float(np.linalg.norm(gradient * direction)), INSENSITIVE * max(size_of(result), float(chord)))
        apart = min(_apart(analysed, result, list(parameters.values()), direction), APART * scale)
        uncertain = LUCKY * float(error) + apart
        round_off = ROUND_OFF * result.uncertainty.scale if result.uncertainty else 0.0
        allowed = min(LUCKY * float(error), UNCERTAIN * scale) + round_off
        row = compare(gradient @ direction, reference, NUMERICAL_TOLERANCE, allowed, scale, objective=name, **labels)
        yield unless_undecided(row, uncertain, scale, f"d {name} / d direction {seed}")


def _apart(analysed: Analysed, result: Gradient, columns: list[int], direction: np.ndarray) -> float:
    """How far a derivative along a direction and differences may be apart where runs choose the lengths of steps.

    Gradients hold these lengths. Where steps end at forces that begin, that is an error like that of the steps; of an
    adaptive integrator it is one within the tolerance.
    """
    options, size = analysed.assembled.problem.options, size_of(result)
    found = LUCKY * options.tolerance * size if options.adaptive else 0.0
    if analysed.divided and result.uncertainty:
        errors = np.nan_to_num(result.uncertainty.errors[1:])[columns]
        found += float(np.abs(errors * direction).sum())
    return found


def refused(file: ModelFile, names: Iterable[str], assemble: Callable[[dict[str, str]], Any]) -> dict[str, str]:
    """Parameters that cannot increase and decrease alone, such as a mass of zero, and the errors by name."""
    found: dict[str, str] = {}
    for name in names:
        change = ALONE * scale_of(file.expressions.scope()[name].real)
        try:
            for step in (change, -change):
                assemble(added(file, {name: step}))
        except ModelError as error:
            found[name] = f"{error.issues[0].path}: {error.issues[0].message}"
    return found


def not_compared(model: str, file: ModelFile, reasons: Mapping[str, str]) -> Iterator[Comparison]:
    """A row for each of these parameters, with the reason."""
    labels: dict[str, Any] = {"model": model, "name": "not compared", "kind": "undefined", "passed": True}
    for name, why in reasons.items():
        label = file.parameter_label(name)
        yield Comparison(parameter=label, message=f"{label} cannot change to both sides by itself; {why}", **labels)


def size_of(result: Gradient) -> float:
    """The size that a derivative is compared with: the objective, or the sizes of its addends."""
    return max(abs(result.value), result.uncertainty.sizes[0] if result.uncertainty else 0.0)


# Agreement of methods: the analysis repeated by other formulations, or differentiated by complex step or adjoint.

COMPLEX_STEP, ADJOINT = "complex_step", "adjoint"
DUST = 1e-13  # of what an objective adds up, relative: derivatives below that are round-off, of no size


def agreements(analysed: Analysed, listener: Listener) -> Iterator[Comparison]:
    """Compare objectives and gradients with those of the methods that the file's checks name."""
    checks, settings, results = analysed.file.checks, analysed.settings, analysed.results
    chosen = (analysed.assembled.problem.options.formulation, settings.method)  # on the command line, or by the file
    others: dict[str, Mapping[str, Gradient]] = {}
    named = {method for check in checks.values() for method in check.agreement}
    for method in sorted({*settings.without} - named):
        listener.say(f"--without {method} leaves nothing out: no check of {analysed.path} names it")
    for name, check in checks.items():
        for method in check.agreement:
            if method in (*chosen, *settings.without):
                continue
            if method not in others:
                others[method] = _repeated(method, analysed, listener)
            labels: dict[str, Any] = {"model": str(analysed.path), "name": f"{name}: {method}", "kind": "agreement"}
            labels["source"] = f"the analysis repeated by {method}"
            relative, absolute = analysed.tolerances(check)
            for objective in check.objectives or results:
                ours, theirs, labels["objective"] = results[objective], others[method][objective], objective
                yield compare(ours.value, theirs.value, relative, absolute, **labels)
                gradients = zip(analysed.assembled.parameters, ours.gradient, theirs.gradient, strict=True)
                for parameter, a, b in gradients:  # relative to their own sizes
                    if parameter.name not in ours.undefined:  # the numerical check tells of the others
                        least = max(absolute, DUST * size_of(ours) / scale_of(parameter.value))
                        yield compare(a, b, relative, least, parameter=parameter.name, **labels)


def _repeated(method: str, analysed: Analysed, listener: Listener) -> Mapping[str, Gradient]:
    assembled, settings = analysed.assembled, analysed.settings
    if method == COMPLEX_STEP:
        return complex_steps(assembled, listener)
    if method == ADJOINT:
        changed = replace(settings, method=ADJOINT)
    else:
        integrator = settings.integrator if method in INTEGRATED else None
        own = "ddm" if settings.method == ADJOINT else settings.method  # which every formulation has
        changed = replace(settings, formulation=method, integrator=integrator, method=own, memory=None)
    other = located(build(analysed.file, changed, [parameter.key for parameter in assembled.parameters]), listener)
    compile_kernels(other.problem, listener, objectives=other.objectives)
    return evaluate(other.problem, other.objectives, listener=listener)


def references(analysed: Analysed, recorder: Recorder) -> Iterator[Comparison]:
    """Compare objectives with their gradients, sensors that were recorded, and the mechanism's structure."""
    value = analysed.file.expressions.value
    for name, check in analysed.file.checks.items():
        labels: dict[str, Any] = {"model": str(analysed.path), "name": name, "kind": "benchmark"}
        labels["source"] = check.source
        if check.objective is not None:
            yield from _objective(check, check.objective, analysed, labels)
        elif check.sensor is not None:
            for entry in check.values:
                time = value(entry.time).real
                entries = entry.value if isinstance(entry.value, tuple) else [entry.value]
                labels["objective"] = f"{check.sensor} at {time:g} s"
                reference = [value(e) for e in entries]
                yield compare(recorder.at(check.sensor, time), reference, *analysed.tolerances(check), **labels)
        elif not check.agreement:  # whole numbers, which agree or not
            # Equations that always hold, as out of the plane of a planar loop, are none that the solver sees, and do
            # not count.
            what, computed, stated = "mobility", analysed.assembled.mobility, check.mobility
            if stated is None:
                what, computed = "redundant constraints", len(analysed.assembled.closing.redundant)
                stated = check.redundant_constraints
            yield compare(computed, stated, 0.0, 0.0, **labels | {"kind": "structure", "objective": what})


def _objective(check: Check, name: str, analysed: Analysed, labels: dict[str, Any]) -> Iterator[Comparison]:
    value, tolerances = analysed.file.expressions.value, analysed.tolerances(check)
    result, labels = analysed.results[name], labels | {"objective": name}
    if check.value is not None:
        yield compare(result.value, value(check.value), *tolerances, **labels)
    names = analysed.assembled.problem.names.parameters
    for parameter, reference in check.gradient.items():
        computed, why = result.gradient[names.index(parameter)], result.undefined.get(parameter)
        row = compare(computed, value(reference), *tolerances, parameter=parameter, **labels)
        yield row if why is None else replace(row, message=f"d {name} / d {parameter} is NaN: {why}")


def references_by_elements(analysed: Analysed, listener: Listener) -> Iterator[Comparison]:
    """Compare derivatives by elements of fields, which the adjoint gives."""
    checks = {name: check for name, check in analysed.file.checks.items() if check.field_gradient}
    if checks and not analysed.assembled.fields:
        assembled = build(analysed.file, replace(analysed.settings, method="adjoint"), None)
        compile_kernels(assembled.problem, listener, objectives=assembled.objectives)
        results = evaluate(assembled.problem, assembled.objectives, listener=listener)
        analysed = analysed._replace(assembled=assembled, results=results)
    for name, check in checks.items():
        moved = analysed.results[str(check.objective)].moved
        by_field = {} if moved is None else field_gradients(analysed.assembled.fields, moved)
        labels: dict[str, Any] = {"model": str(analysed.path), "name": name, "kind": "benchmark"}
        labels |= {"source": check.source, "objective": check.objective}
        for field, elements in check.field_gradient.items():
            computed = by_field[field]
            if beyond := [element for element in elements if int(element) >= computed.size]:
                raise AnalysisError(f"field {field} has {computed.size} elements, none of number {beyond[0]}")
            reference = [analysed.file.expressions.value(number) for number in elements.values()]
            chosen = computed[[int(element) for element in elements]]
            yield compare(chosen, reference, *analysed.tolerances(check), parameter=field, **labels)


def verify(path: Path, settings: Settings, seed: int, listener: Listener) -> list[Comparison]:
    """Run a model with its gradients and compare everything that can be compared; warn of what a run warns of."""
    model_file = load(path, settings)
    chosen = "all" if settings.all_numbers else model_file.analysis.sensitivity.parameters
    checked = {name for check in model_file.checks.values() for name in check.gradient}
    parameters = [name for name in model_file.parameters if chosen == "all" or name in chosen or name in checked]
    timing = Timing()
    plan = plan_run(model_file, settings, timing, listener, parameters)._replace(second_run=True)
    plan.compile(listener)
    named = {check.sensor for check in model_file.checks.values()}
    recorder = Recorder({name: rows for name, rows in plan.assembled.sensor_rows.items() if name in named})
    outcome = run(plan, timing, PollOnly(listener), recorder.add)
    for warning in outcome.warnings:
        listener.warn(warning if warning.startswith(f"{path}:") else f"{path}: {warning}")
    divided = outcome.diagnostics.health.divided_order > 0.0
    analysed = Analysed(path, model_file, plan.settings, outcome.plan.assembled, outcome.results, divided)
    numerical = list(_by_differences(analysed, parameters, seed))
    if (reason := outcome.estimates.reason) and not all(row.passed for row in numerical):
        listener.warn(f"{path}: errors of gradients are not estimated: {reason}")
    return [
        *references(analysed, recorder),
        *references_by_elements(analysed, listener),
        *agreements(analysed, listener),
        *numerical,
        *plan.analysis.verify(str(path), plan.assembled, seed),
    ]


def _by_differences(analysed: Analysed, parameters: list[str], seed: int) -> Iterator[Comparison]:
    """Compare gradients by ``parameters`` with differences of analyses, where nothing says more."""
    # objectives that the file has differentiated by complex step, which says more than differences of analyses
    checks = [check for check in analysed.file.checks.values() if COMPLEX_STEP in check.agreement]
    by_steps = {name for check in checks for name in check.objectives or analysed.file.objectives}
    objectives = [name for name in analysed.results if name not in by_steps]
    undefined = {name: why for result in analysed.results.values() for name, why in result.undefined.items()}
    label_of = analysed.file.parameter_label
    for name in parameters:
        if why := undefined.get(label_of(name)):
            yield missing_derivative(analysed, name, why)
    known = {  # parameters that each objective has derivatives by
        objective: [name for name in parameters if label_of(name) not in analysed.results[objective].undefined]
        for objective in objectives
    }

    def rows(without: Iterable[str] = ()) -> list[Comparison]:
        alike: dict[tuple[str, ...], list[str]] = {}  # objectives by these parameters
        for objective, names in known.items():
            alike.setdefault(tuple(name for name in names if name not in without), []).append(objective)
        found = list[Comparison]()
        for shared, some in alike.items():
            if shared:
                places = {name: parameters.index(name) for name in shared}
                found += along_direction(analysed, some, places, seed)
        return found

    try:
        yield from rows()
    except ModelError:
        file, settings = analysed.file, analysed.settings
        compared = [name for name in parameters if any(name in names for names in known.values())]
        without = refused(file, compared, lambda values: build(with_values(file, values), settings, []))
        yield from not_compared(str(analysed.path), file, without)
        yield from rows(without)
