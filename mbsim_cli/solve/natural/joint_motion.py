"""Joints of the spanning tree in natural coordinates: their motion and their reactions, from the motion of bodies."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.compiler.simd import padded, zeros
from mbsim_cli.kernels.drivers.pull_back import MotionAdjoints
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.codes import ROTATIONS, Measure
from mbsim_cli.model.coordinates import kinds
from mbsim_cli.model.layout import GROUND, FlexibleTree
from mbsim_cli.model.problem import Block, Problem, Reacting
from mbsim_cli.solve import allocate
from mbsim_cli.solve.blocks import first_rows, other_rows
from mbsim_cli.solve.constraint_forces import INSTANTS, Balance, ReactionReader
from mbsim_cli.solve.initial import Initial
from mbsim_cli.solve.natural.joints import Row, TreeJoint, tree_joints
from mbsim_cli.solve.natural.plan import STEP, Fields, Local, derivative_of, directions_of, value_of
from mbsim_cli.solve.natural.system import NaturalSystem


class Jet(NamedTuple):
    """A quantity (N, ...) at N time points, mostly at T values of theta (N, T, ...), with two time derivatives."""

    x: np.ndarray
    rate: np.ndarray
    second: np.ndarray


class JointReader:
    """Reads coordinates of joints at a theta, which may be complex, along directions dtheta (len(theta), p)."""

    def __init__(self, system: NaturalSystem, theta: np.ndarray, dtheta: np.ndarray) -> None:
        self._system, self._p = system, dtheta.shape[1]
        self._like, self._theta = theta, directions_of(theta, dtheta)
        self._fields = system.fields(self._theta)
        model = system.problem.model
        nodes = model.tree.column_body[model.tree.node] if isinstance(model.tree, FlexibleTree) else ()
        self._joints = [joint for joint in tree_joints(model, system.problem.names.joints) if joint.child not in nodes]

    def read(self, motion: list[np.ndarray], d_motion: list[np.ndarray], near: np.ndarray) -> tuple[Jet, Jet]:
        """Coordinates (N, n) and derivatives (N, n, p) from the natural q, q', q''; angles have the turn ``near``."""
        moving = Jet(*map(self._stacked, motion, d_motion))
        bodies = _Bodies(self._fields, self._system, self._theta, moving)
        found = []
        for joint in self._joints:
            euler = _euler_parameters(bodies, joint) if joint.spherical else []
            rows = (joint.coordinate(place, 1.0) for place in range(len(joint.columns)))
            found += [euler.pop(0) if row is None else _measure(bodies, row) for row in rows]
        found += [Jet(*(part[..., c] for part in moving)) for c in self._system.elastic[0]]
        nothing = moving.x[..., :0]  # where no joint has a coordinate
        parts = [np.stack(part, axis=-1) for part in zip(*found, strict=True)] or [nothing] * 3  # (N, T, n) each
        turns = np.isin(kinds(self._system.problem.model.tree), ROTATIONS)
        away = (parts[0][:, :1] - near[:, None]).real
        parts[0] = parts[0] - turns * (2.0 * np.pi * np.round(away / (2.0 * np.pi)))
        stacks = [np.moveaxis(part, 1, 0) for part in parts]
        kind = self._like.dtype  # kernels take records of one kind of numbers, also those without derivatives
        values = Jet(*(np.ascontiguousarray(value_of(stack, self._like), kind) for stack in stacks))
        return values, Jet(*(np.ascontiguousarray(derivative_of(stack, self._p), kind) for stack in stacks))

    def _stacked(self, value: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Coordinates (N, T, n) at all values of theta."""
        if np.iscomplexobj(value):
            return value[:, None]
        moved = value[:, None] + 1j * STEP * np.moveaxis(slope[..., : self._p], 2, 1)
        return np.concatenate([value[:, None] + 0j, moved], axis=1)


def in_joint_coordinates(
    system: NaturalSystem, theta: np.ndarray, blocks: Iterator[Block]
) -> Iterator[tuple[Block, Block]]:
    """Blocks, each with one whose motion is that of the joints; angles are continuous from block to block."""
    size, first = theta.size, int(system.problem.model.tree.initial[0])
    reader, latest = JointReader(system, theta, np.zeros((size, 0))), -np.inf
    n = kinds(system.problem.model.tree).size
    z, zd = theta[first : first + n], theta[first + n : first + 2 * n]
    for block in blocks:
        rows = []
        for row, time in enumerate(block.time):
            motion = [array[row : row + 1] for array in (block.position, block.velocity, block.acceleration)]
            near = z + (time - max(latest, 0.0)) * zd
            found, _ = reader.read(motion, [np.zeros((*part.shape, 0)) for part in motion], near[None])
            z, zd, latest = found.x[0], found.rate[0], time
            rows.append(found)
        if rows:
            names = ("position", "velocity", "acceleration")
            parts = (np.concatenate(part) for part in zip(*rows, strict=True))
            yield block, block._replace(**dict(zip(names, parts, strict=True)))


class _Bodies:
    """Points and vectors of bodies as they move."""

    def __init__(self, fields: Fields, system: NaturalSystem, theta: np.ndarray, q: Jet) -> None:
        self._theta, self._poses = theta, {}
        for i, columns in enumerate(system.columns):
            pose, used = fields.poses[i], system.order[columns]
            linear = (np.einsum("tac,ntc->nta", pose[:, :, 1 + columns], part[:, :, used]) for part in q)
            self._poses[i] = Jet(*linear)
            self._poses[i].x[:] += pose[:, :, 0]
        still = np.zeros((*q.x.shape[:2], 12), complex)
        self._poses[GROUND] = Jet(still + fields.poses[GROUND][:, :, 0], still, still)

    def vector(self, body: int, local: Local) -> Jet:
        """A vector of a body."""
        columns = (part[..., 3:].reshape(*part.shape[:2], 3, 3) for part in self._poses[body])
        return Jet(*(np.einsum("tk,ntka->nta", local(self._theta), part) for part in columns))

    def point(self, body: int, local: Local) -> Jet:
        """A point of a body."""
        vector = self.vector(body, local)
        return Jet(*(part[..., :3] + along for part, along in zip(self._poses[body], vector, strict=True)))


def _measure(bodies: _Bodies, row: Row) -> Jet:
    """The length or angle that a row measures."""
    u = bodies.vector(row.a, row.u_a)
    if row.kind == Measure.PROJECTION:
        ends = zip(bodies.point(row.b, row.p_b), bodies.point(row.a, row.p_a), strict=True)
        return _dot(u, Jet(*(b - a for b, a in ends)))
    m = bodies.vector(row.a, lambda theta: np.cross(row.n_a(theta), row.u_a(theta)))
    w = bodies.vector(row.b, row.u_b)
    return _angle(_dot(m, w), _dot(u, w))


def _dot(a: Jet, b: Jet) -> Jet:
    """a . b."""

    def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (x * y).sum(axis=-1)

    rate = product(a.rate, b.x) + product(a.x, b.rate)
    second = product(a.second, b.x) + 2.0 * product(a.rate, b.rate) + product(a.x, b.second)
    return Jet(product(a.x, b.x), rate, second)


def _angle(s: Jet, c: Jet) -> Jet:
    """The angle whose sine and cosine these are, analytic off the real axis for tiny imaginary parts."""
    square = s.x * s.x + c.x * c.x
    y, x = s.x, c.x
    own = (x.real * y.imag - y.real * x.imag) / square.real
    rate = (x * s.rate - y * c.rate) / square
    second = (x * s.second - y * c.second - 2.0 * rate * (x * c.rate + y * s.rate)) / square
    return Jet(np.arctan2(y.real, x.real) + 1j * own, rate, second)


def _euler_parameters(bodies: _Bodies, joint: TreeJoint) -> list[Jet]:
    """Unit Euler parameters of the child's axes in the parent's; the sign is arbitrary."""
    parent = [bodies.vector(joint.parent, joint.axis_of(True, k)) for k in range(3)]
    child = [bodies.vector(joint.child, joint.axis_of(False, k)) for k in range(3)]
    cells = [[_dot(a, b) for b in child] for a in parent]
    Q, Q1, Q2 = (np.stack([np.stack([c[k] for c in row], axis=-1) for row in cells], axis=-2) for k in range(3))
    w, turning = _skew_part(Q1 @ np.swapaxes(Q, -1, -2)), _skew_part(Q2 @ np.swapaxes(Q, -1, -2))
    e = _unit_quaternion(Q)
    e1 = 0.5 * _turned(w, e)
    e2 = 0.5 * (_turned(turning, e) + _turned(w, e1))
    return [Jet(e[..., k], e1[..., k], e2[..., k]) for k in range(4)]


def _skew_part(a: np.ndarray) -> np.ndarray:
    """The vector w of a matrix whose skew part is that of w x."""
    found = (a[..., 2, 1] - a[..., 1, 2], a[..., 0, 2] - a[..., 2, 0], a[..., 1, 0] - a[..., 0, 1])
    return 0.5 * np.stack(found, axis=-1)


def _turned(w: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The product of the vector w and Euler parameters."""
    scalar = -(w * e[..., 1:]).sum(axis=-1)
    return np.concatenate([scalar[..., None], e[..., :1] * w + np.cross(w, e[..., 1:])], axis=-1)


def _unit_quaternion(Q: np.ndarray) -> np.ndarray:
    """Euler parameters (N, T, 4) of rotation matrices, by the largest of the four; of all T by the same."""
    x, y, z = Q[..., 0, 0], Q[..., 1, 1], Q[..., 2, 2]
    wx, wy, wz = (2.0 * part for part in np.moveaxis(_skew_part(Q), -1, 0))
    xy, xz, yz = Q[..., 0, 1] + Q[..., 1, 0], Q[..., 0, 2] + Q[..., 2, 0], Q[..., 1, 2] + Q[..., 2, 1]
    rows = [[1 + x + y + z, wx, wy, wz], [wx, 1 + x - y - z, xy, xz]]
    rows += [[wy, xy, 1 - x + y - z, yz], [wz, xz, yz, 1 - x - y + z]]  # 4 e e^T
    products = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    largest = np.diagonal(products[:, 0].real, axis1=-2, axis2=-1).argmax(axis=-1)
    row = products[np.arange(len(Q)), :, largest]
    square = np.take_along_axis(row, largest[:, None, None], axis=-1)
    return row / (2.0 * np.sqrt(square))


class NaturalReactions:
    """Reads reactions as ``constraint_forces.ReactionReader``; theta, dtheta are those of the natural model."""

    def __init__(self, problem: Problem, reacting: Reacting, theta: np.ndarray, dtheta: np.ndarray) -> None:
        self._system: NaturalSystem = problem.system
        of_tree = self._system.problem
        tree = replace(problem, model=of_tree.model, names=of_tree.names, least=of_tree.least)
        size = tree.theta.size
        theta, dtheta = theta[:size], np.ascontiguousarray(dtheta[:size])
        balance = Balance(tree, theta, dtheta, redundant=False)  # redundancy does not change which are determined
        self._reader = ReactionReader(tree, reacting, theta, dtheta, balance)
        self._joints = JointReader(self._system, theta, dtheta)
        _, self._n, self._m = allocate.sizes(tree.model)

    @property
    def lost(self) -> Mapping[float, str]:
        """Why forces are not found, by the time."""
        return self._reader.lost

    def read(self, record: Record, d_record: SensitivityRecord) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Reactions (N, width) of the rows of a record, their derivatives (N, width, p), and which are undetermined."""
        parts = []
        for first in range(0, max(len(record.time), 1), INSTANTS):
            some = first_rows(other_rows(record, first), INSTANTS)
            d_some = first_rows(other_rows(d_record, first), INSTANTS)
            parts.append(self._reader.read(*self._of_joints(some, d_some)))
        values, slopes, unknown = (np.concatenate(part) for part in zip(*parts, strict=True))
        return values, slopes, unknown

    def _of_joints(self, record: Record, d_record: SensitivityRecord) -> tuple[Record, SensitivityRecord]:
        """Records of the joints' coordinates, without multipliers."""
        near = np.zeros((len(record.time), self._n))  # angles of joints that are followed
        if record.expected.shape[1]:
            for k, (c, sign) in self._system.standing_for.items():
                near[:, c] = sign * record.expected[:, k]
        expected = np.ascontiguousarray(record.expected[:, : self._system.problem.model.measures.kind.size])
        (z, zd, zdd), (dz, dzd, dzdd) = self._joints.read(list(record[1:4]), list(d_record[:3]), near)
        rows, m, p = len(record.time), self._m, d_record.position.shape[2]
        multiplier, slope = np.zeros((rows, m), z.dtype), np.zeros((rows, m, p), z.dtype)
        return (
            record._replace(position=z, velocity=zd, acceleration=zdd, reaction=multiplier, expected=expected),
            d_record._replace(position=dz, velocity=dzd, acceleration=dzdd, reaction=slope),
        )


# Reactions that objectives read in natural coordinates, pulled back to the motion.
#
# They are read through the joints of the tree, and depend only on positions and velocities of the time point: their
# derivatives by these are those along unit directions, and by parameters those at a fixed motion. Derivation:
# docs/theory/reactions.md.

AT_ONCE = 8  # time points whose derivatives along all directions are held


class NaturalReactionPuller:
    """Takes adjoints of reactions, p columns; ``gradient`` (q, p) sums derivatives by parameters at a fixed motion."""

    theta = 0.0  # nothing goes to numbers of the model

    def __init__(self, problem: Problem, initial: Initial, p: int) -> None:
        assert problem.reacting is not None
        self.model, (_, self._n, _) = problem.model, allocate.sizes(problem.model)
        self._parameters, size = problem.theta_rho.shape[1], initial.theta.size
        along = zeros((size, padded(self._parameters + 2 * self._n)), initial.theta.dtype)
        along[:, : self._parameters] = initial.dtheta[:, : self._parameters]
        self._count = along.shape[1]
        self.reader, self._varied = (
            NaturalReactions(problem, problem.reacting, initial.theta, dtheta) for dtheta in (along[:, :0], along)
        )
        self.gradient = np.zeros((self._parameters, p), initial.theta.dtype)

    def pull_back(self, record: Record, hat: np.ndarray) -> MotionAdjoints:
        """Adjoints of the motion at the rows of a record from those of its reactions, hat (N, width, p)."""
        n, out = self._n, allocate.motion_adjoints(self.model, len(hat), hat.shape[2], hat.dtype.type)
        for first in range(0, len(hat), AT_ONCE):
            rows = slice(first, first + AT_ONCE)
            if hat[rows].any():
                some, unit = first_rows(other_rows(record, first), AT_ONCE), np.arange(n)
                along = allocate.sensitivity_record(self.model, len(some.time), self._count, self.gradient.dtype.type)
                for k, part in enumerate(along[:2]):  # each coordinate and rate
                    part[:, unit, self._parameters + k * n + unit] = 1.0
                _, slopes, unknown = self._varied.read(some, along)
                slopes[unknown] = 0.0  # which no number reads
                found = np.einsum("nwc,nwk->nck", slopes, hat[rows], optimize=True)
                by_parameters, *motion = np.split(found, self._parameters + n * np.arange(2), axis=1)
                self.gradient += by_parameters.sum(axis=0)
                for part, adjoints in zip(out, motion, strict=False):
                    part[rows] = adjoints[:, :n]
        return out
