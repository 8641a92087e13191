"""Where a result may be written, and how it gets there: a temporary file beside the target, then a rename."""

import os
import tempfile
from pathlib import Path

import h5py

from mbsim_cli.errors import InputOutputError

FORMAT = "mbsim-result"


def is_result(path: Path) -> bool:
    """Whether the file is an mbsim result, complete or partial."""
    try:
        with h5py.File(path, "r", locking="best-effort") as file:
            return file.attrs.get("format") == FORMAT
    except OSError:
        return False


def check_target(path: Path, *, force: bool, protected: tuple[Path, ...] = ()) -> Path:
    """Return the resolved target, or raise where a result must not or cannot be written.

    ``protected`` files (the model's own) are never overwritten, whatever ``force`` says.
    """
    target = path.resolve()
    if target.is_dir():
        raise InputOutputError(f"{path} is a folder; name a file, such as {path / 'result.h5'}")
    if not target.parent.is_dir():
        raise InputOutputError(f"cannot write {path}: there is no folder {target.parent}")
    if target.exists():
        _check_existing(path, target, force, protected)
    return target


def _check_existing(path: Path, target: Path, force: bool, protected: tuple[Path, ...]) -> None:
    if not target.is_file():
        raise InputOutputError(f"{path} is not a regular file, so no result can take its place")
    if any(target.samefile(other) for other in protected if other.exists()):
        raise InputOutputError(f"{path} is the model itself; name another output with -o")
    if not force and not is_result(target):
        raise InputOutputError(f"{path} exists and is not an mbsim result; --force overwrites it")


def temporary_beside(target: Path) -> Path:
    """Create an empty file in the target's folder, on its file system, so that a rename is atomic."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    except OSError as error:
        raise InputOutputError(f"cannot write in {target.parent}: {error.strerror}") from error
    os.close(handle)
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(name, 0o666 & ~mask)  # mkstemp makes it private; a result has the permissions of any new file
    return Path(name)


def partial_name(target: Path) -> Path:
    """Name under which an unfinished result is kept."""
    return target.with_name(target.name + ".partial")
