"""A folder of this user's own, whose files are what was put there: anything else in it counts as missing.

What is read here is run. So the folder and each file must belong to this user and be closed to writers, links are not
followed, and a file tells by its hash that it is whole, and by its key that it is the one asked for.
"""

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from mbsim_cli import system

MAGIC = b"mbsim kernel 1\n"
MOST_BYTES = 1 << 30
PATIENCE = 600.0  # seconds to wait for another process that makes an entry
STALE = 3600.0  # seconds after which an unfinished file is one of a process that was killed
_HASH = 32  # bytes
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Store:
    """Entries by key; where there is no safe folder it holds none, and ``trouble`` says why."""

    def __init__(self, find_root: Callable[[], Path], *names: str):
        self.trouble = ""
        self.path, self.name = "", names[-1]
        self._folder: _Folder | None = None
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
            found = content_of(key, self._folder.read_own(file_of(key)))
            if found is None:  # it takes room, and others would take it for an entry that is there
                self._folder.remove(file_of(key))
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
            self._folder.write_whole(file_of(key), data)
        except OSError as error:
            self.trouble = str(error)

    def check(self) -> tuple[str, bool]:
        """What keeps entries from being written, if anything does; and whether locks work there."""
        if self._folder is None:
            return self.trouble, False
        name = f"check.{os.getpid()}.{secrets.token_hex(8)}.tmp"
        try:
            handle = self._folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                os.write(handle, MAGIC)
                return "", bool(system.lock(handle))
            finally:
                os.close(handle)
                self._folder.remove(name)
        except OSError as error:
            return f"{self.path}: {error.strerror}", False

    def _sweep(self) -> None:
        """Remove what killed processes left unfinished, once."""
        folder = self._folder
        unfinished = [] if self._is_swept else [name for name in folder.names() if name.endswith(".tmp")]
        self._is_swept = True
        for name in unfinished:
            with contextlib.suppress(OSError):
                if time.time() - folder.lstat(name).st_mtime > STALE:
                    folder.remove(name)

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
            return stat.S_ISREG(self._folder.lstat(file_of(key)).st_mode)
        except OSError:
            return False

    def _open_lock(self, key: bytes) -> int | None:
        try:
            return self._folder.open(file_of(key) + ".lock", os.O_RDWR | os.O_CREAT)
        except OSError:
            return None

    def _wait(self, lock: int, waiting: Callable[[], None], patience: float) -> bool:
        end, told = time.monotonic() + patience, patience == 0.0
        while system.lock(lock) is False:  # None: a file system without locks
            if time.monotonic() >= end:
                return False
            if not told:
                waiting()
            told = True
            time.sleep(0.1)
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


class _Folder:
    """Files of a folder by name, reached by its handle where the system can: nobody can exchange it meanwhile."""

    def __init__(self, path: Path, above: "_Folder | None" = None):
        self._path, self._handle = path, None
        if system.HAS_HANDLES_OF_FOLDERS:
            flags = os.O_RDONLY | system.FOLDER
            self._handle = os.open(path, flags) if above is None else above.open(path.name, flags)
        elif above is not None and not stat.S_ISDIR(os.lstat(path).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))

    def _at(self, name: str) -> str:
        return name if self._handle is not None else str(self._path / name)

    def open(self, name: str, flags: int) -> int:
        """Handle of a file, not of what a link leads to."""
        return os.open(self._at(name), flags | system.GUARDED, 0o600, dir_fd=self._handle)

    def below(self, name: str) -> "_Folder":
        """A folder in it, this user's alone, made where it is missing."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._at(name), 0o700, dir_fd=self._handle)
        return _Folder(self._path / name, self)

    def names(self) -> list[str]:
        """Names of what is in it."""
        return os.listdir(self._path if self._handle is None else self._handle)

    def lstat(self, name: str) -> os.stat_result:
        """What the system knows of a file, or of a link."""
        return os.lstat(self._at(name), dir_fd=self._handle)

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        if stat.S_ISDIR(self.lstat(name).st_mode):
            shutil.rmtree(self._at(name), ignore_errors=True, dir_fd=self._handle)
        else:
            os.unlink(self._at(name), dir_fd=self._handle)

    def fault(self) -> str:
        """Why the folder cannot be trusted; nothing where it can be."""
        return _fault(os.lstat(self._path) if self._handle is None else os.fstat(self._handle))

    def close(self) -> None:
        """Give the handle back."""
        if self._handle is not None:
            os.close(self._handle)

    def read_own(self, name: str) -> bytes:
        """Content of a file of this user's own; raises OSError where it is something else."""
        handle = self.open(name, os.O_RDONLY)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES or _fault(found):
                raise PermissionError(name)
            with open(handle, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(handle)

    def write_whole(self, name: str, data: bytes) -> None:
        """Write a file that takes its name when it is whole; what has the name is replaced, folders included."""
        temporary = f"{name}.{os.getpid()}.{secrets.token_hex(8)}.tmp"
        handle = self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with open(handle, "wb") as file:
                file.write(data)
            with contextlib.suppress(FileNotFoundError):
                if stat.S_ISDIR(self.lstat(name).st_mode):
                    self.remove(name)
            os.replace(self._at(temporary), self._at(name), src_dir_fd=self._handle, dst_dir_fd=self._handle)
        except OSError:
            self.remove(temporary)
            raise


def _private_folder(root: Path, names: tuple[str, ...]) -> _Folder:
    """The folder root/name/...; those named are this user's alone, and made where they are missing."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder, path = _Folder(root), root
    for name in names:
        path /= name
        try:
            below = folder.below(name)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, str(path)) from None
        finally:
            folder.close()
        folder = below
        if fault := folder.fault():
            folder.close()
            raise PermissionError(f"{path} {fault}")
    return folder


def _fault(found: os.stat_result) -> str:
    """What keeps a file or folder from being trusted; nothing where it can be."""
    if system.user() is None:  # Windows keeps others out of a user's folders by lists of its own
        return ""
    if found.st_uid != system.user():
        return "belongs to another user"
    return "can be written by others; chmod 700 it" if found.st_mode & _OTHERS_WRITE else ""
