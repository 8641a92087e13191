"""Where results and pictures may be written, and how: a temporary file beside the target, then a rename."""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from mbsim_cli.errors import InputOutputError

FORMAT = "mbsim-result"
RESULT_SUFFIXES = (".h5", ".hdf5")
# PNG, PDF, GIF, SVG, MP4
_PICTURES = re.compile(rb"\x89PNG|%PDF|GIF8|\s*<(\?xml.{0,300}<!DOCTYPE svg|svg)|....ftyp", re.DOTALL)


def is_result(path: Path) -> bool:
    """Whether the file is an mbsim result, complete or partial."""
    try:
        with h5py.File(path, "r", locking="best-effort") as file:
            return file.attrs.get("format") == FORMAT
    except OSError:
        return False


def is_picture(path: Path) -> bool:
    """Whether the file is a picture of a kind that mbsim draws."""
    try:
        with path.open("rb") as file:
            return _PICTURES.match(file.read(512)) is not None
    except OSError:
        return False


def check_target(path: Path, *, force: bool, protected: tuple[Path, ...] = ()) -> Path:
    """Return the resolved target, or raise where a result must not or cannot be written.

    ``protected`` files (the model's own) are never overwritten, whatever ``force`` says.
    """
    target = _in_a_folder(path, "result.h5")
    if target.exists():
        _check_regular(path, target, "result")
        if any(target.samefile(other) for other in protected if other.exists()):
            raise InputOutputError(f"{path} is the model itself; name another output with -o")
        _check_kind(path, target, force, is_result, "an mbsim result")
    return target


def check_picture(path: Path, *, force: bool) -> Path:
    """Return the resolved target, or raise where a picture must not or cannot be written."""
    target = _in_a_folder(path, "picture.png")
    if target.exists():
        _check_regular(path, target, "picture")
        _check_kind(path, target, force, is_picture, "a picture")
    return target


def _in_a_folder(path: Path, example: str) -> Path:
    target = path.resolve()
    if target.is_dir():
        raise InputOutputError(f"{path} is a folder; name a file, such as {path / example}")
    if not target.parent.is_dir():
        raise InputOutputError(f"cannot write {path}: there is no folder {target.parent}")
    return target


def _check_regular(path: Path, target: Path, what: str) -> None:
    if not target.is_file():
        raise InputOutputError(f"{path} is not a regular file, so no {what} can take its place")


def _check_kind(path: Path, target: Path, force: bool, is_own: Callable[[Path], bool], what: str) -> None:
    if not force and not is_own(target):
        raise InputOutputError(f"{path} exists and is not {what}; --force overwrites it")


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """Give a temporary file to write; it takes the target's name when that has succeeded, and vanishes otherwise."""
    temporary = temporary_beside(target)
    try:
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise InputOutputError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


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
