"""Damaged models, tables and results: a documented exit code other than a defect's, in bounded time and memory."""

import collections
import os
import random
import resource
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mbsim_cli.cli import outcome
from tests.cli.conftest import PENDULUM
from tests.faults import mutations

LONGEST, MOST_BYTES = 10.0, 1e9
TOGETHER = 100  # cases that one process goes through
PATIENCE = 600  # seconds, of a machine that has other things to do
EXPECTED = {
    "model": (["validate", "m.yaml", "--json"], (0, 3, 5)),
    "table": (["validate", "m.yaml", "--json"], (0, 3, 5)),
    "result": (["inspect", "m.h5", "--json"], (0, 5)),
    "told": (["inspect", "m.h5"], (0, 5)),
    "bytes": (["inspect", "m.h5"], (0, 5)),
    "list": (["plot", "m.h5", "--list"], (0, 5)),
}
LAW = "{type: table, file: t.csv, columns: {value: x}}"
DRIVEN = PENDULUM.replace(
    "forces:", f"constraints: {{m: {{type: motion, coordinate: A.angle, law: {LAW}, offset: auto}}}}\nforces:"
)
TABLE = "time,x\n" + "".join(f"{0.1 * i},{i * i}\n" for i in range(20))
PIECES = (*"{}[]:-'\"\t\n0~#?|,é\0L", "&a", "*a", "!!", "1e999", "-1", "nan", "inf", "**", "((", "null", "9" * 400)
PIECES += ("angle", "rod", "include: [m.yaml]", "repeat:")


def mutated_text(text: str, choose: random.Random) -> bytes:
    """Pieces put in, taken out, doubled and moved; now and then bytes."""
    if choose.random() < 0.2:
        return mutations.bytes_of(text.encode(), choose)
    for _ in range(choose.choice([1, 1, 2, 5])):
        first = choose.randrange(len(text) + 1)
        last = min(len(text), first + choose.choice([0, 1, 5, 40]))
        piece = choose.choice([*PIECES, text[first:last] * 2, text[last : last + 30]])
        text = text[:first] + piece + text[last:]
    return text.encode()


def prepare(kind: str, choose: random.Random, whole: bytes) -> None:
    """Write the files of a case into the current folder."""
    if kind == "model":
        Path("m.yaml").write_bytes(mutated_text(PENDULUM, choose))
    elif kind == "table":
        Path("m.yaml").write_text(DRIVEN)
        Path("t.csv").write_bytes(mutated_text(TABLE, choose))
    elif kind == "bytes":
        Path("m.h5").write_bytes(mutations.bytes_of(whole, choose))
    else:
        Path("m.h5").write_bytes(whole)
        mutations.result(Path("m.h5"), choose)


def call(arguments: list[str]) -> tuple[int, float, float]:
    """Exit code, seconds of the processor, those of children too, and bytes beyond the most so far, of a command."""
    before, most = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = outcome.call(arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.process_time() - before + sum(after[:2]) - sum(children[:2])
    return code, seconds, 1024.0 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most)


def kind_of(seed: int) -> str:
    """What the file of a case is."""
    return sorted(EXPECTED)[seed % len(EXPECTED)]


def answer(seeds: range, whole: bytes, pipe: int) -> None:
    """Tell which case begins, and what became of it, of some; a death is that of the last case that began."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for seed in seeds:
        signal.alarm(PATIENCE)
        os.write(pipe, f"{seed}".encode())
        prepare(kind_of(seed), random.Random(seed), whole)
        os.write(pipe, " {} {} {}\n".format(*call(EXPECTED[kind_of(seed)][0])).encode())


def answers(seeds: range, whole: bytes) -> Iterator[tuple[int, int, float, float]]:
    """Seed, exit code (negative: a signal), seconds and bytes of cases that a child of this process goes through."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer(seeds, whole, write)
            os._exit(0)
        finally:
            os._exit(99)
    os.close(write)
    with os.fdopen(read) as told:
        lines = told.read().splitlines()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for line in lines:
        seed, *found = line.split()
        yield (int(seed), int(found[0]), *map(float, found[1:])) if found else (int(seed), status, 0.0, 0.0)


@pytest.mark.parametrize("count", [12, pytest.param(5_000, marks=pytest.mark.slow)])
def test_damaged_files(count, mbsim, fivebar, tmp_path, record_property):
    whole, counts = fivebar.read_bytes(), collections.Counter()
    Path("m.yaml").write_text(DRIVEN)  # what children need is imported here
    Path("t.csv").write_text(TABLE)
    Path("m.h5").write_bytes(whole)
    for arguments, _ in EXPECTED.values():
        assert mbsim(*arguments).code == 0
    for first in range(0, count, TOGETHER):
        for seed, code, seconds, size in answers(range(first, min(count, first + TOGETHER)), whole):
            kind = kind_of(seed)
            counts[kind, code] += 1
            assert code in EXPECTED[kind][1] and seconds < LONGEST and size < MOST_BYTES, (seed, code, seconds, size)
    assert counts.total() == count
    record_property("counts", "damaged files: " + ", ".join(f"{k} {c}: {n}" for (k, c), n in sorted(counts.items())))
