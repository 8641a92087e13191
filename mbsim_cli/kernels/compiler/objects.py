"""Objects of kernels, as LLVM writes them for x86-64 Linux, linked to one image: ELF files for C's large code model.

Sections that are read or run come first, those that are written to begin on a page of their own. Instructions and data
hold whole addresses, those of functions of C too, so that little but sums is left to do.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from mbsim_cli.kernels.compiler.image import Image

__all__ = ["Elf", "linked"]

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
        """What begins as zeros: environments of Python objects, of which kernels have none."""
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
