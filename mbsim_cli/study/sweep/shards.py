"""Shards: parts of a study that several processes compute, which share nothing but a folder."""

from collections.abc import Mapping
from dataclasses import dataclass

from mbsim_cli.errors import UsageError

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
        """What the names of its files begin with."""
        return f"shard-{self.index}-of-{self.count}"


def shard_of(text: str | None, environment: Mapping[str, str]) -> Shard:
    """The part that ``--shard I/N`` names, else that of a task of a SLURM array, else all."""
    if text is None:
        return _of_array(environment)
    index, slash, count = text.partition("/")
    if not (slash and index.strip().isdecimal() and count.strip().isdecimal() and 1 <= int(index) <= int(count)):
        raise UsageError(f"--shard wants I/N with I from 1 to N, not '{text}'")
    return Shard(int(index), int(count))


def _of_array(environment: Mapping[str, str]) -> Shard:
    """Tasks of an array count from any number, in any step."""
    if f"{_ARRAY}ID" not in environment or f"{_ARRAY}COUNT" not in environment:
        return Shard()
    try:
        task, count = int(environment[f"{_ARRAY}ID"]), int(environment[f"{_ARRAY}COUNT"])
        first, step = int(environment.get(f"{_ARRAY}MIN", 1)), max(1, int(environment.get(f"{_ARRAY}STEP", 1)))
        last = int(environment.get(f"{_ARRAY}MAX", first + (count - 1) * step))
    except ValueError:
        raise UsageError("the variables SLURM_ARRAY_TASK_* are no numbers; give --shard I/N") from None
    place, rest = divmod(task - first, step)
    if rest or not 0 <= place < count or last != first + (count - 1) * step:  # in such an array no task begins
        message = f"task {task} of a SLURM array of {count} from {first} to {last} tells no part of the study"
        raise UsageError(f"{message}; give --shard I/N")
    return Shard(place + 1, count)
