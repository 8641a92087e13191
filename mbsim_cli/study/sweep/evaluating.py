"""One case of a study: the analysis at its values, and what it leads to."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from mbsim_cli.errors import AnalysisError, InputOutputError, MbsimError, ModelError, UsageError, one_line
from mbsim_cli.io.thinning import KeptRows
from mbsim_cli.spec.judging.doubts import doubts_of_values
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.listener import SILENT, Asking, Listener
from mbsim_cli.study.plan import Plan, Timing, draft
from mbsim_cli.study.recording import recorded
from mbsim_cli.study.run import Outcome, run, settle_motion
from mbsim_cli.study.sweep import lanes
from mbsim_cli.study.sweep.outcomes import DEFECT, DONE, INVALID, LOST, UNREADABLE, Case, Computed, Row
from mbsim_cli.study.sweep.store import Kept, packed
from mbsim_cli.study.sweep.study_plan import StudyPlan, command_of

MOSTLY = 0.5  # of what is done together: beyond, cases are computed one by one


@dataclass
class _Planned:
    """The run of a case, which may be made already, and where its time went."""

    plan: Plan
    timing: Timing


class CaseEvaluator:
    """Reads and assembles the model once; a call computes one case and raises nothing that a case can cause.

    ``together`` is how many ``several`` computes in less time than one by one, where cases are not to be taken
    ``one_by_one``.
    """

    def __init__(self, plan: StudyPlan, listener: Listener, *, one_by_one: bool = False):
        self._plan, self._listener, self._people = plan, Asking(listener), listener
        self._base = base_of(plan, listener)
        self.together = 1
        self._may_have_lanes = not (one_by_one or lanes.without_lanes(self._base.assembled.problem))

    def __call__(self, case: Case) -> Computed:
        start = perf_counter()
        found = self._computed(case, start)
        if self._may_have_lanes and found.row.status == DONE:
            self._begin_lanes(found.row.seconds)
        return found

    def several(self, cases: Sequence[Case]) -> Iterator[Computed]:
        """The same of cases, computed together; the time that this takes counts for each of them alike."""
        start = perf_counter()
        planned = self._together(cases)
        share = (perf_counter() - start) / len(cases)
        for case in cases:
            yield self._computed(case, perf_counter() - share, planned.pop(case.number, None))

    def _together(self, cases: Sequence[Case]) -> dict[int, _Planned]:
        """Cases by number whose runs are made, where they can be; one that cannot be planned says so alone."""
        planned: dict[int, _Planned] = {}
        for case in cases:
            with suppress(Exception):
                planned[case.number] = self._planned(case)
        start = perf_counter()
        with suppress(MemoryError):
            plans, parted = lanes.in_lanes([each.plan for each in planned.values()], self._listener.poll)
            if parted > MOSTLY:
                self.together = 1
            for each, plan in zip(planned.values(), plans, strict=True):
                each.plan = plan
                each.timing.solve += (perf_counter() - start) / len(plans)
        return planned

    def _begin_lanes(self, seconds: float) -> None:
        """Compute cases together from now on, where a study of cases that take so long gains by it."""
        self._may_have_lanes = False
        self.together = lanes.lanes_for(self._base.assembled.problem, seconds * self._plan.cases, self._people)

    def _computed(self, case: Case, start: float, planned: _Planned | None = None) -> Computed:
        """A case, which may be planned, since ``start``."""
        status, numbers, remarks, kept = self._attempted(case, planned)
        return Computed(Row(case.number, case.identity, status, perf_counter() - start, numbers, remarks), kept)

    def _attempted(self, case: Case, planned: _Planned | None) -> tuple[int, np.ndarray, Mapping[str, Any], bytes]:
        """Status, numbers, remarks, and what is kept."""
        try:
            return DONE, *self._solved(case, planned or self._planned(case))
        except MemoryError:
            status, sentence = LOST, "there was not enough memory"
        except (ModelError, UsageError) as error:
            status, sentence = INVALID, one_line(error)
        except MbsimError as error:
            status, sentence = error.exit_code, str(error)
        except OSError as error:
            status, sentence = UNREADABLE, f"the system refuses: {error}"
        except Exception as error:
            status, sentence = DEFECT, f"internal error, a defect of mbsim ({type(error).__name__}: {error})"
        return status, np.zeros(0), {"failure": sentence}, b""

    def _planned(self, case: Case) -> _Planned:
        timing, values = Timing(), zip(self._plan.varied, case.values, strict=True)
        moved = {column.name: float(value) for column, value in values}
        base = self._base
        drafted = draft(base.model_file, base.settings, timing, values=moved, before=base.named)
        return _Planned(self._of_kept(drafted.plan(timing, SILENT)), timing)

    def _of_kept(self, plan: Plan) -> Plan:
        """A plan without the objectives that are not kept: they take no time, cause no failure and no warning."""
        kept = {column.name for column in self._plan.objectives}
        objectives = [objective for objective in plan.assembled.objectives if objective.name in kept]
        return replace(plan, assembled=replace(plan.assembled, objectives=objectives))

    def _solved(self, case: Case, planned: _Planned) -> tuple[np.ndarray, Mapping[str, Any], bytes]:
        plan, timing, nothing = planned.plan, planned.timing, np.zeros(0)
        if self._plan.full:
            outcome, result = self._recorded(plan, case, timing)
            kept = packed(Kept(case.number, case.identity, nothing, nothing.reshape(0, 0), result))
        else:
            tracks = _Tracks(self._plan, plan) if self._plan.sensors else None
            outcome = run(plan, timing, self._listener, tracks.add if tracks else None)
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
    texts = {os.path.normpath(Path(plan.folder, name)): text for name, text in plan.texts.items()}
    timing = Timing()
    model_file = spec.load(str(plan.path), settings.overrides, texts)
    base = draft(model_file, settings, timing).plan(timing, listener)
    _require_known(plan, base.assembled)
    with suppress(AnalysisError):  # the file's own values need be no case of the study
        base.compile(listener)
    return base


def _require_known(plan: StudyPlan, assembled: Any) -> None:
    """Raise InputOutputError where a plan names what its model lacks, as none does that the program has made."""
    names = assembled.problem.names
    known = {
        "objectives": [objective.name for objective in assembled.objectives],
        "sensors": names.sensors,
        "parameters": names.parameters,
        "varied": [*assembled.model_file.parameters, *assembled.model_file.constants],
    }
    for kind, there in known.items():
        for column in getattr(plan, kind):
            if column.name not in there:
                raise InputOutputError(
                    f"the plan of the study names {column.name!r} among its {kind}, which the model lacks"
                )
    if len(plan.parameters) != len(names.parameters):
        raise InputOutputError("the plan of the study has other derivatives than the model gives")


def _numbers(plan: StudyPlan, outcome: Outcome) -> np.ndarray:
    """Of each objective its value and its derivatives."""
    found = (outcome.results[column.name] for column in plan.objectives)
    return np.concatenate([np.zeros(0), *(np.append(result.value, result.gradient) for result in found)])


def _remarks(plan: StudyPlan, outcome: Outcome) -> dict[str, Any]:
    """What is out of the ordinary, where anything is."""
    settle_motion(outcome.plan, outcome.watchers.resolution)
    undefined = {name: why for result in outcome.results.values() for name, why in result.undefined.items()}
    warnings = [*doubts_of_values(outcome.plan.model_file), *outcome.watchers.warnings(outcome.results)]
    found = {"warnings": warnings, "undefined": undefined if plan.parameters else {}}
    return {name: entries for name, entries in found.items() if entries}


class _Tracks:
    """Collects what the kept sensors show; every ``output_interval``-th instant, and the last."""

    def __init__(self, plan: StudyPlan, planned: Plan):
        rows = planned.assembled.sensor_rows
        self._columns = np.concatenate([np.r_[rows[column.name]] for column in plan.sensors])
        self._kept = KeptRows(planned.assembled.problem.options.output_interval)

    def add(self, block: Any) -> None:
        """Take the next instants in."""
        self._kept.add([block.time, block.sensors[:, self._columns]])

    @property
    def whole(self) -> tuple[np.ndarray, np.ndarray]:
        """Time (T,) and record (T, w)."""
        return self._kept.column(0), self._kept.column(1)
