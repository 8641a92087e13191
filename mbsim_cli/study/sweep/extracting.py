"""The result file of one case, out of a study that keeps them all."""

from pathlib import Path

from mbsim_cli.caller import either, option
from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.io.target import check_target, elsewhere, is_result, replaced
from mbsim_cli.study.sweep.kept import all_kept
from mbsim_cli.study.sweep.ledger import ledger_of
from mbsim_cli.study.sweep.outcomes import DONE
from mbsim_cli.study.sweep.study_folder import StudyFolder


def extract_result(folder: StudyFolder, case: int, target: Path | None, *, force: bool) -> Path:
    """Write the result file of a case; return its path. Raises UsageError where none is kept, and InputOutputError."""
    ledger = ledger_of(folder)
    if not ledger.plan.full:
        raise UsageError(f"the study in {folder} keeps no results of its cases; {option('keep', 'full')} does")
    found = next((kept.result for kept in all_kept(folder, ledger, {case}) if kept.result), None)
    if found is None and case < ledger.plan.cases and ledger.status[case] == DONE:
        again = either(f"mbsim sweep retry {folder}", "study.compute(failed=True)")
        damaged = f"the result of case {case} that is kept in {folder} is damaged"
        raise InputOutputError(f"{damaged}; {again} computes it again")
    if found is None:
        told = either("mbsim sweep status", "study.status")
        raise UsageError(f"the study in {folder} has no result of case {case}; {told} tells which are done")
    path = target or folder.path / f"case-{case}.h5"
    place = check_target(path, force=force)
    if folder.needs(place):
        raise InputOutputError(f"{path} is a part of the study; {elsewhere()}")
    with replaced(place, is_own=is_result, force=force) as written:
        written.write_bytes(found)
    return path
