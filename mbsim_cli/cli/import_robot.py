"""``mbsim import``: a robot in another format as a model file."""

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from mbsim_cli.cli import options
from mbsim_cli.cli.output import print_written
from mbsim_cli.errors import counted

NAME = "import"


def command(
    source: Annotated[Path, options.file("ROBOT.urdf|.sdf|.xml", "URDF, SDF or MJCF.")],
    output: Annotated[Path | None, options.output("MODEL.yaml", "File.", "ROBOT.yaml here")] = None,
    base: Annotated[
        Literal["fixed", "floating"] | None, options.value(None, "Root links.", "fixed for URDF, as stated for SDF")
    ] = None,
    loops: Annotated[Path | None, options.value("LOOPS.yaml", "Joints that close loops of the robot.", False)] = None,
    stops: Annotated[bool, typer.Option("--stops", help="Let limits of joints act as stops, not as comments.")] = False,
    json: options.Json = False,
    force: options.Replace = False,
) -> None:
    """Write a robot in URDF, SDF or MJCF as a commented model file."""
    from mbsim_cli.cli.init import write_new
    from mbsim_cli.exchange import add_loops, find_meshes, read
    from mbsim_cli.exchange.robot import text_of

    robot = read(source, floating=None if base is None else base == "floating")
    if loops is not None:
        add_loops(robot, loops)
    target = output or Path(source.stem + ".yaml")
    find_meshes(robot, source, target)
    write_new(target, text_of(robot, stops), force, source, "robot")
    found = {"bodies": len(robot.bodies), "joints": len(robot.joints), "remarks": robot.remarks}
    sizes = f"{counted(len(robot.bodies), 'body')}, {counted(len(robot.joints), 'joint')}"
    sentence = f"{target}: {sizes}; next: mbsim run {shlex.quote(str(target))}"
    print_written({"source": str(source), "output": str(target), **found}, json, sentence, remarks=robot.remarks)
