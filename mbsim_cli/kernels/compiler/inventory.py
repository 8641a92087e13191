"""What the folder of compiled kernels holds, read without running any of it."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mbsim_cli.kernels.compiler.folder import FOLDER_OF_USER, PARTS, cache_root
from mbsim_cli.kernels.compiler.store import is_entry

__all__ = ["Kept", "bytes_of_parts", "folder_of_user", "folders"]


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
