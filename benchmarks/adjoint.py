"""Cost of adjoint gradients beside the motion alone and beside direct gradients.

    python benchmarks/adjoint.py [--json] [--quick]

Medians of the processor times of repeats in turn, one thread, of whole runs with their objectives; reading, compiling
and assembling do not count. Exits with 1 where a figure exceeds its bound; --quick takes few steps and judges nothing.
"""

# ruff: noqa: E402
import os

# read when the libraries are loaded
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mbsim_cli.solve.tape import MEMORY
from mbsim_cli.study.assembling import Settings, build, costs_of, load
from mbsim_cli.study.compiling import compile_kernels, compile_objectives
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.listener import SILENT

CHAIN = "chain"  # of so many links, by the recursive formulation; by all numbers direct gradients would take minutes
MODELS = {"fivebar": {}, "buggy": {}, "buggy_lane_change": {}, CHAIN: {"overrides": {"n": "256"}, "duration": 0.5}}
OVER_MOTION, ALL_OVER_FEW, THREE_OVER_ONE, BUDGET, WELL_CHOSEN = 3.0, 1.2, 1.5, 2.0, 1.5  # bounds of the ratios
AGREES = 1e-9
TENTH, MOST = 0.1, 0.7  # of what is kept; few steps take more than a tenth at least


def cases(name, quick):
    """{label: number of parameters, a function that runs it and returns its results, the method that auto takes}."""
    path, found = ROOT / "models" / f"{name}.yaml", {}
    few = MODELS[name] | ({"duration": 0.05} if quick else {})

    def case(label, method, *, every=False, count=1, memory=None):
        settings = Settings(method=method, all_numbers=every, memory=memory, **few)
        file = load(path, settings)
        chosen = [] if method == "none" else list(file.parameters) if every else None
        assembled = build(file, settings, chosen)
        objectives = (assembled.objectives * count)[:count] if count > 1 else assembled.objectives[:1]
        compile_kernels(assembled.problem, SILENT, objectives=objectives)
        compile_objectives(objectives)
        problem = assembled.problem
        quicker = costs_of(problem, len(objectives), MEMORY).quicker
        found[label] = (problem.theta_rho.shape[1], lambda: evaluate(problem, objectives), quicker)

    case("motion", "none")
    case("adjoint", "adjoint")
    case("adjoint, all numbers", "adjoint", every=True)
    case("ddm", "ddm")
    if name != CHAIN:
        case("ddm, all numbers", "ddm", every=True)
    if name == "fivebar":  # it has three objectives
        case("adjoint, three objectives", "adjoint", count=3)
        case("adjoint, a tenth of the memory", "adjoint", memory=(TENTH if not quick else MOST) * _whole(path, few))
    return found


def _whole(path, few):
    """Bytes that the adjoint of a run keeps."""
    from mbsim_cli.solve.forward import start
    from mbsim_cli.solve.tape import Tape, arrays_of

    assembled = build(load(path, Settings(**few)), Settings(method="adjoint", **few), None)
    problem, tape = assembled.problem, Tape()
    start(problem, tape=tape).first_block()
    _, record = next(tape.backwards())
    of_row = sum(array[:1].nbytes for array in arrays_of(record))
    return round(problem.options.duration / problem.options.step) * of_row


def measured(found, repeats):
    """{label: median seconds}, all cases in turn; and the results of the last."""
    seconds, results = {label: [] for label in found}, {}
    for _ in range(repeats):
        for label, (_, run, _) in found.items():
            begun = time.process_time()
            results[label] = run()
            seconds[label].append(time.process_time() - begun)
    return {label: float(np.median(times)) for label, times in seconds.items()}, results


def difference(results, a, b):
    """Largest relative difference of the gradients of the first objective; what is undefined must be so in both."""
    ours, theirs = (next(iter(results[label].values())).gradient for label in (a, b))
    if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
        return float("inf")
    return float(np.nanmax(np.abs(ours - theirs)) / np.nanmax(np.abs(theirs)))


def figures(name, quick):
    """Ratios of a model, with their bounds, and its times."""
    found = cases(name, quick)
    times, results = measured(found, 1 if quick else 15)
    rows = {
        "adjoint over motion": (times["adjoint"] / times["motion"], OVER_MOTION),
        "adjoint by all numbers over motion": (times["adjoint, all numbers"] / times["motion"], OVER_MOTION),
        "adjoint by all numbers over adjoint": (times["adjoint, all numbers"] / times["adjoint"], ALL_OVER_FEW),
        "direct over motion": (times["ddm"] / times["motion"], None),
        "difference to direct gradients": (difference(results, "adjoint", "ddm"), AGREES),
    }
    if "ddm, all numbers" in times:
        rows |= _by_all_numbers(found, times, results)
    if "adjoint, three objectives" in times:
        rows["three objectives over one"] = (times["adjoint, three objectives"] / times["adjoint"], THREE_OVER_ONE)
        again = "adjoint, a tenth of the memory"
        rows["a tenth of the memory over all of it"] = (times[again] / times["adjoint"], BUDGET)
        rows["  difference of the gradients"] = (difference(results, again, "adjoint"), 0.0)
    for every in ("", ", all numbers") if "ddm, all numbers" in times else ("",):
        pair, chosen = [times[f"{method}{every}"] for method in ("adjoint", "ddm")], found[f"ddm{every}"][2] + every
        rows[f"what auto takes over the quicker{every}"] = (times[chosen] / min(pair), WELL_CHOSEN)
    return rows, times, {label: count for label, (count, *_) in found.items()}


def _by_all_numbers(found, times, results):
    """Ratios that direct gradients by all numbers tell."""
    few, every = (found[label][0] for label in ("ddm", "ddm, all numbers"))
    growth = (times["ddm, all numbers"] - times["ddm"]) / (every - few)
    return {
        "direct by all numbers over motion": (times["ddm, all numbers"] / times["motion"], None),
        "  difference to them": (difference(results, "adjoint, all numbers", "ddm, all numbers"), AGREES),
        "parameters from which the adjoint wins": ((times["adjoint"] - times["ddm"]) / growth + few, None),
    }


def main():
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="few steps; nothing is judged")
    arguments = parser.parse_args()
    report, missed = {}, 0
    for name in MODELS:
        rows, times, p = figures(name, arguments.quick)
        report[name] = {"figures": {key: value for key, (value, _) in rows.items()}, "seconds": times, "parameters": p}
        exceeded = {key for key, (value, bound) in rows.items() if bound is not None and value > bound}
        missed += len(exceeded)
        if not arguments.json:
            print(f"{name}: " + ", ".join(f"{label} {1e3 * s:.1f} ms (p = {p[label]})" for label, s in times.items()))
            for key, (value, bound) in rows.items():
                limit = "" if bound is None else f"at most {bound:g}" + (" MISSED" if key in exceeded else "")
                print(f"  {key:45s} {value:10.3g}  {limit}")
    if arguments.json:
        print(json.dumps(report))
    return int(missed > 0 and not arguments.quick)


if __name__ == "__main__":
    sys.exit(main())
