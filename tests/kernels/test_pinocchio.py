"""Random trees against Pinocchio: mass matrix and inverse dynamics. Every column is a Pinocchio joint of its own."""

import numpy as np
import pytest

pytest.importorskip("pinocchio")

import pinocchio as pin

from mbsim_cli.model.codes import JOINT_COLUMNS, Column, Joint
from mbsim_cli.model.layout import COM, GROUND, INERTIA, MASS
from tests.kernels.instant import EPS, Instant, random_state
from tests.kernels.models import Builder

pytestmark = pytest.mark.oracles

SINGLE = {
    Column.TRANSLATION_X: pin.JointModelPX,
    Column.TRANSLATION_Y: pin.JointModelPY,
    Column.TRANSLATION_Z: pin.JointModelPZ,
    Column.ROTATION_X: pin.JointModelRX,
    Column.ROTATION_Y: pin.JointModelRY,
    Column.ROTATION_Z: pin.JointModelRZ,
}


def pinocchio_model(builder):
    """The tree in Pinocchio; each body's frame is the joint frame on its own side."""
    model, theta = pin.Model(), np.array(builder.theta)
    model.gravity.linear = theta[:3]
    at = {GROUND: (0, pin.SE3.Identity())}
    for i, body in enumerate(builder.bodies):
        o = body.theta
        number, from_parent = at[body.parent]
        placement = from_parent * pin.SE3(theta[o + 3 : o + 12].reshape(3, 3), theta[o : o + 3])
        for column in JOINT_COLUMNS[body.joint]:
            joint = SINGLE[column]() if column in SINGLE else pin.JointModelSpherical()
            if column in SINGLE or column == Column.EULER_0:
                number = model.addJoint(number, joint, placement, f"{i} {column}")
                placement = pin.SE3.Identity()
        to_body = placement * pin.SE3(theta[o + 15 : o + 24].reshape(3, 3), theta[o + 12 : o + 15]).inverse()
        xx, yy, zz, xy, xz, yz = theta[o + INERTIA : o + INERTIA + 6]
        moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        inertia = pin.Inertia(theta[o + MASS], theta[o + COM : o + COM + 3], moments)
        model.appendBodyToJoint(number, inertia, to_body)
        at[i] = number, to_body
    return model


def rates(builder, z):
    """Matrix from z' to Pinocchio's velocities: angular velocities in the turned frame for Euler parameters."""
    rows, c = [], 0
    while c < len(z):
        if builder.kinds[c] != Column.EULER_0:
            rows.append(np.eye(len(z))[c])
            c += 1
            continue
        e = z[c : c + 4]
        local = np.zeros((3, len(z)), e.dtype)
        a, x, y, w = e[0], e[1], e[2], e[3]
        local[:, c : c + 4] = np.array([[-x, a, w, -y], [-y, -w, a, x], [-w, y, -x, a]]) * (2 / (e @ e))
        rows += list(local)
        c += 4
    return np.array(rows)


def positions(builder, z):
    """Pinocchio's q: quaternions as (x, y, z, w)."""
    q, c = [], 0
    while c < len(z):
        if builder.kinds[c] == Column.EULER_0:
            e = z[c : c + 4] / np.linalg.norm(z[c : c + 4])
            q += [*e[1:], e[0]]
            c += 4
        else:
            q.append(z[c])
            c += 1
    return np.array(q)


def random_tree(seed):
    """A random tree numbered depth first, as Pinocchio's recursions suppose."""
    builder, parent = Builder(seed), GROUND
    for joint in builder.rng.permutation(np.repeat(list(Joint), 2)):
        builder.body(Joint(int(joint)), parent)
        parent = len(builder.bodies) - 1
        while parent != GROUND and builder.rng.random() < 0.3:
            parent = builder.bodies[parent].parent
    return builder


@pytest.mark.parametrize("seed", range(20))
def test_random_trees(seed):
    builder = random_tree(seed)
    problem = builder.problem()
    z, zd, zdd, lam = random_state(builder, problem)
    model = pinocchio_model(builder)
    data, q = model.createData(), positions(builder, z)
    W = rates(builder, z)
    W1 = rates(builder, z + 1j * EPS * zd).imag / EPS
    for at_center in (True, False):
        found = Instant(problem, z, zd, zdd, 0 * lam, at_center=at_center)
        M = W.T @ pin.crba(model, data, q) @ W
        assert np.abs(found.M - M).max() <= 1e-9 * np.abs(M).max()
        G = W.T @ pin.rnea(model, data, q, W @ zd, W @ zdd + W1 @ zd)
        assert np.abs(found.G - G).max() <= 1e-9 * np.abs(G).max()
        resting = Instant(problem, z, zd, 0 * zdd, 0 * lam, at_center=at_center)
        nonlinear = W.T @ (pin.nonLinearEffects(model, data, q, W @ zd) + pin.crba(model, data, q) @ W1 @ zd)
        assert np.abs(resting.G - nonlinear).max() <= 1e-9 * np.abs(nonlinear).max()
