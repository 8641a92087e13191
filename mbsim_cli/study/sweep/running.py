"""Studies as they run: forecast, computing what is missing, failures."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from functools import partial
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

import mbsim_cli
from mbsim_cli.errors import AnalysisError, UsageError, either, flag, is_whole, option, require_whole
from mbsim_cli.study.listener import Interrupted, Listener
from mbsim_cli.study.sweep.cluster import Cluster
from mbsim_cli.study.sweep.collecting import collect
from mbsim_cli.study.sweep.evaluating import CaseEvaluator
from mbsim_cli.study.sweep.frames import Appender, framed
from mbsim_cli.study.sweep.planning import check_tables
from mbsim_cli.study.sweep.store import DONE, MISSING, RETRIED, WORDS, Case, Ledger, Workers, encoded, ledger_of
from mbsim_cli.study.sweep.study_folder import ALL, DATA, ROWS, Shard, StudyFolder, StudyPlan
from mbsim_cli.study.sweep.summary import summary_of
from mbsim_cli.system import HAS_FORKS, usable

PILOTS = 8  # cases that a forecast computes at least
SHARE = 0.1  # time of the pilots over that of the study
LEAST, MOST = 5.0, 60.0  # bounds of the time of the pilots, s, but never more than
FIFTH = 0.2  # of the study
FIRST = 2  # first cases of each worker, ignored if there are others: caches are cold, and lanes not yet compiled
EARLY = 0.25  # share of the pilots that is ignored, too: a processor that was idle runs faster at first
BATCHES = 8  # of pilots, one after another; their means give the standard error of the mean of all
LIKELY = 2.36  # standard errors of a mean of eight that hold it with 95 % (Student's distribution)
GOLDEN = (5.0**0.5 - 1.0) / 2.0


@dataclass(frozen=True)
class Forecast:
    """The cost of ``cases`` by a number of ``workers``, estimated from ``pilots`` of them; times in seconds.

    ``seconds`` pass by the clock, ``start_seconds`` of them before the first cases begin; a worker takes
    ``case_seconds`` for a case. ``spread`` is the relative uncertainty of that mean, from the scatter of the pilots.
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
        """Hours of all workers together."""
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
    """Compute some cases from all over the study by all workers; ``since`` is the start by ``perf_counter``."""
    places = (0.5 + GOLDEN * np.arange(len(cases))) % 1.0  # first cases are spread evenly over all
    order = np.argsort(np.argsort(places, kind="stable"), kind="stable")
    waiting, start = deque(cases[i] for i in order), 0.0
    least, seconds, sizes = min(PILOTS + FIRST * workers, len(cases)), list[float](), list[int]()
    with listener.progress("pilot cases", 1.0) as show, closing(team.compute(waiting)) as computed:
        for row, data in computed:
            spent = perf_counter() - since - start
            if not seconds:
                start, spent = max(0.0, spent - row.seconds), min(spent, row.seconds)
            seconds.append(row.seconds)
            sizes.append(len(framed(encoded(row))) + (len(framed(data)) if data else 0))
            study = float(np.mean(_without_first_cases(seconds, workers))) * len(cases) / workers
            enough = min(max(SHARE * study, min(LEAST, FIFTH * study)), MOST)
            show(min(len(seconds) / least, spent / max(enough, 1e-9), 1.0))
            listener.poll()
            if len(seconds) >= least and spent >= enough:
                break
    usual = _without_first_cases(seconds, workers)
    mean, size = float(np.mean(usual)), float(np.mean(sizes))
    collected = 8 * (plan.numbers + len(plan.varied) + 3)
    whole = round(len(cases) * (size + collected + 8 * len(plan.varied)))
    spread = _spread(usual, len(cases))
    return Forecast(len(cases), len(seconds), workers, start, mean, spread, size, whole, team.batch_size)


def _without_first_cases(seconds: Sequence[float], workers: int) -> Sequence[float]:
    """Times without those of the first cases of each worker, where enough others are known."""
    later = seconds[max(FIRST * workers, int(EARLY * len(seconds))) :]
    return later if len(later) >= PILOTS else seconds


def _spread(seconds: Sequence[float], cases: int) -> float:
    """Relative uncertainty of the mean time of all cases, from batches of some: a machine may change its pace."""
    if len(seconds) in (0, cases):
        return 0.0
    means = [float(np.mean(batch)) for batch in np.array_split(seconds, BATCHES)]
    error = float(np.std(means, ddof=1)) / BATCHES**0.5
    return LIKELY * error * (1.0 - len(seconds) / cases) ** 0.5 / max(float(np.mean(seconds)), 1e-9)


@dataclass
class Work:
    """Cases of a study to compute, the workers that compute them, and when to end; raises UsageError."""

    workers: int = 1  # processes of this machine; 0 becomes one for each processor
    case_timeout: float | None = None  # s
    dask: Any = None  # address of a scheduler; a client is replaced by that of its scheduler
    shard: Any = None  # a Shard; (I, N) becomes one, and None all cases
    failed: bool = False  # whether cases that failed by themselves are computed again
    retry: int = 1  # times, of a case that failed for reasons of the machine
    max_failures: int | None = None

    def __post_init__(self) -> None:
        require_whole("workers", self.workers, meaning=", 0 for one on each processor")
        if self.case_timeout is not None and not 0.0 < self.case_timeout < inf:
            number = f"must be a positive number of seconds, not {self.case_timeout!r}"
            raise UsageError(f"{option('case_timeout')} {number}")
        if self.dask is not None and (self.workers != 1 or self.case_timeout is not None):
            own = either("-j and --case-timeout", "workers and case_timeout")
            raise UsageError(
                f"{own} are for processes of this machine, and a Dask cluster has workers of its own; "
                f"leave them out beside {option('dask')}"
            )
        require_whole("retry", self.retry)
        if self.max_failures is not None:
            require_whole("max_failures", self.max_failures)
        if not isinstance(self.shard, Shard):
            part = (1, 1) if self.shard is None else self.shard
            whole = isinstance(part, tuple | list) and len(part) == 2 and all(map(is_whole, part))
            if not whole or not 1 <= part[0] <= part[1]:
                raise UsageError(f"shard must be (I, N) with I from 1 to N, not {part!r}")
            self.shard = Shard(*part)
        self.workers = self.workers or usable()
        if self.dask is not None and not isinstance(self.dask, str):
            self.dask = str(self.dask.scheduler.address)


@dataclass
class Tally:
    """Counts of the outcomes of the cases of one call."""

    by_status: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0  # spent on cases, of all workers together

    @property
    def failures(self) -> int:
        """Cases that are not done."""
        return self.by_status.total() - self.by_status[DONE]


def cases_of(ledger: Ledger, work: Work) -> deque[Case]:
    """Cases that are to be computed."""
    missing = ledger.missing(failed=work.failed).tolist()
    return deque(Case(i, ledger.identities[i], ledger.values[i]) for i in missing if work.shard.has(i))


def compute(
    folder: StudyFolder, waiting: Iterable[Case], workers: Workers, work: Work, listener: Listener, *, keeps: bool
) -> Tally:
    """Compute cases and append their rows, which stay; raises AnalysisError, and what the listener's ``poll`` does."""
    cases, retried = deque(waiting), Counter[int]()
    by_number, tally = {case.number: case for case in cases}, Tally()
    with ExitStack() as stack:
        rows = stack.enter_context(closing(Appender(folder.file(work.shard, ROWS))))
        data = stack.enter_context(closing(Appender(folder.file(work.shard, DATA)))) if keeps else None
        show = stack.enter_context(listener.progress("computing", len(cases)))
        stack.enter_context(listener.shield())
        for row, content in stack.enter_context(closing(workers.compute(cases))):
            if row.status in RETRIED and retried[row.case] < work.retry:
                retried[row.case] += 1
                listener.say(f"case {row.case} is tried again: {row.remarks.get('failure')}")
                cases.append(by_number[row.case])
                continue
            if data and content:
                data.append(content)
            rows.append(encoded(row))
            tally.by_status[row.status] += 1
            tally.seconds += row.seconds
            show(tally.by_status.total())
            if row.status != DONE and work.max_failures is not None and tally.failures > work.max_failures:
                count = f"{tally.failures} cases failed" if work.max_failures else "a case failed"
                reason = row.remarks.get("failure", WORDS[row.status])
                raise AnalysisError(f"{count}, and the study was to end then; case {row.case}: {reason}")
            listener.poll()
    return tally


def run_study(folder: StudyFolder, work: Work, listener: Listener) -> dict[str, Any]:
    """Compute missing cases, collect all rows once none is missing, return the summary; raises as ``compute``."""
    begun = perf_counter()
    ledger = ledger_of(folder, thorough=work.failed or work.shard.count == 1)
    check_tables(ledger.plan)
    planned, own = ledger.plan.mbsim_version, mbsim_cli.__version__
    if planned != own and ledger.counts.get(DONE):
        sentence = f"mbsim {planned} planned the study and this is mbsim {own}: rows of both may differ in their last"
        listener.warn(f"warning: {sentence} digits; {flag('force')} starts again")
    cases = cases_of(ledger, work)
    tally, batch_size = Tally(), 1
    if cases:
        workers = workers_of(ledger.plan, len(cases), work, listener)
        try:
            tally = compute(folder, cases, workers, work, listener, keeps=ledger.plan.keeps)
            batch_size = workers.batch_size
        except Interrupted:
            listener.warn(f"mbsim: computed cases are kept in {folder}; the same {either('command', 'call')} continues")
            raise
        except KeyboardInterrupt as stop:
            stop.add_note(f"computed cases are kept in {folder}; the same call continues")
            raise
        ledger = ledger_of(folder)
    collected = None if ledger.counts.get(MISSING) else str(collect(folder, ledger))
    return summary_of(ledger) | {
        "folder": str(folder),
        "shard": str(work.shard),
        "computed": tally.by_status.total(),
        "computed_seconds": tally.seconds,
        "wall_seconds": perf_counter() - begun,
        "lanes": batch_size,
        "collected": collected,
    }


def workers_of(plan: StudyPlan, cases: int, work: Work, listener: Listener) -> Workers:
    """Workers for a number of cases: this process if one is enough and cases have no time limit."""
    # the loop for several cases would be compiled in the time of the first one, whose clock runs
    start = partial(CaseEvaluator, plan, one_by_one=work.case_timeout is not None or work.dask is not None)
    if work.dask is not None:
        return Cluster(work.dask, start, listener)
    count = min(work.workers, cases)
    if count == 1 and work.case_timeout is None:
        return start(listener)
    if not HAS_FORKS:
        ways = either("-j and --case-timeout out, or give --dask", "workers and case_timeout out, or give dask")
        raise UsageError(f"this system has no worker processes; leave {ways}")
    from mbsim_cli.study.sweep.processes import Processes

    return Processes(start, count, listener, work.case_timeout)


def forecast_study(folder: StudyFolder, work: Work, listener: Listener, begun: float | None = None) -> Forecast:
    """Estimate the cost of the missing cases from a few, whose rows are not kept; counts time from ``begun`` on."""
    ledger = ledger_of(folder)
    check_tables(ledger.plan)
    cases = cases_of(ledger, work)
    if not cases:
        return NOTHING
    begun = perf_counter() if begun is None else begun
    team = workers_of(ledger.plan, len(cases), work, listener)
    found = forecast(ledger.plan, cases, team, min(work.workers, len(cases)), begun, listener)
    folder.store_forecast(found.report)
    return found


_ARRAY = "SLURM_ARRAY_TASK_"


def shard_of(text: str | None, environment: Mapping[str, str]) -> Shard:
    """The shard of ``--shard I/N``, else of a task of a SLURM array (from any number, in any step), else all."""
    if text is not None:
        index, slash, number = text.partition("/")
        if not (slash and index.strip().isdecimal() and number.strip().isdecimal() and 1 <= int(index) <= int(number)):
            raise UsageError(f"--shard must be I/N with I from 1 to N, not '{text}'")
        return Shard(int(index), int(number))
    if f"{_ARRAY}ID" not in environment or f"{_ARRAY}COUNT" not in environment:
        return ALL
    try:
        task, count = int(environment[f"{_ARRAY}ID"]), int(environment[f"{_ARRAY}COUNT"])
        first, step = int(environment.get(f"{_ARRAY}MIN", 1)), max(1, int(environment.get(f"{_ARRAY}STEP", 1)))
        last = int(environment.get(f"{_ARRAY}MAX", first + (count - 1) * step))
    except ValueError:
        raise UsageError("the variables SLURM_ARRAY_TASK_* are no numbers; give --shard I/N") from None
    place, rest = divmod(task - first, step)
    if rest or not 0 <= place < count or last != first + (count - 1) * step:  # in such an array no task begins
        message = f"task {task} of a SLURM array of {count} from {first} to {last} names no shard of the study"
        raise UsageError(f"{message}; give --shard I/N")
    return Shard(place + 1, count)
