"""A study from its folder: what is missing is computed, and all is collected where nothing is missing any more."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import mbsim_cli
from mbsim_cli.caller import either, flag
from mbsim_cli.errors import UsageError
from mbsim_cli.study.listener import Interrupted, Listener
from mbsim_cli.study.sweep.collecting import collect
from mbsim_cli.study.sweep.computing import Case, Workers
from mbsim_cli.study.sweep.evaluating import CaseEvaluator
from mbsim_cli.study.sweep.forecast import NOTHING, Forecast, forecast
from mbsim_cli.study.sweep.in_process import InProcess
from mbsim_cli.study.sweep.ledger import MISSING, Ledger, ledger_of
from mbsim_cli.study.sweep.outcomes import DONE
from mbsim_cli.study.sweep.planning import check_tables
from mbsim_cli.study.sweep.shards import Shard
from mbsim_cli.study.sweep.study_folder import StudyFolder
from mbsim_cli.study.sweep.summary import summary_of
from mbsim_cli.study.sweep.sweeping import Limits, Tally, cases_of, sweep
from mbsim_cli.system import HAS_FORKS


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
    _warn_of_versions(ledger, listener)
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


def _warn_of_versions(ledger: Ledger, listener: Listener) -> None:
    """Say so where rows of another version are there already."""
    planned, own = ledger.plan.mbsim_version, mbsim_cli.__version__
    if planned != own and ledger.counts.get(DONE):
        sentence = f"mbsim {planned} planned the study and this is mbsim {own}: rows of both may differ in their last"
        listener.warn(f"warning: {sentence} digits; {flag('force')} begins anew")


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
