"""Tables of the model as integer arrays."""

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

Table = TypeVar("Table")


def integers(values: Iterable[Any]) -> np.ndarray:
    """The values as 64-bit integers, also where there are none."""
    return np.array(values if isinstance(values, np.ndarray) else list(values), dtype=np.int64)


def table(of: type[Table], /, **columns: Iterable[Any]) -> Table:
    """A table of ``model.layout`` with its columns as integers."""
    return of(**{name: integers(values) for name, values in columns.items()})
