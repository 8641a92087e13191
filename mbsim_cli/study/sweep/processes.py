"""Cases by processes of this machine, each of which assembles the model once.

They are started as programs of their own, not by ``multiprocessing``, which would run the main script of whoever calls
once more in each: scripts need no guard, and notebooks and threads may call.
"""

import os
import signal
import subprocess
from collections import deque
from collections.abc import Generator, Iterator
from math import inf
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any

from mbsim_cli.errors import InputOutputError, MbsimError
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.sweep.store import LOST, TIMEOUT, Case, Computed, Start, lost
from mbsim_cli.system import ENDING, VARIABLES, isolated

TICK = 0.1  # s between two looks at signals and clocks
AHEAD = 2  # groups of cases that a worker has: one to compute, and one to go on with
STARTS = 3  # failed starts of workers in a row that end a study
_READY, _MESSAGE, _REFUSED, _COMPUTED, _BATCH_SIZE = "ready", "message", "refused", "computed", "batch size"


class Processes:
    """A number of worker processes; ``start`` runs in each of them and returns its evaluator of cases.

    A worker that dies, or takes more than ``timeout`` seconds for a case, is replaced. With a timeout cases are
    computed one by one, as are those of a group during which a worker died. Workers measure the time themselves, as
    this process may be busy while answers wait for it.
    """

    def __init__(self, start: Start, count: int, listener: Listener, timeout: float | None = None):
        self._start, self._count, self._listener, self._timeout = start, count, listener, timeout
        self._team: list[_Worker] = []
        self._failed_starts = 0
        self.batch_size = 1  # cases of a group
        self._one_by_one: set[int] = set()

    def compute(self, waiting: deque[Case]) -> Generator[Computed, None, None]:
        """Yield the cases as they are computed."""
        try:
            while waiting or any(worker.cases for worker in self._team):
                self._give(waiting)
                patience = min((TICK, *(worker.time_left(self._timeout) for worker in self._team)))
                ready = wait([worker.connection for worker in self._team], patience)
                for worker in [worker for worker in self._team if worker.connection in ready]:
                    yield from self._receive(worker, waiting)
                for worker in list(self._team):
                    # an answer that waits to be heard is not late
                    if worker.time_left(self._timeout) <= 0.0 and not worker.connection.poll():
                        yield self._late(worker)
                        self._dismiss(worker, waiting)
                self._listener.poll()
        finally:
            for worker in self._team:
                worker.end()
            self._team.clear()

    def _give(self, waiting: deque[Case]) -> None:
        """Start missing workers, and assign groups of cases to idle ones."""
        busy = sum(bool(worker.cases) for worker in self._team)
        while len(self._team) < min(self._count, busy + len(waiting)):
            self._team.append(_Worker(self._start))
        for depth in range(1, AHEAD + 1):  # all get a first group before any gets a second
            for worker in self._team:
                if not waiting or len(worker.groups) >= depth:
                    continue
                # towards the end groups get smaller, so that all have work
                most = min(self.batch_size, -(-len(waiting) // self._count))
                group = [waiting.popleft()]
                while len(group) < most and not {group[-1].number, waiting[0].number} & self._one_by_one:
                    group.append(waiting.popleft())
                worker.give(group)

    def _receive(self, worker: "_Worker", waiting: deque[Case]) -> Iterator[Computed]:
        try:
            message, content = worker.connection.recv()
        except (EOFError, OSError):
            yield from self._died(worker, waiting)
            return
        if message == _REFUSED:
            sentence, exit_code = content  # errors with issues do not travel between processes
            error = MbsimError(sentence)
            error.exit_code = exit_code
            raise error
        if message == _MESSAGE:
            self._listener.say(content)
            return
        if message == _BATCH_SIZE:
            self.batch_size = content if self._timeout is None else 1
            return
        worker.begin()
        self._failed_starts = 0
        if message == _COMPUTED:
            computed, seconds = content
            if self._timeout is not None and seconds > self._timeout:
                yield self._late(worker)
                return
            worker.next_case()
            yield computed

    def _late(self, worker: "_Worker") -> Computed:
        return lost(worker.next_case(), TIMEOUT, f"took more than {self._timeout:g} s")

    def _died(self, worker: "_Worker", waiting: deque[Case]) -> Iterator[Computed]:
        """A case that was begun is lost with its worker; one that only waited is not."""
        worker.end()
        if worker.is_ready and worker.cases and worker.is_in_group:
            self._one_by_one.update(case.number for case in worker.groups[0])
        elif worker.is_ready and worker.cases:
            yield lost(worker.next_case(), LOST, f"its worker died ({worker.death})")
        elif not worker.is_ready:
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                raise InputOutputError(f"workers die at their start ({worker.death}); is there enough memory?")
        self._dismiss(worker, waiting)

    def _dismiss(self, worker: "_Worker", waiting: deque[Case]) -> None:
        """End a worker; others take over its cases."""
        worker.end()
        waiting.extendleft(reversed(worker.cases))
        self._team.remove(worker)


class _Worker:
    """A process and its cases."""

    def __init__(self, start: Start):
        self.connection, there = Pipe()
        environment = {**dict.fromkeys(VARIABLES, "1"), **os.environ}
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # until it ignores them, in a moment
        try:
            command, handles = isolated(__name__, "work", there.fileno()), [there.fileno()]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=handles, env=environment)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        there.close()
        _send(self.connection, start)
        self.groups: deque[deque[Case]] = deque()
        self.is_in_group = False  # none of a group of several is computed yet
        self.is_ready = False
        self._begun = monotonic()  # the case in hand, or later

    @property
    def cases(self) -> list[Case]:
        """The cases that it has to compute, in that order."""
        return [case for group in self.groups for case in group]

    def give(self, group: list[Case]) -> None:
        """Send cases; a dead process is noticed at the next look at its connection."""
        if not self.groups:
            self._begun = monotonic()
        self.groups.append(deque(group))
        self.is_in_group = self.is_in_group or (len(self.groups) == 1 and len(group) > 1)
        _send(self.connection, group)

    def next_case(self) -> Case:
        """Take the case in hand off its list."""
        case = self.groups[0].popleft()
        self.is_in_group = False
        if not self.groups[0]:
            self.groups.popleft()
            self.is_in_group = bool(self.groups) and len(self.groups[0]) > 1
        return case

    def begin(self) -> None:
        """Start the clock of the next case."""
        self.is_ready, self._begun = True, monotonic()

    def time_left(self, timeout: float | None) -> float:
        """Seconds that the case in hand may still take, none if it took too long."""
        if timeout is None or not (self.is_ready and self.cases):
            return inf
        return max(0.0, self._begun + timeout - monotonic())

    @property
    def death(self) -> str:
        """The cause of its end."""
        code = self._process.returncode or 0
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def end(self) -> None:
        """End it, whatever it does: nothing but its answer would be lost."""
        self.connection.close()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def work(handle: int) -> None:
    """The loop of a worker until its parent is gone; the connection (by its handle) first gives the way to start."""
    connection = Connection(handle)
    for number in ENDING:  # its parent ends it
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    try:
        start: Start = connection.recv()
        evaluator = start(_Forwarding(connection))
    except MbsimError as error:
        _send(connection, (_REFUSED, (str(error), error.exit_code)))
        return
    going_on, batch_size = _send(connection, (_READY, None)), 1
    while going_on:
        try:
            group = connection.recv()
        except (EOFError, OSError):
            return
        begun = monotonic()
        for found in evaluator.compute_batch(group):
            if not _send(connection, (_COMPUTED, (found, monotonic() - begun))):
                return
            begun = monotonic()
        if evaluator.batch_size != batch_size:
            batch_size = evaluator.batch_size
            going_on = _send(connection, (_BATCH_SIZE, batch_size))


def _send(connection: Connection, message: Any) -> bool:
    """Send a message; False where the other end is closed."""
    try:
        connection.send(message)
        return True
    except OSError:
        return False


class _Forwarding(Listener):
    """Passes sentences on to the parent."""

    def __init__(self, connection: Connection):
        self._connection = connection

    def say(self, sentence: str) -> None:
        """Send it."""
        _send(self._connection, (_MESSAGE, sentence))

    warn = say
