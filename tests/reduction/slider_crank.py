"""The planar slider-crank with a flexible crank, its angle prescribed, rod and piston eliminated by hand.

A throw-away simulation on standard input data alone: only the elastic coordinates are left, and Runge-Kutta's steps of
order 8 move several bodies at once, whose numbers may be complex.
"""

import numpy as np

from mbsim_cli.solve.open_trees.dop853_coefficients import A as ROWS
from mbsim_cli.solve.open_trees.dop853_coefficients import C

LENGTH, ROD, J_ROD, PISTON = 1.0, 1.0, 1 / 12, 2.0
ANGLE = np.polynomial.Polynomial([0, 0, 0, 0, 15 * np.pi / 4, -9 * np.pi / 4, 3 * np.pi / 8])
STAGES = 12
A = np.array([[row.get(j, 0.0) for j in range(STAGES)] for row in ROWS[: STAGES + 1]])
B = A[STAGES]  # the step's end is the next one's first stage


class SliderCrank:
    """Bodies that differ in numbers only; their second node's displacement moves the rod."""

    def __init__(self, bodies):
        def stacked(read):
            return np.array([read(sid) for sid in bodies])

        self.Me, self.Ke = stacked(lambda s: s.Me.M0), stacked(lambda s: s.Ke.M0)
        self.c, self.c1 = stacked(lambda s: s.Cr.M0[:, 2]), stacked(lambda s: s.Cr.M1[:, :, 2].T)
        self.ge = stacked(lambda s: s.Ge.M0[:, :, 2].T)
        self.o, self.o1 = stacked(lambda s: s.Oe.M0[:, 2, 2]), stacked(lambda s: s.Oe.M1[:, :, 2, 2].T)
        self.U, self.R = stacked(lambda s: s.nodes[0].phi.M0[:, :2].T), stacked(lambda s: s.nodes[0].origin.M0[:2])
        self.inverse = np.linalg.inv(self.Me)
        self.soft = self.inverse @ self.U.transpose(0, 2, 1)  # answer to forces at the pin
        self.pin = self.U @ self.soft

    def rates(self, t, q, v):
        """q'' (bodies, n), and q . Ke q."""
        angle, w, a = ANGLE(t), ANGLE.deriv()(t), ANGLE.deriv(2)(t)
        cos, sin = np.cos(angle), np.sin(angle)
        turn = np.array([[cos, -sin], [sin, cos]])
        q, v = q[:, :, None], v[:, :, None]
        elastic = self.Ke @ q
        load = (
            (self.c[:, :, None] + self.c1 @ q) * a
            + self.ge @ v * w
            + (self.o[:, :, None] + self.o1 @ q) * w**2
            + elastic
        )
        b, vb = self.R + (self.U @ q)[:, :, 0], (self.U @ v)[:, :, 0]
        across = np.array([[0.0, -1.0], [1.0, 0.0]])
        velocity = (vb + w * b @ across.T) @ turn.T
        bias = (2 * w * vb @ across.T + a * b @ across.T - w**2 * b) @ turn.T
        Y, Y1 = (b @ turn.T)[:, 1], velocity[:, 1]
        S = np.sqrt(LENGTH**2 - Y * Y)
        s = -Y / S
        s_Y = -(1 + s * s) / S
        N = np.zeros((len(q), 2, 2), Y.dtype)
        N[:, 0, 0] = ROD + PISTON
        N[:, 0, 1] = N[:, 1, 0] = (ROD / 2 + PISTON) * s
        N[:, 1, 1] = ROD * (s * s + 1) / 4 + J_ROD / S**2 + PISTON * s * s
        N12_Y = (ROD / 2 + PISTON) * s_Y
        N22_Y = ROD * s * s_Y / 2 - 2 * J_ROD * s / S**3 + 2 * PISTON * s * s_Y
        force = (N @ bias[:, :, None])[:, :, 0] + np.stack([N12_Y * Y1**2, N22_Y * Y1**2 / 2], 1)
        N, force = turn.T @ N @ turn, force @ turn
        # Me q'' + U^T (N U q'' + force) + load = 0, by what the pin feels
        free = -(self.inverse @ load)
        felt = force[:, :, None] + N @ (self.U @ free)
        at_pin = np.linalg.solve(np.eye(2) + N @ self.pin, felt)
        return (free - self.soft @ at_pin)[:, :, 0], (q.transpose(0, 2, 1) @ elastic)[:, 0, 0]

    def psi(self, duration, steps):
        """Integral of q . Ke q (bodies), from rest."""
        h = duration / steps
        shape = (STAGES, *self.c.shape)
        q, v, total = np.zeros_like(self.Ke[:, 0]), np.zeros_like(self.Ke[:, 0]), np.zeros_like(self.c[:, 0])
        dq, dv, dpsi = np.zeros(shape, q.dtype), np.zeros(shape, q.dtype), np.zeros((STAGES, len(q)), q.dtype)
        for step in range(steps):
            for i in range(STAGES):
                weights = h * A[i, :i]
                dq[i] = v + np.tensordot(weights, dv[:i], 1)
                dv[i], dpsi[i] = self.rates((step + C[i]) * h, q + np.tensordot(weights, dq[:i], 1), dq[i])
            q, v = q + h * np.tensordot(B, dq, 1), v + h * np.tensordot(B, dv, 1)
            total = total + h * (B @ dpsi)
        return total
