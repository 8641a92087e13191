"""Contiguous arrays seen in another shape; ``compiler.views_compiled`` does it without a call."""

__all__ = ["as_column", "flat"]


def flat(array):
    """All numbers of an array in one row (size,)."""
    return array.reshape(-1)


def as_column(array):
    """All numbers of an array as one column (size, 1)."""
    return array.reshape(-1, 1)
