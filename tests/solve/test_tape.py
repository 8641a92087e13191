"""What a tape keeps of a run that is longer than its memory, and in which order it gives it back."""

import numpy as np
import pytest

from mbsim_cli.errors import UsageError
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.solve.tape import Checkpoint, Tape

ROW, CHECKPOINT = 14 * 8, 10 * 8  # bytes


def record(first, rows):
    return Record(*(first + np.arange(rows, dtype=float) for _ in Record._fields))


class Counting:
    """A run whose instants are their numbers; ``made`` are the steps made, in order."""

    def __init__(self, tape, steps, at_once):
        self.tape, self.step, self.made, self.checkpoints = tape, 0, [], 0
        tape.add(record(0, 1))
        tape.plan(self, steps, at_once)
        while self.step < steps:
            size = min(at_once, steps - self.step)
            end, block = self.step + size, record(self.step + 1, size)
            while self.step < end:
                rows = end - self.step if tape.holds_all else min(tape.spacing, end - self.step)
                if not tape.holds_all:
                    tape.add_checkpoint(self.checkpoint(), rows)
                    self.checkpoints += 1
                self.step += rows
            tape.add(block)

    def checkpoint(self):
        return Checkpoint(self.step, (), [np.zeros(10)])

    def replay(self, at, steps):
        self.made += range(at.step + 1, at.step + steps + 1)
        return record(at.step + 1, steps)


@pytest.mark.parametrize("memory", [10 * ROW + 20 * CHECKPOINT, 40 * ROW, 99 * ROW, 1000 * ROW])
@pytest.mark.parametrize("at_once", [7, 30, 64, 500])
def test_all_instants_come_back_once_and_the_last_are_not_made_again(memory, at_once):
    tape, steps = Tape(memory), 100
    run = Counting(tape, steps, at_once)
    assert tape.holds_all == (memory >= steps * ROW)
    for again in range(2):  # as where each number is pulled back for itself
        run.made.clear()
        times = [found.time for _, found in tape.backwards()]
        assert np.array_equal(np.concatenate(times[::-1]), np.arange(steps + 1.0))
        assert len(set(run.made)) == len(run.made) <= steps
        kept = steps - len(run.made)
        if not tape.holds_all:
            assert run.checkpoints * CHECKPOINT + max(kept, tape.spacing) * ROW <= memory
            if not again:
                assert kept * ROW > memory - run.checkpoints * CHECKPOINT - 2 * tape.spacing * ROW
                assert set(run.made) == set(range(1, steps - kept + 1))


def test_more_memory_means_fewer_checkpoints():
    counts = [Counting(Tape(size * ROW), 1000, 500).checkpoints for size in (80, 120, 200, 400)]
    assert counts == sorted(counts, reverse=True) and counts[-1] <= 4
    with pytest.raises(UsageError, match="are too few for the adjoint: 1000 steps take"):
        Counting(Tape(40 * ROW), 1000, 500)
