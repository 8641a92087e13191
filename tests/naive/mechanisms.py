"""Mechanisms of models/benchmarks written down a second time, from their geometry, for the textbook twin."""

import numpy as np

from tests.naive.maximal import Body, Coincide, Drive, Motion, OnPlane, Perpendicular, System, revolute, turned

X, Y, Z = np.eye(3)


def spring(m, a, pa, b, pb, k, c, natural):
    """Loads of a spring-damper between point pa of body a and pb of body b (``None``: ground)."""
    arm = m.point(b, pb) - m.point(a, pa)
    length = np.linalg.norm(arm)
    u = arm / length
    rate = u @ (m.point_velocity(b, pb) - m.point_velocity(a, pa))
    force = (k * (length - natural) + c * rate) * u
    found = []
    for body, p, f in ((a, pa, force), (b, pb, -force)):
        if body is not None:
            found.append((body, f, np.cross(m.arm(body, p), f)))
    return found


def rssr(k=50.0, m_coupler=1.2, L_crank=0.3, times=(0.0, 0.5, 1.0, 1.5, 2.0), tolerance=1e-11):
    """RSSR four-bar: states, integrals of |v_B|^2 and |w_coupler|^2, at ``times``."""
    pivot = np.array([1.0, 0.4, 0.2])
    crank, coupler, rocker = 0, 1, 2
    crank_com, coupler_com, rocker_com = np.array([0.15, 0, 0]), np.array([0.65, 0.2, 0.4]), np.array([0, 0, 0.3])
    coupler_inertia = np.array([[0.081, -0.028, -0.056], [-0.028, 0.114, -0.032], [-0.056, -0.032, 0.066]])
    bodies = [
        Body(0.5, np.diag([0.001, 0.004, 0.004]), crank_com),
        Body(m_coupler, coupler_inertia, coupler_com),
        Body(0.8, np.diag([0.024, 0.024, 0.001]), pivot + rocker_com),
    ]
    b_coupler, b_rocker = np.array([1.0, 0.4, 0.8]) - coupler_com, np.array([0, 0, 0.6]) - rocker_com
    constraints = [
        *revolute(None, [0, 0, 0], (X, Y), crank, -crank_com, Z),
        Coincide(crank, np.array([L_crank, 0, 0]) - crank_com, coupler, np.array([0.3, 0, 0]) - coupler_com),
        Coincide(coupler, b_coupler, rocker, b_rocker),
        Perpendicular(rocker, Z, coupler, [0.4, -0.7, 0]),
        *revolute(None, pivot, (Y, Z), rocker, -rocker_com, X),
    ]
    system = System(bodies, constraints)
    start = Drive(None, Z, X, crank, X, lambda t: (0.0, 2 * np.pi, 0.0))
    anchor = np.array([0.5, 0, 1.0])
    assembled = system.project(0.0, system.initial(), [start], iterations=30)
    for body, state in zip(bodies, assembled.reshape(3, 13), strict=True):
        body.r, body.q, body.v, body.w = state[:3], state[3:7], state[7:10], state[10:]

    natural = np.linalg.norm(Motion(assembled, 3).point(rocker, b_rocker) - anchor)
    system.loads = lambda t, m: spring(m, None, anchor, rocker, b_rocker, k, 2.0, natural)

    def speed(t, m, a, multipliers):
        v = m.point_velocity(rocker, b_rocker)
        return v @ v

    def spin(t, m, a, multipliers):
        return m.w[coupler] @ m.w[coupler]

    motions, integrals = system.simulate(times, (speed, spin), tolerance=tolerance)
    return [m.point(rocker, b_rocker) for m in motions], [m.w[coupler] for m in motions], integrals


def quintic(t, start, end, change):
    """Smooth step: value, rate, acceleration."""
    width = end - start
    s = np.clip((t - start) / width, 0.0, 1.0)
    return (
        change * s**3 * (10 - 15 * s + 6 * s**2),
        change * 30 * s**2 * (1 - s) ** 2 / width,
        change * 60 * s * (1 - s) * (1 - 2 * s) / width**2,
    )


def rheonomic(r=0.2, l=0.6, m_slider=1.0, d=3.0, times=(0.0, 0.55, 1.0, 1.45, 2.0), tolerance=1e-11):
    """Slider-crank with a driven crank: slider positions, multipliers, integrals of x'^2 and torque^2."""
    crank, rod, slider = 0, 1, 2
    e = 0.05
    angle = np.arcsin(e / l)  # of the rod, with the crank at zero
    half = angle / 2
    centre = np.array([r, 0, 0]) + l / 2 * np.array([np.cos(angle), np.sin(angle), 0])
    bodies = [
        Body(0.5, np.diag([0.002, 0.002, 0.002]), np.array([0.1, 0, 0])),
        Body(0.8, np.diag([0.001, 0.024, 0.024]), centre, np.array([np.cos(half), 0, 0, np.sin(half)])),
        Body(m_slider, np.diag([0.001, 0.001, 0.001]), np.array([r + l * np.cos(angle), e, 0])),
    ]

    constraints = [
        *revolute(None, [0, 0, 0], (X, Y), crank, [-0.1, 0, 0], Z),
        *revolute(crank, [r - 0.1, 0, 0], (X, Y), rod, [-l / 2, 0, 0], Z),
        Coincide(rod, [l / 2, 0, 0], slider, [0, 0, 0]),
        *(Perpendicular(None, u, slider, v) for u, v in ((X, Y), (Y, Z), (Z, X))),
        Drive(None, Z, X, crank, X, lambda t: quintic(t, 0.1, 1.9, 4 * np.pi)),
    ]
    guide = [Guide(slider, e)]
    system = System(
        bodies,
        [*constraints[:-1], *guide, constraints[-1]],
        gravity=np.array([0, -9.81, 0]),
        loads=lambda t, m: [(slider, -d * m.v[slider][0] * X, np.zeros(3))],
    )
    integrands = (
        lambda t, m, a, multipliers: m.v[slider][0] ** 2,
        lambda t, m, a, multipliers: multipliers[-1] ** 2,
    )
    # Edges of the windows meet the ends of the smooth step, where its third derivative jumps.
    motions, integrals = system.simulate(times, integrands, tolerance=tolerance)
    torques = [system.accelerations(t, m)[1][-1] for t, m in zip(times, motions, strict=True)]
    return [m.r[slider] for m in motions], torques, integrals


class Guide(OnPlane):
    """The slider's centre stays at height e (the rod's end keeps it in the plane of motion)."""

    def __init__(self, body, e):
        super().__init__(body, [0, 0, 0], Y)
        self.e = e

    def equations(self, m, count, t):
        value, *rest = super().equations(m, count, t)
        return value - self.e, *rest


def free_body(times=(0.0, 1.0, 2.5, 5.0), tolerance=1e-12):
    """Torque-free asymmetric body: positions, angular velocities and rotation matrices at ``times``."""
    body = Body(2.0, np.diag([1.0, 2.0, 2.5]), np.zeros(3), v=np.array([1.0, 2.0, 30.0]), w=np.array([0.4, 3.0, 0.2]))
    motions, _ = System([body], []).simulate(times, tolerance=tolerance)
    return [m.r[0] for m in motions], [m.w[0] for m in motions], [m.R[0] for m in motions]


def sundials(k=1.0, c=1.0, times=(0.0, 10.0), tolerance=1e-11):
    """Slider-crank of the SUNDIALS examples: crank and slider positions, and the integral of the kinetic energy."""
    crank, rod = 0, 1
    height = np.sqrt(3) / 2
    third = np.deg2rad(-30)
    bodies = [
        Body(1.0, np.diag([1.0, 1.0, 1.0]), np.zeros(3), turned(np.pi / 2, Z)),
        Body(1.0, np.diag([1.0, 1.0, 2.0]), np.array([height, 0, 0]), turned(third, Z)),
    ]
    constraints = [
        *revolute(None, [0, 0, 0], (X, Y), crank, [0, 0, 0], Z),
        *revolute(crank, [0.5, 0, 0], (X, Y), rod, [-1, 0, 0], Z),
        OnPlane(rod, [0, 0, 0], Y),
    ]

    def loads(t, m):
        arm = m.arm(rod, [1, 0, 0])
        return [*spring(m, crank, [0.25, 0, 0], rod, [-0.5, 0, 0], k, c, 1.0), (rod, X, np.cross(arm, X))]

    def kinetic(t, m, a, multipliers):
        return (m.w[crank] @ m.w[crank] + m.v[rod] @ m.v[rod] + 2 * m.w[rod] @ m.w[rod]) / 2

    system = System(bodies, constraints, np.zeros(3), loads)
    motions, integrals = system.simulate(times, (kinetic,), tolerance=tolerance)
    return [m.r[rod] for m in motions], integrals
