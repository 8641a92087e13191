"""Roll, pitch and yaw of a body by ISO 8855: R = R_z(yaw) R_y(pitch) R_x(roll), with rates and variations."""

import numpy as np

from mbsim_cli.kernels.algebra.complex_safe import atan2
from mbsim_cli.kernels.algebra.rot3 import column9
from mbsim_cli.kernels.algebra.vec3 import scale3
from mbsim_cli.kernels.compiler.jit import kernel
from mbsim_cli.kernels.elements.measures import vary_direction
from mbsim_cli.model.codes import Attitude


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
    """Derivatives of an angle and of its rate by the turn N_w of the pose; N'_w changes the rate as N_w the angle.

    One variation for each component.
    """
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
def _component(u, k):
    """Value, rate, variation and mixed derivative of a component."""
    return u.x[k], u.rate[k], u.delta[k], u.delta_rate[k]


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
