"""Natural coordinates as in a textbook: bodies are mass points that move with the coordinates."""

import numpy as np

APART = 0.5  # m, arms of the mass points


def mass_points(mass, centre, moments):
    """Masses (7,), some negative, and places (7, 3) with a body's mass, centre and moments xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = moments
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    spread, axes = np.linalg.eigh(0.5 * np.trace(J) * np.eye(3) - J)
    pairs = spread / (2.0 * APART**2)
    arms = APART * np.concatenate([axes.T, -axes.T])
    return np.array([mass - 2.0 * pairs.sum(), *pairs, *pairs]), centre + np.concatenate([np.zeros((1, 3)), arms])


class Cloud:
    """Mass points of all bodies whose poses, functions of q -> r (nb, 3), R (nb, 3, 3), are affine in q (n,)."""

    def __init__(self, poses, bodies, n):
        self.poses, self.points = poses, [mass_points(*body) for body in bodies]
        self.masses = np.concatenate([masses for masses, _ in self.points])
        still = self.places(np.zeros(n))
        self.slopes = np.stack([self.places(e) - still for e in np.eye(n)], axis=2)  # (N, 3, n)

    def places(self, q):
        """Places (N, 3) of all mass points."""
        r, R = self.poses(q)
        return np.concatenate([r[i] + x @ R[i].T for i, (_, x) in enumerate(self.points)])

    def mass_matrix(self):
        """M (n, n) of the kinetic energy."""
        return np.einsum("k,kan,kam->nm", self.masses, self.slopes, self.slopes)

    def weight(self, g):
        """Forces (n,) on the coordinates by gravity."""
        return np.einsum("k,kan,a->n", self.masses, self.slopes, g)
