"""Datasets and attributes by the functions of HDF5: as h5py makes them, in a fourth of its time.

That counts where a model has thousands of sensors, each with a dataset, one of its derivatives and one of their units.
"""

from collections.abc import Callable

import h5py
import numpy as np
from h5py import h5a, h5d, h5p, h5s, h5t

TEXT = h5py.string_dtype()
_TEXT_TYPE = h5t.py_create(TEXT, logical=True)
_ONE = h5s.create(h5s.SCALAR)
_TEXTS = "texts"  # a kind of dataset, in groups that list names as sorted


class Datasets:
    """What a file gets many of; the first of a kind is made by h5py, and lends its properties to the others."""

    def __init__(self, file: h5py.File):
        self._groups: dict[str, h5py.Group] = {"": file}
        self._kinds: dict[object, h5p.PropDCID] = {}

    def growing(
        self, path: str, widths: tuple[int, ...], dtype: str, rows: int, compression: dict[str, object]
    ) -> h5py.Dataset:
        """An empty dataset that grows along its first axis, in chunks of so many rows."""
        shape, most, chunks = (0, *widths), (None, *widths), (rows, *widths)

        def first(group: h5py.Group, name: str) -> h5py.Dataset:
            return group.create_dataset(name, shape, dtype, maxshape=most, chunks=chunks, **compression)

        space = h5s.create_simple(shape, (h5s.UNLIMITED, *widths))
        numbers = h5t.py_create(np.dtype(dtype), logical=True)
        return self._made(path, (chunks, dtype, bool(compression)), first, numbers, space)

    def texts(self, path: str, entries: np.ndarray) -> h5py.Dataset:
        """A dataset of texts."""

        def first(group: h5py.Group, name: str) -> h5py.Dataset:
            return group.create_dataset(name, entries.shape, TEXT)

        dataset = self._made(path, _TEXTS, first, _TEXT_TYPE, h5s.create_simple(entries.shape))
        dataset.id.write(h5s.ALL, h5s.ALL, entries.astype(TEXT))
        return dataset

    def _made(
        self,
        path: str,
        kind: object,
        first: Callable[[h5py.Group, str], h5py.Dataset],
        numbers: h5t.TypeID,
        space: h5s.SpaceID,
    ) -> h5py.Dataset:
        folder, _, name = path.rpartition("/")
        group = self._group(folder, kind != _TEXTS)
        if kind not in self._kinds or not name.isascii():
            dataset = first(group, name)
            self._kinds[kind] = dataset.id.get_create_plist()
            return dataset
        return h5py.Dataset(h5d.create(group.id, name.encode(), numbers, space, self._kinds[kind]))

    def _group(self, path: str, ordered: bool) -> h5py.Group:
        """A group, made where there is none; it keeps the order of names if so wanted."""
        if path not in self._groups:
            folder, _, name = path.rpartition("/")
            parent = self._group(folder, ordered=True)
            self._groups[path] = parent[name] if name in parent else parent.create_group(name, track_order=ordered)
        return self._groups[path]


def set_text(dataset: h5py.Dataset, name: str, text: str) -> None:
    """Give a dataset an attribute."""
    if h5a.exists(dataset.id, name.encode()):
        dataset.attrs[name] = text
    else:
        h5a.create(dataset.id, name.encode(), _TEXT_TYPE, _ONE).write(np.asarray(text, dtype=TEXT))
