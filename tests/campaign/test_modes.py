"""Modes and state space of random mechanisms: gradients of eigenvalues, and A, B, C, D, against whole starts."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.assembly import build
from mbsim_cli.errors import AnalysisError
from mbsim_cli.solve.forward import forward
from mbsim_cli.solve.initial import assemble
from mbsim_cli.solve.linear.equations import Linearising, at_start, of_initial
from mbsim_cli.solve.linear.modes import found_at
from mbsim_cli.solve.linear.state_space import inputs_of, state_space
from tests.campaign import flexible, generator

pytestmark = pytest.mark.slow

RIGID = ("open tree", "loop in space", "loop in a plane")
COUNTS = dict.fromkeys(RIGID, 24) | {"flexible tree": 14, "flexible loop": 14}  # 100 mechanisms
ACCURATE = 1e-9
NEAR, STEP = 1e-3, 1e-6  # of differences
EPS = 1e-30


def problem_of(family, seed, file):
    if family in RIGID:
        return build(generator.load(generator.FAMILIES[family](seed)), sensitivity="ddm").problem
    grow = flexible.FAMILIES[family.removeprefix("flexible ")]
    return flexible.problem_of(grow(seed, file), sensitivity="ddm")


def equations_of(linear, problem, theta):
    """M, C and K of small motions about the start at other numbers."""
    found = linear.at(of_initial(problem, assemble(problem, theta, motion_only=True)))
    return np.stack([found.M, found.C, found.K])


def errors_of(problem, seed):
    """Errors (k,) of derivatives of eigenvalues, by a complex step of the whole start and by differences.

    With the vectors w and v that L = s^2 M + s C + K takes to zero, ds = -(w' dL v) / (w' (2 s M + C) v). Differences
    along the real line, whose round-off is large, see what is not analytic.
    """
    point = at_start(problem)
    found, linear = found_at(problem, point, moves=False), Linearising(problem, point)
    still = replace(problem, theta_rho=problem.theta_rho[:, :0])
    along = np.random.default_rng(seed).uniform(0.5, 1.0, problem.theta_rho.shape[1])
    direction = problem.theta_rho @ along
    M, C, K = equations_of(linear, still, problem.theta)
    by_step = equations_of(linear, still, problem.theta + 1j * EPS * direction).imag / EPS
    ahead, behind = (equations_of(linear, still, problem.theta + h * direction) for h in (STEP, -STEP))
    by_difference = (ahead - behind) / (2.0 * STEP)
    known = ~np.isnan(found.d_value).any(axis=1)
    errors = []
    for s, d_s in zip(found.value[known], found.d_value[known], strict=True):
        left, sizes, right = np.linalg.svd(s * s * M + s * C + K)
        w, v, powers = left[:, -1].conj(), right[-1].conj(), np.array([s * s, s, 1.0])
        largest = max(np.linalg.norm(part) for part in (s * s * M, s * C, K))
        scale = w @ (2.0 * s * M + C) @ v
        condition = largest / abs(scale * s)  # of the eigenvalue
        if condition > 1e11:  # what round-off leaves of zeros has no meaning
            continue
        assert sizes[-1] <= 1e-10 * largest
        slopes = [-(w @ np.tensordot(powers, d, 1) @ v) / scale for d in (by_step, by_difference)]
        terms = np.abs(w) @ np.tensordot(np.abs(powers), np.abs(by_step), 1) @ np.abs(v) / abs(scale)
        size = max(np.abs(d_s) @ along, 1e-6 * condition * abs(s), 1e-5 * terms)  # the rest is round-off
        errors.append([abs(d_s @ along - slope) / size for slope in slopes])
    return np.array(errors).reshape(-1, 2).T


@pytest.mark.parametrize("family", COUNTS)
def test_gradients_of_eigenvalues(family, file):
    compared, wrong = 0, {}
    for seed in range(COUNTS[family]):
        try:
            exact, near = errors_of(problem_of(family, seed, file), seed)
        except AnalysisError as why:
            assert str(why)
            continue
        compared += bool(exact.size)
        if (exact > ACCURATE).any() or (near > NEAR).any():
            wrong[seed] = exact.max(), near.max()
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
