"""Opening what users name: a pipe would never end, and a device may do anything."""

import os
import stat
from collections.abc import Callable
from errno import EINVAL, ELOOP, EMFILE, ENAMETOOLONG, ENFILE, ENOENT, ENOTDIR, ENXIO
from pathlib import Path
from typing import BinaryIO

from mbsim_cli import system

NO_HANDLES = (EMFILE, ENFILE)  # all that this process, or the machine, may have are in use
_NO_FILE = (EINVAL, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, ENXIO)


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read; raise OSError also where it is no regular one."""
    handle = os.open(Path(path), os.O_RDONLY | system.UNBLOCKED)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return open(handle, "rb")
    os.close(handle)
    raise OSError(EINVAL, "it is a folder" if stat.S_ISDIR(mode) else "it is a pipe or a device, not a file")


def judged(path: Path, look: Callable[[BinaryIO], bool]) -> bool:
    """What a look into a file says, False where there is none; raise OSError where the system does not show it."""
    try:
        with open_regular(path) as file:
            return look(file)
    except OSError as error:
        if error.errno in _NO_FILE:
            return False
        raise
