"""Inverse dynamics with 4 x 4 matrices and its derivatives, as printed: Zhakatayev et al. (2023), equations (4)-(17).

The sums over children and the product rule are written once for all m; where the paper splits cases, terms vanish.
"""

from dataclasses import dataclass

import numpy as np

GRAVITY = np.array([0.0, 0.0, -9.81, 0.0])


@dataclass
class Link:
    """A row with what hangs on it; ``parent`` counts from 0, -1 is the ground."""

    parent: int
    prismatic: bool
    sign: float
    theta: float
    d: float
    a: float
    alpha: float
    mass: float
    center: np.ndarray  # (3,)
    inertia: np.ndarray  # (3, 3) about the centre of mass
    force: np.ndarray = None  # (3,) global, at ``point``
    point: np.ndarray = None  # (3,) in the row's frame
    torque: np.ndarray = None  # (3,) global


def _transform(link, q):
    """A_i, equation (4)."""
    theta = link.theta + (0.0 if link.prismatic else link.sign * q)
    d = link.d + (link.sign * q if link.prismatic else 0.0)
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(link.alpha), np.sin(link.alpha)
    return np.array([[c, -ca * s, sa * s, link.a * c], [s, ca * c, -sa * c, link.a * s], [0, sa, ca, d], [0, 0, 0, 1]])


def _generator(link):
    """Z of section 3.1, with the sign of the coordinate."""
    Z = np.zeros((4, 4))
    if link.prismatic:
        Z[2, 3] = link.sign
    else:
        Z[0, 1], Z[1, 0] = -link.sign, link.sign
    return Z


def _inertia(link):
    """J_i, equation (7)."""
    J, c = np.zeros((4, 4)), np.append(link.center, 1.0)
    J[:3, :3] = 0.5 * np.trace(link.inertia) * np.eye(3) - link.inertia
    return J + link.mass * np.outer(c, c)


def torques(links, q, v, a):
    """Torque (n,) and its derivatives (n, n) by position, velocity and acceleration."""
    n = len(links)
    A = [_transform(link, x) for link, x in zip(links, q, strict=True)]
    Z = [_generator(link) for link in links]
    B, C, D = ([np.linalg.matrix_power(z, k) @ m for z, m in zip(Z, A, strict=True)] for k in (1, 2, 3))
    T, S, R = np.zeros((3, n + 1, 4, 4))
    T[n] = np.eye(4)  # index -1: the ground
    Tq, Sq, Sv, Rq, Rv, Ra, Tqq = np.zeros((7, n + 1, n, 4, 4))
    for i, link in enumerate(links):
        p = link.parent
        T[i] = T[p] @ A[i]
        S[i] = S[p] @ A[i] + T[p] @ B[i] * v[i]
        R[i] = R[p] @ A[i] + 2 * S[p] @ B[i] * v[i] + T[p] @ C[i] * v[i] ** 2 + T[p] @ B[i] * a[i]  # (5)
        Tq[i], Tqq[i] = Tq[p] @ A[i], Tq[p] @ B[i]  # (10)
        Sq[i], Sv[i] = Sq[p] @ A[i] + Tq[p] @ B[i] * v[i], Sv[p] @ A[i]
        Rq[i] = Rq[p] @ A[i] + 2 * Sq[p] @ B[i] * v[i] + Tq[p] @ C[i] * v[i] ** 2 + Tq[p] @ B[i] * a[i]
        Rv[i], Ra[i] = Rv[p] @ A[i] + 2 * Sv[p] @ B[i] * v[i], Ra[p] @ A[i]
        Tq[i, i], Tqq[i, i], Ra[i, i] = T[p] @ B[i], T[p] @ C[i], T[p] @ B[i]  # (11)
        Sq[i, i], Sv[i, i] = S[p] @ B[i] + T[p] @ C[i] * v[i], T[p] @ B[i]
        Rq[i, i] = R[p] @ B[i] + 2 * S[p] @ C[i] * v[i] + T[p] @ D[i] * v[i] ** 2 + T[p] @ C[i] * a[i]
        Rv[i, i] = 2 * S[p] @ B[i] + 2 * T[p] @ C[i] * v[i]
    H, Hq, Hv, Ha = np.zeros((n, 4, 4)), *np.zeros((3, n, n, 4, 4))
    E, Eq, F, Fq = np.zeros((n, 4)), np.zeros((n, n, 4)), np.zeros((n, 4, n)), np.zeros((n, n, 4, n))
    G, V = np.zeros((n, 4)), np.zeros((4, n))
    Q, by_q, by_v, by_a = np.zeros(n), *np.zeros((3, n, n))
    turned = np.swapaxes
    for i in range(n - 1, -1, -1):
        link, J, p = links[i], _inertia(links[i]), links[i].parent
        H[i] += J @ R[i].T  # (8), what the children gave is there already
        Hq[i] += J @ turned(Rq[i], 1, 2)  # (13)
        Hv[i] += J @ turned(Rv[i], 1, 2)
        Ha[i] += J @ turned(Ra[i], 1, 2)
        E[i] += J[:, 3]
        if link.force is not None:
            F[i, :, i], V[:3, i] = np.append(link.point, 1.0), link.force
        if link.torque is not None:
            G[i, :3] += link.torque
        w = np.array([0, 0, 0.0 if link.prismatic else link.sign, 0])
        first, second = Tq[i, i], Tqq[i]
        Q[i] = np.trace(first @ H[i]) - GRAVITY @ first @ E[i] - np.sum(V * (first @ F[i])) - G[i] @ T[p] @ w  # (9)
        by_q[i] = np.trace(second @ H[i] + first @ Hq[i], axis1=1, axis2=2)  # (16)
        by_q[i] -= second @ E[i] @ GRAVITY + Eq[i] @ first.T @ GRAVITY + Tq[p] @ w @ G[i]
        by_q[i] -= np.sum(V * (second @ F[i] + first @ Fq[i]), axis=(1, 2))
        by_v[i] = np.trace(first @ Hv[i], axis1=1, axis2=2)  # (17)
        by_a[i] = np.trace(first @ Ha[i], axis1=1, axis2=2)
        if p >= 0:
            for whole in (H, Hq, Hv, Ha, F, Fq):
                whole[p] += A[i] @ whole[i]
            E[p] += A[i] @ E[i]
            Eq[p] += Eq[i] @ A[i].T
            G[p] += G[i]
            Hq[p, i] += B[i] @ H[i]  # (14), beta = 1
            Eq[p, i] += B[i] @ E[i]
            Fq[p, i] += B[i] @ F[i]
    return Q, by_q, by_v, by_a
