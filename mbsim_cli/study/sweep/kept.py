"""What is kept of a case beside its row: sensors along time, or its whole result file."""

import struct
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbsim_cli.study.sweep.frames import read_beginnings, read_frames
from mbsim_cli.study.sweep.outcomes import DONE
from mbsim_cli.study.sweep.study_folder import KEPT, StudyFolder

if TYPE_CHECKING:
    from mbsim_cli.study.sweep.ledger import Ledger

_HEAD = struct.Struct("<q16sQQ")  # case, identity, instants, width; a result file follows the record


class Kept(NamedTuple):
    """What is kept of one case."""

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
    """What a frame holds."""
    case, identity, instants, width = _HEAD.unpack_from(content)
    count = instants * (1 + width)
    table = np.frombuffer(content, "<f8", count, _HEAD.size).reshape(instants, 1 + width)
    return Kept(case, identity, table[:, 0], table[:, 1:], content[_HEAD.size + 8 * count :])


def kept_cases(folder: StudyFolder, *, thorough: bool) -> Iterator[tuple[int, bytes]]:
    """Case and identity of all that is kept; ``thorough`` reads it whole, and leaves out what is damaged."""
    for path in folder.files(KEPT):
        whole = (frame.content for frame in read_frames(path)) if thorough else read_beginnings(path, _HEAD.size)
        for content in whole:
            if len(content) >= _HEAD.size:
                yield _HEAD.unpack_from(content)[:2]


def all_kept(folder: StudyFolder, ledger: "Ledger", wanted: Collection[int] | None = None) -> Iterator[Kept]:
    """What is kept of the cases that are done, of each once; of the ``wanted`` ones, or of all."""
    seen = np.zeros(ledger.plan.cases, dtype=bool)
    for path in folder.files(KEPT):
        for _, content in read_frames(path):
            case, identity, _, _ = _HEAD.unpack_from(content)
            known = 0 <= case < len(seen) and not seen[case] and identity == ledger.identities[case]
            if known and ledger.status[case] == DONE and (wanted is None or case in wanted):
                seen[case] = True
                yield unpacked(content)
