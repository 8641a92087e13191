"""Analyses of a search on the disk, so that the same command continues where it was killed.

The file, ``OUT.h5.designs`` of an optimisation, exists until the result is complete. Its first frame says what the
analyses depend on; each other frame holds one analysis. A search is deterministic: it asks for the same designs again.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mbsim_cli
from mbsim_cli.errors import InputOutputError
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.evaluation import Gradient
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.sweep.frames import Appender, read_frames
from mbsim_cli.study.sweep.study_folder import content_hash, effective, file_hash

Results = Mapping[str, Gradient]
Analyse = Callable[[np.ndarray], Any]  # the analysis of values (v,)


def identity_of(
    model_file: ModelFile, settings: Settings, varied: Sequence[Any], files: Sequence[Path] = (), **others: Any
) -> bytes:
    """Hash of all that analyses of a search depend on beside values: model, tables, ``files``, settings, ``others``."""
    tables = [file_hash(table) for table in (*model_file.tables, *files)]
    choices = {"settings": effective(asdict(settings)), "tables": tables, "varied": list(varied)}
    return content_hash(model_file.source.data(), choices | {"version": mbsim_cli.__version__} | others).encode()


class Kind(NamedTuple):
    """The kind of a log: its first bytes, its names for users, and the form of analyses, whose version ``head`` has.

    ``split`` parts an analysis of v values into data for JSON and numbers (k, 1 + v), which ``joined`` puts together.
    """

    head: bytes
    command: str
    does: str
    analyses: str
    split: Callable[[Any], tuple[Any, Any]]
    joined: Callable[[Any, np.ndarray], Any]


def _joined(undefined: Mapping[str, Mapping[str, str]], rows: np.ndarray) -> Results:
    return {
        name: Gradient(float(row[0]), row[1:].copy(), undefined=dict(why))
        for (name, why), row in zip(undefined.items(), rows, strict=True)
    }


def _split(results: Results) -> tuple[Any, Any]:
    """Sentences on missing derivatives, and of each objective its value and derivatives (v,)."""
    undefined = {name: dict(result.undefined) for name, result in results.items()}
    return undefined, [[result.value, *result.gradient] for result in results.values()]


DESIGNS = Kind(b"mbsim designs 1\n", "mbsim optimize", "optimizes", "designs", _split, _joined)


class Log:
    """``analyse`` with a memory on the disk; ``force`` starts again whatever is there."""

    def __init__(
        self, path: Path, identity: bytes, analyse: Analyse, listener: Listener, *, force: bool, kind: Kind = DESIGNS
    ):
        self._path, self._analyse, self._listener, self._kind = path, analyse, listener, kind
        self._known = self._read(kind.head + identity, force)
        self._is_empty = len(self._known) < 2  # beside what the analyses depend on
        self._file: Appender | None = Appender(path, f"another process {kind.does}: it writes to {path}")
        if not self._known:
            self._append(kind.head + identity)

    def __call__(self, values: np.ndarray) -> Any:
        """Objectives with derivatives at values (v,), known or computed and kept; raises what ``analyse`` does."""
        key = np.ascontiguousarray(values, "<f8").tobytes().hex().encode()
        if found := self._decoded(self._known.get(key, b""), len(values)):
            return found
        results, self._is_empty = self._analyse(values), False
        about, numbers = self._kind.split(results)
        self._append(b"\n".join([key, json.dumps(about).encode(), np.asarray(numbers, "<f8").tobytes()]))
        return results

    def _decoded(self, content: bytes, values: int) -> Any:
        """The analysis that a frame holds: a line of its values, one of JSON, and numbers; None for other content."""
        try:
            _, about, numbers = content.split(b"\n", 2)
            return self._kind.joined(json.loads(about), np.frombuffer(numbers, "<f8").reshape(-1, 1 + values))
        except (ValueError, TypeError, AttributeError, RecursionError):
            return None

    def _read(self, head: bytes, force: bool) -> dict[bytes, bytes]:
        """Contents of the frames by the values that they are of, nothing where there are none of this search."""
        if not self._path.exists():
            return {}
        frames = [content for _, content in read_frames(self._path)]
        if self._path.stat().st_size and not (frames and frames[0].startswith(self._kind.head.rpartition(b" ")[0])):
            raise InputOutputError(f"{self._path} exists and is not a log of {self._kind.command}; move it away")
        if force or not frames or frames[0] != head:
            if not force and frames:
                other = "are of another model, other options or another version of mbsim"
                self._listener.say(f"{self._kind.analyses} in {self._path} {other}: the search starts again")
            self._path.unlink()
            return {}
        if len(frames) > 1:
            known = f"{len(frames) - 1} {self._kind.analyses} of an earlier search"
            self._listener.say(f"{known} are read from {self._path}")
        return {content.partition(b"\n")[0]: content for content in frames}

    def _append(self, content: bytes) -> None:
        """Keep an analysis; a disk that is full ends the log, and not the search."""
        if self._file is None:
            return
        try:
            self._file.append(content)
        except InputOutputError as error:
            self._listener.warn(f"warning: {self._kind.analyses} are not kept any more: {error}")
            self.close()

    def close(self) -> None:
        """Write no more; a log without an analysis is removed."""
        if self._file is not None:
            file, self._file = self._file, None
            with suppress(InputOutputError):
                file.close()
            if self._is_empty:
                self._path.unlink(missing_ok=True)

    def remove(self) -> None:
        """The search has come to its end, and its result is complete."""
        self.close()
        self._path.unlink(missing_ok=True)
