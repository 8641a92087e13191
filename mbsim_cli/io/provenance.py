"""Origin of a result: the data that repeat the run."""

import os
import platform
from collections.abc import Mapping
from typing import NamedTuple

from mbsim_cli.kernels.compiler.installed import version

LIBRARIES = ("numpy", "scipy", "numba", "h5py")


class Provenance(NamedTuple):
    """Origin of a run, with the texts of the model file and its included files as read."""

    command: str
    model_text: str
    model_file: str = "model.yaml"  # as named on the command line; names of included files are relative to it
    included: Mapping[str, str] = {}
    overrides: Mapping[str, str] = {}
    options: Mapping[str, object] = {}
    title: str = ""  # name of the model


def storable(text: str) -> str:
    """A name or command as valid UTF-8; bytes of file names that are not are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def platform_facts() -> dict[str, str]:
    """Machine and library versions."""
    facts = {
        # its name, release and library of C; platform.platform() starts a process that asks for the processor, too
        "system": "-".join(filter(None, (platform.system(), platform.release(), *platform.libc_ver()))),
        "machine": platform.machine(),
        "processors": str(os.cpu_count()),
        "python": platform.python_version(),
    }
    for library in LIBRARIES:
        try:
            facts[library] = version(library)
        except ImportError:
            facts[library] = "unknown"
    return facts
