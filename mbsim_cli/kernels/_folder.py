"""Where compiled kernels are kept: a folder for each content of the sources, versions and flags."""

import hashlib
import os
import platform
import sys
from pathlib import Path

import llvmlite
import numba
import numpy as np

from mbsim_cli.kernels._store import Store

__all__ = ["FOLDER_OF_USER", "PACKAGE", "PARTS", "cache_root", "open_store", "source_hash"]

PACKAGE = Path(__file__).resolve().parent.parent
# What numba takes from the environment and puts into machine code.
_ENVIRONMENT = ("BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "CPU_NAME", "CPU_FEATURES", "ENABLE_AVX")
_VERSIONS = (numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag)
# The user's number is part of the name: several users may share a root.
FOLDER_OF_USER = f"kernels-{os.geteuid()}"
PARTS = "parts"  # below: kernels that entries are linked of


def source_hash(compiler: str, package: Path = PACKAGE) -> str:
    """Hash of every kernel and model file, of versions and flags; places and times of files do not count."""
    digest = hashlib.sha256()
    for folder in ("kernels", "model"):
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.relative_to(package).as_posix().encode())
            digest.update(path.read_bytes())
    environment = {name: getattr(numba.config, name, None) for name in _ENVIRONMENT}
    digest.update(repr((compiler, sorted(environment.items()), _VERSIONS, platform.machine())).encode())
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Folder of all that mbsim keeps; RuntimeError where the user has no home."""
    explicit = os.environ.get("MBSIM_CACHE_DIR")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mbsim"


def open_store(compiler: str, *below: str) -> Store:
    """What a compiler made, or finds an empty and safe place for."""
    return Store(cache_root, FOLDER_OF_USER, source_hash(compiler), *below)
