"""Atomic writing of files: a temporary file in the folder of the target, and its rename."""

import contextlib
import errno
import io
import json
import os
import platform
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from typing import BinaryIO, NamedTuple

import h5py

from mbsim_cli.errors import InputOutputError, Unjudged, UsageError, either, flag, os_errors, reason_of
from mbsim_cli.io.guard import FORMAT, attribute, fault_in, require_format
from mbsim_cli.system import FOLDER, GUARDED, RENAMES_OPEN_FILES, judged, lock, unlock, user, write_at

# The temporary file: in the folder of its target, renamed when it is complete.
#
# Its name contains the host, and its process holds a lock on it. A file without lock stems from a killed run, and the
# next run to the same target removes it. Files of other hosts are kept, for their locks may be invisible here.

_SAFE = os.O_RDWR | GUARDED


class Occupied(FileExistsError):
    """The file under the target's name must not be replaced."""


class TemporaryFile:
    """A temporary file in the target's folder; ``removed`` are deleted ones of killed runs. Raises InputOutputError."""

    def __init__(self, target: Path):
        self._target = target
        self.removed: list[Path] = []
        host = re.sub(r"\W", "-", platform.node())[:32]
        with os_errors(f"cannot write in {target.parent}"):
            for number in count(1):
                self.path = target.with_name(f".{target.name}.{host}-{number}.mbsim.tmp")
                if _remove_abandoned(self.path):
                    self.removed.append(self.path)
                try:
                    self.handle = os.open(self.path, _SAFE | os.O_CREAT | os.O_EXCL, 0o666)
                except FileExistsError:
                    continue
                if lock(self.handle) is not False and _is_at(self.handle, self.path):
                    break
                os.close(self.handle)  # another process removed it as abandoned before it was locked

    def begin_sync(self) -> None:
        """Let the system begin to write the content to the disk, so that ``sync`` waits less."""
        if hasattr(os, "posix_fadvise"):  # Linux begins to write pages that it need not keep
            with contextlib.suppress(OSError):  # it only saves time, and some file systems refuse it
                os.posix_fadvise(self.handle, 0, 0, os.POSIX_FADV_DONTNEED)

    def sync(self) -> None:
        """Flush the content to the disk; raises OSError."""
        os.fsync(self.handle)

    def publish(self, target: Path, replaceable: Callable[[Path], bool]) -> Path:
        """Rename the file to the target; raises OSError, and Occupied where a file must not be replaced."""
        lock(self.handle, shared=True)  # HDF5 opens no file with an exclusive lock
        if not RENAMES_OPEN_FILES:
            self._close()
        try:
            os.link(self.path, target)  # unlike a rename, it never replaces a file
            self.path.unlink()
        except OSError:  # something is there, or the file system has no links
            if os.path.lexists(target) and not replaceable(target):
                raise Occupied(errno.EEXIST, "what stands there now is not to be replaced") from None
            self.path.replace(target)
        self._close()
        with contextlib.suppress(OSError):  # so that the new name survives a crash of the machine
            handle = os.open(target.parent, os.O_RDONLY | FOLDER)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        return target

    def keep(self, word: str, replaceable: Callable[[Path], bool]) -> Path:
        """Rename the file to the first free name of OUT.word, OUT.word-2, ...; if that fails it keeps its name."""
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
        """Remove the file, unless it has been renamed."""
        if self.handle >= 0:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
            self._close()

    def _close(self) -> None:
        if self.handle >= 0:
            unlock(self.handle)
            os.close(self.handle)
            self.handle = -1


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _remove_abandoned(path: Path) -> bool:
    """Remove the file of a killed run, if any; a complete result, whose rename had failed, is kept."""
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
        return error.errno is not None  # it could not be read, so it may be complete
    except (RuntimeError, KeyError, TypeError, ValueError):
        return False


class Sink(io.FileIO):
    """A file on a descriptor; HDF5 crashes after failed writes: ``error`` is the first, later data go to memory."""

    def __init__(self, handle: int):
        super().__init__(handle, "r+", closefd=False)
        self.error: OSError | None = None
        self._lost: list[tuple[int, bytes]] = []  # (place, content), which HDF5 may read again

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place, counted from the start or from the end; the end includes data that are in memory."""
        place = super().seek(offset, whence)
        if whence == os.SEEK_END:
            place = super().seek(max([place, *(start + len(content) for start, content in self._lost)]))
        return place

    def readinto(self, buffer) -> int:
        """Fill a buffer with the next bytes; bytes beyond the end are zeros."""
        view, here, done = memoryview(buffer).cast("B"), self.tell(), 0
        while part := super().readinto(view[done:]):
            done += part
        view[done:] = bytes(len(view) - done)
        for place, content in self._lost:
            first, last = max(place, here), min(place + len(content), here + len(view))
            if first < last:
                view[first - here : last - here] = content[first - place : last - place]
        self.seek(here + len(view))
        return len(view)

    def write(self, content) -> int:
        """Write at the current position; after a failed write, into memory."""
        view, place = memoryview(content).cast("B"), self.tell()
        if self.error is None:
            try:
                write_at(self.fileno(), view, place)
            except OSError as error:
                self.error = error
        if self.error is not None:
            self._lost.append((place, bytes(view)))
            self.seek(place + len(view))
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Cut or extend the file."""
        if self.error is None:
            try:
                return super().truncate(size)
            except OSError as error:
                self.error = error
        return self.tell() if size is None else size


HDF5 = b"\x89HDF\r\n\x1a\n"
RESULT_SUFFIXES = (".h5", ".hdf5")


def elsewhere() -> str:
    """Advice for an output that must not be written."""
    return either("name another output with -o", "name another file")


def appeared(target: Path) -> str:
    """The message for a foreign file that was created at the target during the run."""
    return f"{target} has appeared meanwhile, and only {flag('force')} overwrites it"


def is_of_format(path: Path, kind: str) -> bool:
    """Whether the file is HDF5 in an mbsim format; unchanged files are read only once."""

    def look(file: BinaryIO) -> bool:
        found = os.fstat(file.fileno())
        state = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
        return file.read(8) == HDF5 and not _fault_of(path, kind, state)

    return judged(path, look)


@lru_cache(maxsize=64)
def _fault_of(path: Path, kind: str, state: tuple[int, ...]) -> str:
    """The fault of a file, found in a separate process; ``state`` is the key of the cache."""
    return fault_in(path, partial(require_format, kind=kind))


def begins(path: Path, pattern: re.Pattern[bytes]) -> bool:
    """Whether the first bytes of a file match a pattern."""
    return judged(path, lambda file: pattern.match(file.read(2048)) is not None)


is_result = partial(is_of_format, kind=FORMAT)  # complete or partial
# PNG, PDF, GIF, SVG or MP4
_PICTURES = re.compile(rb"\x89PNG|%PDF|GIF8|\s*<(\?xml.{0,300}<!DOCTYPE svg|svg)|....ftyp", re.DOTALL)
is_picture = partial(begins, pattern=_PICTURES)
is_vtk = partial(begins, pattern=re.compile(b".*<VTKFile", re.DOTALL))  # a mesh for viewers, or a collection of such
is_page = partial(begins, pattern=re.compile(b'.*<meta name="generator" content="mbsim">', re.DOTALL))


def _is_schema(path: Path) -> bool:
    """Whether the file is a JSON Schema of the model file, of any version."""

    def look(file: BinaryIO) -> bool:
        try:
            found = json.load(file)
        except (ValueError, RecursionError):
            return False
        return isinstance(found, dict) and "$schema" in found and found.get("required") == ["mbsim"]

    return judged(path, look)


class FileKind(NamedTuple):
    """A kind of files that mbsim writes."""

    what: str  # with its article, for sentences
    example: str  # a name
    is_own: Callable[[Path], bool]  # whether a file is of this kind, and may be replaced by another of it


RESULT = FileKind("an mbsim result", "result.h5", is_result)
PICTURE = FileKind("a picture", "picture.png", is_picture)
COLLECTION = FileKind("a collection of meshes", "motion.pvd", is_vtk)
PAGE = FileKind("a page", "report.html", is_page)
MODEL = FileKind("a model file", "model.yaml", lambda path: False)  # which only --force replaces
OTHER_FORMATS = (".csv", ".parquet", ".mat", ".npz", ".json", ".yaml")  # endings that no result file has
SCHEMA = FileKind("a schema of model files", "model.schema.json", _is_schema)


def check_target(path: Path, kind: FileKind = RESULT, *, force: bool, protected: tuple[Path, ...] = ()) -> Path:
    """Return the resolved target, or raise where a file of a kind must not or cannot be written.

    UsageError is that of a result with the ending of another format, InputOutputError all else.
    ``protected`` files (the model first, then the files that it reads) are not overwritten even with ``force``.
    """
    target = resolved(path, kind.example)
    if target.exists():
        if not target.is_file():
            noun = kind.what.partition(" ")[2]
            raise InputOutputError(f"{path} is not a regular file, so no {noun} can take its place")
        keep_apart(path, protected[:1], "the model itself")
        keep_apart(path, protected, "a file that the model reads")
        if not force and not kind.is_own(target):
            raise InputOutputError(f"{path} exists and is not {kind.what}; {flag('force')} overwrites it")
    if kind is RESULT and path.suffix.lower() in OTHER_FORMATS:
        raise UsageError(f"{path}: a result is HDF5, as {path.with_suffix('.h5')}; mbsim export writes tables of it")
    return target


def may_replace(path: Path, *, kind: FileKind = RESULT, force: bool = False, protected: tuple[Path, ...] = ()) -> bool:
    """Whether a file may be replaced: one of the same known kind, or with ``force`` any unprotected file."""
    try:
        return path.is_file() and not _is_one_of(path, protected) and (force or kind.is_own(path))
    except Unjudged:
        return False


def keep_apart(path: Path, read: Iterable[Path], what: str) -> None:
    """Raise InputOutputError where a file to write is one of those that are read; ``what`` it is, for the sentence."""
    if path.exists() and _is_one_of(path, read):
        raise InputOutputError(f"{path} is {what}; {elsewhere()}")


def _is_one_of(target: Path, others: Iterable[Path]) -> bool:
    return any(target.samefile(other) for other in others if other.exists())


def resolved(path: Path, example: str) -> Path:
    """Return the resolved path of a file to write; raise InputOutputError where it cannot be created."""
    try:
        target = path.resolve()
        a_folder, in_a_folder = target.is_dir(), target.parent.is_dir()
    except (OSError, ValueError, RuntimeError) as error:  # null character, cyclic links, no working folder
        raise InputOutputError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
    if a_folder:
        raise InputOutputError(f"{path} is a folder; name a file, such as {path / example}")
    if not in_a_folder:
        raise InputOutputError(f"cannot write {path}: there is no folder {target.parent}")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputOutputError(f"cannot write in {target.parent}: it may not be written in")
    return target


@contextmanager
def replaced(target: Path, kind: FileKind = RESULT, *, force: bool = False) -> Iterator[Path]:
    """A context with a temporary file to write: renamed to the target on success, removed otherwise.

    A file that was created at the target meanwhile is replaced if it is of the same kind, or with ``force``.
    """
    temporary = TemporaryFile(target)
    try:
        yield temporary.path
        temporary.sync()
        temporary.publish(target, partial(may_replace, kind=kind, force=force))
    except Occupied as error:
        raise InputOutputError(appeared(target)) from error
    except OSError as error:
        raise InputOutputError(f"cannot write {target}: {reason_of(error)}") from error
    finally:
        temporary.discard()
