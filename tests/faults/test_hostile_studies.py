"""Files of a study that somebody changed: plans with right checksums, damaged samples, forecasts and rows.

A command answers with a sentence, or goes on without what is no row; it never ends with a defect.
"""

import collections
import json
import random
import shutil
from pathlib import Path

import pytest

from mbsim_cli.study.sweep.frames import framed, read_frames
from mbsim_cli.study.sweep.study_folder import _checksum
from tests.faults import mutations

ODD = (
    None, True, 0, -1, 3, 10**9, 10**30, 1.5, float("nan"), float("inf"), "", "x", "\0", "\ud800", "../..", "a\nb",
    "x" * 5000, [], {}, [1], ["a"], {"a": 1}, {"a": "b"}, [[]], [{}], [{"name": "q", "unit": "", "components": [""]}],
)  # fmt: skip
COMMANDS = (
    ("sweep", "status", "s"),
    ("sweep", "collect", "s", "--force"),
    ("sweep", "extract", "s", "0", "-o", "x.h5"),
    ("sweep", "script", "s", "slurm", "--shards", "2", "-o", "j.sh", "--force"),
    ("sweep", "s"),
    ("sweep", "s", "--dry-run"),
    ("sweep", "retry", "s"),
)
EXPECTED = (0, 2, 3, 4, 5)


def places(node, path=()):
    """Paths of all entries."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in pairs:
        yield (*path, key)
        yield from places(value, (*path, key))


def other(text: str, choose: random.Random) -> str:
    """The text of one object with an entry of another kind, without one, or with one more."""
    data = json.loads(text)
    data.pop("checksum", None)
    for _ in range(choose.choice((1, 1, 2))):
        *parents, last = choose.choice(list(places(data)))
        node = data
        try:
            for key in parents:
                node = node[key]
            way = choose.random()
            if way < 0.7:
                node[last] = choose.choice(ODD)
            elif way < 0.85:
                del node[last]
            elif isinstance(node, dict):
                node["more"] = choose.choice(ODD)
        except (KeyError, IndexError, TypeError):
            continue
    about = {name: data.pop(name) for name in ("format", "format_version") if name in data}
    signed = {"checksum": _checksum(data)} if choose.random() < 0.9 and "study" in data else {}
    return json.dumps(about | signed | data)


def rows(path: Path, choose: random.Random) -> None:
    """Frames with right checksums around damaged contents."""
    contents = [content for _, content in read_frames(path)]
    place = choose.randrange(len(contents))
    contents[place] = mutations.bytes_of(contents[place] or b"x", choose)
    path.write_bytes(b"".join(map(framed, contents)))


def damaged(folder: Path, choose: random.Random) -> str:
    """Change one file of a study; return which."""
    names = ("plan.json", "plan.json", "plan.json", "samples.npy", "forecast.json", ".rows", ".kept")
    name = choose.choice(names)
    if name.startswith("."):
        path = next(folder.glob(f"*{name}"))
        if choose.random() < 0.7:
            rows(path, choose)
            return name
    else:
        path = folder / name
    if path.suffix == ".json" and choose.random() < 0.9:
        path.write_text(other(path.read_text(), choose))
    elif path.suffix == ".npy" and choose.random() < 0.7:
        data = bytearray(path.read_bytes())
        data[choose.randrange(128)] ^= 1 << choose.randrange(8)
        path.write_bytes(data)
    else:
        path.write_bytes(mutations.bytes_of(path.read_bytes(), choose))
    return name


@pytest.fixture
def study(mbsim, pendulum, tmp_path):
    """A study of three cases that is done, with a forecast, in ``whole``."""
    done = mbsim("sweep", pendulum, "--grid", "k=1:2:3", "--keep", "sensors", "-o", "whole", "--quiet")
    assert done.code == 0, done.err
    mbsim("sweep", pendulum, "--grid", "k=1:2:4", "--keep", "sensors", "-o", "told", "--dry-run", "--quiet")
    forecast = tmp_path / "told" / "forecast.json"
    assert forecast.is_file()
    shutil.copy(forecast, tmp_path / "whole")
    return tmp_path / "whole"


@pytest.mark.parametrize("count", [12, pytest.param(3_000, marks=pytest.mark.slow)])
def test_hostile_studies(count, mbsim, study, record_property):
    counts, wrong = collections.Counter(), []
    for seed in range(count):
        choose = random.Random(seed)
        shutil.rmtree("s", ignore_errors=True)
        shutil.copytree(study, "s")
        name = damaged(Path("s"), choose)
        arguments = choose.choice(COMMANDS)
        done = mbsim(*arguments)
        counts[name, done.code] += 1
        if done.code not in EXPECTED or "defect" in done.err + done.out:
            wrong.append((seed, name, arguments, done.err[-300:]))
    assert not wrong, "\n".join(map(str, wrong))
    record_property("counts", "hostile studies: " + ", ".join(f"{k} {c}: {n}" for (k, c), n in sorted(counts.items())))
