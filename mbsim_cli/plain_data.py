"""Plain data: what JSON can say of mappings, sequences, arrays and numbers."""

import math
from collections.abc import Callable, Mapping
from typing import Any


def plain(value: Any, of_array: Callable[[Any], Any] | None = None) -> Any:
    """Mappings, lists and finite numbers of Python, or null; ``of_array`` writes arrays of numpy, by default lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry, of_array) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry, of_array) for entry in value]
    if hasattr(value, "tolist"):
        if of_array is not None and getattr(value, "ndim", False):  # 0 of numbers of numpy
            return of_array(value)
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
