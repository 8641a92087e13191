"""``mbsim validate``: everything that is wrong with model files, at once."""

from pathlib import Path

import typer

from mbsim_cli.cli import options
from mbsim_cli.errors import InputOutputError, Issue, ModelError


def command(
    models: options.ModelPaths,
    parameter: options.Overrides = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """List everything that is wrong with model files.

    Syntax, structure, and whether the mechanism can be assembled.
    """
    from mbsim_cli.cli.options import limit_threads

    limit_threads(None)
    overrides = options.parse_overrides(parameter)
    judged, unread = [], []
    for path in models:
        try:
            judged.append(judge(path, overrides))
        except InputOutputError as error:
            unread.append(str(error))
    if unread and (json or len(models) == 1):
        raise InputOutputError("; ".join(unread))
    issues = [issue for found, _ in judged for issue in found]
    warnings = [warning for _, found in judged for warning in found]
    if json:
        from mbsim_cli.cli.output import emit

        emit({"valid": not issues, "errors": [issue.as_dict() for issue in issues], "warnings": warnings})
    else:
        from mbsim_cli.cli.output import print_issues, say, tell

        print_issues(issues)
        for warning in warnings:
            say(f"warning: {warning}", quiet)
        if unread:
            raise InputOutputError("; ".join(unread))
        files = f"{len(models)} files" if len(models) > 1 else str(models[0])
        count = f"{len(issues)} error{'s' * (len(issues) != 1)}"
        tell(f"{files}: {count}" if issues else f"{files}: valid", quiet)
    raise typer.Exit(ModelError.exit_code if issues else 0)


def judge(path: Path, overrides: dict[str, str]) -> tuple[tuple[Issue, ...], list[str]]:
    """All issues of a file, those of the assembly only where the file itself is sound; warnings of a valid one."""
    from mbsim_cli.spec.judging.doubts import doubts_of
    from mbsim_cli.study.assembling import Settings, build, load

    settings = Settings(overrides=overrides)
    try:
        model_file = load(path, settings)
        assembled = build(model_file, settings, [])
    except ModelError as error:
        return error.issues, []
    return (), [*doubts_of(model_file), *assembled.warnings]
