"""Opening what users name: a pipe would never end, and a device may do anything."""

import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file to read; raise OSError also where it is no regular one."""
    handle = os.open(Path(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return open(handle, "rb")
    os.close(handle)
    raise OSError(22, "it is a folder" if stat.S_ISDIR(mode) else "it is a pipe or a device, not a file")
