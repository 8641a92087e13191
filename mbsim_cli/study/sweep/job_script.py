"""Commands that compute a study: scripts for its shards, by SLURM or on one machine, and one that repeats a case."""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.io.target import FileKind, begins, elsewhere, replaced, resolved
from mbsim_cli.spec.reading.source import is_key
from mbsim_cli.study.sweep.study_folder import SCRIPT, StudyFolder, StudyPlan
from mbsim_cli.system import isolated

_MARGIN = 1.5  # on the time that a forecast gives
_SHORTEST = 600  # s that a job asks for at least
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_FIRST = re.compile(b"#!/usr/bin/env bash\n# Computes the study in ")
JOB_SCRIPT = FileKind("a job script", SCRIPT, partial(begins, pattern=_FIRST))
_SLURM = """\
#!/usr/bin/env bash
# Computes the study in {folder}: sbatch {script}
# Submitted again it continues where it ended. When all is done: {mbsim} sweep collect {folder}
#SBATCH --job-name={name}
#SBATCH --array=1-{shards}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={workers}
#SBATCH --time={time}
set -euo pipefail
exec {mbsim} sweep {folder} --shard "${{SLURM_ARRAY_TASK_ID:?is set by sbatch}}/{shards}" -j {workers} --quiet
"""

_PARALLEL = """\
#!/usr/bin/env bash
# Computes the study in {folder}, {shards} processes at a time: bash {script}
# Called again it continues where it ended. Uses GNU parallel where it is installed, else xargs.
set -euo pipefail
shard() {{
  {mbsim} sweep {folder} --shard "$1/{shards}" -j {workers} --quiet
}}
export -f shard
if command -v parallel > /dev/null; then
  seq 1 {shards} | parallel --jobs {shards} shard
else
  seq 1 {shards} | xargs -P {shards} -I '{{}}' bash -c 'shard {{}}'
fi
exec {mbsim} sweep collect {folder} --quiet
"""
TEMPLATES = {"slurm": _SLURM, "parallel": _PARALLEL}


def write_script(kind: str, folder: StudyFolder, target: Path | None, shards: int, workers: int) -> Path:
    """Write a script, by default into the folder, with the time limit that a forecast gives; return its path."""
    script = target or folder.path / SCRIPT
    plan, place = folder.plan(), resolved(script, SCRIPT)
    if place.exists() and not (place.is_file() and JOB_SCRIPT.is_own(place)):
        raise InputOutputError(f"{script} exists and is not a job script of mbsim; {elsewhere()}")
    words = {
        "folder": _word(str(folder.path.resolve())),
        "script": _word(str(script)),
        "mbsim": " ".join(map(_word, program())),
        "name": _word(f"mbsim-{plan.study}" if plan.study else "mbsim"),
        "shards": shards,
        "workers": workers,
        "time": _time(folder.stored_forecast(), shards * workers),
    }
    text = TEMPLATES[kind].format(**words)
    with replaced(place, JOB_SCRIPT) as path:
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        path.chmod(0o755)
    return script


def program() -> list[str]:
    """Command that starts this very mbsim."""
    beside = Path(sys.executable).with_name("mbsim")
    return [str(beside)] if beside.is_file() else isolated("mbsim_cli.cli.app")


def _word(text: str) -> str:
    """A word of a script, quoted; raises UsageError for a line break, which would end the comment that it stands in."""
    if _CONTROL.search(text):
        raise UsageError(f"a job script cannot hold {text!r}, which has a line break or another control character")
    return shlex.quote(text)


def _time(forecast: Mapping[str, Any] | None, workers: int) -> str:
    """Time limit of a job as SLURM reads it, a day where nothing is known."""
    if forecast is None:
        return "1-00:00:00"
    seconds = forecast["start_seconds"] + forecast["case_seconds"] * -(-forecast["cases"] // workers)
    minutes = round(max(_SHORTEST, _MARGIN * seconds)) // 60 + 1
    return f"{minutes // 60}:{minutes % 60:02d}:00"


_OPTIONS = ("formulation", "integrator", "tolerance", "step", "duration")


def command_of(plan: StudyPlan, values: Sequence[float]) -> str:
    """Command line of ``mbsim run`` that repeats a case, with its exact values (v,)."""
    settings = plan.settings
    chosen = {column.name: repr(float(value)) for column, value in zip(plan.varied, values, strict=True)}
    words = ["mbsim", "run", str(plan.path)]
    for name, value in {**settings.get("overrides", {}), **chosen}.items():
        words += ["-s", f"{name[1:]}={value}"] if is_key(name) else ["-p", f"{name}={value}"]
    for name in _OPTIONS:
        if settings.get(name) is not None:
            words += [f"--{name}", str(settings[name])]
    return shlex.join([*words, "--sensitivity", settings["method"]])
