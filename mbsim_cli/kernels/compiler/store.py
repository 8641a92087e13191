"""Where compiled kernels are kept: a folder of this user for each content of the sources, versions and flags.

Files of the store are run. So folders and files must belong to this user, and nobody else may write to them. Links are
not followed. The hash in a file shows that the file is whole, and the key shows that it is the file asked for. Any
other file counts as missing.
"""

import errno
import hashlib
import os
import platform
import re
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile, mkstemp
from typing import NamedTuple

import numpy as np

from mbsim_cli import system
from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.kernels.compiler import installed
from mbsim_cli.kernels.compiler.installed import settings, version

PACKAGE = Path(__file__).resolve().parents[2]
# The user is part of the name: several users may share a root.
FOLDER_OF_USER = f"kernels-{os.environ.get('USERNAME', 'own') if system.user() is None else system.user()}"
PARTS = "parts"  # beside: kernels that entries are linked of
MAGIC = b"mbsim kernel 1\n"
MOST_BYTES = 1 << 30
PATIENCE = 600.0  # seconds to wait for another process that makes an entry
STALE = 3600.0  # seconds after which an unfinished file is one of a process that was killed
_VERSIONS = (version("numba"), version("llvmlite"), np.__version__, sys.implementation.cache_tag)
_HASH = 32  # bytes


class Store:
    """Entries by key; where there is no safe folder it holds none, and ``trouble`` says why."""

    def __init__(self, find_root: Callable[[], Path], *names: str):
        self.trouble, self.path, self.name = "", "", names[-1]
        self._folder: Path | None = None
        self._is_swept = False
        try:
            folder = find_root()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in names:
                folder /= name
                with suppress(FileExistsError):
                    folder.mkdir(0o700)
                found = folder.lstat()
                if not stat.S_ISDIR(found.st_mode):
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
                if fault := _fault(found):
                    raise PermissionError(f"{folder} {fault}")
            self._folder = folder.resolve()  # a program may change its folder
            self.path = str(self._folder)
        except (OSError, RuntimeError) as error:  # RuntimeError: there is no home
            self.trouble = str(error)

    def get(self, key: bytes) -> bytes | None:
        """Content of an entry, or None where there is none that can be trusted."""
        if self._folder is None:
            return None
        path = self._folder / file_of(key)
        try:
            handle = os.open(path, os.O_RDONLY | system.GUARDED)
            try:
                status = os.fstat(handle)
                if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES or _fault(status):
                    return None
                with open(handle, "rb", closefd=False) as file:
                    found = content_of(key, file.read())
            finally:
                os.close(handle)
            if found is None:  # it takes room, and others would take it for an entry that is there
                path.unlink()
            return found
        except OSError:
            return None

    def put(self, key: bytes, content: bytes) -> None:
        """Keep an entry, whole or not at all, in place of any file or folder of its name."""
        if self._folder is None:
            return
        path = self._folder / file_of(key)
        try:
            self._sweep(self._folder)
            handle, temporary = mkstemp(".tmp", f"{path.name}.", self._folder)
            try:
                with open(handle, "wb") as file:
                    file.write(MAGIC + hashlib.sha256(key).digest() + hashlib.sha256(content).digest() + content)
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path, ignore_errors=True)
                os.replace(temporary, path)
            except OSError:
                os.unlink(temporary)
                raise
        except OSError as error:
            self.trouble = str(error)

    def _sweep(self, folder: Path) -> None:
        """Remove what killed processes left unfinished, once."""
        unfinished = [] if self._is_swept else list(folder.glob("*.tmp"))
        self._is_swept = True
        for path in unfinished:
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime > STALE:
                    path.unlink()

    def check(self) -> tuple[str, bool]:
        """The reason why entries cannot be written, if any; and whether locks work there."""
        if self._folder is None:
            return self.trouble, False
        try:
            with NamedTemporaryFile(prefix="check.", suffix=".tmp", dir=self._folder, buffering=0) as file:
                file.write(MAGIC)
                return "", bool(system.lock(file.fileno()))
        except OSError as error:
            return f"{self.path}: {error.strerror}", False

    @contextmanager
    def turn(
        self, key: bytes, waiting: Callable[[], None] = lambda: None, patience: float | None = None
    ) -> Iterator[bool]:
        """Within, no other process makes this entry; one that hangs, or locks that do not work, are not waited for.

        ``waiting`` is called once where another one is at it. False where that one still is after ``patience`` seconds,
        ten minutes if none are given.
        """
        lock = None
        with suppress(OSError):
            path = self._folder and self._folder / file_of(key)
            if path and not (path.is_file() and not path.is_symlink()):
                lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | system.GUARDED, 0o600)
        try:
            yield lock is None or self._wait(lock, waiting, PATIENCE if patience is None else patience)
        finally:
            if lock is not None:
                os.close(lock)

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


def _fault(found: os.stat_result) -> str:
    """The reason not to trust a file or folder; nothing where it can be."""
    if system.user() is None:  # Windows keeps others out of a user's folders by lists of its own
        return ""
    if found.st_uid != system.user():
        return "belongs to another user"
    return "can be written by others; chmod 700 it" if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def content_of(key: bytes, data: bytes) -> bytes | None:
    """Content of a file if it is whole and of this key, else None."""
    head = MAGIC + hashlib.sha256(key).digest()
    content = memoryview(data)[len(head) + _HASH :]
    return bytes(content) if data.startswith(head + hashlib.sha256(content).digest()) else None


def file_of(key: bytes) -> str:
    """File of an entry: the end of the dotted name that its key begins with, for people, and the key's hash."""
    (dotted,) = re.findall(rb"\A[\w.]*", key)
    return f"{b'.'.join(dotted.split(b'.')[-2:]).decode()}-{hashlib.sha256(key).hexdigest()[:32]}"


def is_entry(path: Path) -> bool:
    """Neither a lock, nor unfinished, nor an index of numba's own."""
    return path.suffix not in (".lock", ".tmp", ".nbi")


# The stores of a compiler ---------------------------------------------------------------------------------------------


def source_hash(compiler: str, package: Path = PACKAGE, folders: tuple[str, ...] = ("kernels", "model")) -> str:
    """Hash of all files of some folders, not their places or times, and of a named compiler, its versions and flags."""
    digest, start = hashlib.sha256(), len(str(package)) + 1
    walked = (each for folder in folders for each in os.walk(package / folder))  # in half the time of Path.rglob
    files = [os.path.join(folder, name) for folder, _, names in walked for name in names if name.endswith(".py")]
    for file in sorted(files):
        digest.update(file[start:].replace(os.sep, "/").encode())
        with open(file, "rb", buffering=0) as source:
            digest.update(source.read())
    made_by = (compiler, settings(), installed.WANTED, _VERSIONS, platform.machine())
    digest.update(repr(made_by if compiler else ()).encode())
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Folder of all that mbsim keeps; RuntimeError where the user has no home."""
    explicit = os.environ.get("MBSIM_CACHE_DIR")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mbsim"


def open_store(compiler: str) -> Store:
    """The store of a compiler's entries, which is new and empty at its first use."""
    return Store(cache_root, FOLDER_OF_USER, source_hash(compiler))


def open_parts(compiler: str) -> Store:
    """The place of kernels that entries are linked of, those of all versions of the sources."""
    return Store(cache_root, FOLDER_OF_USER, PARTS, source_hash(compiler, folders=("kernels/compiler",)))


# Kernels that come with the package -----------------------------------------------------------------------------------
#
# They are for all processors of a level, and read where the user's own store has none. ``mbsim compile --into`` fills
# the folder before the package is built. Who can write to it can write to the sources that are run, so that it is
# trusted as they are.

_brought: Path | None = PACKAGE / "prebuilt"


def prebuilt_level() -> str:
    """The level whose kernels are looked for; empty if there are none, or if settings of numba state how to compile."""
    known = _brought is not None and _brought.is_dir() and not settings()
    return (installed.WANTED or installed.own_level()) if known else ""


def prebuilt(key: bytes) -> bytes | None:
    """Content of an entry, or None where there is none that is whole."""
    try:
        return content_of(key, (_within(_brought, prebuilt_level()) / file_of(key)).read_bytes())
    except OSError:
        return None


def prebuilt_entries() -> list[Path]:
    """Files of all entries for this processor."""
    return sorted(_within(_brought, prebuilt_level()).glob("*")) if prebuilt_level() else []


def ignore_prebuilt() -> None:
    """Have everything compiled anew that is not in the store."""
    global _brought
    if not installed.WANTED:
        levels = " or ".join(installed.LEVELS)
        raise UsageError(f"kernels that others run are for a level: set MBSIM_PROCESSOR to {levels}")
    _brought = None


def fill_prebuilt(root: Path, kept: str) -> str:
    """Copy what a store keeps to where the package brings it along; that folder."""
    into = _within(root, installed.WANTED)
    try:
        into.mkdir(parents=True, exist_ok=True)
        for path in Path(kept).iterdir():
            if is_entry(path):
                shutil.copyfile(path, into / path.name)
    except OSError as error:
        raise InputOutputError(f"{error.filename or into}: {error.strerror}") from None
    return str(into)


@cache
def _within(root: Path, level: str) -> Path:
    """The folder for these sources; versions of the compiler do not count, as it is not needed to run them."""
    return root / f"{level}-{source_hash('')}"


# What doctor shows of the folder, read without running any of it ------------------------------------------------------


class Kept(NamedTuple):
    """One folder of entries, those of one content of the sources; or of parts, those of all."""

    name: str
    entries: list[tuple[str, int]]  # name of the entry, bytes
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
    """All folders of this user, the newest first, with that of parts; those that cannot be read count as missing."""
    found: list[Kept] = []
    with suppress(OSError, RuntimeError):
        paths = [path for path in (cache_root() / FOLDER_OF_USER).iterdir() if path.is_dir() and not path.is_symlink()]
        for path in paths:
            with suppress(OSError):
                files = list(_files(path))
                entries = sorted((each.name.rsplit("-", 1)[0], st.st_size) for each, st in files if is_entry(each))
                newest = max((st.st_mtime for _, st in files), default=path.stat().st_mtime)
                found.append(Kept(path.name, entries, newest))
    return sorted(found, key=lambda folder: -folder.newest)


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """All files of a folder but those that vanish meanwhile, as unfinished ones of a process that compiles do."""
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode):
                yield path, found
