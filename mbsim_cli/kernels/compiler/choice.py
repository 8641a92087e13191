"""Choice of the compiler that makes machine code of kernels.

``linking`` is numba with the passes of ``linking``, the types of ``simd_compiled``, and entries that are
called without it (``entry``): several times faster to compile and to run, on interfaces that may change with
any version of numba. ``plain`` is numba as its manual describes it. Unless ``MBSIM_COMPILER`` says which, a version of
numba or a kind of machine that the tests have not run on has to pass a probe first, in a process of its own.
"""

import os
import platform
import re
import subprocess
from tempfile import TemporaryDirectory

from mbsim_cli.errors import UsageError
from mbsim_cli.kernels.compiler.installed import WANTED, is_switched_off, no_optimisation, version
from mbsim_cli.kernels.compiler.store import open_store
from mbsim_cli.system import isolated, signals

FROM, UNTIL = (0, 62), (0, 69)  # versions of numba that the tests have run with
MACHINE = ("Linux", "x86_64")  # that the tests have run on
_PROBE = isolated("mbsim_cli.kernels.compiler.probe")
_PATIENCE = 300.0  # seconds
_ENDED_BY_OTHERS = signals("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGXCPU")


def is_tested(found: str = "") -> bool:
    """Whether the tests have run with this version of numba, by default the installed one, on such a machine."""
    known = FROM <= tuple(map(int, re.findall(r"\d+", found or version("numba"))[:2])) < UNTIL
    return known and (platform.system(), platform.machine()) == MACHINE


def probe() -> tuple[str, bool]:
    """Compile, keep and load an entry in another process; return an error or '', and False if the machine caused it."""
    try:
        with TemporaryDirectory() as empty:
            environment = {**os.environ, "MBSIM_COMPILER": "linking", "MBSIM_CACHE_DIR": empty}
            done = subprocess.run(_PROBE, env=environment, capture_output=True, text=True, timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error), False
    if done.returncode == 0:
        return "", True
    told = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return told[-1], -done.returncode not in _ENDED_BY_OTHERS


def processor() -> str:
    """Processor and system that machine code is made for."""
    from llvmlite import binding

    return f"{WANTED or binding.get_host_cpu_name()} ({binding.get_process_triple()})"


def _choose(wanted: str) -> tuple[str, str]:
    """The compiler, and why it is not the usual one."""
    if is_switched_off():
        return "none", "NUMBA_DISABLE_JIT is set: kernels run as Python"
    if setting := no_optimisation():  # linking leaves out what optimisation has put into its callers
        return "plain", f"{setting} is set: the fast compiler needs optimisation"
    if wanted in ("linking", "plain"):
        return wanted, f"MBSIM_COMPILER={wanted} is set"
    if wanted not in ("", "auto"):
        raise UsageError(f"MBSIM_COMPILER is {wanted!r}; it can be linking, plain or auto")
    if is_tested():
        return "linking", ""
    store = open_store("probe")
    if (known := store.get(b"probe")) is not None:
        fault = known.decode()
    else:
        fault, is_lasting = probe()
        if is_lasting:
            store.put(b"probe", fault.encode())
    if fault:
        return "plain", f"numba {version('numba')} does not pass the probe of the fast compiler: {fault}"
    return "linking", ""


COMPILER, REASON = _choose(os.environ.get("MBSIM_COMPILER", ""))
