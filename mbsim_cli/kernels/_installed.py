"""What is installed and set of numba, without loading it: that takes a third of a run whose kernels are compiled.

Files of versions are read; where they do not look as they do today, the library is loaded and asked.
"""

import os
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

__all__ = ["is_switched_off", "processor_of", "settings", "version"]

_VERSION = re.compile(r"""version"?\s*[:=]\s*["'](\d[^"']*)["']""")  # as versioneer writes it
_SETTINGS = Path(".numba_config.yaml")  # numba reads it where it is started
_CODE = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "CPU_NAME", "CPU_FEATURES", "ENABLE_AVX")
_OF_A_PROCESSOR = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")


def version(library: str) -> str:
    """Version of numba or llvmlite."""
    if library in sys.modules:
        return sys.modules[library].__version__
    try:
        (found,) = _VERSION.findall(Path(find_spec(library).origin).with_name("_version.py").read_text())
        return found
    except (OSError, AttributeError, TypeError, ValueError):
        return import_module(library).__version__


def settings() -> list[tuple[str, str]]:
    """What numba takes from its surroundings and puts into machine code."""
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


def processor_of(file: str = "/proc/cpuinfo") -> str:
    """What tells processors apart that machine code is made for; LLVM is asked where the system does not say."""
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
