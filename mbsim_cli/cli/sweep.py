"""``mbsim sweep``: parameter studies, and what can be done with their folders."""

import os
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from mbsim_cli.cli import options
from mbsim_cli.errors import UsageError

if TYPE_CHECKING:
    from mbsim_cli.study.sweep.running import Way
    from mbsim_cli.study.sweep.study_folder import StudyFolder

DEFAULT = "run"
NOT_STARTED = "{} is a study that is planned already; give the model file to plan another"


class Keep(StrEnum):
    """What is kept of each case."""

    OBJECTIVES = "objectives"
    SENSORS = "sensors"
    FULL = "full"


class Gradients(StrEnum):
    """Ways to compute gradients in a study."""

    NONE = "none"
    DDM = "ddm"


class Table(StrEnum):
    """Tables that cases can be written as."""

    CSV = "csv"
    PARQUET = "parquet"


class _Group(TyperGroup):
    """What is no command is the model of a study that is to run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Group,
    help="Run a parameter study, mbsim sweep MODEL.yaml [STUDY] -o DIR (its options: mbsim sweep run --help), "
    "or do something with its folder.",
    subcommand_metavar="MODEL.yaml [STUDY] [OPTIONS] | COMMAND ...",
    rich_markup_mode=None,
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a study.", show_default=False)]
Jobs = Annotated[int, typer.Option("-j", metavar="N", min=0, help="Worker processes; 0: one for each processor.")]
Part = Annotated[
    str | None,
    typer.Option(
        "--shard", metavar="I/N", help="Compute part I of N only.", show_default="that of a task of a SLURM array"
    ),
]
Retry = Annotated[int, typer.Option(metavar="K", min=0, help="Times that a case whose worker died is tried again.")]
Timeout = Annotated[
    float | None, typer.Option("--case-timeout", metavar="S", help="Seconds that a case may take.", show_default="any")
]
MaxFailures = Annotated[
    int | None, typer.Option(metavar="K", min=0, help="End when more cases have failed.", show_default="never")
]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="End when a case fails.")]
Dask = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Compute on a Dask cluster.", show_default="on this machine")
]


@app.command(DEFAULT, hidden=True)
def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL.yaml|DIR", help="Model file, or folder of a study.")],
    study: Annotated[
        str | None, typer.Argument(metavar="[STUDY]", help="Study of the file.", show_default="the only one")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder.", show_default="MODEL-STUDY here")
    ] = None,
    jobs: Jobs = 1,
    shard: Part = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Cases: a row of values each.", show_default="as in the file")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A:B:N", help="Values of a grid, or NAME=A,B,C; repeat for more.", show_default=False
        ),
    ] = None,
    keep: Annotated[Keep | None, typer.Option(help="What is kept of a case.", show_default="as in the file")] = None,
    sensitivity: Annotated[
        Gradients | None, typer.Option(help="Gradients in each case.", show_default="as in the file")
    ] = None,
    parameter: options.Overrides = None,
    formulation: options.FormulationOption = None,
    integrator: options.IntegratorOption = None,
    tolerance: options.Tolerance = None,
    step: options.Step = None,
    duration: options.Duration = None,
    retry: Retry = 1,
    case_timeout: Timeout = None,
    max_failures: MaxFailures = None,
    fail_fast: FailFast = False,
    dask: Dask = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Plan it, and tell from a few cases what it takes.")
    ] = False,
    threads: options.Threads = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: Annotated[bool, typer.Option("--force", help="Begin anew where the folder has another study.")] = False,
) -> None:
    """Run a parameter study, or what is missing of it."""
    begun = perf_counter() - process_time()  # the interpreter has taken that to come here
    from mbsim_cli.cli.environment import limit_threads

    limit_threads(threads)
    stated = _stated(csv, grid)
    way = _way(jobs, case_timeout, dask)
    if model.is_dir():
        own = (study, output, stated, keep, sensitivity, parameter, formulation, integrator, tolerance, step, duration)
        if any(own) or force:
            raise UsageError(NOT_STARTED.format(model))
        folder = _folder(model)
    else:
        from mbsim_cli.study.sweep.planning import Wanted, plan_study

        method = sensitivity and sensitivity.value
        settings = options.settings(parameter, formulation, integrator, tolerance, step, None, duration, method)
        wanted = Wanted(study, stated, keep and keep.value, method)
        plan, values = plan_study(model, wanted, settings, shlex.join(["mbsim", *sys.argv[1:]]))
        folder = _folder(output or Path("-".join(filter(None, (model.stem, plan.study or "study")))))
        folder.adopt(plan, values, force=force)
    if dry_run and dask is not None:
        raise UsageError("--dry-run reckons with this machine; leave --dask out")
    if dry_run:
        _forecast(folder, shard, way, json, quiet, begun)
    else:
        _run(folder, shard, way, _limits(retry, max_failures, fail_fast), json, quiet)


@app.command()
def retry(
    folder: Folder,
    jobs: Jobs = 1,
    shard: Part = None,
    case_timeout: Timeout = None,
    max_failures: MaxFailures = None,
    fail_fast: FailFast = False,
    dask: Dask = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compute the cases that failed once more, and those that are missing."""
    from mbsim_cli.cli.environment import limit_threads

    limit_threads(None)
    limits = _limits(1, max_failures, fail_fast)
    _run(_folder(folder), shard, _way(jobs, case_timeout, dask), limits, json, quiet, failed=True)


@app.command()
def status(folder: Folder, json: options.Json = False) -> None:
    """Show how many cases are done, failed and missing, and how to repeat those that failed."""
    from mbsim_cli.study.sweep.ledger import ledger_of
    from mbsim_cli.study.sweep.summary import status_of

    report = {"folder": str(folder)} | status_of(ledger_of(_folder(folder)))
    if json:
        _emit(report)
    else:
        from mbsim_cli.cli.study_report import print_status

        print_status(report)


@app.command()
def collect(
    folder: Folder,
    to: Annotated[Table | None, typer.Option(help="Write a table too: study.csv or study.parquet.")] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write all rows into study.h5, whether cases are missing or not."""
    from mbsim_cli.cli.output import say
    from mbsim_cli.study.sweep import collecting
    from mbsim_cli.study.sweep.ledger import ledger_of
    from mbsim_cli.study.sweep.summary import status_of

    where = _folder(folder)
    ledger = ledger_of(where)
    written = [collecting.collect(where, ledger)]
    if to is not None:
        written.append(where.path / f"study.{to.value}")
        collecting.export(collecting.table_of(ledger), written[-1], to.value)
    if json:
        _emit({"folder": str(folder), "written": [str(path) for path in written]} | status_of(ledger))
    else:
        say(", ".join(map(str, written)), quiet)


@app.command()
def extract(
    folder: Folder,
    case: Annotated[int, typer.Argument(metavar="CASE", min=0, help="Number of a case.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="OUT.h5", help="Result file.", show_default="DIR/case-CASE.h5"),
    ] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the result file of a case, of a study that keeps all."""
    from mbsim_cli.cli.output import say
    from mbsim_cli.study.sweep.kept import extract_result

    say(str(extract_result(_folder(folder), case, output, force=force)), quiet)


@app.command()
def script(
    folder: Folder,
    slurm: Annotated[bool, typer.Option("--slurm", help="An array of SLURM tasks.")] = False,
    parallel: Annotated[bool, typer.Option("--parallel", help="Processes side by side on one machine.")] = False,
    shards: Annotated[int, typer.Option(metavar="N", min=1, help="Parts of the study.")] = 8,
    jobs: Jobs = 1,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Script.", show_default="DIR/job.sh")
    ] = None,
) -> None:
    """Write a job script that computes the study in parts."""
    if slurm == parallel:
        raise UsageError("give one of --slurm and --parallel")
    from mbsim_cli.cli.output import say
    from mbsim_cli.study.sweep.scripts import write_script

    where = _folder(folder)
    written = write_script("slurm" if slurm else "parallel", where, output, shards, jobs)
    say(
        f"{written}: {shards} shards of {where.plan().cases} cases; start it with "
        f"{'sbatch' if slurm else 'bash'} {shlex.quote(str(written))}"
    )


def _run(
    folder: "StudyFolder", shard: str | None, way: "Way", limits: Any, json: bool, quiet: bool, failed: bool = False
) -> None:
    from mbsim_cli.cli.terminal import Terminal
    from mbsim_cli.study.sweep.running import run_study
    from mbsim_cli.study.sweep.shards import shard_of

    part = shard_of(shard, os.environ)
    report = run_study(folder, part, way, limits, Terminal(quiet), failed=failed)
    if json:
        _emit(report)
    else:
        from mbsim_cli.cli.study_report import print_summary

        print_summary(report, quiet)


def _forecast(folder: "StudyFolder", shard: str | None, way: "Way", json: bool, quiet: bool, begun: float) -> None:
    from mbsim_cli.cli.study_report import print_forecast
    from mbsim_cli.cli.terminal import Terminal
    from mbsim_cli.study.sweep.running import forecast_study
    from mbsim_cli.study.sweep.shards import shard_of

    report = forecast_study(folder, shard_of(shard, os.environ), way, Terminal(quiet), begun)
    if json:
        _emit(report)
    else:
        print_forecast(report)


def _folder(path: Path) -> "StudyFolder":
    from mbsim_cli.study.sweep.study_folder import StudyFolder

    return StudyFolder(path)


def _way(jobs: int, timeout: float | None, dask: str | None) -> "Way":
    from mbsim_cli.processors import usable
    from mbsim_cli.study.sweep.running import Way

    if dask is not None and (timeout is not None or jobs != 1):
        raise UsageError(
            "-j and --case-timeout are for processes of this machine; a Dask cluster has workers of its own"
        )
    return Way(jobs or usable(), options.positive("--case-timeout", timeout), dask)


def _limits(retry: int, max_failures: int | None, fail_fast: bool) -> Any:
    from mbsim_cli.study.sweep.sweeping import Limits

    return Limits(retry, 0 if fail_fast else max_failures)


def _stated(csv: Path | None, grid: list[str] | None) -> dict[str, Any] | None:
    """Cases of the command line, as a study of a file states them."""
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
        raise UsageError(f"--grid wants NAME=A:B:N, NAME=A:B:N:log or NAME=A,B,C, not '{entry}'")
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


def _emit(report: Any) -> None:
    from mbsim_cli.cli.output import emit

    emit(report)
