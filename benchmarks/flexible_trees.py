"""Cost of chains of flexible links, models/flexible/chain.yaml: by articulated bodies beside dense matrices.

    python benchmarks/flexible_trees.py              up to 64 links of 2 and 6 shapes
    python benchmarks/flexible_trees.py --quick      up to 4 links
    python benchmarks/flexible_trees.py --json FILE

Microseconds of the processor for accelerations, and for these with variations in eight directions; the best of repeats
in turn, one thread, without compiling.
"""

# ruff: noqa: E402
import os

# read when the libraries are loaded
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import argparse
import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.chain import Evaluations, best_times
from mbsim_cli import assembly, spec
from mbsim_cli.study.reduced_bodies import standard_input

MODEL = ROOT / "models" / "flexible" / "chain.yaml"
FORMULATIONS = ("recursive", "partial_recursive")
ALONE, VARIED = "alone", "with_sensitivities"
REPEATS, REPEATS_OF_LONG = 40, 5


def chain(n, shapes):
    """Problem of a chain of n links with so many shapes each."""
    text = MODEL.read_text()
    assert "modes: {count: 4}" in text
    texts = {str(MODEL): text.replace("modes: {count: 4}", f"modes: {{count: {shapes}}}")}
    return assembly.build(spec.load(MODEL, {"n": str(n)}, texts=texts), standard_input=standard_input).problem


def measured(n, shapes):
    """Times in us by formulation and task, and the largest relative difference of the accelerations."""
    problem = chain(n, shapes)
    few = {"partial_recursive": 2} if n > 16 else {}
    found = {name: Evaluations(problem, name, few.get(name, 50)) for name in FORMULATIONS}
    runs = {(name, task): (getattr(one, task), one.rows) for name, one in found.items() for task in (ALONE, VARIED)}
    times = best_times(runs, REPEATS if n <= 16 else REPEATS_OF_LONG)
    same = [Evaluations(problem, name, 1) for name in FORMULATIONS]
    for one in same:
        one.alone()
    ours, other = (one.zdd for one in same)
    difference = float(np.abs(ours - other).max() / np.abs(other).max())
    rows = {name: {task: 1e6 * times[name, task] for task in (ALONE, VARIED)} for name in FORMULATIONS}
    return {"links": n, "shapes": shapes, "difference": difference, **rows}


def main():
    """Print a row for each chain."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows = []
    print(f"{'':16}{'accelerations':>26}{'with eight variations':>26}")
    print(f"{'shapes':>8}{'links':>8}" + 2 * f"{'recursive':>13}{'partial':>13}" + f"{'difference':>13}")
    for shapes in (2, 6):
        for n in (1, 2, 4) if asked.quick else (1, 2, 4, 16, 64):
            rows.append(row := measured(n, shapes))
            times = [row[name][task] for task in (ALONE, VARIED) for name in FORMULATIONS]
            print(
                f"{shapes:8}{n:8}" + "".join(f"{time:13.1f}" for time in times) + f"{row['difference']:13.1e}",
                flush=True,
            )
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
