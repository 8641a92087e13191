"""Accelerations of random open trees, and their derivatives by position, velocity and force, against Pinocchio.

Pinocchio's spherical joint has the rotation vector of the body's own axes as its tangent: e' = e o (0, w) / 2 with the
product o of quaternions, e = (e_0, e_1, e_2, e_3) of unit length.
"""

import numpy as np
import pytest

from mbsim_cli.kernels.algorithms.motion.workspace import Directions, LoadedMotion, Motion, touch
from mbsim_cli.kernels.algorithms.open_trees.open_tree import open_tree
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.model.codes import JOINT_COLUMNS, Column, Joint
from mbsim_cli.model.layout import GROUND
from mbsim_cli.solve.open_trees.open_tree import FORMULATIONS
from tests.kernels.accelerations import accelerations_and_variations
from tests.kernels.inverse_problems import relative
from tests.kernels.models import Builder

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.oracles
CONSTANT = 3  # entry of a force along a measure
MOST = 60  # coordinates
WITHOUT_QUATERNIONS = [joint for joint in Joint if Column.EULER_0 not in JOINT_COLUMNS[joint]]


def left(a):
    """Matrix of the product a o b by b."""
    w, x, y, z = a
    return np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])


def rates(e):
    """Matrix (4, 3) of e' = rates(e) w."""
    return 0.5 * left(e)[:, 1:]


class Tree:
    """A random tree with a constant force on every coordinate, in both programs."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        builder = Builder(seed)
        joints = list(Joint) if seed % 2 else WITHOUT_QUATERNIONS
        most = int(rng.integers(2, MOST + 1))
        branch = [GROUND]
        while len(builder.z) < most:  # numbered depth first, as Pinocchio's derivatives need it
            branch = branch[: int(rng.integers(max(1, len(branch) - 2), len(branch) + 1))]
            fitting = [joint for joint in joints if len(builder.z) + len(JOINT_COLUMNS[joint]) <= most]
            branch.append(builder.body(fitting[rng.integers(len(fitting))], branch[-1]))
        kinds, self.z, self.zd = np.array(builder.kinds), np.array(builder.z), np.array(builder.zd)
        starts = [c for c, kind in enumerate(kinds) if kind <= Column.EULER_0]
        self.columns = [slice(c, c + (4 if kinds[c] == Column.EULER_0 else 1)) for c in starts]
        size = [1 if c.stop - c.start == 1 else 3 for c in self.columns]
        ends = np.cumsum(size)
        self.tangents = [slice(end - k, end) for end, k in zip(ends, size, strict=True)]
        self.torque = 5.0 * rng.normal(size=ends[-1])
        self.constants = np.array([self._constant(builder, c) for c in range(self.z.size)])
        self.problem = builder.problem()
        self.theta = np.array(self.problem.theta)
        self.theta[self.constants] = self.on_coordinates(self.torque)

    @staticmethod
    def _constant(builder, c):
        """Put a constant force on coordinate c; say where its number stands."""
        force = builder.along(builder.coordinates((c,), (1.0,)))
        offset = builder.forces[force][-1]
        builder.theta[offset : offset + 4] = 4 * [0.0]
        return offset + CONSTANT

    def maps(self):
        """Columns of coordinates, tangent columns, and the matrix of z' = matrix v, for each joint motion."""
        for c, t in zip(self.columns, self.tangents, strict=True):
            yield c, t, np.eye(1) if c.stop - c.start == 1 else rates(self.z[c])

    def on_coordinates(self, torque):
        """Forces on coordinates that do the work of ``torque`` (nv, ...)."""
        Q = np.zeros((self.z.size, *torque.shape[1:]))
        for c, t, rate in self.maps():
            Q[c] = 4.0 * rate @ torque[t] if rate.shape[1] == 3 else torque[t]
        return Q

    def tangent_velocity(self):
        """v (nv,)."""
        v = np.zeros(self.torque.size)
        for c, t, rate in self.maps():
            v[t] = np.linalg.pinv(rate) @ self.zd[c]
        return v

    def directions(self):
        """dtheta (len(theta), p), dz, dz' (n, p): positions, velocities, forces, nv directions each, then padding."""
        n, nv = self.z.size, self.torque.size
        v, eye = self.tangent_velocity(), np.eye(nv)
        dz, dzd, dQ = np.zeros((3, n, padded(3 * nv)))
        for c, t, rate in self.maps():
            dz[c, :nv] = rate @ eye[t]
            dzd[c, nv : 2 * nv] = rate @ eye[t]
            for k in range(nv if rate.shape[1] == 3 else 0):  # the same v and torque at another e
                dzd[c, k] = rates(dz[c, k]) @ v[t]
                dQ[c, k] = 4.0 * rates(dz[c, k]) @ self.torque[t]
        dQ[:, 2 * nv : 3 * nv] = self.on_coordinates(eye)
        dtheta = np.zeros((self.theta.size, dQ.shape[1]))
        dtheta[self.constants] = dQ
        return dtheta, dz, dzd

    def found(self, formulation):
        """Accelerations (nv,) and their derivatives by position, velocity and force, (nv, nv) each."""
        model, n, nv = self.problem.model, self.z.size, self.torque.size
        dtheta, dz, dzd = self.directions()
        p, m = dtheta.shape[1], model.constraints.measure.size
        zdd, reaction, dzdd, d_reaction = (np.zeros(k) for k in (n, m, (n, p), (m, p)))
        assert accelerations_and_variations(
            model, self.theta, Directions(dtheta, touch(model, dtheta)), open_tree(model), 0.0,
            Motion(self.z, self.zd, zdd), LoadedMotion(dz, dzd, dzdd, d_reaction),
            FORMULATIONS[formulation](model, self.theta, p), reaction,
        )  # fmt: skip
        v = self.tangent_velocity()
        dv = np.zeros((nv, p))
        dv[:, nv : 2 * nv] = np.eye(nv)
        a, da = np.zeros(nv), np.zeros((nv, p))
        for c, t, rate in self.maps():
            if rate.shape[1] == 1:
                a[t], da[t] = zdd[c], dzdd[c]
            else:  # e'' = e o (0, a) / 2 + e' o (0, v) / 2
                a[t] = 4.0 * rate.T @ (zdd[c] - rates(self.zd[c]) @ v[t])
                rest = dzdd[c] - rates(self.zd[c]) @ dv[t]
                for k in range(p):
                    rest[:, k] -= rates(dzd[c, k]) @ v[t] + rates(dz[c, k]) @ a[t]
                da[t] = 4.0 * rate.T @ rest
        return a, [da[:, k * nv : (k + 1) * nv] for k in range(3)]

    def expected(self):
        """The same from Pinocchio."""
        from benchmarks import pinocchio_tree

        model, _ = pinocchio_tree.tree(pinocchio_tree.bodies_of(self.problem.model, self.theta), self.theta[:3])
        data, q, v = model.createData(), np.zeros(model.nq), self.tangent_velocity()
        first = 0
        for c, _, rate in self.maps():
            e = self.z[c]
            q[first : first + e.size] = e if rate.shape[1] == 1 else np.roll(e, -1)  # (x, y, z, w)
            first += e.size
        a = pin.aba(model, data, q, v, self.torque).copy()
        pin.computeABADerivatives(model, data, q, v, self.torque)
        Minv = np.triu(data.Minv)
        return a, [data.ddq_dq, data.ddq_dv, Minv + np.triu(Minv, 1).T]


@pytest.mark.parametrize("seed", range(50))
def test_random_trees(seed):
    tree = Tree(seed)
    a, matrices = tree.expected()
    for formulation in FORMULATIONS:
        found, derivatives = tree.found(formulation)
        assert relative(found, a) < 1e-9, formulation
        for name, ours, theirs in zip(("position", "velocity", "force"), derivatives, matrices, strict=True):
            assert relative(ours, theirs) < 1e-8, (formulation, name)
