"""Where compiled kernels are kept: a folder for each content of the sources, versions and flags."""

import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from mbsim_cli.kernels.compiler.installed import settings, version
from mbsim_cli.kernels.compiler.level import WANTED
from mbsim_cli.kernels.compiler.store import Store
from mbsim_cli.system import user

__all__ = [
    "FOLDER_OF_USER",
    "PACKAGE",
    "PARTS",
    "cache_root",
    "compiler_hash",
    "content_hash",
    "open_parts",
    "open_store",
    "source_hash",
]

PACKAGE = Path(__file__).resolve().parents[2]
_VERSIONS = (version("numba"), version("llvmlite"), np.__version__, sys.implementation.cache_tag)
# The user is part of the name: several users may share a root.
_USER = user()
FOLDER_OF_USER = f"kernels-{_USER if _USER is not None else os.environ.get('USERNAME', 'own')}"
PARTS = "parts"  # beside: kernels that entries are linked of


def source_hash(compiler: str, package: Path = PACKAGE) -> str:
    """Hash of every kernel and model file, of versions and flags; places and times of files do not count."""
    return _hash((compiler, settings(), WANTED, _VERSIONS, platform.machine()), _sources(package), package)


def content_hash(package: Path = PACKAGE) -> str:
    """Hash of every kernel and model file alone, whatever compiles them."""
    return _hash((), _sources(package), package)


def _sources(package: Path) -> Iterator[Path]:
    return (path for folder in ("kernels", "model") for path in (package / folder).rglob("*.py"))


def compiler_hash(compiler: str) -> str:
    """Hash of what makes machine code of any kernel: the compiler's own files, versions and flags."""
    made_by = (compiler, settings(), WANTED, _VERSIONS, platform.machine())
    return _hash(made_by, (PACKAGE / "kernels" / "compiler").glob("*.py"), PACKAGE)


def _hash(made_by: tuple, paths: Iterable[Path], package: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    digest.update(repr(made_by).encode())
    return digest.hexdigest()[:16]


def cache_root() -> Path:
    """Folder of all that mbsim keeps; RuntimeError where the user has no home."""
    explicit = os.environ.get("MBSIM_CACHE_DIR")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mbsim"


def open_store(compiler: str) -> Store:
    """What a compiler made, or finds an empty and safe place for."""
    return Store(cache_root, FOLDER_OF_USER, source_hash(compiler))


def open_parts(compiler: str) -> Store:
    """The place of kernels that entries are linked of, those of all versions of the sources."""
    return Store(cache_root, FOLDER_OF_USER, PARTS, compiler_hash(compiler))
