"""Write docs/convergence.md: errors of the five-bar's motion and gradients against the step.

python benchmarks/convergence.py
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.reference import GRADIENTS, OBJECTIVES, PARAMETERS, PSI  # noqa: E402

PAGE = ROOT / "docs" / "convergence.md"
STEPS = ("8e-3", "4e-3", "2e-3", "1e-3", "5e-4", "2.5e-4", "1e-4")
FORMULATIONS = ("ali3p-rtdyn0", "ali3p-rtdyn1")


def run(step: str, formulation: str) -> tuple[np.ndarray, np.ndarray]:
    """Objectives (3,) and gradients (3, 5) of one run of the command."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["run", str(ROOT / "models/fivebar.yaml"), "--sensitivity", "ddm", "--json", "--force", "--quiet"]
        arguments += ["--step", step, "--formulation", formulation, "-o", f"{folder}/out.h5"]
        program = [sys.executable, "-c", "from mbsim_cli.cli.app import main; main()", *arguments]
        found = json.loads(subprocess.run(program, check=True, capture_output=True, text=True, cwd=ROOT).stdout)
    rows = [found["objectives"][name] for name in OBJECTIVES]
    return np.array([r["value"] for r in rows]), np.array([[r["gradient"][p] for p in PARAMETERS] for r in rows])


def table(errors: dict[str, tuple[float, float, float]]) -> str:
    """Markdown table of errors by step, each with its ratio to the one before."""
    lines = [
        "| step [s] | objectives | ratio | gradients | ratio | RTdyn0 against RTdyn1 |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    before = None
    for step, (value, gradient, agreement) in errors.items():
        halved = before is not None and float(before[0]) == 2 * float(step)
        ratios = [f"{before[1] / value:.2f}", f"{before[2] / gradient:.2f}"] if halved else ["", ""]
        lines.append(f"| {step} | {value:.1e} | {ratios[0]} | {gradient:.1e} | {ratios[1]} | {agreement:.0e} |")
        before = (step, value, gradient)
    return "\n".join(lines)


def main() -> None:
    errors = {}
    for step in STEPS:
        (psi0, gradient0), (psi, gradient) = (run(step, formulation) for formulation in FORMULATIONS)
        errors[step] = (
            np.abs(psi / PSI - 1).max(),
            np.abs(gradient / GRADIENTS - 1).max(),
            max(np.abs(psi0 / psi - 1).max(), np.abs(gradient0 / gradient - 1).max()),
        )
        print(step, *(f"{e:.2e}" for e in errors[step]), flush=True)
    start, end = "<!-- table -->\n", "\n<!-- end of table -->"
    before, rest = PAGE.read_text().split(start)
    PAGE.write_text(before + start + table(errors) + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
