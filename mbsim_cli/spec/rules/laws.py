"""Laws: continuous, complete, and not made of themselves."""

from collections.abc import Iterator
from typing import Any

from mbsim_cli.spec.expressions.ordering import shown, sort
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.laws import OneSided, Piecewise, SmoothStep, Spline, Sum, Windowed
from mbsim_cli.spec.reading.messages import Path

_PLACES = ("law", "elongation_law", "rate_law")


def check(review: Review) -> None:
    """Report tables that are not in order, steps that jump, and parts that do not exist or run in circles."""
    for path, law in _laws(review):
        _one(review, path, law)
    reads = {
        name: [part for _, part in _parts((), law) if isinstance(part, str)] for name, law in review.model.laws.items()
    }
    for cycle in sort(reads)[1]:
        review.report(("laws", cycle[0]), f"the law is made of itself: {shown(cycle)}")


def _one(review: Review, path: Path, law: Any) -> None:
    if isinstance(law, SmoothStep):
        _step(review, path, law)
    elif isinstance(law, Spline):
        _table(review, path, law)
    elif isinstance(law, OneSided):
        onset = review.value(law.onset)
        if onset is not None and onset <= 0:
            review.report((*path, "onset"), f"must be greater than zero, is {onset:g}")
    elif isinstance(law, Windowed):
        start, end = review.value(law.start), review.value(law.end)
        if start is not None and end is not None and end <= start:
            review.report((*path, "end"), f"the window ends at {end:g}, not behind its start at {start:g}")
    elif isinstance(law, Piecewise):
        _pieces(review, path, law)
    for place, part in _parts(path, law):
        if isinstance(part, str):
            review.known(place, part, "laws", "law")
        else:
            _one(review, place, part)


def _parts(path: Path, law: Any) -> Iterator[tuple[Path, Any]]:
    """Laws that a law is made of, or their names, with their places."""
    if isinstance(law, Windowed):
        yield (*path, "law"), law.law
    elif isinstance(law, Sum | Piecewise):
        for index, part in enumerate(law.laws):
            yield (*path, "laws", index), part


def _pieces(review: Review, path: Path, law: Piecewise) -> None:
    if len(law.laws) != len(law.breaks) + 1:
        message = f"{len(law.laws)} laws stand for {len(law.breaks)} breaks"
        review.report((*path, "laws"), message, "there is one law more than breaks")
    _increasing(review, (*path, "breaks"), law.breaks, "breaks")


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
            for direction, law in getattr(item, "laws", None) or ():
                if law is not None and not isinstance(law, str):
                    yield (section, name, "laws", direction), law


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
    _increasing(review, (*path, key), law.arguments, key)


def _increasing(review: Review, path: Path, numbers: list, key: str) -> None:
    values = [review.value(number) for number in numbers]
    for index in range(1, len(values)):
        before, here = values[index - 1], values[index]
        if before is None or here is None or before < here:
            continue
        if before == here:
            message, hint = f"the law is not continuous: two values at {here:g}", f"{key} must increase"
        else:
            message, hint = f"{key} must increase, but {here:g} follows {before:g}", None
        review.report((*path, index), message, hint)
