"""One case of a study: the analysis at its values, and what it leads to."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError, MbsimError, ModelError, UsageError, one_line
from mbsim_cli.io.thinning import Thinning
from mbsim_cli.study.listener import SILENT, Asking, Listener
from mbsim_cli.study.plan import Plan, draft, plan_at
from mbsim_cli.study.recording import recorded
from mbsim_cli.study.run import Outcome, run
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.sweep.commands import command_of
from mbsim_cli.study.sweep.computing import Case, Computed
from mbsim_cli.study.sweep.kept import Kept, packed
from mbsim_cli.study.sweep.outcomes import DEFECT, DONE, INVALID, LOST, Row
from mbsim_cli.study.sweep.study_plan import StudyPlan
from mbsim_cli.study.timing import Timing


class CaseEvaluator:
    """Reads and assembles the model once; a call computes one case and raises nothing that a case can cause."""

    def __init__(self, plan: StudyPlan, listener: Listener):
        self._plan, self._listener = plan, Asking(listener)
        self._base = base_of(plan, listener)

    def __call__(self, case: Case) -> Computed:
        start = perf_counter()
        values = {column.name: float(value) for column, value in zip(self._plan.varied, case.values, strict=True)}
        status, numbers, remarks, kept = self._attempted(case, values)
        return Computed(Row(case.number, case.identity, status, perf_counter() - start, numbers, remarks), kept)

    def _attempted(self, case: Case, values: Mapping[str, float]) -> tuple[int, np.ndarray, Mapping[str, Any], bytes]:
        """Status, numbers, remarks, and what is kept."""
        try:
            return DONE, *self._computed(case, values)
        except MemoryError:
            status, sentence = LOST, "there was not enough memory"
        except (ModelError, UsageError) as error:
            status, sentence = INVALID, one_line(error)
        except MbsimError as error:
            status, sentence = error.exit_code, str(error)
        except Exception as error:
            status, sentence = DEFECT, f"internal error, a defect of mbsim ({type(error).__name__}: {error})"
        return status, np.zeros(0), {"failure": sentence}, b""

    def _computed(self, case: Case, values: Mapping[str, float]) -> tuple[np.ndarray, Mapping[str, Any], bytes]:
        base, timing, nothing = self._base, Timing(), np.zeros(0)
        planned = plan_at(base.model_file, base.settings, values, timing, SILENT)
        if self._plan.full:
            outcome, result = self._recorded(planned, case, timing)
            kept = packed(Kept(case.number, case.identity, nothing, nothing.reshape(0, 0), result))
        else:
            tracks = _Tracks(self._plan, planned) if self._plan.sensors else None
            outcome = run(planned, timing, self._listener, tracks.add if tracks else None)
            kept = packed(Kept(case.number, case.identity, *tracks.whole)) if tracks else b""
        return _numbers(self._plan, outcome), _remarks(self._plan, outcome), kept

    def _recorded(self, planned: Plan, case: Case, timing: Timing) -> tuple[Outcome, bytes]:
        """The outcome, and the result file that ``mbsim run`` would write."""
        command = command_of(self._plan, case.values.tolist())
        with TemporaryDirectory(prefix="mbsim-") as folder:
            target = Path(folder, "result.h5")
            outcome = recorded(planned, target, {"force": False, "protected": ()}, command, timing, self._listener)
            return outcome, target.read_bytes()


def base_of(plan: StudyPlan, listener: Listener = SILENT) -> Plan:
    """The run at the file's own values, with everything compiled that it needs."""
    from mbsim_cli import spec

    settings = Settings(**plan.settings)
    texts = {str(Path(plan.folder, name)): text for name, text in plan.texts.items()}
    timing = Timing()
    model_file = spec.load(str(plan.path), settings.overrides, texts)
    base = draft(model_file, settings, timing).plan(timing, listener)
    with suppress(AnalysisError):  # the file's own values need be no case of the study
        base.compile(listener)
    return base


def _numbers(plan: StudyPlan, outcome: Outcome) -> np.ndarray:
    """Of each objective its value and its derivatives."""
    found = (outcome.results[column.name] for column in plan.objectives)
    return np.concatenate([np.zeros(0), *(np.append(result.value, result.gradient) for result in found)])


def _remarks(plan: StudyPlan, outcome: Outcome) -> dict[str, Any]:
    """What is out of the ordinary, where anything is."""
    undefined = {name: why for result in outcome.results.values() for name, why in result.undefined.items()}
    found = {"warnings": list(outcome.warnings), "undefined": undefined if plan.parameters else {}}
    return {name: entries for name, entries in found.items() if entries}


class _Tracks:
    """Collects what the kept sensors show; every ``output_interval``-th instant, and the last."""

    def __init__(self, plan: StudyPlan, planned: Plan):
        rows = planned.assembled.sensor_rows
        self._columns = np.concatenate([np.r_[rows[column.name]] for column in plan.sensors])
        self._thinning = Thinning(planned.assembled.problem.options.output_interval)
        self._parts: list[np.ndarray] = []
        self._last: np.ndarray | None = None

    def add(self, block: Any) -> None:
        """Take the next instants in."""
        if not len(block.time):
            return
        table = np.column_stack([block.time, block.sensors[:, self._columns]])
        picked, kept = self._thinning.of(len(table))
        self._parts.append(table[picked])
        self._last = None if kept else table[-1:]

    @property
    def whole(self) -> tuple[np.ndarray, np.ndarray]:
        """Time (T,) and record (T, w)."""
        table = np.concatenate(self._parts if self._last is None else [*self._parts, self._last])
        return table[:, 0], table[:, 1:]
