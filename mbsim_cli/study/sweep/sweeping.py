"""Computing what is missing of a study, and writing it down case by case."""

from collections import Counter, deque
from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from mbsim_cli.errors import AnalysisError
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.sweep.computing import Case, Workers
from mbsim_cli.study.sweep.frames import Appender
from mbsim_cli.study.sweep.ledger import Ledger
from mbsim_cli.study.sweep.outcomes import DONE, RETRIED, WORDS, Row, encoded
from mbsim_cli.study.sweep.shards import Shard
from mbsim_cli.study.sweep.study_folder import StudyFolder


@dataclass(frozen=True)
class Limits:
    """When to try again, and when to give up."""

    retry: int = 1  # times, of a case that failed for reasons of the machine
    max_failures: int | None = None


@dataclass
class Tally:
    """What became of the cases of one call."""

    by_status: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0  # spent on cases, of all workers together

    def add(self, row: Row) -> None:
        """Count a case."""
        self.by_status[row.status] += 1
        self.seconds += row.seconds

    @property
    def failures(self) -> int:
        """Cases that are not done."""
        return self.by_status.total() - self.by_status[DONE]


def cases_of(ledger: Ledger, shard: Shard, *, failed: bool) -> deque[Case]:
    """Cases of a shard that are to be computed, with those that ``failed`` by themselves if so wanted."""
    missing = ledger.missing(failed=failed).tolist()
    return deque(Case(i, ledger.identities[i], ledger.values[i]) for i in missing if shard.has(i))


def sweep(
    folder: StudyFolder,
    waiting: Iterable[Case],
    shard: Shard,
    workers: Workers,
    limits: Limits,
    listener: Listener,
    *,
    keeps: bool,
) -> Tally:
    """Compute cases and append their rows. What is written stays, however this ends.

    Raises AnalysisError after more failures than the limits allow, and whatever the listener's ``poll`` raises.
    """
    cases, again = deque(waiting), Counter[int]()
    by_number, tally = {case.number: case for case in cases}, Tally()
    with ExitStack() as stack:
        rows = stack.enter_context(closing(Appender(folder.rows(shard))))
        kept = stack.enter_context(closing(Appender(folder.kept(shard)))) if keeps else None
        show = stack.enter_context(listener.progress("computing", len(cases)))
        stack.enter_context(listener.shield())
        for row, content in stack.enter_context(closing(workers.compute(cases))):
            if row.status in RETRIED and again[row.case] < limits.retry:
                again[row.case] += 1
                listener.say(f"case {row.case} is tried again: {row.remarks.get('failure')}")
                cases.append(by_number[row.case])
                continue
            if kept and content:
                kept.append(content)
            rows.append(encoded(row))
            tally.add(row)
            show(tally.by_status.total())
            _require_few(tally, row, limits)
            listener.poll()
    return tally


def _require_few(tally: Tally, row: Row, limits: Limits) -> None:
    if row.status == DONE or limits.max_failures is None or tally.failures <= limits.max_failures:
        return
    count = f"{tally.failures} cases failed" if limits.max_failures else "a case failed"
    reason = row.remarks.get("failure", WORDS[row.status])
    raise AnalysisError(f"{count}, and the study was to end then; case {row.case}: {reason}")
