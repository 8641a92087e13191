"""Write docs/formulations.md: gradients and times of joint and of natural coordinates, beside those of the paper.

    python benchmarks/formulations.py [--repeat N] [--json]

One thread, processor time, medians of runs that alternate. Needs the extra `plot`.
"""

import argparse
import json
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads that wait take processor time, too

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.reference import GRADIENTS  # noqa: E402
from mbsim_cli import assembly, spec  # noqa: E402
from mbsim_cli.solve.forward import forward  # noqa: E402
from mbsim_cli.study.objectives import accumulator  # noqa: E402
from mbsim_cli.study.streams import integrand_of  # noqa: E402

PAGE = ROOT / "docs" / "formulations.md"
PICTURES = ROOT / "docs" / "pictures"
FORMULATIONS = {"ali3p-rtdyn0": "RTdyn0", "ali3p-rtdyn1": "RTdyn1", "ali3p-natural": "natural"}
CASES = {"five_bar": "fivebar", "step_descent": "buggy", "lane_change": "buggy_lane_change"}
PAPER_GRADIENTS = {  # of Table 7: RTdyn0, RTdyn1, natural coordinates
    ("psi1", "L_s1"): (-4.2288, -4.2288, -4.2288),
    ("psi1", "L_s2"): (3.2116, 3.2116, 3.2116),
    ("psi1", "m_A1"): (0.31865, 0.31865, 0.31865),
    ("psi1", "x_G_A1"): (0.44234, 0.44234, 0.44234),
    ("psi1", "L_A1"): (3.3597, 3.3597, 3.3598),
    ("psi2", "L_s1"): (-15.452, -15.452, -15.452),
    ("psi2", "L_s2"): (50.309, 50.309, 50.309),
    ("psi2", "m_A1"): (0.97016, 0.97016, 0.97015),
    ("psi2", "x_G_A1"): (0.74569, 0.74569, 0.74568),
    ("psi2", "L_A1"): (-27.359, -27.359, -27.359),
    ("psi3", "L_s1"): (221.64, 221.64, 221.64),
    ("psi3", "L_s2"): (2436.6, 2436.6, 2436.6),
    ("psi3", "m_A1"): (-32.497, -32.497, -32.497),
    ("psi3", "x_G_A1"): (-85.658, -85.658, -85.658),
    ("psi3", "L_A1"): (-2546.5, -2546.5, -2546.6),
}
PAPER_TIMES = {  # Tables 8, 9 and 10: joint coordinates, natural ones
    "five_bar": (0.719, 0.547),
    "step_descent": (8.188, 9.484),
    "lane_change": (2.578, 4.609),
}
BOUNDS = {"five_bar": (2.0, 1.3), "step_descent": (4.0, 2.5), "lane_change": (4.0, 2.5)}  # of the ratio, and aims
FINER = 4  # times shorter are the steps of the reference of the buggy, in joint coordinates
COLORS = {"RTdyn0": "C0", "RTdyn1": "C2", "natural": "C3", "reference": "0.3"}
SETTINGS = {"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "legend.frameon": False, "savefig.dpi": 110}


@dataclass
class Found:
    """What a run finds: gradients (objectives, p), and time (N,) and each integral up to it (N, objectives)."""

    gradients: np.ndarray
    time: np.ndarray
    values: np.ndarray


def build(case: str, formulation: str, step: float | None = None):
    """The assembled problem of a case."""
    model = spec.load(ROOT / "models" / f"{CASES[case]}.yaml")
    return assembly.build(model, formulation=formulation, step=step, output_interval=1, sensitivity="ddm")


def run(assembled) -> Found:
    """Motion, objectives and gradients."""
    p = assembled.problem.theta_rho.shape[1]
    wanted, time, integrands = [accumulator(objective, p) for objective in assembled.objectives], [], []
    for block in forward(assembled.problem):
        for each in wanted:
            each.add(block)
        time.append(block.time)
        integrands.append([integrand_of(objective, block).rows[0] for objective in assembled.objectives])
    t, y = np.concatenate(time), np.concatenate(integrands, axis=1).T
    areas = 0.5 * (y[1:] + y[:-1]) * np.diff(t)[:, None]
    values = np.concatenate([np.zeros((1, y.shape[1])), np.cumsum(areas, axis=0)])
    return Found(np.array([each.gradient for each in wanted]), t, values)


def times(problems: dict, repeat: int) -> dict[str, float]:
    """Median processor time of each formulation, interleaved; what is compiled has run before."""
    samples = {name: [] for name in problems}
    for _ in range(repeat):
        for name, assembled in problems.items():
            start = time.process_time()
            run(assembled)
            samples[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in samples.items()}


def reference_of(case: str) -> np.ndarray:
    """Gradients that the formulations are compared with."""
    if case == "five_bar":
        return GRADIENTS
    step = build(case, "ali3p-rtdyn1").problem.options.step
    return run(build(case, "ali3p-rtdyn1", step / FINER)).gradients


def measured(case: str, repeat: int) -> dict:
    """Everything about one case."""
    problems = {label: build(case, formulation) for formulation, label in FORMULATIONS.items()}
    found = {label: run(assembled) for label, assembled in problems.items()}
    one = problems["RTdyn1"]
    gradients = {label: each.gradients.tolist() for label, each in found.items()}
    sizes = {
        label: (len(a.problem.names.coordinates), len(a.problem.names.constraints)) for label, a in problems.items()
    }
    return {
        "objectives": [objective.name for objective in one.objectives],
        "parameters": list(one.problem.names.parameters),
        "counts": sizes,
        "gradients": gradients | {"reference": reference_of(case).tolist()},
        "times": times(problems, repeat),
        "histories": {label: {"time": f.time.tolist(), "values": f.values.tolist()} for label, f in found.items()},
    }


def gradient_rows(case: dict) -> list[str]:
    """Markdown rows of the gradients, and how far each formulation is from the reference, relative."""
    columns = [*FORMULATIONS.values(), "reference"]
    rows = [f"| | {' | '.join(columns)} |", "| --- " * (1 + len(columns)) + "|"]
    for i, objective in enumerate(case["objectives"]):
        for k, parameter in enumerate(case["parameters"]):
            values = (f"{case['gradients'][name][i][k]:.5g}" for name in columns)
            rows.append(f"| d {objective} / d {parameter} | {' | '.join(values)} |")
    reference = np.array(case["gradients"]["reference"])
    size = np.abs(reference).max(axis=1, keepdims=True)
    off = (f"{(np.abs(np.array(case['gradients'][name]) - reference) / size).max():.1e}" for name in columns[:-1])
    return [*rows, f"| largest difference, over the largest derivative | {' | '.join(off)} | |"]


def paper_rows() -> list[str]:
    """Table 7 as printed."""
    rows = ["| printed | RTdyn0 | RTdyn1 | natural |", "| --- | --- | --- | --- |"]
    return rows + [f"| d {o} / d {p} | {' | '.join(f'{x:g}' for x in xs)} |" for (o, p), xs in PAPER_GRADIENTS.items()]


def time_rows(name: str, case: dict) -> list[str]:
    """Times in seconds, with the ratio of natural to joint coordinates, beside the paper's."""
    (bound, aim), (joint, natural) = BOUNDS[name], PAPER_TIMES[name]
    rows = ["| | CPU time [s] | natural [s] | ratio nat/rel | bound, aim |", "| --- | --- | --- | --- | --- |"]
    for label in ("RTdyn0", "RTdyn1"):
        ours = case["times"]
        ratio = ours["natural"] / ours[label]
        rows.append(f"| {label} | {ours[label]:.4f} | {ours['natural']:.4f} | {ratio:.2f} | {bound:g}, {aim:g} |")
    return [*rows, f"| paper | {joint:g} | {natural:g} | {natural / joint:.3f} | |"]


def page(figures: dict[str, dict]) -> str:
    """Tables of the page."""
    lines = []
    for name, title, table in (
        ("five_bar", "Five-bar linkage, 5 s at 1 ms (Tables 7 and 8)", "Table 8"),
        ("step_descent", "Buggy, step descent, 4.5 s at 1 ms (Table 9, Figure 4)", "Table 9"),
        ("lane_change", "Buggy, double lane change, 12 s at 10 ms (Table 10, Figures 5 and 6)", "Table 10"),
    ):
        case = figures[name]
        counts = "; ".join(f"{label} {n} and {m}" for label, (n, m) in case["counts"].items())
        lines += ["", f"### {title}", "", f"Coordinates and equations: {counts}.", "", *gradient_rows(case)]
        lines += ["", *(paper_rows() if name == "five_bar" else [])]
        lines += ["", f"{table}: processor time of motion and gradient.", "", *time_rows(name, case)]
    return "\n".join(lines)


def draw_histories(case: dict, file: str) -> None:
    """Objectives against time, one picture each."""
    count = len(case["objectives"])
    figure, axes = plt.subplots(1, count, figsize=(3.2 * count + 1, 2.8), layout="constrained", squeeze=False)
    for k, (axis, objective) in enumerate(zip(axes[0], case["objectives"], strict=True)):
        for label, style in zip(FORMULATIONS.values(), ("-", "--", ":"), strict=True):
            found = case["histories"][label]
            values = np.array(found["values"])[:, k]
            axis.plot(found["time"], values, style, color=COLORS[label], label=label, lw=1.8)
        axis.set(title=objective, xlabel="time [s]")
    axes[0][0].legend()
    figure.savefig(PICTURES / file)
    plt.close(figure)


def draw_gradients(case: dict, file: str) -> None:
    """Bars of the gradient of the one objective, over the reference."""
    labels = [*FORMULATIONS.values(), "reference"]
    reference = np.array(case["gradients"]["reference"])[0]
    figure, axis = plt.subplots(figsize=(6, 2.8), layout="constrained")
    place = np.arange(len(case["parameters"]))
    for k, label in enumerate(labels):
        height = np.array(case["gradients"][label])[0] / np.abs(reference)
        axis.bar(place + 0.2 * (k - 1.5), height, 0.19, label=label, color=COLORS[label])
    axis.set_xticks(place, case["parameters"])
    axis.set_ylabel("over |reference|")
    axis.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.2))
    figure.savefig(PICTURES / file)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7, help="runs behind each median")
    parser.add_argument("--json", action="store_true", help="print one JSON object, and write nothing")
    given = parser.parse_args()
    figures = {name: measured(name, given.repeat) for name in CASES}
    if given.json:
        print(json.dumps(figures))
        return
    tables = page(figures)
    print(tables)
    with plt.rc_context(SETTINGS):
        draw_histories(figures["five_bar"], "formulations_five_bar.png")
        draw_gradients(figures["step_descent"], "formulations_step_gradient.png")
        draw_histories(figures["lane_change"], "formulations_lane_change.png")
        draw_gradients(figures["lane_change"], "formulations_lane_change_gradient.png")
    start, end = "<!-- tables -->\n", "\n<!-- end of tables -->"
    before, rest = PAGE.read_text().split(start)
    PAGE.write_text(before + start + tables + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
