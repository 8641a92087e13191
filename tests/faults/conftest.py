"""Faults to order; runs of the tool as in the tests of commands."""

import contextlib
import resource
import signal

import pytest

from tests.cli.conftest import fivebar, mbsim, pendulum, process, variant

__all__ = ["fivebar", "full_disk", "mbsim", "pendulum", "process", "variant"]


@pytest.fixture
def full_disk():
    """Within, files of this process end at a size: the system refuses to write more, as on a full disk."""

    @contextlib.contextmanager
    def limited(size):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)

    return limited


def pytest_terminal_summary(terminalreporter):
    """Show what the campaigns counted."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "counts":
                terminalreporter.write_line(value)
