"""``mbsim sweep`` on folders of studies: options, commands and reports."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mbsim_cli.cli import options
from mbsim_cli.cli.output import emit, print_report, print_written, say, show_table, tell
from mbsim_cli.errors import UsageError, counted

if TYPE_CHECKING:
    from mbsim_cli.study.sweep.study_folder import StudyFolder


# Texts about a study: status, forecast, summary.

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
    numbers = (f"{lowest['value']:.8g}", str(lowest["case"]), f"{entry['mean']:.8g}")
    return (title, *numbers, f"{highest['value']:.8g}", str(highest["case"]), shares)


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


# Commands on the folder of a study, beside computing missing cases.


Folder = Annotated[Path, options.file_argument("DIR", "Folder of a study.")]
Jobs = Annotated[
    int, typer.Option("-j", "--jobs", metavar="N", min=0, help="Worker processes; 0: one for each processor.")
]


def opened(path: Path) -> "StudyFolder":
    """The folder of a study."""
    from mbsim_cli.study.sweep.study_folder import StudyFolder

    return StudyFolder(path)


def status(folder: Folder, json: options.Json = False) -> None:
    """Show how many cases are done, failed and missing.

    Each failure has its reason, and the command that repeats it.
    """
    from mbsim_cli.study.sweep.store import ledger_of
    from mbsim_cli.study.sweep.summary import status_of

    report = {"folder": str(folder)} | status_of(ledger_of(opened(folder)))
    print_report(report, json, _print_status)


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


def extract(
    folder: Folder,
    case: Annotated[int, typer.Argument(metavar="CASE", min=0, help="Number of a case.", show_default=False)],
    output: Annotated[Path | None, options.output_option("OUT.h5", "Result file.", "DIR/case-CASE.h5")] = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the result file of a case, of a study that keeps all."""
    from mbsim_cli.study.sweep.collecting import extract_result

    written = extract_result(opened(folder), case, output, force=force)
    print_written({"folder": str(folder), "case": case, "output": str(written)}, json, str(written), quiet)


def script(
    folder: Folder,
    slurm: Annotated[bool, typer.Option("--slurm", help="An array of SLURM tasks.")] = False,
    parallel: Annotated[bool, typer.Option("--parallel", help="Processes side by side on one machine.")] = False,
    shards: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Shards of the study.", show_default="8, or as many as there are cases"),
    ] = None,
    jobs: Jobs = 1,
    output: Annotated[Path | None, options.output_option("FILE", "Script.", "DIR/job.sh")] = None,
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
