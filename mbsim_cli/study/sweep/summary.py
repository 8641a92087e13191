"""What a study has found so far, as plain data."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mbsim_cli.study.sweep.commands import command_of
from mbsim_cli.study.sweep.effects import main_effects, unknown_effects
from mbsim_cli.study.sweep.ledger import MISSING, Ledger
from mbsim_cli.study.sweep.outcomes import DONE, WORDS

_NUMBER = re.compile(r"(?<!\w)[-+]?\d[\d.]*(e[-+]?\d+)?")


def status_of(ledger: Ledger) -> dict[str, Any]:
    """How many cases are done, failed and missing, and why those failed."""
    counts = ledger.counts
    missing = counts.pop(MISSING, 0)
    done = counts.pop(DONE, 0)
    return {
        "study": ledger.plan.study,
        "model": str(ledger.plan.path),
        "cases": ledger.plan.cases,
        "done": done,
        "failed": {WORDS[status]: count for status, count in sorted(counts.items())},
        "missing": missing,
        "seconds": float(np.nansum(ledger.seconds)),
        "strange_rows": ledger.strange,
        "lost_records": ledger.unkept,
        "failures": failures_of(ledger),
    }


def failures_of(ledger: Ledger) -> list[dict[str, Any]]:
    """Cases that failed, each with its reason and the command that repeats it."""
    found = []
    for case in np.flatnonzero((ledger.status != DONE) & (ledger.status != MISSING)).tolist():
        row = ledger.row(case)
        reason = row.remarks.get("failure", "") if row else ""
        command = command_of(ledger.plan, ledger.values[case])
        found.append({"case": case, "status": int(ledger.status[case]), "reason": reason, "command": command})
    return found


def summary_of(ledger: Ledger) -> dict[str, Any]:
    """The status, and of each objective its extremes, its mean and the main effects of the parameters."""
    plan = ledger.plan
    numbers = ledger.numbers().reshape(plan.cases, len(plan.objectives), 1 + len(plan.parameters))
    names = [column.name for column in plan.varied]
    objectives = {
        column.name: {"unit": column.unit} | _of_objective(names, ledger.values, numbers[:, place, 0])
        for place, column in enumerate(plan.objectives)
    }
    warnings = _alike(sentence for row in ledger.rows() for sentence in row.remarks.get("warnings", ()))
    undefined = Counter(name for row in ledger.rows() for name in row.remarks.get("undefined", ()))
    found = {"objectives": objectives, "warnings": warnings, "undefined_gradients": dict(undefined)}
    return status_of(ledger) | found


def _alike(sentences: Iterable[str]) -> dict[str, int]:
    """How often each sentence was said; those that differ by numbers alone count as the first of them."""
    first: dict[str, str] = {}
    return dict(Counter(first.setdefault(_NUMBER.sub("", sentence), sentence) for sentence in sentences))


def _of_objective(names: Sequence[str], values: np.ndarray, results: np.ndarray) -> dict[str, Any]:
    known = np.flatnonzero(np.isfinite(results))
    if not len(known):
        nothing = dict.fromkeys(("lowest", "highest", "mean"))
        return nothing | {"main_effects": {}, "main_effects_unknown": {}}

    def case(place: int) -> dict[str, Any]:
        at = dict(zip(names, values[place].tolist(), strict=True))
        return {"case": int(place), "value": float(results[place]), "parameters": at}

    effects = main_effects(values, results).tolist()
    return {
        "lowest": case(known[results[known].argmin()]),
        "highest": case(known[results[known].argmax()]),
        "mean": float(results[known].mean()),
        "main_effects": dict(zip(names, effects, strict=True)),
        "main_effects_unknown": unknown_effects(names, values, results),
    }
