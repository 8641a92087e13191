"""Kernels that numba has not heard of yet."""

from collections.abc import Callable
from typing import Any

__all__ = ["FORMS", "KERNELS"]

KERNELS: list[tuple[Any, Callable, bool]] = []  # what calls name, the function, whether its code is put into callers
FORMS: list[tuple[Callable, Callable]] = []  # functions with what chooses their compiled forms
