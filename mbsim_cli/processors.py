"""How many processors this process may use."""

import os

# threads of the numerical libraries, which read these when they are first imported
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_limit: int | None = None  # that a user has set


def usable() -> int:
    """Those that the system gives to this process, which a queue or a container may limit."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit(count: int) -> None:
    """Use no more than this many from now on."""
    global _limit
    _limit = max(1, count)


def helpful(most: int) -> int:
    """How many threads share a piece of work of which ``most`` can be done beside one another."""
    return min(most, usable(), _limit or most)
