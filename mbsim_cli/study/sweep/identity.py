"""What a study computes, as hashes: a case is known by the model's content, its options and the bits of its values."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.files import open_regular

WITHOUT_EFFECT = ("study", "optimization", "checks", "name", "description")  # sections that no case depends on


def content_hash(data: Mapping[str, Any], choices: Mapping[str, Any]) -> str:
    """Hash of a model file's merged content and of what was chosen for the study."""
    effective = {key: value for key, value in data.items() if key not in WITHOUT_EFFECT}
    text = json.dumps({"model": effective, "choices": dict(choices)}, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def file_hash(path: Path) -> str:
    """Hash of a file; raises InputOutputError."""
    try:
        with open_regular(path) as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        raise InputOutputError(f"cannot read {path}: {error.strerror or error}") from error


def samples_hash(values: np.ndarray) -> str:
    """Hash of the bits of all cases (N, v)."""
    return hashlib.sha256(np.ascontiguousarray(values, "<f8").tobytes()).hexdigest()


def case_identities(study: str, values: np.ndarray) -> Iterable[bytes]:
    """Identity (16 bytes) of each case: of what the study computes, by its hash, and of the row (v,) of values."""
    begun = hashlib.blake2b(study.encode(), digest_size=16)
    for row in np.ascontiguousarray(values, "<f8"):
        case = begun.copy()
        case.update(row.tobytes())
        yield case.digest()
