"""Eight runs of ALI3-P beside each other: what each of them finds alone, to the last bit, whatever the others do."""

from dataclasses import replace
from operator import attrgetter
from types import SimpleNamespace

import numpy as np
import pytest

from mbsim_cli.kernels.algorithms.elimination import constrained_solve
from mbsim_cli.kernels.integrators import ali3p_cases, predictor
from mbsim_cli.model.codes import Axes, Force, Joint, Law
from mbsim_cli.model.layout import BODY_SIZE, MASS
from mbsim_cli.solve import lanes as beside
from mbsim_cli.solve import lanes as constrained
from mbsim_cli.solve import lanes as constrained_beside
from mbsim_cli.solve import lanes as open_trees
from tests.kernels.eight import at_most, below, largest, select, take_blocks_of_eight, widened
from tests.kernels.mechanisms import everything, four_bar, loop
from tests.kernels.open_tree_adjoint import chosen
from tests.kernels.plain.test_cases_beside import (
    assert_alone_unless_alike,
    assert_beside,
    assert_same,
    assert_told_once,
    reasons_of,
    told,
)


@pytest.fixture(autouse=True)
def eight(monkeypatch):
    take_blocks_of_eight(monkeypatch)
    numbers = attrgetter("numbers")
    for module in (constrained, constrained_beside):
        monkeypatch.setattr(module, "lanes_of", numbers)
    monkeypatch.setattr(constrained_beside, "widened", widened)
    for module in (open_trees, constrained_beside):
        monkeypatch.setattr(module, "TOGETHER", 8)
    monkeypatch.setattr(constrained_solve, "max", largest, raising=False)
    for name, twin in {"below": below, "at_most": at_most, "select": select}.items():
        monkeypatch.setattr(constrained_solve, name, twin)
        monkeypatch.setattr(predictor, name, twin)
    monkeypatch.setattr(ali3p_cases, "select", select)


def cases_of(builder, count, rows, **options):
    """The same problem with other masses and inertia in each case: all lengths must stay where equations depend."""
    problem, rng = chosen(builder.problem(), rows, **options), np.random.default_rng(4)
    bodies = problem.model.tree.theta[:, None] + np.arange(MASS, BODY_SIZE)
    cases = [replace(problem, theta=problem.theta.copy()) for _ in range(count)]
    for case in cases:
        case.theta[bodies] *= rng.uniform(0.97, 1.03, bodies.shape)
    return cases


def any_numbers(builder, count, rows, spread):
    """The same problem with other numbers of all kinds in each case."""
    problem, rng = chosen(builder.problem(), rows), np.random.default_rng(4)
    sizes = rng.uniform(1.0 - spread, 1.0 + spread, (count, problem.theta.size))
    return [replace(problem, theta=problem.theta * size) for size in sizes]


def test_each_goes_as_it_goes_alone():
    """Also where equations are redundant, and there are fewer cases than lanes."""
    problems = cases_of(four_bar(), 3, 4)
    assert not any(map(open_trees.why_alone, problems))
    assert assert_beside(problems) == ([""] * 3, 0.0)


def test_each_has_the_least_inertia_of_its_own_coordinates():
    """Penalties of projections are scaled by it, too."""
    problems = cases_of(four_bar(), 2, 4)
    count = problems[0].model.tree.column_kind.size
    problems = [
        replace(problem, least=np.full(count, least)) for problem, least in zip(problems, (3.0, 70.0), strict=True)
    ]
    assert assert_beside(problems) == ([""] * 2, 0.0)


@pytest.mark.slow
def test_each_goes_as_it_goes_alone_in_space():
    """A loop of other joints, and all elements but bushings: near each other, else laws with ends part the cases."""
    assert assert_beside(any_numbers(loop(Joint.REVOLUTE, Joint.SPHERICAL), 8, 4, 1e-3)) == ([""] * 8, 0.0)
    sentences, parted = assert_beside(any_numbers(everything(bushings=False), 3, 2, 1e-6))
    assert sentences == [""] * 3 and parted < 1.0


@pytest.mark.parametrize("interval", [1, 2])
def test_branches_part_some_steps(interval):
    """A force that begins earlier in one of the cases; also where not all instants are stored."""
    builder = four_bar()
    law = builder.law(Law.POLYNOMIAL, window=(0.0, 1.0))
    builder.applied(Force.POINT_FORCE, 0, Axes.GLOBAL, law)
    problems = cases_of(builder, 2, 4, output_interval=interval)
    step = problems[0].options.step
    for problem, begins in zip(problems, (0.5 * step, 1.5 * step), strict=True):
        problem.theta[builder.laws[law][3]] = begins
    sentences, parted = assert_beside(problems)
    assert sentences == [""] * 2 and parted == 2 / 8  # the step between, of both


def test_steps_that_are_not_plain_are_made_alone(monkeypatch):
    """Every correction is taken for one that stalls, but those of the first case."""
    decide = ali3p_cases._decide

    def one_stalls(k, control, iteration, checks, decisions):
        decide(k, control, iteration, checks, decisions)
        if k == 1:
            decisions.stage[k] = ali3p_cases.ALONE

    monkeypatch.setattr(ali3p_cases, "_decide", one_stalls)
    assert assert_beside(cases_of(four_bar(), 2, 2)) == ([""] * 2, 0.5)


@pytest.mark.parametrize("bends", [False, True])
def test_corrections_that_grow_are_left_to_single_steps(bends):
    """Also where a wide tolerance calls them small enough: beyond a bend ``newton`` takes none of them."""
    decisions = ali3p_cases.Decisions(np.zeros(3), np.array([[5e-5], [1.0], [0.0]]), *np.zeros((8, 1)))
    decisions.previous[0] = 1e-5
    control = SimpleNamespace(tolerance=1e-2, amplified=1.0, max_iterations=10, correction_tolerance=1e-6, bends=bends)
    ali3p_cases._decide(0, control, 1, False, decisions)
    assert decisions.stage[0] == (ali3p_cases.ALONE if bends else ali3p_cases.ENDED)


def test_tangents_without_structure_are_left_to_single_steps(monkeypatch):
    monkeypatch.setattr(constrained_solve, "eliminate_panels", lambda panels, lu, *_: not isinstance(lu, np.ndarray))
    sentences, parted = assert_beside(cases_of(four_bar(), 2, 2))
    assert sentences == [""] * 2 and parted == 1.0


@pytest.mark.parametrize("bad", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_case_that_fails_is_left_to_run_alone_and_stops_no_other(bad):
    """Where a force begins that is far too large."""
    builder = loop(Joint.REVOLUTE, Joint.SPHERICAL)
    law = builder.law(Law.POLYNOMIAL, window=(0.0, 1.0))
    builder.applied(Force.POINT_FORCE, 1, Axes.BODY, law)
    problems = cases_of(builder, 3, 2)
    _, offset, count, window, _ = builder.laws[law]
    for problem in problems:
        problem.theta[window] = 1.5 * problem.options.step
    problems[bad].theta[offset : offset + count] *= 1e14
    with np.errstate(all="ignore"):
        runs, _ = beside.run_beside(problems, lambda: None)
        assert [run is None for run in runs] == [k == bad for k in range(3)]
        assert told(problems[bad])[1]
        for k, run in enumerate(runs):
            if k != bad:
                assert_same(told(problems[k]), told(replace(problems[k], ahead=run)))


def test_a_run_is_told_once_and_to_its_own_problem_only():
    assert_told_once(cases_of(four_bar(), 2, 1))


def test_what_is_not_alike_or_takes_too_much_room_runs_alone(monkeypatch):
    assert_alone_unless_alike(cases_of(four_bar(), 2, 1), 5, monkeypatch)


def test_who_can():
    (problem,) = cases_of(four_bar(), 1, 1)
    others = {"formulation": "ali3p-natural"}, {"sensitivity": "ddm"}, {"analysis": "equilibrium"}
    reasons = ["natural coordinates have none", "runs with gradients have none", "only forward dynamics has one"]
    assert reasons_of(problem, *others) == reasons
