"""Inertia and elastic forces of a flexible body, in the axes of its frame and about that frame's origin.

With mc = mdCM(q), and a the acceleration of the origin less gravity, w and alpha those of the frame,

    force  = m a + alpha x mc + Ct^T q'' + 2 w x Ct^T q' + w x (w x mc),
    moment = mc x a + J alpha + Cr^T q'' + Gr(q') w + w x J w,
    row l  = Ct_l . a + Cr_l . alpha + Me_l q'' + Ge_l(q') . w + w . Oe_l w + ksigma_l + Ke_l q + De_l q'.

With G_l half the derivative of J by q_l, Gr(q') w is the sum of q'_l (2 G_l w - Cr_l x w), Ge_l(q') twice that of q'_j
Cr1_jl, and Oe_l is -G_l; what a body deviates by is added by ``flexible_energy``. Derivation:
docs/theory/flexible_bodies.md, sections 1 and 2. Cost O(n^2), eight modes at a time. Below, ``turning`` is (w, alpha,
a), and ``motion`` (q, q', q'').
"""

from mbsim_cli.kernels.algebra.spatial import (
    add6,
    axpy_six,
    dot_six,
    less_tilde,
    pair_six,
    products,
    scale_six,
    store_rows,
)
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    add3_to,
    axpy3,
    column9,
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
    unrotate,
)
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, put, width
from mbsim_cli.kernels.elements import flexible_energy
from mbsim_cli.kernels.elements.flexible_work import (
    BY_Q,
    BY_RATE,
    BY_SPEED,
    CR,
    CT,
    GR,
    ROW,
    SQUARE,
    G,
    H,
    J,
    M,
    P,
    X,
    add3_along,
    add6_along,
    along1,
    along3,
    along6,
    mode3,
    mode6,
    mode_row,
    modes_of,
    pair_row,
    put6,
    rows6,
)
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.standard_data import CR0, CR1, DE, J0, J1, J2, KE, KSIGMA, MASS, MDCM, ME
from mbsim_cli.model.standard_data import CT as CT0


@kernel
def flexible_force(tree, theta, f, turning, motion, el, stiff, G_out):
    """(moment, force) of body f, without ``stiff`` of inertia alone; adds elastic rows to G_out (n,); fills ``el``."""
    (w, alpha, a), zdd = turning, motion.zdd
    n, c, _ = modes_of(tree, f)
    _bend(tree, theta, f, turning, motion, el, stiff)
    frame = el.frame[f]
    turned, moved = load3(frame, SQUARE), load3(frame, SQUARE + 3)  # and by q''
    for l in range(n):
        G_out[c + l] += el.now[f, ROW, l]
        turned = axpy3(zdd[c + l], rows3(el.now, f, CR, l), turned)
        moved = axpy3(zdd[c + l], rows3(el.now, f, CT, l), moved)
    gyral, moving = rotate(load9(frame, GR), w), load3(frame, P)
    return inertia_wrench(frame[M], load3(frame, H), load6(frame, J), gyral, moving, turned, moved, w, alpha, a)


@kernel
def flexible_shape(tree, theta, f, motion, el):
    """Leave in ``el`` the numbers of the mass matrix of flexible body f, which do not depend on rates."""
    still = scale3(0.0, load3(theta, tree.block[f] + MDCM))
    _bend(tree, theta, f, (still, still, still), motion, el, False)


@inlined
def inertia_wrench(m, h, inertia, gyral, moving, turned, moved, w, alpha, a):
    """(moment, force) by mdCM h, Gr(q') w, Ct^T q', Cr^T q'' and Ct^T q''."""
    force = axpy3(m, a, add3(moved, cross3(alpha, h)))
    force = add3(force, cross3(w, add3(scale3(2.0, moving), cross3(w, h))))
    moment = add3(turned, add3(cross3(h, a), symmetric_apply(inertia, alpha)))
    return add3(moment, add3(gyral, cross3(w, symmetric_apply(inertia, w)))), force


@inlined
def _bend(tree, theta, f, turning, motion, el, stiff):
    """Fill the rows of the modes, then the numbers of the frame."""
    n, _, _ = modes_of(tree, f)
    for g in range(0, n, width(el.now)):
        k = block(el.now, g)
        ct, cr, half, x, e = _mode(tree, theta, f, g, 0, turning, motion, stiff)
        put6(el.now, f, G, k, half)
        put3(el.now, f, CR, k, cr)
        put3(el.now, f, CT, k, ct)
        put3(el.now, f, X, k, x)
        put(el.now, f, ROW, k, e)
    if tree.deviation[f] != NONE:
        flexible_energy.deviate_modes(tree, theta, f, turning, motion, el)
    _sum_modes(tree, theta, f, motion.z, motion.zd, el)
    if tree.deviation[f] != NONE:
        flexible_energy.deviate_frame(tree, theta, f, motion.z, motion.zd, el)


@inlined
def _mode(tree, numbers, f, l, k, turning, motion, stiff):
    """Ct, Cr, G, the sum of q'_j Cr1_j and the elastic row: of mode l in directions k, or of modes from l on."""
    (w, alpha, a), z, zd, zdd = turning, motion.z, motion.zd, motion.zdd
    n, c, o = modes_of(tree, f)
    elastic = 1.0 if stiff else 0.0
    e = elastic * along1(numbers, mode_row(o, n, KSIGMA) + l, k)
    ct, cr = along3(numbers, mode_row(o, n, CT0) + l, n, k), along3(numbers, mode_row(o, n, CR0) + l, n, k)
    half, x = scale_six(0.5, along6(numbers, mode_row(o, n, J1) + l, n, k)), scale3(0.0, cr)
    for j in range(n):
        p = pair_row(o, n, j, 0) + l
        cr1 = along3(numbers, p + n * CR1, n, k)
        half = axpy_six(z[c + j], along6(numbers, p + n * J2, n, k), half)
        cr, x = axpy3(z[c + j], cr1, cr), axpy3(zd[c + j], cr1, x)
        e = e + zdd[c + j] * along1(numbers, p + n * ME, k)
        e = e + elastic * z[c + j] * along1(numbers, p + n * KE, k)
        e = e + elastic * zd[c + j] * along1(numbers, p + n * DE, k)
    e = e + dot3(a, ct) + dot3(alpha, cr) + 2.0 * dot3(w, x) - dot_six(half, products(w))
    return ct, cr, half, x, e


@inlined
def _sum_modes(tree, theta, f, z, zd, el):
    """Fill the numbers of the frame."""
    n, c, o = modes_of(tree, f)
    h, inertia = load3(theta, o + MDCM), load6(theta, o + J0)
    p, first = mode_row(o, n, CT0), mode_row(o, n, J1)
    rate, turned, moved = scale_six(0.0, inertia), scale3(0.0, h), scale3(0.0, h)  # by q'
    for l in range(n):
        half = rows6(el.now, f, G, l)
        h = axpy3(z[c + l], mode3(theta, p + l, n), h)
        inertia = axpy_six(z[c + l], half, axpy_six(0.5 * z[c + l], mode6(theta, first + l, n), inertia))
        rate = axpy_six(2.0 * zd[c + l], half, rate)
        turned = axpy3(zd[c + l], rows3(el.now, f, CR, l), turned)
        moved = axpy3(zd[c + l], rows3(el.now, f, CT, l), moved)
    el.frame[f, M] = theta[o + MASS]
    for r in range(3):
        el.frame[f, H + r], el.frame[f, P + r] = h[r], moved[r]
    for r in range(6):
        el.frame[f, J + r] = inertia[r]
    gyral = less_tilde(rate, turned)
    for r in range(9):
        el.frame[f, GR + r] = gyral[r]


# What the wrench of a flexible body and its elastic rows take of accelerations. Needs ``flexible_force`` or
# ``flexible_shape`` at the same coordinates.


@inlined
def frame_inertia(el, f, alpha, a):
    """(moment, force) by the accelerations of body f's frame, in its axes."""
    frame = el.frame[f]
    h = load3(frame, H)
    return add3(cross3(h, a), symmetric_apply(load6(frame, J), alpha)), axpy3(frame[M], a, cross3(alpha, h))


@inlined
def couple_modes(tree, f, k, alpha, a, el, M_out):
    """Put in row and column k of M what elastic rows of body f take of its frame's accelerations by coordinate k."""
    n, c, _ = modes_of(tree, f)
    for l in range(n):
        own = dot3(rows3(el.now, f, CR, l), alpha) + dot3(rows3(el.now, f, CT, l), a)
        put(M_out, c + l, k, own)
        put(M_out, k, c + l, own)


@inlined
def put_modes(tree, theta, f, M_out):
    """Put in M what elastic rows of body f take of its elastic accelerations."""
    n, c, o = modes_of(tree, f)
    for j in range(n):
        p = pair_row(o, n, j, ME)
        for l in range(n):
            put(M_out, c + l, c + j, at(theta, p + l))


# Variations -----------------------------------------------------------------------------------------------------------
#
# Variation of the forces of a flexible body, as it sees them itself: with its motion in its own axes, and its numbers.
#
# The forces are linear in the numbers, so what those vary by is the force that their variations would take, in the
# formulas above with a direction, or eight, in the place of a mode.


@kernel
def flexible_slopes(tree, theta, f, turning, motion, el, stiff):
    """Put slopes by q, q' into ``el`` for tangent, variation, pull-back; needs ``flexible_force`` at the same state."""
    (w, alpha, a), zd, zdd = turning, motion.zd, motion.zdd
    n, c, o = modes_of(tree, f)
    squares, elastic = products(w), 1.0 if stiff else 0.0
    for g in range(0, n, width(el.now)):
        k = block(el.now, g)
        half, cr = rows6(el.now, f, G, k), rows3(el.now, f, CR, k)
        ct, x = rows3(el.now, f, CT, k), rows3(el.now, f, X, k)
        rate, turned = scale_six(0.0, half), scale3(0.0, cr)
        for j in range(n):
            p = pair_row(o, n, j, 0) + g
            cr1, j2 = along3(theta, p + n * CR1, n, 0), along6(theta, p + n * J2, n, 0)
            rate, turned = axpy_six(zd[c + j], j2, rate), axpy3(zdd[c + j], cr1, turned)
            Ke, De = along1(theta, p + n * KE, 0), along1(theta, p + n * DE, 0)
            put(el.by_q, f, j, k, dot3(alpha, cr1) - dot_six(j2, squares) + elastic * Ke)
            put(el.by_rate, f, j, k, 2.0 * dot3(w, cr1) + elastic * De)
        bent, first = symmetric_apply(half, w), along3(theta, mode_row(o, n, CT0) + g, n, 0)
        moment = add3(cross3(first, a), scale3(2.0, add3(symmetric_apply(half, alpha), cross3(w, bent))))
        moment = add3(moment, sub3(scale3(2.0, symmetric_apply(rate, w)), turned))
        put3(el.change, f, BY_Q, k, add3(moment, cross3(x, w)))
        put3(el.change, f, BY_Q + 3, k, add3(cross3(alpha, first), cross3(w, cross3(w, first))))
        put3(el.change, f, BY_RATE, k, sub3(scale3(2.0, bent), cross3(cr, w)))
        put3(el.change, f, BY_RATE + 3, k, scale3(2.0, cross3(w, ct)))
        put3(el.change, f, BY_SPEED, k, scale3(2.0, sub3(x, bent)))
    if tree.deviation[f] != NONE:
        flexible_energy.deviate_slopes(tree, theta, f, turning, motion, el)


@inlined
def by_speed(frame, w, dw):
    """Change of (moment, force) with the angular velocity alone."""
    h, inertia = load3(frame, H), load6(frame, J)
    moment = add3(cross3(dw, symmetric_apply(inertia, w)), cross3(w, symmetric_apply(inertia, dw)))
    force = add3(cross3(dw, add3(scale3(2.0, load3(frame, P)), cross3(w, h))), cross3(w, cross3(dw, h)))
    return moment, force


@kernel
def flexible_tangent(tree, theta, f, beta, gamma, w, el, D_out):
    """Derivatives of moment, force and elastic rows (6 + n, 9 + n).

    Columns: by alpha, a, w, and by x_l where q_l varies by gamma x_l, its rate by beta x_l and its acceleration by x_l.
    Needs ``flexible_slopes``.
    """
    n, _, o = modes_of(tree, f)
    frame = el.frame[f]
    h, inertia, zero = load3(frame, H), load6(frame, J), 0.0 * frame[M]
    for axis in range(3):
        unit = column9((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), axis)
        moment, force = by_speed(frame, w, unit)
        store_rows(D_out, 0, axis, (symmetric_apply(inertia, unit), cross3(unit, h)))
        store_rows(D_out, 0, 3 + axis, (cross3(h, unit), scale3(frame[M], unit)))
        store_rows(D_out, 0, 6 + axis, (add3(column9(load9(frame, GR), axis), moment), force))
        for l in range(n):
            D_out[6 + l, axis] = el.now[f, CR + axis, l]
            D_out[6 + l, 3 + axis] = el.now[f, CT + axis, l]
            D_out[6 + l, 6 + axis] = el.change[f, BY_SPEED + axis, l]
    for j in range(n):
        moment = axpy3(beta, rows3(el.change, f, BY_RATE, j), rows3(el.now, f, CR, j))
        force = axpy3(beta, rows3(el.change, f, BY_RATE + 3, j), rows3(el.now, f, CT, j))
        moment = axpy3(gamma, rows3(el.change, f, BY_Q, j), moment)
        store_rows(D_out, 0, 9 + j, (moment, axpy3(gamma, rows3(el.change, f, BY_Q + 3, j), force)))
        for l in range(n):
            own = theta[pair_row(o, n, j, ME) + l] + zero
            D_out[6 + l, 9 + j] = own + beta * el.by_rate[f, j, l] + gamma * el.by_q[f, j, l]


@kernel
def vary_flexible(tree, theta, dtheta, touched, f, k, turning, motion, d_turning, change, el, stiff, dG_out):
    """(dmoment, dforce) in direction or directions k; adds the variation of the elastic rows to dG_out (n, p).

    ``touched``: whether dtheta has entries of this body. Needs ``flexible_slopes`` at the state.
    """
    w, (dw, dalpha, da) = turning[0], d_turning
    dz, dzd, dzdd = change.z, change.zd, change.zdd
    n, c, o = modes_of(tree, f)
    frame = el.frame[f]
    h, inertia = load3(frame, H), load6(frame, J)
    moment, force = by_speed(frame, w, dw)
    moment = add3(add3(moment, rotate(load9(frame, GR), dw)), add3(cross3(h, da), symmetric_apply(inertia, dalpha)))
    force = axpy3(frame[M], da, add3(force, cross3(dalpha, h)))
    for l in range(n):
        x, rate, second = at(dz, c + l, k), at(dzd, c + l, k), at(dzdd, c + l, k)
        moment = axpy3(x, rows3(el.change, f, BY_Q, l), axpy3(rate, rows3(el.change, f, BY_RATE, l), moment))
        force = axpy3(x, rows3(el.change, f, BY_Q + 3, l), axpy3(rate, rows3(el.change, f, BY_RATE + 3, l), force))
        moment = axpy3(second, rows3(el.now, f, CR, l), moment)
        force = axpy3(second, rows3(el.now, f, CT, l), force)
        e = dot3(rows3(el.now, f, CR, l), dalpha) + dot3(rows3(el.now, f, CT, l), da)
        e = e + dot3(rows3(el.change, f, BY_SPEED, l), dw)
        for j in range(n):
            e = e + el.by_q[f, j, l] * at(dz, c + j, k) + el.by_rate[f, j, l] * at(dzd, c + j, k)
            e = e + theta[pair_row(o, n, j, ME) + l] * at(dzdd, c + j, k)
        add_to(dG_out, c + l, k, e)
    if not touched:
        return moment, force
    own = vary_first_block(tree, dtheta, f, k, turning, motion, stiff, dG_out)
    if tree.deviation[f] != NONE:
        own = add6(own, flexible_energy.vary_deviations(tree, dtheta, f, k, turning, motion, dG_out))
    return add6((moment, force), own)


@inlined
def vary_first_block(tree, dtheta, f, k, given, motion, stiff, dG_out):
    """(dmoment, dforce) that the numbers of the first block add in directions k; ``given`` holds w, alpha and a."""
    (w, alpha, a), z, zd, zdd = given, motion.z, motion.zd, motion.zdd
    n, c, o = modes_of(tree, f)
    h, inertia = load3_of(dtheta, o + MDCM, k), along6(dtheta, o + J0, 1, k)
    rate, turning = scale_six(0.0, inertia), scale3(0.0, h)  # by q', and by q''
    moving, turned, moved = turning, turning, turning
    for l in range(n):
        ct, cr, half, _, e = _mode(tree, dtheta, f, l, k, given, motion, stiff)
        first = scale_six(0.5, along6(dtheta, mode_row(o, n, J1) + l, n, k))
        add_to(dG_out, c + l, k, e)
        h = axpy3(z[c + l], ct, h)
        inertia = axpy_six(z[c + l], first, axpy_six(z[c + l], half, inertia))
        rate = axpy_six(2.0 * zd[c + l], half, rate)
        turning, turned = axpy3(zd[c + l], cr, turning), axpy3(zdd[c + l], cr, turned)
        moving, moved = axpy3(zd[c + l], ct, moving), axpy3(zdd[c + l], ct, moved)
    gyral = rotate(less_tilde(rate, turning), w)
    return inertia_wrench(at(dtheta, o + MASS, k), h, inertia, gyral, moving, turned, moved, w, alpha, a)


# Pull-backs -----------------------------------------------------------------------------------------------------------


@kernel
def pull_flexible(tree, theta, f, k, U, mu, turning, motion, el, stiff, adj):
    """Adjoints of w, alpha and a from a virtual motion U (turn, shift) of the frame and mu (n, p) of coordinates.

    Adds to z, z', z'' and theta of ``adj``. Needs ``flexible_slopes`` at the state.
    """
    n, c, o = modes_of(tree, f)
    of_w, of_alpha, of_a = _of_frame(el.frame[f], turning[0], U)
    for l in range(n):
        row = at(mu, c + l, k)
        of_w = axpy3(row, rows3(el.change, f, BY_SPEED, l), of_w)
        of_alpha, of_a = axpy3(row, rows3(el.now, f, CR, l), of_alpha), axpy3(row, rows3(el.now, f, CT, l), of_a)
        x, rate = _power(el.change, f, BY_Q, l, U), _power(el.change, f, BY_RATE, l, U)
        second = _power(el.now, f, CR, l, U)  # Ct follows Cr
        for j in range(n):
            other = at(mu, c + j, k)
            x, rate = x + el.by_q[f, l, j] * other, rate + el.by_rate[f, l, j] * other
            second = second + theta[pair_row(o, n, l, ME) + j] * other
        add_to(adj.z, c + l, k, x)
        add_to(adj.zd, c + l, k, rate)
        add_to(adj.zdd, c + l, k, second)
    _pull_first_block(tree, f, k, U, mu, turning, motion, stiff, adj.theta)
    if tree.deviation[f] != NONE:
        flexible_energy.pull_deviations(tree, f, k, U, mu, turning, motion, adj.theta)
    return of_w, of_alpha, of_a


@inlined
def _of_frame(frame, w, U):
    """Adjoints of w, alpha and a by what the frame's motion takes of moment and force."""
    turn, shift = U
    h, inertia = load3(frame, H), load6(frame, J)
    turned, shifted = cross3(turn, w), cross3(shift, w)
    of_w = add3(unrotate(load9(frame, GR), turn), symmetric_apply(inertia, turned))
    of_w = add3(of_w, cross3(symmetric_apply(inertia, w), turn))
    of_w = add3(of_w, cross3(add3(scale3(2.0, load3(frame, P)), cross3(w, h)), shift))
    of_w = add3(of_w, cross3(h, shifted))
    of_alpha = add3(cross3(h, shift), symmetric_apply(inertia, turn))
    return of_w, of_alpha, axpy3(frame[M], shift, cross3(turn, h))


@inlined
def _power(array, f, r, l, U):
    return dot3(rows3(array, f, r, l), U[0]) + dot3(rows3(array, f, r + 3, l), U[1])


@inlined
def _pull_first_block(tree, f, k, U, mu, turning, motion, stiff, theta_out):
    """Add to the numbers of the first block."""
    (w, alpha, a), z, zd, zdd = turning, motion.z, motion.zd, motion.zdd
    n, c, o = modes_of(tree, f)
    turn, shift = U
    turned, shifted = cross3(turn, w), cross3(shift, w)
    squares, elastic = products(w), 1.0 if stiff else 0.0
    of_h = add3(cross3(shift, alpha), add3(cross3(shifted, w), cross3(a, turn)))
    of_inertia = axpy_six(1.0, pair_six(turn, alpha), pair_six(turned, w))
    of_rate = scale_six(2.0, pair_six(turn, w))
    add_to(theta_out, o + MASS, k, dot3(shift, a))
    add3_to(theta_out, o + MDCM, k, of_h)
    add6_along(theta_out, o + J0, 1, k, of_inertia)
    for l in range(n):
        row = at(mu, c + l, k)
        ct = axpy3(z[c + l], of_h, axpy3(2.0 * zd[c + l], shifted, axpy3(zdd[c + l], shift, scale3(row, a))))
        cr = axpy3(zd[c + l], turned, axpy3(zdd[c + l], turn, scale3(row, alpha)))
        bent = scale_six(z[c + l], of_inertia)
        half = axpy_six(-row, squares, axpy_six(zd[c + l], of_rate, bent))
        x = scale3(2.0 * row, w)
        add_to(theta_out, mode_row(o, n, KSIGMA) + l, k, elastic * row)
        add3_along(theta_out, mode_row(o, n, CT0) + l, n, k, ct)
        add3_along(theta_out, mode_row(o, n, CR0) + l, n, k, cr)
        add6_along(theta_out, mode_row(o, n, J1) + l, n, k, scale_six(0.5, axpy_six(1.0, bent, half)))
        for j in range(n):
            p = pair_row(o, n, j, 0) + l
            add6_along(theta_out, p + n * J2, n, k, scale_six(z[c + j], half))
            add3_along(theta_out, p + n * CR1, n, k, axpy3(z[c + j], cr, scale3(zd[c + j], x)))
            add_to(theta_out, p + n * ME, k, zdd[c + j] * row)
            add_to(theta_out, p + n * KE, k, elastic * z[c + j] * row)
            add_to(theta_out, p + n * DE, k, elastic * zd[c + j] * row)
