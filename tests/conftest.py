"""Settings of all tests."""

import contextlib
import enum
import gc
import os
import resource
import signal
import sys

import pytest
from hypothesis import HealthCheck, settings

from mbsim_cli.cli.app import MOST_OBJECTS
from mbsim_cli.kernels.compiler import watch
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.drivers import stepping

# A shell that starts the tests in the background has them ignore Ctrl-C, and children would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Without bytecode each of some hundred commands compiles all sources anew, which takes as long as what it does.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

gc.set_threshold(MOST_OBJECTS)  # as the command does: what compiling makes is searched for garbage in vain

# Workers of pytest-xdist share what they compile as a run and its second process do: those with odd numbers begin at
# the other end, nobody waits, and nobody has a second process beside the processors that the workers use.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
if WORKER and COMPILER == "linking":
    watch.PAIRED = True
    if int(WORKER.removeprefix("gw")) % 2:
        watch.take_calls_backwards()

# Kernels as plain Python compare numpy's integers with codes. numpy then asks the class of the code for attributes that
# it lacks, which Python 3.11 looks up by this function: a third of the time. Later versions have none.
if COMPILER == "none" and hasattr(enum.EnumMeta, "__getattr__"):
    del enum.EnumMeta.__getattr__

# A few steps of adaptive integrators go through all that many do: each may be a large part of an interpreted run.
if COMPILER == "none":
    stepping.LONGEST = 0.3

# Properties are tried on the same examples each time, however long one takes.
settings.register_profile("mbsim", deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
settings.load_profile("mbsim")

WITHOUT_COMPILER = "kernels as plain Python; tests/kernels/test_without_compiler.py runs them in another process"
PLAIN = "tests/kernels/plain/"  # tests of single kernels, which only plain Python can call
NEEDS_NO_KERNELS = ("kernels/test_without_compiler", "spec/", "io/", "report/", "reduction/")

FAST = ("spec/", "io/", "assembly/", "report/")  # half a minute: model files, arrays, result files and pictures


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    """Mark tests of these folders as fast, so that ``pytest -m fast`` runs them; skip what others are to interpret."""
    if item.nodeid.startswith(PLAIN):
        item.add_marker("interpreted")
    if COMPILER != "none" and item.get_closest_marker("interpreted"):
        item.add_marker(pytest.mark.skip(reason=WITHOUT_COMPILER))
    if item.nodeid.startswith(tuple(f"tests/{name}" for name in FAST)) and not item.get_closest_marker("slow"):
        item.add_marker("fast")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """The second of two workers begins with what needs no kernels, while the first one compiles what all others need.

    pytest-xdist gives each worker a quarter of its share to begin with.
    """
    if count := getattr(config, "workerinput", {}).get("workercount"):
        begun = len(items) // count // 4
        ready = [item for item in items if item.nodeid.startswith(tuple(f"tests/{name}" for name in NEEDS_NO_KERNELS))]
        known = set(ready)
        others = [item for item in items if item not in known]
        items[:] = others[:begun] + ready + others[begun:]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish():
    """Let workers end quickly and quietly.

    pytest collects garbage once more, which takes seconds where kernels were compiled (a million objects a worker), and
    execnet interrupts a worker that takes more than five: a traceback of KeyboardInterrupt after all tests have passed.
    """
    if WORKER:
        gc.freeze()
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def pytest_terminal_summary(terminalreporter):
    """Say in one line why hundreds of tests were skipped, which is no loss."""
    skipped = terminalreporter.stats.get("skipped", ())
    if count := sum(WITHOUT_COMPILER in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(f"{count} of the skipped tests: {WITHOUT_COMPILER}")


@pytest.fixture
def full_disk(monkeypatch):
    """Within, files of this process end at a size: the system refuses to write more, as on a full disk.

    Modules that are first imported there leave no bytecode, of which Python would keep the beginning for all others.
    """

    @contextlib.contextmanager
    def limited(size):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            with monkeypatch.context() as within:
                within.setattr(sys, "dont_write_bytecode", True)
                yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)

    return limited
