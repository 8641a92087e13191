"""What only Linux has is hidden, as on Windows: every module is imported, and the usual commands do their work.

The standard library keeps what it needs of a system that it takes for POSIX: SIGKILL, statvfs, waitpid.
"""

import os
import subprocess
import sys

import h5py
import pytest

from tests.cli.conftest import PENDULUM, environment

HIDDEN = """\
import enum, importlib.abc, os, signal, sys

class Refusal(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "readline", "curses"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusal())
for name in [
    "fork", "forkpty", "register_at_fork", "geteuid", "getuid", "getegid", "getgid", "pwrite", "pread", "fchmod",
    "sysconf", "sched_getaffinity", "mkfifo", "killpg", "setsid", "getloadavg", "nice", "getpgid", "fchdir",
    "fdatasync", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "O_SYNC",
]:
    delattr(os, name)
os.supports_dir_fd = os.supports_fd = set()
kept = {"SIGKILL", "SIGINT", "SIGTERM", "SIGABRT", "SIGFPE", "SIGILL", "SIGSEGV"}
for name in [name for name in signal.Signals.__members__ if name not in kept]:
    delattr(signal, name)
signal.Signals = enum.IntEnum("Signals", {name: int(signal.Signals[name]) for name in kept})
sys.modules.pop("shutil", None)  # Python 3.13 imports it before this, with all functions of the system
for name in ("pthread_sigmask", "setitimer", "alarm", "pause", "sigwait", "sigpending"):
    delattr(signal, name)
"""
IMPORTS = """
import importlib, pkgutil
import mbsim_cli
for found in pkgutil.walk_packages(mbsim_cli.__path__, "mbsim_cli."):
    importlib.import_module(found.name)
"""
COMMANDS = """
from mbsim_cli.cli import outcome, signals, streams
streams.prepare()
signals.install()
for words in {commands!r}:
    code = outcome.call(words.split())
    print("exit code", code, "of", words, flush=True)
"""
STUDY = "study: {cloud: {grid: {L: [0.9, 1.0, 1.1]}}}\n"
DONE = [
    "validate m.yaml",
    "info m.yaml",
    "run m.yaml -o r.h5",
    "run m.yaml -o r.h5",  # over an earlier result, which is looked at
    "run m.yaml --sensitivity adjoint -o a.h5 --json",
    "inspect r.h5",
    "plot r.h5 -o p.png",
    "check m.yaml",
    "sweep m.yaml -o st",
    "sweep m.yaml -o st",
    "doctor --no-run",
]


def hidden(program, folder):
    """A program where what only Linux has is missing; the user's name finds the kernels of the tests."""
    names = environment(USERNAME=str(os.geteuid()))
    words = [sys.executable, "-c", HIDDEN + program]
    return subprocess.run(words, cwd=folder, env=names, capture_output=True, text=True, timeout=600)


def test_every_module_is_imported(tmp_path):
    done = hidden(IMPORTS, tmp_path)
    assert done.returncode == 0, done.stderr


def test_commands_do_their_work(tmp_path):
    (tmp_path / "m.yaml").write_text(PENDULUM + STUDY)
    refused = "sweep m.yaml -o other -j 2"
    done = hidden(COMMANDS.format(commands=[*DONE, refused]), tmp_path)
    told = [line for line in done.stdout.splitlines() if line.startswith("exit code")]
    assert told == [*(f"exit code 0 of {words}" for words in DONE), f"exit code 2 of {refused}"], (
        done.stdout + done.stderr
    )
    assert "this system has no worker processes; leave -j and --case-timeout out, or give --dask" in done.stderr
    assert not list(tmp_path.rglob("*.tmp"))
    with h5py.File(tmp_path / "r.h5") as file, h5py.File(tmp_path / "st" / "study.h5") as study:
        assert file.attrs["status"] == "complete" and (study["status"][:] == 0).all()


@pytest.mark.parametrize("damage", ["cut", "folder"])
def test_kernels_are_kept_without_handles_of_folders(tmp_path, damage):
    """The store of kernels by paths: written, found, and mended."""
    program = f"""
from pathlib import Path
from mbsim_cli.kernels.compiler.store import Store
store = lambda: Store(lambda: Path({str(tmp_path)!r}), "kernels", "hash")
store().put(b"key", b"content")
assert store().get(b"key") == b"content"
(path,) = Path({str(tmp_path)!r}, "kernels", "hash").iterdir()
path.unlink()
path.mkdir() if {damage!r} == "folder" else path.write_bytes(b"con")
assert store().get(b"key") is None
store().put(b"key", b"content")
assert store().get(b"key") == b"content" and store().check() == ("", False)
"""
    done = hidden(program, tmp_path)
    assert done.returncode == 0, done.stderr
