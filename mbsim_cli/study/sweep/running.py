"""Studies as they run: work, forecast, failures, tables of what was computed."""

import csv
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import mbsim_cli
from mbsim_cli.errors import AnalysisError, UsageError, either, flag
from mbsim_cli.io.provenance import storable
from mbsim_cli.io.study_file import StudyTable, Track, Tracks, write_study
from mbsim_cli.io.target import replaced
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.studies import KINDS
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.listener import Interrupted, Listener, Patient
from mbsim_cli.study.sweep.evaluating import CaseEvaluator
from mbsim_cli.study.sweep.planning import Wanted, check_tables, planned
from mbsim_cli.study.sweep.store import (
    DONE,
    MISSING,
    RETRIED,
    WORDS,
    Appender,
    Case,
    InProcess,
    Ledger,
    Row,
    Workers,
    all_kept,
    encoded,
    framed,
    kept_cases,
    ledger_of,
)
from mbsim_cli.study.sweep.study_folder import Shard, StudyFolder, StudyPlan
from mbsim_cli.study.sweep.summary import summary_of
from mbsim_cli.system import HAS_FORKS, usable

# The cost of a study, estimated from a few of its cases.

PILOTS = 8  # at least
SHARE = 0.1  # time of the pilots over that of the study
LEAST, MOST = 5.0, 60.0  # bounds of the time of the pilots, s, but never more than
FIFTH = 0.2  # of the study
FIRST = 2  # first cases of each worker, ignored if there are others: caches are cold, and lanes not yet compiled
EARLY = 0.25  # share of the pilots that is ignored, too: a processor that was idle runs faster at first
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
    waiting, start = deque(cases[i] for i in _in_scattered_order(len(cases))), 0.0
    least, seconds, sizes = min(PILOTS + FIRST * workers, len(cases)), list[float](), list[int]()
    with listener.progress("pilot cases", 1.0) as show, closing(team.compute(waiting)) as computed:
        for row, kept in computed:
            spent = perf_counter() - since - start
            if not seconds:
                start, spent = max(0.0, spent - row.seconds), min(spent, row.seconds)
            seconds.append(row.seconds)
            sizes.append(len(framed(encoded(row))) + (len(framed(kept)) if kept else 0))
            enough = _pilot_seconds(_mean(_without_first_cases(seconds, workers)) * len(cases) / workers)
            show(min(len(seconds) / least, spent / max(enough, 1e-9), 1.0))
            listener.poll()
            if len(seconds) >= least and spent >= enough:
                break
    usual, size = _without_first_cases(seconds, workers), _mean(sizes)
    collected = 8 * (plan.numbers + len(plan.varied) + 3)
    whole = round(len(cases) * (size + collected + 8 * len(plan.varied)))
    spread = _spread(usual, len(cases))
    return Forecast(len(cases), len(seconds), workers, start, _mean(usual), spread, size, whole, team.together)


def _without_first_cases(seconds: Sequence[float], workers: int) -> Sequence[float]:
    """Times without those of the first cases of each worker, where enough others are known."""
    later = seconds[max(FIRST * workers, int(EARLY * len(seconds))) :]
    return later if len(later) >= PILOTS else seconds


def _pilot_seconds(study: float) -> float:
    """Time of the pilots, s, of a study that takes ``study`` seconds."""
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


def _in_scattered_order(count: int) -> np.ndarray:
    """All numbers below ``count`` in an order in which the first ones are spread evenly."""
    places = (0.5 + GOLDEN * np.arange(count)) % 1.0
    return np.argsort(np.argsort(places, kind="stable"), kind="stable")


# A study run from its plan to its collected file; from the command line and from Python.

# From the rows of all shards to one file that other programs read.


def table_of(ledger: Ledger) -> StudyTable:
    """The rows of a ledger side by side."""
    plan = ledger.plan
    numbers = ledger.numbers().reshape(plan.cases, len(plan.objectives), 1 + len(plan.parameters))
    return StudyTable(
        varied={column.name: column.unit for column in plan.varied},
        objectives={column.name: column.unit for column in plan.objectives},
        parameters={column.name: column.unit for column in plan.parameters},
        design=ledger.values,
        results=numbers[:, :, 0],
        gradients=numbers[:, :, 1:],
        status=ledger.status,
        seconds=ledger.seconds,
        reasons=_reasons(ledger),
        attributes={"study": plan.study, "model": storable(str(plan.path)), "mbsim_version": plan.mbsim_version},
        plan=plan.text(),
    )


def _reasons(ledger: Ledger) -> list[str]:
    """Sentences of each case, separated by semicolons."""
    found = [""] * ledger.plan.cases
    for row in ledger.rows():
        remarks = row.remarks
        undefined = [f"no derivative by {name}: {why}" for name, why in remarks.get("undefined", {}).items()]
        failure = [remarks["failure"]] if "failure" in remarks else []
        found[row.case] = "; ".join([*failure, *undefined, *remarks.get("warnings", ())])
    return found


def collect(folder: StudyFolder, ledger: Ledger) -> Path:
    """Write ``study.h5``; return its path. Cases count as missing where what sensors showed is damaged."""
    plan = ledger.plan
    if plan.sensors:
        ledger.require_kept(kept_cases(folder, thorough=True))
    sensors = {column.name: (column.components, column.unit) for column in plan.sensors}

    def each() -> Iterator[Track]:
        return (Track(kept.case, kept.time, kept.record) for kept in all_kept(folder, ledger))

    write_study(folder.collected, table_of(ledger), Tracks(sensors, each) if sensors else None)
    return folder.collected


def columns_of(table: StudyTable) -> dict[str, Any]:
    """One column (N,) for each number of a case, by name."""
    found: dict[str, Any] = {
        "case": np.arange(len(table.design)),
        "status": table.status,
        "seconds": table.seconds,
    }
    named = list(zip(table.varied, table.design.T, strict=True)) + list(
        zip(table.objectives, table.results.T, strict=True)
    )
    for k, objective in enumerate(table.objectives):
        for p, parameter in enumerate(table.parameters):
            named.append((f"d {objective} / d {parameter}", table.gradients[:, k, p]))
    for name, column in [*named, ("reason", table.reasons)]:
        while name in found:  # a parameter may be called status
            name += "_"
        found[name] = column
    return found


def export(table: StudyTable, target: Path, kind: str) -> None:
    """Write the cases as a table, a row for each: ``csv`` or ``parquet``."""
    with replaced(target, force=True) as path:
        if kind == "csv":
            _write_csv(path, columns_of(table))
        else:
            _write_parquet(path, columns_of(table))


def _write_csv(path: Path, columns: dict[str, Any]) -> None:
    """Numbers with all their digits."""
    plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*plain, strict=True))


def _write_parquet(path: Path, columns: dict[str, Any]) -> None:
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError:
        raise UsageError(
            "--to parquet needs pandas and pyarrow; in a clone of mbsim: pip install '.[tables]'"
        ) from None
    pandas.DataFrame(columns).to_parquet(path, index=False)


# Computing what is missing of a study, and writing it down case by case.


@dataclass(frozen=True)
class Limits:
    """When to try again, and when to give up."""

    retry: int = 1  # times, of a case that failed for reasons of the machine
    max_failures: int | None = None


@dataclass
class Tally:
    """Counts of the outcomes of the cases of one call."""

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


# A study from its folder: what is missing is computed, and all is collected where nothing is missing any more.


@dataclass(frozen=True)
class Way:
    """How cases are computed: by so many processes of this machine, or on a cluster."""

    workers: int = 1
    timeout: float | None = None  # s, of a case
    cluster: str | None = None  # address of a Dask scheduler


def run_study(
    folder: StudyFolder, shard: Shard, way: Way, limits: Limits, listener: Listener, *, failed: bool = False
) -> dict[str, Any]:
    """Compute the missing cases of a shard, with those that ``failed`` by themselves if so wanted; return the summary.

    Raises what ``sweep`` raises; rows that are written by then stay.
    """
    begun = perf_counter()
    ledger = ledger_of(folder, thorough=failed or shard.count == 1)
    check_tables(ledger.plan)
    planned, own = ledger.plan.mbsim_version, mbsim_cli.__version__
    if planned != own and ledger.counts.get(DONE):
        sentence = f"mbsim {planned} planned the study and this is mbsim {own}: rows of both may differ in their last"
        listener.warn(f"warning: {sentence} digits; {flag('force')} begins anew")
    cases = cases_of(ledger, shard, failed=failed)
    tally, together = Tally(), 1
    if cases:
        workers = workers_of(ledger, cases, way, listener)
        try:
            tally = sweep(folder, cases, shard, workers, limits, listener, keeps=ledger.plan.keeps)
            together = workers.together
        except Interrupted:
            listener.warn(f"mbsim: what was computed is kept in {folder}; the same {either('command', 'call')} goes on")
            raise
        except KeyboardInterrupt as stop:
            stop.add_note(f"what was computed is kept in {folder}; the same call goes on")
            raise
        ledger = ledger_of(folder)
    collected = None if ledger.counts.get(MISSING) else str(collect(folder, ledger))
    return summary_of(ledger) | {
        "folder": str(folder),
        "shard": str(shard),
        "computed": tally.by_status.total(),
        "computed_seconds": tally.seconds,
        "wall_seconds": perf_counter() - begun,
        "lanes": together,
        "collected": collected,
    }


def workers_of(ledger: Ledger, cases: Sequence[Case] | deque[Case], way: Way, listener: Listener) -> Workers:
    """Who computes the cases: this process where one worker is enough and no clock can stop it."""
    # the loop for several cases would be compiled in the time of the first one, whose clock runs
    start = partial(CaseEvaluator, ledger.plan, one_by_one=way.timeout is not None or way.cluster is not None)
    if way.cluster is not None:
        from mbsim_cli.study.sweep.cluster import Cluster

        return Cluster(way.cluster, start, listener)
    count = min(way.workers, len(cases))
    if count == 1 and way.timeout is None:
        return InProcess(start(listener))
    if not HAS_FORKS:
        ways = either("-j and --case-timeout out, or give --dask", "workers and case_timeout out, or give dask")
        raise UsageError(f"this system has no worker processes; leave {ways}")
    from mbsim_cli.study.sweep.processes import Processes

    return Processes(start, count, listener, way.timeout)


def forecast_study(
    folder: StudyFolder, shard: Shard, way: Way, listener: Listener, begun: float | None = None
) -> Forecast:
    """Compute a few cases of what is missing, if any is, and say what all of them will take; no row of them is kept.

    The program may have ``begun`` earlier, by ``perf_counter``: that time counts as well.
    """
    ledger = ledger_of(folder)
    check_tables(ledger.plan)
    cases = cases_of(ledger, shard, failed=False)
    if not cases:
        return NOTHING
    begun = perf_counter() if begun is None else begun
    team = workers_of(ledger, cases, way, listener)
    found = forecast(ledger.plan, cases, team, min(way.workers, len(cases)), begun, listener)
    folder.foretell(found.report)
    return found


# ``sweep`` as Python programs call it: the options of ``mbsim sweep`` that make sense there.

COMMAND = "mbsim_cli.sweep"
KEPT = ("objectives", "sensors", "full")


def begun(
    model_file: ModelFile,
    settings: Settings,
    study: str | Mapping[str, Any] | None,
    folder: Path | None,
    keep: str | None,
    listener: Listener,
    *,
    force: bool,
) -> StudyFolder:
    """The folder of a study of the file by its name, or of one that is stated as in a file."""
    if settings.all_numbers:
        raise UsageError("a study varies parameters of the file; load the model without all_numbers")
    name, stated = (study, None) if study is None or isinstance(study, str) else (None, dict(study))
    if stated is not None and stated.keys().isdisjoint(KINDS):
        raise UsageError(f"a study states its cases under {', '.join(KINDS)}, as {{'zip': {{'NAME': values}}}}")
    if keep not in (None, *KEPT):
        raise UsageError(f"keep wants one of {', '.join(KEPT)}, not {keep!r}; a study that is stated may have names")
    wanted = Wanted(name, stated, keep, settings.method)
    return planned(model_file, wanted, settings, folder, COMMAND, listener, force=force)


class Work(NamedTuple):
    """Which cases are computed, how, and when that ends."""

    way: Way
    shard: Shard
    limits: Limits
    failed: bool


def work_of(
    workers: int,
    *,
    shard: tuple[int, int] | None = None,
    dask: Any = None,
    case_timeout: float | None = None,
    max_failures: int | None = None,
    retry: int = 1,
    failed: bool = False,
) -> Work:
    """The work that keyword arguments state; raises UsageError."""
    if not _is_whole(workers):
        raise UsageError(f"workers wants a whole number, 0 for one on each processor, not {workers!r}")
    if case_timeout is not None and not case_timeout > 0.0:
        raise UsageError(f"case_timeout wants a positive number of seconds, not {case_timeout!r}")
    if dask is not None and (workers != 1 or case_timeout is not None):
        raise UsageError("workers and case_timeout are for processes of this machine; leave them out beside dask")
    for name, count in (("max_failures", max_failures), ("retry", retry)):
        if count is not None and not _is_whole(count):
            raise UsageError(f"{name} wants a whole number, not {count!r}")
    if not (dask is None or isinstance(dask, str)):  # a client
        dask = str(dask.scheduler.address)
    way = Way(workers or usable(), case_timeout, dask)
    return Work(way, _shard(shard), Limits(retry, max_failures), failed)


def _is_whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


def _shard(stated: tuple[int, int] | None) -> Shard:
    if stated is None:
        return Shard()
    whole = isinstance(stated, tuple | list) and len(stated) == 2 and all(map(_is_whole, stated))
    if not whole or not 1 <= stated[0] <= stated[1]:
        raise UsageError(f"shard wants (I, N) with I from 1 to N, not {stated!r}")
    return Shard(*stated)


def computed(folder: StudyFolder, work: Work, listener: Listener) -> dict[str, Any]:
    """Compute what is missing; return the summary."""
    return run_study(folder, work.shard, work.way, work.limits, Patient(listener), failed=work.failed)
