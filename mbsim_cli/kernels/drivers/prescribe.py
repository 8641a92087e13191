"""Motions that laws of time give, and how they vary with the coefficients of the laws."""

from mbsim_cli.kernels._jit import entry
from mbsim_cli.kernels.elements.laws import law_value, law_variation


@entry
def prescribe(laws, theta, law, sign, time, position_out, velocity_out, acceleration_out):
    """Coordinates (N, n) and two derivatives from the laws; columns without a law are left as they are."""
    for row in range(time.size):
        for c in range(law.size):
            if law[c] >= 0:
                value, rate, second = law_value(laws, theta, law[c], time[row])
                position_out[row, c] = sign[c] * value
                velocity_out[row, c] = sign[c] * rate
                acceleration_out[row, c] = sign[c] * second


@entry
def vary_prescribed(laws, theta, dtheta, law, sign, time, position_out, velocity_out, acceleration_out):
    """Derivatives (N, n, p) of the same in the directions dtheta (len(theta), p)."""
    for row in range(time.size):
        for c in range(law.size):
            if law[c] >= 0:
                for d in range(dtheta.shape[1]):
                    value, rate, second = law_variation(laws, theta, dtheta, d, law[c], time[row])
                    position_out[row, c, d] = sign[c] * value
                    velocity_out[row, c, d] = sign[c] * rate
                    acceleration_out[row, c, d] = sign[c] * second
