"""``mbsim validate``: all errors in model files."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mbsim_cli.cli import options
from mbsim_cli.cli.output import emit, print_issues, print_warnings, tell
from mbsim_cli.errors import InputOutputError, Issue, ModelError, counted

if TYPE_CHECKING:
    from mbsim_cli.spec.model_file import ModelFile
    from mbsim_cli.study.assembling import Settings


@options.replacing(*options.MODEL)
def command(
    models: options.ModelPaths,
    settings: "Settings" = options.STATED,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """List all errors of model files.

    Syntax, structure, whether the mechanism can be assembled, and files of measurements and of cases.
    """
    checked, unread = [], []
    for path in models:
        try:
            checked.append(validate(path, settings))
        except InputOutputError as error:
            unread.append(str(error))
    if unread and (json or len(models) == 1):
        raise InputOutputError("; ".join(unread))
    issues = [issue for found, _ in checked for issue in found]
    warnings = [warning for _, found in checked for warning in found]
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


def validate(path: Path, settings: "Settings") -> tuple[tuple[Issue, ...], list[str]]:
    """All issues of a file, those of the assembly and of data files only if the file itself has none; and warnings."""
    from mbsim_cli.spec.warnings import warnings_of
    from mbsim_cli.study.assembling import build, load

    try:
        model_file = load(path, settings)
        assembled = build(model_file, settings, [])
        _read_data(model_file)
    except ModelError as error:
        return error.issues, []
    return (), [*warnings_of(model_file), *assembled.warnings]


def _read_data(model_file: "ModelFile") -> None:
    """Read the measurements and the files of cases that a model names; raises ModelError and InputOutputError."""
    for name in model_file.measurements:
        from mbsim_cli.study.fitting.readings import measured_of

        measured_of(model_file, name)
    for study in model_file.study.values():
        if study.csv is not None:
            from mbsim_cli.study.sweep.planning import columns_of

            columns_of(study.csv, Path(model_file.source.file).parent, model_file.parameters)
