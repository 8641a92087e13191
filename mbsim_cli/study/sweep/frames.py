"""Append-only files of frames, each with its length and a checksum: rows of studies, logs of searches.

A killed writer, a full disk or a crash of the machine can leave an unfinished frame: readers skip it, and the next
writer cuts it off before it continues.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from mbsim_cli.errors import InputOutputError, option, os_errors
from mbsim_cli.system import GUARDED, lock, open_regular, unlock, write_at

MARK = b"\x93mbs"
HEAD = struct.Struct("<4sIQ")  # mark, checksum of length and content, length
SYNC = 5.0  # s between two requests to have all on the disk
PIECE = 1 << 20  # bytes that a search takes at once


def framed(content: bytes) -> bytes:
    """The bytes that a frame takes in a file."""
    return HEAD.pack(MARK, _checksum(content), len(content)) + content


def _checksum(content: bytes) -> int:
    """Checksum of length and content."""
    return zlib.crc32(content, zlib.crc32(struct.pack("<Q", len(content))))


def read_frames(path: Path, most: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield end and content of the whole frames of a file; damaged parts are skipped. Raises InputOutputError.

    With ``most``, contents are cut off after so many bytes; a frame that another one follows is then taken for whole,
    and the rest of it is not read. Nothing is mapped: another process may cut the file meanwhile, or its disk vanish.
    """
    with os_errors(f"cannot read {path}"), open_regular(path) as file:
        size, place = os.fstat(file.fileno()).st_size, 0
        while place >= 0:
            if (frame := _frame_at(file, place, size, most)) is None:
                place = _next_mark(file, place + 1)
            else:
                place = frame[0]
                yield frame


def _frame_at(file: BinaryIO, place: int, size: int, most: int | None) -> tuple[int, bytes] | None:
    """End and content of the frame at a place of a file of some size; None where none is, or a damaged one."""
    file.seek(place)
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    mark, checksum, length = HEAD.unpack(head)
    end = place + HEAD.size + length
    if mark != MARK or end > size:
        return None
    if most is not None:
        beginning = file.read(min(most, length))
        file.seek(end)
        if file.read(len(MARK)) in (b"", MARK):
            return end, beginning
        file.seek(place + HEAD.size)
    content = file.read(length)
    return (end, content[:most]) if _checksum(content) == checksum else None


def _next_mark(file: BinaryIO, place: int) -> int:
    """Position of the next mark from ``place`` on; -1 if there is none."""
    file.seek(place)
    tail = b""
    while piece := file.read(PIECE):
        tail += piece
        if (found := tail.find(MARK)) >= 0:
            return place + found
        place += max(0, len(tail) - len(MARK) + 1)
        tail = tail[1 - len(MARK) :]
    return -1


class Appender:
    """Appends frames to a file that no other process may append to meanwhile; ``occupied`` says that one does."""

    def __init__(self, path: Path, occupied: str = ""):
        self._path = path
        same = f"another process is computing the same cases: it appends to {path}; wait for it, or give each its"
        self._occupied = occupied or f"{same} {option('shard')}"
        self._handle, self._synced = -1, monotonic()
        try:
            with os_errors(f"cannot write {path}"):
                self._handle = os.open(path, os.O_RDWR | os.O_CREAT | GUARDED, 0o666)
                if lock(self._handle) is False:  # None: without locks, append compares the size of the file
                    raise InputOutputError(self._occupied)
                self._end = max((end for end, _ in read_frames(path)), default=0)
                os.ftruncate(self._handle, self._end)
        except BaseException:
            self._release()
            raise

    def append(self, content: bytes) -> None:
        """Write a frame; where that fails nothing of it stays. Raises InputOutputError."""
        frame = memoryview(framed(content))
        with os_errors(f"cannot write {self._path}"):
            found = os.fstat(self._handle)
            if not os.path.samestat(found, os.stat(self._path)):
                raise FileNotFoundError(2, "another file has taken its place")
            if found.st_size != self._end:  # where the file system has no locks
                raise InputOutputError(self._occupied)
            try:
                write_at(self._handle, frame, self._end)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(self._handle, self._end)
                raise
            self._end += len(frame)
            if monotonic() - self._synced > SYNC:
                os.fsync(self._handle)
                self._synced = monotonic()

    def close(self) -> None:
        """Flush everything to the disk and close the file; raises InputOutputError."""
        try:
            if self._handle >= 0:
                with os_errors(f"cannot write {self._path}"):
                    os.fsync(self._handle)
        finally:
            self._release()

    def _release(self) -> None:
        if self._handle >= 0:
            unlock(self._handle)
            os.close(self._handle)
            self._handle = -1
