"""Tables in files: quantities that the place knows, factors that mean something, delimiters of texts."""

from collections.abc import Iterator
from pathlib import PurePath

from mbsim_cli.spec.base import walk
from mbsim_cli.spec.judging.review import Review
from mbsim_cli.spec.reading.messages import Path
from mbsim_cli.spec.tables import ColumnsFile, TableFile

HDF5_SUFFIXES = (".h5", ".hdf5", ".hdf")
_SECTIONS = ("laws", "roads", "forces", "constraints", "analysis")


def check(review: Review) -> None:
    """Report what no table can be read by."""
    for path, table in _tables(review):
        if table.values:
            _quantities(review, path, table)
        _factors(review, path, table)
    for section in (*_SECTIONS, "study"):
        for path, table in walk(getattr(review.model, section), (section,), ColumnsFile):
            _delimiter(review, path, table)


def _tables(review: Review) -> Iterator[tuple[Path, TableFile]]:
    for section in _SECTIONS:
        yield from walk(getattr(review.model, section), (section,), TableFile)


def _quantities(review: Review, path: Path, table: TableFile) -> None:
    known = (*table.arguments, *table.values)
    for place in ("columns", "scale"):
        for quantity in getattr(table, place):
            if quantity not in known:
                hint = review.suggest(quantity, known)
                review.report((*path, place, quantity), f"unknown quantity {quantity!r} of a table", hint, key=True)
    given = [key for key in table.arguments if key in table.columns or key in table.scale]
    if len(given) > 1:
        review.report(path, f"{' and '.join(given)} both name the argument of the table", "give one of them")


def _factors(review: Review, path: Path, table: TableFile) -> None:
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


def _delimiter(review: Review, path: Path, table: ColumnsFile) -> None:
    if table.delimiter is None:
        return
    is_hdf5 = PurePath(table.file).suffix.lower() in HDF5_SUFFIXES
    if fault := delimiter_fault(table.delimiter, is_hdf5):
        review.report((*path, "delimiter"), *fault)


def delimiter_fault(delimiter: str, is_hdf5: bool) -> tuple[str, str | None] | None:
    """What is wrong with the delimiter of a table, and a hint."""
    if is_hdf5:
        return "an HDF5 file has no delimiter", None
    if len(delimiter) != 1 or delimiter.isalnum() or delimiter in '".+-#':
        hint = '";", " " or "\\t" for instance; a blank stands for any number of blanks and tabs'
        return "must be one character that no number holds", hint
    return None
