"""Energies of a flexible body, its mass and first moment, with their variations and pull-backs.

With v the velocity of the frame's origin, w that of the frame, both in its axes, the kinetic energy is

    m v.v / 2 + v . (w x mdCM) + w . J w / 2 + q' . (Ct v + Cr w) + q' . Me q' / 2,

the strain energy ksigma . q + q . Ke q / 2. All is linear in the numbers: variations and values have one formula, where
theta is one direction.
"""

from mbsim_cli.kernels.algebra.spatial import axpy_nine, axpy_six, dot_six, products, scale_nine, scale_six
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    add3_to,
    add_rows3,
    axpy3,
    cross3,
    dot3,
    load3,
    load3_of,
    load6,
    load9,
    put3,
    rotate,
    rows3,
    scale3,
    sub3,
    symmetric_apply,
)
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, as_column, at, block, width
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
    mode3,
    mode6,
    mode9,
    mode_row,
    modes_of,
    own_mode_row,
    own_pair_row,
    pair_row,
    put6,
    put9,
    rows6,
    rows9,
)
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.standard_data import (
    CR0,
    CR1,
    CR1_EVEN,
    CT1,
    DE,
    GE,
    GR0,
    GR1,
    J0,
    J1,
    J2,
    KE,
    KSIGMA,
    MASS,
    MDCM,
    MDCM1,
    ME,
    OE0,
    OE1,
)
from mbsim_cli.model.standard_data import CT as CT0

# Deviations -----------------------------------------------------------------------------------------------------------
#
# What a flexible body adds to ``flexible_inertia`` whose data differ from the identities, as of stiffened bodies.
#
# Ct and Cr have parts in q, symmetric in q and the shape, for points move by products of coordinates: so mdCM has half
# of that of Ct, and the rates of Ct and Cr make a force q' Ct1 q' and a moment q' Cr1 q'. Gr, Ge, Oe and mdCM differ.
# Each function adds to what its namesake there has left.


@kernel
def deviate_modes(tree, theta, f, turning, motion, el):
    """Add to the rows of the modes."""
    n, _, _ = modes_of(tree, f)
    for g in range(0, n, width(el.now)):
        k = block(el.now, g)
        ct, cr, ct_rate, cr_rate, gr, ge, oe, e = _own_mode(tree, theta, f, g, 0, turning, motion)
        add_to(el.now, f, ROW, k, e)
        put3(el.now, f, CT, k, axpy3(1.0, ct, rows3(el.now, f, CT, k)))
        put3(el.now, f, CR, k, axpy3(1.0, cr, rows3(el.now, f, CR, k)))
        put3(el.now, f, CT_RATE, k, ct_rate)
        put3(el.now, f, CR_RATE, k, cr_rate)
        put3(el.now, f, OWN_GE, k, ge)
        put9(el.now, f, OWN_GR, k, gr)
        put6(el.now, f, OWN_OE, k, oe)


@inlined
def _own_mode(tree, numbers, f, l, k, turning, motion):
    """Ct, Cr, their rates, Gr, Ge q', Oe and the elastic row: of mode l in directions k, or of modes from l on."""
    (w, alpha, a), z, zd = turning, motion.z, motion.zd
    n, c, _ = modes_of(tree, f)
    o = tree.deviation[f]
    gr = along9(numbers, own_mode_row(o, n, GR0) + l, n, k)
    oe = along6(numbers, own_mode_row(o, n, OE0) + l, n, k)
    ct = scale3(0.0, along3(numbers, own_mode_row(o, n, MDCM1) + l, n, k))
    cr, ge, ct_rate, cr_rate = ct, ct, ct, ct
    for j in range(n):
        x, rate, p = z[c + j], zd[c + j], own_pair_row(o, n, j, 0) + l
        ct1, cr1 = along3(numbers, p + n * CT1, n, k), along3(numbers, p + n * CR1_EVEN, n, k)
        ct, ct_rate = axpy3(x, ct1, ct), axpy3(rate, ct1, ct_rate)
        cr, cr_rate = axpy3(x, cr1, cr), axpy3(rate, cr1, cr_rate)
        gr = axpy_nine(x, along9(numbers, p + n * GR1, n, k), gr)
        ge = axpy3(rate, along3(numbers, p + n * GE, n, k), ge)
        oe = axpy_six(x, along6(numbers, p + n * OE1, n, k), oe)
    return ct, cr, ct_rate, cr_rate, gr, ge, oe, dot3(a, ct) + dot3(alpha, cr) + dot3(w, ge) + dot_six(oe, products(w))


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
    """Deviation of mdCM of order 1 in q_l, and Ct_l as far as it moves with q."""
    n, _, o = modes_of(tree, f)
    ct = sub3(rows3(el.now, f, CT, l), mode3(theta, mode_row(o, n, CT0) + l, n))
    return mode3(theta, own_mode_row(tree.deviation[f], n, MDCM1) + l, n), ct


@kernel
def deviate_slopes(tree, theta, f, turning, motion, el):
    """Add to the derivatives by q and q'."""
    (w, alpha, a), zd, zdd = turning, motion.zd, motion.zdd
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
        add_rows3(el.change, f, BY_Q, j, moment)
        add_rows3(el.change, f, BY_Q + 3, j, add3(force, axpy3(2.0, cross3(w, rate), moved)))
        add_rows3(el.change, f, BY_RATE, j, axpy3(2.0, turning, rotate(rows9(el.now, f, OWN_GR, j), w)))
        add_rows3(el.change, f, BY_RATE + 3, j, scale3(2.0, rate))
        squared = symmetric_apply(rows6(el.now, f, OWN_OE, j), w)
        add_rows3(el.change, f, BY_SPEED, j, axpy3(2.0, squared, rows3(el.now, f, OWN_GE, j)))


@kernel
def vary_deviations(tree, dtheta, f, k, turning, motion, dG_out):
    """(dmoment, dforce) that the numbers of the second block add in directions k; adds to elastic rows."""
    (w, alpha, a), z, zd, zdd = turning, motion.z, motion.zd, motion.zdd
    n, c, _ = modes_of(tree, f)
    o = tree.deviation[f]
    h = scale3(0.0, along3(dtheta, o, n, k))
    moving, moved, moment = h, h, h
    for l in range(n):
        first = along3(dtheta, own_mode_row(o, n, MDCM1) + l, n, k)
        ct, cr, ct_rate, cr_rate, gr, _, _, e = _own_mode(tree, dtheta, f, l, k, turning, motion)
        add_to(dG_out, c + l, k, e)
        h = axpy3(z[c + l], axpy3(0.5, ct, first), h)
        turned = add3(cr_rate, sub3(rotate(gr, w), cross3(cr, w)))
        moment = axpy3(zd[c + l], turned, axpy3(zdd[c + l], cr, moment))
        moving, moved = axpy3(zd[c + l], ct, moving), axpy3(zdd[c + l], ct, axpy3(zd[c + l], ct_rate, moved))
    force = add3(moved, add3(cross3(alpha, h), cross3(w, axpy3(2.0, moving, cross3(w, h)))))
    return add3(moment, cross3(h, a)), force


@kernel
def pull_deviations(tree, f, k, U, mu, turning, motion, theta_out):
    """Add to the numbers of the second block: the transpose of ``vary_deviations``."""
    (w, alpha, a), z, zd, zdd = turning, motion.z, motion.zd, motion.zdd
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


# Energies -------------------------------------------------------------------------------------------------------------


@kernel
def flexible_kinetic(tree, theta, f, V, motion):
    """Kinetic energy of flexible body f, whose frame has the velocity V = (w, v), in its axes."""
    return _kinetic(tree, as_column(theta), f, 0, V, motion)


@kernel
def vary_flexible_kinetic(tree, theta, dtheta, touched, f, k, V, motion, dV, change):
    """Variation of the kinetic energy in direction or directions k."""
    n, c, _ = modes_of(tree, f)
    moment, force = momentum(tree, theta, f, V, motion)
    found = dot3(moment, dV[0]) + dot3(force, dV[1])
    for l in range(n):
        by_q, by_rate = _kinetic_slopes(tree, theta, f, l, V, motion)
        found = found + by_q * at(change.z, c + l, k) + by_rate * at(change.zd, c + l, k)
    if touched:
        found = found + _kinetic(tree, dtheta, f, k, V, motion)
    return found


@kernel
def pull_flexible_kinetic(tree, theta, f, k, hat, V, motion, adj_out):
    """Adjoints of w and v from ``hat`` of the kinetic energy; adds to those of z, z' and theta."""
    n, c, _ = modes_of(tree, f)
    moment, force = momentum(tree, theta, f, V, motion)
    for l in range(n):
        by_q, by_rate = _kinetic_slopes(tree, theta, f, l, V, motion)
        add_to(adj_out.z, c + l, k, by_q * hat)
        add_to(adj_out.zd, c + l, k, by_rate * hat)
    _pull_kinetic(tree, f, k, hat, V, motion, adj_out.theta)
    return scale3(hat, moment), scale3(hat, force)


@inlined
def _kinetic(tree, numbers, f, k, V, motion):
    """Kinetic energy by numbers (len(theta), p), one of their columns k or several."""
    (w, v), z, zd = V, motion.z, motion.zd
    n, c, o = modes_of(tree, f)
    arm, squares = cross3(v, w), scale_six(0.5, products(w))
    found = 0.5 * dot3(v, v) * at(numbers, o + MASS, k) + dot3(arm, load3_of(numbers, o + MDCM, k))
    found = found + dot_six(along6(numbers, o + J0, 1, k), squares)
    for l in range(n):
        x, rate = z[c + l], zd[c + l]
        ct = along3(numbers, mode_row(o, n, CT0) + l, n, k)
        cr, half = along3(numbers, mode_row(o, n, CR0) + l, n, k), along6(numbers, mode_row(o, n, J1) + l, n, k)
        own = 0.0 * ct[0]
        for j in range(n):
            p = pair_row(o, n, j, 0) + l
            half = axpy_six(z[c + j], along6(numbers, p + n * J2, n, k), half)
            cr = axpy3(z[c + j], along3(numbers, p + n * CR1, n, k), cr)
            own = own + 0.5 * zd[c + j] * at(numbers, p + n * ME, k)
        found = found + x * (dot3(arm, ct) + dot_six(half, squares)) + rate * (dot3(v, ct) + dot3(w, cr) + own)
    d = tree.deviation[f]
    if d != NONE:
        for l in range(n):
            found = found + z[c + l] * dot3(arm, along3(numbers, own_mode_row(d, n, MDCM1) + l, n, k))
            for j in range(n):
                p, both = own_pair_row(d, n, j, 0) + l, zd[c + l] * z[c + j]
                moved = axpy3(both, v, scale3(0.5 * z[c + l] * z[c + j], arm))
                found = found + dot3(moved, along3(numbers, p + n * CT1, n, k))
                found = found + both * dot3(w, along3(numbers, p + n * CR1_EVEN, n, k))
    return found


@inlined
def _pull_kinetic(tree, f, k, hat, V, motion, theta_out):
    """Transpose of ``_kinetic``."""
    (w, v), z, zd = V, motion.z, motion.zd
    n, c, o = modes_of(tree, f)
    arm, squares = scale3(hat, cross3(v, w)), scale_six(0.5 * hat, products(w))
    v_hat, w_hat = scale3(hat, v), scale3(hat, w)
    add_to(theta_out, o + MASS, k, 0.5 * dot3(v, v_hat))
    add3_to(theta_out, o + MDCM, k, arm)
    add6_along(theta_out, o + J0, 1, k, squares)
    d = tree.deviation[f]
    for l in range(n):
        x, rate = z[c + l], zd[c + l]
        add3_along(theta_out, mode_row(o, n, CT0) + l, n, k, axpy3(x, arm, scale3(rate, v_hat)))
        add3_along(theta_out, mode_row(o, n, CR0) + l, n, k, scale3(rate, w_hat))
        add6_along(theta_out, mode_row(o, n, J1) + l, n, k, scale_six(x, squares))
        for j in range(n):
            p = pair_row(o, n, j, 0) + l
            add6_along(theta_out, p + n * J2, n, k, scale_six(x * z[c + j], squares))
            add3_along(theta_out, p + n * CR1, n, k, scale3(rate * z[c + j], w_hat))
            add_to(theta_out, p + n * ME, k, 0.5 * rate * zd[c + j] * hat)
        if d != NONE:
            add3_along(theta_out, own_mode_row(d, n, MDCM1) + l, n, k, scale3(x, arm))
            for j in range(n):
                p = own_pair_row(d, n, j, 0) + l
                moved = axpy3(rate * z[c + j], v_hat, scale3(0.5 * x * z[c + j], arm))
                add3_along(theta_out, p + n * CT1, n, k, moved)
                add3_along(theta_out, p + n * CR1_EVEN, n, k, scale3(rate * z[c + j], w_hat))


@inlined
def _kinetic_slopes(tree, theta, f, l, V, motion):
    """Derivatives of the kinetic energy by q_l and its rate."""
    (w, v), z, zd = V, motion.z, motion.zd
    n, c, o = modes_of(tree, f)
    arm, squares, d = cross3(v, w), products(w), tree.deviation[f]
    ct, half = mode3(theta, mode_row(o, n, CT0) + l, n), scale_six(0.5, mode6(theta, mode_row(o, n, J1) + l, n))
    by_q, by_rate = dot3(arm, ct), dot3(v, ct) + dot3(w, mode3(theta, mode_row(o, n, CR0) + l, n))
    for j in range(n):
        p, back = pair_row(o, n, j, 0) + l, pair_row(o, n, l, 0) + j
        half = axpy_six(z[c + j], mode6(theta, p + n * J2, n), half)
        by_q = by_q + zd[c + j] * dot3(w, mode3(theta, back + n * CR1, n))
        by_rate = by_rate + z[c + j] * dot3(w, mode3(theta, p + n * CR1, n))
        by_rate = by_rate + 0.5 * zd[c + j] * (theta[p + n * ME] + theta[back + n * ME])
    by_q = by_q + dot_six(half, squares)
    if d != NONE:
        by_q = by_q + dot3(arm, mode3(theta, own_mode_row(d, n, MDCM1) + l, n))
        for j in range(n):
            p, back = own_pair_row(d, n, j, 0) + l, own_pair_row(d, n, l, 0) + j
            moved = axpy3(zd[c + j], v, scale3(z[c + j], arm))
            by_q = by_q + dot3(moved, mode3(theta, back + n * CT1, n))
            by_q = by_q + zd[c + j] * dot3(w, mode3(theta, back + n * CR1_EVEN, n))
            by_rate = by_rate + z[c + j] * dot3(v, mode3(theta, p + n * CT1, n))
            by_rate = by_rate + z[c + j] * dot3(w, mode3(theta, p + n * CR1_EVEN, n))
    return by_q, by_rate


@kernel
def momentum(tree, theta, f, V, motion):
    """Angular momentum about the frame's origin, and momentum, of flexible body f."""
    (w, v), z, zd = V, motion.z, motion.zd
    n, c, o = modes_of(tree, f)
    d = tree.deviation[f]
    m, h = flexible_moment(tree, theta, f, z)
    inertia, angular, linear = load6(theta, o + J0), cross3(h, v), axpy3(m, v, cross3(w, h))
    for l in range(n):
        first = mode6(theta, mode_row(o, n, J1) + l, n)
        ct, cr = mode3(theta, mode_row(o, n, CT0) + l, n), mode3(theta, mode_row(o, n, CR0) + l, n)
        for j in range(n):
            p = pair_row(o, n, j, 0) + l
            first = axpy_six(z[c + j], mode6(theta, p + n * J2, n), first)
            cr = axpy3(z[c + j], mode3(theta, p + n * CR1, n), cr)
            if d != NONE:
                p = own_pair_row(d, n, j, 0) + l
                ct = axpy3(z[c + j], mode3(theta, p + n * CT1, n), ct)
                cr = axpy3(z[c + j], mode3(theta, p + n * CR1_EVEN, n), cr)
        inertia = axpy_six(z[c + l], first, inertia)
        angular, linear = axpy3(zd[c + l], cr, angular), axpy3(zd[c + l], ct, linear)
    return add3(angular, symmetric_apply(inertia, w)), linear


@kernel
def flexible_moment(tree, theta, f, z):
    """Mass and mdCM of flexible body f as it is bent."""
    n, c, o = modes_of(tree, f)
    d, h = tree.deviation[f], load3(theta, o + MDCM)
    for l in range(n):
        h = axpy3(z[c + l], mode3(theta, mode_row(o, n, CT0) + l, n), h)
        if d != NONE:
            h = axpy3(z[c + l], _own_moment(tree, as_column(theta), f, 0, l, 0.5, z), h)
    return theta[o + MASS], h


@inlined
def _own_moment(tree, numbers, f, k, l, share, z):
    """Part of mdCM by q_l beside Ct_l: of order 1, and a share of what moves Ct_l."""
    n, c, _ = modes_of(tree, f)
    d = tree.deviation[f]
    found = along3(numbers, own_mode_row(d, n, MDCM1) + l, n, k)
    for j in range(n):
        found = axpy3(share * z[c + j], along3(numbers, own_pair_row(d, n, j, CT1) + l, n, k), found)
    return found


@kernel
def vary_flexible_moment(tree, theta, dtheta, touched, f, k, z, dz):
    """Variations of mass and mdCM in directions k."""
    n, c, o = modes_of(tree, f)
    d, m = tree.deviation[f], 0.0 * at(dz, c, k)
    h = (m, m, m)
    for l in range(n):
        h = axpy3(at(dz, c + l, k), mode3(theta, mode_row(o, n, CT0) + l, n), h)
        if d != NONE:
            h = axpy3(at(dz, c + l, k), _own_moment(tree, as_column(theta), f, 0, l, 1.0, z), h)
    if touched:
        m, h = at(dtheta, o + MASS, k), add3(h, load3_of(dtheta, o + MDCM, k))
        for l in range(n):
            h = axpy3(z[c + l], along3(dtheta, mode_row(o, n, CT0) + l, n, k), h)
            if d != NONE:
                h = axpy3(z[c + l], _own_moment(tree, dtheta, f, k, l, 0.5, z), h)
    return m, h


@kernel
def pull_flexible_moment(tree, theta, f, k, m_hat, h_hat, z, z_out, theta_out):
    """Add to z (n, p) and theta the adjoints of mass and mdCM."""
    n, c, o = modes_of(tree, f)
    d = tree.deviation[f]
    add_to(theta_out, o + MASS, k, m_hat)
    add3_to(theta_out, o + MDCM, k, h_hat)
    for l in range(n):
        p = mode_row(o, n, CT0) + l
        add_to(z_out, c + l, k, dot3(mode3(theta, p, n), h_hat))
        add3_along(theta_out, p, n, k, scale3(z[c + l], h_hat))
        if d != NONE:
            add_to(z_out, c + l, k, dot3(_own_moment(tree, as_column(theta), f, 0, l, 1.0, z), h_hat))
            add3_along(theta_out, own_mode_row(d, n, MDCM1) + l, n, k, scale3(z[c + l], h_hat))
            for j in range(n):
                p = own_pair_row(d, n, j, CT1) + l
                add3_along(theta_out, p, n, k, scale3(0.5 * z[c + l] * z[c + j], h_hat))


@kernel
def flexible_strain(tree, theta, f, z):
    """Strain energy of flexible body f."""
    return _strain(tree, as_column(theta), f, 0, z)


@kernel
def vary_flexible_strain(tree, theta, dtheta, touched, f, k, z, dz):
    """Variation of the strain energy in directions k."""
    n, c, _ = modes_of(tree, f)
    found = 0.0 * at(dz, c, k)
    for l in range(n):
        found = found + _strain_slope(tree, theta, f, l, z) * at(dz, c + l, k)
    if touched:
        found = found + _strain(tree, dtheta, f, k, z)
    return found


@kernel
def pull_flexible_strain(tree, theta, f, k, hat, z, z_out, theta_out):
    """Add to z (n, p) and theta the adjoint ``hat`` of the strain energy."""
    n, c, o = modes_of(tree, f)
    for l in range(n):
        add_to(z_out, c + l, k, _strain_slope(tree, theta, f, l, z) * hat)
        add_to(theta_out, mode_row(o, n, KSIGMA) + l, k, z[c + l] * hat)
        for j in range(n):
            add_to(theta_out, pair_row(o, n, j, KE) + l, k, 0.5 * z[c + l] * z[c + j] * hat)


@inlined
def _strain(tree, numbers, f, k, z):
    """Strain energy by numbers (len(theta), p), column or columns k."""
    n, c, o = modes_of(tree, f)
    found = 0.0 * at(numbers, o, k)
    for l in range(n):
        row = at(numbers, mode_row(o, n, KSIGMA) + l, k)
        for j in range(n):
            row = row + 0.5 * z[c + j] * at(numbers, pair_row(o, n, j, KE) + l, k)
        found = found + z[c + l] * row
    return found


@inlined
def _strain_slope(tree, theta, f, l, z):
    """Derivative of the strain energy by q_l."""
    n, c, o = modes_of(tree, f)
    found = theta[mode_row(o, n, KSIGMA) + l]
    for j in range(n):
        found = found + 0.5 * z[c + j] * (theta[pair_row(o, n, j, KE) + l] + theta[pair_row(o, n, l, KE) + j])
    return found


@kernel
def flexible_power_lost(tree, theta, f, zd):
    """Power of the damping of flexible body f, - q' . De q'."""
    n, c, o = modes_of(tree, f)
    found = 0.0 * theta[o]
    for l in range(n):
        for j in range(n):
            found = found - zd[c + l] * zd[c + j] * theta[pair_row(o, n, j, DE) + l]
    return found
