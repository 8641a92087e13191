"""What a flexible body adds to ``flexible`` whose data differ from the identities: stiffened bodies, and many files.

Ct and Cr have parts in q, Gr, Ge, Oe and mdCM differ. Each function adds to what its namesake there has left.
"""

from mbsim_cli.kernels._jit import kernel
from mbsim_cli.kernels._simd import add_to, block, width
from mbsim_cli.kernels.algebra.rot3 import load9
from mbsim_cli.kernels.algebra.vec3 import axpy3, dot3, load3, scale3
from mbsim_cli.kernels.elements.flexible_work import (
    CR,
    CT,
    GR,
    OWN_GR,
    OWN_OE,
    ROW,
    H,
    X,
    axpy_nine,
    axpy_six,
    dot_six,
    lanes3,
    lanes6,
    lanes9,
    mode3,
    modes_of,
    own_mode_row,
    own_pair_row,
    products,
    put3,
    put6,
    put9,
    rows3,
    rows9,
)
from mbsim_cli.model.flexible import CR1_EVEN, CT1, GE, GR0, GR1, MDCM1, OE0, OE1


@kernel
def deviate_modes(tree, theta, f, w, alpha, a, z, zd, el):
    """Add to the rows of the modes."""
    n, c, _ = modes_of(tree, f)
    o, squares = tree.deviation[f], products(w)
    for g in range(0, n, width(el.now)):
        k = block(el.now, g)
        gr = lanes9(theta, own_mode_row(o, n, GR0) + g, n)
        oe = lanes6(theta, own_mode_row(o, n, OE0) + g, n)
        ct = scale3(0.0, lanes3(theta, own_mode_row(o, n, MDCM1) + g, n))
        cr, ge = ct, ct
        for j in range(n):
            x = z[c + j]
            ct = axpy3(x, lanes3(theta, own_pair_row(o, n, j, CT1) + g, n), ct)
            cr = axpy3(x, lanes3(theta, own_pair_row(o, n, j, CR1_EVEN) + g, n), cr)
            gr = axpy_nine(x, lanes9(theta, own_pair_row(o, n, j, GR1) + g, n), gr)
            ge = axpy3(zd[c + j], lanes3(theta, own_pair_row(o, n, j, GE) + g, n), ge)
            oe = axpy_six(x, lanes6(theta, own_pair_row(o, n, j, OE1) + g, n), oe)
        add_to(el.now, f, ROW, k, dot3(a, ct) + dot3(alpha, cr) + dot3(w, ge) + dot_six(oe, squares))
        put3(el.now, f, CT, k, axpy3(1.0, ct, rows3(el.now, f, CT, k)))
        put3(el.now, f, CR, k, axpy3(1.0, cr, rows3(el.now, f, CR, k)))
        put3(el.now, f, X, k, axpy3(0.5, ge, rows3(el.now, f, X, k)))
        put9(el.now, f, OWN_GR, k, gr)
        put6(el.now, f, OWN_OE, k, oe)


@kernel
def deviate_frame(tree, theta, f, z, zd, el):
    """Add to mdCM and Gr(q'), after ``deviate_modes``."""
    n, c, _ = modes_of(tree, f)
    p = own_mode_row(tree.deviation[f], n, MDCM1)
    h, gr = load3(el.frame[f], H), load9(el.frame[f], GR)
    for l in range(n):
        h = axpy3(z[c + l], mode3(theta, p + l, n), h)
        gr = axpy_nine(zd[c + l], rows9(el.now, f, OWN_GR, l), gr)
    for r in range(3):
        el.frame[f, H + r] = h[r]
    for r in range(9):
        el.frame[f, GR + r] = gr[r]
