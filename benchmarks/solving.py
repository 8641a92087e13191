"""Time for solving in a command, beside the time loop that the benchmarks of single models call in their process.

    python benchmarks/solving.py [--repeat N] [--json]    # exit code 1 if a bound is missed

Loop and commands alternate, one thread. What a command takes for its analysis is asked in two ways: what it calls
solving itself, and what it takes longer than a command of a single step, both without writing.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.figures import Figure, tell  # noqa: E402

PROGRAM = [sys.executable, "-c", "from mbsim_cli.cli.app import main; main()"]
MODELS = {"five-bar": "fivebar", "lane change": "buggy_lane_change", "human43": "human43"}
OVER_LOOP = 1.1  # largest value allowed


@dataclass
class Samples:
    """Times [s] of a model, taken in turns."""

    loop: list[float] = field(default_factory=list)
    solve: list[float] = field(default_factory=list)  # as commands tell
    wall: list[float] = field(default_factory=list)  # of commands, less what they tell of writing
    wall_of_step: list[float] = field(default_factory=list)  # the same of a single step

    def solving(self, typical: Callable[[list[float]], float]) -> dict[str, float]:
        """What commands take for solving, by either way to ask; ``typical`` is min or median."""
        return {
            "`solve` of a command": typical(self.solve),
            "a command less one of a single step, without writing": typical(self.wall) - typical(self.wall_of_step),
        }


def loop_of(path: Path) -> tuple[Callable[[], object], float]:
    """The time loop of a model with its objectives and all gradients; and the step, s."""
    from mbsim_cli import assembly, spec
    from mbsim_cli.study.evaluation import accumulated

    assembled = assembly.build(spec.load(path), sensitivity="ddm")
    return lambda: accumulated(assembled.problem, assembled.objectives), assembled.problem.options.step


def command(path: Path, folder: str, *options: str) -> tuple[float, dict[str, float]]:
    """Wall time [s] of a run with gradients, and the times that it tells."""
    words = [
        *PROGRAM,
        "run",
        str(path),
        "--sensitivity",
        "ddm",
        "--json",
        "--force",
        "-o",
        f"{folder}/run.h5",
        *options,
    ]
    start = time.perf_counter()
    done = subprocess.run(words, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True)
    wall = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stderr.decode() or done.stdout.decode())
    return wall, json.loads(done.stdout)["timing"]


def measure(path: Path, repeat: int) -> Samples:
    """Times of a model; the first ones, which fill caches, are left out."""
    found = Samples()
    loop, step = loop_of(path)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeat + 1):
            start = time.perf_counter()
            loop()
            found.loop.append(time.perf_counter() - start)
            wall, spent = command(path, folder)
            less, least = command(path, folder, "--duration", repr(step))
            found.solve.append(spent["solve"])
            found.wall.append(wall - spent["write"])
            found.wall_of_step.append(less - least["write"])
    return Samples(*(times[1:] for times in vars(found).values()))


def figures_of(name: str, samples: Samples) -> list[Figure]:
    """Rows of a model."""
    loop, median = min(samples.loop), statistics.median
    rows, medians = [Figure(f"{name}: time loop, smallest", loop, "s")], samples.solving(median)
    for label, least in samples.solving(min).items():
        rows += [
            Figure(f"  {label}, smallest", least, "s"),
            Figure("    over the loop's", least / loop, "", OVER_LOOP),
            Figure("    medians", medians[label] / median(samples.loop), ""),
        ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=15, help="calls behind each minimum")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    found = [
        figure
        for name, model in MODELS.items()
        for figure in figures_of(name, measure(ROOT / "models" / f"{model}.yaml", given.repeat))
    ]
    tell("Solving", found, given.json)


if __name__ == "__main__":
    main()
