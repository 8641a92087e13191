"""The plan of a study: everything that its rows depend on, and nothing that changes while they are computed."""

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import InputOutputError
from mbsim_cli.system import open_regular

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


# Hashes of a study's content: the model but for sections that no case depends on, options, files, values.
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
