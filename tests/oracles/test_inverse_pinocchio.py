"""Inverse dynamics of random trees and of the 43-dof human against Pinocchio."""

import numpy as np
import pytest

from benchmarks import trees
from mbsim_cli.model.codes import JOINT_COLUMNS, Axes, Force, Joint
from mbsim_cli.solve.inverse.torques import InverseDynamics
from tests.kernels.inverse_problems import motion, problem, relative

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.oracles
ONE_COLUMN = (Joint.REVOLUTE, Joint.PRISMATIC)


def _oracle():
    from benchmarks import pinocchio_tree

    return pinocchio_tree


def _compare(bodies, q, v, a):
    model, theta = trees.build(bodies)
    given = motion(np.random.default_rng(0), q.shape[0], q.shape[1])._replace(position=q, velocity=v, acceleration=a)
    found = InverseDynamics(problem(model, theta), matrices=True).block(given)
    expected = _oracle().derivatives(_oracle().tree(bodies)[0], q, v, a)
    assert relative(found.torque, expected[0]) < 1e-9
    for ours, theirs in zip(found[1:4], expected[1:], strict=True):
        # a matrix that vanishes is compared with the torques
        assert np.abs(ours - theirs).max() < 1e-8 * max(np.abs(theirs).max(), 1e-3 * np.abs(expected[0]).max())
    M = found.by_acceleration
    assert np.abs(M - M.transpose(0, 2, 1)).max() <= 1e-12 * np.abs(M).max()


@pytest.mark.parametrize("seed", range(50))
def test_random_trees(seed):
    rng = np.random.default_rng(seed)
    bodies = trees.random_bodies(rng, int(rng.integers(2, 61)))
    bodies[0].columns, bodies[-1].mass = JOINT_COLUMNS[ONE_COLUMN[seed % 2]], 1.0
    _compare(bodies, *trees.random_motion(rng, 5, sum(len(body.columns) for body in bodies)))


def test_human():
    _compare(trees.human_bodies(), *trees.human_motion())


@pytest.mark.parametrize("axes", list(Axes))
def test_human_under_loads(axes):
    """Torques of the loaded case, and its derivatives where the loads turn with the feet, as Pinocchio's do."""
    bodies, loads = trees.human_bodies(), trees.foot_loads()
    for load in loads:
        load.axes = axes
    q, v, a = trees.human_motion()
    model, theta = trees.build(bodies, loads)
    given = motion(np.random.default_rng(0), *q.shape)._replace(position=q, velocity=v, acceleration=a)
    found = InverseDynamics(problem(model, theta), matrices=True).block(given)
    oracle, places = _oracle().tree(bodies)
    data = oracle.createData()
    for k in range(0, 301, 10):
        wrenches = _wrenches(oracle, data, places, loads, q[k])
        assert relative(found.torque[k], pin.rnea(oracle, data, q[k], v[k], a[k], wrenches)) < 1e-9
        if axes == Axes.BODY:
            pin.computeRNEADerivatives(oracle, data, q[k], v[k], a[k], wrenches)
            assert relative(found.by_position[k], data.dtau_dq) < 1e-8
            assert relative(found.by_velocity[k], data.dtau_dv) < 1e-8
        else:
            numeric = _by_position(oracle, data, places, loads, q[k], v[k], a[k])
            assert relative(found.by_position[k], numeric) < 1e-6


def _wrenches(oracle, data, places, loads, q):
    """Loads in the joints' frames."""
    pin.forwardKinematics(oracle, data, q)
    wrenches = [pin.Force.Zero() for _ in range(oracle.njoints)]
    for load in loads:
        joint, pose = places[load.body]
        turn = pose.rotation if load.axes == Axes.BODY else data.oMi[joint].rotation.T
        vector, point = turn @ load.vector, pose.act(load.point)
        force = load.kind == Force.POINT_FORCE
        wrenches[joint] += pin.Force(vector, np.cross(point, vector)) if force else pin.Force(np.zeros(3), vector)
    return wrenches


def _by_position(oracle, data, places, loads, q, v, a, h=1e-5):
    columns = []
    for c in range(q.size):
        step = np.zeros_like(q)
        step[c] = h
        ends = [
            pin.rnea(oracle, data, x, v, a, _wrenches(oracle, data, places, loads, x)).copy()
            for x in (q + step, q - step)
        ]
        columns.append((ends[0] - ends[1]) / (2.0 * h))
    return np.stack(columns, axis=1)
