"""The interface for Python programs: ``import mbsim_cli as mbsim``. Errors are the exceptions of ``errors``."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from mbsim_cli.errors import UsageError, require_whole
from mbsim_cli.io.results import ResultFile
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.listener import SILENT, DeferredInterrupts, Listener
from mbsim_cli.study.listener import Interrupted as Interrupted
from mbsim_cli.study.model import OPTIONS, PARAMETERS, Model, options_in, require_distinct, united, values_in
from mbsim_cli.study.result import ObjectiveValue as ObjectiveValue
from mbsim_cli.study.result import Residuals as Residuals
from mbsim_cli.study.result import Result
from mbsim_cli.study.sweep.running import Forecast as Forecast
from mbsim_cli.study.sweep.study import Study
from mbsim_cli.study.verification import Comparison, verify

CHECKED = ("ddm", "adjoint")  # methods whose gradients are compared with differences


load = Model  # of a file; arguments and exceptions are those of ``Model.__init__``


def loads(
    model: str | Mapping[str, Any],
    *,
    by: Sequence[str] | None = None,
    all_numbers: bool = False,
    listener: Listener = SILENT,
    parameters: Mapping[str, float] | None = None,
    **values: float,
) -> Model:
    """The model of a text in the form of a model file, or of a mapping of its sections; other arguments as of ``load``.

    Messages call it ``model.yaml``. It includes no files; tables and meshes are looked for in the working directory.
    Numbers and arrays of numpy may stand in a mapping.
    """
    texts = {"model.yaml": model if isinstance(model, str) else _written(model)}
    given = united(values, parameters)
    return Model("model.yaml", by=by, all_numbers=all_numbers, listener=listener, parameters=given, _texts=texts)


def _written(model: Mapping[str, Any]) -> str:
    """A mapping as a text that YAML reads."""

    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        if isinstance(value, Mapping):
            return dict(value)
        raise UsageError(f"loads takes a text, or a mapping of texts, numbers, lists and mappings, not {value!r}")

    if not isinstance(model, Mapping):
        raise UsageError(f"loads takes a text or a mapping, not {type(model).__name__}")
    try:
        return json.dumps(dict(model), default=plain)
    except (TypeError, ValueError) as error:
        raise UsageError(f"loads cannot write this mapping as a model file: {error}") from None


def run(path: str | PathLike[str], **replaced: Any) -> Result:
    """Read a model with values of parameters and constants, and run it, as ``load`` and ``Model.run`` do.

    Raises ModelError, AnalysisError, UsageError and InputOutputError.
    """
    model, options = _loaded(path, replaced, SILENT)
    return model.run(**options)


def _loaded(path: str | PathLike[str], replaced: dict[str, Any], listener: Listener) -> tuple[Model, dict[str, Any]]:
    """The model with the values among keyword arguments, and those that are options of the analysis."""
    model = Model(path, listener=listener, parameters=values_in(replaced))
    require_distinct(replaced, model.parameters)
    return model, {PARAMETERS: {}} | {name: value for name, value in replaced.items() if name in OPTIONS}


def check(path: str | PathLike[str], seed: int = 0, listener: Listener = SILENT, **replaced: Any) -> list[Comparison]:
    """Compare as ``mbsim check`` does: values with the file's references, gradients with differences along a direction.

    Returns a row for each number that is compared; ``passed`` says whether it is near enough, and an analysis that
    fails is a row too. ``seed`` chooses the direction. Keyword arguments replace parameters and options of the
    analysis, as in ``Model.run``. Raises ModelError, InputOutputError and UsageError.
    """
    settings = _settings(path, replaced, sensitivity="ddm")
    require_whole("seed", seed, meaning=", 0 at least")
    if settings.method not in CHECKED:
        raise UsageError(f"gradients by {' or '.join(CHECKED)} are checked, not by {settings.method!r}")
    return verify(Path(path), settings, seed, listener)


def optimize(
    path: str | PathLike[str],
    name: str | None = None,
    output: str | PathLike[str] | None = None,
    *,
    algorithm: str | None = None,
    evaluations: int | None = None,
    save_model: str | PathLike[str] | None = None,
    force: bool = False,
    listener: Listener = SILENT,
    **replaced: Any,
) -> Result:
    """Search for better parameters as ``mbsim optimize`` does, by an optimization of the file; None: the only one.

    Returns the result of the best design, which is written to ``output`` (MODEL-NAME.h5) with all designs that were
    tried; its ``report["optimization"]`` is what ``--json`` prints. ``algorithm`` (auto, slsqp, trust-constr, ipopt or
    mma) and ``evaluations`` replace those of the file; ``save_model`` is a path for the model file at its optimum.
    Other keyword arguments replace parameters and options of the analysis, as in ``Model.run``. Raises AnalysisError
    where no design keeps to the limits; the one that comes nearest is written. At Ctrl-C the best one so far is written
    before KeyboardInterrupt is raised.
    """
    from mbsim_cli.study.optimizing.methods import ALGORITHMS
    from mbsim_cli.study.optimizing.optimize import Request
    from mbsim_cli.study.optimizing.optimize import optimize as search

    if algorithm not in (None, *ALGORITHMS):
        raise UsageError(f"unknown algorithm {algorithm!r}; there are {', '.join(ALGORITHMS)}")
    if evaluations is not None:
        require_whole("evaluations", evaluations, 1, " of analyses, 1 at least")
    target, saved = (None if stated is None else Path(stated) for stated in (output, save_model))
    request = Request(name, target, evaluations, algorithm, saved, force)
    report = search(Path(path), request, _settings(path, replaced), DeferredInterrupts(listener), "mbsim_cli.optimize")
    return Result(ResultFile(Path(report["output"]), checked=True), report)


def _settings(path: str | PathLike[str], replaced: dict[str, Any], **defaults: Any) -> Settings:
    """Options of an analysis and values of parameters, as keyword arguments state them, of the model at a path."""
    model, options = _loaded(path, replaced, SILENT)
    return replace(model.settings, **options_in(defaults | options))


def sweep(
    path: str | PathLike[str],
    study: str | Mapping[str, Any] | None = None,
    folder: str | PathLike[str] | None = None,
    *,
    workers: int = 1,
    keep: str | None = None,
    case_timeout: float | None = None,
    max_failures: int | None = None,
    force: bool = False,
    listener: Listener = SILENT,
    **replaced: Any,
) -> Study:
    """Compute or continue a parameter study, as ``load``, also with values of constants, and ``Model.sweep`` do."""
    model, options = _loaded(path, replaced, listener)
    options |= {"workers": workers, "case_timeout": case_timeout, "max_failures": max_failures}
    return model.sweep(study, folder, keep=keep, force=force, **options)


def open_study(folder: str | PathLike[str]) -> Study:
    """The study in a folder, complete or not; nothing is computed. Raises InputOutputError where there is none."""
    return Study(folder)


def open(path: str | PathLike[str]) -> Result:
    """A result file; histories are read when they are asked for. Raises InputOutputError for any other file."""
    record = ResultFile(Path(path), checked=True)
    return Result(record, record.report)
