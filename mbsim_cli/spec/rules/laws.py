"""Laws: continuous, and complete."""

from collections.abc import Iterator
from typing import Any

from mbsim_cli.spec.laws import SmoothStep, Spline
from mbsim_cli.spec.messages import Path
from mbsim_cli.spec.review import Review

_PLACES = ("law", "elongation_law", "rate_law")


def check(review: Review) -> None:
    """Report tables that are not in order and steps that jump."""
    for path, law in _laws(review):
        if isinstance(law, SmoothStep):
            _step(review, path, law)
        elif isinstance(law, Spline):
            _table(review, path, law)


def _laws(review: Review) -> Iterator[tuple[Path, Any]]:
    for name, law in review.model.laws.items():
        yield ("laws", name), law
    motion = getattr(review.model.analysis, "motion", None)
    for name, law in ({"all": motion.all, **motion.laws} if motion is not None else {}).items():
        if law is not None and not isinstance(law, str):
            yield ("analysis", "motion", *(("laws",) if name != "all" else ()), name), law
    for section in ("forces", "constraints"):
        for name, item in getattr(review.model, section).items():
            for place in _PLACES:
                law = getattr(item, place, None)
                if law is not None and not isinstance(law, str):
                    yield (section, name, place), law


def _step(review: Review, path: Path, law: SmoothStep) -> None:
    start, end = review.value(law.start), review.value(law.end)
    if start is None or end is None or start < end:
        return
    if start == end:
        review.report((*path, "end"), f"the law is not continuous: it jumps at {start:g}", "end must lie behind start")
    else:
        review.report((*path, "end"), f"the step ends at {end:g} before it starts at {start:g}")


def _table(review: Review, path: Path, law: Spline) -> None:
    key = "x" if law.x is not None else "times"
    if len(law.arguments) != len(law.values):
        message = f"{len(law.values)} values stand for {len(law.arguments)} {key}"
        review.report((*path, "values"), message)
        return
    values = [review.value(number) for number in law.arguments]
    for index in range(1, len(values)):
        before, here = values[index - 1], values[index]
        if before is None or here is None or before < here:
            continue
        if before == here:
            message, hint = f"the law is not continuous: two values at {here:g}", f"{key} must increase"
        else:
            message, hint = f"{key} must increase, but {here:g} follows {before:g}", None
        review.report((*path, key, index), message, hint)
