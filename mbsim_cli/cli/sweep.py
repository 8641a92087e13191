"""``mbsim sweep``: parameter studies."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from mbsim_cli.cli import completion, options
from mbsim_cli.cli.options import Command
from mbsim_cli.cli.output import Terminal, digits, emit, print_report, print_written, say, show_table, tell
from mbsim_cli.errors import UsageError, counted
from mbsim_cli.system import usable

if TYPE_CHECKING:
    from mbsim_cli.study.sweep.running import Work
    from mbsim_cli.study.sweep.study_folder import StudyFolder


def stated_cases(csv: Path | None, grid: list[str] | None) -> dict[str, Any] | None:
    """The cases of the command line, a file or the axes of a grid, in the form of an entry of ``studies``."""
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


SHOWN = 5  # failures, and parameters of the largest main effects


def print_forecast(report: Mapping[str, Any]) -> None:
    """Print the time and disk space that a study needs."""
    from rich.filesize import decimal

    if not report["cases"]:
        return tell(f"{report['folder']}: none of the cases asked for is missing; nothing is left to compute")
    cases = f"{counted(report['cases'], 'case')} of {_time(report['case_seconds'])} each"
    tell(f"{report['folder']}: {cases}, estimated from {report['pilots']} of them")
    spent = f"{report['processor_hours']:.3g} hours of processors, {_time(report['seconds'])} with {report['workers']}"
    low, high = map(_time, report["seconds_between"])
    likely = f" ({low} to {high} if the machine keeps its pace)" if low != high else ""
    tell(f"{spent} worker{'s' * (report['workers'] != 1)}{likely}, {decimal(report['bytes'])}")


def print_summary(report: Mapping[str, Any], quiet: bool) -> None:
    """Print the results of a study."""
    _print_losses(report)
    for sentence, count in report["warnings"].items():
        say(f"warning: {sentence} ({'one case' if count == 1 else f'one of {count} cases like it'})")
    for name, count in report["undefined_gradients"].items():
        have = "1 case has" if count == 1 else f"{count} cases have"
        say(f"warning: {have} no derivative by {name}; study.h5 lists the reasons")
    if not report["missing"] and any(entry["lowest"] for entry in report["objectives"].values()):
        titles = ("objective", "lowest", "case", "mean", "highest", "case", "main effects")
        rows = [_row(name, entry) for name, entry in report["objectives"].items() if entry["lowest"]]
        show_table(titles, rows)
    _print_failures(report["failures"], report["folder"])
    if report["computed"]:
        lanes = f", {report['lanes']} at a time" if report["lanes"] > 1 else ""
        speed = f"; {report['computed']} computed in {_time(report['wall_seconds'])}{lanes}"
    else:
        part = "" if report["shard"] == "1/1" else f" in shard {report['shard']}"
        speed = f", nothing was left to compute{part}"
    tell(f"{report['folder']}: {_counts(report)}{speed}", quiet)


def _row(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    lowest, highest = entry["lowest"], entry["highest"]
    effects = sorted(entry["main_effects"].items(), key=lambda item: -item[1] if item[1] == item[1] else 0.0)
    shares = ", ".join(f"{parameter} {share:.0%}" for parameter, share in effects[:SHOWN] if share == share)
    unknown: dict[str, list[str]] = {}  # parameters without known effects, by reason
    for parameter, why in entry["main_effects_unknown"].items():
        unknown.setdefault(why, []).append(parameter)
    reasons = (why if len(of) == len(effects) else f"{', '.join(of)}: {why}" for why, of in unknown.items())
    shares = "; ".join(filter(None, (shares, *reasons)))
    title = f"{name} [{entry['unit']}]" if entry["unit"] else name
    numbers = (digits(lowest["value"]), str(lowest["case"]), digits(entry["mean"]))
    return (title, *numbers, digits(highest["value"]), str(highest["case"]), shares)


def _counts(report: Mapping[str, Any]) -> str:
    parts = [f"{report['done']} done", *(f"{count} {word}" for word, count in report["failed"].items())]
    parts += [f"{report['missing']} missing"] if report["missing"] else []
    return f"{counted(report['cases'], 'case')}: {', '.join(parts)}"


def _print_status(report: Mapping[str, Any]) -> None:
    tell(f"{report['folder']}: {_counts(report)}")
    _print_losses(report)
    _print_failures(report["failures"], report["folder"])


def _print_losses(report: Mapping[str, Any]) -> None:
    """Warn of rows of another plan, and of damaged records."""
    if report["strange_rows"]:
        say(f"warning: {report['strange_rows']} rows belong to another plan, and are left out")
    if lost := report["lost_records"]:
        what = f"{lost} cases" if lost > 1 else "a case"
        again = f"mbsim sweep retry {shlex.quote(report['folder'])}"
        say(f"warning: data of {what} are damaged or missing; {again} computes them again")


def _print_failures(failures: Any, folder: str) -> None:
    for failure in failures[:SHOWN]:
        tell(f"case {failure['case']}: {failure['reason']}")
        tell(f"  {failure['command']}")
    if len(failures) > SHOWN:
        tell(f"and {len(failures) - SHOWN} more; mbsim sweep status {shlex.quote(str(folder))} --json lists all")


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{seconds / 3600:.3g} h"


Folder = Annotated[Path, options.file("DIR", "Folder of a study.")]
Jobs = Annotated[
    int, typer.Option("-j", "--jobs", metavar="N", min=0, help="Worker processes; 0: one for each processor.")
]
ShardOption = Annotated[
    str | None, options.value("I/N", "Compute shard I of N only.", "that of a task of a SLURM array")
]
Retry = Annotated[int | None, options.value("K", "Retries per case after a crash or an I/O error.", "1", min=0)]
Timeout = Annotated[float | None, options.value("S", "Seconds that a case may take.", "no limit")]
MaxFailures = Annotated[int | None, options.value("K", "End when more than K cases have failed.", "never", min=0)]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="End when a case fails.")]
Dask = Annotated[str | None, options.value("ADDRESS", "Compute on a Dask cluster.", "on this machine")]

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
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY]", help="Study of the file.", show_default="the only one", autocompletion=completion.studies
        ),
    ] = None,
    output: Annotated[Path | None, options.output("DIR", "Folder.", "MODEL-STUDY here")] = None,
    jobs: Jobs = 1,
    shard: ShardOption = None,
    csv: Annotated[Path | None, options.value("FILE", "File of cases, a row of values for each.")] = None,
    grid: Annotated[
        list[str] | None, options.value("NAME=A:B:N", "Values of a grid, or NAME=A,B,C; repeat for more.", False)
    ] = None,
    keep: Annotated[
        Literal["objectives", "sensors", "full"] | None, options.value(None, "Results to store for each case.")
    ] = None,
    sensitivity: Annotated[Literal["none", "ddm"] | None, options.value(None, "Gradients in each case.")] = None,
    settings: "options.Settings" = options.STATED,
    retry: Retry = None,
    case_timeout: Timeout = None,
    max_failures: MaxFailures = None,
    fail_fast: FailFast = False,
    dask: Dask = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate time and disk space from a few cases; compute nothing else.")
    ] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: Annotated[bool, typer.Option("--force", help="Start again if the folder holds another study.")] = False,
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


def _run(folder: "StudyFolder", work: "Work", json: bool, quiet: bool) -> None:
    from mbsim_cli.study.sweep.running import run_study

    print_report(run_study(folder, work, Terminal(quiet)), json, print_summary, quiet)


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


def opened(path: Path) -> "StudyFolder":
    """The folder of a study."""
    from mbsim_cli.study.sweep.study_folder import StudyFolder

    return StudyFolder(path)


@app.command(cls=Command)
def status(folder: Folder, json: options.Json = False) -> None:
    """Show how many cases are done, failed and missing.

    Each failure has its reason, and the command that repeats it.
    """
    from mbsim_cli.study.sweep.store import ledger_of
    from mbsim_cli.study.sweep.summary import status_of

    print_report({"folder": str(folder)} | status_of(ledger_of(opened(folder))), json, _print_status)


@app.command(cls=Command)
def collect(
    folder: Folder,
    to: Annotated[
        Literal["csv", "parquet"] | None, typer.Option(help="Write a table too: study.csv or study.parquet.")
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write all rows into study.h5, whether cases are missing or not."""
    from mbsim_cli.study.sweep import collecting
    from mbsim_cli.study.sweep.store import ledger_of
    from mbsim_cli.study.sweep.summary import status_of

    where = opened(folder)
    ledger = ledger_of(where)
    written = [collecting.collect(where, ledger)]
    if to is not None:
        written.append(where.path / f"study.{to}")
        collecting.export(collecting.table_of(ledger), written[-1], to)
    report = {"folder": str(folder), "written": [str(path) for path in written]} | status_of(ledger)
    if json:
        emit(report)
    else:
        _print_losses(report)
        tell(f"{', '.join(report['written'])}: {_counts(report)}", quiet)


@app.command(cls=Command)
def extract(
    folder: Folder,
    case: Annotated[int, typer.Argument(metavar="CASE", min=0, help="Number of a case.", show_default=False)],
    output: Annotated[Path | None, options.output("OUT.h5", "Result file.", "DIR/case-CASE.h5")] = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the result file of a case, of a study that keeps all."""
    from mbsim_cli.study.sweep.collecting import extract_result

    written = extract_result(opened(folder), case, output, force=force)
    print_written({"folder": str(folder), "case": case, "output": str(written)}, json, str(written), quiet)


@app.command(cls=Command)
def script(
    folder: Folder,
    slurm: Annotated[bool, typer.Option("--slurm", help="An array of SLURM tasks.")] = False,
    parallel: Annotated[bool, typer.Option("--parallel", help="Processes side by side on one machine.")] = False,
    shards: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Shards of the study.", show_default="8, or as many as there are cases"),
    ] = None,
    jobs: Jobs = 1,
    output: Annotated[Path | None, options.output("FILE", "Script.", "DIR/job.sh")] = None,
    json: options.Json = False,
) -> None:
    """Write a job script that computes the study in shards."""
    if slurm == parallel:
        raise UsageError("give one of --slurm and --parallel")
    from mbsim_cli.study.sweep.job_script import write_script

    where = opened(folder)
    cases = where.plan().cases
    if shards is not None and shards > cases:
        raise UsageError(f"--shards {shards} leaves some without a case, as there are {cases}")
    shards = shards or min(8, cases)
    written = write_script("slurm" if slurm else "parallel", where, output, shards, jobs)
    start = f"{'sbatch' if slurm else 'bash'} {shlex.quote(str(written))}"
    report = {"folder": str(folder), "output": str(written), "shards": shards, "cases": cases, "start": start}
    print_written(report, json, f"{written}: {shards} shards of {cases} cases; start it with {start}")
