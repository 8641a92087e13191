"""Model files with wild numbers and entries of the wrong kind: each is valid, or refused with a sentence, in time."""

import json
import random
import shutil
import signal
import subprocess
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from mbsim_cli.cli.validate import validate
from mbsim_cli.errors import MbsimError
from mbsim_cli.study.assembling import Settings
from tests.assembly.texts import MODELS
from tests.cli.conftest import ROOT, environment

LIMIT = 60  # seconds of the wall that one look may take on a busy machine
WILD = (
    0, -1, 1e-12, 7e-10, 1e-150, 1e-300, 5e-324, 1e16, 1e30, 1e100, 1e155, 1e300, -1e30, -1e155, -1e300, 0.5, 3, -0.0,
)  # fmt: skip
ODD = (None, "", "q", "1/0", "0**-1", "1e400", ".inf", ".nan", True, [], {}, [1, 2], {"a": 1}, "sqrt(-1)", "[1, 2, 3]")
FACTORS = (1e-9, 1e9, -1.0, 1e-160, 1e160)


def places(node: Any, path: tuple = ()) -> Iterator[tuple]:
    """Paths of all entries of a file, the whole left out."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in pairs:
        yield (*path, key)
        yield from places(value, (*path, key))


def mutated(data: Any, chance: random.Random, odd: float) -> str:
    """The text of a file of which one to three entries are others; ``odd`` of them are of another kind."""
    every = list(places(data))
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        *parents, last = chance.choice(every)
        node = data
        try:
            for key in parents:
                node = node[key]
            old = node[last]
            if chance.random() < odd:
                if chance.random() < 0.3:
                    del node[last]
                else:
                    node[last] = chance.choice(ODD)
            elif isinstance(old, (int, float)) and not isinstance(old, bool) and chance.random() < 0.5:
                node[last] = old * chance.choice(FACTORS)
            elif not isinstance(old, (dict, list)):
                node[last] = chance.choice(WILD)
        except (KeyError, IndexError, TypeError):  # an earlier change took it away
            continue
    return yaml.safe_dump(data, sort_keys=False)


def sources() -> list[Path]:
    """Models that are read and assembled within a second or so."""
    return [path for path in sorted(MODELS.rglob("*.yaml")) if path.stat().st_size < 20_000]


def looked_at(path: Path) -> str:
    """What becomes of one look at a file: valid, refused, or the last lines of what escaped."""
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError(f"more than {LIMIT} s")))
    signal.alarm(LIMIT)
    try:
        validate(path, Settings(), [])
        return "valid"
    except MbsimError:
        return "refused"
    except (MemoryError, RecursionError):  # commands answer these with a sentence
        return "refused"
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "mbsim_cli" in frame.filename]
        return f"{type(error).__name__}: {error} at {ours[-1].filename}:{ours[-1].lineno}"
    finally:
        signal.alarm(0)


def campaign(seeds: range, odd: float) -> tuple[Counter, dict[int, str]]:
    """How many files were valid or refused, and what escaped by seed; mutations stand beside the file they are of."""
    counts: Counter = Counter()
    escaped: dict[int, str] = {}
    chosen = sources()
    for seed in seeds:
        chance = random.Random(seed)
        source = chance.choice(chosen)
        data = yaml.safe_load(source.read_text())
        path = source.with_name(f"wild_{seed}.yaml")
        path.write_text(mutated(data, chance, odd))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = looked_at(path)
        finally:
            path.unlink()
        counts[found if found in ("valid", "refused") else "escaped"] += 1
        if counts["escaped"] > len(escaped):
            escaped[seed] = f"{source.name}: {found}"
    return counts, escaped


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutated models go beside copies of those of the project, and what these name."""
    shutil.copytree(MODELS, tmp_path / "models")
    monkeypatch.setattr(sys.modules[__name__], "MODELS", tmp_path / "models")


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "odd"), [(range(1000), 0.05), (range(1000, 2000), 0.9)])
def test_two_thousand_mutated_models(beside, seeds, odd, record_property):
    counts, escaped = campaign(seeds, odd)
    record_property("counts", f"mutated models: {dict(counts)}")
    assert not escaped, "\n".join(f"{seed}: {what}" for seed, what in escaped.items())
    assert min(counts["valid"], counts["refused"]) > 100


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_commands_on_mutated_models(first, record_property):
    """Two commands each: run, check, optimize, fit, linearize, sweep and others end with a sentence."""
    words = [sys.executable, "-m", "tests.faults.wild_commands", str(first), str(first + 100)]
    done = subprocess.run(words, cwd=ROOT, env=environment(NUMBA_DISABLE_JIT="1"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    record_property("counts", f"commands on mutated models: {found['counts']}")
    assert not found["wrong"] and len(found["counts"]) > 8


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # as the command has it
@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("fivebar.yaml", "[x_G_A1, 0, 0]", "[1e160, 0, 0]", "moves at t = 0 is not finite"),
        ("fivebar.yaml", "length: L_12, mass: 1.5", "length: 1e308, mass: 1.5", "is not finite"),
        ("flexible/beam_limits.yaml", "A: 100", "A: 1e-198", "positive definite"),
        (
            "flexible/chain.yaml",
            "height: {value: 0.02",
            "height: {value: 2e198",
            "too large, too small or too far apart",
        ),
        (
            "flexible/slider_crank_topology.yaml",
            "density: {field: p}",
            "density: {field: p, law: {penalty: 1e4}}",
            "bodies.crank.flexible: the stiffness matrix of the held body is singular; look for elements without",
        ),
    ],
)
def test_numbers_that_overflow_are_told_with_their_place(mbsim, beside, name, old, new, told):
    path = MODELS / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    done = mbsim("validate", path)
    assert done.code == 3 and told in done.err and path.name in done.err


@pytest.mark.parametrize(
    ("k", "derivative"),
    [
        ("2 + 0**q", "0"),  # zero beside q = 1, too
        ("2 + atan2(q - 1, q - 1)", "no derivative by it at q = 1: atan2(0, 0) is not a real number"),
        ("2 + sqrt(q - 1)", "no derivative by it at q = 1: its slope is infinite"),
        ("2 + (-8)**(q + 1)", "no derivative by it at q = 1: -8 to a power near 2 is not a real number"),
        ("2 + 1e12 * q", None),  # steep, and smooth
    ],
)
def test_formulas_without_a_derivative_give_none_with_the_reason(mbsim, variant, k, derivative):
    path = variant("k: {value: 2.0, unit: N m/rad}", f'q: 1\n  k: {{value: "{k}"}}')
    text = path.read_text().replace("natural_angle: 0", "natural_angle: k - k")
    path.write_text(text.replace("stiffness: k", "stiffness: k / 1e12") if derivative is None else text)
    done = mbsim("run", path, "--json")
    assert done.code == 0, done.err
    swing = done.json["objectives"]["swing"]
    by_q = swing["gradient"]["q"]
    if derivative in ("0", None):
        assert not swing["undefined"] and (by_q == 0) == (derivative == "0")
    else:
        assert by_q is None and derivative in swing["undefined"]["q"]
    assert swing["gradient"]["L"] is not None and swing["gradient"]["k"]


def test_an_objective_that_divides_by_zero_is_told(mbsim, variant):
    path = variant(
        "objectives: {swing: {integral: angle**2, unit: rad^2 s}}",
        "objectives: {swing: {integral: angle**2}, x: {expression: swing/0}}",
    )
    done = mbsim("run", path)
    assert done.code == 4 and "objective x is not a finite number" in done.err
