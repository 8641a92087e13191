"""Estimated costs of gradients: what makes one method the quicker, and what is said of both."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.study.assembling import Settings, build, chosen, costs_of

MODELS = Path(__file__).parents[2] / "models"
ENOUGH = 256e6


def problem_of(name, p):
    problem = assembly.build(spec.load(MODELS / f"{name}.yaml"), sensitivity="none").problem
    return replace(problem, theta_rho=np.zeros((problem.theta.size, p)))


@pytest.mark.parametrize(
    ("name", "few", "many"),
    [("fivebar", 8, 24), ("buggy", 8, 24), ("human43", 10, 173), ("benchmarks/trailer_at_rest", 62, 99)],
)
def test_the_adjoint_is_quicker_by_many_parameters(name, few, many):
    direct = [costs_of(problem_of(name, p), 1, ENOUGH) for p in (few, many)]
    assert [costs.quicker for costs in direct] == ["ddm", "adjoint"]
    assert direct[0].adjoint == direct[1].adjoint and direct[0].ddm < direct[1].ddm


def test_more_objectives_and_little_memory_make_the_adjoint_dearer():
    problem = problem_of("fivebar", 24)
    steps = round(problem.options.duration / problem.options.step)
    one, eight, nine = (costs_of(problem, k, ENOUGH).adjoint for k in (1, 8, 9))
    assert one == eight < nine
    assert costs_of(problem, 1, 50 * steps).adjoint > costs_of(problem, 1, 1000 * steps).adjoint == one


def test_many_parameters_choose_the_adjoint():
    file = spec.load(MODELS / "fivebar.yaml")
    assembled = build(file, Settings(), None)
    many = replace(assembled, problem=problem_of("fivebar", 999))
    assert chosen(file, Settings(), many)[0] == "adjoint"


def test_both_costs_are_said():
    assert costs_of(problem_of("fivebar", 53), 1, ENOUGH).sentence() == (
        "about 2.4 times the analysis alone, and 5.9 by ddm"
    )
