"""Append-only files of frames, each with its length and checksum.

What a killed writer, a full disk or a crash of the machine left unfinished is recognised and skipped; the next writer
cuts an unfinished end off before it goes on.
"""

import fcntl
import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from mbsim_cli.errors import InputOutputError
from mbsim_cli.files import open_regular

MARK = b"\x93mbs"
HEAD = struct.Struct("<4sIQ")  # mark, checksum of length and content, length
SYNC = 5.0  # s between two requests to have all on the disk


class Frame(NamedTuple):
    """A whole frame of a file: where it ends, and its content."""

    end: int
    content: memoryview


def framed(content: bytes) -> bytes:
    """The bytes that a frame takes in a file."""
    length = struct.pack("<Q", len(content))
    return HEAD.pack(MARK, zlib.crc32(content, zlib.crc32(length)), len(content)) + content


def frames(data: bytes | mmap.mmap) -> Iterator[Frame]:
    """Yield the whole frames, in their order; damaged parts are skipped."""
    view, place = memoryview(data), 0
    while (place := data.find(MARK, place)) >= 0:
        start = place + HEAD.size
        if start > len(data):
            return
        _, checksum, length = HEAD.unpack_from(data, place)
        end = start + length
        if end <= len(data) and zlib.crc32(view[start:end], zlib.crc32(view[place + 8 : start])) == checksum:
            yield Frame(end, view[start:end])
            place = end
        else:
            place += 1


def read_frames(path: Path) -> Iterator[Frame]:
    """Yield the whole frames of a file, which is not copied; raises InputOutputError where it cannot be read."""
    try:
        with open_regular(path) as file:
            empty = not os.fstat(file.fileno()).st_size
            data = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise InputOutputError(f"cannot read {path}: {error.strerror or error}") from error
    return frames(data)


class Appender:
    """Appends frames to a file that no other process may append to meanwhile."""

    def __init__(self, path: Path):
        self._path = path
        self._handle = -1
        self._synced = monotonic()
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
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
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"another process is computing the same cases: it appends to {self._path}"
            raise InputOutputError(f"{message}; wait for it, or give each its --shard") from None
        except OSError:
            pass  # a file system without locks: what is computed twice counts once

    def append(self, content: bytes) -> None:
        """Write a frame; where that fails nothing of it stays. Raises InputOutputError."""
        view = memoryview(framed(content))
        place = self._end
        try:
            self._require_there()
            while len(view):
                done = os.pwrite(self._handle, view, place)
                view, place = view[done:], place + done
            self._end = place
            if monotonic() - self._synced > SYNC:
                self.sync()
        except OSError as error:
            raise self._failure(error) from error

    def _require_there(self) -> None:
        """Raise OSError where the file has lost its name: nobody would find what goes on to be written."""
        if not os.path.samestat(os.fstat(self._handle), os.stat(self._path)):
            raise FileNotFoundError(2, "another file has taken its place")

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
            os.close(self._handle)
            self._handle = -1

    def _failure(self, error: OSError) -> InputOutputError:
        return InputOutputError(f"cannot write {self._path}: {error.strerror or error}")
