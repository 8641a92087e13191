"""Append-only files of frames, each with its length and checksum.

What a killed writer, a full disk or a crash of the machine left unfinished is recognised and skipped; the next writer
cuts an unfinished end off before it goes on.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import BinaryIO, NamedTuple

from mbsim_cli.caller import option
from mbsim_cli.errors import InputOutputError
from mbsim_cli.files import open_regular
from mbsim_cli.system import GUARDED, lock, unlock, write_at

MARK = b"\x93mbs"
HEAD = struct.Struct("<4sIQ")  # mark, checksum of length and content, length
SYNC = 5.0  # s between two requests to have all on the disk
PIECE = 1 << 20  # bytes that a search takes at once


class Frame(NamedTuple):
    """A whole frame of a file: where it ends, and its content."""

    end: int
    content: bytes


class _Head(NamedTuple):
    """What stands before the content of a frame."""

    checksum: int
    length: int


def framed(content: bytes) -> bytes:
    """The bytes that a frame takes in a file."""
    return HEAD.pack(MARK, _checksum(content), len(content)) + content


def _checksum(content: bytes) -> int:
    """Checksum of length and content."""
    return zlib.crc32(content, zlib.crc32(struct.pack("<Q", len(content))))


def read_frames(path: Path) -> Iterator[Frame]:
    """Yield the whole frames of a file, in their order; damaged parts are skipped. Raises InputOutputError.

    Nothing is mapped: another process may cut the file meanwhile, or its disk vanish.
    """
    with _opened(path) as (file, size):
        place: int | None = 0
        while place is not None:
            content = _content(file, place, size)
            if content is None:
                place = _next_mark(file, place + 1)
            else:
                place += HEAD.size + len(content)
                yield Frame(place, content)


def read_beginnings(path: Path, count: int) -> Iterator[bytes]:
    """Yield the first ``count`` bytes of each frame, which takes no longer where frames are large.

    One that others follow as it says counts as whole, and is not read beyond. Raises InputOutputError.
    """
    with _opened(path) as (file, size):
        place: int | None = 0
        while place is not None:
            head = _head(file, place, size)
            end = place if head is None else place + HEAD.size + head.length
            beginning = b"" if head is None else file.read(min(count, head.length))
            if head is not None and (_can_follow(file, end) or _content(file, place, size) is not None):
                yield beginning
                place = end
            else:
                place = _next_mark(file, place + 1)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A file to read, and its size."""
    try:
        with open_regular(path) as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise InputOutputError(f"cannot read {path}: {error.strerror or error}") from error


def _head(file: BinaryIO, place: int, size: int) -> _Head | None:
    """What the frame at a place of a file of some size begins with, which is read so far; None where none does."""
    file.seek(place)
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    mark, checksum, length = HEAD.unpack(head)
    return _Head(checksum, length) if mark == MARK and place + HEAD.size + length <= size else None


def _content(file: BinaryIO, place: int, size: int) -> bytes | None:
    """Content of the frame at a place of a file of some size; None where none is, or a damaged one."""
    head = _head(file, place, size)
    content = b"" if head is None else file.read(head.length)
    return content if head is not None and _checksum(content) == head.checksum else None


def _can_follow(file: BinaryIO, place: int) -> bool:
    """Whether a frame begins at a place of a file, or the file ends there."""
    file.seek(place)
    return file.read(len(MARK)) in (b"", MARK)


def _next_mark(file: BinaryIO, place: int) -> int | None:
    """Where the next mark is, from a place on."""
    file.seek(place)
    known = b""
    while piece := file.read(PIECE):
        known += piece
        if (found := known.find(MARK)) >= 0:
            return place + found
        place += max(0, len(known) - len(MARK) + 1)
        known = known[1 - len(MARK) :]
    return None


class Appender:
    """Appends frames to a file that no other process may append to meanwhile; ``occupied`` says that one does."""

    def __init__(self, path: Path, occupied: str = ""):
        self._path, self._sentence = path, occupied
        self._handle = -1
        self._synced = monotonic()
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | GUARDED, 0o666)
            self._lock()
            self._end = max((frame.end for frame in read_frames(path)), default=0)
            os.ftruncate(self._handle, self._end)
        except OSError as error:
            self._give_up()
            raise self._failure(error) from error
        except BaseException:
            self._give_up()
            raise

    def _lock(self) -> None:
        if lock(self._handle) is False:  # None: without locks the size of the file tells later
            raise self._occupied()

    def append(self, content: bytes) -> None:
        """Write a frame; where that fails nothing of it stays. Raises InputOutputError."""
        try:
            self._require_own()
            self._write(memoryview(framed(content)))
            if monotonic() - self._synced > SYNC:
                self.sync()
        except OSError as error:
            raise self._failure(error) from error

    def _write(self, view: memoryview) -> None:
        try:
            write_at(self._handle, view, self._end)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._handle, self._end)
            raise
        self._end += len(view)

    def _require_own(self) -> None:
        """Raise OSError where nobody would find what goes on to be written, and InputOutputError where others write."""
        found = os.fstat(self._handle)
        if not os.path.samestat(found, os.stat(self._path)):
            raise FileNotFoundError(2, "another file has taken its place")
        if found.st_size != self._end:  # where the file system has no locks
            raise self._occupied()

    def sync(self) -> None:
        """Have all on the disk."""
        os.fsync(self._handle)
        self._synced = monotonic()

    def close(self) -> None:
        """Have all on the disk and end; raises InputOutputError."""
        try:
            if self._handle >= 0:
                self.sync()
        except OSError as error:
            raise self._failure(error) from error
        finally:
            self._give_up()

    def _give_up(self) -> None:
        if self._handle >= 0:
            unlock(self._handle)
            os.close(self._handle)
            self._handle = -1

    def _occupied(self) -> InputOutputError:
        message = f"another process is computing the same cases: it appends to {self._path}"
        return InputOutputError(self._sentence or f"{message}; wait for it, or give each its {option('shard')}")

    def _failure(self, error: OSError) -> InputOutputError:
        return InputOutputError(f"cannot write {self._path}: {error.strerror or error}")
