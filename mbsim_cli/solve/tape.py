"""The tape of a run for its adjoint: all time points, or checkpoints from which the run is repeated piece by piece.

The remaining memory keeps the last time points, which need not be repeated then. A run repeated from a
checkpoint is bit-equal: checkpoints include the memory of Newton's iteration.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.errors import UsageError
from mbsim_cli.kernels.drivers.record import Record, Stretch

if TYPE_CHECKING:
    from mbsim_cli.solve.initial import Initial

MEMORY = 256e6  # default limit of a tape, bytes
UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9}


class Checkpoint(NamedTuple):
    """The position of a run in time, and copies of all arrays that the next step depends on."""

    step: int
    progress: Any  # of ``kernels.drivers.simulate``, or of ``integrate``
    arrays: list[np.ndarray]

    @property
    def bytes(self) -> int:
        """Size of the copies."""
        return sum(array.nbytes for array in self.arrays)


class Part(NamedTuple):
    """Consecutive time points: their record, the checkpoint before them, or both."""

    rows: int
    record: Record | Stretch | None
    before: Checkpoint | None


class Tape:
    """The time points of a run, one row a step, within ``memory`` bytes."""

    def __init__(self, memory: float | None = None):
        self._memory = MEMORY if memory is None else memory
        self.initial: Initial | None = None
        self.holds_all = True
        self.spacing = 0  # steps between checkpoints
        self._stored_from = 0  # step behind which time points are kept beside checkpoints
        self._parts: list[Part] = []
        self._times: list[np.ndarray] = []
        self._without_record = 0  # parts without their time points yet
        self._run: Any = None
        self.pieces: dict[int, list[Any]] = {}  # ``CompletedPiece`` of steps that were made in pieces, by their number
        self.fixed_steps = True  # that each time point takes one step
        self._used = 0  # bytes, where steps are not fixed

    def plan(self, run: Any, steps: int, at_once: int) -> None:
        """Choose records or checkpoints for ``steps``, made ``at_once``; raises UsageError where neither has room."""
        self._run = run
        of_row = sum(array[:1].nbytes for array in arrays_of(self._parts[0].record))
        of_checkpoint = run.checkpoint().bytes
        self.spacing = _spacing(steps, at_once, of_row, of_checkpoint, self._memory)
        if not self.fixed_steps:  # as many steps as time points are a guess
            return
        self.holds_all = steps * of_row <= self._memory
        of_all = _checkpoints(steps, at_once, self.spacing) * of_checkpoint
        needed = of_all + self.spacing * of_row
        if not self.holds_all and needed > self._memory:
            raise UsageError(
                f"{in_words(self._memory)} of memory are too few for the adjoint: {steps} steps take "
                f"{in_words(min(needed, steps * of_row))} at least"
            )
        self._stored_from = steps - int((self._memory - of_all) / of_row)

    def add_checkpoint(self, before: Checkpoint, rows: int) -> None:
        """Store a checkpoint before the next rows."""
        self._parts.append(Part(rows, None, before))
        self._without_record += 1

    def add(self, record: Record | Stretch) -> None:
        """Append time points; with checkpoints, most records are dropped and only their times kept."""
        self._times.append(record.time)
        if self.holds_all:
            self._parts.append(Part(record.time.size, record, None))
        row = 0
        for place in range(len(self._parts) - self._without_record, len(self._parts)):
            part = self._parts[place]
            assert part.before is not None
            if part.before.step >= self._stored_from and row + part.rows <= record.time.size:
                rows = slice(row, row + part.rows)
                whole = isinstance(record, Stretch)  # which is a part of its own
                rows_of_part = record if whole else Record(*(array[rows].copy() for array in record))
                self._parts[place] = part._replace(record=rows_of_part)
            row += part.rows
        self._without_record = 0

    def add_with_checkpoint(self, before: Checkpoint, record: Stretch) -> None:
        """Append time points and the checkpoint before them, for adaptive steps; drop records if memory is short."""
        self._times.append(record.time)
        self._parts.append(Part(record.time.size, record if self.holds_all else None, before))
        self._used += before.bytes + (size_of(record) if self.holds_all else 0)
        if self.holds_all and self._used > self._memory:
            self.holds_all, self._parts = False, [part._replace(record=None) for part in self._parts]
            self._used = sum(part.before.bytes for part in self._parts if part.before)
        needed = self._used + size_of(record)
        if not self.holds_all and needed > self._memory:
            raise UsageError(
                f"{in_words(self._memory)} of memory are too few for the adjoint: until t = {record.time[-1]:g} s it "
                f"takes {in_words(needed)}"
            )

    @property
    def time(self) -> np.ndarray:
        """All time points (N,)."""
        return np.concatenate(self._times)

    def backwards(self) -> Iterator[tuple[int, Record | Stretch]]:
        """Yield the number of the first time point and the record of each part, the last part first."""
        first = sum(part.rows for part in self._parts)
        for place in range(len(self._parts) - 1, -1, -1):
            rows, record, before = self._parts[place]
            first -= rows
            if rows:
                if before is not None:  # frees memory for repeated parts
                    self._parts[place] = Part(rows, None, before)
                yield first, self._run.replay(before, rows) if record is None else record


def _spacing(steps: int, at_once: int, of_row: int, of_checkpoint: int, memory: float) -> int:
    """Steps between checkpoints, with one record at a time: the most that fit into memory, or those that need least."""
    at_once, all_checkpoints = min(steps, at_once), of_row * steps * of_checkpoint
    least = max(1, int(np.sqrt(steps * of_checkpoint / of_row)))
    longest = max(least, int((memory + np.sqrt(max(0.0, memory**2 - 4.0 * all_checkpoints))) / (2 * of_row)))
    for parts in range(-(-at_once // longest), at_once + 1):  # of a block, equal ones
        spacing = -(-at_once // parts)
        if spacing <= least or _checkpoints(steps, at_once, spacing) * of_checkpoint + spacing * of_row <= memory:
            break
    return spacing


def _checkpoints(steps: int, at_once: int, spacing: int) -> int:
    """Number of checkpoints in blocks of steps that are made together."""
    blocks, rest = divmod(steps, at_once)
    return blocks * -(-at_once // spacing) + -(-rest // spacing)


def size_of(record: Any) -> int:
    """Size of a whole record."""
    return sum(array.nbytes for array in arrays_of(record))


def arrays_of(group: Any) -> list[np.ndarray]:
    """All arrays in groups of groups."""
    if isinstance(group, np.ndarray):
        return [group]
    return [array for part in group for array in arrays_of(part)] if isinstance(group, tuple) else []


def joined(parts: Sequence[Any]) -> Any:
    """Concatenate arrays, or nested groups of them, along their first axis; take others from the first part."""
    if isinstance(parts[0], np.ndarray) and len(parts) > 1:
        return np.concatenate(parts)
    if len(parts) == 1 or not isinstance(parts[0], tuple):
        return parts[0]
    found = [joined(each) for each in zip(*parts, strict=True)]
    return type(parts[0])(*found) if hasattr(parts[0], "_fields") else tuple(found)


def in_words(size: float) -> str:
    """A size for people."""
    unit = next((name for name, scale in reversed(UNITS.items()) if size >= scale), "kB")
    return f"{size / UNITS[unit]:.3g} {unit}"
