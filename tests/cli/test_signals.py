"""Interruption: at once while nothing is half-written, wherever it strikes; else where a command can be left."""

import os
import signal
import subprocess
import sys

import pytest

from mbsim_cli.cli import signals
from mbsim_cli.cli.outcome import failure
from mbsim_cli.cli.output import to_json
from mbsim_cli.io import writer
from mbsim_cli.study import verification

from .conftest import environment

NUMBERS = pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])


@pytest.fixture
def handlers():
    before = {number: signal.getsignal(number) for number in signals.WORDS}
    signals.install()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def script(body, number):
    """Run a piece of Python that interrupts itself by ``strike()``; the process and what it printed."""
    head = "import ctypes, os, signal, sys\nfrom mbsim_cli.cli import signals\n"
    head += f"def strike(*arguments): os.kill(os.getpid(), {int(number)})\n"
    return subprocess.run([sys.executable, "-c", head + body], env=environment(), capture_output=True, text=True)


@NUMBERS
@pytest.mark.parametrize(
    "body",
    [
        "signals.install(); strike()",
        "class A:\n  def __del__(self): strike(); [0 for _ in range(9)]\nsignals.install(); a = A(); del a",
        "signals.install(); ctypes.CFUNCTYPE(None)(lambda: strike() or [0 for _ in range(9)])()",
        "signals.install()\ntry: strike()\nexcept BaseException: pass",
    ],
    ids=["plain", "destructor", "callback", "caught"],
)
def test_unshielded_it_ends_the_process_wherever_it_strikes(body, number, code):
    done = script(body + "\nprint('went on')", number)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr == f"mbsim: {signals.WORDS[number]}\n"


@NUMBERS
def test_it_answers_in_json_unless_the_answer_has_begun(number, code):
    done = script("signals.install(as_json=True); strike()", number)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout == to_json(failure(signals.WORDS[number], code))
    begun = "from mbsim_cli.cli import output\nsignals.install(as_json=True); output.flush(); strike()"
    assert script(begun, number).stdout == ""


def test_the_terminal_gets_its_last_words():
    done = script("signals.install()\nwith signals.terminal('<show cursor>'): strike()", signal.SIGTERM)
    assert done.stderr == "<show cursor>mbsim: terminated\n"


@NUMBERS
def test_a_shield_puts_it_off(handlers, number, code):
    done = []
    with pytest.raises(signals.Stopped) as stop, signals.shield():
        with signals.shield():
            os.kill(os.getpid(), number)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"] and stop.value.exit_code == code


def test_a_poll_lets_it_through_once(handlers):
    with signals.shield():
        signals.poll()
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(signals.Stopped):
            signals.poll()
        signals.poll()


@pytest.mark.parametrize("strikes_in", ["write_origin", "write_axes", "create_history"])
@pytest.mark.parametrize(("most", "left"), [(writer.MOST, "pendulum.h5"), (0, "pendulum.h5.partial")])
def test_a_file_that_is_being_made_is_kept(handlers, mbsim, pendulum, tmp_path, monkeypatch, strikes_in, most, left):
    """A short run has ended by then, of a long one the first block."""
    from mbsim_cli.io import layout

    honest = getattr(layout, strikes_in)

    def struck(*arguments, **named):
        os.kill(os.getpid(), signal.SIGTERM)
        return honest(*arguments, **named)

    monkeypatch.setattr(writer, "MOST", most)
    monkeypatch.setattr(layout, strikes_in, struck)
    done = mbsim("run", pendulum)
    assert done.code == 143 and done.err.splitlines()[-1] == "mbsim: terminated"
    assert sorted(path.name for path in tmp_path.iterdir()) == [left, "pendulum.yaml"]


def test_it_strikes_in_differences_and_what_was_computed_is_kept(handlers, mbsim, pendulum, tmp_path, monkeypatch):
    honest = verification.derivative

    def struck(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        return honest(*arguments)

    monkeypatch.setattr(verification, "derivative", struck)
    done = mbsim("run", pendulum, "--sensitivity", "fd")
    assert done.code == 130 and (tmp_path / "pendulum.h5.partial").exists()
    assert not list(tmp_path.glob(".*"))


def test_an_ignored_signal_stays_ignored(handlers):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signals.install()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
