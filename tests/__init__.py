"""Tests of mbsim.

Kernels as plain Python take directions one by one, and also the zeros that fill blocks of eight: most of the work where
a test has one parameter or two. Blocks of two have zeros, too. They are chosen here, before any module reads the width.
"""

import numpy as np

from mbsim_cli.kernels.compiler import simd
from mbsim_cli.kernels.compiler.choice import COMPILER

if COMPILER == "none":
    simd.WIDTH, simd.EVERY = 2, 0b11
    simd.CASES = np.dtype([("lanes", np.float64, (simd.WIDTH,))])
