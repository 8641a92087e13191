"""An optimisation from its model file to the result of the best design."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.caller import either
from mbsim_cli.errors import AnalysisError, UsageError
from mbsim_cli.io.target import check_target
from mbsim_cli.spec.moved import with_adjoint_by
from mbsim_cli.study.assembling import load
from mbsim_cli.study.evaluation import Gradient
from mbsim_cli.study.listener import Interrupted, Listener
from mbsim_cli.study.optimizing.analyses import Analyses
from mbsim_cli.study.optimizing.design import FEASIBLE, Designs, Limit
from mbsim_cli.study.optimizing.findings import doubts_of, history_of, line_of, report_of
from mbsim_cli.study.optimizing.log import Log, identity_of
from mbsim_cli.study.optimizing.methods import method_for, search
from mbsim_cli.study.optimizing.statement import limits_of, method_of_gradients, stated, varied_fields, volume_of
from mbsim_cli.study.optimizing.variables import Variables, variables_of
from mbsim_cli.study.plan import draft
from mbsim_cli.study.recording import guard_of, recorded
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.timing import Timing

Stop = Interrupted | KeyboardInterrupt


class Task(NamedTuple):
    """An optimisation that a model file states, before anything is assembled."""

    name: str
    given: Any  # spec.Optimization
    file: Any  # spec.ModelFile, whose gradients the search follows
    settings: Settings
    variables: Variables  # but for the elements of fields
    limits: list[Limit]

    @property
    def by(self) -> Sequence[str] | None:
        """Parameters that gradients are taken by; None where there are fields, and the file says so."""
        return None if self.given.fields else self.variables.names

    def method(self, algorithm: str | None) -> str:
        """How to search; raises UsageError for a way that cannot keep the limits."""
        found = method_for(algorithm or self.given.algorithm, len(self.variables.start))
        if found == "mma" and any(limit.equal for limit in self.limits):
            raise UsageError("mma keeps no equalities; choose slsqp")
        return found

    def designs(self, analyse: Callable[[np.ndarray], Mapping[str, Gradient]], most: int) -> Designs:
        """Designs by at ``most`` so many analyses, none of them tried yet."""
        tolerance = float(self.file.expressions.value(self.given.tolerance).real)
        sign = 1.0 if self.given.minimize is not None else -1.0
        goal = self.given.objective
        return Designs(self.variables, goal, sign, self.limits, analyse, most, tolerance)


def optimize(
    path: Path,
    name: str | None,
    output: Path | None,
    settings: Settings,
    *,
    evaluations: int | None = None,
    algorithm: str | None = None,
    command: str,
    listener: Listener,
    force: bool,
    begun: float | None = None,
) -> dict[str, Any]:
    """Optimise as a model file states under a name; write the result of the best design; return what --json prints."""
    timing = Timing()
    with timing.phase("load", begun):
        task = _task(path, name, settings)
        output = output or Path(f"{path.stem}-{task.name}.h5")
        guard = guard_of(task.file, force)
        target = check_target(output, **guard)
    base = draft(task.file, task.settings, timing, task.by).plan(timing, listener)
    if task.given.fields:
        task = task._replace(variables=task.variables.with_fields(varied_fields(task.file, base)))
    method = task.method(algorithm)
    with timing.phase("compile"):
        base.compile(listener)
    analyses = Analyses(task.file, base.settings, task.variables, task.by, listener)
    identity = identity_of(task.file, base.settings, task.variables)
    kept = target.with_name(f"{target.name}.designs")
    log = Log(kept, identity, analyses.objectives, listener, force=force)
    designs = task.designs(log, evaluations or task.given.evaluations)
    with closing(log), listener.shield():
        ended, stop = _searched(method, designs, timing, listener)
        if not designs.trials:
            raise stop or AnalysisError(ended)
        planned = replace(analyses.plan(designs.best.values, timing), second_run=True)
        units = {objective.name: objective.unit for objective in planned.assembled.objectives}
        units |= {volume_of(field): "1" for field in designs.variables.fields}
        history = history_of(designs, units, {"name": task.name, "method": method, "ended": ended or "optimal"})
        outcome = recorded(planned, target, guard, command, timing, listener, history)
        if stop is None:
            log.remove()
    report = {"model": str(path), "output": str(output)} | outcome.report
    report["warnings"] = [*report["warnings"], *doubts_of(designs, ended)]
    report["optimization"] = report_of(designs, history, units)
    _leave(designs, stop, output, listener)
    return report


def _task(path: Path, name: str | None, settings: Settings) -> Task:
    """What a model file states under a name; raises ModelError and UsageError."""
    file = load(path, settings)
    name, given = stated(file, name)
    variables = variables_of(file, given.varied)
    settings = replace(settings, method=method_of_gradients(file, settings, given))
    if given.fields:
        file = with_adjoint_by(file, variables.names, given.fields)
    return Task(name, given, file, settings, variables, limits_of(file, given))


def _searched(method: str, designs: Designs, timing: Timing, listener: Listener) -> tuple[str, Stop | None]:
    """Why the search ended, nothing where it found an optimum; and what interrupted it."""
    best: list[Any] = [None]
    with timing.phase("solve"), listener.progress("optimizing", designs.most) as show:

        def tell(designs: Designs) -> None:
            show(len(designs.trials))
            if designs.best is not best[0]:
                best[0] = designs.best
                listener.say(line_of(designs))

        designs.told = tell
        try:
            return search(method, designs), None
        except (Interrupted, KeyboardInterrupt) as stop:
            return str(stop) or "interrupted", stop


def _leave(designs: Designs, stop: Stop | None, output: Path, listener: Listener) -> None:
    """Raise what ended an optimisation too early, or that no design keeps to the limits; the result is written."""
    trial = designs.best
    if stop is not None:
        goes_on = f"the same {either('command', 'call')} goes on with the search"
        sentence = f"the best of {len(designs.trials)} designs is kept in {output}; {goes_on}"
        listener.warn(f"mbsim: {sentence}")
        stop.add_note(sentence)
        stop.__dict__["kept"] = str(output)
        raise stop
    if trial.violation > FEASIBLE:
        limit = designs.missed
        failure = AnalysisError(
            f"no design was found within the limits: the best has {limit.name} {trial.found[limit.name]:.8g}, "
            f"which is to be {limit.words}; it is kept in {output}"
        )
        failure.__dict__["kept"] = str(output)
        raise failure
