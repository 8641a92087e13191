"""What a study computes: its cases with their values, as its plan file says it; and commands that repeat a case."""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mbsim_cli.errors import InputOutputError

# The plan of a study: everything that its rows depend on, and nothing that changes while they are computed.

FORMAT, VERSION = "mbsim-study-plan", 1


@dataclass(frozen=True)
class Column:
    """A number with a name and a unit; a sensor has labels of its components."""

    name: str
    unit: str = ""
    components: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyPlan:
    """What is computed; names of files are relative to ``folder``, that of the model file."""

    study: str
    sampler: Mapping[str, Any]  # how the cases were stated
    cases: int
    varied: Sequence[Column]
    objectives: Sequence[Column]
    parameters: Sequence[Column]  # that gradients are taken by
    sensors: Sequence[Column]  # kept along time
    full: bool  # whether the result file of each case is kept
    content: str  # hash of all that a case depends on, beside its values
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


_COLUMNS = ("varied", "objectives", "parameters", "sensors")


def read_plan(text: str, where: Path) -> StudyPlan:
    """The plan that a text holds; raises InputOutputError where it holds none."""
    try:
        data = json.loads(text)
        if data.pop("format") != FORMAT:
            raise ValueError("it is not the plan of a study")
        if data.pop("format_version") != VERSION:
            raise ValueError("another version of mbsim wrote it")
        if data.pop("checksum", None) not in (None, _checksum(data)):
            raise ValueError("it is not what was stored")
        return StudyPlan(**data | {name: [_column(**entry) for entry in data[name]] for name in _COLUMNS})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        way_out = f"remove it and repeat the command that planned the study: rows in {where.parent} stay valid"
        raise InputOutputError(f"cannot read the plan {where}: {error}; {way_out}") from error


def _column(name: str, unit: str, components: Sequence[str]) -> Column:
    return Column(name, unit, tuple(components))


# The command that repeats one case of a study.

_OPTIONS = ("formulation", "integrator", "tolerance", "step", "duration")


def command_of(plan: StudyPlan, values: Sequence[float]) -> str:
    """One line for a shell: ``mbsim run`` with the exact values (v,) of the case."""
    settings = plan.settings
    chosen = {column.name: repr(float(value)) for column, value in zip(plan.varied, values, strict=True)}
    words = ["mbsim", "run", str(plan.path)]
    for name, value in {**settings.get("overrides", {}), **chosen}.items():
        words += ["-p", f"{name}={value}"]
    for name in _OPTIONS:
        if settings.get(name) is not None:
            words += [f"--{name}", str(settings[name])]
    return shlex.join([*words, "--sensitivity", settings["method"]])
