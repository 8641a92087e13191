"""A fit from its model file to estimates: ``Fit``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import ModelError, UsageError
from mbsim_cli.io.target import PICTURE, check_target, replaced
from mbsim_cli.report import picture_kind, require_matplotlib
from mbsim_cli.spec import studies
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.study.assembling import named_or_only
from mbsim_cli.study.fitting.estimate import Compute, Estimate, Group, Problem, by_reading, estimate
from mbsim_cli.study.fitting.findings import report_of, save_model, warnings_of
from mbsim_cli.study.fitting.readings import Computed, MeasuredColumn, Readings, measured_of
from mbsim_cli.study.listener import Interrupted, Listener, PollOnly
from mbsim_cli.study.model import Model
from mbsim_cli.study.optimizing.design import Variables, variables_of
from mbsim_cli.study.optimizing.log import Kind, Log, identity_of
from mbsim_cli.study.plan import Timing
from mbsim_cli.study.recording import guard_of

SLIGHT = 1e-12  # change of residuals over their noise by a change of a parameter by its size, that counts as none


class Samples(NamedTuple):
    """A column of a measurement and the fitted model: times, readings and what the model reads (n,)."""

    time: np.ndarray
    measured: np.ndarray
    computed: np.ndarray
    sigma: float  # noise, of a reading
    sigma_estimated: bool
    sensor: str
    unit: str  # empty where the file scales the sensor
    left_out: int  # readings that lie outside of the run for some delay

    @property
    def residuals(self) -> np.ndarray:
        """Computed minus measured, over the noise (n,)."""
        return (self.computed - self.measured) / self.sigma


@dataclass(eq=False, repr=False)
class Fit:
    """The findings of a fit.

    ``values``, ``errors`` (standard errors) and ``covariance`` (p, p) are in the order of ``names``. ``samples`` and
    ``hold_out`` have readings by measurement and column. ``report`` is what ``mbsim fit --json`` prints.
    """

    model: Model
    name: str
    variables: Variables
    estimate: Estimate
    samples: Mapping[str, Mapping[str, Samples]]
    hold_out: Mapping[str, Mapping[str, Samples]]
    warnings_of_runs: Sequence[str]  # with the estimates
    timing: Timing

    def __post_init__(self) -> None:
        found, self.names = self.estimate, self.variables.names
        self.values, self.errors, self.covariance = found.values, found.errors, found.covariance
        about = {"model": str(self.model.path), "fit": report_of(self), "timing": asdict(self.timing)}
        self.report: dict[str, Any] = about | {"warnings": [*self.warnings_of_runs, *warnings_of(self)]}

    @property
    def given(self) -> studies.Fit:
        """The fit as the model file states it (``spec.studies.Fit``)."""
        return self.model.file.fit[self.name]

    @property
    def parameters(self) -> dict[str, float]:
        """Estimates by name, as ``Model.run`` takes them."""
        return dict(zip(self.names, map(float, self.values), strict=True))

    @property
    def warnings(self) -> list[str]:
        """Warnings of the fit, a sentence each."""
        return list(self.report["warnings"])

    @property
    def columns(self) -> Iterator[tuple[str, Samples, bool]]:
        """MEASUREMENT.COLUMN, the readings of the column, and whether they are held out."""
        for held_out, part in ((False, self.samples), (True, self.hold_out)):
            for measurement, columns in part.items():
                for column, samples in columns.items():
                    yield f"{measurement}.{column}", samples, held_out

    def __repr__(self) -> str:
        rows = zip(self.names, self.values, self.errors, strict=True)
        lines = [f"  {name} = {value:.8g} +- {error:.2g}" for name, value, error in rows]
        return "\n".join([f"<mbsim fit {self.name}: {self.estimate.evaluations} evaluations>", *lines])

    def save_model(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Write the model file with the estimates, comments kept; return its path.

        Raises UsageError for values that cannot be written, InputOutputError where the file cannot.
        """
        return save_model(self.model, self.parameters, Path(path), force=force)

    def save(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Write the report and all readings as JSON, for ``mbsim report``; return the path; raises InputOutputError."""
        from mbsim_cli.io.study_file import FIT_FILE, write_fit

        target = check_target(Path(path), FIT_FILE, **guard_of(self.model.file, force))
        readings = [
            {"name": name, "held_out": held_out, "sensor": s.sensor, "unit": s.unit}
            | {"sigma": s.sigma, "sigma_estimated": s.sigma_estimated}
            | {"time": s.time, "measured": s.measured, "computed": s.computed, "residuals": s.residuals}
            for name, s, held_out in self.columns
        ]
        title = {"title": self.model.file.name or self.name, "description": self.model.file.description or ""}
        write_fit(target, self.report | title | {"readings": readings}, force=force)
        return Path(path)

    def save_picture(self, path: str | PathLike[str], *, force: bool = False) -> Path:
        """Draw readings, model, residuals as png, svg or pdf; return the path; raises UsageError, InputOutputError."""
        kind, target = picture_kind(Path(path)), check_target(Path(path), PICTURE, **guard_of(self.model.file, force))
        require_matplotlib()
        from mbsim_cli.report.sheet import save_fit

        with replaced(target, PICTURE, force=force) as temporary:
            save_fit(list(self.columns), temporary, kind, self.model.file.name or self.name)
        return Path(path)


def fit(
    model: Model,
    name: str | None,
    *,
    evaluations: int | None = None,
    listener: Listener,
    timing: Timing | None = None,
    log: Path | None = None,
    force: bool = False,
) -> Fit:
    """Fit as the model's file states under a name, the only one where that is None.

    Evaluations are kept in the file ``log`` until the search has ended, so that the same fit continues after a kill.
    Raises ModelError, AnalysisError, UsageError and InputOutputError.
    """
    timing = timing or Timing()
    with timing.phase("load"):
        name, given = stated(model.file, name)
        variables = variables_of(model.file, given.parameters)
        names = variables.names
        delays = {n: (a, b) for n, a, b in zip(names, variables.low, variables.high, strict=True)}
        quiet = model.variant(model.file, model.settings, names, PollOnly(listener))
        runs = [Readings(quiet, measured_of(model.file, m), names, delays) for m in given.measurements]
        others = [Readings(quiet, measured_of(model.file, m), names, delays) for m in given.hold_out]

    def compute(values: np.ndarray) -> Computed:
        parts = [run.at(values) for run in runs]
        return Computed(*(np.concatenate(found) for found in zip(*parts, strict=True)))

    def identity() -> bytes:
        varied = [*names, *map(float, (*variables.low, *variables.high))]
        measured = model.file.source.data()["measurements"]
        stated = {run.measured.name: measured[run.measured.name] for run in runs}
        files = [run.measured.path for run in runs]
        return identity_of(model.file, model.settings, varied, files, measurements=stated, fit=name)

    most = evaluations or given.evaluations
    with timing.phase("solve"), listener.progress("fitting", most) as show:

        def progress(count: int, cost: float) -> None:
            show(count)
            listener.say(f"evaluation {count}: half of the sum of squares {cost:.8g}")

        with _remembered(log, identity, compute, listener, force=force) as evaluated:
            for run in runs:  # which readings lie within the runs
                run.settle(variables.start)
            problem = _problem(model.file, given, variables, runs, evaluated, most)
            jumps = list(chain(*(run.jumps for run in runs)))
            inspect = partial(_require_influence, model.file, name, problem, jumps)
            found = estimate(problem, progress, inspect)
            samples: dict[str, dict[str, Samples]] = {}
            columns = [(run, column) for run in runs for column in run.columns]
            for (run, column), group, sigma in zip(columns, problem.groups, found.sigmas, strict=True):
                computed = found.computed.values[group.place]
                samples.setdefault(run.measured.name, {})[column.name] = _sample(column, computed, float(sigma))
            hold_out = {run.measured.name: _held_out(run, found) for run in others}
            noise = [[s.sigma for s in columns.values()] for columns in samples.values()]
            told = [run.warnings(found.values, sigmas) for run, sigmas in zip(runs, noise, strict=True)]
    return Fit(model, name, variables, found, samples, hold_out, list(dict.fromkeys(chain(*told))), timing)


@contextmanager
def _remembered(
    log: Path | None, identity: Callable[[], bytes], compute: Compute, listener: Listener, *, force: bool
) -> Iterator[Compute]:
    """``compute`` with a memory in the file ``log``, if any; a search that is interrupted keeps the file."""
    if log is None:
        yield compute
        return
    with closing(Log(log, identity(), compute, listener, force=force, kind=EVALUATIONS)) as evaluated:
        try:
            with listener.shield():
                yield evaluated
        except (Interrupted, KeyboardInterrupt) as stop:
            sentence = f"evaluations are kept in {log}; the same command continues the fit"
            listener.warn(f"mbsim: {sentence}")
            stop.add_note(sentence)
            raise
        evaluated.remove()


def stated(model_file: ModelFile, name: str | None) -> tuple[str, studies.Fit]:
    """The fit of a name, or the only one; raises UsageError."""
    return named_or_only(model_file.fit, name, "fit", "{all: {measurements: [NAME], parameters: [NAME]}}")


def _problem(
    file: ModelFile, given: studies.Fit, variables: Variables, runs: Sequence[Readings], compute: Compute, most: int
) -> Problem:
    number = file.expressions.value
    groups, readings, at = [], [], 0
    for run in runs:
        for column in run.columns:
            stated = column.given.sigma
            sigma = None if stated == "auto" else float(number(stated).real)
            place = slice(at, at := at + len(column.readings))
            groups.append(Group(place, sigma, float(np.abs(column.readings).max())))
            readings.append(column.readings)
    if at < len(variables.names):
        raise UsageError(f"{at} readings do not determine {len(variables.names)} parameters")
    scale = 1.0 if given.loss_scale is None else float(number(given.loss_scale).real)
    tolerance = float(number(given.tolerance).real)
    return Problem(variables, np.concatenate(readings), groups, compute, given.loss, scale, tolerance, most)


def _require_influence(file: ModelFile, name: str, problem: Problem, jumps: Sequence[str], computed: Computed) -> None:
    """Raise ModelError for parameters that no reading depends on at the start, perhaps but for ``jumps`` (warnings)."""
    variables = problem.variables
    start, span = variables.start, variables.high - variables.low
    span = np.where(np.isfinite(span), span, 0.0)
    size = np.maximum(np.maximum(np.abs(start), span), np.where(start == 0.0, 1.0, 0.0))
    scales = by_reading(problem, [group.size or 1.0 for group in problem.groups])
    largest = np.abs(computed.jacobian / scales[:, None]).max(axis=0) * size
    stated = file.fit[name].parameters
    issues = []
    for index, (parameter, change) in enumerate(zip(variables.names, largest, strict=True)):
        if change <= SLIGHT:
            place = () if stated == "all" else (index if isinstance(stated, tuple) else parameter,)
            message = f"no reading of this fit depends on {parameter!r}"
            hint = "leave it out, or measure what it changes"
            if jumps:
                message += ", unless by a jump of a force, which derivatives lack"
                follow = "formulations of open trees, and ali1p-rtdyn1, follow jumps at known times"
                hint = f"{jumps[0].partition(': steps')[0]}; {follow}"
            issues.append(file.source.issue(("fit", name, "parameters", *place), message, hint))
    if issues:
        raise ModelError(issues)


def _sample(column: MeasuredColumn, computed: np.ndarray, sigma: float) -> Samples:
    _, given, times, readings, unit, left_out = column
    return Samples(times, readings, computed, sigma, given.sigma == "auto", given.sensor, unit, left_out)


def _held_out(run: Readings, found: Estimate) -> dict[str, Samples]:
    """Readings that were held out beside the fitted model; noise that is not stated is that of the residuals."""
    computed, at, ready = run.at(found.values).values, 0, {}
    for column in run.columns:
        part = computed[at : (at := at + len(column.readings))]
        stated, rms = column.given.sigma, float(np.sqrt(np.mean((part - column.readings) ** 2)))
        sigma = (rms or 1.0) if stated == "auto" else float(run.file.expressions.value(stated).real)
        ready[column.name] = _sample(column, part, sigma)
    return ready


def _split(computed: Computed) -> tuple[None, np.ndarray]:
    return None, np.column_stack([computed.values, computed.jacobian])


def _joined(_: None, numbers: np.ndarray) -> Computed:
    return Computed(numbers[:, 0].copy(), numbers[:, 1:].copy())


EVALUATIONS = Kind(b"mbsim evaluations 2\n", "mbsim fit", "fits", "evaluations", _split, _joined)
