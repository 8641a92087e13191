"""Which processors machine code is made for: this one, or all that have a level of x86-64.

A level (``MBSIM_PROCESSOR``) lets a cluster of several kinds of nodes compile once and get the same bits from each.
"""

import os
from functools import cache
from typing import Any

from mbsim_cli.errors import UsageError
from mbsim_cli.kernels.compiler.installed import processor_of

__all__ = ["LEVELS", "WANTED", "level_of", "own_level", "processor", "tell_numba"]

_THIRD = frozenset(["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"])
_FOURTH = _THIRD | frozenset(["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"])
LEVELS = {"x86-64-v4": _FOURTH, "x86-64-v3": _THIRD}  # the highest first, with what Linux calls their features


def level_of(description: str) -> str:
    """The highest level of a processor that ``processor_of`` describes, or nothing."""
    flags = set(description.rpartition("\n")[2].split())
    return next((level for level, needed in LEVELS.items() if needed <= flags), "")


@cache
def own_level() -> str:
    """The level of this processor, or nothing where it has none that is known."""
    return level_of(processor_of())


def _wanted(given: str) -> str:
    """The level that machine code is asked to be for; nothing for this very processor."""
    if given in ("", "native"):
        return ""
    if given not in LEVELS:
        raise UsageError(f"MBSIM_PROCESSOR is {given!r}; it can be native or {' or '.join(sorted(LEVELS))}")
    if own_level() < given:  # nothing is less than any
        raise UsageError(
            f"MBSIM_PROCESSOR is {given}, which is more than this processor has: {own_level() or 'native'}"
        )
    return given


WANTED = _wanted(os.environ.get("MBSIM_PROCESSOR", ""))


@cache
def processor() -> str:
    """What tells machine codes of a function apart, by the processors that they are for."""
    return WANTED or processor_of()


def tell_numba(config: Any) -> None:
    """Have numba make machine code of the level that is wanted, if one is."""
    if WANTED:
        config.CPU_NAME, config.CPU_FEATURES = WANTED, ""  # those of the level alone
