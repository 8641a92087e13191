"""Rows of a study in one file a shard, and what sensors showed: frames with a check sum, appended while it runs."""

import json
import os
import struct
import zlib
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError, either, option
from mbsim_cli.io.target import check_target, elsewhere, is_result, replaced
from mbsim_cli.study.sweep.study_folder import KEPT, ROWS, StudyFolder, StudyPlan, case_identities
from mbsim_cli.system import GUARDED, lock, open_regular, unlock, write_at

# Outcomes of cases, and who computes them: the contract, and one process alone.

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
OF_THE_MACHINE = (UNREADABLE, TIMEOUT, LOST)  # failures not caused by the case: the next run computes it again
RETRIED = (UNREADABLE, LOST)  # failures that are also retried at once
_ROW_HEAD = struct.Struct("<qid16sI")  # case, status, seconds, identity, count of the numbers


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


def decoded(content: bytes) -> Row:
    """The row that a frame holds."""
    case, status, seconds, identity = heading(content)
    numbers = numbers_in(content)
    end = _ROW_HEAD.size + numbers.nbytes
    remarks = json.loads(content[end:]) if len(content) > end else {}
    return Row(case, identity, status, seconds, numbers, remarks)


def is_row(content: bytes, numbers: int) -> bool:
    """Whether a frame has the form of a row of ``numbers`` numbers; its checksum does not prove that mbsim wrote it."""
    if len(content) < _ROW_HEAD.size:
        return False
    _, status, seconds, _, count = _ROW_HEAD.unpack_from(content)
    end = _ROW_HEAD.size + 8 * count
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
    return np.frombuffer(content, "<f8", _ROW_HEAD.unpack_from(content)[-1], _ROW_HEAD.size)


def heading(content: bytes) -> tuple[int, int, float, bytes]:
    """Case, status, seconds and identity alone."""
    return _ROW_HEAD.unpack_from(content)[:4]


# Computing cases: what every way to do so is given, and gives back.


class Case(NamedTuple):
    """One case: its number, its identity and the values (v,) of the varied parameters."""

    number: int
    identity: bytes
    values: np.ndarray


class Computed(NamedTuple):
    """A row, and the further data of the case as content of a frame, empty if none are stored."""

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


# The store of a study: rows in files that survive crashes, rows of cases, histories, and what is still to do.

# Append-only files of frames, each with its length and checksum.
#
# A killed writer, a full disk or a crash of the machine can leave an unfinished frame: readers skip it, and the next
# writer cuts it off before it goes on.

MARK = b"\x93mbs"
HEAD = struct.Struct("<4sIQ")  # mark, checksum of length and content, length
SYNC = 5.0  # s between two requests to have all on the disk
PIECE = 1 << 20  # bytes that a search takes at once


class Frame(NamedTuple):
    """A whole frame of a file: where it ends, and its content."""

    end: int
    content: bytes


class _Head(NamedTuple):
    """The numbers before the content of a frame."""

    checksum: int
    length: int


def framed(content: bytes) -> bytes:
    """The bytes that a frame takes in a file."""
    return HEAD.pack(MARK, _checksum(content), len(content)) + content


def _checksum(content: bytes) -> int:
    """Checksum of length and content."""
    return zlib.crc32(content, zlib.crc32(struct.pack("<Q", len(content))))


def read_frames(path: Path) -> Iterator[Frame]:
    """Yield the whole frames of a file, in their order; damaged parts are skipped. Raises InputOutputError.

    Nothing is mapped: another process may cut the file meanwhile, or its disk vanish.
    """
    with _opened(path) as (file, size):
        place: int | None = 0
        while place is not None:
            content = _content(file, place, size)
            if content is None:
                place = _next_mark(file, place + 1)
            else:
                place += HEAD.size + len(content)
                yield Frame(place, content)


def read_beginnings(path: Path, count: int) -> Iterator[bytes]:
    """Yield the first ``count`` bytes of each frame, which takes no longer where frames are large.

    One that others follow as it says counts as whole, and is not read beyond. Raises InputOutputError.
    """
    with _opened(path) as (file, size):
        place: int | None = 0
        while place is not None:
            head = _head(file, place, size)
            end = place if head is None else place + HEAD.size + head.length
            beginning = b"" if head is None else file.read(min(count, head.length))
            if head is not None and (_can_follow(file, end) or _content(file, place, size) is not None):
                yield beginning
                place = end
            else:
                place = _next_mark(file, place + 1)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A file to read, and its size."""
    try:
        with open_regular(path) as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise InputOutputError(f"cannot read {path}: {error.strerror or error}") from error


def _head(file: BinaryIO, place: int, size: int) -> _Head | None:
    """The head of the frame at a place of a file of some size, read up to its content; None where no frame is."""
    file.seek(place)
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    mark, checksum, length = HEAD.unpack(head)
    return _Head(checksum, length) if mark == MARK and place + HEAD.size + length <= size else None


def _content(file: BinaryIO, place: int, size: int) -> bytes | None:
    """Content of the frame at a place of a file of some size; None where none is, or a damaged one."""
    head = _head(file, place, size)
    content = b"" if head is None else file.read(head.length)
    return content if head is not None and _checksum(content) == head.checksum else None


def _can_follow(file: BinaryIO, place: int) -> bool:
    """Whether a frame begins at a place of a file, or the file ends there."""
    file.seek(place)
    return file.read(len(MARK)) in (b"", MARK)


def _next_mark(file: BinaryIO, place: int) -> int | None:
    """Where the next mark is, from a place on."""
    file.seek(place)
    known = b""
    while piece := file.read(PIECE):
        known += piece
        if (found := known.find(MARK)) >= 0:
            return place + found
        place += max(0, len(known) - len(MARK) + 1)
        known = known[1 - len(MARK) :]
    return None


class Appender:
    """Appends frames to a file that no other process may append to meanwhile; ``occupied`` says that one does."""

    def __init__(self, path: Path, occupied: str = ""):
        self._path, self._sentence = path, occupied
        self._handle = -1
        self._synced = monotonic()
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | GUARDED, 0o666)
            if lock(self._handle) is False:  # None: without locks the size of the file tells later
                raise self._occupied()
            self._end = max((frame.end for frame in read_frames(path)), default=0)
            os.ftruncate(self._handle, self._end)
        except OSError as error:
            self._give_up()
            raise self._failure(error) from error
        except BaseException:
            self._give_up()
            raise

    def append(self, content: bytes) -> None:
        """Write a frame; where that fails nothing of it stays. Raises InputOutputError."""
        try:
            self._require_own()
            self._write(memoryview(framed(content)))
            if monotonic() - self._synced > SYNC:
                self.sync()
        except OSError as error:
            raise self._failure(error) from error

    def _write(self, view: memoryview) -> None:
        try:
            write_at(self._handle, view, self._end)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._handle, self._end)
            raise
        self._end += len(view)

    def _require_own(self) -> None:
        """Raise OSError where nobody would find what goes on to be written, and InputOutputError where others write."""
        found = os.fstat(self._handle)
        if not os.path.samestat(found, os.stat(self._path)):
            raise FileNotFoundError(2, "another file has taken its place")
        if found.st_size != self._end:  # where the file system has no locks
            raise self._occupied()

    def sync(self) -> None:
        """Flush everything to the disk."""
        os.fsync(self._handle)
        self._synced = monotonic()

    def close(self) -> None:
        """Flush everything to the disk and close the file; raises InputOutputError."""
        try:
            if self._handle >= 0:
                self.sync()
        except OSError as error:
            raise self._failure(error) from error
        finally:
            self._give_up()

    def _give_up(self) -> None:
        if self._handle >= 0:
            unlock(self._handle)
            os.close(self._handle)
            self._handle = -1

    def _occupied(self) -> InputOutputError:
        message = f"another process is computing the same cases: it appends to {self._path}"
        return InputOutputError(self._sentence or f"{message}; wait for it, or give each its {option('shard')}")

    def _failure(self, error: OSError) -> InputOutputError:
        return InputOutputError(f"cannot write {self._path}: {error.strerror or error}")


# Further data of a case: histories of sensors, or its whole result file.

_HEAD = struct.Struct("<q16sQQ")  # case, identity, instants, width; a result file follows the record


class Kept(NamedTuple):
    """The data kept of one case."""

    case: int
    identity: bytes
    time: np.ndarray  # (T,) s
    record: np.ndarray  # (T, w), the kept sensors side by side
    result: bytes = b""  # the result file, where all is kept


def packed(kept: Kept) -> bytes:
    """Content of the frame that holds it."""
    head = _HEAD.pack(kept.case, kept.identity, *kept.record.shape)
    table = np.column_stack([kept.time, kept.record]).astype("<f8", order="C")
    return head + table.tobytes() + kept.result


def unpacked(content: bytes) -> Kept:
    """The data that a frame holds."""
    case, identity, instants, width = _HEAD.unpack_from(content)
    count = instants * (1 + width)
    table = np.frombuffer(content, "<f8", count, _HEAD.size).reshape(instants, 1 + width)
    return Kept(case, identity, table[:, 0], table[:, 1:], content[_HEAD.size + 8 * count :])


def _is_kept(content: bytes, width: int) -> bool:
    """Whether a frame holds what can be kept of a case, with so many numbers at each instant."""
    if len(content) < _HEAD.size:
        return False
    _, _, instants, stated = _HEAD.unpack_from(content)
    return stated == width and _HEAD.size + 8 * instants * (1 + width) <= len(content)


def kept_cases(folder: StudyFolder, *, thorough: bool) -> Iterator[tuple[int, bytes]]:
    """Case and identity of all that is kept; ``thorough`` reads it whole, and leaves out what is damaged."""
    for path in folder.files(KEPT):
        whole = (frame.content for frame in read_frames(path)) if thorough else read_beginnings(path, _HEAD.size)
        for content in whole:
            if len(content) >= _HEAD.size:
                yield _HEAD.unpack_from(content)[:2]


def all_kept(folder: StudyFolder, ledger: "Ledger", wanted: Collection[int] | None = None) -> Iterator[Kept]:
    """The data kept of the cases that are done, of each once; of the ``wanted`` ones, or of all."""
    seen, width = np.zeros(ledger.plan.cases, dtype=bool), sum(len(c.components) for c in ledger.plan.sensors)
    for path in folder.files(KEPT):
        for _, content in read_frames(path):
            if not _is_kept(content, width):
                continue
            case, identity, _, _ = _HEAD.unpack_from(content)
            known = 0 <= case < len(seen) and not seen[case] and identity == ledger.identities[case]
            if known and ledger.status[case] == DONE and (wanted is None or case in wanted):
                seen[case] = True
                yield unpacked(content)


# The ledger of a study: the rows of all shards, each case once.

MISSING = -1


class Ledger:
    """Status (N,) of all cases, and their rows. Of several rows of a case a done one counts, else the last."""

    def __init__(self, plan: StudyPlan, values: np.ndarray):
        self.plan = plan
        self.values = values
        self.identities: Sequence[bytes] = list(case_identities(plan.content, values))
        self.status = np.full(plan.cases, MISSING, dtype=np.int32)
        self.seconds = np.full(plan.cases, np.nan)
        self.strange = 0  # rows of another plan
        self.unkept = 0  # cases that were done, but what was kept of them is lost
        self._contents: list[bytes | None] = [None] * plan.cases

    def read(self, path: Path) -> None:
        """Take the rows of a file in."""
        for _, content in read_frames(path):
            if not is_row(content, self.plan.numbers):
                self.strange += 1
                continue
            case, status, seconds, identity = heading(content)
            if not 0 <= case < self.plan.cases or identity != self.identities[case]:
                self.strange += 1
            elif self.status[case] != DONE:
                self.status[case], self.seconds[case], self._contents[case] = status, seconds, content

    def require_kept(self, kept: Iterable[tuple[int, bytes]]) -> None:
        """Take cases that are done for missing, unless something is ``kept`` of them, by case and identity."""
        there = np.zeros(self.plan.cases, dtype=bool)
        for case, identity in kept:
            if 0 <= case < self.plan.cases and identity == self.identities[case]:
                there[case] = True
        lost = np.flatnonzero((self.status == DONE) & ~there)
        self.status[lost], self.seconds[lost] = MISSING, np.nan
        for case in lost.tolist():
            self._contents[case] = None
        self.unkept += len(lost)

    def row(self, case: int) -> Row | None:
        """The row of a case; None where there is none."""
        content = self._contents[case]
        return None if content is None else decoded(content)

    def rows(self) -> Iterator[Row]:
        """All rows, in the order of the cases."""
        return (decoded(content) for content in self._contents if content is not None)

    def numbers(self) -> np.ndarray:
        """Numbers (N, m) of all cases, NaN where there are none."""
        found = np.full((self.plan.cases, self.plan.numbers), np.nan)
        for case, content in enumerate(self._contents):
            if content is not None and self.status[case] == DONE:
                found[case] = numbers_in(content)
        return found

    def missing(self, *, failed: bool = False) -> np.ndarray:
        """Cases that are to be computed; those that failed by themselves too if so wanted."""
        again = ~np.isin(self.status, [DONE]) if failed else np.isin(self.status, [MISSING, *OF_THE_MACHINE])
        return np.flatnonzero(again)

    @property
    def counts(self) -> dict[int, int]:
        """Number of cases by status."""
        return dict(Counter(self.status.tolist()))


def ledger_of(folder: StudyFolder, *, thorough: bool = False) -> Ledger:
    """All that a folder holds; where it is to be ``thorough``, whatever is kept of cases is read too."""
    plan = folder.plan()
    ledger = Ledger(plan, folder.values(plan))
    for path in folder.files(ROWS):
        ledger.read(path)
    if plan.keeps:
        ledger.require_kept(kept_cases(folder, thorough=thorough))
    return ledger


# The result file of one case, out of a study that keeps them all.


def extract_result(folder: StudyFolder, case: int, target: Path | None, *, force: bool) -> Path:
    """Write the result file of a case; return its path. Raises UsageError where none is kept, and InputOutputError."""
    ledger = ledger_of(folder)
    if not ledger.plan.full:
        raise UsageError(f"the study in {folder} keeps no results of its cases; {option('keep', 'full')} does")
    found = next((kept.result for kept in all_kept(folder, ledger, {case}) if kept.result), None)
    if found is None and case < ledger.plan.cases and ledger.status[case] == DONE:
        again = either(f"mbsim sweep retry {folder}", "study.compute(failed=True)")
        damaged = f"the result of case {case} that is kept in {folder} is damaged"
        raise InputOutputError(f"{damaged}; {again} computes it again")
    if found is None:
        told = either("mbsim sweep status", "study.status")
        raise UsageError(f"the study in {folder} has no result of case {case}; {told} tells which are done")
    path = target or folder.path / f"case-{case}.h5"
    place = check_target(path, force=force)
    if folder.needs(place):
        raise InputOutputError(f"{path} is a part of the study; {elsewhere()}")
    with replaced(place, is_own=is_result, force=force) as written:
        written.write_bytes(found)
    return path
