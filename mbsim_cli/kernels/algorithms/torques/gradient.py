"""Gradient of a torque objective with respect to the motion, at ``LANES`` instants, in O(n).

For a covector lambda = d psi / d tau no matrix is formed: with Lambda_i = sum of lambda_j S_j over i and its
ancestors, and Z_i, Y_i, X_i = sums of lambda_j (H_j, B_j, K_j) over the descendants of i,
    d psi / d (q_i, q_i', q_i'') = Lambda_i . (W_i, U_i, H_i)
        + (Z_i . S_i'' + Y_i . S_i' + X_i . S_i,  2 Z_i . S_i' + Y_i . S_i,  Z_i . S_i).
"""

import numpy as np

from mbsim_cli.kernels.algebra.lanes import get3, get6, put3, put6
from mbsim_cli.kernels.algebra.spatial import add6, axpy6, dot6
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, dot3
from mbsim_cli.kernels.algorithms.torques.lanes import LANES
from mbsim_cli.kernels.compiler.jit import kernel

# lambda, Lambda, the sums over descendants, and the three gradients
_PULLED = {"c": 1, "L": 6, "Z": 6, "Y": 3, "X": 3, "g": 3}
PULL = np.dtype([(name, np.float64, (k, LANES)) for name, k in _PULLED.items()])


@kernel
def clear_pull(pull_out):
    """Start sums: at the ground for Lambda, at every link for the others."""
    zero = (0.0, 0.0, 0.0)
    for l in range(LANES):
        put6(pull_out["L"], l, (zero, zero))
        put6(pull_out["Z"], l, (zero, zero))
        put3(pull_out["Y"], l, zero)
        put3(pull_out["X"], l, zero)


@kernel
def weights(covector, weight, first, i, column, pull_out):
    """lambda = covector + weight * tau, which serves linear and quadratic objectives; both (N, n)."""
    last = covector.shape[0] - 1
    for l in range(LANES):
        t = min(first + l, last)
        pull_out["c"][0, l] = covector[t, i] + weight[t, i] * column["torque"][0, l]


@kernel
def push(parent, column, pull_out):
    """Lambda of a link from its parent's."""
    for l in range(LANES):
        put6(pull_out["L"], l, axpy6(pull_out["c"][0, l], get6(column["S"], l), get6(parent["L"], l)))


@kernel
def pull_back(column, own):
    """Gradient with respect to position, velocity and acceleration of one link."""
    for l in range(LANES):
        L, Z, Y, X = get6(own["L"], l), get6(own["Z"], l), get3(own["Y"], l), get3(own["X"], l)
        S, S1 = get6(column["S"], l), get6(column["S1"], l)
        q = dot6(L, get6(column["W"], l)) + dot6(get6(column["S2"], l), Z) + dot3(S1[0], Y) + dot3(S[0], X)
        v = dot6(L, get6(column["U"], l)) + 2.0 * dot6(S1, Z) + dot3(S[0], Y)
        put3(own["g"], l, (q, v, dot6(L, get6(column["H"], l)) + dot6(S, Z)))


@kernel
def pull_to_parent(column, own, loaded, parent):
    """Sums over the descendants of the parent."""
    for l in range(LANES):
        c = own["c"][0, l]
        put6(parent["Z"], l, add6(get6(parent["Z"], l), axpy6(c, get6(column["H"], l), get6(own["Z"], l))))
        put3(parent["Y"], l, add3(get3(parent["Y"], l), axpy3(c, get3(column["B"], l), get3(own["Y"], l))))
    if loaded:
        for l in range(LANES):
            X = axpy3(own["c"][0, l], get3(column["K"], l), get3(own["X"], l))
            put3(parent["X"], l, add3(get3(parent["X"], l), X))


@kernel
def pull(system, covector, weight, first, column, pull_out):
    """Gradients ``g`` of all links at ``LANES`` instants; needs ``sweep`` with derivatives."""
    parent, load_row = system.links.parent, system.load_sums.row
    n = parent.size
    clear_pull(pull_out[n])
    for i in range(n):
        clear_pull(pull_out[i])
        weights(covector, weight, first, i, column[i], pull_out[i])
        push(pull_out[parent[i]], column[i], pull_out[i])
    for i in range(n - 1, -1, -1):
        pull_back(column[i], pull_out[i])
        if parent[i] < n:
            pull_to_parent(column[i], pull_out[i], load_row[i] >= 0, pull_out[parent[i]])
