"""A folder of this user's own, whose files are what was put there: anything else in it counts as missing.

What is read here is run. So the folder and each file must belong to this user and be closed to writers, links are not
followed, and a file tells by its hash that it is whole, and by its key that it is the one asked for.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

MAGIC = b"mbsim kernel 1\n"
MOST_BYTES = 1 << 30
PATIENCE = 600.0  # seconds to wait for another process that makes an entry
STALE = 3600.0  # seconds after which an unfinished file is one of a process that was killed
_HASH = 32  # bytes
_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # of a pipe in a file's place nobody waits for a writer
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Store:
    """Entries by key; where there is no safe folder it holds none, and ``trouble`` says why."""

    def __init__(self, find_root: Callable[[], Path], *names: str):
        self.trouble = ""
        self.path, self.name = "", names[-1]
        self._folder: int | None = None
        self._is_swept = False
        try:
            root = find_root()
            self._folder = _private_folder(root, names)
            self.path = str(root.joinpath(*names).resolve())
        except (OSError, RuntimeError) as error:  # RuntimeError: there is no home
            self.trouble = str(error)

    def get(self, key: bytes) -> bytes | None:
        """Content of an entry, or None where there is none that can be trusted."""
        if self._folder is None:
            return None
        try:
            found = content_of(key, _read_own(file_of(key), self._folder))
            if found is None:  # it takes room, and others would take it for an entry that is there
                os.unlink(file_of(key), dir_fd=self._folder)
            return found
        except OSError:
            return None

    def put(self, key: bytes, content: bytes) -> None:
        """Keep an entry, whole or not at all; what stood there is replaced."""
        if self._folder is None:
            return
        data = MAGIC + hashlib.sha256(key).digest() + hashlib.sha256(content).digest() + content
        try:
            self._sweep()
            _write_whole(file_of(key), data, self._folder)
        except OSError as error:
            self.trouble = str(error)

    def check(self) -> tuple[str, bool]:
        """What keeps entries from being written, if anything does; and whether locks work there."""
        if self._folder is None:
            return self.trouble, False
        name = f"check.{os.getpid()}.{secrets.token_hex(8)}.tmp"
        try:
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, 0o600, dir_fd=self._folder)
            try:
                os.write(handle, MAGIC)
                return "", _locks(handle)
            finally:
                os.close(handle)
                os.unlink(name, dir_fd=self._folder)
        except OSError as error:
            return f"{self.path}: {error.strerror}", False

    def _sweep(self) -> None:
        """Remove what killed processes left unfinished, once."""
        unfinished = [] if self._is_swept else [name for name in os.listdir(self._folder) if name.endswith(".tmp")]
        self._is_swept = True
        for name in unfinished:
            with contextlib.suppress(OSError):
                if time.time() - os.lstat(name, dir_fd=self._folder).st_mtime > STALE:
                    os.unlink(name, dir_fd=self._folder)

    @contextlib.contextmanager
    def turn(
        self, key: bytes, waiting: Callable[[], None] = lambda: None, patience: float | None = None
    ) -> Iterator[bool]:
        """Within, no other process makes this entry; one that hangs, or locks that do not work, are not waited for.

        ``waiting`` is called once where another one is at it. False where that one still is after ``patience`` seconds,
        ten minutes if none are given.
        """
        lock = None if self._folder is None or self._has(key) else self._open_lock(key)
        try:
            yield lock is None or self._wait(lock, waiting, PATIENCE if patience is None else patience)
        finally:
            if lock is not None:
                os.close(lock)

    def _has(self, key: bytes) -> bool:
        try:
            os.lstat(file_of(key), dir_fd=self._folder)
        except OSError:
            return False
        return True

    def _open_lock(self, key: bytes) -> int | None:
        try:
            return os.open(file_of(key) + ".lock", os.O_RDWR | os.O_CREAT | _SAFE, 0o600, dir_fd=self._folder)
        except OSError:
            return None

    def _wait(self, lock: int, waiting: Callable[[], None], patience: float) -> bool:
        end, told = time.monotonic() + patience, patience == 0.0
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() >= end:
                    return False
                if not told:
                    waiting()
                told = True
                time.sleep(0.1)
            except OSError:  # a file system without locks
                return True


def _locks(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def content_of(key: bytes, data: bytes) -> bytes | None:
    """What a file holds if it is whole and of this key, else None."""
    head = MAGIC + hashlib.sha256(key).digest()
    content = data[len(head) + _HASH :]
    return content if data == head + hashlib.sha256(content).digest() + content else None


def file_of(key: bytes) -> str:
    """File of an entry: the end of the dotted name that its key begins with, for people, and the key's hash."""
    (dotted,) = re.findall(rb"\A[\w.]*", key)
    return f"{b'.'.join(dotted.split(b'.')[-2:]).decode()}-{hashlib.sha256(key).hexdigest()[:32]}"


def is_entry(path: Path) -> bool:
    """Neither a lock, nor unfinished, nor an index of numba's own."""
    return path.suffix not in (".lock", ".tmp", ".nbi")


def _private_folder(root: Path, names: tuple[str, ...]) -> int:
    """Descriptor of the folder root/name/...; those named are this user's alone, and made where they are missing."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder, path = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), root
    for name in names:
        path /= name
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=folder)
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _SAFE, dir_fd=folder)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(path)) from None
        finally:
            os.close(folder)
        folder = below
        if fault := _fault(os.fstat(folder)):
            os.close(folder)
            raise PermissionError(f"{path} {fault}")
    return folder


def _fault(found: os.stat_result) -> str:
    """What keeps a file or folder from being trusted; nothing where it can be."""
    if found.st_uid != os.geteuid():
        return "belongs to another user"
    return "can be written by others; chmod 700 it" if found.st_mode & _OTHERS_WRITE else ""


def _read_own(name: str, folder: int) -> bytes:
    with open(os.open(name, os.O_RDONLY | _SAFE, dir_fd=folder), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES or _fault(found):
            raise PermissionError(name)
        return file.read()


def _write_whole(name: str, data: bytes, folder: int) -> None:
    temporary = f"{name}.{os.getpid()}.{secrets.token_hex(8)}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, 0o600, dir_fd=folder)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(temporary, dir_fd=folder)
        raise
