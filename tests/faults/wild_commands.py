"""Commands on mutated model files, without compiled code: ``python -m tests.faults.wild_commands 0 100``.

Prints one JSON object: how often commands ended with each exit code, and what ended with 70 or not in time.
"""

import contextlib
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from mbsim_cli.cli import outcome
from tests.faults.test_wild_models import mutated

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "models", ROOT / "tests" / "properties" / "models", ROOT / "tests" / "models")
LARGEST = 3_500  # bytes of a file that runs within seconds
LIMIT = 30  # seconds of processor time for one command
STEPS = 3
EXPECTED = {0, 1, 2, 3, 4, 5}
AT_ONCE = ("validate", "info")  # solve nothing, so that without compiled code they take no longer


class Late(BaseException):
    """A command took too long; no handler of the program takes it for one of its own."""


def sources(folder: Path) -> list[Path]:
    """Small models of a copy of all folders."""
    return [path for path in sorted(folder.rglob("*.yaml")) if path.stat().st_size < LARGEST]


def shortened(data: Any) -> dict[str, Any]:
    """The same with a run of a few steps, as far as it says how long it is."""
    analysis = data.get("analysis") if isinstance(data, dict) else None
    if isinstance(analysis, dict) and isinstance(analysis.get("step"), (int, float)):
        analysis["duration"] = STEPS * analysis["step"]
    for kind in ("optimizations", "optimization", "fits", "fit"):
        for entry in (data.get(kind) or {}).values() if isinstance(data.get(kind), dict) else ():
            if isinstance(entry, dict):
                entry["evaluations"] = 2
    return data


def commands(data: Any, path: Path, out: Path) -> list[list[str]]:
    """Command lines that a file is given to, without those that it has nothing for."""
    name, has = str(path), data.keys() if isinstance(data, dict) else {}
    result = str(out / "r.h5")
    found = [
        ["validate", name],
        ["info", name],
        ["run", name, "--step", "1e-3", "--duration", "3e-3", "-o", result, "--force", "--json"],
        ["run", name, "-o", result, "--force"],
        ["run", name, "--sensitivity", "adjoint", "-o", result, "--force"],
        ["run", name, "--all-numbers", "--duration", "2e-3", "-o", result, "--force"],
        ["check", name, "--duration", "2e-3"],
        ["linearize", name, "-o", str(out / "l.h5"), "--force"],
        ["linearize", name, "--at", "start", "-o", str(out / "l.mat"), "--force"],
    ]
    if "optimizations" in has or "optimization" in has:
        found += [["optimize", name, "--evaluations", "2", "-o", result, "--force"]] * 3
    if "fits" in has or "fit" in has:
        found += [["fit", name, "--evaluations", "2", "--save-model", str(out / "f.yaml"), "--force"]] * 3
    if "study" in has or "studies" in has:
        found += [["sweep", name, "-o", str(out / "s"), "--dry-run"]] * 2
    return found


def late(*_: Any) -> None:
    """What the alarm does."""
    raise Late


def ended(words: list[str]) -> tuple[Any, str]:
    """Exit code of a command, and its last words."""
    told = io.StringIO()
    signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return outcome.call(words), told.getvalue()[-300:]
    except Late:
        return "late", ""
    except BaseException as error:  # what no handler of the program took
        return 70, repr(error)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def campaign(seeds: range) -> Iterator[tuple[int, list[str], Any, str]]:
    """Seed, command, exit code and last words of each command."""
    os.environ.pop("MBSIM_DEBUG", None)
    with tempfile.TemporaryDirectory() as scratch:
        folder, out = Path(scratch) / "models", Path(scratch) / "out"
        for part in FOLDERS:
            if part.is_dir():
                shutil.copytree(part, folder / part.parent.name / part.name, dirs_exist_ok=True)
        os.chdir(scratch)
        chosen = sources(folder)
        for seed in seeds:
            chance = random.Random(seed)
            source = chance.choice(chosen)
            data = shortened(yaml.safe_load(source.read_text()))
            path = source.with_name(f"wild_{seed}.yaml")
            path.write_text(mutated(data, chance, 0.3))
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            for words in chance.sample(commands(data, path, out), 2):
                code, said = ended(words)
                yield seed, [source.name, *words], code, said
            path.unlink()


def main(first: int, end: int) -> None:
    """Print what the campaign counted."""
    counts: Counter = Counter()
    wrong = []
    for seed, words, code, said in campaign(range(first, end)):
        counts[f"{words[1]} {code}"] += 1
        if code not in EXPECTED and (code != "late" or words[1] in AT_ONCE):
            wrong.append([seed, words, code, said])
    print(json.dumps({"counts": counts, "wrong": wrong}))


if __name__ == "__main__":
    assert os.environ.get("NUMBA_DISABLE_JIT") == "1", "without compiled code, which each file would have of its own"
    main(int(sys.argv[1]), int(sys.argv[2]))
