"""Rows of an open tree's implicit equations that dynamics do not fill: norms of Euler parameters, driven coordinates.

The unknown is an acceleration x that moves z by g^2 x and z' by g x. On the rows of a set of Euler parameters e stands

    P G + s e n,    P = 1 - e e^T / e.e,    n = e.e'' + e'.e',

with any weight s; driven coordinates do not move, x = 0. Derivation: docs/theory/integrators.md, section 4.
"""

import numpy as np

from mbsim_cli.kernels.algebra.euler_parameters import inner4, norm2
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.elements.columns import load4, load4_of
from mbsim_cli.model.layout import NONE


@kernel
def close_tangent(tree, g, state, G, T, weight_out):
    """Complete T (n, padded(n)) = dG/dx at the state with residual G (n,); weight (k,) of each norm equation."""
    q = g * g
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e, e1, e2 = load4(state.z, c), load4(state.zd, c), load4(state.zdd, c)
        square = norm2(e)
        weight_out[s] = 0.0
        for i in range(4):
            weight_out[s] += np.abs(T[c + i, c + i].real) / square.real
        for j in range(T.shape[1]):
            along = inner4(e, (T[c, j], T[c + 1, j], T[c + 2, j], T[c + 3, j])) / square
            for i in range(4):
                T[c + i, j] -= along * e[i]
        moved = q * inner4(e, load4(G, c)) / square
        for i in range(4):
            T[c + i, c + i] -= moved
            for j in range(4):
                T[c + i, c + j] += e[i] * (
                    moved * e[j] / square + weight_out[s] * (e[j] + 2.0 * g * e1[j] + q * e2[j])
                )  # fmt: skip
    for c in range(T.shape[0]):
        if tree.driver[c] != NONE:
            for j in range(T.shape[1]):
                T[c, j] = 0.0
            T[c, c] = 1.0


@kernel
def close_residual(tree, state, G, weight, b_out):
    """Right-hand side b (n, 1) of a correction x: T x = b."""
    for c in range(G.size):
        b_out[c, 0] = -G[c] if tree.driver[c] == NONE else 0.0 * G[c]
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e, e1, e2 = load4(state.z, c), load4(state.zd, c), load4(state.zdd, c)
        _set_along(e, c, -weight[s] * (inner4(e, e2) + norm2(e1)), 0, b_out)


@kernel
def close_variation(tree, state, G, weight, dz, dzd, dzdd, b):
    """Turn dG (n, p) in b into the right-hand side for the variation of x, with dz, dz', dz'' at x' = 0."""
    n, p = b.shape
    for c in range(n):
        for k in range(p):
            b[c, k] = -b[c, k] if tree.driver[c] == NONE else 0.0
    for s in range(tree.euler.size):
        c = tree.euler[s]
        e, e1, e2 = load4(state.z, c), load4(state.zd, c), load4(state.zdd, c)
        along = inner4(e, load4(G, c)) / norm2(e)
        for k in range(p):
            de, de1, de2 = load4_of(dz, c, k), load4_of(dzd, c, k), load4_of(dzdd, c, k)
            for i in range(4):
                b[c + i, k] += along * de[i]
            change = inner4(de, e2) + inner4(e, de2) + 2.0 * inner4(e1, de1)
            _set_along(e, c, -weight[s] * change, k, b)


@inlined
def _set_along(e, c, s, k, b_out):
    """Let s e be the part along e of four rows of column k."""
    change = s - inner4(e, load4_of(b_out, c, k)) / norm2(e)
    for i in range(4):
        b_out[c + i, k] += change * e[i]
