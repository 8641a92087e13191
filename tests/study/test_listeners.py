"""Listeners that wrap another one hand on all that a program may see."""

from contextlib import contextmanager

import mbsim_cli as mbsim
from mbsim_cli.study.listener import DeferredInterrupts


class Noting(mbsim.Listener):
    def __init__(self):
        self.seen = []

    def say(self, sentence):
        self.seen.append(sentence)

    def warn(self, sentence):
        self.seen.append(sentence)

    @contextmanager
    def progress(self, title, total):
        yield self.seen.append

    @contextmanager
    def count(self, title):
        yield self.seen.append

    def poll(self):
        self.seen.append("poll")


def test_a_listener_whose_interrupts_wait_sees_everything():
    listener = Noting()
    wrapping = DeferredInterrupts(listener)
    wrapping.say("said")
    wrapping.warn("warned")
    with wrapping.progress("computing", 2.0) as show:
        show("progress")
    with wrapping.count("compiling") as show:
        show("count")
    wrapping.poll()
    assert listener.seen == ["said", "warned", "progress", "count", "poll"]
