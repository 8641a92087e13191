"""Machine code in memory.

What was linked beforehand is copied, told its place and what it takes from the libraries of C, and made executable: no
compiler is loaded for it. Elsewhere than on x86-64 Linux, LLVM loads an object.
"""

import ctypes
import mmap
import platform
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

__all__ = ["IMAGES", "Image", "Object", "address_of", "load"]

IMAGES = sys.platform == "linux" and platform.machine() == "x86_64" and sys.maxsize > 1 << 32
_READ_AND_RUN = 5
_LIBRARIES = (None, "libm.so.6", "libgcc_s.so.1")  # of C, of its mathematics, of what compilers put in


class Image(NamedTuple):
    """Code that was linked: all that it refers to stands in it, but for what is named."""

    content: bytes
    pages: int  # bytes at the beginning that are never written to, a multiple of a page
    size: int  # bytes in memory
    moved: bytes  # int64: where addresses are, written as if the code lay at 0
    named: tuple[tuple[str, int], ...]  # where addresses of functions go
    start: int  # of the entry


class Object(NamedTuple):
    """Code that LLVM has to link."""

    content: bytes
    named: tuple[str, ...]  # what it takes from elsewhere
    name: str  # of the entry


def load(code: Image | Object) -> int:
    """Address of the entry; LookupError for what asks for an unknown function."""
    return _placed(code) if isinstance(code, Image) else _by_llvm(code)


_living: list[Any] = []


def _placed(image: Image) -> int:
    memory = mmap.mmap(-1, image.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    bytes_ = np.frombuffer(memory, np.uint8)
    base = bytes_.__array_interface__["data"][0]
    bytes_[: len(image.content)] = np.frombuffer(image.content, np.uint8)
    places = np.frombuffer(image.moved, np.int64)[:, None] + np.arange(8)  # within instructions, too
    bytes_[places] = (bytes_[places].view(np.int64) + base).view(np.uint8)
    for name, place in image.named:
        memory[place : place + 8] = address_of(name).to_bytes(8, sys.byteorder)
    if ctypes.CDLL(None, use_errno=True).mprotect(
        ctypes.c_void_p(base), ctypes.c_size_t(image.pages), ctypes.c_int(_READ_AND_RUN)
    ):
        raise OSError(ctypes.get_errno(), "memory cannot be made executable")
    _living.append((memory, bytes_))
    return base + image.start


@cache
def _library(name: str | None) -> Any:
    return ctypes.CDLL(name)


def address_of(name: str) -> int:
    """Address of a function of C, or of one that LLVM knows of; LookupError where there is none."""
    for library in _LIBRARIES:
        try:
            return ctypes.cast(getattr(_library(library), name), ctypes.c_void_p).value
        except (OSError, AttributeError):
            continue
    from llvmlite import binding

    if binding.address_of_symbol(name) is None:
        from numba.core.registry import cpu_target  # who tells LLVM of numba's functions

        cpu_target.target_context.refresh()
    found = binding.address_of_symbol(name)
    if not found:
        raise LookupError(name)
    return found


@cache
def _engine() -> Any:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)


def _by_llvm(code: Object) -> int:
    from llvmlite import binding

    _told(code.named)
    engine = _engine()
    engine.add_object_file(binding.ObjectFileRef.from_data(code.content))
    engine.finalize_object()
    engine.run_static_constructors()
    return engine.get_function_address(code.name)


def _told(names: Iterable[str]) -> None:
    """Make sure that LLVM knows functions: it ends the process for want of one."""
    from llvmlite import binding

    for name in names:
        if not binding.address_of_symbol(name):
            binding.add_symbol(name, address_of(name))
