"""Machine code in memory.

What was linked beforehand is copied, told its place and what it takes from the libraries of C, and made executable: no
compiler is loaded for it. Elsewhere than on x86-64 Linux, LLVM loads an object.
"""

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

__all__ = ["IMAGES", "Elf", "Image", "Object", "address_of", "linked", "load"]

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
        except (OSError, AttributeError, TypeError):  # TypeError: Windows has no name for all libraries at once
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


# Objects of kernels, linked to one image ------------------------------------------------------------------------------
#
# Objects of kernels, as LLVM writes them for x86-64 Linux, linked to one image: ELF files for C's large code model.
#
# Sections that are read or run come first, those that are written to begin on a page of their own. Instructions and
# data hold whole addresses, those of functions of C too, so that little but sums is left to do.


PAGE = 4096
_SYMBOLS, _RELOCATIONS, _NOT_IN_FILE, _UNWINDING = 2, 4, 8, 0x70000001  # types of sections
_WRITTEN, _IN_MEMORY = 1, 2  # flags of sections
_ABSOLUTE, _COMMON = 0xFFF1, 0xFFF2  # in the place of a section's number
_ADDRESS = 1  # the kind of relocation
_LINE = 64  # bytes of a cache line, on which code begins


class Section(NamedTuple):
    """Head of a section in its file."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int

    @property
    def is_loaded(self) -> bool:
        """Whether it is part of the code; what unwinds its stack is not."""
        return bool(self.flags & _IN_MEMORY and self.size and self.type != _UNWINDING)


class Symbol(NamedTuple):
    """A name and what it stands for."""

    name: str
    is_local: bool
    section: int
    value: int
    size: int


class Elf:
    """An object file."""

    def __init__(self, content: bytes):
        (offset,) = struct.unpack_from("<Q", content, 40)
        (count,) = struct.unpack_from("<H", content, 60)
        self.content = content
        self.sections = [Section(*struct.unpack_from("<IIQQQQIIQQ", content, offset + 64 * i)) for i in range(count)]
        self.symbols = list(self._symbols())
        self.held = {s.name: k for k, s in enumerate(self.symbols) if s.section and not s.is_local}
        self.asked = [s.name for s in self.symbols if s.name and not s.section]

    def _symbols(self) -> Iterator[Symbol]:
        (table,) = (section for section in self.sections if section.type == _SYMBOLS)
        names = self.sections[table.link].offset
        for at in range(table.offset, table.offset + table.size, 24):
            name, info, _, section, value, size = struct.unpack_from("<IBBHQQ", self.content, at)
            end = self.content.index(b"\0", names + name)
            yield Symbol(self.content[names + name : end].decode(), info >> 4 == 0, section, value, size)

    def relocations(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Section, place in it, kind, symbol, number to add."""
        for section in self.sections:
            if section.type == _RELOCATIONS and self.sections[section.info].is_loaded:
                entries = self.content[section.offset : section.offset + section.size]
                for place, info, addend in struct.iter_unpack("<QQq", entries):
                    yield section.info, place, info & 0xFFFFFFFF, info >> 32, addend


def linked(objects: Sequence[Elf], name: str) -> Image:
    """One image of all objects, entered by a function; of what several hold the first one's is taken."""
    return _Linker(objects).image(name)


class _Linker:
    def __init__(self, objects: Sequence[Elf]):
        self._objects = objects
        self._holder: dict[str, tuple[int, int]] = {}
        for k, each in enumerate(objects):
            for name, symbol in each.held.items():
                self._holder.setdefault(name, (k, symbol))
        self._places: dict[tuple[int, int], int] = {}  # of sections
        self._commons: dict[str, int] = {}
        self._end = 0

    def image(self, name: str) -> Image:
        self._place(lambda section: not section.flags & _WRITTEN)
        self._end = pages = _up(self._end, PAGE)
        self._place(lambda section: section.flags & _WRITTEN)
        self._place_commons()
        self._content = bytearray(_up(self._end, 8))
        self._copy()
        moved, named = self._relocate()
        start = self._address(self._holder[name])
        moved_bytes = struct.pack(f"<{len(moved)}q", *moved)
        return Image(bytes(self._content), pages, _up(self._end, PAGE), moved_bytes, tuple(named), start)

    def _place(self, chosen: Callable[[Section], Any]) -> None:
        for k, each in enumerate(self._objects):
            for i, section in enumerate(each.sections):
                if section.is_loaded and chosen(section):
                    self._places[k, i] = self._take(section.size, max(_LINE, section.alignment))

    def _take(self, size: int, alignment: int) -> int:
        place = _up(self._end, alignment)
        self._end = place + size
        return place

    def _found(self, k: int, symbol: int) -> tuple[int, int] | str:
        """Object and symbol that hold what a symbol stands for; the name of what is elsewhere."""
        given = self._objects[k].symbols[symbol]
        if given.is_local and given.section:
            return k, symbol
        return self._holder.get(given.name, given.name)

    def _all(self) -> Iterator[tuple[int, int, tuple[int, int] | str, int]]:
        """Place, kind, what it refers to, number to add."""
        for k, each in enumerate(self._objects):
            for section, place, kind, symbol, addend in each.relocations():
                yield self._places.get((k, section), 0) + place, kind, self._found(k, symbol), addend

    def _place_commons(self) -> None:
        """Reserve common symbols, which begin as zeros: environments of Python objects, of which kernels have none."""
        for k, symbol in self._holder.values():
            given = self._objects[k].symbols[symbol]
            if given.section == _COMMON:
                self._commons[given.name] = self._take(given.size, 16)

    def _copy(self) -> None:
        for (k, i), place in self._places.items():
            section = self._objects[k].sections[i]
            if section.type != _NOT_IN_FILE:
                end = section.offset + section.size
                self._content[place : place + section.size] = self._objects[k].content[section.offset : end]

    def _address(self, found: tuple[int, int]) -> int:
        k, symbol = found
        given = self._objects[k].symbols[symbol]
        if given.section == _COMMON:
            return self._commons[given.name]
        if given.section == _ABSOLUTE:
            raise ValueError(f"{given.name} has an address of its own")
        return self._places[k, given.section] + given.value

    def _relocate(self) -> tuple[list[int], list[tuple[str, int]]]:
        """Places of addresses within the image, which are written as if it lay at 0; names and places of others."""
        moved: list[int] = []
        named: list[tuple[str, int]] = []
        for place, kind, found, addend in self._all():
            if kind != _ADDRESS or (isinstance(found, str) and addend):
                raise ValueError(f"relocation {kind} of {found}, {addend} beyond")
            if isinstance(found, str):
                named.append((found, place))
            else:
                struct.pack_into("<q", self._content, place, self._address(found) + addend)
                moved.append(place)
        return moved, named


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
