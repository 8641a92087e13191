"""Inertia and elastic forces of a flexible body, in the axes of its frame and about that frame's origin.

With mc = mdCM(q), and a the acceleration of the origin less gravity, w and alpha those of the frame,

    force  = m a + alpha x mc + Ct^T q'' + 2 w x Ct^T q' + w x (w x mc),
    moment = mc x a + J alpha + Cr^T q'' + Gr(q') w + w x J w,
    row l  = Ct_l . a + Cr_l . alpha + Me_l q'' + Ge_l(q') . w + w . Oe_l w + ksigma_l + Ke_l q + De_l q'.

With G_l half the derivative of J by q_l, Gr(q') w is the sum of q'_l (2 G_l w - Cr_l x w), Ge_l(q') twice that of q'_j
Cr1_jl, and Oe_l is -G_l; what a body deviates by is added by ``flexible_deviations``. Derivation:
docs/theory/flexible_bodies.md, sections 1 and 2. Cost O(n^2), eight modes at a time.
"""

from mbsim_cli.kernels.algebra.rot3 import load9, rotate, symmetric_apply
from mbsim_cli.kernels.algebra.symmetric import axpy_six, dot_six, less_tilde, products, scale_six
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, dot3, load3, scale3
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import at, block, put, width
from mbsim_cli.kernels.elements.flexible_deviations import deviate_frame, deviate_modes
from mbsim_cli.kernels.elements.flexible_work import (
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
    lanes1,
    lanes3,
    lanes6,
    mode3,
    mode6,
    mode_row,
    modes_of,
    pair_row,
    put3,
    put6,
    rows3,
    rows6,
    six_of,
)
from mbsim_cli.model.flexible import CR0, CR1, DE, J0, J1, J2, KE, KSIGMA, MASS, MDCM, ME
from mbsim_cli.model.flexible import CT as CT0
from mbsim_cli.model.layout import NONE


@kernel
def flexible_force(tree, theta, f, w, alpha, a, z, zd, zdd, el, stiff, G_out):
    """(moment, force) of flexible body f; adds its elastic rows to G_out (n,), and leaves what they took in ``el``.

    Without ``stiff`` those of inertia alone.
    """
    n, c, _ = modes_of(tree, f)
    _bend(tree, theta, f, w, alpha, a, z, zd, zdd, el, stiff)
    if tree.deviation[f] != NONE:
        deviate_modes(tree, theta, f, w, alpha, a, z, zd, el)
    _sum_modes(tree, theta, f, z, zd, el)
    if tree.deviation[f] != NONE:
        deviate_frame(tree, theta, f, z, zd, el)
    frame = el.frame[f]
    turned, moved = load3(frame, SQUARE), load3(frame, SQUARE + 3)  # and by q''
    for l in range(n):
        G_out[c + l] += el.now[f, ROW, l]
        turned = axpy3(zdd[c + l], rows3(el.now, f, CR, l), turned)
        moved = axpy3(zdd[c + l], rows3(el.now, f, CT, l), moved)
    gyral, moving = rotate(load9(frame, GR), w), load3(frame, P)
    return wrench_of(frame[M], load3(frame, H), six_of(frame, J), gyral, moving, turned, moved, w, alpha, a)


@kernel
def flexible_shape(tree, theta, f, z, el):
    """Leave in ``el`` what the mass matrix of flexible body f reads; what depends on rates is of no motion."""
    still = scale3(0.0, load3(theta, tree.block[f] + MDCM))
    _bend(tree, theta, f, still, still, still, z, z, z, el, False)
    if tree.deviation[f] != NONE:
        deviate_modes(tree, theta, f, still, still, still, z, z, el)
    _sum_modes(tree, theta, f, z, z, el)
    if tree.deviation[f] != NONE:
        deviate_frame(tree, theta, f, z, z, el)


@inlined
def wrench_of(m, h, inertia, gyral, moving, turned, moved, w, alpha, a):
    """(moment, force) by mdCM h, Gr(q') w, Ct^T q', Cr^T q'' and Ct^T q''."""
    force = axpy3(m, a, add3(moved, cross3(alpha, h)))
    force = add3(force, cross3(w, add3(scale3(2.0, moving), cross3(w, h))))
    moment = add3(turned, add3(cross3(h, a), symmetric_apply(inertia, alpha)))
    return add3(moment, add3(gyral, cross3(w, symmetric_apply(inertia, w)))), force


@inlined
def _bend(tree, theta, f, w, alpha, a, z, zd, zdd, el, stiff):
    """Fill the rows of the modes."""
    n, c, o = modes_of(tree, f)
    squares, elastic = products(w), 1.0 if stiff else 0.0
    for g in range(0, n, width(el.now)):
        k = block(el.now, g)
        e = elastic * lanes1(theta, mode_row(o, n, KSIGMA) + g)
        ct, cr = lanes3(theta, mode_row(o, n, CT0) + g, n), lanes3(theta, mode_row(o, n, CR0) + g, n)
        half, x = scale_six(0.5, lanes6(theta, mode_row(o, n, J1) + g, n)), scale3(0.0, cr)
        for j in range(n):
            cr1 = lanes3(theta, pair_row(o, n, j, CR1) + g, n)
            half = axpy_six(z[c + j], lanes6(theta, pair_row(o, n, j, J2) + g, n), half)
            cr, x = axpy3(z[c + j], cr1, cr), axpy3(zd[c + j], cr1, x)
            e = e + zdd[c + j] * lanes1(theta, pair_row(o, n, j, ME) + g)
            e = e + elastic * z[c + j] * lanes1(theta, pair_row(o, n, j, KE) + g)
            e = e + elastic * zd[c + j] * lanes1(theta, pair_row(o, n, j, DE) + g)
        e = e + dot3(a, ct) + dot3(alpha, cr) + 2.0 * dot3(w, x) - dot_six(half, squares)
        put6(el.now, f, G, k, half)
        put3(el.now, f, CR, k, cr)
        put3(el.now, f, CT, k, ct)
        put3(el.now, f, X, k, x)
        put(el.now, f, ROW, k, e)


@inlined
def _sum_modes(tree, theta, f, z, zd, el):
    """Fill the numbers of the frame."""
    n, c, o = modes_of(tree, f)
    h, inertia = load3(theta, o + MDCM), six_of(theta, o + J0)
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


# Inertia of a flexible body: what its wrench and its elastic rows take of accelerations; see ``flexible``.
#
# Needs ``flexible_force`` or ``flexible_shape`` at the same coordinates.


@inlined
def frame_inertia(el, f, alpha, a):
    """(moment, force) by the accelerations of body f's frame, in its axes."""
    frame = el.frame[f]
    h = load3(frame, H)
    return add3(cross3(h, a), symmetric_apply(six_of(frame, J), alpha)), axpy3(frame[M], a, cross3(alpha, h))


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
