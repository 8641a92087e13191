"""Where compiled kernels are kept: a folder for each content of the sources, versions and flags."""

import hashlib
import os
import platform
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from shutil import copyfile
from typing import NamedTuple

import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.kernels.compiler import installed as _level
from mbsim_cli.kernels.compiler.installed import WANTED, settings, version
from mbsim_cli.kernels.compiler.store import Store, content_of, file_of, is_entry
from mbsim_cli.system import user

__all__ = [
    "FOLDER_OF_USER",
    "PACKAGE",
    "PARTS",
    "Kept",
    "bytes_of_parts",
    "cache_root",
    "compiler_hash",
    "content_hash",
    "entries",
    "fill",
    "folder_of_user",
    "folders",
    "ignore",
    "level",
    "open_parts",
    "open_store",
    "prebuilt",
    "source_hash",
]


PACKAGE = Path(__file__).resolve().parents[2]
_VERSIONS = (version("numba"), version("llvmlite"), np.__version__, sys.implementation.cache_tag)
# The user is part of the name: several users may share a root.
_USER = user()
FOLDER_OF_USER = f"kernels-{_USER if _USER is not None else os.environ.get('USERNAME', 'own')}"
PARTS = "parts"  # beside: kernels that entries are linked of


def source_hash(compiler: str, package: Path = PACKAGE) -> str:
    """Hash of every kernel and model file, of versions and flags; places and times of files do not count."""
    return _hash((compiler, settings(), WANTED, _VERSIONS, platform.machine()), _sources(package), package)


def content_hash(package: Path = PACKAGE) -> str:
    """Hash of every kernel and model file alone, whatever compiles them."""
    return _hash((), _sources(package), package)


def _sources(package: Path) -> Iterator[Path]:
    return (path for folder in ("kernels", "model") for path in (package / folder).rglob("*.py"))


def compiler_hash(compiler: str) -> str:
    """Hash of what makes machine code of any kernel: the compiler's own files, versions and flags."""
    made_by = (compiler, settings(), WANTED, _VERSIONS, platform.machine())
    return _hash(made_by, (PACKAGE / "kernels" / "compiler").glob("*.py"), PACKAGE)


def _hash(made_by: tuple, paths: Iterable[Path], package: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    digest.update(repr(made_by).encode())
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Folder of all that mbsim keeps; RuntimeError where the user has no home."""
    explicit = os.environ.get("MBSIM_CACHE_DIR")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mbsim"


def open_store(compiler: str) -> Store:
    """What a compiler made, or finds an empty and safe place for."""
    return Store(cache_root, FOLDER_OF_USER, source_hash(compiler))


def open_parts(compiler: str) -> Store:
    """The place of kernels that entries are linked of, those of all versions of the sources."""
    return Store(cache_root, FOLDER_OF_USER, PARTS, compiler_hash(compiler))


# Compiled kernels that come with the package, for all processors of a level: read where the user's own store has none.
#
# ``mbsim compile --into`` fills the folder before the package is built. Who can write to it can write to the sources
# that are run, so that it is trusted as they are.

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


# What the folder of compiled kernels holds, read without running any of it.


class Kept(NamedTuple):
    """One folder of entries, those of one content of the sources."""

    name: str
    entries: tuple[tuple[str, int], ...]  # name of the entry, bytes
    unfinished: int  # files that killed processes left
    newest: float  # s since the epoch

    @property
    def size(self) -> int:
        """Bytes of all entries."""
        return sum(size for _, size in self.entries)


def folder_of_user() -> str:
    """Where all folders of this user are, or would be; nothing where the user has no home."""
    try:
        return str(cache_root() / FOLDER_OF_USER)
    except RuntimeError:
        return ""


def folders() -> list[Kept]:
    """All folders of this user, the newest first; those that cannot be read count as missing."""
    if not folder_of_user():
        return []
    try:
        found = [path for path in Path(folder_of_user()).iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        return []
    kept = (_kept(path) for path in found if path.name != PARTS)
    return sorted((folder for folder in kept if folder), key=lambda folder: -folder.newest)


def bytes_of_parts() -> int:
    """Size of all kernels that entries are linked of."""
    try:
        return sum(found.st_size for _, found in _files(Path(folder_of_user(), PARTS)))
    except OSError:
        return 0


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """All files of a folder but those that vanish meanwhile, as unfinished ones of a process that compiles do."""
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode):
                yield path, found


def _kept(folder: Path) -> Kept | None:
    try:
        files = list(_files(folder))
        newest = max((found.st_mtime for _, found in files), default=folder.stat().st_mtime)
    except OSError:
        return None
    entries = sorted((path.name.rsplit("-", 1)[0], found.st_size) for path, found in files if is_entry(path))
    return Kept(folder.name, tuple(entries), sum(path.suffix == ".tmp" for path, _ in files), newest)
