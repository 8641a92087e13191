"""``mbsim export``: histories of a result as tables, models as robots of other formats."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mbsim_cli.cli import completion, options, signals
from mbsim_cli.cli.output import emit, say, tell
from mbsim_cli.errors import UsageError


class Format(StrEnum):
    """Formats of other programs."""

    CSV = "csv"
    PARQUET = "parquet"
    MAT = "mat"
    NETCDF = "netcdf"
    URDF = "urdf"
    MJCF = "mjcf"


ROBOTS = {Format.URDF: "urdf", Format.MJCF: "xml"}
TABLES = {Format.CSV: "csv", Format.PARQUET: "parquet", Format.MAT: "mat", Format.NETCDF: "nc"}
Source = Annotated[Path, options.file_argument("RESULT.h5|MODEL.yaml", "Result, or model file.")]
Histories = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]", help="Histories of a result; all without.", show_default=False,
        autocompletion=completion.histories,
    ),
]  # fmt: skip
To = Annotated[Format, typer.Option(help="Tables of a result; urdf and mjcf of a model.", show_default=False)]
Output = Annotated[Path | None, options.output_option("OUT", "File.", "SOURCE.KIND here")]
Derivatives = Annotated[bool, typer.Option("--derivatives", help="Add derivatives of histories by the parameters.")]
Poses = Annotated[bool, typer.Option("--poses", help="Add place and Euler parameters of every body.")]


def command(
    source: Source,
    to: To,
    names: Histories = None,
    output: Output = None,
    derivatives: Derivatives = False,
    poses: Poses = False,
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
            raise UsageError(f"--to {to.value} is for models, and has no use for {given}; leave it out")
        _robot(source, to, output, options.parse_overrides(parameter, keys), json, quiet, force)
        return
    if parameter or keys:
        raise UsageError(
            f"--to {to.value} is for results, which keep what they were computed with; -p and -s are for models"
        )
    _table(source, to, options.once(names or []), output, derivatives, poses, json, quiet, force)


def _table(
    source: Path,
    to: Format,
    names: list[str],
    output: Path | None,
    derivatives: bool,
    poses: bool,
    json: bool,
    quiet: bool,
    force: bool,
) -> None:
    from mbsim_cli.io.results import Content
    from mbsim_cli.io.tables import TABLE, write_table
    from mbsim_cli.io.target import check_target
    from mbsim_cli.study.pictures.motion import table_of

    written = output or Path(f"{source.stem}.{TABLES[to]}")
    target = check_target(written, TABLE, force=force)
    content = Content(source)
    columns = table_of(content, names, derivatives, poses)
    with signals.shield():
        write_table(target, to.value, columns, title=content.title, force=force)
    if json:
        found = {column.name: column.unit for column in columns}
        emit({"output": str(written), "source": str(source), "rows": len(content.time), "columns": found})
    else:
        tell(f"{written}: {len(columns)} columns, {len(content.time)} rows", quiet)


def _robot(
    source: Path, to: Format, output: Path | None, overrides: dict[str, str], json: bool, quiet: bool, force: bool
) -> None:
    from mbsim_cli.cli.init import write_new
    from mbsim_cli.exchange.mjcf import mjcf_of
    from mbsim_cli.exchange.urdf import urdf_of
    from mbsim_cli.study.robots import robot_of

    robot = robot_of(source, overrides)
    text = urdf_of(robot) if to is Format.URDF else mjcf_of(robot)
    written = output or Path(f"{source.stem}.{ROBOTS[to]}")
    write_new(written, text, force)
    counts = {"bodies": len(robot.bodies), "joints": len(robot.joints)}
    if json:
        emit({"output": str(written), "source": str(source), **counts, "remarks": robot.remarks})
        return
    for remark in robot.remarks:
        say(remark, quiet)
    tell(f"{written}: {counts['bodies']} bodies, {counts['joints']} joints", quiet)
