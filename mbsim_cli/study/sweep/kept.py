"""What is kept of a case beside its row: sensors along time."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mbsim_cli.study.sweep.frames import read_frames
from mbsim_cli.study.sweep.ledger import Ledger
from mbsim_cli.study.sweep.outcomes import DONE
from mbsim_cli.study.sweep.study_folder import KEPT, StudyFolder

_HEAD = struct.Struct("<q16sQQ")  # case, identity, instants, width


class Kept(NamedTuple):
    """What is kept of one case."""

    case: int
    identity: bytes
    time: np.ndarray  # (T,) s
    record: np.ndarray  # (T, w), the kept sensors side by side


def packed(kept: Kept) -> bytes:
    """Content of the frame that holds it."""
    head = _HEAD.pack(kept.case, kept.identity, *kept.record.shape)
    table = np.column_stack([kept.time, kept.record]).astype("<f8", order="C")
    return head + table.tobytes()


def unpacked(content: memoryview) -> Kept:
    """What a frame holds."""
    case, identity, instants, width = _HEAD.unpack_from(content)
    count = instants * (1 + width)
    table = np.frombuffer(content, "<f8", count, _HEAD.size).reshape(instants, 1 + width)
    return Kept(case, identity, table[:, 0], table[:, 1:])


def all_kept(folder: StudyFolder, ledger: Ledger) -> Iterator[Kept]:
    """What is kept of the cases that are done, of each once."""
    seen = np.zeros(ledger.plan.cases, dtype=bool)
    for path in folder.files(KEPT):
        for _, content in read_frames(path):
            case, identity, _, _ = _HEAD.unpack_from(content)
            known = 0 <= case < len(seen) and not seen[case] and identity == ledger.identities[case]
            if known and ledger.status[case] == DONE:
                seen[case] = True
                yield unpacked(content)
