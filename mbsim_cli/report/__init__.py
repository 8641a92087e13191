"""Pictures, films and pages of results. Only this package imports matplotlib, an extra that pages do not need."""

import os
from collections.abc import Sequence
from pathlib import Path

from mbsim_cli.errors import UsageError


def picture_kind(path: Path, kinds: Sequence[str] = ("png", "svg", "pdf")) -> str:
    """Kind of picture by the suffix of a file name; raises UsageError."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in kinds:
        raise UsageError(f"{path}: a picture ends in {', '.join('.' + known for known in kinds)}")
    return kind


def require_matplotlib() -> None:
    """Raise UsageError where matplotlib or Pillow is not installed."""
    os.environ.pop("MPLBACKEND", None)  # not needed for files, and an unknown name would raise
    try:
        import matplotlib  # noqa: F401
        import PIL  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"drawing needs {error.name}; in a clone of mbsim install it with: pip install '.[plot]'"
        ) from error
