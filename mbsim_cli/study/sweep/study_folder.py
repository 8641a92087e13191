"""The folder of a study: its plan, its samples, and two files of each shard, a part that a process computes.

The plan is everything that rows depend on, and nothing that changes while they are computed.
"""

import contextlib
import hashlib
import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, BinaryIO, get_args, get_origin, get_type_hints

import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError, either, flag, os_errors
from mbsim_cli.io.target import replaced
from mbsim_cli.spec.reading.source import MARK, is_key
from mbsim_cli.study.assembling import Settings
from mbsim_cli.system import FOLDER, HAS_HANDLES_OF_FOLDERS, lock, open_regular

FORMAT, VERSION = "mbsim-study-plan", 1


@dataclass(frozen=True)
class Quantity:
    """A number with a name and a unit; a sensor has labels of its components."""

    name: str
    unit: str = ""
    components: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyPlan:
    """The plan of a study; names of files are relative to ``folder``, that of the model file."""

    study: str
    sampler: Mapping[str, Any]  # how the cases were stated
    cases: int
    varied: Sequence[Quantity]
    objectives: Sequence[Quantity]
    parameters: Sequence[Quantity]  # that gradients are taken by
    sensors: Sequence[Quantity]  # kept along time
    full: bool  # whether the result file of each case is kept
    content: str  # hash of all that a case depends on, except its values
    folder: str
    file: str
    texts: Mapping[str, str]
    tables: Mapping[str, str]  # hashes of files of numbers
    settings: Mapping[str, Any]  # that replace those of the file
    command: str
    created: str
    mbsim_version: str
    samples: str = ""  # hash of the values of the cases
    platform: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The model file."""
        return Path(self.folder, self.file)

    @property
    def numbers(self) -> int:
        """Numbers of a row: of each objective its value and its derivatives."""
        return len(self.objectives) * (1 + len(self.parameters))

    @property
    def keeps(self) -> bool:
        """Whether more than a row is kept of a case."""
        return self.full or bool(self.sensors)

    def text(self) -> str:
        """The plan as it is stored."""
        data = asdict(self)
        about = {"format": FORMAT, "format_version": VERSION, "checksum": _checksum(data)}
        return json.dumps(about | data, indent=1) + "\n"


def _checksum(data: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


_QUANTITIES = ("varied", "objectives", "parameters", "sensors")
MOST_CASES, LARGEST = 10**12, sys.float_info.max


def read_plan(text: str, where: Path) -> StudyPlan:
    """The plan that a text holds; raises InputOutputError where it holds none."""
    try:
        data = json.loads(text)
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise ValueError("it is not the plan of a study")
        if data.pop("format_version") != VERSION:
            raise ValueError("another version of mbsim wrote it")
        if data.pop("checksum", None) not in (None, _checksum(data)):
            raise ValueError("it is not what was stored")
        for entry in (entry for name in _QUANTITIES for entry in data[name]):
            if not isinstance(entry["components"], list):
                raise ValueError(f"components of {entry['name']!r} are no list")
            entry["components"] = tuple(entry["components"])
        plan = StudyPlan(**data | {name: [Quantity(**entry) for entry in data[name]] for name in _QUANTITIES})
        for wrong in _wrong_entries(plan):
            raise ValueError(f"its {wrong} is not what a plan has there")
        return plan
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        way_out = f"remove it and repeat the command that planned the study: rows in {where.parent} stay valid"
        raise InputOutputError(f"cannot read the plan {where}: {error}; {way_out}") from error


def _wrong_entries(plan: StudyPlan) -> Iterator[str]:
    """Names of entries that no plan can have: a checksum shows damage, but not who wrote the file."""
    yield from (name for name, kind in get_type_hints(StudyPlan).items() if not is_of(getattr(plan, name), kind))
    yield from (n for n in _QUANTITIES if len({each.name for each in getattr(plan, n)}) < len(getattr(plan, n)))
    kinds = get_type_hints(Settings)
    yield from (f"settings.{n}" for n, value in plan.settings.items() if n not in kinds or not is_of(value, kinds[n]))


def is_of(value: Any, kind: Any) -> bool:
    """Whether a value that was read can be one of an annotated type."""
    of, parts = get_origin(kind), get_args(kind)
    if of is UnionType:
        return any(is_of(value, part) for part in parts)
    if of is Mapping:
        return isinstance(value, Mapping) and all(is_of(k, parts[0]) and is_of(v, parts[1]) for k, v in value.items())
    if of in (Sequence, tuple):
        return isinstance(value, list | tuple) and all(is_of(part, parts[0]) for part in value)
    if kind is str:
        return isinstance(value, str) and not any(sign == "\0" or "\ud800" <= sign <= "\udbff" for sign in value)
    if kind is float:
        return type(value) in (int, float) and abs(value) <= LARGEST
    if kind is int:
        return type(value) is int and 0 <= value <= MOST_CASES
    if is_dataclass(kind):
        return all(is_of(getattr(value, name), part) for name, part in get_type_hints(kind).items())
    return kind is Any or type(value) is kind


# Hashes of a study's content: the model but for sections that no case depends on, options, files, values.
WITHOUT_EFFECT = ("study", "optimization", "measurements", "fit", "checks", "name", "description")


def effective(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of analyses but for values of keys (``--set``) that no case depends on."""
    values = settings.get("overrides", {})
    kept = {k: v for k, v in values.items() if not is_key(k) or k.split(MARK)[1] not in WITHOUT_EFFECT}
    others = {name: value for name, value in settings.items() if name != "overrides"}
    return others | ({"overrides": kept} if kept else {})


def content_hash(data: Mapping[str, Any], choices: Mapping[str, Any]) -> str:
    """Hash of a model file's merged content and of the choices of the study."""
    kept = {key: value for key, value in data.items() if key not in WITHOUT_EFFECT}
    text = json.dumps({"model": kept, "choices": dict(choices)}, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def file_hash(path: Path) -> str:
    """Hash of a file; raises InputOutputError."""
    with os_errors(f"cannot read {path}"), open_regular(path) as file:
        return hashlib.sha256(file.read()).hexdigest()


def samples_hash(values: np.ndarray) -> str:
    """Hash of the bits of all cases (N, v)."""
    return hashlib.sha256(np.ascontiguousarray(values, "<f8").tobytes()).hexdigest()


@dataclass(frozen=True)
class Shard:
    """Part ``index`` of ``count``, counted from 1: every ``count``-th case; processes share nothing but a folder."""

    index: int = 1
    count: int = 1

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def has(self, case: int) -> bool:
        """Whether a case belongs to this part."""
        return case % self.count == self.index - 1


ALL = Shard()


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
        except NotADirectoryError:
            raise InputOutputError(f"{self} is a file, and holds no study: a study is a folder") from None
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
        as_planned = either(f"mbsim sweep {shlex.quote(str(self))}", f"mbsim.open_study({str(self)!r}).compute()")
        advice = f"name another folder, continue as planned by {as_planned}, or start again by {flag('force')}"
        for name in _FIXED:
            if getattr(before, name) != getattr(plan, name):
                what = _CHANGED.get(name, f"other {name} are kept of each case")
                raise UsageError(f"{what} since the study in {self} was planned; {advice}")
        try:
            known = self.values(before)
        except InputOutputError:  # the same values take the place of what cannot be read
            if samples_hash(values[: before.cases]) != before.samples:
                raise
            self._store_samples(values)
            known = self.values(before)
        if len(values) < len(known) or known.tobytes() != values[: len(known)].tobytes():
            message = f"the {len(values)} cases do not begin with the {len(known)} of the study in {self}"
            raise UsageError(f"{message}; {advice}")
        if len(values) > len(known):
            plan = replace(plan, created=before.created, platform=before.platform)
            self._store(plan, values)
            return plan
        return before

    def _store_samples(self, values: np.ndarray) -> None:
        with replaced(self.path / SAMPLES, force=True) as path, path.open("wb") as file:
            np.save(file, np.ascontiguousarray(values, dtype=np.float64))

    def _store(self, plan: StudyPlan, values: np.ndarray) -> None:
        self._store_samples(values)
        with replaced(self.path / PLAN, force=True) as path:
            path.write_text(plan.text(), encoding="utf-8")


def _array(file: BinaryIO) -> np.ndarray | None:
    """The array of float64 that a file holds, which must end with it; None where it holds none."""
    try:
        values = np.load(file, allow_pickle=False)
    except OSError:
        raise
    except Exception:  # the header is a text of Python's, whose parts raise whatever they are built on
        return None
    return None if not isinstance(values, np.ndarray) or values.dtype != np.float64 or file.read(1) else values


def _text(path: Path) -> str:
    """Content of a file; raises OSError, also where it is a pipe or a device, and UnicodeDecodeError."""
    with open_regular(path) as file:
        return file.read().decode()
