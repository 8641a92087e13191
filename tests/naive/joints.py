"""All joints and further constraints for the textbook twin, and the forces that they exert."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.naive.maximal import Coincide, Ground, Motion, Perpendicular, System, blocks


def _between(m: Motion, a, pa, b, pb):
    """Arms of both points, the way from the first to the second, its rate, and its acceleration but for the bodies'."""
    way = m.point(b, pb) - m.point(a, pa)
    rate = m.point_velocity(b, pb) - m.point_velocity(a, pa)
    return m.arm(a, pa), m.arm(b, pb), way, rate, m.centripetal(b, pb) - m.centripetal(a, pa)


@dataclass
class InPlane:
    """Point pb of body b has a given second rate of the way from the plane of body a through pa, across na."""

    a: int | None
    pa: Sequence[float]
    na: Sequence[float]
    b: int | None
    pb: Sequence[float]
    second: float = 0.0

    def equations(self, m: Motion, count, t):
        sa, sb, way, rate, rest = _between(m, self.a, self.pa, self.b, self.pb)
        n, w = m.arm(self.a, self.na), m.spin(self.a)
        n1, n2 = np.cross(w, n), np.cross(w, np.cross(w, n))
        jacobian = blocks(count, 1, [(self.b, n, np.cross(sb, n)), (self.a, -n, -np.cross(sa + way, n))])
        wanted = self.second - n2 @ way - 2 * n1 @ rate - n @ rest
        return np.array([n @ way]), jacobian, np.zeros(1), np.array([wanted])


@dataclass
class Apart:
    """The distance of point pa of body a and pb of body b stays."""

    a: int | None
    pa: Sequence[float]
    b: int | None
    pb: Sequence[float]

    def equations(self, m: Motion, count, t):
        sa, sb, way, rate, rest = _between(m, self.a, self.pa, self.b, self.pb)
        length = np.linalg.norm(way)
        u = way / length
        jacobian = blocks(count, 1, [(self.b, u, np.cross(sb, u)), (self.a, -u, -np.cross(sa, u))])
        wanted = -u @ rest - (rate @ rate - (u @ rate) ** 2) / length
        return np.array([length]), jacobian, np.zeros(1), np.array([wanted])


@dataclass
class Turns:
    """A weighted sum of turns of bodies b about axes of bodies a, terms (a, axis, b, weight), has a second rate."""

    terms: Sequence[tuple]
    second: float = 0.0

    def equations(self, m: Motion, count, t):
        jacobian, wanted = np.zeros((1, 6 * count)), self.second
        for a, axis, b, weight in self.terms:
            n, wa, wb = m.arm(a, axis), m.spin(a), m.spin(b)
            jacobian += weight * blocks(count, 1, [(b, np.zeros(3), n), (a, np.zeros(3), -n)])
            wanted -= weight * np.cross(wa, n) @ (wb - wa)
        return np.zeros(1), jacobian, np.zeros(1), np.array([wanted])


def joint(kind: str, a, pa, axes_a: np.ndarray, b, pb, axes_b: np.ndarray) -> list:
    """Equations of a joint between frames of two bodies: points, and axes as columns, in each body's axes."""
    x, y, z = axes_a.T
    in_plane = [InPlane(a, pa, n, b, pb) for n in (x, y, z)]
    parallel = [Perpendicular(a, u, b, axes_b[:, 2]) for u in (x, y)]
    no_turn = [Perpendicular(a, x, b, axes_b[:, 1])]
    together = [Coincide(a, pa, b, pb)]
    return {
        "fixed": [*together, *parallel, *no_turn],
        "revolute": [*together, *parallel],
        "prismatic": [*in_plane[:2], *parallel, *no_turn],
        "cylindrical": [*in_plane[:2], *parallel],
        "planar": [in_plane[2], *parallel],
        "universal": [*together, Perpendicular(a, z, b, axes_b[:, 0])],
        "spherical": together,
        "floating": [],
    }[kind]


def wrench(system: System, m: Motion, multipliers: np.ndarray, constraints: Sequence, body: int, x: np.ndarray):
    """Force of some of the constraints on a body, and its moment about the point x, in global axes."""
    force, moment, row = np.zeros(3), np.zeros(3), 0
    for constraint in system.constraints:
        _, jacobian, _, _ = constraint.equations(m, len(system.bodies), 0.0)
        if any(constraint is one for one in constraints) and body is not Ground:
            pull = -jacobian.T @ multipliers[row : row + len(jacobian)]
            f, torque = pull[6 * body : 6 * body + 3], pull[6 * body + 3 : 6 * body + 6]
            force += f
            moment += torque + np.cross(m.r[body] - x, f)
        row += len(jacobian)
    return force, moment
