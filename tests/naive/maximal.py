"""Textbook multibody dynamics, slow and small: six velocities a body, every joint as equations, multipliers solved for.

The state of each body is its centre of mass r, quaternion q, velocity v and angular velocity w, all in global axes.
Points are given from the centre of mass, in body axes; body ``None`` is the ground, whose origin is the global one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy.integrate import solve_ivp

Ground = None


def rotation(q: np.ndarray) -> np.ndarray:
    """Rotation matrix (3, 3) of a quaternion (4,), scalar first, of any length."""
    e0, e = q[0] / np.linalg.norm(q), q[1:] / np.linalg.norm(q)
    return (2 * e0**2 - 1) * np.eye(3) + 2 * np.outer(e, e) + 2 * e0 * skew(e)


def skew(u: np.ndarray) -> np.ndarray:
    """Matrix (3, 3) of the product u x."""
    return np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])


def quaternion_rate(q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Rate (4,) of a quaternion at the global angular velocity w (3,)."""
    return 0.5 * np.concatenate([[-q[1:] @ w], q[0] * w + np.cross(w, q[1:])])


def turned(angle: float, axis: Sequence[float]) -> np.ndarray:
    """Quaternion (4,) of a rotation by ``angle`` about the unit vector ``axis``."""
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * np.asarray(axis, float)])


@dataclass
class Body:
    """A rigid body: mass, inertia (3, 3) about the centre of mass in body axes, initial state in global axes."""

    mass: float
    inertia: np.ndarray
    r: np.ndarray
    q: np.ndarray = field(default_factory=lambda: np.array([1.0, 0, 0, 0]))
    v: np.ndarray = field(default_factory=lambda: np.zeros(3))
    w: np.ndarray = field(default_factory=lambda: np.zeros(3))


class Motion:
    """State of all bodies at one instant, read by constraints and loads."""

    def __init__(self, y: np.ndarray, count: int):
        s = y[: 13 * count].reshape(count, 13)
        self.r, self.q, self.v, self.w = s[:, :3], s[:, 3:7], s[:, 7:10], s[:, 10:]
        self.R = [rotation(q) for q in self.q]

    def arm(self, body, u):
        """Vector u of the body's axes, in global axes."""
        return np.asarray(u, float) if body is Ground else self.R[body] @ u

    def spin(self, body):
        return np.zeros(3) if body is Ground else self.w[body]

    def point(self, body, p):
        return self.arm(body, p) + (0 if body is Ground else self.r[body])

    def point_velocity(self, body, p):
        return np.zeros(3) if body is Ground else self.v[body] + np.cross(self.w[body], self.arm(body, p))

    def centripetal(self, body, p):
        """Acceleration of a point but for the part that the body's accelerations give."""
        w = self.spin(body)
        return np.cross(w, np.cross(w, self.arm(body, p)))


def blocks(count: int, rows: int, parts) -> np.ndarray:
    """Jacobian (rows, 6 count) from parts (body, by v, by w); the ground is left out."""
    jacobian = np.zeros((rows, 6 * count))
    for body, by_v, by_w in parts:
        if body is not Ground:
            jacobian[:, 6 * body : 6 * body + 3] += by_v
            jacobian[:, 6 * body + 3 : 6 * body + 6] += by_w
    return jacobian


@dataclass
class Coincide:
    """Point pa of body a is point pb of body b (3 equations)."""

    a: int | None
    pa: Sequence[float]
    b: int | None
    pb: Sequence[float]

    def equations(self, m: Motion, count, t):
        """Value, Jacobian, wanted J v and wanted J a."""
        sa, sb = m.arm(self.a, self.pa), m.arm(self.b, self.pb)
        value = m.point(self.b, self.pb) - m.point(self.a, self.pa)
        jacobian = blocks(count, 3, [(self.b, np.eye(3), -skew(sb)), (self.a, -np.eye(3), skew(sa))])
        return value, jacobian, np.zeros(3), m.centripetal(self.a, self.pa) - m.centripetal(self.b, self.pb)


@dataclass
class Perpendicular:
    """Direction ua of body a stays normal to ub of body b."""

    a: int | None
    ua: Sequence[float]
    b: int | None
    ub: Sequence[float]

    def equations(self, m: Motion, count, t):
        ua, ub = m.arm(self.a, self.ua), m.arm(self.b, self.ub)
        wa, wb = m.spin(self.a), m.spin(self.b)
        n = np.cross(ua, ub)
        rate = np.cross(np.cross(wa, ua), ub) + np.cross(ua, np.cross(wb, ub))
        jacobian = blocks(count, 1, [(self.a, np.zeros(3), n), (self.b, np.zeros(3), -n)])
        return np.array([ua @ ub]), jacobian, np.zeros(1), np.array([(wb - wa) @ rate])


@dataclass
class OnPlane:
    """Point p of a body stays on the ground's plane n . x = 0."""

    body: int
    p: Sequence[float]
    n: Sequence[float]

    def equations(self, m: Motion, count, t):
        n = np.asarray(self.n, float)
        jacobian = blocks(count, 1, [(self.body, n, -n @ skew(m.arm(self.body, self.p)))])
        return (
            np.array([n @ m.point(self.body, self.p)]),
            jacobian,
            np.zeros(1),
            np.array([-n @ m.centripetal(self.body, self.p)]),
        )


@dataclass
class Drive:
    """Angle from direction ua of a to ub of b about ``axis`` of a follows a law t -> (value, rate, acceleration)."""

    a: int | None
    axis: Sequence[float]
    ua: Sequence[float]
    b: int | None
    ub: Sequence[float]
    law: Callable

    def equations(self, m: Motion, count, t):
        n, ua, ub = m.arm(self.a, self.axis), m.arm(self.a, self.ua), m.arm(self.b, self.ub)
        wa, wb = m.spin(self.a), m.spin(self.b)
        value, rate, acceleration = self.law(t)
        angle = np.arctan2(n @ np.cross(ua, ub), ua @ ub) - value
        jacobian = blocks(count, 1, [(self.b, np.zeros(3), n), (self.a, np.zeros(3), -n)])
        wanted = acceleration - (wb - wa) @ np.cross(wa, n)
        return np.array([np.angle(np.exp(1j * angle))]), jacobian, np.array([rate]), np.array([wanted])


def revolute(a, pa, axes_a, b, pb, axis_b) -> list:
    """Equations of a revolute joint; ``axes_a`` are two directions of a normal to the axis."""
    return [Coincide(a, pa, b, pb), *(Perpendicular(a, u, b, axis_b) for u in axes_a)]


@dataclass
class System:
    """Bodies, constraints, gravity (3,), loads ``(t, motion) -> [(body, force, torque about its centre)]``."""

    bodies: list[Body]
    constraints: list
    gravity: np.ndarray = field(default_factory=lambda: np.array([0, 0, -9.81]))
    loads: Callable = lambda t, m: []

    def initial(self) -> np.ndarray:
        return np.concatenate([np.concatenate([b.r, b.q, b.v, b.w]) for b in self.bodies]).astype(float)

    def equations(self, t, m, constraints):
        found = [c.equations(m, len(self.bodies), t) for c in constraints]
        return [np.concatenate(part) for part in zip(*found, strict=True)]

    def mass_and_load(self, t: float, m: Motion) -> tuple[np.ndarray, np.ndarray]:
        """Masses (6 nb, 6 nb) and forces (6 nb), gyroscopic ones included, at the centres of mass."""
        size = 6 * len(self.bodies)
        mass, load = np.zeros((size, size)), np.zeros(size)
        for i, body in enumerate(self.bodies):
            inertia = m.R[i] @ body.inertia @ m.R[i].T
            mass[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = body.mass * np.eye(3)
            mass[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = inertia
            load[6 * i : 6 * i + 3] = body.mass * self.gravity
            load[6 * i + 3 : 6 * i + 6] = -np.cross(m.w[i], inertia @ m.w[i])
        for i, force, torque in self.loads(t, m):
            load[6 * i : 6 * i + 3] += force
            load[6 * i + 3 : 6 * i + 6] += torque
        return mass, load

    def accelerations(self, t: float, m: Motion) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations (nb, 6) and multipliers: M a + J^T lambda = Q, J a = gamma, by least squares if redundant."""
        mass, load = self.mass_and_load(t, m)
        size = len(load)
        if not self.constraints:
            return np.linalg.solve(mass, load).reshape(-1, 6), np.zeros(0)
        _, jacobian, _, gamma = self.equations(t, m, self.constraints)
        rows = len(gamma)
        matrix = np.block([[mass, jacobian.T], [jacobian, np.zeros((rows, rows))]])
        solution = np.linalg.lstsq(matrix, np.concatenate([load, gamma]), rcond=1e-11)[0]
        return solution[:size].reshape(-1, 6), solution[size:]

    def project(self, t: float, y: np.ndarray, extra: Sequence = (), iterations: int = 1) -> np.ndarray:
        """State with constraints and ``extra`` ones met at position and velocity level, by Gauss-Newton."""
        y, constraints, count = y.copy(), [*self.constraints, *extra], len(self.bodies)
        if not constraints:
            return y
        for _ in range(iterations):
            value, jacobian, _, _ = self.equations(t, Motion(y, count), constraints)
            step = -np.linalg.lstsq(jacobian, value, rcond=1e-9)[0].reshape(count, 6)
            s = y[: 13 * count].reshape(count, 13)
            s[:, :3] += step[:, :3]
            for i in range(count):
                angle = np.linalg.norm(step[i, 3:])
                if angle > 0:
                    w = step[i, 3:] / angle
                    e0, e = np.cos(angle / 2), np.sin(angle / 2) * w
                    q0, q = s[i, 3], s[i, 4:7].copy()
                    s[i, 3:7] = np.concatenate([[e0 * q0 - e @ q], e0 * q + q0 * e + np.cross(e, q)])
        s = y[: 13 * count].reshape(count, 13)
        _, jacobian, rate, _ = self.equations(t, Motion(y, count), constraints)
        error = jacobian @ s[:, 7:].ravel() - rate
        s[:, 7:] -= np.linalg.lstsq(jacobian, error, rcond=1e-9)[0].reshape(count, 6)
        s[:, 3:7] /= np.linalg.norm(s[:, 3:7], axis=1)[:, None]
        return y

    def derivative(self, t: float, y: np.ndarray, integrands) -> np.ndarray:
        count = len(self.bodies)
        m = Motion(y, count)
        a, multipliers = self.accelerations(t, m)
        rates = [np.concatenate([m.v[i], quaternion_rate(m.q[i], m.w[i]), a[i]]) for i in range(count)]
        return np.concatenate([*rates, [f(t, m, a, multipliers) for f in integrands]])

    def simulate(self, times: Sequence[float], integrands=(), extra_at_start=(), tolerance=1e-11, window=0.05):
        """States at ``times`` (the first is the start), and integrals (len(times), k) of the integrands."""
        count = len(self.bodies)
        state = self.project(times[0], self.initial(), extra_at_start, iterations=30)
        y = np.concatenate([state, np.zeros(len(integrands))])
        found = [y]
        for start, end in pairwise(times):
            edges = np.linspace(start, end, max(1, round((end - start) / window)) + 1)
            for t0, t1 in pairwise(edges):
                run = solve_ivp(
                    self.derivative, (t0, t1), y, "DOP853", args=(integrands,), rtol=tolerance, atol=tolerance
                )
                y = run.y[:, -1]
                y[: 13 * count] = self.project(t1, y[: 13 * count])
            found.append(y)
        found = np.array(found)
        return [Motion(row, count) for row in found], found[:, 13 * count :]


def gradient(function: Callable, values: dict[str, float], relative_step: float = 1e-4) -> dict[str, np.ndarray]:
    """Derivatives of ``function(**values)`` by fourth-order central differences."""
    result = {}
    for name, value in values.items():
        h = relative_step * max(abs(value), 0.1)
        at = [np.asarray(function(**{**values, name: value + k * h})) for k in (-2, -1, 1, 2)]
        result[name] = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)
    return result
