"""Write the table of docs/theory/resolution.md: estimated discretisation errors beside those that half the step tells.

python benchmarks/resolution.py
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mbsim_cli.solve.resolution import Resolution  # noqa: E402
from mbsim_cli.study.assembling import Settings, load  # noqa: E402
from mbsim_cli.study.diagnostics.discretisation import values_of  # noqa: E402
from mbsim_cli.study.listener import SILENT  # noqa: E402
from mbsim_cli.study.plan import Timing, plan_run  # noqa: E402
from mbsim_cli.study.run import run  # noqa: E402

PAGE = ROOT / "docs" / "theory" / "resolution.md"
RUNS = [  # file of models/, step or None for its own
    ("fivebar", None), ("fivebar", 1e-2), ("fivebar", 5e-2), ("buggy", None), ("buggy", 1e-2),
    ("buggy_lane_change", None), ("double_pendulum", None), ("benchmarks/a01_pendulum", None),
    ("benchmarks/a01_pendulum", 5e-2), ("benchmarks/a02_four_bars_40", None), ("benchmarks/a04_bricard", None),
    ("benchmarks/free_body", None), ("benchmarks/quarter_car", None), ("benchmarks/rssr_fourbar", None),
    ("benchmarks/rssr_fourbar", 1e-2), ("benchmarks/slider_crank_rheonomic", None),
    ("benchmarks/slider_crank_sundials", None), ("benchmarks/slider_crank_sundials", 5e-2),
    ("benchmarks/steady_top", None), ("benchmarks/whipple_bicycle", None), ("chain", 2e-3), ("robots/delta", None),
    ("robots/parallel", None), ("robots/stewart", 4e-3), ("flexible/beam_limits", 4e-4), ("flexible/pendulum", None),
    ("flexible/rotating_beam", 1e-3), ("flexible/slider_crank", None), ("flexible/spin_up", None),
]  # fmt: skip
FIXED = {"chain": {"formulation": "recursive", "integrator": "rk4"}}  # of those whose files choose their steps


Pair = tuple[float, float] | None  # largest estimated and true relative errors


def solve(model_file: Any, settings: Settings, second: bool) -> tuple[Any, np.ndarray]:
    """Outcome and positions (N, n) of one run with its gradients, with or without a second one that tells errors."""
    timing, positions = Timing(), []
    plan = plan_run(model_file, settings, timing, SILENT)._replace(second_run=second)
    outcome = run(plan, timing, SILENT, lambda block: positions.append(block.position.copy()))
    return outcome, np.concatenate(positions)


def judged(model_file: Any, settings: Settings) -> tuple[float, list[Pair]]:
    """The step, and the errors of motion, objectives, gradients; None where nothing is told."""
    outcome, coarse = solve(model_file, settings, True)
    options, parameters = outcome.plan.assembled.problem.options, values_of(outcome.plan.parameters)
    resolution, h, order = outcome.diagnostics.resolution, options.step, 4 if options.open_tree else 2
    halved, fine = solve(model_file, replace(settings, step=h / 2), False)
    fine = fine[: 2 * len(coarse) : 2]  # their ends may differ where the duration is no whole number of steps
    off = np.abs(coarse[: len(fine)] - fine).max(axis=0) / (1 - 2.0**-order)
    of_steps = isinstance(resolution, Resolution)  # the motion of inverse dynamics is given
    pairs: list[Pair] = [(resolution.worst[0], (off / resolution.sizes).max()) if of_steps else None]
    relative = []  # (2, 1 + p) of each objective
    for key, result in outcome.results.items():
        numbers = [np.append(r.value, r.gradient) for r in (result, halved.results[key])]
        given = result.uncertainty
        told = given.relative(result.value, result.gradient, parameters)
        with np.errstate(invalid="ignore"):
            true = abs(numbers[0] - numbers[1]) * 4 / 3 / given.denominators(result.value, result.gradient, parameters)
        relative.append(np.stack([told, np.where(np.isnan(told), np.nan, true)]))
    for part in (slice(0, 1), slice(1, None)):
        found = np.concatenate([r[:, part] for r in relative] or [np.zeros((2, 0))], axis=1)
        found = found[:, np.isfinite(found).all(axis=0)]
        pairs.append(tuple(found.max(axis=1)) if found.size else None)
    return h, pairs


def measured(name: str, step: float | None) -> tuple[float, list[Pair]]:
    """``judged`` of a shipped model."""
    settings = Settings(step=step, **FIXED.get(name, {}))
    return judged(load(ROOT / "models" / f"{name}.yaml", settings), settings)


def row(name: str, step: float | None) -> str:
    h, pairs = measured(name, step)
    cells = [name.rpartition("/")[2], f"{h:g}"]
    for pair in pairs:
        cells += [f"{error:.0e}" for error in pair] if pair else ["", ""]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    titles = ("model", "step [s]", "motion", "true", "objectives", "true", "gradients", "true")
    lines = [f"| {' | '.join(titles)} |", "| --- " * len(titles) + "|"]
    for name, step in RUNS:
        lines.append(row(name, step))
        print(lines[-1], flush=True)
    start, end = "<!-- table -->\n", "<!-- end of table -->"
    before, rest = PAGE.read_text().split(start)
    PAGE.write_text(before + start + "\n".join(lines) + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
