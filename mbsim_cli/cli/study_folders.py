"""What can be done with the folder of a study, beside computing what is missing."""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mbsim_cli.cli import options
from mbsim_cli.cli.study_options import Folder, Jobs
from mbsim_cli.errors import UsageError

if TYPE_CHECKING:
    from mbsim_cli.study.sweep.study_folder import StudyFolder


class Table(StrEnum):
    """Tables that cases can be written as."""

    CSV = "csv"
    PARQUET = "parquet"


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
    if json:
        from mbsim_cli.cli.output import emit

        emit(report)
    else:
        from mbsim_cli.cli.study_report import print_status

        print_status(report)


def collect(
    folder: Folder,
    to: Annotated[Table | None, typer.Option(help="Write a table too: study.csv or study.parquet.")] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write all rows into study.h5, whether cases are missing or not."""
    from mbsim_cli.cli.output import emit
    from mbsim_cli.cli.study_report import print_collected
    from mbsim_cli.study.sweep import running
    from mbsim_cli.study.sweep.store import ledger_of
    from mbsim_cli.study.sweep.summary import status_of

    where = opened(folder)
    ledger = ledger_of(where)
    written = [running.collect(where, ledger)]
    if to is not None:
        written.append(where.path / f"study.{to.value}")
        running.export(running.table_of(ledger), written[-1], to.value)
    report = {"folder": str(folder), "written": [str(path) for path in written]} | status_of(ledger)
    if json:
        emit(report)
    else:
        print_collected(report, quiet)


def extract(
    folder: Folder,
    case: Annotated[int, typer.Argument(metavar="CASE", min=0, help="Number of a case.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="OUT.h5", help="Result file.", show_default="DIR/case-CASE.h5", readable=False
        ),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the result file of a case, of a study that keeps all."""
    from mbsim_cli.cli.output import emit, tell
    from mbsim_cli.study.sweep.store import extract_result

    written = extract_result(opened(folder), case, output, force=force)
    if json:
        emit({"folder": str(folder), "case": case, "output": str(written)})
    else:
        tell(str(written), quiet)


def script(
    folder: Folder,
    slurm: Annotated[bool, typer.Option("--slurm", help="An array of SLURM tasks.")] = False,
    parallel: Annotated[bool, typer.Option("--parallel", help="Processes side by side on one machine.")] = False,
    shards: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Parts of the study.", show_default="8, or as many as there are cases"),
    ] = None,
    jobs: Jobs = 1,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Script.", show_default="DIR/job.sh", readable=False),
    ] = None,
    json: options.Json = False,
) -> None:
    """Write a job script that computes the study in parts."""
    if slurm == parallel:
        raise UsageError("give one of --slurm and --parallel")
    from mbsim_cli.cli.output import emit, tell
    from mbsim_cli.study.sweep.scripts import write_script

    where = opened(folder)
    cases = where.plan().cases
    if shards is not None and shards > cases:
        raise UsageError(f"--shards {shards} leaves some without a case, as there are {cases}")
    parts = shards or min(8, cases)
    written = write_script("slurm" if slurm else "parallel", where, output, parts, jobs)
    start = f"{'sbatch' if slurm else 'bash'} {shlex.quote(str(written))}"
    if json:
        emit({"folder": str(folder), "output": str(written), "shards": parts, "cases": cases, "start": start})
    else:
        tell(f"{written}: {parts} shards of {cases} cases; start it with {start}")
