"""A tree as links of one coordinate each, with constant geometry: what the lane kernels run over.

Every column turns or slides its own link about the link's z axis; fixed bodies and the bodies behind the last column
of a joint are part of that column's link. Derivation: docs/theory/inverse_dynamics.md, section 2.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.model.codes import TRANSLATIONS, TURNING, Axes, Force
from mbsim_cli.model.coordinates import all_but, among
from mbsim_cli.model.layout import BODY_SIZE, COM, GRAVITY, GROUND, INERTIA, MASS, P_C, P_P, R_C, R_P, STEP, Model

_AXES = np.array([np.roll(np.eye(3), axis + 1, axis=0) for axis in range(3)])  # z becomes the column's axis
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
    rows: np.ndarray  # (n,) link that holds the sum over each subtree, often a descendant; -1: empty
    load_rows: np.ndarray  # (n,) the same of load matrices
    mass_below: np.ndarray  # (n,) mass of each subtree
    loads: Loads


def system(model: Model, theta: np.ndarray, chain: "Chain") -> System:
    """Links of a tree of one-dof columns; Euler parameters and springs are not for this path."""
    mass, center, inertia = chain.weigh()
    loads = _loads(model, chain)
    parent = chain.parent
    loaded = np.zeros(parent.size, bool)
    loaded[loads.link] = True
    heavy = (mass != 0.0) | (inertia != 0.0).any(axis=1)
    mass_below = mass.copy()
    for i in range(parent.size - 1, -1, -1):
        if parent[i] < parent.size:
            mass_below[parent[i]] += mass_below[i]
    links = Links(
        parent, chain.turns, chain.travels, chain.frame, chain.arm, mass, center, inertia,
        theta[GRAVITY : GRAVITY + 3].copy(),
    )  # fmt: skip
    return System(links, related(parent), _rows(parent, heavy | loaded), _rows(parent, loaded), mass_below, loads)


class Chain:
    """The constants of the links, from those of the bodies.

    With changes (len(theta), p) of the numbers it is a stack of p complex steps: ``base`` is the chain without them,
    and ``touched`` (p, nb) tells which bodies of which of the stack differ in their blocks.
    """

    def __init__(self, tree, theta, base=None, touched=None, change=None):
        n, nb, lead = tree.column_kind.size, tree.parent.size, () if change is None else change.shape[1:]
        self._tree, self._theta, self._change = tree, theta, change
        dtype = float if change is None else complex
        self.frame, self.arm = np.zeros((*lead, n, 9), dtype), np.zeros((*lead, n, 3), dtype)
        self.E = np.zeros((*lead, nb + 1, 3, 3), dtype)  # body axes to link axes, the ground's behind
        self.e = np.zeros((*lead, nb + 1, 3), dtype)  # body origin in link axes
        self._differs = None if base is None else touched.copy()
        if base is None:
            self._lay_out(n, nb)
            self.E[GROUND] = np.eye(3)
        else:
            self.parent, self.travels, self.turns = base.parent, base.travels, base.turns
            self.link, self.axes, self.fixed = base.link, base.axes, base.fixed
            self.frame[...], self.arm[...], self.E[...], self.e[...] = base.frame, base.arm, base.E, base.e
            for i in np.flatnonzero(self.fixed & (tree.parent != GROUND)):  # bodies that move with a fixed parent
                self._differs[:, i] |= self._differs[:, tree.parent[i]]
        self._place()

    def _lay_out(self, n, nb):
        """Arrays that depend on the topology alone."""
        tree = self._tree
        first = tree.first_column.tolist()
        slides = among(tree.column_kind, TRANSLATIONS).tolist()
        parent, travels, link = [n] * n, [1.0] * n, [n] * (nb + 1)
        for i, p in enumerate(tree.parent.tolist()):
            carrier = link[p]
            for c in range(first[i], first[i + 1]):
                free = carrier == n or travels[carrier] == 0.0
                parent[c], travels[c] = carrier, 0.0 if free and slides[c] else 1.0
                carrier = c
            link[i] = carrier
        self.parent, self.travels = np.array(parent, np.int64), np.array(travels)
        self.turns = among(tree.column_kind, TURNING)
        self.link = np.array(link, np.int64)  # link that carries each body, n for the ground, which is the last
        self.axes = _AXES[(tree.column_kind - TRANSLATIONS[0]) % 3]  # (n, 3, 3)
        self.fixed = np.diff(tree.first_column) == 0  # (nb,) bodies without columns

    def _members(self, bodies, with_parent=False):
        """Bodies and their index in arrays of a stack, once for each of it in which they, or their parents, differ."""
        if self._differs is None:
            return bodies, ()
        differs, parent = self._differs[:, bodies], self._tree.parent[bodies]
        if with_parent:
            differs = differs | (self._differs[:, parent] & (parent != GROUND))
        member, place = np.nonzero(differs)
        return bodies[place], (member,)

    def _blocks(self, bodies, at):
        """Numbers of bodies (..., BODY_SIZE)."""
        place = self._tree.theta[bodies, None] + np.arange(BODY_SIZE)
        return self._theta[place] + 1j * STEP * self._change[place, at[0][:, None]] if at else self._theta[place]

    def numbers(self, first, last):
        """Numbers from first to last (..., last - first)."""
        plain = self._theta[first:last]
        return plain if self._change is None else plain + 1j * STEP * self._change[first:last].T

    def _place(self):
        """Frames of links and places of bodies; those behind a column depend on no other body."""
        tree = self._tree
        bodies, at = self._members(np.flatnonzero(~self.fixed))
        block, last = self._blocks(bodies, at), tree.first_column[bodies + 1] - 1
        self._put_body(bodies, at, block, self.axes[last].transpose(0, 2, 1), np.zeros(3))
        for i in np.flatnonzero(self.fixed):
            bodies, at = self._members(np.array([i]))
            block = self._blocks(bodies, at)
            self._put_body(bodies, at, block, *self._joint_side(bodies, at, block))
        bodies, at = self._members(np.flatnonzero(~self.fixed), with_parent=True)
        first = tree.first_column[bodies]
        R, arm = self._joint_side(bodies, at, self._blocks(bodies, at))
        self.frame[(*at, first)] = (R @ self.axes[first]).reshape(-1, 9)
        above = self.parent[first]
        free = (above == self.parent.size) | (np.append(self.travels, 1.0)[above] == 0.0)
        self.arm[(*at, first)] = np.where(free[:, None], 0.0, arm)
        further = all_but(self.parent.size, tree.first_column[:-1][~self.fixed])
        self.frame[..., further, :] = (self.axes[further - 1].transpose(0, 2, 1) @ self.axes[further]).reshape(-1, 9)

    def _joint_side(self, bodies, at, block):
        """Axes and origin of the joints' frames on the parents, in the axes of those that carry the parents."""
        parent = self._tree.parent[bodies]
        E = self.E[(*at, parent)]
        return E @ _matrix(block, R_P), self.e[(*at, parent)] + apply(E, block[..., P_P : P_P + 3])

    def _put_body(self, bodies, at, block, R, arm):
        E = R @ np.swapaxes(_matrix(block, R_C), -1, -2)
        self.E[(*at, bodies)] = E
        self.e[(*at, bodies)] = arm - apply(E, block[..., P_C : P_C + 3])

    def _weighing(self):
        """Bodies on links, where they stand, and their numbers."""
        bodies, at = self._members(np.flatnonzero(self.link < self.parent.size))
        return self.link[bodies], at, self._blocks(bodies, at), self.E[(*at, bodies)], self.e[(*at, bodies)]

    def weigh(self):
        """Mass, centre of mass and inertia of the bodies of each link together."""
        n = self.parent.size
        link, _, block, E, e = self._weighing()
        of_body, own = block[:, MASS], e + apply(E, block[:, COM : COM + 3])
        mass, center, J = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
        np.add.at(mass, link, of_body)
        np.add.at(center, link, of_body[:, None] * own)
        center /= np.where(mass == 0.0, 1.0, mass)[:, None]
        parts = E @ block[:, INERTIA + _FULL] @ E.transpose(0, 2, 1), _shifted(of_body, own - center[link])
        np.add.at(J, np.repeat(link, 2), np.stack(parts, axis=1).reshape(-1, 3, 3))
        return mass, center, _entries(J)

    @property
    def moments(self):
        """Mass, first moment and inertia about the link's origin (..., n, 10), which vary smoothly at no mass, too.

        Of a stack, only what differs: the rest is zero.
        """
        found = np.zeros((*self.arm.shape[:-1], 10), self.arm.dtype)
        link, at, block, E, e = self._weighing()
        mass, own = block[:, MASS], e + apply(E, block[:, COM : COM + 3])
        J = E @ block[:, INERTIA + _FULL] @ np.swapaxes(E, -1, -2) + _shifted(mass, own)
        numbers = np.concatenate([mass[:, None], mass[:, None] * own, _entries(J)], axis=-1)
        np.add.at(found, (*at, link), numbers)
        return found


def _shifted(mass, d):
    """Inertia (k, 3, 3) of masses (k,) at places d (k, 3)."""
    square = np.sum(d * d, axis=-1)[:, None, None] * np.eye(3) - d[:, :, None] * d[:, None, :]
    return mass[:, None, None] * square


def apply(R, x):
    """R x, of stacks of matrices and vectors too."""
    return R @ x if np.ndim(x) == 1 else (R @ x[..., None])[..., 0]


def _matrix(theta, o):
    return theta[..., o : o + 9].reshape(*theta.shape[:-1], 3, 3)


def _entries(J):
    return J.reshape(*J.shape[:-2], 9)[..., _SYMMETRIC]


def related(parent):
    """Ancestors, descendants and the link itself, as runs."""
    n = parent.size
    above = np.zeros((n + 1, n), bool)
    for i in range(n):
        above[i] = above[parent[i]]
        above[i, i] = True
    table = np.zeros((n, n + 2), bool)
    table[:, 1:-1] = above[:n] | above[:n].T
    change = np.diff(table.astype(np.int8), axis=1)
    rows, start = np.nonzero(change == 1)
    _, stop = np.nonzero(change == -1)
    return Related(np.searchsorted(rows, np.arange(n + 1)), start, stop)


def _rows(parent, own):
    """Link that holds the sum over each subtree, of links that have an ``own`` part; -1 where none has."""
    rows = np.where(own, np.arange(parent.size), -1)
    for i in range(parent.size - 1, -1, -1):
        p = parent[i]
        if p < parent.size and rows[i] >= 0:
            rows[p] = rows[i] if rows[p] < 0 else p
    return rows


def _loads(model, chain):
    link = chain.link[model.pairs.b[model.forces.pair]]
    element = np.flatnonzero(link < chain.parent.size)
    kind, axes, none = model.forces.kind[element], model.forces.axes[element], np.zeros((element.size, 3))
    loads = Loads(link[element], element, kind == Force.TORQUE, axes == Axes.BODY, none, none)
    point, vector = load_vectors(model, chain, loads)
    return loads._replace(point=point, vector=vector)


def load_vectors(model, chain, loads):
    """Points and vectors (..., nl, 3) of loads: in the link's axes, vectors that do not turn in global ones."""
    shape = (*chain.arm.shape[:-2], len(loads.element), 3)
    point, vector = np.zeros(shape, chain.arm.dtype), np.zeros(shape, chain.arm.dtype)
    for k, f in enumerate(loads.element):
        o, b = model.forces.theta[f], model.pairs.b[model.forces.pair[f]]
        E = chain.E[..., b, :, :]
        point[..., k, :] = chain.e[..., b, :] + apply(E, chain.numbers(o, o + 3))
        given = chain.numbers(o + 3, o + 6)
        vector[..., k, :] = apply(E, given) if loads.turns[k] else given
    return point, vector


class Variation(NamedTuple):
    """Changes by each of p parameters; rows of links, the ground behind them."""

    twist: np.ndarray  # (p, n + 1, 6) of a link against its parent, in the parent's axes about its origin
    moments: np.ndarray  # (p, n, 10) mass, first moment, inertia about the link's origin, in the link's axes
    point: np.ndarray  # (p, nl, 3) of loads, in the link's axes
    vector: np.ndarray  # (p, nl, 3) of loads, in their own axes, without the changes of their laws
    moves: np.ndarray  # (p, n + 1) whether the twist of a link against its parent changes
    source: np.ndarray  # (p, n + 1) the link itself or its nearest ancestor that moves, else the ground
    weighs: np.ndarray  # (p, n) whether its moments change
    loads: np.ndarray  # (p, nl) whether the load changes
    rises: np.ndarray  # (p, n) whether forces in the subtree change, beyond those of the link's own twist


def vary_links(
    model: Model, theta: np.ndarray, dtheta: np.ndarray, base: Chain, system: System, by_law: np.ndarray
) -> Variation:
    """The changes by the columns of ``dtheta`` (len(theta), p).

    ``base`` is the chain at theta, ``system`` its links; ``by_law`` (p, nl) says which loads vary with their laws.
    """
    p, n, parent = dtheta.shape[1], system.links.parent.size, system.links.parent
    touched = dtheta[model.tree.theta[:, None] + np.arange(BODY_SIZE)].any(axis=1).T
    chain = Chain(model.tree, theta, base, touched, dtheta)
    turn = _rate(chain.frame).reshape(p, n, 3, 3)
    at = np.nonzero(turn.any(axis=(2, 3)))
    turn[at] = turn[at] @ system.links.frame[at[1]].reshape(-1, 3, 3).transpose(0, 2, 1)
    twist = np.zeros((p, n + 1, 6))
    w = twist[:, :n, :3]
    w[...] = 0.5 * np.stack([turn[..., 2, 1], turn[..., 0, 2], turn[..., 1, 0]], axis=-1)
    w -= 0.5 * np.stack([turn[..., 1, 2], turn[..., 2, 0], turn[..., 0, 1]], axis=-1)
    twist[:, :n, 3:] = _rate(chain.arm) - np.cross(w, system.links.arm)
    twist[:, n, 3:] = -dtheta.T[:, GRAVITY : GRAVITY + 3]
    point, vector = (_rate(array) for array in load_vectors(model, chain, system.loads))
    # the links that the changes reach
    loads, moments = by_law | point.any(axis=2) | vector.any(axis=2), _rate(chain.moments)
    moves, weighs = twist.any(axis=2), moments.any(axis=2)
    source = np.full((p, n + 1), n)
    for i in range(n):
        source[:, i] = np.where(moves[:, i], i, source[:, parent[i]])
    rises = weighs.copy()
    for j, link in enumerate(system.loads.link):
        rises[:, link] |= loads[:, j]
    for i in range(n - 1, -1, -1):
        if parent[i] < n:
            rises[:, parent[i]] |= rises[:, i] | moves[:, i]
    return Variation(twist, moments, point, vector, moves, source, weighs, loads, rises)


def _rate(array: np.ndarray) -> np.ndarray:
    return array.imag / STEP
