"""Are results the same to the last bit? Digests of the result files of all models and of random mechanisms.

    python benchmarks/same_results.py write before.json [--only WORD] [--random N]
    python benchmarks/same_results.py compare before.json [--only WORD] [--random N]   # exit code 1 if anything differs

Each model of ``models/`` runs in a process of its own, as ``mbsim run`` does by default, five of them by the adjoint
too; random mechanisms (40) are those of ``tests/campaign``. Every dataset and attribute of a file counts, except times,
commands and the machine. A reference holds for one machine and one set of libraries. MBSIM_TREE names another source
tree whose package runs instead of this one.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TREE = Path(os.environ.get("MBSIM_TREE", ROOT)).resolve()
sys.path.insert(0, str(ROOT))

MBSIM = "from mbsim_cli.cli.app import main; main()"
ADJOINT = ("fivebar", "buggy", "chain", "flexible/slider_crank", "robots/puma560")
FAMILIES = ("open tree", "loop in space", "loop in a plane", "bent loop")
CHANGING = ("meta/timing", "meta/platform")
CHANGING_ATTRIBUTES = ("created", "command", "mbsim_version")
LONGEST = 600  # s


def digests(path: Path) -> dict[str, str]:
    """A digest for each dataset, and for each object's attributes, by name."""
    import h5py
    import numpy as np

    found = {}

    def digest(value: object) -> str:
        array = np.asarray(value)
        data = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
        return hashlib.sha256(f"{array.dtype.str} {array.shape}".encode() + data).hexdigest()[:16]

    def note(name: str, thing: object) -> None:
        if name.startswith(CHANGING):
            return
        if isinstance(thing, h5py.Dataset):
            found[name] = digest(thing[()])
        for key, value in thing.attrs.items():
            if key not in CHANGING_ATTRIBUTES and not key.endswith(("_LIST",)):
                found[f"{name}@{key}"] = digest(value)

    with h5py.File(path) as file:
        note("", file)
        file.visititems(note)
    return found


def models() -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    """A name, a file and options for each run."""
    for path in sorted((ROOT / "models").rglob("*.yaml")):
        name = path.relative_to(ROOT / "models").with_suffix("").as_posix()
        yield name, path, ()
        if name in ADJOINT:
            yield f"{name} by the adjoint", path, ("--sensitivity", "adjoint")


def mechanisms(count: int, folder: Path) -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    """The same for random mechanisms."""
    from tests.campaign.generator import FAMILIES as MAKERS

    for k in range(count):
        family = list(MAKERS)[k % len(MAKERS)]
        path = folder / f"mechanism{k}.yaml"
        path.write_text(json.dumps(MAKERS[family](1000 + k)))  # JSON is YAML
        yield f"random: {family} {1000 + k}", path, ("--sensitivity", "adjoint") if k % 2 else ("--sensitivity", "ddm")


def digests_of_run(path: Path, options: tuple[str, ...], result: Path) -> dict[str, str]:
    """Digests of one run's result file, which has its folder in no name; exit code and message where it has none."""
    command = [sys.executable, "-c", MBSIM, "run", path.name, "-o", str(result), "--force", "-q", *options]
    environment = os.environ | {"PYTHONPATH": str(TREE)}
    done = subprocess.run(command, cwd=path.parent, env=environment, capture_output=True, text=True, timeout=LONGEST)
    found = digests(result) if result.exists() else {"message": done.stderr.replace(str(result), "").strip()}
    result.unlink(missing_ok=True)
    return found | {"exit code": str(done.returncode)}


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument("reference", type=Path)
    parser.add_argument("--only", default="", help="runs whose name has this word")
    parser.add_argument("--random", type=int, default=40, help="random mechanisms")
    asked = parser.parse_args()
    known = json.loads(asked.reference.read_text()) if asked.reference.exists() else {}
    different = runs = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, path, options in [*models(), *mechanisms(asked.random, folder)]:
            if asked.only not in name or (asked.action == "compare" and name not in known):
                continue
            found, runs = digests_of_run(path, options, folder / "result.h5"), runs + 1
            if asked.action == "write":
                known[name] = found
                asked.reference.write_text(json.dumps(known, indent=1))
                print(f"{name}: {len(found)} digests, exit code {found['exit code']}", flush=True)
                continue
            before = known[name]
            changed = sorted(key for key in before.keys() | found.keys() if before.get(key) != found.get(key))
            different += bool(changed)
            more = " ..." if len(changed) > 6 else ""
            print(f"{name}: {'differs in ' + ', '.join(changed[:6]) + more if changed else 'the same'}", flush=True)
    print(f"{runs} runs" + (f", {different} differ" if asked.action == "compare" else ""))
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
