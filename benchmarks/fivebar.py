"""Times of the five-bar and its 15 gradients, beside CasADi with CVODES in the same run.

    python benchmarks/fivebar.py [--repeat N] [--json]

Needs the extra `bench`. Compared figures are medians of calls that alternate.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.figures import figures_of, show  # noqa: E402

MODEL = ROOT / "models" / "fivebar.yaml"


def command(*arguments: str, **environment: str) -> tuple[float, float, str]:
    """Wall-clock time [s], peak memory [MB] and output of the `mbsim` command."""
    program = [sys.executable, "-c", "from mbsim_cli.cli.app import main; main()", *arguments]
    start = time.perf_counter()
    process = subprocess.Popen(program, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(program)} ended with status {os.waitstatus_to_exitcode(status)}")
    return elapsed, usage.ru_maxrss / 1024, output


def commands(repeat: int) -> dict[str, float]:
    """Cold compilation in a fresh cache, cached start, and a warm run with its memory."""
    with tempfile.TemporaryDirectory() as folder:
        run = ["run", str(MODEL), "--sensitivity", "ddm", "--json", "--force", "-o", f"{folder}/fivebar.h5"]
        cache = {"MBSIM_CACHE_DIR": f"{folder}/cache"}
        _, cold_memory, cold = command(*run, **cache)
        warm = [command(*run, **cache) for _ in range(repeat)]
    help_time = statistics.median(command("--help")[0] for _ in range(repeat))
    timings = [json.loads(output)["timing"] for _, _, output in warm]
    return {
        "cold_compilation": json.loads(cold)["timing"]["compile"],
        "cold_memory": cold_memory,
        "cached_start": statistics.median(t["compile"] for t in timings),
        "command_time": statistics.median(elapsed for elapsed, _, _ in warm),
        "command_memory": statistics.median(memory for _, memory, _ in warm),
        "help_time": help_time,
    }


def our_solver():
    """Functions that run motion and gradient once, and return objectives (3,) or gradients (3, 5)."""
    from dataclasses import replace

    from mbsim_cli import assembly, spec
    from mbsim_cli.solve.forward import forward
    from mbsim_cli.study.objectives import accumulator

    assembled = assembly.build(spec.load(MODEL, {}))

    def run(method: str) -> np.ndarray:
        options = replace(assembled.problem.options, sensitivity=method)
        problem = replace(assembled.problem, options=options)
        count = problem.theta_rho.shape[1] if method == "ddm" else 0
        wanted = [accumulator(objective, count) for objective in assembled.objectives]
        for block in forward(problem):
            for each in wanted:
                each.add(block)
        return np.array([a.gradient if count else a.value for a in wanted])

    return lambda: run("none"), lambda: run("ddm")


def solvers(repeat: int) -> tuple[dict[str, float], dict[str, float]]:
    """Median times of motion and gradient, ours and CasADi's, interleaved; and relative errors of the gradients."""
    from benchmarks.casadi_fivebar import ADAMS, FiveBar
    from benchmarks.reference import GRADIENTS

    motion, gradient = our_solver()
    default, adams = FiveBar(), FiveBar(**ADAMS)
    calls = {
        "motion": motion,
        "ddm": gradient,
        "casadi_motion": default.motion,
        "casadi": lambda: default.gradient()[1],
        "casadi_adams": lambda: adams.gradient()[1],
    }
    found = {name: call() for name, call in calls.items()}  # compiles, loads caches
    errors = {name: float(np.abs(found[name] / GRADIENTS - 1).max()) for name in ("ddm", "casadi", "casadi_adams")}
    samples = {name: [] for name in calls}
    for _ in range(repeat):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            samples[name].append(time.perf_counter() - start)
    times = {name: statistics.median(values) for name, values in samples.items()}
    times["ddm_over_casadi"] = times["ddm"] / times["casadi"]
    times["ddm_over_casadi_adams"] = times["ddm"] / times["casadi_adams"]
    times["ddm_over_motion"] = times["ddm"] / times["motion"]
    return times, errors


ROWS: dict[str, tuple] = {
    "cold_compilation": ("compilation, empty cache", "s", 60, 30),
    "cached_start": ("start from the cache", "s"),
    "motion": ("motion, 1 ms", "s"),
    "ddm": ("motion and gradients (3 x 5), 1 ms", "s"),
    "casadi_motion": ("CasADi, CVODES: motion", "s"),
    "casadi": ("CasADi, CVODES: gradients", "s"),
    "casadi_adams": ("CasADi, CVODES (Adams, functional iteration): gradients", "s"),
    "ddm_over_casadi": ("gradients, ours over CasADi's", "", 0.45, 0.2),
    "ddm_over_casadi_adams": ("gradients, ours over CasADi's with Adams", ""),
    "ddm_over_motion": ("gradients over motion alone", "", 2.5),
    "command_time": ("mbsim run models/fivebar.yaml --sensitivity ddm", "s", 2),
    "command_memory": ("  its peak memory", "MB", 400),
    "help_time": ("mbsim --help", "s", 0.3),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=9, help="calls behind each median")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    times, errors = solvers(given.repeat)
    figures = {**commands(min(given.repeat, 5)), **times}
    if given.json:
        print(json.dumps({"figures": figures, "relative_errors": errors}))
    else:
        show("Five-bar", figures_of(ROWS, figures))
        for name, error in errors.items():
            print(f"largest relative error of the gradients, {name}: {error:.1e}")


if __name__ == "__main__":
    main()
