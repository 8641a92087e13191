"""When cases are computed in lanes: compiling a loop takes long, loading one hardly any time."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from mbsim_cli.kernels.compiler.simd import TOGETHER
from mbsim_cli.model.problem import Options
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.sweep import evaluating, running
from mbsim_cli.study.sweep.running import Work


@dataclass
class Problem:
    """What the choice reads of a problem."""

    options: Options


def problem_of(formulation):
    return Problem(Options(formulation=formulation))


class Loops:
    """In place of what compiles the loop: whether it is in the cache, or another process makes it."""

    def __init__(self, monkeypatch, *, kept=False, awaited=False):
        self.compiled, self.calls, self._kept, self._awaited = 0, 0, kept, awaited
        monkeypatch.setattr(evaluating, "compile_lanes", self)

    def __call__(self, problem, listener, require=lambda: None, waits=None):
        self.calls += 1
        if self._awaited and waits:
            waits("loop")
        if not self._kept:
            require()
            self.compiled += 1
        return ["loop"], True


@pytest.mark.parametrize(("formulation", "worth"), [("recursive", 20.0), ("ali3p-rtdyn1", 40.0)])
def test_a_loop_is_compiled_for_long_studies_only(monkeypatch, formulation, worth):
    problem, loops = problem_of(formulation), Loops(monkeypatch)
    assert evaluating.lanes_for(problem, 0.99 * worth, SILENT) == 1 and not loops.compiled
    assert evaluating.lanes_for(problem, worth, SILENT) == TOGETHER and loops.compiled == 1


def test_one_that_is_in_the_cache_serves_short_studies_too(monkeypatch):
    problem, loops = problem_of("ali3p-rtdyn1"), Loops(monkeypatch, kept=True)
    assert evaluating.lanes_for(problem, 3.0, SILENT) == TOGETHER and loops.calls == 1
    assert evaluating.lanes_for(problem, 1.0, SILENT) == 1 and loops.calls == 1


def test_a_short_study_does_not_wait_for_who_compiles_it(monkeypatch):
    loops = Loops(monkeypatch, kept=True, awaited=True)
    assert evaluating.lanes_for(problem_of("recursive"), 10.0, SILENT) == 1 and loops.calls == 1


@pytest.mark.parametrize(("made", "together"), [([None, None], 1), ([None, object()], TOGETHER)])
@pytest.mark.parametrize("seconds", [10.0, 100.0])
def test_a_first_step_that_cannot_be_made_loads_no_loop(monkeypatch, made, together, seconds):
    monkeypatch.setattr(evaluating, "first_step", lambda problem: problem)
    monkeypatch.setattr(evaluating, "at_every_step", lambda problem: problem)
    monkeypatch.setattr("mbsim_cli.solve.lanes.run_beside", lambda problems, poll: (made, 0.0))
    assert evaluating.lanes_for(problem_of("recursive"), seconds, SILENT) == together


def test_two_cases_are_quicker_one_by_one(monkeypatch):
    monkeypatch.setattr("mbsim_cli.solve.lanes.run_beside", None)  # nothing may call it
    plans = [object(), object()]
    assert evaluating.in_lanes(plans, lambda: None) == (plans, 0.0)


@pytest.mark.parametrize(("work", "expected"), [(Work(2), False), (Work(2, 5.0), True), (Work(dask="there"), True)])
def test_clocks_and_clusters_take_cases_one_by_one(monkeypatch, work, expected):
    """The loop was compiled in the time of each worker's first case, which then took too long."""
    told = []
    monkeypatch.setattr(running, "CaseEvaluator", lambda plan, listener, one_by_one: told.append(one_by_one))
    monkeypatch.setattr(running, "Cluster", lambda address, start, listener: SimpleNamespace(_start=start))
    running.workers_of(None, 3, work, SILENT)._start(SILENT)
    assert told == [expected]
