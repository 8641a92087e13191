"""Threads of the numerical libraries."""

import os

from mbsim_cli import processors
from mbsim_cli.processors import VARIABLES


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
