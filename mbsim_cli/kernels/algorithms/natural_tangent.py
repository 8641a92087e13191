"""The tangent of a system in natural coordinates, from variations along sets of coordinates that never meet.

Column c of M + beta C + gamma K is column c of M and the variation of G for dq = gamma e_c, dq' = beta e_c.
Coordinates that no row reads together share a direction (Curtis, Powell, Reid 1974), so that few directions serve all.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels._jit import kernel
from mbsim_cli.kernels.algorithms.natural import natural_mass
from mbsim_cli.kernels.algorithms.natural_variation import (
    vary_natural,
    vary_natural_forces,
    vary_natural_work,
)


class Seeds(NamedTuple):
    """Directions that share out the coordinates, s of them, ``_simd.padded``, and work for them."""

    set: np.ndarray  # (n,) direction of each coordinate
    first: np.ndarray  # (n + 1,) into column
    column: np.ndarray  # columns of the tangent that row i reads
    dz: np.ndarray  # (n, s)
    dzd: np.ndarray  # (n, s)
    dtheta: np.ndarray  # (len(theta), s) zeros
    no_eta: np.ndarray  # (15, s) zeros
    touch: tuple  # of no numbers
    twists: tuple
    dG: np.ndarray  # (n, s)


@kernel
def natural_tangent(model, theta, t, beta, gamma, state, lines, kin, W, seeds, T_out):
    """T (n, ``padded(n)``) = M + beta C + gamma K; needs the forces W at the state."""
    for c in range(seeds.set.size):
        seeds.dz[c, seeds.set[c]] = gamma
        seeds.dzd[c, seeds.set[c]] = beta
    tree, dtheta, touch, tw = model.tree, seeds.dtheta, seeds.touch, seeds.twists
    dz, dzd = seeds.dz, seeds.dzd
    vary_natural(tree, theta, dtheta, touch, False, state.z, state.zd, state.zdd, kin, dz, dzd, dzd, tw)
    vary_natural_forces(
        model, theta, dtheta, touch, seeds.no_eta, t, state.z, state.zd, state.lam, lines, dz, dzd, kin, tw, seeds.dG
    )  # fmt: skip
    vary_natural_work(model, theta, dtheta, touch, state.lam, state.zdd, W, kin, tw, seeds.dG)
    natural_mass(tree, theta, T_out)
    for i in range(seeds.set.size):
        for s in range(seeds.first[i], seeds.first[i + 1]):
            T_out[i, seeds.column[s]] += seeds.dG[i, seeds.set[seeds.column[s]]]
