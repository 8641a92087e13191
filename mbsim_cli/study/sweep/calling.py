"""``sweep`` as Python programs call it: the options of ``mbsim sweep`` that make sense there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mbsim_cli.errors import UsageError
from mbsim_cli.processors import usable
from mbsim_cli.spec.studies import KINDS
from mbsim_cli.study.keyboard import Patient
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.sweep.planning import Wanted, planned
from mbsim_cli.study.sweep.running import Way, run_study
from mbsim_cli.study.sweep.shards import Shard
from mbsim_cli.study.sweep.study_folder import StudyFolder
from mbsim_cli.study.sweep.sweeping import Limits

COMMAND = "mbsim_cli.sweep"
KEPT = ("objectives", "sensors", "full")


def begun(
    model_file: Any,
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
    """What keyword arguments state; raises UsageError."""
    if not _is_whole(workers):
        raise UsageError(f"workers wants a whole number, 0 for one on each processor, not {workers!r}")
    if case_timeout is not None and not case_timeout > 0.0:
        raise UsageError(f"case_timeout wants a positive number of seconds, not {case_timeout!r}")
    if dask is not None and (workers != 1 or case_timeout is not None):
        raise UsageError("workers and case_timeout are for processes of this machine; leave them out beside dask")
    for name, count in (("max_failures", max_failures), ("retry", retry)):
        if count is not None and not _is_whole(count):
            raise UsageError(f"{name} wants a whole number, not {count!r}")
    way = Way(workers or usable(), case_timeout, None if dask is None else _address(dask))
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


def _address(dask: Any) -> str:
    """Of a scheduler, or of the one that a client knows."""
    return dask if isinstance(dask, str) else str(dask.scheduler.address)


def computed(folder: StudyFolder, work: Work, listener: Listener) -> dict[str, Any]:
    """Compute what is missing; return the summary."""
    return run_study(folder, work.shard, work.way, work.limits, Patient(listener), failed=work.failed)
