"""Programs fork, and threads look at files while others write: no lock and no process stays behind."""

import fcntl
import os
import signal
import threading
import time
from contextlib import contextmanager

import pytest

import mbsim_cli as mbsim
from mbsim_cli import quarantine
from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.target import TemporaryFile
from mbsim_cli.study.sweep.frames import Appender
from mbsim_cli.system import cached_property, waited_for
from tests.cli.conftest import PENDULUM


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
    temporary = TemporaryFile(tmp_path / "r.h5")
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


def ended(work, patience=30.0):
    """Whether a child of a fork does a piece of work and ends."""
    child = os.fork()
    if child == 0:
        signal.alarm(int(patience))
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@contextmanager
def busy(work):
    """Within, a thread is in the midst of something: it waits in ``work(begun)`` for half a second."""
    begun = threading.Event()
    thread = threading.Thread(target=work, args=(begun,))
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        thread.join()


def test_a_child_finds_no_lock_of_a_thread_and_all_whole():
    """Numbers of a model are another one's while a thread runs it at other values."""
    lock, numbers = waited_for(threading.RLock()), ["whole"]

    def change(begun):
        with lock:
            numbers.clear()
            begun.set()
            time.sleep(0.5)
            numbers.append("whole")

    def read():
        with lock:
            assert numbers == ["whole"]

    with busy(change):
        assert ended(read, 5.0)


def test_a_fork_within_the_lock():
    lock = waited_for(threading.RLock())
    with lock:
        assert ended(lambda: lock.acquire(timeout=1.0) or 1 / 0, 5.0)
    assert ended(lambda: lock.acquire(timeout=1.0) or 1 / 0, 5.0)


def test_a_child_computes_what_a_thread_is_at():
    """``functools.cached_property`` of Python 3.11 holds a lock for all objects meanwhile."""

    class Slow:
        begun = None

        @cached_property
        def value(self):
            if self.begun:
                self.begun.set()
                time.sleep(0.5)
            return 1

    assert isinstance(Slow.value, cached_property)

    def compute(begun):
        slow = Slow()
        slow.begun = begun
        assert slow.value == 1 and vars(slow)["value"] == 1

    with busy(compute):
        assert ended(lambda: Slow().value, 5.0)


@pytest.mark.slow
def test_children_run_the_model_that_a_thread_runs(tmp_path):
    (tmp_path / "m.yaml").write_text(PENDULUM)
    model, over = mbsim.load(tmp_path / "m.yaml"), threading.Event()
    truth = model.run(L=1.1).objectives["swing"].value

    def run():
        while not over.is_set():
            for number in range(50):
                model.run(L=1.0 + number / 100)

    def compare():
        assert model.run(L=1.1).objectives["swing"].value == truth

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert all([ended(compare) for _ in range(100)])
    finally:
        over.set()
        thread.join()
