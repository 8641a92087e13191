"""Joint columns: how one coordinate moves the joint frame, and the columns of Euler parameters.

Translations and rotations give columns that are fixed in the frame they start from, so their derivatives
are Lie brackets and need no code of their own. Only Euler parameters have columns that change by
themselves; their local derivatives stand here. Source: paper 000, tables 5, 6, 11; docs/theory/kinematics.md.
"""

import numpy as np

from mbsim_cli.kernels.algebra.arrays import atan2
from mbsim_cli.kernels.algebra.vectors import axpy3, column9, inner4, norm2, rate_column, scale3
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import at
from mbsim_cli.kernels.elements.measures import vary_direction
from mbsim_cli.model.codes import Attitude, Column


@inlined
def is_translation(kind):
    """Whether the column translates."""
    return kind == Column.TRANSLATION_X or kind == Column.TRANSLATION_Y or kind == Column.TRANSLATION_Z


@inlined
def is_euler(kind):
    """Whether the column belongs to Euler parameters."""
    return kind == Column.EULER_0 or kind == Column.EULER_1 or kind == Column.EULER_2 or kind == Column.EULER_3


@inlined
def load4(z, c):
    """Four coordinates from c on."""
    return (z[c], z[c + 1], z[c + 2], z[c + 3])


@inlined
def load4_of(array, c, k):
    """Four coordinates from c on, in direction k."""
    return (at(array, c, k), at(array, c + 1, k), at(array, c + 2, k), at(array, c + 3, k))


@inlined
def euler_column(e, j):
    """Angular velocity per unit rate of e_k, in the parent-side joint frame: 2 E_k(e) / |e|^2."""
    return scale3(2.0 / norm2(e), rate_column(e, j))


@inlined
def euler_column_rate(e, de, j):
    """Derivative of ``euler_column`` in direction de."""
    n = norm2(e)
    return axpy3(2.0 / n, rate_column(de, j), scale3(-4.0 * inner4(e, de) / (n * n), rate_column(e, j)))


@inlined
def euler_column_second_rate(e, e1, e2, j):
    """Second time derivative of ``euler_column`` with rates e1 and accelerations e2."""
    n = norm2(e)
    n1 = 2.0 * inner4(e, e1)
    n2 = 2.0 * (norm2(e1) + inner4(e, e2))
    own = scale3(2.0 / n, rate_column(e2, j))
    mixed = axpy3(-4.0 * n1 / (n * n), rate_column(e1, j), own)
    return axpy3(4.0 * n1 * n1 / (n * n * n) - 2.0 * n2 / (n * n), rate_column(e, j), mixed)


# Attitudes ------------------------------------------------------------------------------------------------------------
#
# Roll, pitch and yaw of a body by ISO 8855: R = R_z(yaw) R_y(pitch) R_x(roll), with rates and variations.


@kernel
def attitude(which, R, V, N, N1):
    """An angle, its rate by the motion V, and the variations of both by the pose twist N with rate N'."""
    still = scale3(0.0, N[0])
    x = vary_direction(column9(R, 0), V, N, N1, still)
    if which == Attitude.YAW:
        return _angle(_component(x, 1), _component(x, 0))
    if which == Attitude.PITCH:
        down = _component(x, 2)
        return _angle((-down[0], -down[1], -down[2], -down[3]), _length(_component(x, 0), _component(x, 1)))
    y = vary_direction(column9(R, 1), V, N, N1, still)
    z = vary_direction(column9(R, 2), V, N, N1, still)
    return _angle(_component(y, 2), _component(z, 2))


@kernel
def attitude_gradients(which, R, V):
    """Derivatives of an angle and its rate by components of the turn N_w; N'_w changes the rate as N_w the angle."""
    x, y, z = _by_turn(which, R, V, 0), _by_turn(which, R, V, 1), _by_turn(which, R, V, 2)
    return (x[0], y[0], z[0]), (x[1], y[1], z[1])


@kernel
def _by_turn(which, R, V, axis):
    zero = 0.0 * R[0]
    none = (zero, zero, zero)
    turn = (zero + (1.0 if axis == 0 else 0.0), zero + (1.0 if axis == 1 else 0.0), zero + (1.0 if axis == 2 else 0.0))
    _, _, delta, delta_rate = attitude(which, R, V, (turn, none), (none, none))
    return delta, delta_rate


@kernel
def _component(u, j):
    """Value, rate, variation and mixed derivative of a component."""
    return u.x[j], u.rate[j], u.delta[j], u.delta_rate[j]


@kernel
def _length(p, q):
    """sqrt(p^2 + q^2) likewise."""
    b = np.sqrt(p[0] * p[0] + q[0] * q[0])
    rate = (p[0] * p[1] + q[0] * q[1]) / b
    delta = (p[0] * p[2] + q[0] * q[2]) / b
    mixed = p[2] * p[1] + p[0] * p[3] + q[2] * q[1] + q[0] * q[3]
    return b, rate, delta, (mixed - delta * rate) / b


@kernel
def _angle(a, b):
    """atan2(a, b) likewise."""
    square = a[0] * a[0] + b[0] * b[0]
    rate = (b[0] * a[1] - a[0] * b[1]) / square
    delta = (b[0] * a[2] - a[0] * b[2]) / square
    mixed = b[2] * a[1] + b[0] * a[3] - a[2] * b[1] - a[0] * b[3]
    return atan2(a[0], b[0]), rate, delta, (mixed - 2.0 * rate * (a[0] * a[2] + b[0] * b[2])) / square
