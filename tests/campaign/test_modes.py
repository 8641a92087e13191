"""Modes and state space of random mechanisms: gradients of eigenvalues, and A, B, C, D, against steps of whole starts.

Eigenvalues are analytic in the numbers, so that four steps, two of them imaginary, leave an error of the fourth order,
and two such lengths one of the eighth.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from mbsim_cli.assembly import build
from mbsim_cli.errors import AnalysisError
from mbsim_cli.solve.forward import forward
from mbsim_cli.solve.initial import assemble
from mbsim_cli.solve.linear.analysis import found_at
from mbsim_cli.solve.linear.equations import Linearising
from mbsim_cli.solve.linear.point import at_start, of_initial
from mbsim_cli.solve.linear.state_space import inputs_of, state_space
from tests.campaign import flexible, generator

pytestmark = pytest.mark.slow

RIGID = ("open tree", "loop in space", "loop in a plane")
COUNTS = dict.fromkeys(RIGID, 24) | {"flexible tree": 14, "flexible loop": 14}  # 100 mechanisms
ACCURATE = 1e-9
SURE = 1e-9  # error of the reference, relative, below which it tells as much
STEPS = (1e-4, 5e-5, 2.5e-5)
EPS = 1e-30


def problem_of(family, seed, file):
    if family in RIGID:
        return build(generator.load(generator.FAMILIES[family](seed)), sensitivity="ddm").problem
    grow = flexible.FAMILIES[family.removeprefix("flexible ")]
    return flexible.problem_of(grow(seed, file), sensitivity="ddm")


def matrix_of(linear, problem, theta):
    """A of small motions about the start at other numbers, by its definition."""
    found = linear.at(of_initial(problem, assemble(problem, theta, motion_only=True)))
    d = len(found.M)
    lower = -np.linalg.solve(found.M, np.concatenate([found.K, found.C], axis=1))
    return np.concatenate([np.eye(2 * d)[d:], lower])


def by_steps(linear, problem, direction, value, h):
    """Derivatives (k,) of the eigenvalues nearest to some, of the starts at four steps."""
    found = 0.0
    for step in (1.0, 1j, -1.0, -1j):
        there = np.linalg.eigvals(matrix_of(linear, problem, problem.theta + step * h * direction))
        found = found + there[np.abs(there[:, None] - value).argmin(axis=0)] / (4 * h * step)
    return found


def errors_of(problem, seed):
    """Errors (k,) of derivatives of eigenvalues, of their sizes, and those of what they are compared with."""
    point = at_start(problem)
    found, linear = found_at(problem, point, moves=False), Linearising(problem, point)
    still = replace(problem, theta_rho=problem.theta_rho[:, :0])
    along = np.random.default_rng(seed).uniform(0.5, 1.0, problem.theta_rho.shape[1])
    known = ~np.isnan(found.d_value).any(axis=1)
    known &= np.abs(found.value) > 1e-9 * np.abs(found.value).max(initial=0.0)  # what is left of zeros has no meaning
    value = found.value[known]
    direction = problem.theta_rho @ along
    found_by = [by_steps(linear, still, direction, value, h) for h in STEPS]
    coarse, fine = ((16.0 * b - a) / 15.0 for a, b in pairwise(found_by))
    size = np.maximum(np.abs(found.d_value[known]) @ along, 1e-6 * np.abs(value))
    return np.abs(found.d_value[known] @ along - fine) / size, np.abs(fine - coarse) / size


@pytest.mark.parametrize("family", COUNTS)
def test_gradients_of_eigenvalues(family, file):
    compared, wrong = 0, {}
    for seed in range(COUNTS[family]):
        try:
            error, uncertain = errors_of(problem_of(family, seed, file), seed)
        except AnalysisError as why:
            assert str(why)
            continue
        sure = uncertain < SURE
        compared += bool(sure.any())
        if (error > ACCURATE + 10.0 * uncertain).any():
            wrong[seed] = float(error[error > ACCURATE + 10.0 * uncertain].max())
    assert wrong == {}
    assert compared > 0.5 * COUNTS[family]


@pytest.mark.parametrize("family", COUNTS)
def test_matrices_of_runs(family, file):
    """Complex steps of the first instants of runs: their accelerations and sensors, by states and inputs."""
    compared = 0
    for seed in range(16):
        problem = problem_of(family, seed, file)
        point = at_start(problem)
        linear = Linearising(problem, point)
        if linear.chart.euler:
            continue
        usable = [name for name in problem.names.forces if _is_input(problem, name)]
        inputs = inputs_of(problem, usable, 0.0)
        found = state_space(problem, point, inputs)
        chosen = np.isin(np.arange(point.z.size), np.array(linear.chart.plain)[linear.chart.independent])
        still = replace(
            problem, theta=point.theta, theta_rho=problem.theta_rho[:, :0], automatic=(), independent=chosen,
            independent_velocity=chosen, options=replace(problem.options, sensitivity="none", step=1e-4, duration=1e-4),
        )  # fmt: skip
        theta = still.theta.copy()
        first, n = problem.model.tree.initial[0], point.z.size
        theta[first : first + n], theta[first + n : first + 2 * n] = point.z, point.zd
        states = [first + level * n + i for level in range(2) for i in np.flatnonzero(chosen)]
        columns = [*np.eye(theta.size)[states], *inputs.directions.T]
        lower, shown = [], []
        for direction in columns:
            block = next(forward(still, theta=theta + 1j * EPS * direction))
            lower.append(block.acceleration[0, chosen].imag / EPS)
            shown.append(block.sensors[0].imag / EPS)
        d = found.A.shape[0] // 2
        ours = np.concatenate([found.A[d:], found.B[d:]], axis=1)
        assert np.abs(ours - np.array(lower).T).max() <= ACCURATE * np.abs(ours).max()
        outputs, theirs = np.concatenate([found.C, found.D], axis=1), np.array(shown).T
        seen = ~np.isnan(outputs).any(axis=1) & ~np.isnan(theirs).any(axis=1)
        size = np.abs(outputs[seen]).max(axis=1, initial=1e-3)
        assert (np.abs(outputs - theirs)[seen].max(axis=1, initial=0.0) <= 1e-8 * size).all(), seed
        compared += 1
        if compared == 3:
            break
    assert compared == 3


def _is_input(problem, name):
    from mbsim_cli.errors import UsageError

    try:
        inputs_of(problem, [name], 0.0)
    except UsageError:
        return False
    return True
