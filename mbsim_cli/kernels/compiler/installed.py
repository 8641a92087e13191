"""Installed versions and settings of numba, without loading it: that takes a third of a run with compiled kernels.

Files of versions are read; where they do not look as they do today, the library is loaded and asked.
"""

import os
import re
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mbsim_cli.errors import UsageError

_VERSION = re.compile(r"""version"?\s*[:=]\s*["'](\d[^"']*)["']""")
_FILES = ("_version.py", "version.py")  # as numba and llvmlite have it, and as numpy and scipy
_SETTINGS = Path(".numba_config.yaml")  # numba reads it where it is started
_CODE = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "CPU_NAME", "CPU_FEATURES", "ENABLE_AVX")
_OF_A_PROCESSOR = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")


def version(library: str) -> str:
    """Version of a library; raises ImportError where there is none."""
    if library in sys.modules:
        return sys.modules[library].__version__
    try:
        files = [Path(find_spec(library).origin).with_name(name) for name in _FILES]
        (found,) = _VERSION.findall(next(file for file in files if file.is_file()).read_text())
        return found
    except (OSError, AttributeError, TypeError, ValueError, StopIteration):
        return import_module(library).__version__


def settings() -> list[tuple[str, str]]:
    """Settings that numba takes from its surroundings and puts into machine code."""
    found = [(name, os.environ[f"NUMBA_{name}"]) for name in _CODE if f"NUMBA_{name}" in os.environ]
    return [*found, ("file", _SETTINGS.read_text())] if _SETTINGS.is_file() else found


def is_switched_off() -> bool:
    """Whether kernels are to run as Python."""
    if "numba" not in sys.modules and not _SETTINGS.is_file():
        wanted = os.environ.get("NUMBA_DISABLE_JIT", "0")
        if wanted.isdecimal():
            return bool(int(wanted))
    import numba

    return bool(numba.config.DISABLE_JIT)


def no_optimisation() -> str:
    """The setting, of numba's variables or of its file, that leaves optimisation out; empty if none does."""
    if not _SETTINGS.is_file():
        return "NUMBA_OPT=0" if os.environ.get("NUMBA_OPT") == "0" else ""
    import numba

    return f"opt: 0 in {_SETTINGS}" if numba.config.OPT == 0 else ""


def processor_of(file: str = "/proc/cpuinfo") -> str:
    """Properties of the processor that machine code is made for; LLVM is asked where the system does not say."""
    try:
        with open(file, "rb", buffering=0) as opened:
            first = opened.read(16384).partition(b"\n\n")[0].decode()
    except (OSError, UnicodeDecodeError):
        first = ""
    lines = (line.partition(":") for line in first.splitlines())
    found = {name.strip(): value.strip() for name, _, value in lines}
    if "flags" in found:
        return "\n".join(found.get(name, "") for name in _OF_A_PROCESSOR)
    from llvmlite import binding

    return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()} {binding.get_process_triple()}"


# Which processors machine code is made for: this one, or all that have a level of x86-64.
#
# A level (``MBSIM_PROCESSOR``) lets a cluster of several kinds of nodes compile once and get the same bits from each.

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
    """The processor or level that machine code is for, which tells codes of a function apart."""
    return WANTED or processor_of()


def tell_numba(config: Any) -> None:
    """Have numba make machine code of the level that is wanted, if one is."""
    if WANTED:
        config.CPU_NAME, config.CPU_FEATURES = WANTED, ""  # those of the level alone
