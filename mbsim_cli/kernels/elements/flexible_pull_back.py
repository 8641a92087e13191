"""Pull-back of the forces of a flexible body: the transpose of ``flexible_variation``."""

from mbsim_cli.kernels.algebra.rot3 import load9, symmetric_apply, unrotate
from mbsim_cli.kernels.algebra.symmetric import axpy_six, less_six, pair_six, products, scale_six
from mbsim_cli.kernels.algebra.vec3 import add3, add3_to, axpy3, cross3, dot3, load3, scale3
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at
from mbsim_cli.kernels.elements.flexible_deviations import pull_deviations
from mbsim_cli.kernels.elements.flexible_work import (
    BY_Q,
    BY_RATE,
    BY_SPEED,
    CR,
    CT,
    GR,
    H,
    J,
    M,
    P,
    add3_along,
    add6_along,
    mode_row,
    modes_of,
    pair_row,
    rows3,
    six_of,
)
from mbsim_cli.model.flexible import CR0, CR1, DE, J0, J1, J2, KE, KSIGMA, MASS, MDCM, ME
from mbsim_cli.model.flexible import CT as CT0
from mbsim_cli.model.layout import NONE


@kernel
def pull_flexible(tree, theta, f, k, U, mu, w, alpha, a, z, zd, zdd, el, stiff, cov):
    """Covectors of w, alpha and a from a virtual motion U (turn, shift) of the frame and mu (n, p) of coordinates.

    Adds to z, z', z'' and theta of ``cov``. Needs ``flexible_slopes`` at the state.
    """
    n, c, o = modes_of(tree, f)
    of_w, of_alpha, of_a = _of_frame(el.frame[f], w, U)
    for l in range(n):
        row = at(mu, c + l, k)
        of_w = axpy3(row, rows3(el.change, f, BY_SPEED, l), of_w)
        of_alpha, of_a = axpy3(row, rows3(el.now, f, CR, l), of_alpha), axpy3(row, rows3(el.now, f, CT, l), of_a)
        x, rate, second = _power(el.change, f, BY_Q, l, U), _power(el.change, f, BY_RATE, l, U), _carried(el, f, l, U)
        for j in range(n):
            other = at(mu, c + j, k)
            x, rate = x + el.by_q[f, l, j] * other, rate + el.by_rate[f, l, j] * other
            second = second + theta[pair_row(o, n, l, ME) + j] * other
        add_to(cov.z, c + l, k, x)
        add_to(cov.zd, c + l, k, rate)
        add_to(cov.zdd, c + l, k, second)
    _pull_numbers(tree, f, k, U, mu, w, alpha, a, z, zd, zdd, stiff, cov.theta)
    if tree.deviation[f] != NONE:
        pull_deviations(tree, f, k, U, mu, w, alpha, a, z, zd, zdd, cov.theta)
    return of_w, of_alpha, of_a


@inlined
def _of_frame(frame, w, U):
    """Covectors of w, alpha and a by what the frame's motion takes of moment and force."""
    turn, shift = U
    h, inertia = load3(frame, H), six_of(frame, J)
    turned, shifted = cross3(turn, w), cross3(shift, w)
    of_w = add3(unrotate(load9(frame, GR), turn), symmetric_apply(inertia, turned))
    of_w = add3(of_w, cross3(symmetric_apply(inertia, w), turn))
    of_w = add3(of_w, cross3(add3(scale3(2.0, load3(frame, P)), cross3(w, h)), shift))
    of_w = add3(of_w, cross3(h, shifted))
    of_alpha = add3(cross3(h, shift), symmetric_apply(inertia, turn))
    return of_w, of_alpha, axpy3(frame[M], shift, cross3(turn, h))


@inlined
def _power(change, f, r, l, U):
    return dot3(rows3(change, f, r, l), U[0]) + dot3(rows3(change, f, r + 3, l), U[1])


@inlined
def _carried(el, f, l, U):
    return dot3(rows3(el.now, f, CR, l), U[0]) + dot3(rows3(el.now, f, CT, l), U[1])


@inlined
def _pull_numbers(tree, f, k, U, mu, w, alpha, a, z, zd, zdd, stiff, theta_out):
    """Add to the numbers of the first block."""
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
        half = less_six(axpy_six(zd[c + l], of_rate, bent), scale_six(row, squares))
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
