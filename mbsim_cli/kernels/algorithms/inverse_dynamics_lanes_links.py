"""A tree as links of one coordinate each, with constant geometry: what the lane kernels run over.

Every column turns or slides its own link about the link's z axis; fixed bodies and the bodies behind the last column
of a joint are part of that column's link. Derivation: docs/theory/inverse_dynamics.md, section 2.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.model.codes import Axes, Column, Force
from mbsim_cli.model.layout import COM, GRAVITY, GROUND, INERTIA, MASS, P_C, P_P, R_C, R_P, Model

NOTHING, COPY, ADD = 0, 1, 2
_AXES = [np.roll(np.eye(3), axis + 1, axis=0) for axis in range(3)]  # z becomes the column's axis
_FULL = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])  # entries xx yy zz xy xz yz of a symmetric matrix
_SYMMETRIC = np.array([0, 4, 8, 1, 2, 5])  # and where they stand in one of nine


class Links(NamedTuple):
    """n links, numbered like the coordinates, parent before child; the ground is link n."""

    parent: np.ndarray  # (n,) parent link
    turns: np.ndarray  # (n,) whether the coordinate turns the link; else it slides
    travels: np.ndarray  # (n,) 0 for slides that only other slides carry: where they are does not matter
    frame: np.ndarray  # (n, 9) rotation from the link at rest to the parent's axes, by rows
    arm: np.ndarray  # (n, 3) origin of the link at rest, in the parent's axes
    mass: np.ndarray  # (n,)
    center: np.ndarray  # (n, 3) centre of mass in the link's axes
    inertia: np.ndarray  # (n, 6) about the centre of mass, in the link's axes
    gravity: np.ndarray  # (3,)


class Related(NamedTuple):
    """Links on a common branch with link i: runs first[i] .. first[i + 1] - 1 of numbers start .. stop - 1."""

    first: np.ndarray  # (n + 1,)
    start: np.ndarray
    stop: np.ndarray


class Sums(NamedTuple):
    """How subtree sums are formed; links without an own part share their only child's sum."""

    own: np.ndarray  # (n,) whether the link has a part of its own
    row: np.ndarray  # (n,) where the sum of link i stands, or -1 for an empty one
    action: np.ndarray  # (n,) what the sum of link i does to its parent's: NOTHING, COPY, ADD


class Loads(NamedTuple):
    """Applied forces and torques, nl of them, on links."""

    link: np.ndarray  # (nl,)
    element: np.ndarray  # (nl,) force element of the model
    torque: np.ndarray  # (nl,) whether it is a torque
    turns: np.ndarray  # (nl,) whether the vector is fixed in the link
    point: np.ndarray  # (nl, 3) in the link's axes
    vector: np.ndarray  # (nl, 3) in the link's axes or global ones


class System(NamedTuple):
    """Everything that the lane kernels read."""

    links: Links
    related: Related
    inertia_sums: Sums
    load_sums: Sums
    mass_below: np.ndarray  # (n,) mass of each subtree
    loads: Loads


def system(model: Model, theta: np.ndarray, chain: "Chain") -> System:
    """Links of a tree of one-dof columns; Euler parameters and springs are not for this path."""
    chain.weigh()
    loads = _loads(model, theta, chain)
    parent = chain.parent
    loaded = np.zeros(parent.size, bool)
    loaded[loads.link] = True
    heavy = (chain.mass != 0.0) | (chain.inertia != 0.0).any(axis=1)
    mass_below = chain.mass.copy()
    for i in range(parent.size - 1, -1, -1):
        if parent[i] < parent.size:
            mass_below[parent[i]] += mass_below[i]
    links = Links(
        parent, chain.turns, chain.travels, chain.frame, chain.arm, chain.mass, chain.center, chain.inertia,
        theta[GRAVITY : GRAVITY + 3].copy(),
    )  # fmt: skip
    return System(links, related(parent), _sums(parent, heavy | loaded), _sums(parent, loaded), mass_below, loads)


class Chain:
    """Walks over the bodies and collects the constants of the links.

    theta may be a stack (p, len(theta)) of neighbours of one: then ``base`` is the chain of that one, and ``touched``
    lists for each body which of the stack differ in its block.
    """

    def __init__(self, tree, theta, base=None, touched=None):
        n, nb, lead = tree.column_kind.size, tree.parent.size, theta.shape[:-1]
        self.parent = np.full(n, n)
        self.turns = np.asarray(tree.column_kind >= Column.ROTATION_X)
        self.travels = np.ones(n)
        self.frame, self.arm = np.zeros((*lead, n, 9), theta.dtype), np.zeros((*lead, n, 3), theta.dtype)
        self.link = np.zeros(nb, np.int64)  # link that carries each body, n for the ground
        self.E = np.zeros((*lead, nb, 3, 3), theta.dtype)  # body axes to link axes
        self.e = np.zeros((*lead, nb, 3), theta.dtype)  # body origin in link axes
        self._theta = theta
        self._moved = touched and list(touched)  # members of a stack in which E and e of a body differ
        if base is not None:
            self.frame[...], self.arm[...], self.E[...], self.e[...] = base.frame, base.arm, base.E, base.e
        for i in range(nb):
            self._place(tree, i)
        self._bodies = [(i, tree.theta[i], self.link[i]) for i in range(nb) if self.link[i] < n]

    def _members(self, *bodies):
        """Index of those of a stack in which a body differs; empty where there is no stack."""
        if self._moved is None:
            return ()
        return (np.unique(np.concatenate([self._moved[i] for i in bodies])),)

    def _place(self, tree, i):
        o, p, n = tree.theta[i], tree.parent[i], self.parent.size
        at = self._members(i) if p == GROUND else self._members(i, p)
        theta = self._theta[at]
        on_ground = np.eye(3), np.zeros(3), n
        E, e, link = on_ground if p == GROUND else (self.E[(*at, p)], self.e[(*at, p)], self.link[p])
        R, arm = E @ _matrix(theta, o + R_P), e + apply(E, theta[..., o + P_P : o + P_P + 3])
        for c in range(tree.first_column[i], tree.first_column[i + 1]):
            axes = _AXES[(tree.column_kind[c] - Column.TRANSLATION_X) % 3]
            self.parent[c] = link
            self.frame[(*at, c)] = (R @ axes).reshape(*np.shape(R)[:-2], 9)
            free = link == n or self.travels[link] == 0.0
            self.travels[c] = 0.0 if free and not self.turns[c] else 1.0
            self.arm[(*at, c)] = 0.0 if free else arm
            link, R, arm = c, axes.T, np.zeros(3)
        self.link[i] = link
        if self._moved is not None and tree.first_column[i] == tree.first_column[i + 1]:
            (self._moved[i],) = at  # it moves with its parent
        E = R @ np.swapaxes(_matrix(theta, o + R_C), -1, -2)
        self.E[(*at, i)] = E
        self.e[(*at, i)] = arm - apply(E, theta[..., o + P_C : o + P_C + 3])

    def weigh(self):
        """Mass, centre of mass and inertia of the bodies of each link together."""
        n, theta = self.parent.size, self._theta
        self.mass, self.center = np.zeros(n, theta.dtype), np.zeros((n, 3), theta.dtype)
        J = np.zeros((n, 3, 3), theta.dtype)
        centers = {i: self.e[i] + self.E[i] @ theta[o + COM : o + COM + 3] for i, o, _ in self._bodies}
        for i, o, link in self._bodies:
            self.mass[link] += theta[o + MASS]
            self.center[link] += theta[o + MASS] * centers[i]
        self.center /= np.where(self.mass == 0.0, 1.0, self.mass)[:, None]
        for i, o, link in self._bodies:
            J[link] += self.E[i] @ _tensor(theta, o) @ self.E[i].T
            d = centers[i] - self.center[link]
            J[link] += theta[o + MASS] * (np.sum(d * d) * np.eye(3) - np.outer(d, d))
        self.inertia = _entries(J)

    @property
    def moments(self):
        """Mass, first moment and inertia about the link's origin (..., n, 10), which vary smoothly at no mass, too.

        Of a stack, only what differs: the rest is zero.
        """
        found = np.zeros((*self.arm.shape[:-1], 10), self._theta.dtype)
        for i, o, link in self._bodies:
            at = self._members(i)
            theta, E = self._theta[at], self.E[(*at, i)]
            m = theta[..., o + MASS, None]
            d = self.e[(*at, i)] + apply(E, theta[..., o + COM : o + COM + 3])
            J = E @ _tensor(theta, o) @ np.swapaxes(E, -1, -2)
            square = np.sum(d * d, axis=-1)[..., None, None] * np.eye(3) - d[..., :, None] * d[..., None, :]
            found[(*at, link)] += np.concatenate([m, m * d, _entries(J + m[..., None] * square)], axis=-1)
        return found


def apply(R, x):
    """R x, of stacks of matrices and vectors too."""
    return R @ x if np.ndim(x) == 1 else (R @ x[..., None])[..., 0]


def _matrix(theta, o):
    return theta[..., o : o + 9].reshape(*theta.shape[:-1], 3, 3)


def _tensor(theta, o):
    return theta[..., o + INERTIA + _FULL]


def _entries(J):
    return J.reshape(*J.shape[:-2], 9)[..., _SYMMETRIC]


def related(parent):
    """Ancestors, descendants and the link itself, as runs."""
    n = parent.size
    table = np.zeros((n, n + 2), bool)
    for i in range(n):
        j = i
        while j < n:
            table[i, j + 1] = table[j, i + 1] = True
            j = parent[j]
    change = np.diff(table.astype(np.int8), axis=1)
    rows, start = np.nonzero(change == 1)
    _, stop = np.nonzero(change == -1)
    return Related(np.searchsorted(rows, np.arange(n + 1)), start, stop)


def _sums(parent, own):
    """Plan of the subtree sums of links some of which have an own part."""
    n = parent.size
    row, action = np.full(n, -1), np.full(n, NOTHING)
    parts = own.astype(np.int64)  # nonempty sums that meet in a link
    for i in range(n - 1, -1, -1):
        if parts[i] > 0 and parent[i] < n:
            parts[parent[i]] += 1
    started = own.copy()
    for i in range(n - 1, -1, -1):
        if own[i] or parts[i] > 1:
            row[i] = i
        p = parent[i]
        if row[i] < 0 or p == n:
            continue
        if parts[p] == 1:
            row[p] = row[i]
        else:
            action[i] = ADD if started[p] else COPY
            started[p] = True
    return Sums(own, row, action)


def _loads(model, theta, chain):
    forces, n = model.forces, chain.parent.size
    picked = [f for f in range(forces.kind.size) if forces.kind[f] != Force.ALONG_MEASURE]
    body = [int(model.pairs.b[forces.pair[f]]) for f in picked]
    kept = [(f, b) for f, b in zip(picked, body, strict=True) if b != GROUND and chain.link[b] < n]
    none = np.zeros((len(kept), 3))
    loads = Loads(
        np.array([chain.link[b] for _, b in kept], np.int64),
        np.array([f for f, _ in kept], np.int64),
        np.array([forces.kind[f] == Force.TORQUE for f, _ in kept], bool),
        np.array([forces.axes[f] == Axes.BODY for f, _ in kept], bool), none, none,
    )  # fmt: skip
    point, vector = load_vectors(model, theta, chain, loads)
    return loads._replace(point=point, vector=vector)


def load_vectors(model, theta, chain, loads):
    """Points and vectors (..., nl, 3) of loads: in the link's axes, vectors that do not turn in global ones."""
    shape = (*theta.shape[:-1], len(loads.element), 3)
    point, vector = np.zeros(shape, theta.dtype), np.zeros(shape, theta.dtype)
    for k, f in enumerate(loads.element):
        o, b = model.forces.theta[f], model.pairs.b[model.forces.pair[f]]
        E = chain.E[..., b, :, :]
        point[..., k, :] = chain.e[..., b, :] + apply(E, theta[..., o : o + 3])
        given = theta[..., o + 3 : o + 6]
        vector[..., k, :] = apply(E, given) if loads.turns[k] else given
    return point, vector
