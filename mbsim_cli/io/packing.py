"""Rows into datasets. Columns that are there as a whole are compressed beside one another, and once where two datasets
hold the same: HDF5 compresses one chunk after the other, which takes longer than all else that a short run writes.
"""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import h5py
import numpy as np

from mbsim_cli.io import skeleton
from mbsim_cli.processors import helpful

MOST_THREADS = 8


class Packing(NamedTuple):
    """A column, and the chunks that it is cut into."""

    column: int  # id of the array
    shape: tuple[int, ...]
    dtype: np.dtype


def extend(datasets: Sequence[h5py.Dataset], first: int, columns: Sequence[np.ndarray]) -> Iterator[None]:
    """Write rows (B, ...) from ``first`` on, one dataset at a time."""
    packings = [_packing(dataset, values, first) for dataset, values in zip(datasets, columns, strict=True)]
    with _packed(packings, columns) as chunks:
        for dataset, values, packing in zip(datasets, columns, packings, strict=True):
            if packing is None:
                skeleton.extend(dataset, first, values)
            else:
                _place(dataset, len(values), packing, chunks[packing])
            yield


def _packing(dataset: h5py.Dataset, values: np.ndarray, first: int) -> Packing | None:
    """How a column is compressed here; None where it is not, or begins in the midst of a dataset."""
    compressed = first == 0 and dataset.id.get_create_plist().get_nfilters()
    return Packing(id(values), dataset.chunks, dataset.dtype) if compressed else None


@contextmanager
def _packed(packings: Sequence[Packing | None], columns: Sequence[np.ndarray]):
    """Chunks in the making."""
    wanted = {packing: values for packing, values in zip(packings, columns, strict=True) if packing}
    if not wanted:
        yield {}
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(helpful(MOST_THREADS)) as pool:
        yield {
            packing: [
                pool.submit(_compressed, values[first:], packing) for first in range(0, len(values), packing.shape[0])
            ]
            for packing, values in wanted.items()
        }


def _compressed(values: np.ndarray, packing: Packing) -> bytes:
    """The first chunk of a column, in which zeros stand for rows that are missing; other threads run meanwhile."""
    content = np.ascontiguousarray(values[: packing.shape[0]], packing.dtype)
    if content.shape != packing.shape:
        content = np.concatenate(
            [content, np.zeros((packing.shape[0] - len(content), *packing.shape[1:]), packing.dtype)]
        )
    return zlib.compress(content.data, skeleton.LEVEL)


def _place(dataset: h5py.Dataset, count: int, packing: Packing, chunks: Sequence) -> None:
    rows, *widths = packing.shape
    dataset.id.set_extent((count, *widths))
    for number, chunk in enumerate(chunks):
        dataset.id.write_direct_chunk((number * rows, *(0 for _ in widths)), chunk.result())
