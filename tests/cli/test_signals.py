"""Interruption waits for a shielded block, and says itself once."""

import os
import signal

import pytest

from mbsim_cli.cli import signals


@pytest.fixture(autouse=True)
def handlers():
    before = {number: signal.getsignal(number) for number in signals.WORDS}
    signals.install()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_with_the_shells_exit_code(number, code):
    with pytest.raises(signals.Stopped) as stop:
        os.kill(os.getpid(), number)
    assert stop.value.exit_code == code


def test_a_shield_puts_it_off():
    done = []
    with pytest.raises(signals.Stopped), signals.shield():
        with signals.shield():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]


def test_an_ignored_signal_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signals.install()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
