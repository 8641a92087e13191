"""Articulated bodies of 6 + k against dense matrices, the complex step, and rigid bodies; O(n) by counting calls."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.kernels.algorithms.motion.workspace import Motion
from mbsim_cli.kernels.algorithms.open_trees.acceleration_pull_back import find_virtual
from mbsim_cli.kernels.algorithms.open_trees.flexible_open_tree import (
    dense_elimination,
)
from mbsim_cli.kernels.algorithms.open_trees.flexible_recursive import articulated_elimination
from mbsim_cli.model.layout import NONE
from mbsim_cli.solve.adjoint.whole_run import pulled_accelerations
from tests.kernels.differentiate import EPS
from tests.kernels.plain.test_flexible_trees import assembled, bent
from tests.kernels.random_flexible import random_tree
from tests.kernels.test_open_trees import Accelerations

BODIES = 5


def state_of(problem, seed=1):
    """Positions and velocities near the start; elastic ones are small."""
    rng, first, n = np.random.default_rng(seed), problem.model.tree.initial[0], len(problem.names.coordinates)
    size = np.where([".q" in name for name in problem.names.coordinates], 0.02, 0.3)
    return problem.theta[first : first + n] + size * rng.normal(size=n), size * rng.normal(size=n)


def directions_of(problem):
    """Along all parameters, along the numbers of nodes, and along motions: dtheta (p, len(theta)), dz, dzd (n, p)."""
    rng, tree, shape = np.random.default_rng(2), problem.model.tree, np.zeros_like(problem.theta)
    for v, first in enumerate(tree.shape):
        shape[first : first + np.diff(tree.elastic)[tree.node_body[v]]] = 0.1
    for v in np.flatnonzero(tree.bend != NONE):
        shape[tree.bend[v] : tree.bend[v] + np.diff(tree.elastic)[tree.node_body[v]] ** 2] = 1.0
    size = np.maximum(1e-3, np.abs(problem.theta_rho).max(axis=0))
    dtheta = np.array([rng.normal(size=size.size) / size @ problem.theta_rho.T, shape])
    return dtheta, *rng.normal(size=(2, len(problem.names.coordinates), 2))


def assert_close(found, expected, relative):
    """Compare with the largest of each column."""
    assert (np.abs(found - expected) <= relative * np.abs(expected).max(axis=0, initial=1e-9)).all()


@pytest.mark.parametrize("seed", [2, 4, 5])
def test_dense_matrices_and_the_complex_step(tmp_path, seed):
    """Random trees: branches at nodes, joints at nodes of both sides, from either body, a drive, Euler parameters.

    Nodes stiffen their bodies.
    """
    problem = assembled(tmp_path, random_tree(seed, BODIES), bent, sensitivity="ddm", formulation="recursive")
    (z, zd), directions = state_of(problem), directions_of(problem)
    found, dense = (
        Accelerations(name, problem, z, zd, directions=directions) for name in ("recursive", "partial_recursive")
    )
    assert found.found and dense.found
    assert_close(found.zdd, dense.zdd, 1e-12)
    assert_close(found.reaction, dense.reaction, 1e-10)  # what is left of larger ones
    for k, (dtheta, dz, dzd) in enumerate(zip(directions[0], *(d.T for d in directions[1:]), strict=True)):
        moved = (x + 1j * EPS * d for x, d in ((z, dz), (zd, dzd)))
        exact = Accelerations("recursive", problem, *moved, theta=problem.theta + 1j * EPS * dtheta)
        assert_close(found.dzdd[:, k], exact.zdd.imag / EPS, 1e-11)
        assert_close(found.d_reaction[:, k], exact.reaction.imag / EPS, 1e-10)


@pytest.mark.parametrize("seed", [2, 4])
def test_virtual_motions(tmp_path, seed):
    """M mu = -a with any motion of the drive."""
    problem, p = assembled(tmp_path, random_tree(seed, BODIES), bent, formulation="recursive"), 2
    model, theta, z = problem.model, problem.theta, state_of(problem)[0]
    state = Motion(z, 0.0 * z, 0.0 * z)
    mu = []
    for make in (articulated_elimination, dense_elimination):
        work = pulled_accelerations(model, theta, make(model, theta, p))
        rng = np.random.default_rng(3)
        work.hat[:], work.elimination.driven[:] = rng.normal(size=(2, *work.hat.shape))
        assert find_virtual(model, theta, state, work)
        mu.append(work.virtual.mu)
    assert_close(*mu, 1e-12)


JOINED = """\
mbsim: 1
gravity: [0.3, -2, -9.81]
points:
  A: {a: [0.6, 0, 0.1], b: [0, 0, 0]}
  B: {a: [0.3, 0.2, 0], c: [0, 0, 0]}
vectors: {z: {all: [0.1, 0.2, 1]}}
bodies:
BODIES
  b: {mass: 0.7, center_of_mass: [0.2, 0.03, 0.01], inertia: {xx: 0.01, yy: 0.02, zz: 0.025, xy: 0.001}}
  c: {mass: 0.4, center_of_mass: [-0.1, 0.1, 0], inertia: {xx: 0.02, yy: 0.02, zz: 0.01}}
joints:
  O: {type: universal, bodies: [ground, a], point: origin, axes: [y, x],
      initial: {angles: [0.3, -0.2], angle_rates: [1, 2]}}
  A: {type: spherical, bodies: [a, b], point: AT_A, initial: {angular_velocity: [1, 2, -1]}}
  B: {type: revolute, bodies: [c, a], point: AT_B, axis: z, initial: {angle: 0.4, angular_velocity: 3}}
analysis: {step: 1e-3, duration: 2e-3}
"""
RIGID = "  a: {mass: 2, center_of_mass: [0.2, 0.1, 0], inertia: {xx: 0.3, yy: 0.32, zz: 0.4, xy: 0.03}}"
SHAPED = """\
  a:
    flexible:
      terms: {mass: 2, mdCM: [0.4, 0.2, 0], J: [[0.32, -0.01, 0], [-0.01, 0.4, 0], [0, 0, 0.5]],
        Ct: [[0.1, 0.2, 0.3], [0, -0.1, 0.1]], Cr: [[0.05, 0, 0.1], [0.1, 0.02, 0]],
        Me: [[5e13, 1e12], [1e12, 4e13]], Ke: [[300, 2], [2, 500]]}
      nodes:
        A: {origin: [0.6, 0, 0.1], phi: [[0, 0.5, 1], [0.1, 0.2, 0]], psi: [[1, 0.3, 0], [0, 1, 0.2]]}
        B: {origin: [0.3, 0.2, 0], phi: [[0.1, 0.2, 1], [0.3, 0.2, 0]], psi: [[1, 0, 0], [0, 0.3, 0.2]]}
"""


def test_heavy_shapes_do_not_move(tmp_path):
    """Then the body is a rigid one, which knows nothing of all this."""
    rigid = JOINED.replace("BODIES", RIGID).replace("AT_A", "A").replace("AT_B", "B")
    shaped = JOINED.replace("BODIES", SHAPED).replace("AT_A", "[A, A]").replace("AT_B", "[B, B]")
    found = []
    for text in (rigid, shaped):
        problem = assembled(tmp_path, text, formulation="recursive")
        start, n = problem.model.tree.initial[0], len(problem.names.coordinates)
        accelerations = Accelerations("recursive", problem, *problem.theta[start : start + 2 * n].reshape(2, n))
        found.append(dict(zip(problem.names.coordinates, accelerations.zdd, strict=True)))
    assert set(found[1]) - set(found[0]) == {"a.q1", "a.q2"}
    assert len(found[0]) == 7
    np.testing.assert_allclose([found[1][name] for name in found[0]], list(found[0].values()), rtol=1e-11)


def chain(count):
    """Links of one shape, each on a node of the one before."""
    text = JOINED[: JOINED.index("points")] + "vectors: {z: {all: [0.1, 0.2, 1]}}\nbodies:\n"
    text += "".join(SHAPED.replace("  a:", f"  a{i}:") for i in range(count)) + "joints:\n"
    for i in range(count):
        before = f"a{i - 1}, a{i}], point: [A, origin]" if i else "ground, a0], point: origin"
        text += f"  j{i}: {{type: revolute, bodies: [{before}, axis: z}}\n"
    return text + "analysis: {step: 1e-3, duration: 2e-3}\n"


def calls(problem, formulation):
    """How often kernels are called for accelerations and their variations."""
    directions = directions_of(replace(problem, theta_rho=np.eye(len(problem.theta), 1)))
    state, count = state_of(problem), 0

    def note(frame, event, argument):
        nonlocal count
        name = frame.f_code.co_filename
        memory = name.endswith("workspace.py") or "/kernels/compiler/" in name
        count += event == "call" and "/kernels/" in name and not memory

    sys.setprofile(note)
    try:
        Accelerations(formulation, problem, *state, directions=directions)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(("formulation", "linear"), [("recursive", True), ("partial_recursive", False)])
def test_cost_grows_with_the_number_of_bodies(tmp_path, formulation, linear):
    one, two, three = (calls(assembled(tmp_path, chain(n), formulation="recursive"), formulation) for n in (1, 2, 3))
    assert (three - two == two - one) == linear
