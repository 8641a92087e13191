"""What is known of a study's cases: the rows of all shards, each case once."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from mbsim_cli.study.sweep.frames import read_frames
from mbsim_cli.study.sweep.identity import case_identities
from mbsim_cli.study.sweep.kept import kept_cases
from mbsim_cli.study.sweep.outcomes import DONE, OF_THE_MACHINE, Row, decoded, heading, numbers_in
from mbsim_cli.study.sweep.study_folder import ROWS, StudyFolder
from mbsim_cli.study.sweep.study_plan import StudyPlan

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
