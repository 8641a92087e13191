"""Write the table of docs/theory/resolution.md: estimated discretisation errors beside those that half the step tells.

python benchmarks/resolution.py
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from mbsim_cli.study.assembling import build, load  # noqa: E402
from mbsim_cli.study.diagnostics.discretisation import values_of  # noqa: E402
from mbsim_cli.study.evaluation import evaluate, resolution_of  # noqa: E402
from mbsim_cli.study.settings import Settings  # noqa: E402

PAGE = ROOT / "docs" / "theory" / "resolution.md"
RUNS = [  # file of models/, step or None for its own
    ("fivebar", None), ("fivebar", 1e-2), ("fivebar", 5e-2), ("buggy", None), ("buggy", 1e-2),
    ("buggy_lane_change", None), ("double_pendulum", None), ("benchmarks/a01_pendulum", None),
    ("benchmarks/a01_pendulum", 5e-2), ("benchmarks/a02_four_bars_40", None), ("benchmarks/a04_bricard", None),
    ("benchmarks/free_body", None), ("benchmarks/quarter_car", None), ("benchmarks/rssr_fourbar", None),
    ("benchmarks/rssr_fourbar", 1e-2), ("benchmarks/slider_crank_rheonomic", None),
    ("benchmarks/slider_crank_sundials", None), ("benchmarks/slider_crank_sundials", 5e-2),
    ("benchmarks/steady_top", None),
]  # fmt: skip


def solve(name: str, step: float | None) -> tuple[Any, Any, dict[str, Any], np.ndarray]:
    """Assembled problem, resolution, objectives, and positions (N, n) of one run with its gradients."""
    settings, positions = Settings(step=step), []
    model_file = load(ROOT / "models" / f"{name}.yaml", settings)
    assembled = build(model_file, settings, None)
    resolution = resolution_of(assembled.problem)
    take = (lambda block: positions.append(block.position),)
    results = evaluate(assembled.problem, assembled.objectives, take, resolution)
    return assembled, resolution, results, np.concatenate(positions)


def measured(name: str, step: float | None) -> tuple[float, list[tuple[float, float] | None]]:
    """The step, and the largest estimated and true errors of motion, objectives, gradients; None where none."""
    assembled, resolution, results, coarse = solve(name, step)
    problem, parameters = assembled.problem, values_of(assembled.parameters)
    h, order = problem.options.step, 4 if problem.options.open_tree else 2
    _, _, halved, fine = solve(name, h / 2)
    off = np.abs(coarse - fine[: 2 * len(coarse) : 2]).max(axis=0) / (1 - 2.0**-order)
    pairs: list[tuple[float, float] | None] = [(resolution.worst[0], (off / resolution.sizes).max())]
    relative = []  # (2, 1 + p) of each objective
    for key, result in results.items():
        numbers = [np.append(r.value, r.gradient) for r in (result, halved[key])]
        given = result.uncertainty
        errors = np.stack([np.append(given.value, given.gradient), abs(numbers[0] - numbers[1]) * 4 / 3])
        relative.append(errors / given.sizes(result.value, result.gradient, parameters))
    for part in (slice(0, 1), slice(1, None)):
        found = [r[:, part].max(axis=1) for r in relative if r[:, part].size]
        pairs.append(tuple(np.max(found, axis=0)) if found else None)
    return h, pairs


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
