"""Cost of elements: springs of the five-bar as expressions beside built-in ones; models beside an earlier version.

    python benchmarks/elements.py [--repeat N] [--duration S] [--json]    # exit code 1 if a bound is missed
    python benchmarks/elements.py --before TREE                           # also five models in another source tree
    python benchmarks/elements.py --before TREE --kernels OLD NEW         # their time loops alone, kernels kept there
    python benchmarks/elements.py --before TREE --only fivebar chain      # some of them

Time loops alternate, in one thread; ratios are of the least processor times. Both five-bars have the same motion, which
is checked first. ``--before`` runs each model by ``mbsim run`` in both trees, first with an empty cache of kernels:
processor time of the whole command, bytes of machine code and of kept parts, then the least times of the time loop.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np  # noqa: E402

from benchmarks.figures import Figure, tell  # noqa: E402
from mbsim_cli import spec  # noqa: E402
from mbsim_cli.assembly import build  # noqa: E402
from mbsim_cli.solve.forward import start  # noqa: E402

MOST = 1.3  # times the built-in springs
SPRINGS = {
    "spring_1": ("bar_A1.P1", "L_s1"),
    "spring_2": ("bar_12.P2", "L_s2"),
}


def with_expressions(text: str) -> str:
    """The five-bar's file with springs that are expressions of distances which sensors read."""
    sensors = "".join(
        f"  {name}: {{type: distance, points: [ground.B, {end}]}}\n" for name, (end, _) in SPRINGS.items()
    )
    for name, (end, length) in SPRINGS.items():
        points = f"{{type: spring_damper, points: [ground.B, {end}], "
        old = f"{points}stiffness: 100, natural_length: {length}}}"
        assert old in text
        text = text.replace(old, f'{points}force: "-100*({name} - {length})"}}')
    return text.replace("\nsensors:\n", f"\nsensors:\n{sensors}", 1)


def problems(method: str, duration: float) -> list:
    """Built-in springs, then expressions."""
    text = (ROOT / "models" / "fivebar.yaml").read_text()
    found = []
    for each in (text, with_expressions(text)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "fivebar.yaml"
            path.write_text(each)
            problem = build(spec.load(path), sensitivity=method, duration=duration).problem
        found.append(replace(problem, options=replace(problem.options, sensitivity=method)))
    return found


def seconds(problem) -> tuple[float, np.ndarray]:
    """Processor time of the time loop, and the last position."""
    simulation = start(problem)
    simulation.first_block()
    steps = round(problem.options.duration / problem.options.step)
    begin = time.process_time()
    block = simulation.advance(steps)
    return time.process_time() - begin, block.position[-1]


def ratio(method: str, duration: float, repeat: int) -> float:
    """Time with expressions over that with built-in springs."""
    both = problems(method, duration)
    ends = [seconds(problem)[1] for problem in both]
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-9)
    times = [[seconds(problem)[0] for problem in both] for _ in range(repeat)]
    built_in, expressions = np.min(times, axis=0)
    return expressions / built_in


# Beside an earlier tree.

# Times those of the earlier tree: of entries, which runs load; kept parts are what later ones are linked of.
BEFORE = {"time loop": 1.03, "compiled code": 1.1, "kept parts": None, "cold compilation": 1.03}
MODELS = ("fivebar", "buggy", "buggy_lane_change", "human43", "chain")
ALIKE = {"chain": ("{integral: kinetic_energy,", "{final: kinetic_energy,")}  # integrals take times inside steps since
MBSIM = "from mbsim_cli.cli.app import main; main()"


class Tree:
    """A source tree with a cache of kernels of its own."""

    def __init__(self, root: Path, cache: Path):
        self._root, self._cache = root, cache

    def run(self, model: str, *options: str) -> tuple[float, float]:
        """Seconds of the time loop, and processor time of the whole command."""
        path = ROOT / "models" / f"{model}.yaml"
        if model in ALIKE:
            text = path.read_text()
            assert ALIKE[model][0] in text
            path = self._cache / path.name
            path.write_text(text.replace(*ALIKE[model]))
        command = [sys.executable, "-c", MBSIM, "run", str(path), "--json", "--force"]
        places = {"PYTHONPATH": str(self._root), "MBSIM_CACHE_DIR": str(self._cache), "OMP_NUM_THREADS": "1"}
        begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run(
            [*command, "-o", str(self._cache / "result.h5"), *options],
            cwd=self._root, env={**os.environ, **places}, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{model} in {self._root}: {done.stderr}")
        spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin
        return json.loads(done.stdout)["timing"]["solve"], spent

    def size(self, *, parts: bool) -> int:
        """Bytes of machine code that runs load, or of the parts that are kept for it."""
        files = (path for path in self._cache.rglob("*") if path.is_file() and path.suffix not in (".h5", ".yaml"))
        return sum(path.stat().st_size for path in files if ("parts" in path.parts) == parts)


def beside(before: Path, model: str, repeat: int, kernels: list[Path] | None) -> dict[str, float]:
    """Ratios of this tree to the one before, by the keys of ``BEFORE``; with kept ``kernels`` time loops alone."""
    with tempfile.TemporaryDirectory() as old, tempfile.TemporaryDirectory() as new:
        folders = kernels or [Path(old), Path(new)]
        trees = [Tree(root, folder.resolve()) for root, folder in zip((before, ROOT), folders, strict=True)]
        found = {"cold compilation": [tree.run(model)[1] for tree in trees]}  # kept kernels are loaded once, too
        found["compiled code"] = [tree.size(parts=False) for tree in trees]
        found["kept parts"] = [tree.size(parts=True) for tree in trees]
        found["time loop"] = np.min([[tree.run(model)[0] for tree in trees] for _ in range(repeat)], axis=0)
    return {what: new / old for what, (old, new) in found.items() if what == "time loop" or not kernels}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--duration", type=float, default=5.0)
    parser.add_argument("--before", type=Path, metavar="TREE", help="folder of an earlier version")
    parser.add_argument("--kernels", type=Path, nargs=2, metavar=("OLD", "NEW"), help="folders of their kernels")
    parser.add_argument("--only", nargs="+", choices=MODELS, default=MODELS, help="models to run")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    figures = [
        Figure(f"springs as expressions, {label}", ratio(method, chosen.duration, chosen.repeat), "times", MOST)
        for label, method in (("motion", "none"), ("DDM", "ddm"))
    ]
    for model in chosen.only if chosen.before else ():
        ratios = beside(chosen.before.resolve(), model, chosen.repeat, chosen.kernels)
        figures += [Figure(f"{model}, {what}", value, "times", BEFORE[what]) for what, value in ratios.items()]
    tell("cost of elements", figures, chosen.json)


if __name__ == "__main__":
    main()
