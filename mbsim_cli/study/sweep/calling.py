"""``sweep`` as Python programs call it: the options of ``mbsim sweep`` that make sense there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mbsim_cli.errors import UsageError
from mbsim_cli.processors import usable
from mbsim_cli.spec.studies import KINDS
from mbsim_cli.study.keyboard import Patient
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.sweep.planning import Wanted, planned
from mbsim_cli.study.sweep.running import Way, run_study
from mbsim_cli.study.sweep.shards import Shard
from mbsim_cli.study.sweep.study import Study
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


def way_of(workers: int, case_timeout: float | None) -> Way:
    """How cases are computed; raises UsageError."""
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 0:
        raise UsageError(f"workers wants a whole number, 0 for one on each processor, not {workers!r}")
    if case_timeout is not None and not case_timeout > 0.0:
        raise UsageError(f"case_timeout wants a positive number of seconds, not {case_timeout!r}")
    return Way(workers or usable(), case_timeout)


def computed(folder: StudyFolder, way: Way, listener: Listener, max_failures: int | None) -> Study:
    """The study, of which what is missing is computed."""
    report = run_study(folder, Shard(), way, Limits(max_failures=max_failures), Patient(listener))
    return Study(folder.path, report)
