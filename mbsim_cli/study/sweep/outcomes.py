"""What becomes of a case: a row of fixed numbers, with sentences where there is something to say."""

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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


def numbers_in(content: bytes) -> np.ndarray:
    """The numbers of a row; those of a failed case are none."""
    return np.frombuffer(content, "<f8", _HEAD.unpack_from(content)[-1], _HEAD.size)


def heading(content: bytes) -> tuple[int, int, float, bytes]:
    """Case, status, seconds and identity alone."""
    return _HEAD.unpack_from(content)[:4]
