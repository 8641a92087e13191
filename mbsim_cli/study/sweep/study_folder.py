"""The plan of a study, and the folder that keeps it with its progress."""

import contextlib
import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import isfinite, prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic

from mbsim_cli.errors import InputOutputError, UsageError, either, flag
from mbsim_cli.io.target import replaced
from mbsim_cli.system import FOLDER, HAS_HANDLES_OF_FOLDERS, lock, open_regular

# The plan of a study: everything that its rows depend on, and nothing that changes while they are computed.

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
_NAMED = ("texts", "tables", "platform")  # texts by names
_WORDS = ("study", "content", "folder", "file", "command", "created", "mbsim_version", "samples")
_NUMBERS = ("tolerance", "accuracy", "duration", "memory")
_CHOICES = ("formulation", "integrator", "method")
MOST_CASES = 10**12


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
    """Entries that cannot be what was stored, by name: a checksum shows damage, and not who wrote the file."""
    yield from (name for name in _WORDS if not _is_text(getattr(plan, name)))
    yield from (name for name in _NAMED if not _are_texts(getattr(plan, name)))
    for name in _QUANTITIES:
        listed = getattr(plan, name)
        words = [word for each in listed for word in (each.name, each.unit, *each.components)]
        if not all(map(_is_text, words)) or len({each.name for each in listed}) < len(listed):
            yield name
    if type(plan.cases) is not int or not 0 <= plan.cases <= MOST_CASES:
        yield "cases"
    if type(plan.full) is not bool:
        yield "full"
    if not isinstance(plan.sampler, Mapping):
        yield "sampler"
    if not isinstance(plan.settings, Mapping):
        yield "settings"
        return
    for name, value in plan.settings.items():
        if not _is_setting(name, value):
            yield f"settings.{name}"


def _is_setting(name: str, value: Any) -> bool:
    if name == "overrides":
        return _are_texts(value)
    if name in _CHOICES:
        return value is None or _is_text(value)
    if name == "step" and isinstance(value, str):
        return _is_text(value)
    if name in ("step", *_NUMBERS):
        return value is None or (type(value) in (int, float) and isfinite(value))
    if name in ("by", "without"):
        return value is None or (isinstance(value, (list, tuple)) and all(map(_is_text, value)))
    return name == "all_numbers" and type(value) is bool


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value and not any("\ud800" <= sign <= "\udbff" for sign in value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, (*value, *value.values())))


# The command that repeats one case of a study.

_OPTIONS = ("formulation", "integrator", "tolerance", "step", "duration")


def command_of(plan: StudyPlan, values: Sequence[float]) -> str:
    """Command line of ``mbsim run`` with the exact values (v,) of the case."""
    from mbsim_cli.spec.reading.source import is_key

    settings = plan.settings
    chosen = {column.name: repr(float(value)) for column, value in zip(plan.varied, values, strict=True)}
    words = ["mbsim", "run", str(plan.path)]
    for name, value in {**settings.get("overrides", {}), **chosen}.items():
        words += ["-s", f"{name[1:]}={value}"] if is_key(name) else ["-p", f"{name}={value}"]
    for name in _OPTIONS:
        if settings.get(name) is not None:
            words += [f"--{name}", str(settings[name])]
    return shlex.join([*words, "--sensitivity", settings["method"]])


# Identities of cases: hashes of the model's content, its options and the bits of the case's values.

# sections that no case depends on
WITHOUT_EFFECT = ("study", "optimization", "measurements", "fit", "checks", "name", "description")


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


# Shards: parts of a study that several processes compute, which share nothing but a folder.

_ARRAY = "SLURM_ARRAY_TASK_"


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

    @property
    def stem(self) -> str:
        """The beginning of the names of its files."""
        return f"shard-{self.index}-of-{self.count}"


ALL = Shard()


def shard_of(text: str | None, environment: Mapping[str, str]) -> Shard:
    """The part that ``--shard I/N`` names, else that of a task of a SLURM array, else all.

    Tasks of an array count from any number, in any step.
    """
    if text is not None:
        index, slash, number = text.partition("/")
        if not (slash and index.strip().isdecimal() and number.strip().isdecimal() and 1 <= int(index) <= int(number)):
            raise UsageError(f"--shard wants I/N with I from 1 to N, not '{text}'")
        return Shard(int(index), int(number))
    if f"{_ARRAY}ID" not in environment or f"{_ARRAY}COUNT" not in environment:
        return ALL
    try:
        task, count = int(environment[f"{_ARRAY}ID"]), int(environment[f"{_ARRAY}COUNT"])
        first, step = int(environment.get(f"{_ARRAY}MIN", 1)), max(1, int(environment.get(f"{_ARRAY}STEP", 1)))
        last = int(environment.get(f"{_ARRAY}MAX", first + (count - 1) * step))
    except ValueError:
        raise UsageError("the variables SLURM_ARRAY_TASK_* are no numbers; give --shard I/N") from None
    place, rest = divmod(task - first, step)
    if rest or not 0 <= place < count or last != first + (count - 1) * step:  # in such an array no task begins
        message = f"task {task} of a SLURM array of {count} from {first} to {last} names no part of the study"
        raise UsageError(f"{message}; give --shard I/N")
    return Shard(place + 1, count)


# The folder of a study: its plan, its samples, and two files of each shard.

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
        if not isinstance(found, dict):
            return None
        numbers: list[Any] = [found.get(name) for name in ("start_seconds", "case_seconds", "cases")]
        known = all(type(number) in (int, float) and 0 <= number <= _LONGEST for number in numbers)
        return found if known else None

    def rows_file(self, shard: Shard) -> Path:
        """The rows of the cases of a shard."""
        return self.path / (shard.stem + ROWS)

    def data_file(self, shard: Shard) -> Path:
        """Further data of the cases of a shard: what sensors showed, or result files."""
        return self.path / (shard.stem + DATA)

    def files(self, suffix: str) -> list[Path]:
        """Files of all shards, in an order that does not change."""
        return sorted(self.path.glob(f"shard-*-of-*{suffix}"))

    def plan(self) -> StudyPlan:
        """The plan; raises InputOutputError."""
        path = self.path / PLAN
        try:
            return read_plan(_text(path), path)
        except FileNotFoundError:
            begins = either(f"mbsim sweep MODEL.yaml -o {self}", f"model.sweep(folder={str(self)!r})")
            raise InputOutputError(f"{self} holds no study; {begins} begins one") from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputOutputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error

    def values(self, plan: StudyPlan) -> np.ndarray:
        """Values (N, v) of the varied parameters; raises InputOutputError."""
        path = self.path / SAMPLES
        wanted = (plan.cases, len(plan.varied))
        try:
            with open_regular(path) as file:
                values = _array(file)
        except OSError as error:
            raise InputOutputError(f"cannot read {path}: {error.strerror or error}; {_RESTORED}") from error
        if values is None:
            raise InputOutputError(f"cannot read {path}: it holds no numbers; {_RESTORED}")
        fits = values.ndim == 2 and values.shape[1:] == wanted[1:]
        if not fits or plan.samples not in ("", samples_hash(values[: plan.cases])) or len(values) < wanted[0]:
            raise InputOutputError(f"{path} does not hold the {plan.cases} cases of the plan; {_RESTORED}")
        return values[: plan.cases]

    def adopt(self, plan: StudyPlan, values: np.ndarray, *, force: bool) -> StudyPlan:
        """Store a plan, or go on with the one that is there: the same, or the same with fewer cases.

        Another one is refused without ``force``, which removes what was computed by it.
        """
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise InputOutputError(f"cannot make the folder {self}: {error.strerror}") from error
        with self._locked():
            if self.is_planned and not force:
                return self._continued(self.plan(), plan, values)
            if self.is_planned:  # remove it before the samples change
                own = [self.path / name for name in (PLAN, COLLECTED, FORECAST)]
                for path in [*own, *self.files(ROWS), *self.files(DATA)]:
                    try:
                        path.unlink(missing_ok=True)
                    except OSError as error:
                        raise InputOutputError(f"cannot remove {path}: {error.strerror}") from error
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
        as_planned = either(f"mbsim sweep {self}", f"mbsim.open_study({str(self)!r}).compute()")
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
    left = os.fstat(file.fileno()).st_size - file.tell()
    if dtype != np.float64 or prod(shape) * dtype.itemsize != left:
        return None
    return np.frombuffer(file.read(left), dtype).reshape(shape, order="F" if transposed else "C")


def _text(path: Path) -> str:
    """Content of a file; raises OSError, also where it is a pipe or a device, and UnicodeDecodeError."""
    with open_regular(path) as file:
        return file.read().decode()
