"""Cases of a study, one by one or eight in one compiled loop: the analysis at their values, and its row."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from mbsim_cli import spec
from mbsim_cli.assembly.problem import Assembled
from mbsim_cli.errors import AnalysisError, InputOutputError, MbsimError, ModelError, UsageError, one_line
from mbsim_cli.io.layout import KeptRows
from mbsim_cli.kernels.compiler.simd import TOGETHER
from mbsim_cli.kernels.compiler.watch import watch_compilation
from mbsim_cli.model.problem import Problem
from mbsim_cli.spec.warnings import warnings_of_values
from mbsim_cli.study.analyses import at_every_step
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.compiling import first_step
from mbsim_cli.study.diagnostics.discretisation import settle_motion
from mbsim_cli.study.listener import SILENT, Listener, PollOnly
from mbsim_cli.study.plan import Plan, Timing, plan_run
from mbsim_cli.study.recording import recorded
from mbsim_cli.study.run import Outcome, run
from mbsim_cli.study.sweep import store
from mbsim_cli.study.sweep.job_script import command_of
from mbsim_cli.study.sweep.store import Case, Computed, Evaluator, Row
from mbsim_cli.study.sweep.study_folder import StudyPlan

# Cases in lanes: where a study has no gradients, the runs of eight cases are made in one compiled loop.
#
# Rows do not depend on it, for each lane goes the way of its case alone; only the time does. It takes some seconds to
# compile such a loop, so short studies do without where it is not in the cache.

WORTH = 20.0  # s of all cases one by one, above which compiling a loop saves time; twice as much for ALI3-P
WORTH_LOADING = 2.0  # the same for loading a compiled loop, s
LEAST = 3  # cases, from which on a loop saves time: idle lanes take as long as others
MOSTLY = 0.5  # share of the work done one by one, above which lanes are not used again


class _NotCached(Exception):
    """A loop must be compiled, here or in another process."""


def _give_up(*_: str) -> None:
    raise _NotCached


def lanes_for(problem: Problem, seconds: float, listener: Listener) -> int:
    """Number of cases to compute together if all cases one by one take ``seconds``; loads or compiles the loop."""
    made = False
    if seconds >= (WORTH if problem.options.integrated else 2.0 * WORTH):
        _, made = compile_lanes(problem, listener)
    elif seconds >= WORTH_LOADING:
        with suppress(_NotCached):
            _, made = compile_lanes(problem, listener, _give_up, _give_up)
    return TOGETHER if made else 1


def compile_lanes(
    problem: Problem,
    listener: Listener,
    require: Callable[[], None] = lambda: None,
    waits: Callable[[str], None] = lambda name: None,
) -> tuple[list[str], bool]:
    """Load or compile the kernels of cases in lanes, by a first step; ``require`` is called before each compilation.

    ``waits`` gets the name of a kernel that another process compiles. Returns the names of compiled kernels, and
    whether there was a first step; there is none where the model makes none in lanes.
    """
    from mbsim_cli.solve.lanes import run_beside

    names: list[str] = []

    def begin(name: str) -> None:
        require()
        names.append(name)
        listener.say(f"compiling {name}, for eight cases at once")

    with watch_compilation(begin, waits):
        runs, _ = run_beside([at_every_step(first_step(problem))] * 2, listener.poll)
    return names, any(run is not None for run in runs)


def in_lanes(plans: Sequence[Plan], poll: Callable[[], None]) -> tuple[list[Plan], float]:
    """Plans whose runs are made, where they can be together; and the share of it that had to be done one by one."""
    from mbsim_cli.solve.lanes import run_beside

    if len(plans) < LEAST:
        return list(plans), 0.0
    found: list[Plan] = []
    runs, parted = run_beside([at_every_step(plan.assembled.problem) for plan in plans], poll)
    for plan, made in zip(plans, runs, strict=True):
        problem = plan.assembled.problem if made is None else replace(plan.assembled.problem, ahead=made)
        found.append(plan._replace(assembled=replace(plan.assembled, problem=problem)))
    return found, parted


_PlannedCase = tuple[Plan, Timing]  # the run of a case, which may be made already, and where its time went


class CaseEvaluator(Evaluator):
    """Reads and assembles the model once; a call computes one case and raises nothing that a case can cause."""

    def __init__(self, plan: StudyPlan, listener: Listener, *, one_by_one: bool = False):
        self._plan, self._listener, self._people = plan, PollOnly(listener), listener
        from mbsim_cli.solve.lanes import why_alone
        from mbsim_cli.study.event_times import jumping

        self._base = base_of(plan, listener)
        problem = self._base.assembled.problem
        alone = one_by_one or why_alone(problem) or (problem.options.integrated and any(jumping(problem)))
        self._may_have_lanes = not alone

    def __call__(self, case: Case) -> Computed:
        start = perf_counter()
        found = self._computed(case, start)
        if self._may_have_lanes and found.row.status == store.DONE:
            self._may_have_lanes = False  # from here on ``batch_size`` is known
            seconds = found.row.seconds * self._plan.cases
            self.batch_size = lanes_for(self._base.assembled.problem, seconds, self._people)
        return found

    def compute_batch(self, cases: Sequence[Case]) -> Iterator[Computed]:
        """Compute cases together; each is charged an equal share of the time."""
        if len(cases) == 1:
            yield self(cases[0])
            return
        start = perf_counter()
        planned = self._planned_together(cases)
        share = (perf_counter() - start) / len(cases)
        for case in cases:
            yield self._computed(case, perf_counter() - share, planned.pop(case.number, None))

    def _planned_together(self, cases: Sequence[Case]) -> dict[int, _PlannedCase]:
        """Planned cases by number, solved together if possible; one that cannot be planned fails alone."""
        planned: dict[int, _PlannedCase] = {}
        for case in cases:
            with suppress(Exception):
                planned[case.number] = self._planned(case)
        start = perf_counter()
        with suppress(MemoryError):
            plans, parted = in_lanes([plan for plan, _ in planned.values()], self._listener.poll)
            if parted > MOSTLY:
                self.batch_size = 1
            for (number, (_, timing)), plan in zip(planned.items(), plans, strict=True):
                timing.solve += (perf_counter() - start) / len(plans)
                planned[number] = plan, timing
        return planned

    def _computed(self, case: Case, start: float, planned: _PlannedCase | None = None) -> Computed:
        """The row of a case that began at ``start`` and may be planned already."""
        status, failure, numbers, data = store.DONE, "", np.zeros(0), b""
        remarks: dict[str, Any] = {}
        try:
            numbers, remarks, data = self._solved(case, planned or self._planned(case))
        except MemoryError:
            status, failure = store.LOST, "there was not enough memory"
        except (ModelError, UsageError) as error:
            status, failure = store.INVALID, one_line(error)
        except MbsimError as error:
            status, failure = error.exit_code, str(error)
        except OSError as error:
            status, failure = store.UNREADABLE, f"the system refuses: {error}"
        except Exception as error:
            status, failure = store.DEFECT, f"internal error, a defect of mbsim ({type(error).__name__}: {error})"
        if status != store.DONE:
            remarks = {"failure": failure}
        return Computed(Row(case.number, case.identity, status, perf_counter() - start, numbers, remarks), data)

    def _planned(self, case: Case) -> _PlannedCase:
        timing, values = Timing(), zip(self._plan.varied, case.values, strict=True)
        moved = {column.name: float(value) for column, value in values}
        base = self._base
        plan = plan_run(base.model_file, base.settings, timing, SILENT, values=moved, before=base.named)
        kept = {column.name for column in self._plan.objectives}  # others cause no failure and no warning
        objectives = [objective for objective in plan.assembled.objectives if objective.name in kept]
        return plan._replace(assembled=replace(plan.assembled, objectives=objectives)), timing

    def _solved(self, case: Case, planned: _PlannedCase) -> tuple[np.ndarray, dict[str, Any], bytes]:
        """Numbers, remarks, and the further data of a case as content of a frame."""
        (plan, timing), data = planned, b""
        if self._plan.full:
            command = command_of(self._plan, case.values.tolist())
            with TemporaryDirectory(prefix="mbsim-") as folder:
                target = Path(folder, "result.h5")  # as ``mbsim run`` would write it
                free = {"force": False, "protected": ()}
                outcome = recorded(plan, target, free, command, timing, self._listener)
                result = target.read_bytes()
            data = store.packed(store.CaseData(case.number, case.identity, np.zeros(0), np.zeros((0, 0)), result))
        elif self._plan.sensors:
            rows = plan.assembled.sensor_rows
            shown = np.concatenate([np.r_[rows[column.name]] for column in self._plan.sensors])
            stored = KeptRows(plan.assembled.problem.options.output_interval)
            outcome = run(plan, timing, self._listener, lambda block: stored.add([block.time, block.sensors[:, shown]]))
            data = store.packed(store.CaseData(case.number, case.identity, stored.column(0), stored.column(1)))
        else:
            outcome = run(plan, timing, self._listener)
        found = (outcome.results[column.name] for column in self._plan.objectives)
        numbers = np.concatenate([np.zeros(0), *(np.append(result.value, result.gradient) for result in found)])
        return numbers, _remarks(self._plan, outcome), data


def base_of(plan: StudyPlan, listener: Listener) -> Plan:
    """The run at the file's own values, with everything compiled that it needs."""
    settings = Settings(**plan.settings)
    texts = {os.path.normpath(Path(plan.folder, name)): text for name, text in plan.texts.items()}
    model_file = spec.load(str(plan.path), settings.overrides, texts)
    base = plan_run(model_file, settings, Timing(), listener)
    _require_known(plan, base.assembled)
    with suppress(AnalysisError):  # the file's own values need be no case of the study
        base.compile(listener)
    return base


def _require_known(plan: StudyPlan, assembled: Assembled) -> None:
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


def _remarks(plan: StudyPlan, outcome: Outcome) -> dict[str, Any]:
    """Warnings of a case, where it has any."""
    diagnostics = outcome.diagnostics
    settle_motion(outcome.plan, diagnostics.resolution)
    undefined = {name: why for result in outcome.results.values() for name, why in result.undefined.items()}
    warnings = [*warnings_of_values(outcome.plan.model_file), *diagnostics.warnings(outcome.results)]
    found = {"warnings": warnings, "undefined": undefined if plan.parameters else {}}
    return {name: entries for name, entries in found.items() if entries}
