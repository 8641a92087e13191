"""The plan of a study: everything that its rows depend on, and nothing that changes while they are computed."""

import hashlib
import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from mbsim_cli.errors import InputOutputError, os_errors
from mbsim_cli.study.assembling import Settings
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
    """Entries that cannot be what was stored, by name: a checksum shows damage, and not who wrote the file."""
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
    with os_errors(f"cannot read {path}"), open_regular(path) as file:
        return hashlib.sha256(file.read()).hexdigest()


def samples_hash(values: np.ndarray) -> str:
    """Hash of the bits of all cases (N, v)."""
    return hashlib.sha256(np.ascontiguousarray(values, "<f8").tobytes()).hexdigest()
