"""Times of the buggy's two manoeuvres with direct sensitivities, and where the time goes.

    python benchmarks/buggy.py [--repeat N] [--profile] [--json]

One thread; medians of calls that alternate. The paper's figures (Fortran, another machine) stand beside ours.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.figures import figures_of, show  # noqa: E402

MANOEUVRES = {"lane_change": "buggy_lane_change", "step_descent": "buggy"}
ROWS: dict[str, tuple] = {  # the paper's of Tables 9 and 10
    "lane_change_motion": ("double lane change, 12 s at 10 ms: motion", "s"),
    "lane_change_ddm": ("  with gradient by 5 parameters", "s", 0.65, 0.35, False, 2.578),
    "lane_change_ddm_over_motion": ("  gradient over motion alone", "", 1.8),
    "lane_change_iterations": ("  Newton iterations a step", ""),
    "step_descent_motion": ("step descent, 4.5 s at 1 ms: motion", "s"),
    "step_descent_ddm": ("  with gradient by 5 parameters", "s", 2.0, 1.1, False, 8.188),
    "step_descent_ddm_over_motion": ("  gradient over motion alone", "", 1.8),
    "step_descent_iterations": ("  Newton iterations a step", ""),
    "cold_compilation": ("compilation, empty cache", "s", 60),
    "cached_start": ("start from the cache", "s"),
}


def solver(model: str):
    """Functions that run motion and gradient once, and return the mean number of Newton iterations."""
    from dataclasses import replace

    from mbsim_cli import assembly, spec
    from mbsim_cli.solve.forward import forward
    from mbsim_cli.study.objectives import accumulator

    assembled = assembly.build(spec.load(ROOT / "models" / f"{model}.yaml", {}))

    def run(method: str) -> float:
        options = replace(assembled.problem.options, sensitivity=method)
        problem = replace(assembled.problem, options=options)
        count = problem.theta_rho.shape[1] if method == "ddm" else 0
        wanted = [accumulator(objective, count) for objective in assembled.objectives]
        iterations = instants = 0
        for block in forward(problem):
            for each in wanted:
                each.add(block)
            iterations += int(block.iterations.sum())
            instants += len(block.time)
        return iterations / instants

    return lambda: run("none"), lambda: run("ddm")


def solving(repeat: int) -> dict[str, float]:
    """Median times of motion and gradient of both manoeuvres, interleaved."""
    calls, figures = {}, {}
    for name, model in MANOEUVRES.items():
        calls[f"{name}_motion"], calls[f"{name}_ddm"] = solver(model)
    for key, call in calls.items():  # compiles, loads caches
        figures[key.replace("_ddm", "_iterations")] = call()
    samples = {key: [] for key in calls}
    for _ in range(repeat):
        for key, call in calls.items():
            start = time.perf_counter()
            call()
            samples[key].append(time.perf_counter() - start)
    figures |= {key: statistics.median(values) for key, values in samples.items()}
    for name in MANOEUVRES:
        figures[f"{name}_ddm_over_motion"] = figures[f"{name}_ddm"] / figures[f"{name}_motion"]
    return figures


def compilation() -> dict[str, float]:
    """Compilation with an empty cache, and the start after it."""
    from benchmarks.fivebar import command

    with tempfile.TemporaryDirectory() as folder:
        run = ["run", str(ROOT / "models/buggy_lane_change.yaml"), "--sensitivity", "ddm", "--json", "--force"]
        run += ["-o", f"{folder}/buggy.h5"]
        cold, warm = (
            json.loads(command(*run, MBSIM_CACHE_DIR=f"{folder}/cache")[2])["timing"]["compile"] for _ in range(2)
        )
    return {"cold_compilation": cold, "cached_start": warm}


def show_profile(rows: list[tuple[str, float, float]]) -> None:
    """Print where a step's time goes."""
    table = Table("part of a step", "us a call", "calls a step", "us a step", title="Double lane change, by kernel")
    for label, microseconds, calls in rows:
        table.add_row(label, f"{microseconds:.2f}", f"{calls:.1f}", f"{microseconds * calls:.1f}")
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=9, help="calls behind each median")
    parser.add_argument("--warm", action="store_true", help="leave out the compilation with an empty cache")
    parser.add_argument("--profile", action="store_true", help="also time the kernels of a step one by one")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    figures = solving(given.repeat) | ({} if given.warm else compilation())
    profile = []
    if given.profile:
        from benchmarks.buggy_profile import kernels

        profile = kernels(ROOT / "models" / "buggy_lane_change.yaml", figures["lane_change_iterations"])
    if given.json:
        print(json.dumps({"figures": figures, "profile": profile}))
        return
    show("Buggy", figures_of(ROWS, figures))
    if profile:
        show_profile(profile)


if __name__ == "__main__":
    main()
