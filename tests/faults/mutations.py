"""Damage to files: at random bytes, and by someone who knows the format."""

import random
from pathlib import Path

import h5py
import numpy as np

LARGE = (10**6, 10**9, 10**12, 10**15)
TEXTS = ("", "\x1b[31m$x_{$", "a\nb", "x" * 3000, "é$\\frac{", "\x9b2J")
NUMBERS = (np.nan, np.inf, -1e308, 1e308, 0.0, -5.0)
OTHERS = (
    1.0,
    "text",
    np.zeros((3, 2)),
    np.array([b"a", b"b"]),
    np.array([], float),
    h5py.Empty("f8"),
    np.zeros(3, "c16"),
    np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    np.zeros((2, 2, 2, 2, 2)),
)


def bytes_of(data: bytes, choose: random.Random) -> bytes:
    """Cut off, changed here and there, or with a hole."""
    damaged, way = bytearray(data), choose.randrange(4)
    if way == 0:
        return data[: choose.randrange(len(data))]
    if way == 1:
        for _ in range(choose.choice([1, 3, 10, 100])):
            damaged[choose.randrange(len(data))] = choose.randrange(256)
    else:
        first = choose.randrange(min(len(data), 20_000) if way == 2 else len(data))
        size = min(choose.choice([1, 8, 64, 4096]), len(data) - first)
        damaged[first : first + size] = bytes([choose.choice([0, 255])]) * size
    return bytes(damaged)


def result(path: Path, choose: random.Random) -> None:
    """Change one or two things in a result as its format does not allow."""
    with h5py.File(path, "r+") as file:
        paths: list[str] = []
        file.visit(paths.append)
        for _ in range(choose.choice([1, 1, 2])):
            place = choose.choice(paths)
            if place in file:
                try:
                    choose.choice(WAYS)(file, place, paths, choose)
                except (OSError, RuntimeError, ValueError, TypeError, KeyError, OverflowError):
                    continue  # HDF5 itself refuses


def _remove(file, place, paths, choose):
    del file[place]


def _another(file, place, paths, choose):
    del file[place]
    file[place] = choose.choice(OTHERS)


def _elsewhere(file, place, paths, choose):
    del file[place]
    file[place] = choose.choice([h5py.ExternalLink("/etc/passwd", "/x"), h5py.SoftLink("/time"), h5py.SoftLink("/no")])


def _twin(file, place, paths, choose):
    del file[place]
    file[place] = file[choose.choice(paths)]


def _circle(file, place, paths, choose):
    group = file[place] if isinstance(file[place], h5py.Group) else file[place].parent
    group["circle"] = group


def _attribute(file, place, paths, choose):
    item = choose.choice([file, file[place]])
    item.attrs[choose.choice([*item.attrs, "unit"])] = choose.choice([99, "x" * 5000, np.zeros(4), h5py.Empty("f8")])


def _huge(file, place, paths, choose):
    del file[place]
    file.create_dataset(place, shape=(choose.choice(LARGE),), dtype="f8", chunks=(1000,), compression="gzip")


def _external(file, place, paths, choose):
    del file[place]
    file.create_dataset(place, shape=(10,), dtype="f8", external=[("/etc/passwd", 0, 80)])


def _more(file, place, paths, choose):
    file[choose.choice(["new", "sensors/new", "objectives/new", "meta/new", "units/time"])] = choose.choice(OTHERS)


def _content(file, place, paths, choose):
    item = file[place]
    if isinstance(item, h5py.Dataset) and item.size:
        if item.dtype.kind in "iuf":
            item[...] = choose.choice(NUMBERS)
        else:
            item[...] = choose.choice(TEXTS)


WAYS = (_remove, _another, _elsewhere, _twin, _circle, _attribute, _huge, _external, _more, _content)
