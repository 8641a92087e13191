"""Joint columns: how one coordinate moves the joint frame, and the columns of Euler parameters.

Translations and rotations give columns that are fixed in the frame they start from, so their derivatives
are Lie brackets and need no code of their own. Only Euler parameters have columns that change by
themselves; their local derivatives stand here. Source: paper 000, tables 5, 6, 11; docs/theory/kinematics.md.
"""

from mbsim_cli.kernels.algebra.euler_parameters import inner4, norm2, rate_column
from mbsim_cli.kernels.algebra.vec3 import axpy3, scale3
from mbsim_cli.kernels.compiler.jit import inlined
from mbsim_cli.kernels.compiler.simd import at
from mbsim_cli.model.codes import Column


@inlined
def is_translation(kind):
    """Whether the column translates."""
    return kind == Column.TRANSLATION_X or kind == Column.TRANSLATION_Y or kind == Column.TRANSLATION_Z


@inlined
def is_euler(kind):
    """Whether the column belongs to Euler parameters."""
    return (
        kind == Column.EULER_0 or kind == Column.EULER_1 or kind == Column.EULER_2 or kind == Column.EULER_3
    )  # fmt: skip


@inlined
def load4(z, c):
    """Four coordinates from c on."""
    return (z[c], z[c + 1], z[c + 2], z[c + 3])


@inlined
def load4_of(array, c, k):
    """Four coordinates from c on, in direction k."""
    return (at(array, c, k), at(array, c + 1, k), at(array, c + 2, k), at(array, c + 3, k))


@inlined
def euler_column(e, k):
    """Angular velocity per unit rate of e_k, in the parent-side joint frame: 2 E_k(e) / |e|^2."""
    return scale3(2.0 / norm2(e), rate_column(e, k))


@inlined
def euler_column_rate(e, de, k):
    """Derivative of ``euler_column`` in direction de."""
    n = norm2(e)
    return axpy3(2.0 / n, rate_column(de, k), scale3(-4.0 * inner4(e, de) / (n * n), rate_column(e, k)))


@inlined
def euler_column_second_rate(e, e1, e2, k):
    """Second time derivative of ``euler_column`` with rates e1 and accelerations e2."""
    n = norm2(e)
    n1 = 2.0 * inner4(e, e1)
    n2 = 2.0 * (norm2(e1) + inner4(e, e2))
    own = scale3(2.0 / n, rate_column(e2, k))
    mixed = axpy3(-4.0 * n1 / (n * n), rate_column(e1, k), own)
    return axpy3(4.0 * n1 * n1 / (n * n * n) - 2.0 * n2 / (n * n), rate_column(e, k), mixed)
