"""Residual, mass matrix, columns and constraints against textbook twins; both reference points; invariances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mbsim_cli.model.codes import Axes, Force, Joint, Measure
from mbsim_cli.model.layout import GROUND
from tests.kernels.geometry import poses, rotation
from tests.kernels.instant import Instant, random_state
from tests.kernels.mechanisms import PAIRS, any_measure, branches, loop
from tests.kernels.models import Builder
from tests.kernels.textbook import mass_matrix, measure_gradient, measure_of, residual

FEW = settings(max_examples=15)
joints = st.lists(st.sampled_from(list(Joint)), min_size=1, max_size=5)
seeds = st.integers(0, 10**6)


def random_tree(kinds, seed):
    """A tree of these joints with random parents."""
    builder = Builder(seed)
    for i, joint in enumerate(kinds):
        builder.body(joint, int(builder.rng.integers(GROUND, i)))
    if not builder.z:
        builder.body(Joint.REVOLUTE)
    for coordinate in range(0, len(builder.z), 3):
        builder.armature(coordinate)
    return builder


def loaded_tree(seed=2):
    """A forked tree with every force and constraint, without laws."""
    builder = branches(seed)
    for k, kind in enumerate(Measure):
        a, b = PAIRS[k]
        if kind != Measure.EULER_NORM:
            builder.along(any_measure(builder, kind, a, b))
            builder.constraint(any_measure(builder, kind, b, a))
    for kind in (Force.POINT_FORCE, Force.TORQUE):
        for axes in Axes:
            builder.applied(kind, 4, axes)
    return builder


@FEW
@given(joints, seeds)
def test_mass_matrix(kinds, seed):
    builder = random_tree(kinds, seed)
    state = random_state(builder, builder.problem())
    for at_center in (True, False):
        instant = Instant(builder.problem(), *state, at_center=at_center)
        expected = mass_matrix(builder, state[0])
        assert np.abs(instant.M - expected).max() <= 1e-12 * np.abs(expected).max()
        assert np.array_equal(instant.M, instant.M.T)
        assert np.abs(instant.T - instant.M).max() <= 1e-13 * np.abs(expected).max()


@FEW
@given(joints, seeds)
def test_residual_of_a_tree(kinds, seed):
    builder = random_tree(kinds, seed)
    problem = builder.problem()
    state = random_state(builder, problem)
    expected = residual(builder, *state)
    for at_center in (True, False):
        found = Instant(problem, *state, at_center=at_center).G
        assert np.abs(found - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max())


def test_residual_with_forces_and_constraints():
    builder = loaded_tree()
    problem = builder.problem()
    state = random_state(builder, problem)
    expected = residual(builder, *state)
    found = Instant(problem, *state)
    assert np.abs(found.G - expected).max() <= 1e-8 * np.abs(expected).max()
    for row, (k, target, _) in enumerate(builder.equations):
        defect = measure_of(builder, k, state[0]) - builder.theta[target]
        assert np.isclose(np.exp(1j * found.phi[0, row]), np.exp(1j * defect), atol=1e-12)
        assert np.allclose(found.J[row], measure_gradient(builder, k, state[0]), atol=1e-8)


@pytest.mark.parametrize("cut", Joint, ids=lambda joint: joint.name.lower())
def test_both_reference_points_agree(cut):
    builder = loop(Joint.FLOATING, cut)
    problem = builder.problem()
    state = random_state(builder, problem)
    one, two = (Instant(problem, *state, factors=(0.05, 0.0025), at_center=at_center) for at_center in (True, False))
    for name in ("G", "J", "phi", "M", "T"):
        a, b = getattr(one, name), getattr(two, name)
        assert np.abs(a - b).max() <= 1e-12 * max(1.0, np.abs(a).max()), name


@pytest.mark.parametrize(
    "joint", [joint for joint in Joint if joint != Joint.FIXED], ids=lambda joint: joint.name.lower()
)
def test_rates_of_columns_and_constraints(joint):
    """S', S'', V, A, Phi', Phi'' along z(t) against differences in time."""
    builder = loop(joint, Joint.FIXED)
    builder.theta[:3] = np.zeros(3)  # with gravity A is less it, and so is S'' = A x S + ...
    problem = builder.problem()
    z, zd, zdd, lam = random_state(builder, problem)
    dt = 1e-4

    def at(t):
        return Instant(problem, z + t * zd + 0.5 * t * t * zdd, zd + t * zdd, zdd, lam, at_center=False)

    before, now, after = at(-dt), at(0.0), at(dt)
    for rate, value in (("S1", "S"), ("S2", "S1")):
        slope = (getattr(after, value) - getattr(before, value)) / (2 * dt)
        assert np.abs(getattr(now, rate) - slope).max() <= 1e-6 * max(1.0, np.abs(slope).max()), rate
    slope = (after.V - before.V)[:-1] / (2 * dt)
    assert np.abs(now.A[:-1] - slope).max() <= 1e-6 * max(1.0, np.abs(slope).max())
    for order in (1, 2):
        slope = (after.phi[order - 1] - before.phi[order - 1]) / (2 * dt)
        assert np.abs(now.phi[order] - slope).max() <= 1e-5 * max(1.0, np.abs(slope).max())


@FEW
@given(joints, seeds)
def test_poses(kinds, seed):
    builder = random_tree(kinds, seed)
    problem = builder.problem()
    z, zd, zdd, lam = random_state(builder, problem)
    found = Instant(problem, z, zd, zdd, lam)
    for i, (R, r) in enumerate(poses(builder, problem.theta, z)[:-1]):
        assert np.allclose(found.R[i].reshape(3, 3), R, atol=1e-13)
        assert np.allclose(found.r[i], r, atol=1e-13)


@FEW
@given(joints, seeds)
def test_turning_the_base_changes_nothing(kinds, seed):
    """Gravity and all frames on the ground turned and shifted alike: the same equations."""
    builder = random_tree(kinds, seed)
    problem = builder.problem()
    state = random_state(builder, problem)
    before = Instant(problem, *state)
    Q, shift = rotation(builder.unit(), 1.1), builder.vector()
    theta = problem.theta.copy()
    theta[:3] = Q @ theta[:3]
    for body in builder.bodies:
        if body.parent == GROUND:
            o = body.theta
            theta[o : o + 3] = Q @ theta[o : o + 3] + shift
            theta[o + 3 : o + 12] = (Q @ theta[o + 3 : o + 12].reshape(3, 3)).ravel()
    after = Instant(problem, *state, theta=theta)
    size = max(1.0, np.abs(before.G).max())
    assert np.abs(before.G - after.G).max() <= 1e-12 * size
    assert np.abs(before.M - after.M).max() <= 1e-12 * np.abs(before.M).max()
