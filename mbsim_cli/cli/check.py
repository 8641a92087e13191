"""``mbsim check``: compare results with the references that model files state."""

from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mbsim_cli.cli import options
from mbsim_cli.cli.output import WarningRecorder, digits, emit, print_warnings, show_rich, tell
from mbsim_cli.errors import InputOutputError, MbsimError, UsageError, counted, one_line

if TYPE_CHECKING:
    from mbsim_cli.study.verification import Comparison

RENAMED = {"--method": "--sensitivity"}
SHOWN = 4  # components of a vector


class Repeated(StrEnum):
    """Methods that checks of agreement accept."""

    RTDYN0 = "ali3p-rtdyn0"
    RTDYN1 = "ali3p-rtdyn1"
    NATURAL = "ali3p-natural"
    ALI1P = "ali1p-rtdyn1"
    RECURSIVE = "recursive"
    CONVENTIONAL = "conventional"
    PARTIAL_RECURSIVE = "partial_recursive"
    COMPLEX_STEP = "complex_step"
    ADJOINT = "adjoint"


@options.replacing(*options.ANALYSIS, "threads")
def command(
    models: options.ModelPaths,
    sensitivity: Annotated[Literal["ddm", "adjoint"], typer.Option(help="Method whose gradients are checked.")] = "ddm",
    settings: "options.Settings" = options.STATED,
    all_numbers: options.AllNumbers = False,
    without: Annotated[
        list[Repeated] | None,
        typer.Option(
            metavar="METHOD", help="Leave out the comparison with a method, as its kernels may take long to compile."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the random direction.")] = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare results and gradients with independent references.

    The references are those under checks of the files, and numerical derivatives of whole analyses along a random
    direction.
    """
    left_out = tuple(method.value for method in without or ())
    settings = replace(settings, method=sensitivity, all_numbers=all_numbers, without=left_out)
    listener = WarningRecorder(quiet)
    rows, code = _all(models, settings, seed, listener)
    passed = code == 0
    if json:
        emit({"passed": passed, "checks": [asdict(row) for row in rows], "warnings": listener.warnings})
    else:
        _print(rows, len(models), listener.warnings)
    raise typer.Exit(code)


def _all(
    models: list[Path], settings: "options.Settings", seed: int, listener: "WarningRecorder"
) -> "tuple[list[Comparison], int]":
    """Rows of all files, and the exit code: of the first file that could not be analysed, else 0 or 1 by the checks."""
    from mbsim_cli.study.verification import Comparison, verify

    rows: list[Comparison] = []
    code = 0
    with listener.progress("checking", len(models)) as show:
        for done, path in enumerate(models, 1):
            try:
                found = verify(path, settings, seed, listener)
            except MbsimError as error:
                if len(models) == 1 and isinstance(error, UsageError | InputOutputError):
                    raise
                code = code or error.exit_code
                found = [
                    Comparison(model=str(path), name="analysis", kind="failure", passed=False, message=one_line(error))
                ]
            if not found:
                listener.warn(f"{path} states no checks, and has no objectives to differentiate")
            rows += found
            show(done)
    return rows, code or int(not all(row.passed for row in rows))


def _print(rows: "list[Comparison]", files: int, warnings: list[str]) -> None:
    from rich.table import Table
    from rich.text import Text

    print_warnings(warnings)
    table = Table()
    for title in ("model", "check", "quantity"):
        table.add_column(title)
    for title in ("computed", "reference", "error", "tolerance"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("")
    before = None
    for row in rows:
        new = row.model != before
        quantity = f"d {row.objective} / d {row.parameter}" if row.parameter else row.objective or ""
        sizes = ("" if size is None else f"{size:.1e}" for size in (row.relative_error, row.tolerance))
        numbers = [_short(row.computed), _short(row.reference), *sizes]
        verdict = Text("passed", "green") if row.passed else Text("FAILED", "bold red")
        verdict = verdict if row.decided else Text("undecided", "yellow")
        if new and before is not None:
            table.add_section()
        table.add_row(Path(row.model).name if new else "", row.name, row.message or quantity, *numbers, verdict)
        before = row.model
    if rows:
        show_rich(table)
    failures, open_ones = sum(not row.passed for row in rows), sum(not row.decided for row in rows)
    more = f", {open_ones} undecided" if open_ones else ""
    tell(f"{counted(len(rows), 'comparison')} in {counted(files, 'file')}, {failures or 'none'} failed{more}")


def _short(value: float | list[float] | None) -> str:
    if isinstance(value, list):
        shown = " ".join(digits(entry, 5) for entry in value[:SHOWN])
        return shown if len(value) <= SHOWN else f"{shown} ... ({len(value)})"
    return "" if value is None else digits(value)
