"""How many processors this process may use."""

import os


def usable() -> int:
    """Those that the system gives to this process, which a queue or a container may limit."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
