"""Threads of the numerical libraries; they read these variables when they are first imported."""

import os

from mbsim_cli import processors

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def limit_threads(threads: int | None) -> None:
    """Give the linear algebra this many threads; without a number one, unless the environment says otherwise.

    The matrices are small: more threads make them slower, and parameter studies run many processes. What is stated
    holds for compression, too, which otherwise takes all processors.
    """
    stated = os.environ.get(VARIABLES[0], "") if threads is None else str(threads)
    if stated.isdecimal():
        processors.limit(int(stated))
    for variable in VARIABLES:
        if threads is not None:
            os.environ[variable] = str(threads)
        else:
            os.environ.setdefault(variable, "1")
