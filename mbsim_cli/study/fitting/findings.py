"""The findings of a fit: as plain data, in sentences, and in the model file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mbsim_cli.errors import InputOutputError, MbsimError, UsageError, flag
from mbsim_cli.io.target import keep_apart, replaced
from mbsim_cli.spec.loader import load
from mbsim_cli.spec.parameters import with_numbers
from mbsim_cli.spec.reading.source import is_key
from mbsim_cli.study.fitting.estimate import UNDETERMINED, Direction

if TYPE_CHECKING:
    from mbsim_cli.study.fitting.fit import Fit, Samples
    from mbsim_cli.study.model import Model


PART = 0.05  # of the largest relative change and of the largest effect: parts with less of both are not named
CORRELATED = 0.95  # beyond which two estimates are named together
UNLIKELY = 4.0  # standard deviations of chi-square from its mean


def report_of(fit: "Fit") -> dict[str, Any]:
    """Plain data, as ``mbsim fit --json`` prints them; what is not determined is NaN."""
    found, variables = fit.estimate, fit.variables
    m, free = len(found.sigma), int(np.count_nonzero(found.held == 0))
    chi_square = float(sum((s.residuals**2).sum() for columns in fit.samples.values() for s in columns.values()))
    errors, ends = found.errors, {-1: "lower", 0: "", 1: "upper"}
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = found.covariance / np.outer(errors, errors)
    return {
        "name": fit.name,
        "loss": fit.given.loss,
        "converged": found.converged,
        "ended": found.ended,
        "evaluations": found.evaluations,
        "cost": found.cost,
        "readings": m,
        "degrees_of_freedom": m - free,
        "chi_square": chi_square,
        "parameters": {
            parameter: {
                "start": float(variables.start[i]),
                "value": float(found.values[i]),
                "standard_error": float(errors[i]),
                "unit": variables.units[i],
                "bounds": [float(variables.low[i]), float(variables.high[i])],
                "held_by": ends[int(found.held[i])],
            }
            for i, parameter in enumerate(fit.names)
        },
        "correlations": correlations.tolist(),
        "directions": [
            {
                "singular_value": direction.singular_value,
                "determined": direction.singular_value > UNDETERMINED,
                "parameters": _parts(direction, fit.names, found.values),
            }
            for direction in found.directions
        ],
        "measurements": {name: {c: _column(s) for c, s in of.items()} for name, of in fit.samples.items()},
        "hold_out": {name: {c: _column(s) for c, s in of.items()} for name, of in fit.hold_out.items()},
    }


def _parts(direction: Direction, names: Sequence[str], values: np.ndarray) -> dict[str, float]:
    """Changes of the parameters along a direction, relative to their values; the largest is 1."""
    has_effect = direction.effect >= PART * direction.effect.max(initial=0.0)
    relative = direction.combination / np.where(values == 0.0, 1.0, np.abs(values))
    largest = relative[np.argmax(np.abs(relative))]
    parts = zip(names, relative / (largest or 1.0), has_effect, strict=True)
    return {name: float(part) for name, part, counts in parts if counts or abs(part) >= PART}


def _column(s: "Samples") -> dict[str, Any]:
    off = s.computed - s.measured
    worst = int(np.argmax(np.abs(off)))
    return {
        "sensor": s.sensor,
        "unit": s.unit,
        "readings": len(off),
        "left_out": s.left_out,
        "sigma": s.sigma,
        "sigma_estimated": s.sigma_estimated,
        "rms": float(np.sqrt(np.mean(off**2))),
        "mean": float(np.mean(off)),
        "largest": float(off[worst]),
        "largest_at": float(s.time[worst]),
    }


def warnings_of(fit: "Fit") -> list[str]:
    """Warnings of a fit."""
    found, warnings = fit.estimate, []
    if not found.converged:
        warnings.append(f"the search has not converged: {found.ended}")
    for direction in found.directions:
        if direction.singular_value <= UNDETERMINED:
            parts = _parts(direction, fit.names, found.values)
            changes = ", ".join(f"{name} {part:+.3g}" for name, part in parts.items())
            *first, last = parts
            names = f"{', '.join(first)} and {last}" if first else last
            warnings.append(
                f"the data do not determine {names}: changes in the ratio {changes}, relative to the "
                f"values, leave the residuals as they are (singular value {direction.singular_value:.1e})"
            )
    for name, end in zip(fit.names, found.held, strict=True):
        if end:
            warnings.append(f"{name} is held by the {'lower' if end < 0 else 'upper'} end of its range")
    chosen = sum(direction.singular_value > UNDETERMINED for direction in found.directions)
    share = chosen / len(found.sigma)  # of the residuals' sum of squares, that the search takes away
    for name, s, held_out in fit.columns:  # residuals beside the noise that the file states
        if held_out or s.sigma_estimated or fit.given.loss != "linear" or share == 1.0:
            continue
        ratio = float(np.mean(s.residuals**2)) / (1.0 - share)
        if abs(ratio - 1.0) > UNLIKELY * np.sqrt(2.0 / len(s.time)):
            warnings.append(
                f"residuals of {name} are {np.sqrt(ratio):.3g} times the stated sigma of {s.sigma:.3g}; "
                "standard errors rely on it"
            )
    return warnings


def correlated(report: Mapping[str, Any]) -> list[tuple[str, str, float]]:
    """Pairs of parameters whose estimates are strongly correlated."""
    names, rows = list(report["parameters"]), report["correlations"]
    pairs = ((first, names[j], rows[i][j]) for i, first in enumerate(names) for j in range(i))
    return [pair for pair in pairs if abs(pair[2]) >= CORRELATED]


def text_to_save(model: "Model", values: Mapping[str, float], path: Path, *, force: bool) -> str:
    """The text of the model's file with its overrides and ``values``; raises UsageError or InputOutputError."""
    if keys := [name[1:] for name in model.settings.overrides if is_key(name)]:
        raise UsageError(f"a saved model has the keys of its file, not a value of {keys[0]}; write that into the file")
    if path.suffix not in (".yaml", ".yml"):
        raise UsageError(f"a model file ends in .yaml; {path} does not")
    if path.exists() and not force:
        raise InputOutputError(f"{path} exists; {flag('force')} overwrites it")
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise InputOutputError(f"cannot write {path}: it is a folder, or there is no folder that it could stand in")
    file = model.file
    source, value = file.source, file.expressions.value
    keep_apart(path, [*map(Path, [*source.texts][1:]), *file.files], "a file that the model reads")
    others = len(source.texts) > 1 or file.tables or file.measurements or file.study
    if others and path.resolve().parent != model.path.resolve().parent:
        message = f"{model.path} names other files relative to its folder"
        raise UsageError(f"{message}; save the model in {model.path.resolve().parent}, not in {path.resolve().parent}")
    values = {name: float(value(number).real) for name, number in file.overrides.items()} | dict(values)
    text = with_numbers(file, values)
    try:
        scope = load(source.file, texts={**source.texts, source.file: text}).expressions.scope()
    except MbsimError as error:
        raise UsageError(f"the values found cannot be saved in {source.file}: {error}") from error
    if wrong := [name for name, number in values.items() if float(scope[name].real) != number]:
        raise UsageError(f"the values of {', '.join(wrong)} cannot be saved in {source.file}")
    return text


def save_model(model: "Model", estimates: Mapping[str, float], path: Path, *, force: bool) -> Path:
    """Write the model's file with estimates; return the path. Raises what ``text_to_save`` raises."""
    text = text_to_save(model, estimates, path, force=force)
    with replaced(path.resolve(), force=True) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path
