"""Data taken from a study: all rows in one file or table, and the result file of one case."""

import shlex
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError, either, option
from mbsim_cli.io.provenance import storable
from mbsim_cli.io.study_file import StudyTable, write_study
from mbsim_cli.io.tables import Column, write_table
from mbsim_cli.io.target import check_target, elsewhere, replaced
from mbsim_cli.study.sweep.store import DONE, Ledger, cases_with_data, data_of_cases, ledger_of
from mbsim_cli.study.sweep.study_folder import StudyFolder


def table_of(ledger: Ledger) -> StudyTable:
    """The rows of a ledger side by side."""
    plan = ledger.plan
    numbers = ledger.numbers()
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
    for row in filter(None, ledger.rows):
        remarks = row.remarks
        undefined = [f"no derivative by {name}: {why}" for name, why in remarks.get("undefined", {}).items()]
        failure = [remarks["failure"]] if "failure" in remarks else []
        found[row.case] = "; ".join([*failure, *undefined, *remarks.get("warnings", ())])
    return found


def collect(folder: StudyFolder, ledger: Ledger) -> Path:
    """Write ``study.h5``; return its path. Cases count as missing where what sensors showed is damaged."""
    plan = ledger.plan
    if plan.sensors:
        ledger.require_data(cases_with_data(folder, thorough=True))
    sensors = {column.name: (column.components, column.unit) for column in plan.sensors}
    write_study(folder.collected, table_of(ledger), sensors, partial(data_of_cases, folder, ledger))
    return folder.collected


def columns_of(table: StudyTable) -> dict[str, Any]:
    """One column (N,) for each number of a case, by name."""
    found: dict[str, Any] = {"case": np.arange(len(table.design)), "status": table.status, "seconds": table.seconds}
    named = list(zip(table.varied, table.design.T, strict=True))
    named += zip(table.objectives, table.results.T, strict=True)
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
    # texts as objects: an array of texts has room for the longest in all
    known = columns_of(table).items()
    columns = [Column(name, "", np.array(v, dtype=object) if isinstance(v, list) else v) for name, v in known]
    write_table(target, kind, columns, title=str(table.attributes.get("study", "")), force=True)


def extract_result(folder: StudyFolder, case: int, target: Path | None, *, force: bool) -> Path:
    """Write the result file of a case; return its path. Raises UsageError where none is kept, and InputOutputError."""
    ledger = ledger_of(folder)
    if not ledger.plan.full:
        raise UsageError(f"the study in {folder} keeps no results of its cases; {option('keep', 'full')} does")
    found = next((data.result for data in data_of_cases(folder, ledger, case) if data.result), None)
    if found is None and case < ledger.plan.cases and ledger.status[case] == DONE:
        again = either(f"mbsim sweep retry {shlex.quote(str(folder))}", "study.compute(failed=True)")
        damaged = f"the result of case {case} that is kept in {folder} is damaged"
        raise InputOutputError(f"{damaged}; {again} computes it again")
    if found is None:
        listed = either("mbsim sweep status", "study.status")
        raise UsageError(f"the study in {folder} has no result of case {case}; {listed} lists those that are done")
    path = target or folder.path / f"case-{case}.h5"
    if folder.needs(path.resolve()):
        raise InputOutputError(f"{path} is a part of the study; {elsewhere()}")
    with replaced(check_target(path, force=force), force=force) as written:
        written.write_bytes(found)
    return path
