"""What the folder of compiled kernels holds, read without running any of it."""

from pathlib import Path
from typing import NamedTuple

from mbsim_cli.kernels._folder import FOLDER_OF_USER, PARTS, cache_root

__all__ = ["Kept", "folder_of_user", "folders"]


class Kept(NamedTuple):
    """One folder of entries, those of one content of the sources."""

    name: str
    entries: tuple[tuple[str, int], ...]  # name of the entry, bytes
    parts: int  # bytes of the kernels that entries are linked of
    unfinished: int  # files that killed processes left
    newest: float  # s since the epoch

    @property
    def size(self) -> int:
        """Bytes of all entries and of what they are linked of."""
        return sum(size for _, size in self.entries) + self.parts


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
    return sorted((kept for kept in map(_kept, found) if kept), key=lambda kept: -kept.newest)


def _kept(folder: Path) -> Kept | None:
    try:
        files = [(path, path.lstat()) for path in folder.rglob("*") if not path.is_dir()]
        newest = max((found.st_mtime for _, found in files), default=folder.stat().st_mtime)
    except OSError:
        return None
    parts = sum(found.st_size for path, found in files if path.parent.name == PARTS)
    entries = sorted((path.name.rsplit("-", 1)[0], found.st_size) for path, found in files if _is_entry(path))
    return Kept(folder.name, tuple(entries), parts, sum(path.suffix == ".tmp" for path, _ in files), newest)


def _is_entry(path: Path) -> bool:
    """Neither a part, nor a lock, nor unfinished, nor an index of numba's own."""
    return path.parent.name != PARTS and path.suffix not in (".lock", ".tmp", ".nbi")
