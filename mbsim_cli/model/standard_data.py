"""Blocks of theta that hold the standard input data of a flexible body with n elastic coordinates.

Numbers of a mode stand in rows of n, one number a row, so that eight modes are read at once; ``LEFT_OVER`` unused
numbers at the end let the last ones be read so. The symmetric six are xx, yy, zz, xy, xz, yz. The second block exists
where the data differ from the identities that the first one rests on (docs/theory/flexible_bodies.md, section 2).

======== ===============================================================================================
first    mass, mdCM of order 0 (3), J of order 0 (6), then ``MODE_ROWS`` rows: ksigma, Ct (3), Cr of order 0
         (3), J of order 1 (6); then for each elastic coordinate ``PAIR_ROWS`` rows of what it is multiplied by:
         J of order 2 (6), Cr of order 1 as far as it is skew (3), Me, Ke, De
second   ``OWN_MODE_ROWS`` rows: mdCM of order 1 (3), Gr (9, by rows), Oe (6); then for each elastic coordinate
         ``OWN_PAIR_ROWS`` rows: Ct of order 1 (3), Cr of order 1 as far as it is symmetric (3), Gr of order 1
         (9), Ge (3), Oe of order 1 (6); of mdCM, Gr, Ge and Oe what is left of them beside the identities
======== ===============================================================================================
"""

import numpy as np

MASS, MDCM, J0, MODES = 0, 1, 4, 10
KSIGMA, CT, CR0, J1, MODE_ROWS = 0, 1, 4, 7, 13
J2, CR1, ME, KE, DE, PAIR_ROWS = 0, 6, 9, 10, 11, 12
MDCM1, GR0, OE0, OWN_MODE_ROWS = 0, 3, 12, 18
CT1, CR1_EVEN, GR1, GE, OE1, OWN_PAIR_ROWS = 0, 3, 6, 15, 18, 24
LEFT_OVER = 8
ROUND_OFF = 1e-10  # of the largest entry: what files with twelve digits leave of an identity


def block_size(n: int) -> int:
    """Numbers of the first block."""
    return MODES + n * (MODE_ROWS + n * PAIR_ROWS) + LEFT_OVER


def deviation_size(n: int) -> int:
    """Numbers of the second block."""
    return n * (OWN_MODE_ROWS + n * OWN_PAIR_ROWS) + LEFT_OVER


def is_consistent(theta: np.ndarray, first: int, second: int, n: int) -> bool:
    """Whether all that is left beside the identities is how points move by products of coordinates: Ct1 and Cr1."""
    end = second + n * OWN_MODE_ROWS
    pairs = theta[end : second + deviation_size(n) - LEFT_OVER].reshape(n, OWN_PAIR_ROWS, n)
    left = max(np.abs(theta[second:end]).max(), np.abs(pairs[:, CR1_EVEN + 3 :]).max())
    return bool(left <= ROUND_OFF * np.abs(theta[first : first + MODES + n * MODE_ROWS]).max())
