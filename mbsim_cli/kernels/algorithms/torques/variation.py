"""What p parameters change of the links of a tree: twists between them, moments, loads; and whom that reaches."""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algorithms.torques.links import STEP, Chain, System, load_vectors
from mbsim_cli.model.layout import BODY_SIZE, GRAVITY, Model


class Variation(NamedTuple):
    """Changes by each of p parameters; rows of links, the ground behind them."""

    twist: np.ndarray  # (p, n + 1, 6) of a link against its parent, in the parent's axes about its origin
    moments: np.ndarray  # (p, n, 10) mass, first moment, inertia about the link's origin, in the link's axes
    point: np.ndarray  # (p, nl, 3) of loads, in the link's axes
    wrench: np.ndarray  # (N, nl, p, 3) vectors of loads at N instants, in their own axes
    moves: np.ndarray  # (p, n + 1) whether the twist of a link against its parent changes
    above: np.ndarray  # (p, n) nearest ancestor that moves, n where another gravity pushes the ground, or -1
    source: np.ndarray  # (p, n) the same, or the link itself
    weighs: np.ndarray  # (p, n) whether its moments change
    loads: np.ndarray  # (p, nl) whether the load changes
    rises: np.ndarray  # (p, n) whether forces in the subtree change, beyond those of the link's own twist


def vary_links(
    model: Model, theta: np.ndarray, dtheta: np.ndarray, base: Chain, system: System, by_law: np.ndarray
) -> tuple[Variation, np.ndarray]:
    """The changes by the columns of ``dtheta`` (len(theta), p), and those (p, nl, 3) of the loads' constant vectors.

    ``base`` is the chain at theta, ``system`` its links; ``by_law`` (p, nl) says which loads vary with their laws.
    """
    p, n = dtheta.shape[1], system.links.parent.size
    if p == 0:
        none = np.zeros((0, len(system.loads.link), 3))
        return _reached(system, np.zeros((0, n + 1, 6)), np.zeros((0, n, 10)), none, by_law), none
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
    loads = by_law | point.any(axis=2) | vector.any(axis=2)
    return _reached(system, twist, _rate(chain.moments), point, loads), vector


def _rate(array: np.ndarray) -> np.ndarray:
    return array.imag / STEP


def _reached(system: System, twist: np.ndarray, moments: np.ndarray, point: np.ndarray, loads: np.ndarray) -> Variation:
    """Find whom the changes reach; vectors of loads come with the motion."""
    parent, (p, rows) = system.links.parent, twist.shape[:2]
    n = rows - 1
    moves, weighs = twist.any(axis=2), moments.any(axis=2)
    above, source = np.full((p, n), -1), np.full((p, n), -1)
    for i in range(n):
        beyond = source[:, parent[i]] if parent[i] < n else np.where(moves[:, n], n, -1)
        above[:, i] = beyond
        source[:, i] = np.where(moves[:, i], i, beyond)
    rises = weighs.copy()
    for j, link in enumerate(system.loads.link):
        rises[:, link] |= loads[:, j]
    for i in range(n - 1, -1, -1):
        if parent[i] < n:
            rises[:, parent[i]] |= rises[:, i] | moves[:, i]
    wrench = np.zeros((0, loads.shape[1], p, 3))
    return Variation(twist, moments, point, wrench, moves, above, source, weighs, loads, rises)
