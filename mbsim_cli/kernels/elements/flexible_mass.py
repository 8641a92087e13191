"""Inertia of a flexible body: what its wrench and its elastic rows take of accelerations; see ``flexible``.

Needs ``flexible_force`` or ``flexible_shape`` at the same coordinates.
"""

from mbsim_cli.kernels.algebra.rot3 import symmetric_apply
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, dot3, load3
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import at, put
from mbsim_cli.kernels.elements.flexible_work import CR, CT, H, J, M, modes_of, pair_row, rows3, six_of
from mbsim_cli.model.flexible import ME


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
