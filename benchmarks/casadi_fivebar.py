"""The five-bar in CasADi with CVODES and forward sensitivities: what our times are compared with.

Index 1 by hand: absolute angles of the four bars, accelerations from the mass matrix bordered by the loop's Jacobian,
solved symbolically once. (Two minimal coordinates, the loop closed by intersecting circles, took a fifth longer.)
"""

import casadi as ca
import numpy as np

NOMINAL = np.array([np.sqrt(5), np.sqrt(4.25), 1.0, np.sqrt(2) / 2, np.sqrt(2)])
LENGTH_12 = np.sqrt(3.25)
LENGTH_3B = np.sqrt(2)
B = ca.DM([1, 0])
ADAMS = {"linear_multistep_method": "adams", "nonlinear_solver_iteration": "functional"}
START = np.array([-0.75 * np.pi, np.arctan2(-1, 1.5), np.arctan2(1, 1.5), 0.75 * np.pi])


def along(length, angle):
    """Vector (2,) of a length at an angle."""
    return length * ca.vertcat(ca.cos(angle), ca.sin(angle))


def places(angles, p):
    """Points 1, 2, the end of the chain, and the centres of mass, of four absolute angles."""
    _, _, _, x_g, l_a1 = ca.vertsplit(p)
    p1 = along(l_a1, angles[0])
    p2 = p1 + along(LENGTH_12, angles[1])
    p3 = p2 + along(LENGTH_12, angles[2])
    end = p3 + along(LENGTH_3B, angles[3])
    return p1, p2, end, ca.vertcat(along(x_g, angles[0]), (p1 + p2) / 2, (p2 + p3) / 2, (p3 + end) / 2)


def masses(m_a1):
    """Masses of the four bars, twice each, and their moments of inertia."""
    inertia = [1 / 6, 1.5 * 3.25 / 12, 1.5 * 3.25 / 12, 1 / 6]
    return ca.vertcat(m_a1, m_a1, 1.5, 1.5, 1.5, 1.5, 1, 1), ca.vertcat(*inertia)


def potential(p1, p2, centres, p):
    """Energy of gravity and of the two springs."""
    m, _ = masses(p[2])
    springs = sum(50 * (ca.norm_2(point - B) - natural) ** 2 for point, natural in ((p1, p[0]), (p2, p[1])))
    return 9.81 * ca.dot(m[1::2], centres[1::2]) + springs


def kinetic(centres, angles, q, qd, p):
    m, inertia = masses(p[2])
    v, w = ca.jtimes(centres, q, qd), ca.jtimes(angles, q, qd)
    return (ca.dot(m * v, v) + ca.dot(inertia * w, w)) / 2


def absolute():
    """Equations in four absolute angles: q, q', q'', parameters and point 2."""
    q, qd, p = ca.SX.sym("q", 4), ca.SX.sym("qd", 4), ca.SX.sym("p", 5)
    p1, p2, end, centres = places(q, p)
    energy = kinetic(centres, q, q, qd, p)
    momentum = ca.gradient(energy, qd)
    force = ca.gradient(energy - potential(p1, p2, centres, p), q) - ca.jtimes(momentum, q, qd)
    jacobian = ca.jacobian(end, q)
    gamma = -ca.jtimes(ca.jtimes(end, q, qd), q, qd)
    matrix = ca.blockcat([[ca.hessian(energy, qd)[0], jacobian.T], [jacobian, ca.SX(2, 2)]])
    qdd = ca.solve(ca.densify(matrix), ca.vertcat(force, gamma))[:4]
    return q, qd, qdd, p, p2


def assembled_start(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Start (8,) and its derivative (8, 5): the angles of bars A1 and 12 stay, those of 23 and 3B close the loop."""
    q, symbol = ca.SX.sym("q", 4), ca.SX.sym("p", 5)
    gap = places(q, symbol)[2] - B
    evaluate = ca.Function("gap", [q, symbol], [gap, ca.jacobian(gap, q), ca.jacobian(gap, symbol)])
    angles = START.copy()
    for _ in range(20):
        value, by_q, by_p = (np.array(part) for part in evaluate(angles, p))
        angles[2:] -= np.linalg.solve(by_q[:, 2:], value[:, 0])
    derivative = np.zeros((8, 5))
    derivative[2:4] = -np.linalg.solve(by_q[:, 2:], by_p)
    return np.concatenate([angles, np.zeros(4)]), derivative


class FiveBar:
    """Integrators of motion and gradient, built once; calling them is what is timed.

    ``choices`` are options of CasADi's CVODES interface; ``ADAMS`` suits this problem, the default (BDF, Newton) is
    what a user gets.
    """

    def __init__(self, tolerance: float = 1e-9, **choices):
        q, qd, qdd, p, p2 = absolute()
        x = ca.vertcat(q, qd)
        v2 = ca.jtimes(p2, q, qd)
        a2 = ca.jtimes(p2, q, qdd) + ca.jtimes(v2, q, qd)
        away = p2 - ca.DM([0.5, -2])
        dae = {
            "x": x,
            "p": p,
            "ode": ca.vertcat(qd, qdd),
            "quad": ca.vertcat(ca.dot(away, away), ca.dot(v2, v2), ca.dot(a2, a2)),
        }
        options = {
            "abstol": tolerance,
            "reltol": tolerance,
            "quad_err_con": True,
            "fsens_err_con": True,
            "max_num_steps": 100000,
            **choices,
        }
        self.motion_integrator = ca.integrator("motion", "cvodes", dae, 0, 5, options)
        self.gradient_integrator = self.motion_integrator.forward(5)

    def motion(self, p: np.ndarray = NOMINAL) -> np.ndarray:
        """The three objectives."""
        return np.array(self.motion_integrator(x0=assembled_start(p)[0], p=p)["qf"]).ravel()

    def gradient(self, p: np.ndarray = NOMINAL) -> tuple[np.ndarray, np.ndarray]:
        """Objectives (3,) and gradients (3, 5)."""
        start, derivative = assembled_start(p)
        found = self.motion_integrator(x0=start, p=p)
        forward = self.gradient_integrator(
            x0=start, p=p, fwd_x0=derivative, fwd_p=np.eye(5), out_xf=found["xf"], out_qf=found["qf"]
        )
        return np.array(found["qf"]).ravel(), np.array(forward["fwd_qf"])
