"""Laws and tables: continuous, complete, and not made of themselves."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import Any

from mbsim_cli.spec.base import walk
from mbsim_cli.spec.expressions.named_numbers import shown, sort
from mbsim_cli.spec.families import AnyLaw, Law, Measurement
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.review import Review
from mbsim_cli.spec.tables import ColumnsFile, TableFile


def check(review: Review) -> None:
    """Report tables that are not in order, steps that jump, and parts that do not exist or run in circles."""
    for section in ("laws", "forces", "constraints", "analysis"):
        for path, law in walk(getattr(review.model, section), (section,), AnyLaw):
            _one(review, path, law)
    reads = {
        name: [part for _, part in _parts((), law) if isinstance(part, str)] for name, law in review.model.laws.items()
    }
    for cycle in sort(reads)[1]:
        review.report(("laws", cycle[0]), f"the law is made of itself: {shown(cycle)}")


def _one(review: Review, path: Path, law: Law) -> None:
    if law.type == "smooth_step" or law.type == "windowed":
        start, end = review.value(law.start), review.value(law.end)
        if start is not None and end is not None and end <= start:
            if law.type == "windowed":
                message, hint = f"the window ends at {end:g}, not behind its start at {start:g}", None
            elif start == end:
                message, hint = f"the law is not continuous: it jumps at {start:g}", "end must lie behind start"
            else:
                message, hint = f"the step ends at {end:g} before it starts at {start:g}", None
            review.report((*path, "end"), message, hint)
    elif law.type == "spline":
        key = "x" if law.x is not None else "times"
        if len(law.arguments) != len(law.values):
            message = f"{len(law.values)} values stand for {len(law.arguments)} {key}"
            review.report((*path, "values"), message)
        else:
            _increasing(review, (*path, key), law.arguments, key)
    elif law.type == "piecewise":
        if len(law.laws) != len(law.breaks) + 1:
            message = f"{len(law.laws)} laws stand for {len(law.breaks)} breaks"
            review.report((*path, "laws"), message, "there is one law more than breaks")
        _increasing(review, (*path, "breaks"), law.breaks, "breaks")
    for place, part in _parts(path, law):
        if not isinstance(part, str):
            _one(review, place, part)


def _parts(path: Path, law: Law) -> Iterator[tuple[Path, Any]]:
    """Laws that a law is made of, or their names, with their places."""
    if law.type == "windowed":
        yield (*path, "law"), law.law
    elif law.type == "sum" or law.type == "piecewise":
        for index, part in enumerate(law.laws):
            yield (*path, "laws", index), part


def _increasing(review: Review, path: Path, numbers: Sequence, key: str) -> None:
    for index, (before, here) in enumerate(pairwise(map(review.value, numbers)), start=1):
        if before is None or here is None or before < here:
            continue
        if before == here:
            message, hint = f"the law is not continuous: two values at {here:g}", f"{key} must increase"
        else:
            message, hint = f"{key} must increase, but {here:g} follows {before:g}", None
        review.report((*path, index), message, hint)


_HDF5_SUFFIXES = (".h5", ".hdf5", ".hdf")
_SECTIONS = ("laws", "roads", "forces", "constraints", "analysis")


def check_tables(review: Review) -> None:
    """Report what no table can be read by."""
    for section in (*_SECTIONS, "study"):
        for path, table in walk(getattr(review.model, section), (section,), ColumnsFile):
            check_delimiter(review, path, table)
            if isinstance(table, TableFile) and section != "study":
                _quantities(review, path, table)


def _quantities(review: Review, path: Path, table: TableFile) -> None:
    """Report quantities that the place does not know, two arguments, and factors that mean nothing."""
    if table.values:
        known = (*table.arguments, *table.values)
        for key in ("columns", "scale"):
            for quantity in getattr(table, key):
                if quantity not in known:
                    hint = review.suggest(quantity, known)
                    review.report((*path, key, quantity), f"unknown quantity {quantity!r} of a table", hint, key=True)
        given = [key for key in table.arguments if key in table.columns or key in table.scale]
        if len(given) > 1:
            review.report(path, f"{' and '.join(given)} both name the argument of the table", "give one of them")
    for quantity, factor in table.scale.items():
        place = (*path, "scale", quantity)
        value = review.value(factor)
        if value is None:
            continue
        if value <= 0.0 and quantity in table.arguments:
            review.report(place, f"must be greater than zero, is {value:g}", "the argument of a table increases")
        elif value == 0.0:
            review.report(place, "must not be zero")
        elif not table.values and quantity in table.arguments and review.model.expressions.gradient(factor):
            message = "the factor on the time of a motion's table must not depend on parameters"
            review.report(place, message, "no gradient by it is computed; make it a constant")


def check_delimiter(review: Review, path: Path, table: ColumnsFile | Measurement) -> None:
    """Report a delimiter that texts of numbers cannot have, or of a file that is no text."""
    delimiter = table.delimiter
    if delimiter is not None and PurePath(table.file).suffix.lower() in _HDF5_SUFFIXES:
        review.report((*path, "delimiter"), "an HDF5 file has no delimiter")
    elif delimiter is not None and (len(delimiter) != 1 or delimiter.isalnum() or delimiter in '".+-#'):
        hint = '";", " " or "\\t" for instance; a blank stands for any number of blanks and tabs'
        review.report((*path, "delimiter"), "must be one character that no number holds", hint)
