"""Mass matrix, forces and accelerations of random open trees, from Python, against Pinocchio.

Tangents of ball joints are angular velocities in the body's own axes: e' = rates(e) w.
"""

import json

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.model.codes import Column
from tests.naive.random_mechanisms import random_mechanism

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.oracles


def rates(e):
    """Matrix (4, 3) of e' = rates(e) w."""
    w, x, y, z = e
    return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])


def to_tangent(kinds, q):
    """Matrix T (n, nv) of q' = T v."""
    blocks, c = [], 0
    while c < len(kinds):
        euler = kinds[c] == Column.EULER_0
        blocks.append(rates(q[c : c + 4]) if euler else np.eye(1))
        c += 4 if euler else 1
    T = np.zeros((len(kinds), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        T[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return T


def configuration(kinds, q):
    """q as Pinocchio has it: the vector part of a quaternion first."""
    found, c = [], 0
    while c < len(kinds):
        euler = kinds[c] == Column.EULER_0
        found += [*q[c + 1 : c + 4], q[c]] if euler else [q[c]]
        c += 4 if euler else 1
    return np.array(found)


@pytest.mark.parametrize("seed", range(100))
def test_random_trees(tmp_path, seed):
    from benchmarks.pinocchio_tree import bodies_of, tree

    path = tmp_path / "tree.yaml"
    twin = random_mechanism(seed, bodies=2 + seed % 6, extras=False)
    twin.model["sensors"] = {}
    path.write_text(json.dumps(twin.model))
    model = mbsim.load(path)
    at = model.mechanics()
    q, _ = model.state()
    rng = np.random.default_rng(seed)
    problem = at._problem
    kinds = problem.model.tree.column_kind
    T = to_tangent(kinds, q)
    vt, at_ = rng.normal(size=(2, T.shape[1]))
    v = T @ vt
    oracle, _ = tree(bodies_of(problem.model, problem.theta), twin.model["gravity"])
    data = oracle.createData()
    x = configuration(kinds, q)
    M = pin.crba(oracle, data, x)
    M = np.triu(M) + np.triu(M, 1).T
    bias = pin.nonLinearEffects(oracle, data, x, vt)
    ours = at.mass_matrix(q)
    assert np.abs(T.T @ ours @ T - M).max() < 1e-11 * np.abs(M).max()
    # along T, q'' = T a + T' v, and T' v = 0 on the tangent: e'' = e o (0, a) / 2 - |w|^2 e / 4
    turning = np.zeros(len(q))
    for c in np.flatnonzero(kinds == Column.EULER_0):
        turning[c : c + 4] = -q[c : c + 4] * (v[c : c + 4] @ v[c : c + 4])
    Q = T.T @ (at.forces(q, v) - ours @ turning)
    assert np.abs(Q + bias).max() < 1e-11 * max(1.0, np.abs(bias).max())
    expected = T @ pin.aba(oracle, data, x, vt, np.zeros(T.shape[1])) + turning
    assert np.abs(at.accelerations(q, v) - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())
    torque = T.T @ at.inverse_dynamics(q, v, T @ at_ + turning)
    assert np.abs(torque - pin.rnea(oracle, data, x, vt, at_)).max() < 1e-10 * max(1.0, np.abs(torque).max())
