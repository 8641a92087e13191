"""A file in the making: beside its target, and given the target's name when it is whole.

Its name tells the machine, and its process holds a lock on it: a file without the lock is one of a run that was killed,
and the next run to the same target removes it. Other machines' files are left alone, for their locks may not be seen.
"""

import contextlib
import errno
import os
import platform
import re
import stat
from collections.abc import Callable
from itertools import count
from pathlib import Path

import h5py

from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.plain import attribute
from mbsim_cli.system import FOLDER, GUARDED, RENAMES_OPEN_FILES, lock, unlock, user

_SAFE = os.O_RDWR | GUARDED


class Occupied(FileExistsError):
    """What stands under the wanted name must not be replaced."""


class Temporary:
    """An empty file in the target's folder; ``removed`` names what killed runs had left there."""

    def __init__(self, target: Path):
        self._target = target
        self.removed: list[Path] = []
        host = re.sub(r"\W", "-", platform.node())[:32]
        for number in count(1):
            self.path = target.with_name(f".{target.name}.{host}-{number}.mbsim.tmp")
            handle = _create(self.path)
            if handle is None and _remove_abandoned(self.path):
                self.removed.append(self.path)
                handle = _create(self.path)
            if handle is None:
                continue
            if lock(handle) is not False and _is_at(handle, self.path):
                self.handle = handle
                return
            os.close(handle)  # taken for abandoned before it was locked

    def sync(self) -> None:
        """Have the content safe on the disk; raises OSError where it is not."""
        os.fsync(self.handle)

    def publish(self, target: Path, replaceable: Callable[[Path], bool]) -> Path:
        """Give the file the target's name; raises OSError, and Occupied where something stands that must not go."""
        lock(self.handle, shared=True)  # others may read: HDF5 opens no file that its writer has locked for itself
        if not RENAMES_OPEN_FILES:
            self._close()
        try:
            os.link(self.path, target)  # as a move that replaces nothing
            self.path.unlink()
        except OSError:  # something is there, or the file system has no links
            if os.path.lexists(target) and not replaceable(target):
                raise Occupied(errno.EEXIST, "what stands there now is not to be replaced") from None
            self.path.replace(target)
        self._close()
        _sync_folder(target.parent)
        return target

    def keep(self, word: str, replaceable: Callable[[Path], bool]) -> Path:
        """Give the file the first free name of OUT.word, OUT.word-2, ...; where none can be had it keeps its own."""
        for number in range(1, 100):
            name = f"{self._target.name}.{word}" + (f"-{number}" if number > 1 else "")
            try:
                return self.publish(self._target.with_name(name), replaceable)
            except Occupied:
                continue
            except OSError:
                break
        self._close()
        return self.path

    def discard(self) -> None:
        """Remove the file, unless it has got its name."""
        if self.handle >= 0:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
            self._close()

    def _close(self) -> None:
        if self.handle >= 0:
            unlock(self.handle)
            os.close(self.handle)
            self.handle = -1


def _create(path: Path) -> int | None:
    try:
        return os.open(path, _SAFE | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return None


def create(target: Path) -> Temporary:
    """A file in the making; raises InputOutputError where the folder takes none."""
    try:
        return Temporary(target)
    except OSError as error:
        raise InputOutputError(f"cannot write in {target.parent}: {error.strerror}") from error


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _remove_abandoned(path: Path) -> bool:
    """Remove the file of a run that is no more; a result that is whole stays, where a rename had failed."""
    try:
        handle = os.open(path, _SAFE)
    except OSError:
        return False
    try:
        found = os.fstat(handle)
        own = stat.S_ISREG(found.st_mode) and (user() is None or found.st_uid == user())
        if not own or lock(handle) is not True or _is_complete(path) or not _is_at(handle, path):
            return False
        path.unlink()
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


def _is_complete(path: Path) -> bool:
    try:
        with h5py.File(path, "r", locking=False) as file:
            return attribute(file, "status") == "complete"
    except OSError as error:
        return error.errno is not None  # the system does not show it, so it may be
    except (RuntimeError, KeyError, TypeError, ValueError):
        return False


def _sync_folder(folder: Path) -> None:
    """Have a new name survive a crash of the machine, where the file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | FOLDER)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
