"""Inverse dynamics of trees: lanes against the kernels of the equations of motion, complex step, identities."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import trees
from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.algorithms.torques.lanes import LANES
from mbsim_cli.model.codes import JOINT_COLUMNS, Joint
from mbsim_cli.model.layout import MASS, Names
from mbsim_cli.model.problem import Motion
from mbsim_cli.solve.inverse.torques import General, InverseDynamics, runs_in_lanes
from tests.kernels.inverse_problems import loaded_tree, motion, problem, relative, with_spring


def _general(model, theta, given, dtheta=None):
    """Torques and derivatives by the equations of motion, also for trees that run in lanes."""
    asked = problem(model, theta, dtheta)
    found = InverseDynamics(asked, matrices=True).room(len(given.time))
    General(asked, matrices=True).fill(given, found)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_lanes_agree_with_the_variation_of_the_equations_of_motion(seed):
    model, theta = loaded_tree(seed, bodies=4 + 2 * seed)
    given = motion(np.random.default_rng(seed), 5, model.tree.column_kind.size)
    assert runs_in_lanes(model, theta)
    found = InverseDynamics(problem(model, theta), matrices=True).block(given)
    for ours, theirs in zip(found[:4], _general(model, theta, given)[:4], strict=True):
        assert relative(ours, theirs) < 1e-12


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_lanes_know_whether_all_that_they_give_is_finite():
    """What they call finite is not looked at again."""
    model, theta = loaded_tree(2, bodies=6)
    n, rows = model.tree.column_kind.size, LANES + 3
    given = motion(np.random.default_rng(2), rows, n)
    dtheta = np.zeros((theta.size, 1))
    dtheta[model.tree.theta[0] + MASS] = 1.0
    spoilt_motion = given._replace(velocity=np.where(np.arange(rows)[:, None] == rows - 1, 1e200, given.velocity))
    for motions, change, finite in ((given, 1.0, True), (given, np.inf, False), (spoilt_motion, 1.0, False)):
        found = InverseDynamics(problem(model, theta, change * dtheta.T), matrices=True).block(motions)
        assert all(np.isfinite(array).all() for array in found[:5]) == finite
        assert found.finite.all() == finite and found.finite.any() == finite


def _euler_tree(seed):
    rng = np.random.default_rng(seed)
    bodies = trees.random_bodies(rng, 4, massless=0.0)
    bodies[0].columns, bodies[2].columns = JOINT_COLUMNS[Joint.FLOATING], JOINT_COLUMNS[Joint.SPHERICAL]
    return trees.build(bodies, trees.random_loads(rng, 2, 4))


@pytest.mark.parametrize("build", [loaded_tree, _euler_tree])
def test_derivatives_agree_with_the_complex_step(build):
    model, theta = build(3)
    given = motion(np.random.default_rng(3), 2, model.tree.column_kind.size)
    dtheta = np.random.default_rng(4).normal(size=(3, theta.size))
    dtheta = _keeps_rotations(model, theta, dtheta)
    found = InverseDynamics(problem(model, theta, dtheta), matrices=True).block(given)
    step = 1e-30

    def torque(theta, given):
        moved = Motion(given.time, *(x.astype(complex) for x in given[1:]))
        return InverseDynamics(problem(model, theta.astype(complex)), matrices=False).block(moved).torque.imag / step

    for c in range(given.position.shape[1]):
        for k, matrix in enumerate(found[1:4], start=1):
            moved = list(given)
            moved[k] = given[k].astype(complex)
            moved[k][:, c] += 1j * step
            assert np.abs(matrix[:, :, c] - torque(theta, Motion(*moved))).max() < 1e-12 * np.abs(matrix).max()
    for k in range(3):
        assert relative(found.by_parameter[:, :, k], torque(theta + 1j * step * dtheta[k], given)) < 1e-10


@pytest.mark.parametrize("seed", range(8))
def test_parameters_in_lanes_agree_with_the_variation_of_the_equations_of_motion(seed):
    model, theta = loaded_tree(seed, bodies=4 + 2 * seed)
    rng = np.random.default_rng(seed)
    given = motion(rng, LANES + 2, model.tree.column_kind.size)
    dtheta = _keeps_rotations(model, theta, _directions(rng, model, theta))
    found = InverseDynamics(problem(model, theta, dtheta), matrices=True).block(given).by_parameter
    expected = _general(model, theta, given, dtheta).by_parameter
    for k in range(len(dtheta)):
        assert np.abs(found[..., k] - expected[..., k]).max() <= 1e-11 * max(np.abs(expected[..., k]).max(), 1e-2)


def _directions(rng, model, theta):
    """Everything at once; then gravity, numbers of one kind of a body, a load or a law alone: the rest stays."""
    frames, masses = ((0, 3), (3, 12), (12, 15), (15, 24)), ((24, 25), (25, 28), (28, 34))
    of_bodies = [(o + a, o + b) for o in model.tree.theta for a, b in (*frames, *masses)]
    of_loads = [(o + a, o + b) for o in model.forces.theta for a, b in ((0, 3), (3, 6))]
    some = [of_bodies[k] for k in rng.choice(len(of_bodies), 9, replace=False)]
    parts = [(0, theta.size), (0, 3), *some, *of_loads, *((o, o + 4) for o in model.laws.theta)]
    dtheta = np.zeros((len(parts), theta.size))
    for row, (first, last) in zip(dtheta, parts, strict=True):
        row[first:last] = rng.normal(size=last - first)
    return dtheta


def test_a_mass_of_zero_has_a_derivative():
    bodies = trees.random_bodies(np.random.default_rng(3), 5, massless=0.0)
    bodies[3].mass, bodies[3].inertia = 0.0, np.zeros(6)
    model, theta = trees.build(bodies)
    given = motion(np.random.default_rng(3), 2, model.tree.column_kind.size)
    dtheta = np.zeros((1, theta.size))
    dtheta[0, model.tree.theta[3] + 24] = 1.0
    found = InverseDynamics(problem(model, theta, dtheta), matrices=True).block(given).by_parameter
    heavier = theta + dtheta[0]  # torques are linear in the mass
    change = [InverseDynamics(problem(model, x), matrices=False).block(given).torque for x in (heavier, theta)]
    assert np.abs(found).max() > 0 and relative(found[..., 0], change[0] - change[1]) < 1e-12


def _keeps_rotations(model, theta, dtheta):
    """Directions along which the joint frames stay rotation matrices."""
    for o in model.tree.theta:
        for block in (3, 15):
            at = slice(o + block, o + block + 9)
            R = theta[at].reshape(3, 3)
            for row in dtheta:
                A = row[at].reshape(3, 3)
                row[at] = (R @ (A - A.T)).ravel()
    return dtheta


def test_mass_matrix_is_symmetric_and_free_motion_needs_no_torque():
    bodies = trees.random_bodies(np.random.default_rng(7), 6, joints=(Joint.REVOLUTE, Joint.CYLINDRICAL), massless=0.0)
    model, theta = trees.build(bodies, trees.random_loads(np.random.default_rng(8), 3, 6))
    n = model.tree.column_kind.size
    given = motion(np.random.default_rng(5), 3, n)
    solver = InverseDynamics(problem(model, theta), matrices=True)
    found = solver.block(given)
    M = found.by_acceleration
    assert np.abs(M - M.transpose(0, 2, 1)).max() < 1e-12 * np.abs(M).max()
    rest = np.linalg.solve(M, found.torque[:, :, None])[:, :, 0]
    free = solver.block(given._replace(acceleration=given.acceleration - rest)).torque
    assert np.abs(free).max() < 1e-9 * np.abs(found.torque).max()


def test_an_instant_that_is_not_finite_spoils_only_itself():
    model, theta = loaded_tree(2)
    given = motion(np.random.default_rng(2), LANES + 3, model.tree.column_kind.size)
    solver = InverseDynamics(problem(model, theta), matrices=True)
    clean = solver.block(given)
    for bad, row in ((np.nan, 4), (np.inf, LANES + 2)):
        given.position[row, 1] = bad
        found = solver.block(given)
        assert not np.isfinite(found.torque[row]).all()
        kept = np.isfinite(given.position).all(axis=1)
        for ours, theirs in zip(found[:4], clean[:4], strict=True):
            # large angles in a lane are reduced in all lanes of its group, which costs an ulp
            np.testing.assert_allclose(ours[kept], theirs[kept], rtol=0.0, atol=1e-13 * np.abs(theirs).max())
        again = solver.block(given._replace(position=clean.torque * 0.0))
        assert np.isfinite(again.torque).all()


def test_blocks_give_the_same_numbers():
    model, theta = loaded_tree(4)
    given = motion(np.random.default_rng(4), 3 * LANES + 5, model.tree.column_kind.size)
    whole = InverseDynamics(problem(model, theta), matrices=True).block(given)
    solver = InverseDynamics(problem(model, theta), matrices=True)
    room = solver.room(2 * LANES)
    for part in (slice(0, 2 * LANES), slice(2 * LANES, len(given.time))):
        block = solver.block(Motion(*(array[part] for array in given)), room)
        for ours, theirs in zip(block, whole, strict=True):
            np.testing.assert_array_equal(ours, theirs[part])
    alone = InverseDynamics(problem(model, theta), matrices=False).block(given)
    np.testing.assert_array_equal(alone.torque, whole.torque)
    assert alone.by_position.shape == (len(given.time), 0, 0)


def test_far_slides_and_many_turns_cost_no_digits():
    bodies = trees.random_bodies(np.random.default_rng(9), 6, joints=(Joint.REVOLUTE,), massless=0.0)
    bodies[0].columns = JOINT_COLUMNS[Joint.PRISMATIC]
    model, theta = trees.build(bodies)
    solver = InverseDynamics(problem(model, theta), matrices=True)
    near = motion(np.random.default_rng(9), 2, 6)
    far = near._replace(position=near.position.copy())
    far.position[:, 0] += 1e9
    far.position[:, 1:] += 2.0 * np.pi * 2**20
    for ours, theirs in zip(solver.block(far)[:4], solver.block(near)[:4], strict=True):
        assert relative(ours, theirs) < 1e-8  # 2^20 turns have lost that much already


def test_springs_leave_the_lanes_and_add_their_own():
    model, theta = loaded_tree(8, bodies=5)
    given = motion(np.random.default_rng(8), 3, model.tree.column_kind.size)
    bare = InverseDynamics(problem(model, theta), matrices=True).block(given)
    sprung, numbers = with_spring(model, theta, 2, 700.0, 30.0, 0.1)
    assert not runs_in_lanes(sprung, numbers)
    found = InverseDynamics(problem(sprung, numbers), matrices=True).block(given)
    bare.torque[:, 2] += 700.0 * (given.position[:, 2] - 0.1) + 30.0 * given.velocity[:, 2]
    bare.by_position[:, 2, 2] += 700.0
    bare.by_velocity[:, 2, 2] += 30.0
    for ours, theirs in zip(found[:4], bare[:4], strict=True):
        assert relative(ours, theirs) < 1e-12


def test_human_moves_in_lanes():
    model, theta = trees.build(trees.human_bodies(), trees.foot_loads())
    given = Motion(0.01 * np.arange(3), *(x[[0, 13, 87]] for x in trees.human_motion()))
    found = InverseDynamics(problem(model, theta), matrices=True).block(given)
    for ours, theirs in zip(found[:4], _general(model, theta, given)[:4], strict=True):
        assert relative(ours, theirs) < 1e-12
    assert found.by_acceleration[0, 0, 0] == pytest.approx(sum(body.mass for body in trees.human_bodies()), rel=1e-14)


def test_constraints_are_refused():
    model, theta = loaded_tree(1)
    constraints = model.constraints._replace(measure=np.zeros(1, np.int64))
    measures = model.measures._replace(kind=np.zeros(1, np.int64))
    closed = problem(model._replace(constraints=constraints, measures=measures), theta)
    closed = replace(closed, names=Names(constraints=("elbow.x",)))
    with pytest.raises(AnalysisError, match=r"'elbow\.x'"):
        InverseDynamics(closed, matrices=False)
