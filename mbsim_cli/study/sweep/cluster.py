"""Studies on clusters: workers of Dask, shards, and job scripts of schedulers."""

import pickle
import re
import shlex
import sys
from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import local
from typing import Any

from mbsim_cli.errors import InputOutputError, UsageError, option
from mbsim_cli.io.target import FileKind, begins, elsewhere, replaced, resolved
from mbsim_cli.study.listener import SILENT, Listener
from mbsim_cli.study.sweep.store import LOST, Case, Computed, Start, lost
from mbsim_cli.study.sweep.study_folder import SCRIPT, StudyFolder
from mbsim_cli.system import isolated

# Cases on a Dask cluster, each of whose workers assembles the model once.

TICK = 0.5  # s between two looks at signals
AHEAD = 4  # cases for each thread of the cluster that are handed over at once
GIVEN_UP = ("error", "cancelled")
PATIENCE = 30.0  # s until the scheduler and a worker must have answered
_known = local()  # evaluator of this thread of a worker, by what it was started by: assembling is not for two threads


class Cluster:
    """The workers of a scheduler; one that dies is replaced by others, as Dask does."""

    batch_size = 1

    def __init__(self, address: str, start: Start, listener: Listener):
        self._listener = listener
        try:
            import distributed
        except ImportError:
            needed = "the package distributed; in a clone of mbsim: pip install '.[dask]'"
            raise UsageError(f"{option('dask')} needs {needed}") from None
        self._distributed = distributed
        self._started = pickle.dumps(start)
        try:
            self._client = self._distributed.Client(address, timeout=PATIENCE)
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputOutputError(f"no Dask cluster answers at {address}: {error}") from error

    def compute(self, waiting: deque[Case]) -> Generator[Computed, None, None]:
        """Yield the cases as they are computed."""
        begun: dict[Any, Case] = {}
        try:
            while waiting or begun:
                while waiting and len(begun) < AHEAD * max(1, sum(self._client.nthreads().values())):
                    case = waiting.popleft()
                    begun[self._client.submit(_computed, self._started, case, pure=False)] = case
                for future in self._finished(list(begun)):
                    if future.done():  # or else its worker died before it was fetched, and Dask computes it again
                        yield _fetched(begun.pop(future), future)
                self._listener.poll()
        finally:
            self._client.cancel(list(begun))
            self._client.close()

    def _finished(self, futures: list[Any]) -> list[Any]:
        """Futures that finish within ``TICK``."""
        try:
            return list(self._distributed.wait(futures, timeout=TICK, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []


def _computed(started: bytes, case: Case) -> Computed:
    """The work of a worker of the cluster."""
    key = sha256(started).digest()
    if getattr(_known, "key", None) != key:
        _known.evaluator, _known.key = pickle.loads(started)(SILENT), key
    return _known.evaluator(case)


def _fetched(case: Case, future: Any) -> Computed:
    """The result of a worker; a case that no worker survived, or that none could begin, is lost."""
    status = future.status
    if status in GIVEN_UP:
        reason = future.exception()
    else:
        try:
            return future.result()
        except OSError:  # the scheduler is gone
            raise
        except Exception as error:  # Dask may give a case up while it is fetched, too
            status, reason = type(error).__name__, error
    return lost(case, LOST, " ".join(f"the cluster gave it up ({status}: {reason})".split()))


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
    """The shard that ``--shard I/N`` names, else that of a task of a SLURM array, else all.

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
        message = f"task {task} of a SLURM array of {count} from {first} to {last} names no shard of the study"
        raise UsageError(f"{message}; give --shard I/N")
    return Shard(place + 1, count)


# Job scripts: a study in shards, as an array of SLURM or side by side on one machine.

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
