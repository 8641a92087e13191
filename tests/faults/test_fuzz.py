"""Damaged models, tables and results: a documented exit code other than a defect's, in bounded time and memory."""

import collections
import os
import random
import resource
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mbsim_cli.cli import outcome
from tests.cli.conftest import PENDULUM
from tests.faults import mutations

LONGEST, MOST_BYTES = 10.0, 1e9
PATIENCE = 120  # seconds, of a machine that has other things to do
EXPECTED = {
    "model": (["validate", "m.yaml", "--json"], (0, 3, 5)),
    "table": (["validate", "m.yaml", "--json"], (0, 3, 5)),
    "result": (["inspect", "m.h5", "--json"], (0, 5)),
    "told": (["inspect", "m.h5"], (0, 5)),
    "bytes": (["inspect", "m.h5"], (0, 5)),
    "list": (["plot", "m.h5", "--list"], (0, 5)),
}
LAW = "{type: table, file: t.csv, columns: {value: x}}"
DRIVEN = PENDULUM.replace("forces:", f"constraints: {{m: {{type: motion, coordinate: A.angle, law: {LAW}}}}}\nforces:")
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


def run(arguments: list[str]) -> tuple[int, float, float]:
    """Exit code (negative: a signal), seconds of the processor and bytes of a command in a child of this process."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    child = os.fork()
    if child == 0:
        signal.alarm(PATIENCE)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        try:
            os._exit(outcome.call(arguments))
        finally:
            os._exit(99)
    _, status, used = os.wait4(child, 0)
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    return code, used.ru_utime + used.ru_stime, 1024.0 * (used.ru_maxrss - before)


@pytest.mark.parametrize("count", [20, pytest.param(5_000, marks=pytest.mark.slow)])
def test_damaged_files(count, mbsim, fivebar, tmp_path, record_property):
    whole, counts = fivebar.read_bytes(), collections.Counter()
    assert mbsim("inspect", fivebar).code == 0  # what children need is imported here

    @settings(
        max_examples=count, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(seed=st.integers(0, 2**32), kind=st.sampled_from(sorted(EXPECTED)))
    def check(seed, kind):
        prepare(kind, random.Random(seed), whole)
        arguments, codes = EXPECTED[kind]
        code, seconds, size = run(arguments)
        counts[kind, code] += 1
        assert code in codes and seconds < LONGEST and size < MOST_BYTES, (kind, seed, code, seconds, size)

    check()
    record_property("counts", "damaged files: " + ", ".join(f"{k} {c}: {n}" for (k, c), n in sorted(counts.items())))
