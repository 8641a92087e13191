"""Rate matrices B: forces of a unit rate of twist, of single bodies and of subtrees; docs/theory/newton_matrix.md."""

from mbsim_cli.kernels.algebra.rot3 import rotate, row9
from mbsim_cli.kernels.algebra.spatial import motion_at, scale6
from mbsim_cli.kernels.algebra.vec3 import add3, cross3, dot3, row3, scale3
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import inertia_at
from mbsim_cli.kernels.algorithms.motion.kinematics import offset_to_parent
from mbsim_cli.kernels.compiler.jit import inlined


@inlined
def rate_matrix(kin, i):
    """Couple 2 (tr P 1 - P) (3 x 3 by rows), P the moments of x' x^T, and twice the momentum of body i."""
    m, h, J = inertia_at(kin.inertia, i)
    w, v = scale6(2.0, motion_at(kin.V, i))
    half = 0.5 * (J[0] + J[1] + J[2])
    # second moments x x^T of the mass, columns
    x = (half - J[0], -J[3], -J[4])
    y = (-J[3], half - J[1], -J[5])
    z = (-J[4], -J[5], half - J[2])
    a = add3(cross3(w, x), scale3(h[0], v))
    b = add3(cross3(w, y), scale3(h[1], v))
    c = add3(cross3(w, z), scale3(h[2], v))
    momentum = add3(scale3(m, v), cross3(w, h))
    couple = (b[1] + c[2], -b[0], -c[0], -a[1], a[0] + c[2], -c[1], -a[2], -b[2], a[0] + b[1])
    return couple, momentum


@inlined
def rate_apply(couple, momentum, w):
    """B (w, v): force of a unit rate of twist; only its angular part w counts."""
    return (rotate(couple, w), cross3(w, momentum))


@inlined
def rate_at(comp, i):
    """``rate_matrix`` in row i."""
    return row9(comp.rate, i), row3(comp.rate, i, 9)


@inlined
def own_rates(tree, kin, comp):
    """Leave in comp.rate (nb + 1, 12) the rate matrices of single bodies."""
    nb = tree.parent.size
    for k in range(12):
        comp.rate[nb, k] = 0.0
    for i in range(nb):
        couple, momentum = rate_matrix(kin, i)
        for k in range(9):
            comp.rate[i, k] = couple[k]
        for k in range(3):
            comp.rate[i, 9 + k] = momentum[k]


@inlined
def rate_to_parent(tree, kin, comp, i):
    """Couples of x' (x + d)^T, with d the shift of the reference point."""
    p = tree.parent[i]
    d = offset_to_parent(tree, kin, i)
    trace = dot3(row3(comp.rate, i, 9), d)
    for r in range(3):
        momentum = comp.rate[i, 9 + r]
        comp.rate[p, 9 + r] += momentum
        comp.rate[p, 4 * r] += trace
        for c in range(3):
            comp.rate[p, 3 * r + c] += comp.rate[i, 3 * r + c] - momentum * d[c]
