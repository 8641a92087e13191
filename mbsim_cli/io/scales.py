"""Axes of a result file, kept at hand: to open one again takes as long as to create a dataset."""

from collections.abc import Sequence

import h5py
import numpy as np

from mbsim_cli.io.datasets import Datasets

_REFERENCES = h5py.h5t.py_create(h5py.vlen_dtype(h5py.ref_dtype), logical=True)
MOST_LISTED = 1000  # datasets that a scale lists; HDF5 copies the list for each, and has room for some 4000


class Scales:
    """Dimension scales in the root of a file that is written."""

    def __init__(self, file: h5py.File):
        self.file, self.datasets = file, Datasets(file)
        self._scales: dict[str, h5py.Dataset] = {}
        self._listed: dict[str, int] = {}  # datasets that each scale lists
        self._referring: dict[tuple[str, ...], np.ndarray] = {}

    def length(self, name: str) -> int:
        """Number of labels of an axis."""
        return len(self._scale(name))

    def _scale(self, name: str) -> h5py.Dataset:
        if name not in self._scales:
            self._scales[name] = self.file[name]
            self._listed[name] = _listed(self._scales[name])
        return self._scales[name]

    def attach(self, dataset: h5py.Dataset, names: Sequence[str]) -> None:
        """Label each dimension of a dataset with a scale, which lists the dataset while it has room.

        Readers go from a dataset to its scales; the way back is for programs that delete or move scales.
        """
        scales = [self._scale(name) for name in names]
        for dimension, name in enumerate(names):  # by the functions of HDF5: a walk over dataset.dims takes longer
            h5py.h5ds.set_label(dataset.id, dimension, name.encode())
        if max(self._listed[name] for name in names) < MOST_LISTED:
            for dimension, (name, scale) in enumerate(zip(names, scales, strict=True)):
                h5py.h5ds.attach_scale(dataset.id, scale.id, dimension)
                self._listed[name] += 1
        else:
            space = h5py.h5s.create_simple((len(scales),))
            h5py.h5a.create(dataset.id, b"DIMENSION_LIST", _REFERENCES, space).write(self._references(tuple(names)))

    def _references(self, names: tuple[str, ...]) -> np.ndarray:
        """References to scales, as datasets list them."""
        if names not in self._referring:
            references = np.empty(len(names), object)
            references[:] = [np.array([self._scale(name).ref], h5py.ref_dtype) for name in names]
            self._referring[names] = references.astype(h5py.vlen_dtype(h5py.ref_dtype))
        return self._referring[names]


def attach(dataset: h5py.Dataset, names: Sequence[str]) -> None:
    """Label each dimension of one dataset with a scale."""
    Scales(dataset.file).attach(dataset, names)


def _listed(scale: h5py.Dataset) -> int:
    name = b"REFERENCE_LIST"
    return h5py.h5a.open(scale.id, name).shape[0] if h5py.h5a.exists(scale.id, name) else 0
