"""The cost of a study, estimated from a few of its cases."""

from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from mbsim_cli.study.listener import Listener
from mbsim_cli.study.sweep.outcomes import Case, Workers, encoded
from mbsim_cli.study.sweep.store import framed
from mbsim_cli.study.sweep.study_plan import StudyPlan

PILOTS = 8  # at least
SHARE = 0.1  # of the time of the study that pilots take
LEAST, MOST = 5.0, 60.0  # s that they take, though never more than
FIFTH = 0.2  # of the study
FIRST = 2  # cases of each worker that count only where there are no others: caches are cold, and lanes to come
EARLY = 0.25  # of the pilots that do not count either: a processor that was idle is fast for a moment
BATCHES = 8  # of pilots, one after another, whose means tell how far the mean of all may be off
LIKELY = 2.36  # standard errors of a mean of eight that hold it with 95 % (Student's distribution)
GOLDEN = (5.0**0.5 - 1.0) / 2.0


@dataclass(frozen=True)
class Forecast:
    """The cost of ``cases`` with so many ``workers``, estimated from ``pilots`` of them; times in seconds.

    ``seconds`` go by, ``start_seconds`` of them before the first cases begin; a case takes a worker ``case_seconds``.
    ``spread`` is how far the mean time of a case may be off, relative, as the times of the pilots scatter.
    """

    cases: int
    pilots: int
    workers: int
    start_seconds: float
    case_seconds: float
    spread: float
    bytes_per_case: float
    bytes: int
    lanes: int  # cases that are computed together

    @property
    def processor_hours(self) -> float:
        """Of all workers together."""
        return (self.workers * self.start_seconds + self.cases * self.case_seconds) / 3600

    @property
    def computing(self) -> float:
        """By the clock, without the start."""
        return self.case_seconds * self.cases / self.workers

    @property
    def seconds(self) -> float:
        """By the clock."""
        return self.start_seconds + self.computing

    @property
    def between(self) -> tuple[float, float]:
        """The shortest and the longest time by the clock that are likely on a machine that keeps its pace."""
        off = self.computing * min(self.spread, 1.0)
        return self.seconds - off, self.seconds + off

    @property
    def report(self) -> dict[str, Any]:
        """Plain data."""
        times = {"seconds": self.seconds, "seconds_between": list(self.between)}
        return asdict(self) | times | {"processor_hours": self.processor_hours}


NOTHING = Forecast(0, 0, 1, 0.0, 0.0, 0.0, 0.0, 0, 1)  # of a study that is done


def forecast(
    plan: StudyPlan, cases: Sequence[Case], team: Workers, workers: int, since: float, listener: Listener
) -> Forecast:
    """Compute some of the cases, from all over the study, by all workers at once as the study will; ``since`` is when
    all of it began, by ``perf_counter``.

    Pilots end with the tenth part of the time that the study will take, or a little later where that is short.
    """
    waiting, start = deque(cases[i] for i in _scattered(len(cases))), 0.0
    least, seconds, sizes = min(PILOTS + FIRST * workers, len(cases)), list[float](), list[int]()
    with listener.progress("pilot cases", 1.0) as show, closing(team.compute(waiting)) as computed:
        for row, kept in computed:
            spent = perf_counter() - since - start
            if not seconds:
                start, spent = max(0.0, spent - row.seconds), min(spent, row.seconds)
            seconds.append(row.seconds)
            sizes.append(len(framed(encoded(row))) + (len(framed(kept)) if kept else 0))
            enough = _enough(_mean(_usual(seconds, workers)) * len(cases) / workers)
            show(min(len(seconds) / least, spent / max(enough, 1e-9), 1.0))
            listener.poll()
            if len(seconds) >= least and spent >= enough:
                break
    usual, size = _usual(seconds, workers), _mean(sizes)
    collected = 8 * (plan.numbers + len(plan.varied) + 3)
    whole = round(len(cases) * (size + collected + 8 * len(plan.varied)))
    spread = _spread(usual, len(cases))
    return Forecast(len(cases), len(seconds), workers, start, _mean(usual), spread, size, whole, team.together)


def _usual(seconds: Sequence[float], workers: int) -> Sequence[float]:
    """Times without those of the first cases of each worker, where enough others are known."""
    later = seconds[max(FIRST * workers, int(EARLY * len(seconds))) :]
    return later if len(later) >= PILOTS else seconds


def _enough(study: float) -> float:
    """Time of the pilots of a study that will take so long, s."""
    return min(max(SHARE * study, min(LEAST, FIFTH * study)), MOST)


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / max(len(numbers), 1)


def _spread(seconds: Sequence[float], cases: int) -> float:
    """How far the mean of all cases may be from that of some, relative.

    Told by means of pilots that follow each other, so that a machine which changes its pace meanwhile counts as well.
    """
    if len(seconds) in (0, cases):
        return 0.0
    means = [float(np.mean(batch)) for batch in np.array_split(seconds, BATCHES)]
    error = float(np.std(means, ddof=1)) / BATCHES**0.5
    return LIKELY * error * (1.0 - len(seconds) / cases) ** 0.5 / max(_mean(seconds), 1e-9)


def _scattered(count: int) -> np.ndarray:
    """All numbers below ``count`` in an order whose every beginning is from all over them."""
    places = (0.5 + GOLDEN * np.arange(count)) % 1.0
    return np.argsort(np.argsort(places, kind="stable"), kind="stable")
