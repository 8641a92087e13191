"""d torque / d position, velocity, acceleration at ``LANES`` instants, one row of the matrices at a time.

For a link i and an ancestor j (or i itself),
    d tau_j / d (q_i, q_i', q_i'') = S_j . (W_i, U_i, H_i),
    d tau_i / d (q_j, q_j', q_j'') = (H_i . S_j'' + B_i . S_j' + K_i . S_j,  2 H_i . S_j' + B_i . S_j,  H_i . S_j),
where B_i, K_i multiply angular parts only. Rows are turned from lanes to instants in cache;
entries of links on different branches keep the zeros that they were given.
"""

import numpy as np

from mbsim_cli.kernels.algebra.lanes import get3, get6
from mbsim_cli.kernels.algebra.spatial import dot6
from mbsim_cli.kernels.algebra.vec3 import dot3
from mbsim_cli.kernels.algorithms.torques.lanes import LANES
from mbsim_cli.kernels.compiler.jit import kernel

ENTRY = np.dtype([(name, np.float64, (LANES,)) for name in ("q", "v", "a")])


@kernel
def _below(own, ancestor, entry_out):
    """Row of the link, column of an ancestor."""
    for l in range(LANES):
        H, B = get6(own["H"], l), get3(own["B"], l)
        S, S1 = get6(ancestor["S"], l), get6(ancestor["S1"], l)
        entry_out["q"][l] = dot6(get6(ancestor["S2"], l), H) + dot3(S1[0], B)
        entry_out["v"][l] = 2.0 * dot6(S1, H) + dot3(S[0], B)
        entry_out["a"][l] = dot6(S, H)


@kernel
def _below_loaded(own, ancestor, entry_out):
    """The same with loads on the subtree."""
    for l in range(LANES):
        H, B, K = get6(own["H"], l), get3(own["B"], l), get3(own["K"], l)
        S, S1 = get6(ancestor["S"], l), get6(ancestor["S1"], l)
        entry_out["q"][l] = dot6(get6(ancestor["S2"], l), H) + dot3(S1[0], B) + dot3(S[0], K)
        entry_out["v"][l] = 2.0 * dot6(S1, H) + dot3(S[0], B)
        entry_out["a"][l] = dot6(S, H)


@kernel
def _above(own, descendant, entry_out):
    """Row of the link, column of a descendant (or its own)."""
    for l in range(LANES):
        S = get6(own["S"], l)
        entry_out["q"][l] = dot6(S, get6(descendant["W"], l))
        entry_out["v"][l] = dot6(S, get6(descendant["U"], l))
        entry_out["a"][l] = dot6(S, get6(descendant["H"], l))


@kernel
def form_row(related, loaded, i, column, row_out):
    """Related entries of row i of the three matrices, lanes innermost."""
    for k in range(related.first[i], related.first[i + 1]):
        for j in range(related.start[k], related.stop[k]):
            if j >= i:
                _above(column[i], column[j], row_out[j])
            elif loaded:
                _below_loaded(column[i], column[j], row_out[j])
            else:
                _below(column[i], column[j], row_out[j])


@kernel
def write_row(related, i, first, count, row, by_q_out, by_v_out, by_a_out):
    """Related entries of row i of ``count`` instants from ``first`` on."""
    for l in range(count):
        q, v, a = by_q_out[first + l, i], by_v_out[first + l, i], by_a_out[first + l, i]
        for k in range(related.first[i], related.first[i + 1]):
            # unsigned, so that no index is checked for being negative
            for j in range(np.uint64(related.start[k]), np.uint64(related.stop[k])):
                q[j] = row[j]["q"][l]
                v[j] = row[j]["v"][l]
                a[j] = row[j]["a"][l]
