"""The findings of a fit with its readings, as a JSON file for ``mbsim report`` and other programs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import mbsim_cli
from mbsim_cli.errors import InputOutputError
from mbsim_cli.io.target import checked, replaced
from mbsim_cli.system import judged, open_regular

FORMAT, VERSION = "mbsim-fit", 1
LISTS = ("time", "measured", "computed", "residuals")  # of a column of readings, of one length
_NUMBERS = ("start", "value", "standard_error")  # of a parameter; null where a number is not determined


def check_fit(path: Path, *, force: bool) -> Path:
    """Return the resolved target, or raise where a fit must not or cannot be written."""
    return checked(path, force, is_fit, "fit.json", "a fit")


def is_fit(path: Path) -> bool:
    """Whether a file holds the findings of a fit."""
    return judged(path, lambda file: file.read(64).startswith(f'{{"format": "{FORMAT}"'.encode()))


def write_fit(target: Path, report: Mapping[str, Any], *, force: bool) -> None:
    """Write a report of plain data with its ``readings``, in the place of an earlier one; raises InputOutputError."""
    head = {"format": FORMAT, "format_version": VERSION, "mbsim_version": mbsim_cli.__version__}
    text = json.dumps(_finite(head | dict(report)), allow_nan=False)
    with replaced(target, is_own=is_fit, force=force) as path:
        path.write_text(text + "\n", "utf-8")


def _finite(value: Any) -> Any:
    """Plain data whose numbers JSON can say: those that are not finite are null."""
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return _finite(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def read_fit(path: Path) -> dict[str, Any]:
    """The findings of a fit, its readings as arrays; raises InputOutputError."""
    try:
        with open_regular(path) as file:
            found = json.load(file)
        if found["format"] != FORMAT or found["format_version"] != VERSION:
            raise ValueError(f"it is no fit of version {VERSION} of the format")
        for readings in found["readings"]:
            readings |= {key: np.array(readings[key], dtype=float).reshape(-1) for key in LISTS}
            if len({len(readings[key]) for key in LISTS}) != 1:
                raise ValueError("its readings have several lengths")
        for entry in found["fit"]["parameters"].values():
            entry |= {key: np.nan if entry[key] is None else float(entry[key]) for key in _NUMBERS}
    except FileNotFoundError as error:
        raise InputOutputError(f"there is no file {path}") from error
    except OSError as error:
        raise InputOutputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputOutputError(f"{path} is no fit that mbsim wrote, or is damaged") from error
    return found
