"""Closed form of the torque-free rigid body: Jacobi's elliptic functions, and quadrature of the precession angle."""

import numpy as np
from scipy.integrate import quad
from scipy.special import ellipj, ellipkinc


def body_rates(inertia, w0, times) -> np.ndarray:
    """Angular velocity in principal axes, (len(times), 3); inertia sorted, w0 in body axes with w0[0], w0[2] not 0.

    Landau and Lifshitz, Mechanics, section 37: written for a motion that circles the third axis; where it circles
    the first, the two exchange their roles, which leaves the formulas as they are.
    """
    a, b, c = inertia
    energy2, momentum2 = np.dot(inertia, np.square(w0)), np.sum(np.square(np.multiply(inertia, w0)))
    swap = momentum2 < energy2 * b
    w1, w2, w3 = w0[::-1] if swap else w0
    if swap:
        a, c = c, a
    k1 = np.sqrt((energy2 * c - momentum2) / (a * (c - a)))
    k2 = np.sqrt((energy2 * c - momentum2) / (b * (c - b))) * np.sign(w3)
    k3 = np.sqrt((momentum2 - energy2 * a) / (c * (c - a))) * np.sign(w3)
    speed = np.sqrt((c - b) * (momentum2 - energy2 * a) / (a * b * c))
    m = (b - a) * (energy2 * c - momentum2) / ((c - b) * (momentum2 - energy2 * a))
    start = ellipkinc(np.arctan2(w2 / k2, w1 / k1), m)
    sn, cn, dn, _ = ellipj(speed * np.asarray(times) + start, m)
    rates = np.column_stack([k1 * cn, k2 * sn, k3 * dn])
    return rates[:, ::-1] if swap else rates


def attitudes(inertia, w0, times) -> np.ndarray:
    """Rotation matrices (len(times), 3, 3) from body to global axes, the identity at the start.

    The direction of the constant momentum in the body fixes two angles; the third, about it, by quadrature.
    """
    momentum0 = np.multiply(inertia, w0)
    size = np.linalg.norm(momentum0)

    def frame(t):
        """Body axes (columns) of a frame whose third direction is the momentum, second normal to body z."""
        n = np.multiply(inertia, body_rates(inertia, w0, [t])[0]) / size
        e = np.cross([0, 0, 1.0], n)
        e /= np.linalg.norm(e)
        return np.column_stack([np.cross(e, n), e, n])

    def precession(t):
        """Rate of that frame about the momentum: (A w1^2 + B w2^2) / (A^2 w1^2 + B^2 w2^2) times L."""
        w = body_rates(inertia, w0, [t])[0]
        a, b, _ = inertia
        return size * (a * w[0] ** 2 + b * w[1] ** 2) / ((a * w[0]) ** 2 + (b * w[1]) ** 2)

    start = frame(0.0)
    found = []
    for t in times:
        angle = quad(precession, 0, t, epsabs=1e-12, epsrel=1e-12, limit=400)[0] if t else 0.0
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        found.append(start @ turn @ frame(t).T)
    return np.array(found)
