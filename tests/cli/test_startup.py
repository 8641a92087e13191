"""``mbsim --help`` is quick and loads nothing heavy."""

import resource
import subprocess
import sys

import pytest

from .conftest import COMMAND, environment

HEAVY = (
    "numpy",
    "scipy",
    "numba",
    "h5py",
    "yaml",
    "rich",
    "matplotlib",
    "PIL",
)  # typer itself may use pydantic
SCRIPT = """
import sys
from mbsim_cli.cli import outcome
code = outcome.call({arguments!r})
heavy = [name for name in {heavy!r} if name in sys.modules]
print(code, *heavy, file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["run", "--help"], ["check", "--help"], ["plot", "--help"], ["animate", "--help"], ["--version"]],
)
def test_help_imports_nothing_heavy(arguments):
    script = SCRIPT.format(arguments=arguments, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True)
    assert done.stderr.split() == ["0"], done.stderr


def test_help_is_quick():
    """In seconds of the processor, which a busy machine does not stretch much."""

    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    times = []
    for _ in range(5):
        start = spent()
        subprocess.run([*COMMAND, "--help"], env=environment(), stdout=subprocess.DEVNULL, check=True)
        times.append(spent() - start)
    assert min(times) < 0.3, times
