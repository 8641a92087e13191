"""What is kept of a run for its adjoint: all its instants, or where it stood now and then, to be made once more.

A run made once more from a checkpoint is equal to the last bit: what Newton remembers is part of it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.solve.initial import Initial

MEMORY = 256e6  # bytes that a tape takes at most where nothing else is said
UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9}


class Checkpoint(NamedTuple):
    """Where a run stood, and copies of all that it goes on from."""

    step: int
    progress: tuple
    arrays: list[np.ndarray]

    @property
    def bytes(self) -> int:
        """Size of the copies."""
        return sum(array.nbytes for array in self.arrays)


class Replayed(Protocol):
    """A run that can be made once more, in parts."""

    def checkpoint(self) -> Checkpoint:
        """Where it stands."""

    def replay(self, at: Checkpoint, steps: int) -> Record:
        """The record of the steps behind a checkpoint."""


class Part(NamedTuple):
    """Consecutive instants: their record, or the checkpoint before them."""

    rows: int
    record: Record | None
    before: Checkpoint | None


class Tape:
    """The instants of a run, one row a step, within ``memory`` bytes."""

    def __init__(self, memory: float | None = None):
        self._memory = MEMORY if memory is None else memory
        self.initial: Initial | None = None
        self.whole = True
        self.between = 0  # steps between checkpoints
        self._parts: list[Part] = []
        self._times: list[np.ndarray] = []
        self._run: Any = None

    def plan(self, run: Replayed, steps: int, at_once: int) -> None:
        """Choose between records and checkpoints, for ``steps`` steps of which ``at_once`` are made together.

        Raises UsageError where there is memory for neither.
        """
        self._run = run
        of_row, of_checkpoint = bytes_of(self._parts[0].record), run.checkpoint().bytes
        self.whole = steps * of_row <= self._memory
        self.between = min(at_once, max(1, int(np.sqrt(steps * of_checkpoint / of_row))))  # which takes least
        needed = -(-steps // self.between) * of_checkpoint + self.between * of_row
        if not self.whole and needed > self._memory:
            raise UsageError(
                f"{in_words(self._memory)} of memory are too few for the adjoint: {steps} steps take "
                f"{in_words(min(needed, steps * of_row))} at least"
            )

    def mark(self, before: Checkpoint, rows: int) -> None:
        """Keep where the next rows begin."""
        self._parts.append(Part(rows, None, before))

    def take(self, record: Record) -> None:
        """Take the next instants in; no more than their times where there are checkpoints."""
        self._times.append(record.time)
        if self.whole:
            self._parts.append(Part(record.time.size, record, None))

    @property
    def time(self) -> np.ndarray:
        """All instants (N,)."""
        return np.concatenate(self._times)

    def backwards(self) -> Iterator[tuple[int, Record]]:
        """Numbers of first instants, and records from them on; the last ones first."""
        first = sum(part.rows for part in self._parts)
        for rows, record, before in reversed(self._parts):
            first -= rows
            if rows:
                yield first, record if before is None else self._run.replay(before, rows)


def bytes_of(record: Any) -> int:
    """Size of one row of a record."""
    return sum(array[:1].nbytes for array in record)


def in_words(size: float) -> str:
    """A size for people."""
    unit = next((name for name, scale in reversed(UNITS.items()) if size >= scale), "kB")
    return f"{size / UNITS[unit]:.3g} {unit}"
