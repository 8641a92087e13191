"""Cost of a command beside its analysis: warm runs over the start of Python with numpy and h5py, in one go.

    python benchmarks/startup.py [--repeat N] [--runs N] [--cold] [--json]    # exit code 1 if a bound is missed

Times are minima of calls that alternate; processor times count user and system. ``--cold`` compiles the five-bar's
kernels in an empty cache too.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.figures import Figure, tell  # noqa: E402

FLOOR = "import numpy, h5py"
MBSIM = "from mbsim_cli.cli.app import main; main()"
MODELS = {
    "five-bar": ("models/fivebar.yaml", "--sensitivity", "ddm"),
    "human43": ("models/human43.yaml", "--sensitivity", "ddm"),
    "lane change": ("models/buggy_lane_change.yaml", "--sensitivity", "ddm"),
}
# Largest value allowed, and aim.
OVER_FLOOR, MEMORY, HELP, RUN, COLD = (9, 4.5), (200, 120), (0.1, None), (0.9, None), (40, 30)


class Cost(NamedTuple):
    """What a process took."""

    wall: float  # s
    processor: float  # s, with the processes that it waited for
    memory: float  # MB, peak


def cost(*command: str, **environment: str) -> Cost:
    """Run a command, whose output goes nowhere."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    known = {**kept, "PYTHONPATH": str(ROOT), **environment}
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, env=known, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    told = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)} failed: {told.decode(errors='replace')}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def best(costs: list[Cost]) -> Cost:
    """Smallest times, largest memory."""
    walls, processors, memories = zip(*costs, strict=True)
    return Cost(min(walls), min(processors), max(memories))


def alternating(folder: str, repeat: int) -> dict[str, Cost]:
    """Costs of the floor, of --help and of a warm run of each model."""
    commands = {
        "floor": (FLOOR,),
        "help": (MBSIM, "--help"),
        **{name: (MBSIM, "run", *run, "-o", f"{folder}/{name}.h5", "--force") for name, run in MODELS.items()},
    }
    samples: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(repeat + 1):
        for name, command in commands.items():
            samples[name].append(cost(sys.executable, "-c", *command))
    return {name: best(costs[1:]) for name, costs in samples.items()}  # the first fills caches


def study(folder: str, runs: int) -> float:
    """Processor time of a run [s], of many five-bars that a shell starts two at a time."""
    command = f"{sys.executable} -c '{MBSIM}' run models/fivebar.yaml --sensitivity ddm --quiet"
    script = f"seq {runs} | xargs -P 2 -I CASE {command} -o {folder}/CASE.h5"
    return cost("sh", "-c", script).processor / runs


def figures(repeat: int, runs: int, cold: bool) -> list[Figure]:
    """Everything that is measured."""
    with tempfile.TemporaryDirectory() as folder:
        costs = alternating(folder, repeat)
        floor = costs["floor"]
        found = [
            Figure(f"python -c '{FLOOR}'", floor.wall, "s"),
            Figure("  its peak memory", floor.memory, "MB"),
            Figure("mbsim --help", costs["help"].wall, "s", *HELP),
        ]
        for name in MODELS:
            own = costs[name]
            found += [
                Figure(f"mbsim run of {name}, with gradients", own.wall, "s"),
                Figure("  over the floor", own.wall / floor.wall, "", *OVER_FLOOR),
                Figure("  its processor time over the floor's", own.processor / floor.processor, ""),
                Figure("  its peak memory", own.memory, "MB", *MEMORY),
            ]
        found.append(Figure(f"processor time a run, of {runs} five-bars by xargs -P 2", study(folder, runs), "s", *RUN))
        if cold:
            found.append(Figure("five-bar with an empty cache of kernels", empty(folder).wall, "s", *COLD))
    return found


def empty(folder: str) -> Cost:
    """Cost of a run that compiles."""
    run = ("run", *MODELS["five-bar"], "-o", f"{folder}/cold.h5", "--quiet")
    return cost(sys.executable, "-c", MBSIM, *run, MBSIM_CACHE_DIR=f"{folder}/cache")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7, help="calls behind each minimum")
    parser.add_argument("--runs", type=int, default=50, help="runs that the shell starts")
    parser.add_argument("--cold", action="store_true", help="compile in an empty cache too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    found = figures(given.repeat, given.runs, given.cold)
    tell("Start-up", found, given.json)


if __name__ == "__main__":
    main()
