"""Inertia and elastic forces of flexible bodies against the terms of standard input data, and their derivatives."""

import numpy as np
import pytest

from mbsim_cli.kernels.elements.flexible import flexible_force
from mbsim_cli.reduction.data import dot
from mbsim_cli.reduction.packing import deviates, deviations, entries, sid_of
from tests.kernels.flexible import BODIES, body, coordinates, packed, random_state, work
from tests.reduction.test_values import mass_matrix, velocity_terms


def force(tree, theta, state):
    """Force, moment and elastic rows (6 + n,)."""
    dtype = np.result_type(theta, *vars(state).values())
    rows = np.zeros(tree.elastic[-1], dtype)
    motion = (tuple(x.astype(dtype)) for x in (state.w, state.alpha, state.a))
    elastic = (coordinates(x.astype(dtype)) for x in (state.q, state.qd, state.qdd))
    moment, force = flexible_force(tree, theta.astype(dtype), 0, *motion, *elastic, work(tree, dtype), rows)
    return np.array([*force, *moment, *rows[1:]])


@pytest.mark.parametrize("name", BODIES)
def test_force_by_the_terms(name):
    sid = body(name)
    state = random_state(sid)
    tree, theta = packed(sid)
    accelerations = np.concatenate([state.a, state.alpha, state.qdd])
    expected = mass_matrix(sid, state.q) @ accelerations
    expected += velocity_terms(sid, state.q, state.qd, np.zeros(3), state.w)
    expected[6:] += sid.ksigma.M0 + sid.Ke.M0 @ state.q + sid.De.M0 @ state.qd
    assert force(tree, theta, state) == pytest.approx(expected, rel=1e-12, abs=1e-13 * np.abs(expected).max())


def test_what_deviates():
    assert [deviates(body(name)) for name in BODIES] == [False, True, True]


@pytest.mark.parametrize("name", BODIES)
def test_blocks_have_a_transpose(name):
    sid, random = body(name), np.random.default_rng(1)
    first, second = entries(sid), deviations(sid)
    covectors = [random.normal(size=block.shape) for block in (first, second)]
    assert dot(sid_of(sid, *covectors), sid) == pytest.approx(covectors[0] @ first + covectors[1] @ second, rel=1e-12)
