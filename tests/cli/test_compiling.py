"""What is compiled, and what is waited for, is told by name and number."""

import re
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from mbsim_cli.cli.output import Terminal
from mbsim_cli.kernels.compiler import watch
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.kernels.compiler.store import open_store
from mbsim_cli.kernels.compiler.watch import Companion
from mbsim_cli.study import compiling
from mbsim_cli.study.listener import Listener

pytestmark = pytest.mark.skipif(COMPILER != "linking", reason="others cannot tell what they compile")


@dataclass(frozen=True)
class Options:
    step: float
    duration: float
    max_steps: int = 1000
    sensitivity: str = "none"


@dataclass(frozen=True)
class Problem:
    options: Options
    theta: float = 1.0


def increase(x):
    return x + 1


def decrease(x):
    return x - 1


def blocks(problem, theta, tape):
    """Stands for an analysis, whose kernels take a minute to compile."""
    assert problem.options.duration == problem.options.step
    first, second = entry(increase), entry(decrease)
    yield first(1), second(1), second(1)


@pytest.fixture
def compiled(monkeypatch, tmp_path, capsys):
    """Compile, load or fail to keep kernels of an analysis; what was compiled, and the lines that were printed."""
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(watch, "STORE", open_store("test"))
    monkeypatch.setattr(compiling, "blocks_of", blocks)

    def call(theta=None):
        found = compiling.compile_kernels(Problem(Options(0.1, 5.0)), Terminal(False), theta)
        return found.names, capsys.readouterr().err.splitlines()

    return call


def test_names_and_number(compiled):
    names, (first, second, last) = compiled()
    assert names == ["test_compiling.increase", "test_compiling.decrease"]
    assert first == compiling.COMPILING.format("test_compiling.increase", "")
    assert second == "compiling test_compiling.decrease"
    assert re.fullmatch(r"compiled 2 kernels in \d+ s: test_compiling.increase, test_compiling.decrease", last)
    assert compiled() == ([], [])


def test_what_takes_long_is_told_before_it_begins(compiled, monkeypatch, capsys):
    """The second process is part of it."""
    told = []
    monkeypatch.setattr(Companion, "start", lambda self: told.append(capsys.readouterr().err))
    compiled()
    assert "test_compiling.increase" in told[0] and "test_compiling.decrease" in told[1]


def test_complex_numbers(compiled):
    assert "test_compiling.increase for complex numbers" in compiled(theta=[1j])[1][0]


def test_kernels_that_cannot_be_kept(compiled, full_disk):
    with full_disk(1000):
        _, told = compiled()
    assert told[-1].startswith("compiled kernels cannot be kept for later runs: ") and "too large" in told[-1]


def test_waiting_for_another_run(compiled, monkeypatch):
    monkeypatch.setattr(watch.STORE, "_wait", lambda lock, waiting, patience: not waiting())
    assert "another run compiles test_compiling.increase; waiting for it" in compiled()[1]


def test_kernels_that_are_ready_are_counted(compiled):
    """From the first that is compiled, to whoever follows: a person at a terminal sees it."""
    counts = []

    class Counting(Listener):
        @contextmanager
        def count(self, title):
            yield counts.append

    def below(problem, theta, tape):
        watch.ready()
        first = entry(increase)
        watch.ready()
        yield first(1), watch.ready()

    compiling.blocks_of = below  # the fixture puts it back
    assert compiling.compile_kernels(Problem(Options(0.1, 5.0)), Counting()).names == ["test_compiling.increase"]
    assert counts[0] == 3 and counts == sorted(set(counts))
