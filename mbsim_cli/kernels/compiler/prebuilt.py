"""Compiled kernels that come with the package, for all processors of a level: read where the user's own store has none.

``mbsim compile --into`` fills the folder before the package is built. Who can write to it can write to the sources that
are run, so that it is trusted as they are.
"""

from functools import cache
from pathlib import Path
from shutil import copyfile

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.kernels.compiler import level as _level
from mbsim_cli.kernels.compiler.folder import PACKAGE, content_hash
from mbsim_cli.kernels.compiler.installed import settings
from mbsim_cli.kernels.compiler.store import content_of, file_of, is_entry

__all__ = ["entries", "fill", "ignore", "level", "prebuilt"]

_folder: Path | None = PACKAGE / "prebuilt"


def level() -> str:
    """The level whose kernels are looked for: nothing where there are none, or where numba is told how to compile."""
    known = _folder is not None and _folder.is_dir() and not settings()
    return (_level.WANTED or _level.own_level()) if known else ""


def prebuilt(key: bytes) -> bytes | None:
    """Content of an entry, or None where there is none that is whole."""
    try:
        return content_of(key, (_within(_folder, level()) / file_of(key)).read_bytes())
    except OSError:
        return None


def entries() -> list[Path]:
    """Files of all entries for this processor."""
    return sorted(_within(_folder, level()).glob("*")) if level() else []


def ignore() -> None:
    """Have everything compiled anew that is not in the store."""
    global _folder
    if not _level.WANTED:
        raise UsageError(
            f"kernels that others run are for a level: set MBSIM_PROCESSOR to {' or '.join(_level.LEVELS)}"
        )
    _folder = None


def fill(root: Path, kept: str) -> str:
    """Copy what a store keeps to where the package brings it along; that folder."""
    into = _within(root, _level.WANTED)
    try:
        into.mkdir(parents=True, exist_ok=True)
        for path in Path(kept).iterdir():
            if is_entry(path):
                copyfile(path, into / path.name)
    except OSError as error:
        raise InputOutputError(f"{error.filename or into}: {error.strerror}") from None
    return str(into)


@cache
def _within(root: Path, level: str) -> Path:
    """What is for these sources; versions of the compiler do not count, as it is not needed to run them."""
    return root / f"{level}-{content_hash()}"
