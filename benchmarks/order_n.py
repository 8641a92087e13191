"""Cost of open trees: the spatial chain of models/chain.yaml in three formulations, against Pinocchio, and at length.

    python benchmarks/order_n.py [--plot] [--json] [--quick]

Needs the extra `oracles` for Pinocchio, which is left out where it is missing, and `plot` for --plot, which writes
docs/pictures/order_n_*.png. Times are the best processor times of repeats in turn, one thread each. Exits with 1
where a figure exceeds its bound; --quick runs small cases and judges nothing.
"""

# ruff: noqa: E402
import os

# read when the libraries are loaded
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import argparse
import json
import platform
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.chain import MODEL, PARAMETERS, STATES, Evaluations, Pinocchio, best_times, chain
from benchmarks.fivebar import command

ALONE, VARIED = "alone", "with_sensitivities"
FORMULATIONS = ("recursive", "conventional", "partial_recursive")
LINEAR_FROM = 64
# Label, unit, largest value allowed, aim.
FIGURES = {
    "growth": ("recursive, p = 8: largest t(2n) / t(n) from n = 64 on", "", 2.2, None),
    "growth_alone": ("  the same, right-hand side alone", "", None, None),
    "crossover": ("p = 8: n from which recursive is never slower than conventional", "", 8, None),
    "crossover_alone": ("  the same, right-hand side alone", "", 8, None),
    "sensitivities_over_alone": ("recursive: with p = 8 over alone, largest of all n", "", 6, 3),
    "alone_24": ("right-hand side alone, n = 24", "us", None, None),
    "pinocchio_inside": ("  abaInParallel, one thread", "us", None, None),
    "pinocchio_called": ("  aba, called for each state", "us", None, None),
    "over_pinocchio": ("  ours over abaInParallel", "", 1.5, None),
    "over_pinocchio_called": ("  ours over aba, called", "", None, None),
    "difference_to_pinocchio": ("  largest relative difference of the accelerations", "", 1e-9, None),
    "command_time": ("mbsim run of the long chain, p = 4, 0.1 s of motion", "s", None, None),
    "command_memory": ("  its peak memory", "MB", 2000, None),
    "energy_drift": (
        "n = 24, dop853 at 1e-10: drift of energy over largest kinetic energy",
        "",
        1e-9,
        None,
    ),
    "energy_time": ("  its time", "s", None, None),
}


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    lengths: tuple[int, ...] = (*range(2, 25, 2), *(2**k for k in range(5, 13)))
    dense: int = 512  # longest chain of the formulations that factorise
    repeats: int = 40
    states: int = STATES
    command: int = 10_000
    duration: float = 10.0


QUICK = Extent((2, 4, 8, 16, 24, 64, 128), 16, 3, 50, 100, 0.1)


def sweep(extent):
    """{formulation: {"n", "alone", "with_sensitivities"}}: seconds an evaluation."""
    groups = {True: {}, False: {}}  # those that repeat often, and the slow ones
    for n in extent.lengths:
        problem = chain(n)
        for formulation in FORMULATIONS if n <= extent.dense else FORMULATIONS[:1]:
            case = Evaluations(problem, formulation)
            runs = groups[formulation == "recursive" or n <= 32]
            runs[formulation, n, ALONE] = case.alone, case.rows
            runs[formulation, n, VARIED] = case.with_sensitivities, case.rows
    best = best_times(groups[True], extent.repeats) | best_times(groups[False], min(extent.repeats, 5))
    found = {}
    for formulation in FORMULATIONS:
        lengths = [n for name, n, kind in best if name == formulation and kind == ALONE]
        found[formulation] = {"n": sorted(lengths)}
        for kind in (ALONE, VARIED):
            found[formulation][kind] = [best[formulation, n, kind] for n in sorted(lengths)]
    return found


def crossover(found, kind):
    """Length from which recursive is never slower than conventional, or one more than the longest."""
    pairs = zip(found["conventional"]["n"], found["recursive"][kind], found["conventional"][kind], strict=False)
    last = max((n for n, ours, theirs in pairs if ours > theirs), default=0)
    lengths = found["conventional"]["n"]
    return min((n for n in lengths if n > last), default=lengths[-1] + 1)


def growth(times, kind):
    """Largest t(2n) / t(n) from LINEAR_FROM on."""
    by_length = dict(zip(times["n"], times[kind], strict=True))
    return max(t / by_length[n // 2] for n, t in by_length.items() if n // 2 >= LINEAR_FROM and n // 2 in by_length)


def scaling(found):
    """Figures of the sweep."""
    ours = found["recursive"]
    return {
        "growth": growth(ours, VARIED),
        "growth_alone": growth(ours, ALONE),
        "crossover": crossover(found, VARIED),
        "crossover_alone": crossover(found, ALONE),
        "sensitivities_over_alone": max(b / a for a, b in zip(ours[ALONE], ours[VARIED], strict=True)),
    }


def against_pinocchio(extent):
    """Accelerations of 24 links at many states: microseconds a state, and ratios."""
    problem = chain(24)
    ours = Evaluations(problem, "recursive", extent.states)
    try:
        theirs = Pinocchio(problem, ours.z, ours.zd)
    except ImportError:
        return {}
    runs = {"alone_24": ours.alone, "pinocchio_inside": theirs.inside, "pinocchio_called": theirs.called}
    best = best_times({name: (run, extent.states) for name, run in runs.items()}, extent.repeats)
    return {
        **{name: 1e6 * seconds for name, seconds in best.items()},
        "over_pinocchio": best["alone_24"] / best["pinocchio_inside"],
        "over_pinocchio_called": best["alone_24"] / best["pinocchio_called"],
        "difference_to_pinocchio": float(np.abs(theirs.zdd.T - ours.zdd).max() / np.abs(ours.zdd).max()),
    }


def long_chain(extent):
    """Time and peak memory of the command, from its start to its end."""
    with tempfile.TemporaryDirectory() as folder:
        given = ["-p", f"n={extent.command}", "-p", "k=2", "--duration", "0.1", "--step", "0.01"]
        given += ["--formulation", "recursive", "--integrator", "dop853", "--sensitivity", "ddm"]
        seconds, megabytes, _ = command("run", str(MODEL), *given, "--quiet", "--json", "-o", f"{folder}/chain.h5")
    return {"command_time": seconds, "command_memory": megabytes}


def energy(extent):
    """Drift of the energy of 24 links, relative to the largest kinetic energy."""
    from mbsim_cli.solve.forward import forward

    problem = chain(24)
    options = replace(
        problem.options, formulation="recursive", integrator="dop853", tolerance=1e-10, absolute_tolerance=1e-10,
        sensitivity="none", step=0.01, duration=extent.duration,
    )  # fmt: skip
    start = time.process_time()
    kinetic, potential, _ = np.concatenate([b.energy for b in forward(replace(problem, options=options))]).T
    total = kinetic + potential
    drift = float(np.abs(total - total[0]).max() / kinetic.max())
    return {"energy_drift": drift, "energy_time": time.process_time() - start}


def machine():
    """What the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    packages = {}
    for package in ("numpy", "numba", "pin"):
        try:
            packages[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            packages[package] = None
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        **packages,
    }


def missed(figures):
    """Names of figures over their bounds."""
    return [k for k, value in figures.items() if FIGURES[k][2] is not None and not value <= FIGURES[k][2]]


def show(found, figures, on, extent, judged):
    """Print times and figures with their verdicts."""
    print(", ".join(f"{key} {value}" for key, value in on.items()))
    print(f"\nmicroseconds an evaluation: alone, and with p = {PARAMETERS} sensitivities")
    print("     n" + "".join(f"{name:>28s}" for name in FORMULATIONS))
    for row, n in enumerate(found["recursive"]["n"]):
        cells = [found[name] for name in FORMULATIONS if row < len(found[name]["n"])]
        print(f"{n:6d}" + "".join(f"{1e6 * c[ALONE][row]:14.2f}{1e6 * c[VARIED][row]:14.2f}" for c in cells))
    print(f"\n{extent.states} states beside Pinocchio, a long chain of {extent.command} links, energy over", end=" ")
    print(f"{extent.duration:g} s" if judged else f"{extent.duration:g} s: small cases, which no bound is for")
    print(f"\n{'figure':72s}{'measured':>10s}      bound  aim  verdict")
    for key, value in figures.items():
        label, unit, bound, aim = FIGURES[key]
        verdict = "" if bound is None or not judged else "missed" if key in missed(figures) else "held"
        print(f"{label:72s}{value:10.3g} {unit:3s} {bound or '':6} {aim or '':4}  {verdict}".rstrip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plot", action="store_true", help="write the pictures of docs/order_n.md")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="small cases, no bound is checked")
    given = parser.parse_args()
    extent = QUICK if given.quick else Extent()
    on, found = machine(), sweep(extent)
    figures = scaling(found) | against_pinocchio(extent) | long_chain(extent) | energy(extent)
    failed = [] if given.quick else missed(figures)
    if given.json:
        print(json.dumps({"machine": on, "seconds": found, "figures": figures, "missed": failed}))
    else:
        show(found, figures, on, extent, judged=not given.quick)
    if given.plot:
        from benchmarks.order_n_pictures import write

        write(found, ROOT / "docs" / "pictures")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
