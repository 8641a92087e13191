"""Optimisations: objectives and parameters that exist, ranges that hold the start, limits that leave something."""

from collections.abc import Iterator
from typing import Any

from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.rules.studies import Fault, around_start, bounded, changed_in, known_parameters, positive, range_of
from mbsim_cli.spec.studies import Limit, Optimization, Range


def check(review: Review) -> None:
    """Report what cannot be optimised."""
    for name, given in review.model.optimization.items():
        if review.intact("optimization", name):
            for fault in _faults(review, given):
                review.report(("optimization", name, *fault.path), fault.message, fault.hint, key=fault.key)


def _faults(review: Review, given: Optimization) -> Iterator[Fault]:
    key = "minimize" if given.minimize is not None else "maximize"
    yield from _objective(review, (key,), given.objective)
    for name, limit in given.constraints.items():
        yield from _objective(review, ("constraints", name), name, key=True)
        yield from _limit(review, given, ("constraints", name), limit)
        if limit.equals is not None and given.algorithm == "mma":
            yield Fault(("constraints", name, "equals"), "mma keeps no equalities", "slsqp does", True)
    yield from _fields(review, given)
    yield from positive(review, ("tolerance",), given.tolerance)
    yield from _variables(review, given)


def _objective(review: Review, path: Path, name: str, key: bool = False) -> Iterator[Fault]:
    known = review.names("objectives")
    if name not in known and not review.lost("objectives"):
        yield Fault(path, f"unknown objective {name!r}", review.suggest(name, known), key)


def _limit(review: Review, given: Optimization, path: Path, limit: Limit) -> Iterator[Fault]:
    low, high = review.value(limit.at_least), review.value(limit.at_most)
    if low is not None and high is not None and low > high:
        yield Fault((*path, "at_least"), f"{low:g} is more than at_most, {high:g}")
    for key in ("at_least", "at_most", "equals"):
        yield from _at_rest(review, (*path, key), getattr(limit, key), _varied(review, given))


def _varied(review: Review, given: Optimization) -> set[str]:
    """Parameters that vary."""
    if given.varied == "all":
        return {name for name, parameter in review.model.parameters.items() if _is_free(review, parameter)}
    return set(given.varied)


def _at_rest(review: Review, path: Path, number: Number | None, varied: set[str]) -> Iterator[Fault]:
    """A number that the search leaves as it is, for it is read at the start alone."""
    if number is not None and (moving := changed_in(review, number, varied)):
        hint = "an objective may have it in its formula, and a number as its limit"
        yield Fault(path, f"{number.text} is read at the start alone, and would not follow {moving}", hint)


def _fields(review: Review, given: Optimization) -> Iterator[Fault]:
    known = review.names("fields")
    for index, name in enumerate(given.fields):
        path: Path = ("fields", index)
        if name not in known:
            if not review.lost("fields"):
                yield Fault(path, f"unknown field {name!r}", review.suggest(name, known))
        elif name in given.fields[:index]:
            yield Fault(path, f"{name!r} stands twice")
        elif review.intact("fields", name) and review.model.fields[name].bounds is None:
            yield Fault(path, f"field {name!r} has no bounds that it could vary within", "give it bounds")
        elif review.intact("fields", name) and not _is_free(review, review.model.fields[name]):
            yield Fault(path, f"the bounds of field {name!r} leave it nothing to vary within")
        elif len(users := _bodies_of(review, name)) != 1:
            yield Fault(path, f"field {name!r} gives the densities of {len(users)} bodies, not of one")
    for name, limit in given.volume.items():
        if name not in given.fields:
            yield Fault(("volume", name), f"{name!r} is not among the fields that vary", None, True)
        yield from _limit(review, given, ("volume", name), limit)
        yield from _within_bounds(review, name, limit)
        if limit.equals is not None and given.algorithm == "mma":
            yield Fault(("volume", name, "equals"), "mma keeps no equalities", "at_most does", True)


def _within_bounds(review: Review, name: str, limit: Limit) -> Iterator[Fault]:
    """A limit on a mean lies between the bounds of what it is the mean of: others hold always, or never."""
    field = review.model.fields.get(name)
    bounds = review.vector(field.bounds) if field is not None and review.intact("fields", name) else None
    for key in ("at_least", "at_most", "equals"):
        value = review.value(getattr(limit, key))
        if bounds is not None and value is not None and not bounds[0] <= value <= bounds[1]:
            message = f"no mean comes to {value:g}: {name!r} lies between {bounds[0]:g} and {bounds[1]:g}"
            yield Fault(("volume", name, key), message)


def _bodies_of(review: Review, field: str) -> list[str]:
    """Bodies whose densities a field gives."""
    found = []
    for name, body in review.model.bodies.items():
        density = getattr(body.flexible, "density", None)
        if density is not None and density.name == field:
            found.append(name)
    return found


def _variables(review: Review, given: Optimization) -> Iterator[Fault]:
    stated = given.varied
    if stated == "all":
        if review.intact("parameters") and not any(_is_free(review, p) for p in review.model.parameters.values()):
            message = "no parameter has bounds that it could vary within"
            yield Fault(("variables",), message, "give those that vary bounds, or ranges here", True)
        return
    if not stated and not given.fields:
        yield Fault(("variables",), "needs one parameter at least")
    listed = isinstance(stated, list)
    yield from known_parameters(review, ("variables",), stated, key=not listed)
    for index, name in enumerate(stated):
        path: Path = ("variables", index if listed else name)
        if listed and name in stated[:index]:
            yield Fault(path, f"{name!r} stands twice")
        elif name not in review.model.parameters or not review.intact("parameters", name):
            continue
        elif listed:
            yield from bounded(review, path, name)
        else:
            yield from _range(review, given, path, name, stated[name])


def _range(review: Review, given: Optimization, path: Path, name: str, stated: Range) -> Iterator[Fault]:
    others = _varied(review, given) - {name}
    yield from range_of(review, path, stated)
    yield from _at_rest(review, (*path, "from"), stated.from_, others)
    yield from _at_rest(review, (*path, "to"), stated.to, others)
    yield from _start(review, path, name, stated)


def _is_free(review: Review, has_bounds: Any) -> bool:
    """Whether a parameter or field has bounds that differ, as far as they have values."""
    if has_bounds.bounds is None:
        return False
    ends = review.vector(has_bounds.bounds)
    return ends is None or ends[0] != ends[1]


def _start(review: Review, path: Path, name: str, stated: Range) -> Iterator[Fault]:
    """The range holds the value that the search begins with, and lies within the parameter's own bounds."""
    yield from around_start(review, path, name, stated)
    low, high = review.value(stated.from_), review.value(stated.to)
    if low is None or high is None:
        return
    bounds = review.vector(review.model.parameters[name].bounds)
    if bounds is not None and not bounds[0] <= low <= high <= bounds[1]:
        yield Fault(path, f"reaches beyond the bounds {bounds[0]:g} and {bounds[1]:g} of {name!r}", None, True)
