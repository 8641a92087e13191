"""Outcomes of cases, and who computes them: the contract, and one process alone."""

import json
import struct
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple, Protocol

import numpy as np

# The outcome of a case: a row of fixed numbers, and warnings in sentences.

DONE, INVALID, FAILED, UNREADABLE, DEFECT, TIMEOUT, LOST = 0, 3, 4, 5, 70, 124, 137
WORDS = {
    DONE: "done",
    INVALID: "model invalid",
    FAILED: "analysis failed",
    UNREADABLE: "input or output failed",
    DEFECT: "defect of mbsim",
    TIMEOUT: "took too long",
    LOST: "worker died",
}
OF_THE_MACHINE = (UNREADABLE, TIMEOUT, LOST)  # says nothing of the case: the same command tries it again
RETRIED = (UNREADABLE, LOST)  # at once, too
_HEAD = struct.Struct("<qid16sI")  # case, status, seconds, identity, count of the numbers


@dataclass(frozen=True)
class Row:
    """A case that was computed. ``numbers`` are those that the plan lists, NaN where there are none.

    ``status`` is the exit code that ``mbsim run`` would have, 124 of a case that took too long and 137 of one whose
    worker died.
    """

    case: int
    identity: bytes
    status: int
    seconds: float
    numbers: np.ndarray
    remarks: Mapping[str, Any] = field(default_factory=dict)  # failure, warnings, undefined: sentences


def encoded(row: Row) -> bytes:
    """Content of the frame that holds a row."""
    head = _HEAD.pack(row.case, row.status, row.seconds, row.identity, len(row.numbers))
    remarks = json.dumps(dict(row.remarks), ensure_ascii=False).encode() if row.remarks else b""
    return head + np.ascontiguousarray(row.numbers, "<f8").tobytes() + remarks


def decoded(content: bytes) -> Row:
    """The row that a frame holds."""
    case, status, seconds, identity = heading(content)
    numbers = numbers_in(content)
    end = _HEAD.size + numbers.nbytes
    remarks = json.loads(content[end:]) if len(content) > end else {}
    return Row(case, identity, status, seconds, numbers, remarks)


def is_row(content: bytes, numbers: int) -> bool:
    """Whether a frame holds what can be a row of so many numbers: its checksum does not tell who wrote it."""
    if len(content) < _HEAD.size:
        return False
    _, status, seconds, _, count = _HEAD.unpack_from(content)
    end = _HEAD.size + 8 * count
    if status not in WORDS or not 0.0 <= seconds < inf or end > len(content):
        return False
    if status == DONE and count != numbers:
        return False
    try:
        remarks = json.loads(content[end:]) if len(content) > end else {}
    except (ValueError, RecursionError):
        return False
    if not isinstance(remarks, dict) or not isinstance(remarks.get("failure", ""), str):
        return False
    warnings, undefined = remarks.get("warnings", []), remarks.get("undefined", {})
    if not isinstance(warnings, list) or not isinstance(undefined, dict):
        return False
    return all(isinstance(sentence, str) for sentence in (*warnings, *undefined.values()))


def numbers_in(content: bytes) -> np.ndarray:
    """The numbers of a row; those of a failed case are none."""
    return np.frombuffer(content, "<f8", _HEAD.unpack_from(content)[-1], _HEAD.size)


def heading(content: bytes) -> tuple[int, int, float, bytes]:
    """Case, status, seconds and identity alone."""
    return _HEAD.unpack_from(content)[:4]


# Computing cases: what every way to do so is given, and gives back.


class Case(NamedTuple):
    """One case: its number, its identity and the values (v,) of the varied parameters."""

    number: int
    identity: bytes
    values: np.ndarray


class Computed(NamedTuple):
    """A row, and what else is kept of the case: the content of a frame, empty where there is none."""

    row: Row
    kept: bytes = b""


Evaluator = Callable[[Case], Computed]  # it may have ``together`` and ``several``, as ``CaseEvaluator`` does


def together_of(evaluator: Evaluator) -> int:
    """How many cases an evaluator computes in less time together than one by one."""
    return getattr(evaluator, "together", 1)


def several(evaluator: Evaluator, cases: Sequence[Case]) -> Iterator[Computed]:
    """Compute cases together, where there are some."""
    return evaluator.several(cases) if len(cases) > 1 else map(evaluator, cases)  # type: ignore[attr-defined]


class Workers(Protocol):
    """A way to compute cases."""

    @property
    def together(self) -> int:
        """How many cases were computed together."""

    def compute(self, waiting: deque[Case]) -> Generator[Computed, None, None]:
        """Yield the cases as they are computed; the caller may append to ``waiting`` meanwhile."""


# Cases one after another, in this process.


class InProcess:
    """The one worker is the program itself."""

    def __init__(self, evaluator: Evaluator):
        self._evaluator = evaluator

    @property
    def together(self) -> int:
        """How many cases are computed together."""
        return together_of(self._evaluator)

    def compute(self, waiting: deque[Case]) -> Generator[Computed, None, None]:
        """Yield the cases in their order."""
        while waiting:
            group = [waiting.popleft() for _ in range(min(self.together, len(waiting)))]
            yield from several(self._evaluator, group)
