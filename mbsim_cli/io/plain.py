"""What any HDF5 file must be to be read: plain groups of numbers and texts, and no larger than it can hold.

A file comes from anywhere, and HDF5 files may point to others, hold themselves, or claim to be larger than any memory.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import h5py
import numpy as np

MOST_DEEP = 8  # groups in groups
MOST_DIMENSIONS = 4
PACKED = 1100  # at most so many times smaller are numbers that are stored compressed
UNPACKED = 1 << 20  # bytes that are believed without that
TEXTS = ("unit", "units", "method", "description", "undetermined")  # attributes
OWN_ATTRIBUTES = ("CLASS", "NAME", "DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST", "_Netcdf4Dimid")


class FormatError(Exception):
    """The file is not what it should be."""


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Put the name of what is wrong before what is wrong with it."""
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def columns_of(file: h5py.File):
    """Yield name and dataset of every row of numbers in the root of any file; raise FormatError for hostile ones."""
    for name in file:
        item = file[name] if isinstance(file.get(name, getlink=True), h5py.HardLink) else None
        if isinstance(item, h5py.Dataset) and item.ndim == 1 and item.dtype.kind in "fiu":
            require_plain(item)
            yield name, item


def walk(file: h5py.File) -> Iterator[tuple[str, h5py.Dataset]]:
    """Yield path and dataset of everything in the file, each object once."""
    return ((path, item) for path, item in items(file) if isinstance(item, h5py.Dataset))


def items(file: h5py.File) -> Iterator[tuple[str, h5py.Group | h5py.Dataset]]:
    """Yield path and item of everything in the file but its root; raise FormatError for what is not plain."""
    waiting: list[tuple[str, h5py.Group]] = [("", file)]
    seen = {_address(file)}
    while waiting:
        path, group = waiting.pop()
        _require_attributes(path or "/", group)
        for name in group:
            below = path + text_of(name)
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise FormatError(f"{below}: it is a link to somewhere else, which results have none of")
            item = group[name]
            if (address := _address(item)) in seen or below.count("/") > MOST_DEEP:
                raise FormatError(f"{below}: it stands twice, or too deep")
            seen.add(address)
            if isinstance(item, h5py.Group):
                waiting.append((f"{below}/", item))
            elif isinstance(item, h5py.Dataset):
                _require_attributes(below, item)
            else:
                raise FormatError(f"{below}: it is neither a group nor a dataset")
            yield below, item


def text_of(name: str | bytes) -> str:
    """A name or label; HDF5 takes any bytes for one."""
    if isinstance(name, bytes):
        raise FormatError(f"{ascii(name)[1:]} is no name")
    return name


def _address(item: h5py.Group | h5py.Dataset) -> object:
    return h5py.h5o.get_info(item.id).addr


def _require_attributes(path: str, item: h5py.Group | h5py.Dataset) -> None:
    for name in map(text_of, item.attrs):
        value = None if name in OWN_ATTRIBUTES else attribute(item, name)
        if name not in OWN_ATTRIBUTES and (value is None or (name in TEXTS and not isinstance(value, str))):
            raise FormatError(f"{path}: its attribute {name} is not what it should be")


def attribute(item: h5py.Group | h5py.Dataset, name: str) -> str | int | float | None:
    """An attribute that is one text or number, else None; nothing large is read."""
    if name not in item.attrs:
        return None
    found = item.attrs.get_id(name)
    if found.shape != () or not (is_text(found.dtype) or found.dtype.kind in "iuf"):
        return None
    value = item.attrs[name]
    return value.item() if isinstance(value, np.generic) else value if isinstance(value, str | int | float) else None


def is_text(dtype: np.dtype) -> bool:
    return h5py.check_string_dtype(dtype) is not None


def require_plain(dataset: h5py.Dataset, most: int = MOST_DIMENSIONS) -> None:
    """Numbers or texts that stand in this file, of ``most`` dimensions, and no more than it can hold."""
    if dataset.external or dataset.is_virtual:
        raise FormatError("its content is in other files")
    if not (is_text(dataset.dtype) or dataset.dtype.kind in "iuf") or dataset.shape is None:
        raise FormatError("it holds neither numbers nor texts")
    if dataset.ndim > most:
        raise FormatError(f"it has {dataset.ndim} dimensions")
    stored = min(dataset.id.get_storage_size(), dataset.file.id.get_filesize())
    claimed = max(dataset.size, _chunk_of(dataset)) * dataset.dtype.itemsize
    if claimed > UNPACKED + PACKED * stored:
        raise FormatError(f"it claims to be {claimed:.3g} bytes large, of which {stored} are there")
    if not dataset.shape or is_text(dataset.dtype):
        dataset[()]
    elif dataset.size:
        dataset[0], dataset[-1]  # the way to the content


def _chunk_of(dataset: h5py.Dataset) -> int:
    """Numbers that are read at once, whatever is asked for."""
    return math.prod(dataset.chunks) if dataset.chunks and dataset.size else 0
