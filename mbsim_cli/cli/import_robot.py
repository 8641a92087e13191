"""``mbsim import``: a robot in another format as a model file."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mbsim_cli.cli import options
from mbsim_cli.cli.output import emit, say, tell
from mbsim_cli.errors import UsageError

NAME = "import"


class Base(StrEnum):
    """How a robot in URDF stands on the ground."""

    FIXED = "fixed"
    FLOATING = "floating"


Source = Annotated[Path, options.file_argument("ROBOT.urdf|.xml", "URDF or MJCF.")]
Output = Annotated[Path | None, options.output_option("MODEL.yaml", "File.", "ROBOT.yaml here")]
BaseOption = Annotated[Base | None, typer.Option(help="Root link of a URDF.", show_default="fixed")]


def command(
    source: Source,
    output: Output = None,
    base: BaseOption = None,
    json: options.Json = False,
    force: options.Replace = False,
) -> None:
    """Write a robot in URDF or MJCF as a commented model file."""
    from mbsim_cli.cli.init import write_new
    from mbsim_cli.exchange import read
    from mbsim_cli.exchange.robot import text_of

    if base is not None and source.suffix.lower() == ".xml":
        raise UsageError("--base is for URDF; in MJCF a freejoint says that a body floats")
    robot = read(source, floating=base is Base.FLOATING)
    target = output or Path(source.stem + ".yaml")
    write_new(target, text_of(robot), force)
    if json:
        found = {"bodies": len(robot.bodies), "joints": len(robot.joints), "remarks": robot.remarks}
        emit({"source": str(source), "output": str(target), **found})
        return
    for sentence in robot.remarks:
        say(sentence)
    tell(f"{target}: {len(robot.bodies)} bodies, {len(robot.joints)} joints; next: mbsim run {target}")
