"""Robots and mechanisms of other formats, as commented model files."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.system import open_regular

if TYPE_CHECKING:
    from mbsim_cli.exchange.robot import Robot

BEGINNING = 100_000  # bytes read to recognise the format


def read(path: Path, floating: bool | None = None) -> "Robot":
    """The robot in a file of URDF, SDF or MJCF; ``floating`` says how roots of the first two stand on the ground.

    None is the format's own way: the root link of a URDF is fixed, links of SDF that nothing holds float.
    Raises UsageError for another format, InputOutputError where the file cannot be read.
    """
    from mbsim_cli.exchange import mjcf, sdf, urdf
    from mbsim_cli.exchange.robot import give_unphysical_inertias_away

    try:
        with open_regular(path) as file:
            beginning = file.read(BEGINNING).decode("utf-8", errors="replace")
    except OSError as error:
        raise InputOutputError(f"cannot read {path}: {error.strerror}") from None
    if "<robot" in beginning:
        robot = urdf.read(path, bool(floating))
    elif "<sdf" in beginning:
        robot = sdf.read(path, None if floating is None else not floating)
    elif "<mujoco" in beginning:
        if floating is not None:
            raise UsageError("--base is for URDF and SDF; in MJCF a freejoint says that a body floats")
        robot = mjcf.read(path)
    else:
        raise UsageError(f"{path} is neither URDF (<robot>), SDF (<sdf>) nor MJCF (<mujoco>)")
    give_unphysical_inertias_away(robot)
    return robot


def find_meshes(robot: "Robot", source: Path, target: Path) -> None:
    """State the meshes of a robot relative to the model file, and list those that pictures cannot show."""
    from mbsim_cli.exchange.reading import mesh_file
    from mbsim_cli.spec.bodies import SURFACES

    found, left = [], {}
    for visual in robot.visuals:
        file = mesh_file(visual.file, source)
        if file is None:
            left[visual.file] = "not found"
        elif file.suffix.lower() not in SURFACES:
            left[visual.file] = "pictures read .stl and .obj"
        else:
            visual.file = Path(os.path.relpath(file.resolve(), target.resolve().parent)).as_posix()
            found.append(visual)
    robot.visuals = found
    for reason in sorted(set(left.values())):
        files = [name for name, why in left.items() if why == reason]
        robot.remarks.append(f"{len(files)} visual meshes are left out, as {files[0]}: {reason}")
