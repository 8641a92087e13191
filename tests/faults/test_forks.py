"""Programs fork, and threads look at files while others write: no lock and no process stays behind."""

import fcntl
import os
import signal
import threading
from contextlib import contextmanager

import pytest

from mbsim_cli.errors import InputOutputError
from mbsim_cli.io import quarantine
from mbsim_cli.io.temporary import create
from mbsim_cli.study.sweep.frames import Appender


@contextmanager
def forked():
    """A process that has all handles of this one."""
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_file_that_has_its_name_is_free(tmp_path):
    temporary = create(tmp_path / "r.h5")
    with forked():
        temporary.publish(tmp_path / "r.h5", lambda path: False)
        with open(tmp_path / "r.h5") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_rows_that_are_written_are_free(tmp_path):
    rows = Appender(tmp_path / "rows")
    with pytest.raises(InputOutputError, match="another process is computing the same cases"):
        Appender(tmp_path / "rows")
    with forked():
        rows.close()
        Appender(tmp_path / "rows").close()


def test_control_c_leaves_no_process(tmp_path):
    (tmp_path / "x").touch()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            quarantine.fault_of(tmp_path / "x", lambda path: signal.pause())
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
