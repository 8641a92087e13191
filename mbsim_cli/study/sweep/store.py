"""Cases of a study: rows and further data, the contract of those who compute them, and the ledger of a folder."""

import hashlib
import json
import struct
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from mbsim_cli.study.listener import Listener
from mbsim_cli.study.sweep.frames import read_frames
from mbsim_cli.study.sweep.study_folder import DATA, ROWS, StudyFolder, StudyPlan, is_of

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
OF_THE_MACHINE = (UNREADABLE, TIMEOUT, LOST)  # failures not caused by the case: the next run computes it again
RETRIED = (UNREADABLE, LOST)  # failures that are also retried at once
_ROW_HEAD = struct.Struct("<qid16sI")  # case, status, seconds, identity, count of the numbers
_REMARKS = {"failure": str, "warnings": Sequence[str], "undefined": Mapping[str, str]}


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
    head = _ROW_HEAD.pack(row.case, row.status, row.seconds, row.identity, len(row.numbers))
    remarks = json.dumps(dict(row.remarks), ensure_ascii=False).encode() if row.remarks else b""
    return head + np.ascontiguousarray(row.numbers, "<f8").tobytes() + remarks


def decoded(content: bytes, numbers: int) -> Row | None:
    """The row that a frame holds, of ``numbers`` numbers where done; None for what mbsim has not written."""
    if len(content) < _ROW_HEAD.size:
        return None
    case, status, seconds, identity, count = _ROW_HEAD.unpack_from(content)
    end = _ROW_HEAD.size + 8 * count
    fits = end <= len(content) and (status != DONE or count == numbers)
    if not (fits and status in WORDS and 0.0 <= seconds < inf):
        return None
    try:
        remarks = json.loads(content[end:]) if len(content) > end else {}
    except (ValueError, RecursionError):
        return None
    if isinstance(remarks, dict) and all(is_of(remarks[n], kind) for n, kind in _REMARKS.items() if n in remarks):
        return Row(case, identity, status, seconds, np.frombuffer(content, "<f8", count, _ROW_HEAD.size), remarks)
    return None


class Case(NamedTuple):
    """One case: its number, its identity and the values (v,) of the varied parameters."""

    number: int
    identity: bytes
    values: np.ndarray


class Computed(NamedTuple):
    """A row, and the further data of the case as content of a frame, empty if none are stored."""

    row: Row
    data: bytes = b""


def lost(case: Case, status: int, sentence: str) -> Computed:
    """A case that ended for reasons of the machine."""
    return Computed(Row(case.number, case.identity, status, 0.0, np.zeros(0), {"failure": sentence}))


class Workers(Protocol):
    """A way to compute cases."""

    batch_size: int  # cases that are computed together, as far as is known

    def compute(self, waiting: deque[Case]) -> Generator[Computed, None, None]:
        """Yield the cases as they are computed; the caller may append to ``waiting`` meanwhile."""


class Evaluator:
    """Computes cases in this process; a failure of a case is its row."""

    batch_size = 1  # cases that are faster together than one by one

    def __call__(self, case: Case) -> Computed:
        """Compute one case."""
        raise NotImplementedError

    def compute_batch(self, cases: Sequence[Case]) -> Iterator[Computed]:
        """Compute cases together."""
        return map(self, cases)

    def compute(self, waiting: deque[Case]) -> Generator[Computed, None, None]:
        """Yield the cases in their order."""
        while waiting:
            yield from self.compute_batch([waiting.popleft() for _ in range(min(self.batch_size, len(waiting)))])


Start = Callable[[Listener], Evaluator]  # of a worker, once


# Further data of a case: histories of sensors, or its whole result file.

_DATA_HEAD = struct.Struct("<q16sQQ")  # case, identity, time points, width; a result file follows the record


class CaseData(NamedTuple):
    """Data of one case beyond its row: its sensors along time, and its result file."""

    case: int
    identity: bytes
    time: np.ndarray  # (T,) s
    record: np.ndarray  # (T, w), the kept sensors side by side
    result: bytes = b""  # the result file, where all is kept


def packed(data: CaseData) -> bytes:
    """Content of the frame that holds it."""
    head = _DATA_HEAD.pack(data.case, data.identity, *data.record.shape)
    table = np.column_stack([data.time, data.record]).astype("<f8", order="C")
    return head + table.tobytes() + data.result


def unpacked(content: bytes, width: int) -> CaseData | None:
    """The data that a frame holds, with ``width`` numbers at each time point; None for anything else."""
    if len(content) < _DATA_HEAD.size:
        return None
    case, identity, times, stated = _DATA_HEAD.unpack_from(content)
    count = times * (1 + width)
    if stated != width or _DATA_HEAD.size + 8 * count > len(content):
        return None
    table = np.frombuffer(content, "<f8", count, _DATA_HEAD.size).reshape(times, 1 + width)
    return CaseData(case, identity, table[:, 0], table[:, 1:], content[_DATA_HEAD.size + 8 * count :])


def cases_with_data(folder: StudyFolder, *, thorough: bool) -> Iterator[tuple[int, bytes]]:
    """Case and identity of all further data; ``thorough`` reads it whole, and leaves out what is damaged."""
    for path in folder.files(DATA):
        for _, content in read_frames(path, None if thorough else _DATA_HEAD.size):
            if len(content) >= _DATA_HEAD.size:
                yield _DATA_HEAD.unpack_from(content)[:2]


def data_of_cases(folder: StudyFolder, ledger: "Ledger", only: int | None = None) -> Iterator[CaseData]:
    """The data of the cases that are done, of each once; of one case ``only``, or of all."""
    found, width = set[int](), sum(len(column.components) for column in ledger.plan.sensors)
    for path in folder.files(DATA):
        for _, content in read_frames(path):
            if len(content) < _DATA_HEAD.size:
                continue
            case, identity = _DATA_HEAD.unpack_from(content)[:2]  # the result behind it is copied only if it is used
            if case in found or only not in (None, case):
                continue
            if ledger.has(case, identity) and ledger.status[case] == DONE and (data := unpacked(content, width)):
                found.add(case)
                yield data


MISSING = -1


def case_identities(study: str, values: np.ndarray) -> Iterable[bytes]:
    """Identity (16 bytes) of each case: of what the study computes, by its hash, and of the row (v,) of values."""
    begun = hashlib.blake2b(study.encode(), digest_size=16)
    for row in np.ascontiguousarray(values, "<f8"):
        case = begun.copy()
        case.update(row.tobytes())
        yield case.digest()


class Ledger:
    """Status (N,) of all cases, and their rows in all shards; of several of a case a done one counts, else the last."""

    def __init__(self, plan: StudyPlan, values: np.ndarray):
        self.plan, self.values = plan, values
        self.identities: Sequence[bytes] = list(case_identities(plan.content, values))
        self.status = np.full(plan.cases, MISSING, dtype=np.int32)
        self.seconds = np.full(plan.cases, np.nan)
        self.rows: list[Row | None] = [None] * plan.cases
        self.foreign_rows = 0  # rows of another plan
        self.lost_data = 0  # cases that were done, but whose further data are lost

    def has(self, case: int, identity: bytes) -> bool:
        """Whether a case of this number and identity is one of the study."""
        return 0 <= case < self.plan.cases and identity == self.identities[case]

    def read(self, path: Path) -> None:
        """Take the rows of a file in."""
        for _, content in read_frames(path):
            row = decoded(content, self.plan.numbers)
            if row is None or not self.has(row.case, row.identity):
                self.foreign_rows += 1
            elif self.status[row.case] != DONE:
                self.status[row.case], self.seconds[row.case], self.rows[row.case] = row.status, row.seconds, row

    def require_data(self, cases: Iterable[tuple[int, bytes]]) -> None:
        """Count as missing what is done and not among the ``cases`` (by number and identity) with further data."""
        there = np.zeros(self.plan.cases, dtype=bool)
        for case, identity in cases:
            if self.has(case, identity):
                there[case] = True
        lost = np.flatnonzero((self.status == DONE) & ~there)
        self.status[lost], self.seconds[lost] = MISSING, np.nan
        for case in lost.tolist():
            self.rows[case] = None
        self.lost_data += len(lost)

    def numbers(self) -> np.ndarray:
        """Objectives of all cases with their derivatives (N, k, 1 + p), NaN where there are none."""
        found = np.full((self.plan.cases, self.plan.numbers), np.nan)
        for case, row in enumerate(self.rows):
            if row is not None and row.status == DONE:
                found[case] = row.numbers
        return found.reshape(self.plan.cases, len(self.plan.objectives), 1 + len(self.plan.parameters))

    def missing(self, *, failed: bool = False) -> np.ndarray:
        """Cases that are to be computed; those that failed by themselves too if ``failed``."""
        return np.flatnonzero(self.status != DONE if failed else np.isin(self.status, [MISSING, *OF_THE_MACHINE]))

    @property
    def counts(self) -> dict[int, int]:
        """Number of cases by status."""
        return dict(Counter(self.status.tolist()))


def ledger_of(folder: StudyFolder, *, thorough: bool = False) -> Ledger:
    """All that a folder holds; where it is to be ``thorough``, further data of cases are read too."""
    plan = folder.plan()
    ledger = Ledger(plan, folder.values(plan))
    for path in folder.files(ROWS):
        ledger.read(path)
    if plan.keeps:
        ledger.require_data(cases_with_data(folder, thorough=thorough))
    return ledger
