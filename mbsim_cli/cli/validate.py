"""``mbsim validate``: everything that is wrong with model files, at once."""

from pathlib import Path

import typer

from mbsim_cli.cli import options
from mbsim_cli.errors import Issue, ModelError


def command(
    models: options.ModelPaths,
    parameter: options.Overrides = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Read and validate model files: syntax, structure, and whether the mechanism can be assembled."""
    from mbsim_cli.cli.environment import limit_threads

    limit_threads(None)
    overrides = options.parse_overrides(parameter)
    issues = [issue for path in models for issue in issues_of(path, overrides)]
    if json:
        from mbsim_cli.cli.output import emit

        emit({"valid": not issues, "errors": [issue.as_dict() for issue in issues]})
    else:
        from mbsim_cli.cli.issues import print_issues
        from mbsim_cli.cli.output import say

        print_issues(issues)
        files = f"{len(models)} files" if len(models) > 1 else str(models[0])
        count = f"{len(issues)} error{'s' * (len(issues) != 1)}"
        say(f"{files}: {count}" if issues else f"{files}: valid", quiet)
    raise typer.Exit(ModelError.exit_code if issues else 0)


def issues_of(path: Path, overrides: dict[str, str]) -> tuple[Issue, ...]:
    """All issues of a file; those of the assembly are looked for only where the file itself is sound."""
    from mbsim_cli.study.assembling import build, load
    from mbsim_cli.study.settings import Settings

    settings = Settings(overrides=overrides)
    try:
        build(load(path, settings), settings, [])
    except ModelError as error:
        return error.issues
    return ()
