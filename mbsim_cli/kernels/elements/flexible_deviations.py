"""What a flexible body adds to ``flexible`` whose data differ from the identities: stiffened bodies, and many files.

Ct and Cr have parts in q, symmetric in q and the shape, for points move by products of coordinates: so mdCM has half
of that of Ct, and the rates of Ct and Cr make a force q' Ct1 q' and a moment q' Cr1 q'. Gr, Ge, Oe and mdCM differ.
Each function adds to what its namesake there has left.
"""

from mbsim_cli.kernels.algebra.rot3 import load9, rotate, symmetric_apply
from mbsim_cli.kernels.algebra.symmetric import axpy_nine, axpy_six, dot_six, products, scale_nine, scale_six
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, dot3, load3, scale3, sub3
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width
from mbsim_cli.kernels.elements.flexible_work import (
    BY_Q,
    BY_RATE,
    BY_SPEED,
    CR,
    CR_RATE,
    CT,
    CT_RATE,
    GR,
    OWN_GE,
    OWN_GR,
    OWN_OE,
    ROW,
    SQUARE,
    H,
    add3_along,
    add6_along,
    add9_along,
    along3,
    along6,
    along9,
    lanes3,
    lanes6,
    lanes9,
    mode3,
    mode6,
    mode9,
    mode_row,
    modes_of,
    own_mode_row,
    own_pair_row,
    put3,
    put6,
    put9,
    rows3,
    rows6,
    rows9,
)
from mbsim_cli.model.flexible import CR1_EVEN, CT1, GE, GR0, GR1, MDCM1, OE0, OE1
from mbsim_cli.model.flexible import CT as CT0


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
        cr, ge, ct_rate, cr_rate = ct, ct, ct, ct
        for j in range(n):
            x, rate = z[c + j], zd[c + j]
            ct1 = lanes3(theta, own_pair_row(o, n, j, CT1) + g, n)
            cr1 = lanes3(theta, own_pair_row(o, n, j, CR1_EVEN) + g, n)
            ct, ct_rate = axpy3(x, ct1, ct), axpy3(rate, ct1, ct_rate)
            cr, cr_rate = axpy3(x, cr1, cr), axpy3(rate, cr1, cr_rate)
            gr = axpy_nine(x, lanes9(theta, own_pair_row(o, n, j, GR1) + g, n), gr)
            ge = axpy3(rate, lanes3(theta, own_pair_row(o, n, j, GE) + g, n), ge)
            oe = axpy_six(x, lanes6(theta, own_pair_row(o, n, j, OE1) + g, n), oe)
        add_to(el.now, f, ROW, k, dot3(a, ct) + dot3(alpha, cr) + dot3(w, ge) + dot_six(oe, squares))
        put3(el.now, f, CT, k, axpy3(1.0, ct, rows3(el.now, f, CT, k)))
        put3(el.now, f, CR, k, axpy3(1.0, cr, rows3(el.now, f, CR, k)))
        put3(el.now, f, CT_RATE, k, ct_rate)
        put3(el.now, f, CR_RATE, k, cr_rate)
        put3(el.now, f, OWN_GE, k, ge)
        put9(el.now, f, OWN_GR, k, gr)
        put6(el.now, f, OWN_OE, k, oe)


@kernel
def deviate_frame(tree, theta, f, z, zd, el):
    """Add to mdCM and Gr(q'), and leave what squares of q' make, after ``deviate_modes``."""
    n, c, _ = modes_of(tree, f)
    h, gr = load3(el.frame[f], H), load9(el.frame[f], GR)
    moment, force = scale3(0.0, h), scale3(0.0, h)
    for l in range(n):
        first, ct = _first_moment(tree, theta, f, l, el)
        h = axpy3(z[c + l], axpy3(0.5, ct, first), h)
        gr = axpy_nine(zd[c + l], rows9(el.now, f, OWN_GR, l), gr)
        moment = axpy3(zd[c + l], rows3(el.now, f, CR_RATE, l), moment)
        force = axpy3(zd[c + l], rows3(el.now, f, CT_RATE, l), force)
    for r in range(3):
        el.frame[f, H + r] = h[r]
        el.frame[f, SQUARE + r], el.frame[f, SQUARE + 3 + r] = moment[r], force[r]
    for r in range(9):
        el.frame[f, GR + r] = gr[r]


@inlined
def _first_moment(tree, theta, f, l, el):
    """What mdCM deviates by of order 1 in q_l, and Ct_l as far as it moves with q."""
    n, _, o = modes_of(tree, f)
    ct = sub3(rows3(el.now, f, CT, l), mode3(theta, mode_row(o, n, CT0) + l, n))
    return mode3(theta, own_mode_row(tree.deviation[f], n, MDCM1) + l, n), ct


@kernel
def deviate_slopes(tree, theta, f, w, alpha, a, zd, zdd, el):
    """Add to the derivatives by q and q'."""
    n, c, _ = modes_of(tree, f)
    o, squares = tree.deviation[f], products(w)
    for j in range(n):
        first, ct_now = _first_moment(tree, theta, f, j, el)
        first = add3(first, ct_now)
        p = own_pair_row(o, n, j, 0)
        moved, turned = scale3(0.0, first), scale3(0.0, first)
        rate, turning = rows3(el.now, f, CT_RATE, j), rows3(el.now, f, CR_RATE, j)
        gyral = scale_nine(0.0, mode9(theta, p + n * GR1, n))
        for l in range(n):
            ct, cr = mode3(theta, p + n * CT1 + l, n), mode3(theta, p + n * CR1_EVEN + l, n)
            moved, turned = axpy3(zdd[c + l], ct, moved), axpy3(zdd[c + l], cr, turned)
            gyral = axpy_nine(zd[c + l], mode9(theta, p + n * GR1 + l, n), gyral)
            own = dot3(a, ct) + dot3(alpha, cr) + dot_six(mode6(theta, p + n * OE1 + l, n), squares)
            el.by_q[f, j, l] += own
            el.by_rate[f, j, l] += dot3(w, mode3(theta, p + n * GE + l, n))
        moment = add3(cross3(first, a), sub3(add3(turned, rotate(gyral, w)), cross3(turning, w)))
        force = add3(cross3(alpha, first), cross3(w, cross3(w, first)))
        _add3(el.change, f, BY_Q, j, moment)
        _add3(el.change, f, BY_Q + 3, j, add3(force, axpy3(2.0, cross3(w, rate), moved)))
        _add3(el.change, f, BY_RATE, j, axpy3(2.0, turning, rotate(rows9(el.now, f, OWN_GR, j), w)))
        _add3(el.change, f, BY_RATE + 3, j, scale3(2.0, rate))
        squared = symmetric_apply(rows6(el.now, f, OWN_OE, j), w)
        _add3(el.change, f, BY_SPEED, j, axpy3(2.0, squared, rows3(el.now, f, OWN_GE, j)))


@inlined
def _add3(array, f, r, l, x):
    for i in range(3):
        array[f, r + i, l] += x[i]


@kernel
def vary_deviations(tree, dtheta, f, k, w, alpha, a, z, zd, zdd, dG_out):
    """(dmoment, dforce) that the numbers of the second block add in directions k; adds to elastic rows."""
    n, c, _ = modes_of(tree, f)
    o, squares = tree.deviation[f], products(w)
    h = scale3(0.0, along3(dtheta, o, n, k))
    moving, moved, moment = h, h, h
    for l in range(n):
        first = along3(dtheta, own_mode_row(o, n, MDCM1) + l, n, k)
        gr, oe = along9(dtheta, own_mode_row(o, n, GR0) + l, n, k), along6(dtheta, own_mode_row(o, n, OE0) + l, n, k)
        ct = scale3(0.0, h)
        cr, ge, ct_rate, cr_rate = ct, ct, ct, ct
        for j in range(n):
            p = own_pair_row(o, n, j, 0) + l
            ct1, cr1 = along3(dtheta, p + n * CT1, n, k), along3(dtheta, p + n * CR1_EVEN, n, k)
            ct, ct_rate = axpy3(z[c + j], ct1, ct), axpy3(zd[c + j], ct1, ct_rate)
            cr, cr_rate = axpy3(z[c + j], cr1, cr), axpy3(zd[c + j], cr1, cr_rate)
            gr = axpy_nine(z[c + j], along9(dtheta, p + n * GR1, n, k), gr)
            ge = axpy3(zd[c + j], along3(dtheta, p + n * GE, n, k), ge)
            oe = axpy_six(z[c + j], along6(dtheta, p + n * OE1, n, k), oe)
        add_to(dG_out, c + l, k, dot3(a, ct) + dot3(alpha, cr) + dot3(w, ge) + dot_six(oe, squares))
        h = axpy3(z[c + l], axpy3(0.5, ct, first), h)
        turning = add3(cr_rate, sub3(rotate(gr, w), cross3(cr, w)))
        moment = axpy3(zd[c + l], turning, axpy3(zdd[c + l], cr, moment))
        moving, moved = axpy3(zd[c + l], ct, moving), axpy3(zdd[c + l], ct, axpy3(zd[c + l], ct_rate, moved))
    force = add3(moved, add3(cross3(alpha, h), cross3(w, axpy3(2.0, moving, cross3(w, h)))))
    return add3(moment, cross3(h, a)), force


@kernel
def pull_deviations(tree, f, k, U, mu, w, alpha, a, z, zd, zdd, theta_out):
    """Add to the numbers of the second block: the transpose of ``vary_deviations``."""
    n, c, _ = modes_of(tree, f)
    o, squares, (turn, shift) = tree.deviation[f], products(w), U
    turned, shifted = cross3(turn, w), cross3(shift, w)
    of_h = add3(cross3(shift, alpha), add3(cross3(shifted, w), cross3(a, turn)))
    x, y, v = scale3(turn[0], w), scale3(turn[1], w), scale3(turn[2], w)
    gyral = (x[0], x[1], x[2], y[0], y[1], y[2], v[0], v[1], v[2])
    for l in range(n):
        row = at(mu, c + l, k)
        ct = axpy3(2.0 * zd[c + l], shifted, axpy3(zdd[c + l], shift, scale3(row, a)))
        ct = axpy3(0.5 * z[c + l], of_h, ct)
        cr = axpy3(zd[c + l], turned, axpy3(zdd[c + l], turn, scale3(row, alpha)))
        add3_along(theta_out, own_mode_row(o, n, MDCM1) + l, n, k, scale3(z[c + l], of_h))
        add9_along(theta_out, own_mode_row(o, n, GR0) + l, n, k, scale_nine(zd[c + l], gyral))
        add6_along(theta_out, own_mode_row(o, n, OE0) + l, n, k, scale_six(row, squares))
        for j in range(n):
            p = own_pair_row(o, n, j, 0) + l
            square = zd[c + j] * zd[c + l]
            add3_along(theta_out, p + n * CT1, n, k, axpy3(z[c + j], ct, scale3(square, shift)))
            add3_along(theta_out, p + n * CR1_EVEN, n, k, axpy3(z[c + j], cr, scale3(square, turn)))
            add9_along(theta_out, p + n * GR1, n, k, scale_nine(z[c + j] * zd[c + l], gyral))
            add3_along(theta_out, p + n * GE, n, k, scale3(zd[c + j] * row, w))
            add6_along(theta_out, p + n * OE1, n, k, scale_six(z[c + j] * row, squares))
