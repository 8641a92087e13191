"""``mbsim validate``: all errors in model files."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mbsim_cli.cli import options
from mbsim_cli.cli.output import emit, print_issues, print_warnings, tell
from mbsim_cli.errors import InputOutputError, Issue, ModelError, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mbsim_cli.spec.model_file import ModelFile


@options.replacing(*options.MODEL)
def command(
    models: options.ModelPaths,
    settings: "options.Settings" = options.STATED,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """List all errors of model files.

    Syntax, structure, whether the mechanism can be assembled, and files of measurements and of cases.
    """
    issues, warnings, unread = list[Issue](), list[str](), list[str]()
    for path in models:
        try:
            warnings += validate(path, settings, unread)
        except ModelError as error:
            issues += error.issues
        except InputOutputError as error:
            unread.append(str(error))
    if unread and json:
        raise InputOutputError("; ".join(unread))
    if json:
        emit({"valid": not issues, "errors": [issue.as_dict() for issue in issues], "warnings": warnings})
    else:
        print_issues(issues)
        print_warnings(warnings, quiet)
        if unread:
            raise InputOutputError("; ".join(unread))
        files = f"{len(models)} files" if len(models) > 1 else str(models[0])
        tell(f"{files}: {counted(len(issues), 'error')}" if issues else f"{files}: valid", quiet)
    raise typer.Exit(ModelError.exit_code if issues else 0)


def validate(path: Path, settings: "options.Settings", unread_out: list[str]) -> list[str]:
    """Return the warnings on a file; list data files that cannot be read.

    Raises ModelError for all errors of the file, or else of the assembly, or else of the data files; InputOutputError
    where the file itself cannot be read.
    """
    from mbsim_cli.spec.warnings import warnings_of
    from mbsim_cli.study.assembling import build, load

    model_file = load(path, settings)
    assembled = build(model_file, settings, [])
    issues = list[Issue]()
    for read in _readers(model_file):
        try:
            read()
        except ModelError as error:
            issues += error.issues
        except InputOutputError as error:
            unread_out.append(str(error))
    if issues:
        raise ModelError(issues)
    return [*warnings_of(model_file), *assembled.warnings]


def _readers(model_file: "ModelFile") -> "Iterator[Callable[[], object]]":
    """Functions that read the measurements and the files of cases that a model names."""
    for name in model_file.measurements:
        from mbsim_cli.study.fitting.readings import measured_of

        yield partial(measured_of, model_file, name)
    for name, study in model_file.study.items():
        if study.csv is not None:
            from mbsim_cli.study.sweep.planning import columns_of

            path = model_file.source.file_at(("study", name, "csv", "file"), study.csv.file)
            yield partial(columns_of, study.csv, path, model_file.parameters)
