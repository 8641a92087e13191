"""Bodies that deform in open trees: the motion that loops' formulations have, and its derivatives by all methods."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.errors import ModelError
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Motion
from mbsim_cli.solve.forward import forward, start
from mbsim_cli.solve.inverse.analysis import inverse
from mbsim_cli.solve.inverse.torques import InverseDynamics
from tests.kernels.adjoint import adjoint, summed, weights_of
from tests.kernels.differentiate import EPS
from tests.kernels.open_tree_adjoint import chosen, sensors
from tests.kernels.plain.test_flexible_trees import BEAMS, assembled, bent

# without its loop: the outer beam hangs on a node of the inner one, and a ball on a node of the outer one
CHAIN = (
    BEAMS[: BEAMS.index("  P: {type: spherical")]
    + """\
  Q: {type: spherical, bodies: [arm, link], point: [a, Q], initial: {angular_velocity: [1, 2, -1]}}
laws:
  turn: {type: polynomial, coefficients: [0.3, 1, 0.4, 0.2]}
constraints:
  drive: {type: motion, coordinate: O.angle_1, law: turn}
"""
    + BEAMS[BEAMS.index("forces:") :]
)


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """With nodes that stiffen their bodies."""
    folder, options = tmp_path_factory.mktemp("chain"), {"formulation": "partial_recursive", "integrator": "rk4"}
    return assembled(folder, CHAIN, bent, sensitivity="ddm", **options)


def test_accelerations_are_those_of_the_formulation_for_loops(tmp_path, chain):
    """At the same start; the laws of one drive what the other holds by multipliers."""
    looped = assembled(tmp_path, CHAIN, bent, sensitivity="none")
    first, other = (start(problem).first_block() for problem in (chain, looped))
    np.testing.assert_allclose(first.position, other.position, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(first.acceleration, other.acceleration, rtol=1e-8)
    np.testing.assert_allclose(first.lambda_, other.lambda_, rtol=1e-8)


RUNS = [
    ("rk4", 2e-4, 2, "partial_recursive"),
    ("esdirk", 1e-3, 1, "recursive"),
    ("rk4", 2e-4, 1, "recursive"),
]


@pytest.mark.parametrize(("integrator", "step", "rows", "formulation"), RUNS)
def test_gradients(chain, integrator, step, rows, formulation):
    """Direct and adjoint ones along parameters and the numbers of nodes, against the complex step of the run."""
    options = {"integrator": integrator, "step": step, "formulation": formulation, "gradient_tolerance": 1e-12}
    problem = chosen(chain, rows, **options, tolerance=1e-3, absolute_tolerance=1e-3)
    tree, shape = problem.model.tree, np.zeros_like(problem.theta)
    for v, first in enumerate(tree.shape):
        shape[first : first + np.diff(tree.elastic)[tree.node_body[v]]] = 0.1
    for v in np.flatnonzero(tree.bend != NONE):
        n = int(np.diff(tree.elastic)[tree.node_body[v]])
        shape[tree.bend[v] : tree.bend[v] + n * n] = 1.0
    size = np.maximum(1e-3, np.abs(problem.theta_rho).max(axis=0))
    mixed = np.random.default_rng(5).normal(size=size.size) / size @ problem.theta_rho.T
    directions, weights = [shape, mixed], weights_of(problem, rows)
    found = adjoint(problem, directions, rows, weights, block_steps=2)
    ddm = replace(problem, theta_rho=np.array(directions).T)
    by_parameters = summed(sensors(ddm, field="d_sensors"), weights)
    for k, direction in enumerate(directions):
        plain = replace(problem, options=replace(problem.options, sensitivity="none"))
        exact = summed(sensors(plain, problem.theta + 1j * EPS * direction).imag / EPS, weights)
        np.testing.assert_allclose(by_parameters[k], exact, rtol=1e-9)
        np.testing.assert_allclose(found[k], exact, rtol=1e-9)


DRIVE = "constraints:\n  drive: {type: motion, coordinate: O.angle_1, law: turn}\n"
BALL = "type: spherical, bodies: [arm, link], point: [a, Q], initial: {angular_velocity: [1, 2, -1]}"
HINGE = "type: revolute, bodies: [arm, link], point: [a, Q], axis: z, initial: {angular_velocity: 2}"
DRIVEN = CHAIN.replace(BALL, HINGE)
GIVEN = DRIVEN.replace(DRIVE, "").replace(
    "analysis: {step: 1e-3, duration: 0.002}",
    "analysis: {type: inverse_dynamics, sampling: 1e-3, duration: 2e-3, motion: {all: turn, laws: {boom.q1: turn}},"
    " sensitivity: {method: ddm}}",
)


def test_inverse_dynamics(tmp_path):
    """Of a forward run it gives what the drive took, and nothing else; derivatives are those of the complex step."""
    driven = assembled(tmp_path, DRIVEN, bent, sensitivity="none", formulation="recursive", integrator="rk4")
    given = assembled(tmp_path, GIVEN, bent)
    *rows, taken = (np.concatenate(rows) for rows in zip(*(block[:5] for block in forward(driven)), strict=True))
    torque = InverseDynamics(given, matrices=False).block(Motion(*rows)).torque
    start = Motion(*(row[:1] for row in rows))
    still = start._replace(acceleration=0.0 * start.acceleration)
    size = np.abs(InverseDynamics(given, matrices=False).block(still).torque).max()
    expected = np.zeros_like(torque)
    expected[:, :1] = -taken
    assert len(torque) == 3 and np.abs(taken).min() > 1e-3 * size
    assert np.abs(torque - expected).max() < 1e-10 * size
    found = InverseDynamics(given, matrices=True).block(start)
    plain = replace(given, theta_rho=given.theta_rho[:, :0])

    def along(dz, dzd, dzdd, dtheta):
        moved = replace(plain, theta=plain.theta + 1j * EPS * dtheta)
        changes = (x + 1j * EPS * d for x, d in zip(start[1:4], (dz, dzd, dzdd), strict=True))
        return InverseDynamics(moved, matrices=False).block(Motion(start.time, *changes)).torque[0].imag / EPS

    zero, unit = np.zeros(given.theta.size), np.eye(start.position.shape[1])
    for k, matrix in enumerate((found.by_position, found.by_velocity, found.by_acceleration)):
        for c, one in enumerate(unit):
            exact = along(*(one * (k == order) for order in range(3)), zero)
            np.testing.assert_allclose(matrix[0, :, c], exact, rtol=1e-9, atol=1e-12 * size)
    for direction, by_parameter in zip(given.theta_rho.T, found.by_parameter[0].T, strict=True):
        exact = along(*3 * [0.0 * unit[0]], direction)
        np.testing.assert_allclose(by_parameter, exact, rtol=1e-9, atol=1e-12 * np.abs(exact).max())
    (block,) = inverse(given)
    assert np.isfinite(block.torque).all() and block.position[0, -1] == block.position[0, 0]


def test_motion_of_coordinates_that_there_are_not(tmp_path):
    with pytest.raises(ModelError, match=r"motion\.laws\.boom\.q7: there is no coordinate 'boom\.q7'"):
        assembled(tmp_path, GIVEN.replace("boom.q1", "boom.q7"))
    with pytest.raises(ModelError, match="unknown joint 'boom'"):
        assembled(tmp_path, GIVEN.replace("boom.q1", "boom.x"))
