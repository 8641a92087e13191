"""A study planned: cases by a grid, a sample, a table of values, or one at a time."""

import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mbsim_cli
from mbsim_cli.assembly.problem import Assembled
from mbsim_cli.errors import InputOutputError, UsageError, either, option
from mbsim_cli.io.provenance import platform_facts, storable
from mbsim_cli.io.tables import read_table
from mbsim_cli.model.units import in_words
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.syntax import ExpressionError
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import suggest
from mbsim_cli.spec.rules.studies import study_of
from mbsim_cli.spec.studies import Study
from mbsim_cli.spec.warnings import warnings_of
from mbsim_cli.study.assembling import AUTO, Settings, automatic_of, build, named_or_only, stated_method
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.sweep import study_folder
from mbsim_cli.study.sweep.study_folder import Quantity, StudyFolder, StudyPlan, file_hash


def sobol(dimensions: int, count: int, seed: int) -> np.ndarray:
    """The first points (count, dimensions) of a scrambled Sobol sequence; more points begin with the same ones."""
    from scipy.stats import qmc

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a count that is no power of two is less balanced, and useful
        return qmc.Sobol(dimensions, scramble=True, seed=np.random.default_rng(seed)).random(count)


def latin_hypercube(dimensions: int, count: int, seed: int) -> np.ndarray:
    """Points (count, dimensions), one in each of ``count`` layers of every dimension."""
    from scipy.stats import qmc

    return qmc.LatinHypercube(dimensions, seed=np.random.default_rng(seed)).random(count)


def columns_of(stated: Any, path: Path, parameters: Collection[str]) -> dict[str, np.ndarray]:
    """Columns (N,) by parameter of a file at a path, as ``stated`` (``spec.studies.CasesFile``) describes it."""
    found = read_table(path, stated.delimiter or ",")
    chosen = stated.columns or {name: name for name in found}
    for name in chosen:
        if name not in parameters:
            hint = suggest(name, sorted(parameters)) or "columns of the study names those that are read"
            raise InputOutputError(f"{path}: column {name!r} is no parameter of the model; {hint}")
    columns = {}
    for name, column in chosen.items():
        if column not in found:
            hint = suggest(column, list(found)) or f"columns: {', '.join(list(found)[:6])}"
            raise InputOutputError(f"{path} has no column {column!r}; {hint}")
        columns[name] = values = found[column]
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise InputOutputError(f"{path}: column {column!r} holds {values[wrong[0]]} in row {wrong[0] + 1}")
    if len({len(values) for values in columns.values()}) > 1:
        raise InputOutputError(f"{path}: its columns differ in length; a case is a row of all of them")
    if not len(next(iter(columns.values()), ())):
        raise InputOutputError(f"{path} holds no cases; a line of names and a row for each case are wanted")
    for name in stated.scale:
        if name not in columns:
            raise InputOutputError(f"{path}: no column is read for {name!r}, which a scale is stated for")
    return columns


Value = Callable[[Any], float]  # of a number of the model file

POINTS = {"sobol": sobol, "latin_hypercube": latin_hypercube}


class Design(NamedTuple):
    """Cases: a row of values for each, in the order of the study."""

    names: tuple[str, ...]  # (v,) parameters that vary
    values: np.ndarray  # (N, v) in the units of the file


def design_of(study: Study, model_file: ModelFile, read: Callable[[Any], Mapping[str, np.ndarray]]) -> Design:
    """Cases of a study that has passed the rules; ``read`` gives the columns of a file of cases by parameter."""

    def value(number: Number) -> float:
        return float(model_file.expressions.value(number).real)

    stated = study.stated(study.kind)
    if study.kind in ("grid", "zip"):
        axes = [_axis_values(axis, value) for axis in stated.values()]
        if study.kind == "grid":  # every combination; the last axis runs fastest
            values = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        else:
            values = np.column_stack(axes)
        return Design(tuple(stated), values)
    if study.kind == "list":
        return _listed(stated, model_file, value)
    if study.kind == "csv":
        columns = read(stated)
        names = tuple(columns)
        factors = [value(stated.scale[name]) if name in stated.scale else 1.0 for name in names]
        return Design(names, np.column_stack([columns[name] for name in names]) * factors)
    points = POINTS[study.kind](len(stated.parameters), stated.count, stated.seed)
    return _scattered(stated.parameters, points, model_file, value)


def _axis_values(axis: Any, value: Value) -> np.ndarray:
    """Values (k,) along an axis: those listed, or from one number to another, both met exactly."""
    if isinstance(axis, tuple):
        return np.array([value(number) for number in axis])
    first, last = value(axis.from_), value(axis.to)
    values = between(first, last, np.arange(axis.count) / (axis.count - 1), axis.scale)
    values[[0, -1]] = first, last
    return values


def between(first: float, last: float, share: np.ndarray, scale: str) -> np.ndarray:
    """Values at shares (k,) of the way from one number to another, by distance (linear) or by ratio (log)."""
    return first * (last / first) ** share if scale == "log" else first + (last - first) * share


def _listed(cases: Sequence[Mapping[str, Any]], model_file: ModelFile, value: Value) -> Design:
    """Cases as they are stated; a parameter that a case leaves out follows its definition in the file."""
    names = tuple(dict.fromkeys(name for case in cases for name in case))
    rows = []
    for number, case in enumerate(cases):
        row = {name: value(given) for name, given in case.items()}
        stated = dict(row)
        for name in [name for name in names if name not in stated]:
            try:
                row[name] = float(model_file.expressions.value(model_file.parameters[name].value, stated).real)
            except ExpressionError as error:
                raise UsageError(
                    f"case {number} of the list leaves {name!r} without a value: {error.message}"
                ) from error
        rows.append([row[name] for name in names])
    return Design(names, np.array(rows))


def _scattered(parameters: Any, points: np.ndarray, model_file: ModelFile, value: Value) -> Design:
    """Points (N, v) of the unit cube, stretched to the ranges of the parameters that are stated, or to their bounds."""
    columns = []
    for name, share in zip(parameters, points.T, strict=True):
        if isinstance(parameters, dict):
            stated = parameters[name]
            columns.append(between(value(stated.from_), value(stated.to), share, stated.scale))
        else:
            lower, upper = map(value, model_file.parameters[name].bounds or ())
            columns.append(between(lower, upper, share, "linear"))
    return Design(tuple(parameters), np.column_stack(columns))


KEPT = ("objectives", "sensors", "full")  # of a case
OTHERS = {"fd": "differences", "adjoint": "the adjoint"}  # methods that studies do not have


class StudyRequest(NamedTuple):
    """A study as it was asked for: one of the file by its name, or one that is ``stated`` as in a file."""

    name: str | None = None
    stated: Mapping[str, Any] | None = None
    keep: str | None = None


def planned(
    model_file: ModelFile,
    request: StudyRequest,
    settings: Settings,
    folder: Path | None,
    command: str,
    listener: Listener,
    *,
    force: bool,
) -> StudyFolder:
    """The folder of a study, MODEL-STUDY here unless it is named, with its plan; raises what ``adopt`` does, too."""
    plan, values = plan_of(model_file, request, settings, command, listener)
    found = StudyFolder(folder or Path("-".join(filter(None, (plan.path.stem, plan.study or "study")))))
    found.adopt(plan, values, force=force)
    return found


def plan_of(
    model_file: ModelFile, request: StudyRequest, settings: Settings, command: str, listener: Listener
) -> tuple[StudyPlan, np.ndarray]:
    """The plan, and the values (N, v) of its cases; raises ModelError, UsageError and InputOutputError."""
    for warning in warnings_of(model_file):
        listener.warn(f"warning: {warning}")
    name, study = _study(model_file, request)

    def read(stated: Any) -> dict[str, np.ndarray]:
        named = ("study", name, "csv", "file")
        path = Path(stated.file) if request.stated else model_file.source.file_at(named, stated.file)
        return columns_of(stated, path, model_file.parameters)

    design = design_of(study, model_file, read)
    settings = _settled(model_file, settings, study.sensitivity)
    _require_free(design, settings)
    _warn_of_bounds(design, model_file, listener)
    assembled = build(model_file, settings, settings.by if settings.method != "none" else [])
    keep = request.keep or study.keep
    objectives, sensors = _columns_to_keep(assembled, keep)
    if not (objectives or sensors or keep == "full"):
        raise UsageError(f"{option('keep', str(keep))} keeps nothing: the model has no {keep}")
    unused = asdict(Settings())  # such settings leave no trace, so that new ones change no study
    chosen = {name: value for name, value in asdict(settings).items() if value != unused[name]}
    plan = StudyPlan(
        study=name,
        sampler={"kind": study.kind, "stated": plain_study(study.stated(study.kind))},
        cases=len(design.values),
        varied=[Quantity(name, model_file.parameters[name].unit) for name in design.names],
        objectives=objectives,
        parameters=[Quantity(p.name, p.unit) for p in assembled.parameters],
        sensors=sensors,
        full=keep == "full",
        **_content(model_file, chosen),
        command=storable(command),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        mbsim_version=mbsim_cli.__version__,
        samples=study_folder.samples_hash(design.values),
        platform=platform_facts(),
    )
    return plan, design.values


def _settled(model_file: ModelFile, settings: Settings, method: str | None) -> Settings:
    """Settings with their own method, else the study's or the file's; raises UsageError for what studies lack."""
    stated = settings.method or method or stated_method(model_file, settings)
    settings = replace(settings, method="ddm" if stated == AUTO else stated)
    automatic = automatic_of(model_file, settings)
    for name in ("step", "integrator"):
        if getattr(automatic, name):
            found = either(f"mbsim run --{name} auto", f"run({name}='auto')")
            raise UsageError(f"a study takes one {name} for all cases; give {option(name)}, which {found} finds")
    if settings.method in OTHERS:
        other = OTHERS[settings.method]
        raise UsageError(f"a study differentiates by ddm, not by {other}; give {option('sensitivity', 'ddm', 'none')}")
    return settings


def _content(model_file: ModelFile, chosen: dict[str, Any]) -> dict[str, Any]:
    """The content that identifies a case and rebuilds it: texts and tables, relative to the model's folder."""
    source = model_file.source
    folder = Path(os.path.abspath(source.file)).parent
    tables = {os.path.relpath(table, folder): file_hash(table) for table in model_file.tables}
    return {
        "content": study_folder.content_hash(source.data(), study_folder.effective(chosen) | {"tables": tables}),
        "folder": str(folder),
        "file": Path(source.file).name,
        "texts": {os.path.relpath(file, folder): text for file, text in source.texts.items()},
        "tables": tables,
        "settings": chosen,
    }


def check_tables(plan: StudyPlan) -> None:
    """Raise UsageError where a file of numbers that the model reads has changed since it was planned."""
    for name, known in plan.tables.items():
        path = Path(plan.folder, name)
        if file_hash(path) != known:
            raise UsageError(f"{path} has changed since the study was planned, and the model reads it")


def _study(model_file: ModelFile, request: StudyRequest) -> tuple[str, Study]:
    """Name and description of the study that is meant."""
    if request.stated is not None:
        if request.name is not None:
            others = either("--csv and --grid", "those stated")
            raise UsageError(f"a study of the file has its own cases; leave out its name, or {others}")
        keep = {"keep": request.keep} if request.keep else {}
        study, wrong = study_of(model_file, plain_study({**request.stated, **keep}))
        if wrong or study is None:
            raise UsageError("; ".join(wrong))
        return "", study
    ad_hoc = either("give --grid or --csv", "state its cases: {'grid': {'NAME': values}}")
    example = f"{{lengths: {{grid: {{NAME: values}}}}}}, or {ad_hoc}"
    return named_or_only(model_file.study, request.name, "study", example)


def _require_free(design: Design, settings: Settings) -> None:
    for name in design.names:
        places = (f".parameters.{name}.", f".constants.{name}.")
        for key in settings.overrides:
            if key == name or f"{key}.".startswith(places):
                stated = either(f"-p {name}" if key == name else f"--set {key[1:]}", f"a value of {key.lstrip('.')}")
                raise UsageError(f"{stated} has no effect: {name!r} varies in the study")


def _warn_of_bounds(design: Design, model_file: ModelFile, listener: Listener) -> None:
    """Say how many cases have values beyond what the file allows itself."""
    for name, values in zip(design.names, design.values.T, strict=True):
        if (bounds := model_file.parameters[name].bounds) is not None:
            low, high = (model_file.expressions.value(bound).real for bound in bounds)
            if beyond := int(((values < low) | (values > high)).sum()):
                cases = f"{beyond} of {len(values)} cases"
                listener.warn(f"warning: in {cases} {name!r} lies outside of its bounds {low:g} and {high:g}")


def _columns_to_keep(assembled: Assembled, keep: str | Sequence[str]) -> tuple[list[Quantity], list[Quantity]]:
    """Objectives and sensors that are kept."""
    named = keep if not isinstance(keep, str) else None
    kept = [objective for objective in assembled.objectives if named is None or objective.name in named]
    objectives = [Quantity(objective.name, objective.unit) for objective in kept]
    if keep in ("objectives", "full"):
        return objectives, []
    names = assembled.problem.names
    sensors = [
        Quantity(shown, in_words([unit] if isinstance(unit, str) else unit), tuple(components))
        for shown, unit, components in zip(names.sensors, names.sensor_units, names.sensor_components, strict=True)
        if shown in assembled.sensor_rows and (named is None or (shown in named or shown.partition(".")[0] in named))
    ]
    return objectives, sensors


def plain_study(stated: Any) -> Any:
    """A study that a file or a Python program states, as plain data: arrays are lists, numbers values or formulas."""
    if isinstance(stated, Mapping):
        return {name: plain_study(entry) for name, entry in stated.items()}
    if isinstance(stated, list | tuple):
        return [plain_study(entry) for entry in stated]
    if isinstance(stated, Number):
        return stated.text if stated.literal is None else stated.literal
    if hasattr(stated, "model_dump"):
        return stated.model_dump(by_alias=True, exclude_unset=True)
    return stated.tolist() if hasattr(stated, "tolist") else stated
