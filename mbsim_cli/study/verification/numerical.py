"""Gradients against differences of whole analyses, from the file on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError, ModelError
from mbsim_cli.study.changed import values_at
from mbsim_cli.study.evaluation import Gradient
from mbsim_cli.study.objectives.uncertainty import ROUND_OFF
from mbsim_cli.study.verification.analysed import Analysed
from mbsim_cli.study.verification.comparison import Comparison, compare, unless_undecided
from mbsim_cli.study.verification.differences import FIRST, LUCKY, Difference, derivative, scale_of

NUMERICAL_TOLERANCE = 1e-6  # of the derivative's size
UNCERTAIN = 1e-4  # largest estimated error of the numerical derivative that may excuse a difference
DIVERGES = 1e-2  # estimated relative error from which differences of analyses tell no derivative
ENOUGH = 1e-7  # relative error of the numerical derivative that needs no more analyses
INSENSITIVE = 1e-4  # of what an objective adds up, and changes by: a derivative below this is compared with that


def missing_derivative(analysed: Analysed, parameter: str, why: str) -> Comparison:
    """Whether a parameter that is said to have no derivatives has none: analyses beside it fail, or do not converge."""
    file, label = analysed.file, analysed.file.parameter_label(parameter)
    scale = scale_of(file.expressions.scope()[parameter])
    source = f"whole analyses with {label} changed by at most {FIRST * scale:.1e}"
    labels: dict[str, Any] = {"objective": None, "parameter": label, "source": source}
    numbers = dict.fromkeys(("computed", "reference", "relative_error", "tolerance"))
    row = Comparison(str(analysed.path), "no derivative", "undefined", **labels, **numbers, passed=True)
    try:
        found = derivative(lambda change: values_at(file, analysed.settings, {parameter: change}), scale)
    except (AnalysisError, ModelError):
        return replace(row, message=why)
    if np.any(found.error > DIVERGES * np.abs(found.derivative)):
        return replace(row, message=why)
    return replace(row, passed=False, message=f"{why}; but differences of whole analyses converge")


def along_direction(
    analysed: Analysed, objectives: Sequence[str], parameters: Sequence[str], chosen: Sequence[int], seed: int
) -> Iterator[Comparison]:
    """Compare the gradients of objectives along a random direction with differences of whole analyses.

    The direction changes some of the parameters, ``chosen`` of the gradient's: beside values of others there is no
    analysis. These analyses are assembled anew and share no tables with what they check, as further runs do: a number
    that is not known to follow a parameter would be missing from the derivative and from the difference alike. It takes
    some milliseconds each, a thousandth of what ``mbsim check`` takes.
    """
    scales = np.array([scale_of(analysed.file.expressions.scope()[name]) for name in parameters])
    random = np.random.default_rng(seed)
    direction = scales * random.choice([-1.0, 1.0], len(scales)) * random.uniform(0.5, 1.0, len(scales))
    results = [analysed.results[name] for name in objectives]
    numerical, chords = _numerical(analysed, objectives, dict(zip(parameters, direction, strict=True)))
    for name, result, reference, error, chord in zip(
        objectives, results, numerical.derivative, numerical.error, chords, strict=True
    ):
        gradient = result.gradient[list(chosen)]
        scale = max(float(np.linalg.norm(gradient * direction)), INSENSITIVE * max(size_of(result), float(chord)))
        uncertain = LUCKY * float(error)
        row = compare(
            gradient @ direction,
            reference,
            NUMERICAL_TOLERANCE,
            min(uncertain, UNCERTAIN * scale) + dust_of(result),
            scale,
            model=str(analysed.path),
            name="numerical derivative",
            kind="numerical",
            objective=name,
            parameter=f"direction {seed}",
            source=f"central differences of whole analyses along random direction {seed}, step {numerical.step:.1e}",
        )
        yield unless_undecided(row, uncertain, scale, f"d {name} / d direction {seed}")


def _numerical(
    analysed: Analysed, objectives: Sequence[str], direction: Mapping[str, float]
) -> tuple[Difference, np.ndarray]:
    """Derivatives (k,) along a direction, and the steepest slopes over whole changes: these do not vanish with them."""
    columns = [i for i, name in enumerate(analysed.file.objectives) if name in objectives]
    values = np.array([analysed.results[name].value for name in objectives])
    chords = np.zeros(len(values))

    def changed(change: float) -> np.ndarray:
        moved = {name: change * part for name, part in direction.items()}
        found = values_at(analysed.file, analysed.settings, moved)[columns]
        np.maximum(chords, abs((found - values) / change), out=chords)
        return found

    return derivative(changed, 1.0, ENOUGH), chords


def dust_of(result: Gradient) -> float:
    """What round-off makes of an objective that vanishes, and of its changes by parameters."""
    return ROUND_OFF * result.uncertainty.scale if result.uncertainty else 0.0


def size_of(result: Gradient) -> float:
    """What a derivative may be small against: the objective, and what it adds up."""
    return max(abs(result.value), result.uncertainty.size if result.uncertainty else 0.0)
