"""Motions that laws of time give, how they vary with the coefficients of the laws, and the transpose of that."""

from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.kernels.compiler.simd import at, block, width
from mbsim_cli.kernels.elements.law_pull_back import pull_law
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


@entry
def pull_prescribed(laws, theta, law, sign, time, position, velocity, acceleration, theta_out):
    """Add to theta_out (len(theta), p) what covectors (N, n, p) of the same make of the coefficients."""
    for row in range(time.size):
        for c in range(law.size):
            for g in range(0, theta_out.shape[1], width(theta_out)):
                k = block(theta_out, g)
                value, rate, second = at(position[row], c, k), at(velocity[row], c, k), at(acceleration[row], c, k)
                pull_law(
                    laws, theta, law[c], time[row], k, sign[c] * value, sign[c] * rate, sign[c] * second, theta_out
                )  # fmt: skip
