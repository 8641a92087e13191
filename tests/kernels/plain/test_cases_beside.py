"""Eight cases beside each other: what each of them finds alone, to the last bit, whatever the others do."""

import contextlib
from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.drivers.stepping import TIME, TRIED
from mbsim_cli.model.codes import Axes, Force, Law, Status
from mbsim_cli.model.layout import FlexibleTree
from mbsim_cli.solve import blocks as steps_at_once
from mbsim_cli.solve import lanes as beside
from mbsim_cli.solve import lanes as constrained
from mbsim_cli.solve import lanes as open_trees
from mbsim_cli.solve.forward import forward
from mbsim_cli.solve.open_trees import open_tree
from mbsim_cli.solve.open_trees.open_tree import FORMULATIONS
from tests.blocks import joined
from tests.kernels.eight import take_blocks_of_eight, widened
from tests.kernels.open_tree_adjoint import chosen
from tests.kernels.test_integrators import ball_and_arm

LOOSE = {"tolerance": 1e-3, "absolute_tolerance": 1e-3}


@pytest.fixture(autouse=True)
def eight(monkeypatch):
    take_blocks_of_eight(monkeypatch)
    for module in (open_trees, beside):
        monkeypatch.setattr(module, "TOGETHER", 8)
    monkeypatch.setattr(beside, "widened", widened)
    for module in (constrained, beside):
        monkeypatch.setattr(module, "lanes_of", attrgetter("numbers"))


def cases_of(builder, count, rows, **options):
    """The same problem with other numbers in each case."""
    options = {"formulation": "recursive", "integrator": "rk4"} | options
    problem, rng = chosen(builder.problem(), rows, **options), np.random.default_rng(4)
    return [replace(problem, theta=problem.theta * rng.uniform(0.97, 1.03, problem.theta.size)) for _ in range(count)]


def reasons_of(problem, *options):
    """Why it is made alone, by each of these options."""
    return [open_trees.why_alone(replace(problem, options=replace(problem.options, **given))) for given in options]


def assert_told_once(problems):
    """Of two runs each is told to its own problem only, and once."""
    runs, _ = beside.run_beside(problems, lambda: None)
    assert not runs[0].begin(problems[1]) and not runs[0].begin(problems[0])
    assert runs[1].begin(problems[1]) and not runs[1].begin(problems[1])


def assert_alone_unless_alike(problems, steps, monkeypatch):
    """A run of so many steps is not made beside those of one, and none is where there is no room."""
    options = problems[0].options
    longer = replace(problems[0], options=replace(options, duration=steps * options.step))
    runs, _ = beside.run_beside([*problems[:2], longer], lambda: None)
    assert runs[2] is None and all(runs[:2])
    assert beside.run_beside([problems[0], longer], lambda: None)[0] == [None, None]
    monkeypatch.setattr(beside, "ROOM", 1000)
    assert beside.run_beside(problems, lambda: None)[0] == [None] * len(problems)


def told(problem):
    """All blocks of a run, and what it fails with."""
    blocks = []
    try:
        blocks.extend(forward(problem))
    except AnalysisError as error:
        return blocks, str(error)
    return blocks, ""


def assert_beside(problems):
    """Compare with single runs; return the sentences, and the share of evaluations that was made one by one."""
    runs, parted = beside.run_beside(problems, lambda: None)
    assert all(runs)
    sentences = []
    for problem, run in zip(problems, runs, strict=True):
        sentences.append(assert_same(told(problem), told(replace(problem, ahead=run))))
    return sentences, parted


def assert_same(one, other):
    """Compare what two runs have told; return the sentence of both."""
    (open_trees, failure), (found, sentence) = one, other
    assert sentence == failure and steps_of(found) == steps_of(open_trees)
    for values, expected in zip(joined(found), joined(open_trees), strict=True):
        np.testing.assert_array_equal(values, expected)
    return failure


def steps_of(blocks):
    """How many steps each block has, behind the initial instant, which may be in a block of its own."""
    rows = [len(block.time) for block in blocks]
    return rows[1:] if rows[:1] == [1] else [count - (k == 0) for k, count in enumerate(rows)]


@pytest.mark.parametrize(
    ("integrator", "formulation"),
    [
        ("rk4", "recursive"),
        *(pytest.param("rk4", name, marks=pytest.mark.slow) for name in FORMULATIONS if name != "recursive"),
        pytest.param("dop853", "recursive", marks=pytest.mark.slow),
    ],
)
def test_each_goes_as_it_goes_alone(integrator, formulation):
    options = LOOSE if integrator == "dop853" else {}
    problems = cases_of(ball_and_arm(), 2, 1, integrator=integrator, formulation=formulation, step=0.01, **options)
    assert not any(map(open_trees.why_alone, problems))
    assert assert_beside(problems) == ([""] * 2, 0.0)


@pytest.mark.slow
def test_calls_that_pause_behind_each_step(monkeypatch):
    monkeypatch.setattr(steps_at_once, "PATIENCE", 0.0)
    problems = cases_of(ball_and_arm(), 2, 1, integrator="dop853", step=0.05, **LOOSE)
    assert assert_beside(problems) == ([""] * 2, 0.0)


def test_branches_part_some_evaluations():
    """A force that begins in one of the cases, whose step ends there, and not in the other."""
    builder = ball_and_arm()
    law = builder.law(Law.POLYNOMIAL, window=(0.0, 2.0))
    builder.applied(Force.POINT_FORCE, 1, Axes.BODY, law)
    problems = cases_of(builder, 2, 1, step=0.02)
    for problem, begins in zip(problems, (0.005, 1.0), strict=True):
        problem.theta[builder.laws[law][3]] = begins
    sentences, parted = assert_beside(problems)
    assert sentences == [""] * 2 and parted == 6 / 11  # two where it begins, four in the step behind


def test_a_case_that_fails_says_what_it_says_alone_and_stops_no_other():
    problems = cases_of(ball_and_arm(), 3, 2, step=0.01)
    theta = problems[1].theta
    theta[problems[1].model.tree.initial[0] + 8 :] *= 1e200
    with np.errstate(all="ignore"):
        sentences, _ = assert_beside(problems)
    assert "finite" in sentences[1] and not sentences[0] + sentences[2]


def test_a_run_is_told_once_and_to_its_own_problem_only():
    assert_told_once(cases_of(ball_and_arm(), 2, 1, step=0.01))


def test_what_is_not_alike_runs_alone(monkeypatch):
    assert_alone_unless_alike(cases_of(ball_and_arm(), 3, 1, step=0.01), 2, monkeypatch)


def test_who_can():
    (problem,) = cases_of(ball_and_arm(), 1, 1)
    others = {"integrator": "esdirk"}, {"sensitivity": "adjoint"}, {"integrator": "dop853"}
    assert reasons_of(problem, *others) == ["esdirk has none", "runs with gradients have none", ""]
    deforms = replace(problem, model=problem.model._replace(tree=FlexibleTree(*[None] * len(FlexibleTree._fields))))
    assert reasons_of(deforms, {}) == ["bodies that deform have none"]


def test_who_can_by_the_compiler(monkeypatch):
    monkeypatch.setattr(open_trees, "TOGETHER", 1)
    (problem,) = cases_of(ball_and_arm(), 1, 1)
    assert reasons_of(problem, {}) == [f"the {COMPILER} compiler has none"]


@pytest.mark.parametrize(("tried", "alone"), [(1_000_000, True), (1_000, False)])
def test_a_case_that_would_take_too_many_steps_is_made_alone(monkeypatch, tried, alone):
    """Which says so at once; beside others it would try all steps that are allowed."""
    monkeypatch.setattr(open_tree, "STIFFLY", np.inf)
    (problem,) = cases_of(ball_and_arm(), 1, 3, integrator="dop853")
    run = beside.RunAhead(problem)
    calls = run.calls()
    next(calls)
    run.work.clock[TRIED], run.work.clock[TIME] = tried, 1e-9 * problem.options.duration
    with pytest.raises(StopIteration) if alone else contextlib.nullcontext():
        calls.send(Status.PAUSED)
    assert run.begin(problem) is not alone
