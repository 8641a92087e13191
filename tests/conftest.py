"""Settings of all tests."""

import contextlib
import os
import resource
import signal

import pytest

# A shell that starts the tests in the background has them ignore Ctrl-C, and children would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Without bytecode each of some hundred commands compiles all sources anew, which takes as long as what it does.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


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
