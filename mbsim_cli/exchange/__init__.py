"""Robots and mechanisms of other formats, as commented model files."""

from pathlib import Path
from typing import TYPE_CHECKING

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.system import open_regular

if TYPE_CHECKING:
    from mbsim_cli.exchange.robot import Robot

BEGINNING = 100_000  # bytes read to recognise the format


def read(path: Path, floating: bool = False) -> "Robot":
    """The robot in a file of URDF or MJCF; the root link of a URDF is fixed, or ``floating``.

    Raises UsageError for another format, InputOutputError where the file cannot be read.
    """
    from mbsim_cli.exchange import mjcf, urdf
    from mbsim_cli.exchange.robot import give_unphysical_inertias_away

    try:
        with open_regular(path) as file:
            beginning = file.read(BEGINNING).decode("utf-8", errors="replace")
    except OSError as error:
        raise InputOutputError(f"cannot read {path}: {error.strerror}") from None
    if "<robot" in beginning:
        robot = urdf.read(path, floating)
    elif "<mujoco" in beginning:
        robot = mjcf.read(path)
    else:
        raise UsageError(f"{path} is neither URDF (<robot>) nor MJCF (<mujoco>)")
    give_unphysical_inertias_away(robot)
    return robot
