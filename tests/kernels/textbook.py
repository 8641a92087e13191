"""Mass matrix and residual of a model from body Jacobians, differentiated by the complex step of ``geometry.poses``."""

import numpy as np

from mbsim_cli.model.codes import Axes, Force, Measure
from mbsim_cli.model.layout import COM, INERTIA, MASS
from tests.kernels.geometry import measure, poses

EPS = 1e-30


def jacobians(builder, z):
    """Of each body: centre of mass, Jv (3, n), Jw (3, n), global inertia about the centre of mass."""
    theta, n = np.array(builder.theta), len(z)
    here = poses(builder, theta, z)
    moved = [poses(builder, theta, z + 1j * EPS * one) for one in np.eye(n)]
    found = []
    for i, body in enumerate(builder.bodies):
        com = theta[body.theta + COM : body.theta + COM + 3]
        R, r = here[i]
        Jv, Jw = np.zeros((3, n)), np.zeros((3, n))
        for c in range(n):
            dR, dr = moved[c][i][0].imag / EPS, moved[c][i][1].imag / EPS
            W = dR @ R.T
            Jv[:, c], Jw[:, c] = dr + dR @ com, (W[2, 1], W[0, 2], W[1, 0])
        xx, yy, zz, xy, xz, yz = theta[body.theta + INERTIA : body.theta + INERTIA + 6]
        J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        found.append((r + R @ com, Jv, Jw, R @ J @ R.T))
    return found


def mass_matrix(builder, z):
    """Sum of m Jv^T Jv + Jw^T J Jw."""
    masses = [builder.theta[body.theta + MASS] for body in builder.bodies]
    M = sum(m * Jv.T @ Jv + Jw.T @ J @ Jw for m, (_, Jv, Jw, J) in zip(masses, jacobians(builder, z), strict=True))
    return M + np.diag(armatures(builder, z.size))


def armatures(builder, n):
    """Inertias (n,) of the coordinates themselves."""
    found = np.zeros(n)
    for coordinate, offset, _ in builder.armatures:
        found[coordinate] += builder.theta[offset]
    return found


def inertia_residual(builder, z, zd, zdd):
    """Newton and Euler for every body, projected: J^T (m (a - g)) + J^T (J alpha + w x J w)."""
    dt = 1e-5
    ahead, behind, here = (jacobians(builder, z + s * dt * zd) for s in (1, -1, 0))
    g, G = np.array(builder.theta[:3]), armatures(builder, z.size) * zdd
    for body, (_, Jv, Jw, J), (_, Jv1, Jw1, _), (_, Jv0, Jw0, _) in zip(
        builder.bodies, here, ahead, behind, strict=True
    ):
        a = Jv @ zdd + (Jv1 - Jv0) @ zd / (2 * dt)
        alpha = Jw @ zdd + (Jw1 - Jw0) @ zd / (2 * dt)
        w = Jw @ zd
        G += Jv.T @ (builder.theta[body.theta + MASS] * (a - g)) + Jw.T @ (J @ alpha + np.cross(w, J @ w))
    return G


def measure_of(builder, k, z):
    """Measure k at coordinates z, which may be complex."""
    kind, pair, offset, columns = builder.measures[k]
    theta = np.array(builder.theta)
    if kind == Measure.EULER_NORM:
        return z[list(columns)] @ z[list(columns)]
    if kind == Measure.COORDINATES:
        return z[list(columns)] @ theta[offset : offset + len(columns)]
    at = poses(builder, theta, z)
    a, b = builder.pairs[pair]
    return measure(kind, theta[offset : offset + 15], at[a], at[b])


def measure_gradient(builder, k, z):
    """g_z (n,); of an angle through its sine and cosine, which have no complex arctangent."""
    if builder.measures[k][0] != Measure.ANGLE:
        return np.array([np.imag(measure_of(builder, k, z + 1j * EPS * one)) / EPS for one in np.eye(z.size)])
    dt = 1e-6
    return np.array(
        [measure_of(builder, k, z + dt * e) - measure_of(builder, k, z - dt * e) for e in np.eye(z.size)]
    ) / (2 * dt)


def residual(builder, z, zd, zdd, lam):
    """M z'' - Q + Phi_z^T lambda of a model without laws."""
    G = inertia_residual(builder, z, zd, zdd)
    theta = np.array(builder.theta)
    for (k, _, _), multiplier in zip(builder.equations, lam, strict=True):
        G += measure_gradient(builder, k, z) * multiplier
    for kind, k, pair, axes, _, o in builder.forces:
        if kind == Force.ALONG_MEASURE:
            gradient = measure_gradient(builder, k, z)
            stiffness, damping, natural, constant = theta[o : o + 4]
            Q = constant - stiffness * (measure_of(builder, k, z) - natural) - damping * (gradient @ zd)
            G -= gradient * Q
            continue
        body = builder.pairs[pair][1]
        R, _ = poses(builder, theta, z)[body]
        center, Jv, Jw, _ = jacobians(builder, z)[body]
        vector = R @ theta[o + 3 : o + 6] if axes == Axes.BODY else theta[o + 3 : o + 6]
        if kind == Force.TORQUE:
            G -= Jw.T @ vector
        else:
            point = poses(builder, theta, z)[body][1] + R @ theta[o : o + 3]
            G -= Jv.T @ vector + Jw.T @ np.cross(point - center, vector)
    return G
