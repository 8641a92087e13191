"""Cost of parameter studies beside the bare time loop: the five-bar with gradients, by one worker, two, and a shell.

    python benchmarks/study.py [--cases N] [--runs N] [--model NAME] [--json]

`--model buggy_lane_change` compares a study of N buggies with what its forecast said.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.figures import figures_of, show  # noqa: E402

STUDIES = {"fivebar": "bars", "buggy_lane_change": "suspension", "buggy": "suspension"}
PROGRAM = [sys.executable, "-m", "mbsim_cli"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
# Label and unit, then the largest value allowed (of two workers and efficiency the smallest).
ROWS: dict[str, tuple] = {
    "bare": ("bare time loop at the file's values, mean of the medians before and behind the study of one worker", "s"),
    "bare_behind": ("  behind the study over before it: how far the machine changed its pace meanwhile", ""),
    "own": ("the same at the values of cases, mean", "s"),
    "one_case": ("a case, one worker (wall time over cases)", "s"),
    "case_over_own": ("  over 1.1 times the bare loops of cases and 3 ms", "", 1.0),
    "case_over_file": ("  over 1.1 times that of the file's values and 3 ms, which take fewer iterations", "", 1.0),
    "two_over_one": ("cases a second, two workers over one", "", 1.8, None, True),
    "efficiency": ("solving over processors times wall time, two workers", "", 0.93, None, True),
    "forecast": ("forecast for two workers", "s"),
    "two_wall": ("  what they took", "s"),
    "forecast_error": ("  relative error of the forecast", "", 0.15),
    "forecast_spread": ("  what the forecast said that it may be off", ""),
    "pace": ("  bare loop before and behind the study over that before and behind the forecast", ""),
    "forecast_error_at_pace": ("  relative error of the forecast times that, which the machine has no part in", ""),
    "shell_case": ("mbsim run from xargs -P 2, a case", "s"),
    "shell_over_study": ("  over a case of two workers", ""),
}


def bare(model: str, repeat: int, folder: Path) -> np.ndarray:
    """Median time [s] of the time loop alone, at the file's values, with the gradients of the study.

    And the mean at the values of the first cases, which may need more iterations, a case after each loop of the file.
    """
    from mbsim_cli import assembly, spec

    assembled = assembly.build(spec.load(ROOT / "models" / f"{model}.yaml"), sensitivity="ddm")
    names, *rows = (folder / "cases.csv").read_text().split()
    times, own = [], []
    for row in rows[: repeat + 1]:
        times.append(loop(assembled.problem))
        own.append(loop(assembled.at(dict(zip(names.split(","), map(float, row.split(",")), strict=True))).problem))
    return np.array([statistics.median(times[1:]), statistics.mean(own[1:])])


def loop(problem) -> float:
    """Time [s] of the time loop alone."""
    from mbsim_cli.solve.forward import forward

    problem = replace(problem, options=replace(problem.options, output_interval=1))
    start = time.perf_counter()
    deque(forward(problem), maxlen=0)
    return time.perf_counter() - start


def pace(problem) -> float:
    """Median time [s] of the time loop alone, for half a second at least: what the machine does now."""
    times: list[float] = []
    while len(times) < 5 or sum(times) < 0.5:
        times.append(loop(problem))
    return statistics.median(times)


def foretold(model: str, folder: Path) -> tuple[dict[str, float], dict]:
    """A study by two workers with what was forecast of it, and its report.

    A machine that changes its pace between the two is told by the bare loop before, between and behind them.
    """
    from mbsim_cli import assembly, spec

    problem = assembly.build(spec.load(ROOT / "models" / f"{model}.yaml"), sensitivity="ddm").problem
    loop(problem)
    paces = [pace(problem)]
    forecast = sweep(model, folder, "-o", "two", "-j", "2", "--dry-run")
    paces.append(pace(problem))
    two = sweep(model, folder, "-o", "two", "-j", "2")
    paces.append(pace(problem))
    wall, changed = two["command_seconds"], (paces[1] + paces[2]) / (paces[0] + paces[1])
    return {
        "forecast": forecast["seconds"],
        "two_wall": wall,
        "forecast_error": abs(forecast["seconds"] / wall - 1),
        "forecast_spread": forecast["spread"],
        "pace": changed,
        "forecast_error_at_pace": abs(changed * forecast["seconds"] / wall - 1),
    }, two


def cases_file(model: str, cases: int, folder: Path) -> Path:
    """The first cases of the model's study, as a table."""
    from mbsim_cli.study.assembling import Settings, load
    from mbsim_cli.study.listener import SILENT
    from mbsim_cli.study.sweep.planning import StudyRequest, plan_of

    file = load(ROOT / "models" / f"{model}.yaml", Settings())
    plan, values = plan_of(file, StudyRequest(STUDIES[model]), Settings(), "", SILENT)
    path = folder / "cases.csv"
    rows = [",".join(column.name for column in plan.varied)]
    rows += [",".join(map(repr, row)) for row in values[:cases].tolist()]
    path.write_text("\n".join(rows) + "\n")
    return path


def sweep(model: str, folder: Path, *options: str) -> dict:
    """Report of a study, with the wall time [s] of the whole command."""
    study = [
        "sweep",
        str(ROOT / "models" / f"{model}.yaml"),
        "--csv",
        str(folder / "cases.csv"),
        "--sensitivity",
        "ddm",
    ]
    start = time.perf_counter()
    done = subprocess.run([*PROGRAM, *study, *options, "--json"], cwd=folder, env=ENVIRONMENT, capture_output=True)
    if done.returncode:
        raise SystemExit(done.stderr.decode() or done.stdout.decode())
    return json.loads(done.stdout) | {"command_seconds": time.perf_counter() - start}


def shell(model: str, folder: Path, runs: int) -> float:
    """Wall time [s] of a case by `mbsim run` from `xargs -P 2`."""
    names, *rows = (folder / "cases.csv").read_text().split()
    lines = []
    for number, row in enumerate(rows[:runs]):
        values = " ".join(f"-p {name}={value}" for name, value in zip(names.split(","), row.split(","), strict=True))
        lines.append(f"run {ROOT}/models/{model}.yaml --sensitivity ddm {values} --quiet -o {folder}/r{number}.h5\n")
    words = ["xargs", "-P", "2", "-L", "1", *PROGRAM]
    start = time.perf_counter()
    subprocess.run(
        words,
        input="".join(lines).encode(),
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return (time.perf_counter() - start) / max(1, len(lines))


def measure(model: str, cases: int, runs: int) -> dict[str, float]:
    """All figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases_file(model, cases, folder)
        before = bare(model, 31, folder)
        one = sweep(model, folder, "-o", "one")
        behind = bare(model, 31, folder)
        figures = dict(zip(("bare", "own"), 0.5 * (before + behind), strict=True))
        figures["bare_behind"] = behind[0] / before[0]
        figures["one_case"] = one["wall_seconds"] / one["computed"]
        figures["case_over_file"] = figures["one_case"] / (1.1 * figures["bare"] + 3e-3)
        figures["case_over_own"] = figures["one_case"] / (1.1 * figures["own"] + 3e-3)
        told, two = foretold(model, folder)
        figures["two_over_one"] = one["wall_seconds"] / two["wall_seconds"]
        figures["efficiency"] = two["computed_seconds"] / (2 * two["wall_seconds"])
        figures |= told
        if runs:
            figures["shell_case"] = shell(model, folder, runs)
            figures["shell_over_study"] = figures["shell_case"] / (two["wall_seconds"] / two["computed"])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000, help="cases of the study")
    parser.add_argument("--runs", type=int, default=200, help="runs from the shell")
    parser.add_argument("--model", choices=STUDIES, default="fivebar")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    figures = measure(given.model, given.cases, given.runs)
    if given.json:
        print(json.dumps(figures))
    else:
        show(f"Study of {given.model}", figures_of(ROWS, figures))


if __name__ == "__main__":
    main()
