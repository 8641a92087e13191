"""``mbsim export``: histories of a result as tables, models as robots of other formats."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mbsim_cli.cli import completion, options, signals
from mbsim_cli.cli.output import print_written
from mbsim_cli.errors import UsageError, counted

ROBOTS = {"urdf": "urdf", "mjcf": "xml"}  # endings of files
TABLES = {"csv": "csv", "parquet": "parquet", "mat": "mat", "netcdf": "nc"}
Histories = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]", help="Histories of a result; default: all.", show_default=False,
        autocompletion=completion.histories,
    ),
]  # fmt: skip
Derivatives = Annotated[bool, typer.Option("--derivatives", help="Add derivatives of histories by the parameters.")]


def command(
    source: Annotated[Path, options.file("RESULT.h5|MODEL.yaml", "Result, or model file.")],
    to: Annotated[
        Literal["csv", "parquet", "mat", "netcdf", "urdf", "mjcf"],
        typer.Option(help="Format: urdf and mjcf for models, the others for results.", show_default=False),
    ],
    names: Histories = None,
    output: Annotated[Path | None, options.output("OUT", "File.", "SOURCE.KIND here")] = None,
    derivatives: Derivatives = False,
    poses: Annotated[bool, typer.Option("--poses", help="Add place and Euler parameters of every body.")] = False,
    parameter: options.Overrides = None,
    keys: options.SetKeys = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    force: options.Replace = False,
) -> None:
    """Write a result or a model in another format.

    Results as csv, parquet, mat or netcdf; models as urdf or mjcf, as far as these can state them.
    """
    options.limit_threads(None)
    if to in ROBOTS:
        if given := options.given({"NAME": names, "--derivatives": derivatives, "--poses": poses}):
            raise UsageError(f"--to {to} is for models, and has no use for {given}; leave it out")
        written = output or Path(f"{source.stem}.{ROBOTS[to]}")
        counts, remarks = _robot(source, to, written, options.parse_overrides(parameter, keys), force)
        report: dict[str, Any] = {**counts, "remarks": remarks}
        sentence = f"{counted(counts['bodies'], 'body')}, {counted(counts['joints'], 'joint')}"
    else:
        if parameter or keys:
            raise UsageError(
                f"--to {to} is for results, which keep what they were computed with; -p and -s are for models"
            )
        written, remarks = output or Path(f"{source.stem}.{TABLES[to]}"), []
        rows, columns = _table(source, to, written, options.once(names or []), derivatives, poses, force)
        report = {"rows": rows, "columns": columns}
        sentence = f"{len(columns)} columns, {rows} rows"
    report = {"output": str(written), "source": str(source)} | report
    print_written(report, json, f"{written}: {sentence}", quiet, remarks)


def _table(
    source: Path, to: str, written: Path, names: list[str], derivatives: bool, poses: bool, force: bool
) -> tuple[int, dict[str, str]]:
    """Write histories of a result; return the number of rows, and the units of the columns by name."""
    from mbsim_cli.io.results import ResultFile
    from mbsim_cli.io.tables import TABLE, write_table
    from mbsim_cli.io.target import check_target, keep_apart
    from mbsim_cli.study.pictures.motion import table_of

    target = check_target(written, TABLE, force=force)
    keep_apart(written, [source], "the result itself")
    content = ResultFile(source)
    columns = table_of(content, names, derivatives, poses)
    with signals.shield():
        write_table(target, to, columns, title=content.title, force=force)
    return len(content.time), {column.name: column.unit for column in columns}


def _robot(
    source: Path, to: str, written: Path, overrides: dict[str, str], force: bool
) -> tuple[dict[str, int], list[str]]:
    """Write a model as a robot; return counts of its parts, and remarks on features that the format lacks."""
    from mbsim_cli.cli.init import write_new
    from mbsim_cli.exchange.mjcf_writing import mjcf_of
    from mbsim_cli.exchange.urdf import urdf_of
    from mbsim_cli.study.robots import robot_of

    robot = robot_of(source, overrides)
    write_new(written, urdf_of(robot) if to == "urdf" else mjcf_of(robot), force, source)
    return {"bodies": len(robot.bodies), "joints": len(robot.joints)}, robot.remarks
