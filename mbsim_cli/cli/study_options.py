"""Options of parameter studies."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mbsim_cli.cli import completion


class Keep(StrEnum):
    """What is kept of each case."""

    OBJECTIVES = "objectives"
    SENSORS = "sensors"
    FULL = "full"


class Gradients(StrEnum):
    """Ways to compute gradients in a study."""

    NONE = "none"
    DDM = "ddm"


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a study.", show_default=False, readable=False)]
Jobs = Annotated[
    int, typer.Option("-j", "--jobs", metavar="N", min=0, help="Worker processes; 0: one for each processor.")
]
Part = Annotated[
    str | None,
    typer.Option(
        "--shard", metavar="I/N", help="Compute part I of N only.", show_default="that of a task of a SLURM array"
    ),
]
Retry = Annotated[
    int | None,
    typer.Option(metavar="K", min=0, help="Times that a case is tried again that the machine fails.", show_default="1"),
]
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
Study = Annotated[
    str | None,
    typer.Argument(
        metavar="[STUDY]", help="Study of the file.", show_default="the only one", autocompletion=completion.studies
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="DIR", help="Folder.", show_default="MODEL-STUDY here", readable=False),
]
Csv = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Cases: a row of values each.", show_default="as in the file", readable=False),
]
Grid = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=A:B:N", help="Values of a grid, or NAME=A,B,C; repeat for more.", show_default=False),
]
KeepOption = Annotated[Keep | None, typer.Option(help="What is kept of a case.", show_default="as in the file")]
Sensitivity = Annotated[Gradients | None, typer.Option(help="Gradients in each case.", show_default="as in the file")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Plan it, and tell from a few cases what it takes.")]
Anew = Annotated[bool, typer.Option("--force", help="Begin anew where the folder has another study.")]
