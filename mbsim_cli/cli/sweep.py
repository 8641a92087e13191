"""``mbsim sweep``: parameter studies."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from mbsim_cli.cli import completion, options
from mbsim_cli.cli.options import Command
from mbsim_cli.cli.output import Terminal, print_report, say
from mbsim_cli.cli.study_folders import (
    Folder,
    Jobs,
    collect,
    extract,
    opened,
    print_forecast,
    print_summary,
    script,
    status,
)
from mbsim_cli.errors import UsageError
from mbsim_cli.system import usable

if TYPE_CHECKING:
    from mbsim_cli.study.sweep.running import Work
    from mbsim_cli.study.sweep.study_folder import StudyFolder


# Cases that the command line states: a file of cases, or the axes of a grid.


def stated_cases(csv: Path | None, grid: list[str] | None) -> dict[str, Any] | None:
    """The cases of the command line in the form of an entry of ``studies``."""
    if csv is not None and grid:
        raise UsageError("--csv and --grid are two studies; give one of them")
    if csv is not None:
        return {"csv": {"file": str(csv)}}
    axes = [_axis(entry) for entry in grid or ()]
    for name, _ in axes:
        if sum(other == name for other, _ in axes) > 1:
            raise UsageError(f"--grid states {name} twice; list all its values in one: --grid {name}=A,B,C")
    return {"grid": dict(axes)} if axes else None


def _axis(entry: str) -> tuple[str, Any]:
    """An axis of a grid: NAME=A:B:N, NAME=A:B:N:log or NAME=A,B,C."""
    name, equals, text = entry.partition("=")
    parts = [part.strip() for part in text.split(":")]
    if not (equals and name.strip() and all(parts)) or len(parts) == 2 or len(parts) > 4:
        raise UsageError(f"--grid must be NAME=A:B:N, NAME=A:B:N:log or NAME=A,B,C, not '{entry}'")
    if len(parts) == 1:
        return name.strip(), [_number(value) for value in text.split(",")]
    if not parts[2].isdecimal():
        raise UsageError(f"--grid {entry}: the third part is how many values there are, a whole number")
    axis = {"from": _number(parts[0]), "to": _number(parts[1]), "count": int(parts[2])}
    return name.strip(), axis | ({"scale": parts[3]} if len(parts) == 4 else {})


def _number(text: str) -> float | str:
    """A number, or an expression of the model's parameters."""
    try:
        return float(text)
    except ValueError:
        return text.strip()


# ``mbsim sweep``: parameter studies, planned and computed.

ShardOption = Annotated[
    str | None, options.value_option("I/N", "Compute shard I of N only.", "that of a task of a SLURM array")
]
Retry = Annotated[int | None, options.value_option("K", "Retries per case after a crash or an I/O error.", "1", min=0)]
Timeout = Annotated[float | None, options.value_option("S", "Seconds that a case may take.", "no limit")]
MaxFailures = Annotated[
    int | None, options.value_option("K", "End when more than K cases have failed.", "never", min=0)
]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="End when a case fails.")]
Dask = Annotated[str | None, options.value_option("ADDRESS", "Compute on a Dask cluster.", "on this machine")]
Study = Annotated[
    str | None,
    typer.Argument(
        metavar="[STUDY]", help="Study of the file.", show_default="the only one", autocompletion=completion.studies
    ),
]
Output = Annotated[Path | None, options.output_option("DIR", "Folder.", "MODEL-STUDY here")]
Csv = Annotated[Path | None, options.value_option("FILE", "File of cases, a row of values for each.", readable=False)]
Grid = Annotated[
    list[str] | None, options.value_option("NAME=A:B:N", "Values of a grid, or NAME=A,B,C; repeat for more.", False)
]
Keep = Annotated[
    Literal["objectives", "sensors", "full"] | None, options.value_option(None, "Results to store for each case.")
]
Sensitivity = Annotated[Literal["none", "ddm"] | None, options.value_option(None, "Gradients in each case.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Estimate time and disk space from a few cases; compute nothing else.")
]
StartAgain = Annotated[bool, typer.Option("--force", help="Start again if the folder holds another study.")]

DEFAULT = "run"
NOT_STARTED = "{} is a study that is planned already; give the model file to plan another"


class _Group(TyperGroup):
    """A group of commands in which a first argument that is no command is the model of a study to run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Group,
    help="Run a parameter study; report, continue or export it.\n\n"
    "mbsim sweep MODEL.yaml [STUDY] -o DIR runs one; its options: mbsim sweep run --help.",
    subcommand_metavar="MODEL.yaml [STUDY] [OPTIONS] | COMMAND ...",
    rich_markup_mode=None,
)


@app.command(DEFAULT, hidden=True, cls=Command)
@options.replacing(*(name for name in options.ANALYSIS if name not in ("accuracy", "memory")), "threads")
def command(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL.yaml|DIR", help="Model file, or folder of a study.", readable=False)
    ],
    study: Study = None,
    output: Output = None,
    jobs: Jobs = 1,
    shard: ShardOption = None,
    csv: Csv = None,
    grid: Grid = None,
    keep: Keep = None,
    sensitivity: Sensitivity = None,
    settings: "options.Settings" = options.STATED,
    retry: Retry = None,
    case_timeout: Timeout = None,
    max_failures: MaxFailures = None,
    fail_fast: FailFast = False,
    dask: Dask = None,
    dry_run: DryRun = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: StartAgain = False,
) -> None:
    """Run a parameter study, or continue it."""
    begun = options.begun()
    from mbsim_cli.study.sweep.running import shard_of

    stated = stated_cases(csv, grid)
    work = _work(jobs, case_timeout, dask, retry, max_failures, fail_fast)
    if dry_run:
        limits_of_runs = {"--retry": retry, "--max-failures": max_failures, "--fail-fast": fail_fast}
        if given := options.given({"--dask": dask is not None} | limits_of_runs):
            raise UsageError(f"--dry-run estimates from a few good cases on this machine; leave {given} out")
    if model.is_dir():
        own = (study, output, stated, keep, sensitivity)
        if any(value is not None for value in own) or force or settings != type(settings)():
            raise UsageError(NOT_STARTED.format(model))
        folder = opened(model)
    else:
        settings = replace(settings, method=sensitivity)
        from mbsim_cli.study.assembling import load
        from mbsim_cli.study.sweep.planning import StudyRequest, planned

        request, called = StudyRequest(study, stated, keep), options.command_line()
        folder = planned(load(model, settings), request, settings, output, called, Terminal(quiet=True), force=force)
    work = replace(work, shard=shard_of(shard, os.environ))
    if dry_run:
        from mbsim_cli.study.sweep.running import forecast_study

        found = forecast_study(folder, work, Terminal(quiet), begun)
        report = {"folder": str(folder), "study": folder.plan().study} | found.report
        print_report(report, json, print_forecast)
    else:
        _run(folder, work, json, quiet)


@app.command(cls=Command)
def retry(
    folder: Folder,
    jobs: Jobs = 1,
    shard: ShardOption = None,
    case_timeout: Timeout = None,
    max_failures: MaxFailures = None,
    fail_fast: FailFast = False,
    dask: Dask = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compute failed and missing cases again."""
    options.limit_threads(None)
    from mbsim_cli.study.sweep.running import shard_of

    work = _work(jobs, case_timeout, dask, None, max_failures, fail_fast)
    _run(opened(folder), replace(work, failed=True, shard=shard_of(shard, os.environ)), json, quiet)


for done_with_folders in (status, collect, extract, script):
    app.command(cls=Command)(done_with_folders)


def _run(folder: "StudyFolder", work: "Work", json: bool, quiet: bool) -> None:
    from mbsim_cli.study.sweep.running import run_study

    report = run_study(folder, work, Terminal(quiet))
    print_report(report, json, print_summary, quiet)


def _work(
    jobs: int, timeout: float | None, dask: str | None, retry: int | None, max_failures: int | None, fail_fast: bool
) -> "Work":
    from mbsim_cli.study.sweep.running import Work

    if jobs > usable():
        say(f"warning: {jobs} workers for {usable()} processors, which take turns; -j 0 starts one for each processor")
    if fail_fast and max_failures is not None:
        raise UsageError("--fail-fast ends a study at the first failure; leave --max-failures out, or it")
    failures = 0 if fail_fast else max_failures
    return Work(jobs, timeout, dask, retry=1 if retry is None else retry, max_failures=failures)
