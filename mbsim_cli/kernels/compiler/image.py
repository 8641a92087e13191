"""Machine code in memory.

What was linked beforehand is copied, told its place and what it takes from the libraries of C, and made executable: no
compiler is loaded for it. Elsewhere than on x86-64 Linux, LLVM loads an object.
"""

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

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


_living: list[Any] = []


def load(image: Image | Object) -> int:
    """Address of the entry; LookupError for what asks for an unknown function."""
    if isinstance(image, Object):
        return _by_llvm(image)
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


def _by_llvm(code: Object) -> int:
    from llvmlite import binding

    for name in code.named:  # LLVM ends the process for want of one
        if not binding.address_of_symbol(name):
            binding.add_symbol(name, address_of(name))
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code.content))
    engine.finalize_object()
    engine.run_static_constructors()
    _living.append(engine)
    return engine.get_function_address(code.name)


# Objects of kernels, linked to one image ------------------------------------------------------------------------------
#
# They are as LLVM writes them for x86-64 Linux: ELF files for C's large code model.
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

    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int

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
        self.sections = [Section(*struct.unpack_from("<4xIQ8xQQIIQ8x", content, offset + 64 * i)) for i in range(count)]
        (table,) = (section for section in self.sections if section.type == _SYMBOLS)
        names = self.sections[table.link].offset
        self.symbols: list[Symbol] = []
        for name, info, section, value, size in struct.iter_unpack("<IBxHQQ", self.content_of(table)):
            text = content[names + name : content.index(b"\0", names + name)].decode()
            self.symbols.append(Symbol(text, info >> 4 == 0, section, value, size))
        self.held = [symbol for symbol in self.symbols if symbol.section and not symbol.is_local]

    def content_of(self, section: Section) -> bytes:
        """The content of a section."""
        if section.type == _NOT_IN_FILE:
            return bytes(section.size)
        return self.content[section.offset : section.offset + section.size]

    def relocations(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Section, place in it, kind, symbol, number to add."""
        for section in self.sections:
            if section.type == _RELOCATIONS and self.sections[section.info].is_loaded:
                for place, info, addend in struct.iter_unpack("<QQq", self.content_of(section)):
                    yield section.info, place, info & 0xFFFFFFFF, info >> 32, addend


def linked(objects: Sequence[Elf], name: str) -> Image:
    """One image of all objects, entered by ``name``, of duplicates the first; ValueError for what only LLVM links."""
    content = bytearray()
    places: dict[tuple[int, int | str], int] = {}  # of sections and common symbols, by object
    holder: dict[str, tuple[int, Symbol]] = {}  # object that a name is taken from
    for k, each in enumerate(objects):
        for symbol in each.held:
            holder.setdefault(symbol.name, (k, symbol))

    def append(part: bytes, alignment: int) -> int:
        content.extend(bytes(-len(content) % alignment))
        content.extend(part)
        return len(content) - len(part)

    def append_sections(flag: int) -> None:
        for k, each in enumerate(objects):
            for i, section in enumerate(each.sections):
                if section.is_loaded and section.flags & _WRITTEN == flag:
                    places[k, i] = append(each.content_of(section), max(_LINE, section.alignment))

    def address(k: int, symbol: Symbol) -> int:
        if symbol.section == _ABSOLUTE:
            raise ValueError(f"{symbol.name} has an address of its own")
        return places[k, symbol.name] if symbol.section == _COMMON else places[k, symbol.section] + symbol.value

    append_sections(0)
    pages = append(b"", PAGE)
    append_sections(_WRITTEN)
    for k, symbol in holder.values():
        if symbol.section == _COMMON:  # zeros: environments of Python objects, of which kernels have none
            places[k, symbol.name] = append(bytes(symbol.size), 16)
    append(b"", 8)
    moved: list[int] = []  # places of addresses, written as if the image lay at 0
    named: list[tuple[str, int]] = []
    for k, each in enumerate(objects):
        for section, offset, kind, number, addend in each.relocations():
            symbol, place = each.symbols[number], places[k, section] + offset
            found = (k, symbol) if symbol.is_local and symbol.section else holder.get(symbol.name)
            if kind != _ADDRESS or (not found and addend):
                raise ValueError(f"relocation {kind} of {symbol.name}, {addend} beyond")
            if found:
                struct.pack_into("<q", content, place, address(*found) + addend)
                moved.append(place)
            else:
                named.append((symbol.name, place))
    size = len(content) + -len(content) % PAGE
    return Image(
        bytes(content), pages, size, struct.pack(f"<{len(moved)}q", *moved), tuple(named), address(*holder[name])
    )
