"""Variation of the forces of a flexible body, as it sees them itself: with its motion in its own axes, and its numbers.

The forces are linear in the numbers, so what those vary by is the force that their variations would take, in the
formulas of ``flexible`` with a direction, or eight, in the place of a mode.
"""

from mbsim_cli.kernels.algebra.rot3 import column9, load9, rotate, symmetric_apply
from mbsim_cli.kernels.algebra.spatial import add6
from mbsim_cli.kernels.algebra.symmetric import axpy_six, dot_six, less_tilde, products, scale_six
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, dot3, load3, load3_of, scale3, sub3
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, put, width
from mbsim_cli.kernels.elements.flexible import wrench_of
from mbsim_cli.kernels.elements.flexible_deviations import deviate_slopes, vary_deviations
from mbsim_cli.kernels.elements.flexible_work import (
    BY_Q,
    BY_RATE,
    BY_SPEED,
    CR,
    CT,
    GR,
    G,
    H,
    J,
    M,
    P,
    X,
    along3,
    along6,
    lanes1,
    lanes3,
    lanes6,
    mode_row,
    modes_of,
    pair_row,
    put3,
    rows3,
    rows6,
    six_of,
)
from mbsim_cli.model.flexible import CR0, CR1, DE, J0, J1, J2, KE, KSIGMA, MASS, MDCM, ME
from mbsim_cli.model.flexible import CT as CT0
from mbsim_cli.model.layout import NONE

# Derivatives of the forces of a flexible body by its motion; see ``flexible`` for what is differentiated.


@kernel
def flexible_slopes(tree, theta, f, w, alpha, a, zd, zdd, el, stiff):
    """Leave in ``el`` the derivatives by q and q' that tangent, variation and pull-back read.

    Needs ``flexible_force`` at the same state.
    """
    n, c, o = modes_of(tree, f)
    squares, elastic = products(w), 1.0 if stiff else 0.0
    for g in range(0, n, width(el.now)):
        k = block(el.now, g)
        half, cr = rows6(el.now, f, G, k), rows3(el.now, f, CR, k)
        ct, x = rows3(el.now, f, CT, k), rows3(el.now, f, X, k)
        rate, turned = scale_six(0.0, half), scale3(0.0, cr)
        for j in range(n):
            cr1, j2 = lanes3(theta, pair_row(o, n, j, CR1) + g, n), lanes6(theta, pair_row(o, n, j, J2) + g, n)
            rate, turned = axpy_six(zd[c + j], j2, rate), axpy3(zdd[c + j], cr1, turned)
            Ke, De = lanes1(theta, pair_row(o, n, j, KE) + g), lanes1(theta, pair_row(o, n, j, DE) + g)
            put(el.by_q, f, j, k, dot3(alpha, cr1) - dot_six(j2, squares) + elastic * Ke)
            put(el.by_rate, f, j, k, 2.0 * dot3(w, cr1) + elastic * De)
        bent, first = symmetric_apply(half, w), lanes3(theta, mode_row(o, n, CT0) + g, n)
        moment = add3(cross3(first, a), scale3(2.0, add3(symmetric_apply(half, alpha), cross3(w, bent))))
        moment = add3(moment, sub3(scale3(2.0, symmetric_apply(rate, w)), turned))
        put3(el.change, f, BY_Q, k, add3(moment, cross3(x, w)))
        put3(el.change, f, BY_Q + 3, k, add3(cross3(alpha, first), cross3(w, cross3(w, first))))
        put3(el.change, f, BY_RATE, k, sub3(scale3(2.0, bent), cross3(cr, w)))
        put3(el.change, f, BY_RATE + 3, k, scale3(2.0, cross3(w, ct)))
        put3(el.change, f, BY_SPEED, k, scale3(2.0, sub3(x, bent)))
    if tree.deviation[f] != NONE:
        deviate_slopes(tree, theta, f, w, alpha, a, zd, zdd, el)


@inlined
def by_speed(frame, w, dw):
    """Change of (moment, force) with the angular velocity alone."""
    h, inertia = load3(frame, H), six_of(frame, J)
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
    h, inertia, zero = load3(frame, H), six_of(frame, J), 0.0 * frame[M]
    for axis in range(3):
        unit = column9((1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), axis)
        moment, force = by_speed(frame, w, unit)
        _put_column(D_out, axis, symmetric_apply(inertia, unit), cross3(unit, h))
        _put_column(D_out, 3 + axis, cross3(h, unit), scale3(frame[M], unit))
        _put_column(D_out, 6 + axis, add3(column9(load9(frame, GR), axis), moment), force)
        for l in range(n):
            D_out[6 + l, axis] = el.now[f, CR + axis, l]
            D_out[6 + l, 3 + axis] = el.now[f, CT + axis, l]
            D_out[6 + l, 6 + axis] = el.change[f, BY_SPEED + axis, l]
    for j in range(n):
        moment = axpy3(beta, rows3(el.change, f, BY_RATE, j), rows3(el.now, f, CR, j))
        force = axpy3(beta, rows3(el.change, f, BY_RATE + 3, j), rows3(el.now, f, CT, j))
        moment = axpy3(gamma, rows3(el.change, f, BY_Q, j), moment)
        _put_column(D_out, 9 + j, moment, axpy3(gamma, rows3(el.change, f, BY_Q + 3, j), force))
        for l in range(n):
            own = theta[pair_row(o, n, j, ME) + l] + zero
            D_out[6 + l, 9 + j] = own + beta * el.by_rate[f, j, l] + gamma * el.by_q[f, j, l]


@inlined
def _put_column(D_out, column, moment, force):
    for r in range(3):
        D_out[r, column], D_out[3 + r, column] = moment[r], force[r]


@kernel
def vary_flexible(
    tree, theta, dtheta, touched, f, k, w, alpha, a, z, zd, zdd, dw, dalpha, da, dz, dzd, dzdd, el, stiff, dG_out
):
    """(dmoment, dforce) in direction or directions k; adds the variation of the elastic rows to dG_out (n, p).

    ``touched``: whether dtheta has entries of this body. Needs ``flexible_slopes`` at the state.
    """
    n, c, o = modes_of(tree, f)
    frame = el.frame[f]
    h, inertia = load3(frame, H), six_of(frame, J)
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
    own = vary_numbers(tree, dtheta, f, k, w, alpha, a, z, zd, zdd, stiff, dG_out)
    if tree.deviation[f] != NONE:
        own = add6(own, vary_deviations(tree, dtheta, f, k, w, alpha, a, z, zd, zdd, dG_out))
    return add6((moment, force), own)


@inlined
def vary_numbers(tree, dtheta, f, k, w, alpha, a, z, zd, zdd, stiff, dG_out):
    """What the numbers of the first block add in directions k."""
    n, c, o = modes_of(tree, f)
    h, inertia = load3_of(dtheta, o + MDCM, k), along6(dtheta, o + J0, 1, k)
    rate, squares, elastic = scale_six(0.0, inertia), products(w), 1.0 if stiff else 0.0
    turning = scale3(0.0, h)  # by q', and by q''
    moving, turned, moved = turning, turning, turning
    for l in range(n):
        ct, cr = along3(dtheta, mode_row(o, n, CT0) + l, n, k), along3(dtheta, mode_row(o, n, CR0) + l, n, k)
        first = scale_six(0.5, along6(dtheta, mode_row(o, n, J1) + l, n, k))
        half, x, e = first, scale3(0.0, ct), elastic * at(dtheta, mode_row(o, n, KSIGMA) + l, k)
        for j in range(n):
            p = pair_row(o, n, j, 0) + l
            cr1 = along3(dtheta, p + n * CR1, n, k)
            half = axpy_six(z[c + j], along6(dtheta, p + n * J2, n, k), half)
            cr, x = axpy3(z[c + j], cr1, cr), axpy3(zd[c + j], cr1, x)
            e = e + zdd[c + j] * at(dtheta, p + n * ME, k)
            e = e + elastic * (z[c + j] * at(dtheta, p + n * KE, k) + zd[c + j] * at(dtheta, p + n * DE, k))
        e = e + dot3(a, ct) + dot3(alpha, cr) + 2.0 * dot3(w, x) - dot_six(half, squares)
        add_to(dG_out, c + l, k, e)
        h = axpy3(z[c + l], ct, h)
        inertia = axpy_six(z[c + l], first, axpy_six(z[c + l], half, inertia))
        rate = axpy_six(2.0 * zd[c + l], half, rate)
        turning, turned = axpy3(zd[c + l], cr, turning), axpy3(zdd[c + l], cr, turned)
        moving, moved = axpy3(zd[c + l], ct, moving), axpy3(zdd[c + l], ct, moved)
    gyral = rotate(less_tilde(rate, turning), w)
    return wrench_of(at(dtheta, o + MASS, k), h, inertia, gyral, moving, turned, moved, w, alpha, a)
