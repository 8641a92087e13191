"""The folder of a study: its plan, its samples, and two files of each shard, a part that a process computes."""

import contextlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic

from mbsim_cli.errors import InputOutputError, UsageError, either, flag, os_errors
from mbsim_cli.io.target import replaced
from mbsim_cli.study.sweep.study_plan import StudyPlan, is_of, read_plan, samples_hash
from mbsim_cli.system import FOLDER, HAS_HANDLES_OF_FOLDERS, lock, open_regular

# Shards: parts of a study that several processes compute, which share nothing but a folder.


@dataclass(frozen=True)
class Shard:
    """Part ``index`` of ``count``, counted from 1: every ``count``-th case."""

    index: int = 1
    count: int = 1

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def has(self, case: int) -> bool:
        """Whether a case belongs to this part."""
        return case % self.count == self.index - 1


ALL = Shard()


# The folder.

PLAN, SAMPLES, COLLECTED, FORECAST, SCRIPT = "plan.json", "samples.npy", "study.h5", "forecast.json", "job.sh"
ROWS, DATA = ".rows", ".kept"
_FIXED = ("content", "varied", "objectives", "parameters", "sensors", "full")
_RESTORED = "the command that planned the study restores it"
_LONGEST = 1e12  # largest plausible seconds, or cases, of a forecast
_CHANGED = {
    "content": "the model, or an option of its analysis, has changed",
    "varied": "other parameters vary",
    "full": "another amount is kept of each case",
}


class StudyFolder:
    """A folder by its path; nothing is read or written until it is asked for."""

    def __init__(self, path: Path):
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def is_planned(self) -> bool:
        """Whether it holds a plan."""
        return (self.path / PLAN).is_file()

    def needs(self, file: Path) -> bool:
        """Whether a file is one of those that the study consists of."""
        own = file.name in (PLAN, SAMPLES) or file.suffix in (ROWS, DATA)
        return own and file.parent == self.path.resolve()

    @property
    def collected(self) -> Path:
        """The file that all rows are collected in."""
        return self.path / COLLECTED

    def store_forecast(self, report: Mapping[str, Any]) -> None:
        """Store what the study is expected to take."""
        with replaced(self.path / FORECAST, force=True) as path:
            path.write_text(json.dumps(dict(report), indent=1) + "\n", encoding="utf-8")

    def stored_forecast(self) -> dict[str, Any] | None:
        """The stored forecast of the study's cost; None where there is none, or where it cannot be read."""
        try:
            found = json.loads(_text(self.path / FORECAST))
        except (OSError, ValueError, RecursionError):
            return None
        names = ("start_seconds", "case_seconds", "cases")
        known = isinstance(found, dict) and all(is_of(found.get(n), float) and 0 <= found[n] <= _LONGEST for n in names)
        return found if known else None

    def file(self, shard: Shard, suffix: str) -> Path:
        """The ``ROWS`` of the cases of a shard, or their further ``DATA``: what sensors showed, or result files."""
        return self.path / f"shard-{shard.index}-of-{shard.count}{suffix}"

    def files(self, suffix: str) -> list[Path]:
        """Files of all shards, in an order that does not change."""
        return sorted(self.path.glob(f"shard-*-of-*{suffix}"))

    def plan(self) -> StudyPlan:
        """The plan; raises InputOutputError."""
        path = self.path / PLAN
        try:
            return read_plan(_text(path), path)
        except FileNotFoundError:
            begins = either(f"mbsim sweep MODEL.yaml -o {shlex.quote(str(self))}", f"model.sweep(folder={str(self)!r})")
            raise InputOutputError(f"{self} holds no study; {begins} begins one") from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputOutputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error

    def values(self, plan: StudyPlan) -> np.ndarray:
        """Values (N, v) of the varied parameters; raises InputOutputError."""
        path = self.path / SAMPLES
        shape = (plan.cases, len(plan.varied))
        with os_errors(f"cannot read {path}", f"; {_RESTORED}"), open_regular(path) as file:
            values = _array(file)
        if values is None:
            raise InputOutputError(f"cannot read {path}: it holds no numbers; {_RESTORED}")
        fits = values.ndim == 2 and values.shape[1:] == shape[1:]
        if not fits or plan.samples not in ("", samples_hash(values[: plan.cases])) or len(values) < shape[0]:
            raise InputOutputError(f"{path} does not hold the {plan.cases} cases of the plan; {_RESTORED}")
        return values[: plan.cases]

    def adopt(self, plan: StudyPlan, values: np.ndarray, *, force: bool) -> StudyPlan:
        """Store a plan, or continue the one that is there: the same, or the same with fewer cases.

        Another one is refused without ``force``, which removes what was computed by it.
        """
        with os_errors(f"cannot make the folder {self}"):
            self.path.mkdir(exist_ok=True)
        with self._locked():
            if self.is_planned and not force:
                return self._continued(self.plan(), plan, values)
            if self.is_planned:  # remove it before the samples change
                own = [self.path / name for name in (PLAN, COLLECTED, FORECAST)]
                for path in [*own, *self.files(ROWS), *self.files(DATA)]:
                    with os_errors(f"cannot remove {path}"):
                        path.unlink(missing_ok=True)
            self._store(plan, values)
            return plan

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep others from changing the plan meanwhile, where the file system has locks."""
        if not HAS_HANDLES_OF_FOLDERS:
            yield
            return
        handle = os.open(self.path, os.O_RDONLY | FOLDER)
        try:
            lock(handle, waits=True)
            yield
        finally:
            os.close(handle)

    def _continued(self, before: StudyPlan, plan: StudyPlan, values: np.ndarray) -> StudyPlan:
        for name in _FIXED:
            if getattr(before, name) != getattr(plan, name):
                what = _CHANGED.get(name, f"other {name} are kept of each case")
                raise UsageError(f"{what} since the study in {self} was planned; {self._advice}")
        try:
            known = self.values(before)
        except InputOutputError:  # the same values take the place of what cannot be read
            if samples_hash(values[: before.cases]) != before.samples:
                raise
            self._store_samples(values)
            known = self.values(before)
        if len(values) < len(known) or known.tobytes() != values[: len(known)].tobytes():
            message = f"the {len(values)} cases do not begin with the {len(known)} of the study in {self}"
            raise UsageError(f"{message}; {self._advice}")
        if len(values) > len(known):
            plan = replace(plan, created=before.created, platform=before.platform)
            self._store(plan, values)
            return plan
        return before

    @property
    def _advice(self) -> str:
        as_planned = either(f"mbsim sweep {shlex.quote(str(self))}", f"mbsim.open_study({str(self)!r}).compute()")
        return f"name another folder, continue as planned by {as_planned}, or start again by {flag('force')}"

    def _store_samples(self, values: np.ndarray) -> None:
        with replaced(self.path / SAMPLES, force=True) as path, path.open("wb") as file:
            np.save(file, np.ascontiguousarray(values, dtype=np.float64))

    def _store(self, plan: StudyPlan, values: np.ndarray) -> None:
        self._store_samples(values)
        with replaced(self.path / PLAN, force=True) as path:
            path.write_text(plan.text(), encoding="utf-8")


def _array(file: BinaryIO) -> np.ndarray | None:
    """The array of float64 that a file holds, which must be as long as its header says; None where it holds none."""
    try:
        header = {(1, 0): read_array_header_1_0, (2, 0): read_array_header_2_0}[read_magic(file)]
        shape, transposed, dtype = header(file)
    except OSError:
        raise
    except Exception:  # the header is a text of Python's, whose parts raise whatever they are built on
        return None
    size = os.fstat(file.fileno()).st_size - file.tell()
    if dtype != np.float64 or prod(shape) * dtype.itemsize != size:
        return None
    return np.frombuffer(file.read(size), dtype).reshape(shape, order="F" if transposed else "C")


def _text(path: Path) -> str:
    """Content of a file; raises OSError, also where it is a pipe or a device, and UnicodeDecodeError."""
    with open_regular(path) as file:
        return file.read().decode()
