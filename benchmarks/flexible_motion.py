"""Cost of bodies that deform in a motion: steps of the slider-crank beside rigid ones, and gradients by densities.

    python benchmarks/flexible_motion.py              one run and its gradient by 1e5 densities, of 1e4 steps
    python benchmarks/flexible_motion.py --quick      by 1e3 densities
    python benchmarks/flexible_motion.py --json FILE

Seconds of the processor, one thread, and memory, without compiling; limits in brackets.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from mbsim_cli.study.assembling import (  # noqa: E402
    Settings,
    load,
)
from mbsim_cli.study.listener import SILENT  # noqa: E402
from mbsim_cli.study.plan import (  # noqa: E402
    Timing,
    plan_run,
)
from mbsim_cli.study.run import run  # noqa: E402

ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
MOST_OF_STEP, MOST_OF_GRADIENT, MOST_MB = 2.0, 2.5, 2048
FORWARD, GRADIENT, FLEXIBLE, RIGID = "forward", "gradient", "flexible steps", "rigid steps"
STATED = "sensitivity: {method: adjoint, fields: [p]}"
ASKED = {
    FORWARD: "sensitivity: {method: none}",
    GRADIENT: "sensitivity: {method: adjoint, fields: [p], parameters: []}",
}
RIGID_CRANK = "    mass: 1.7584\n    center_of_mass: [0.2, 0, 0]\n    inertia: {zz: 0.03}\n"


def model(case: str, elements: str) -> str:
    """Text of the slider-crank with ten modes, or with a rigid crank."""
    text = (ROOT / "models/flexible/slider_crank_densities.yaml").read_text().partition("checks:")[0]
    changes = {"elements: [20, 4]": f"elements: {elements}", "modes: {count: 6}": "modes: {count: 10}"}
    changes[STATED] = ASKED.get(case, ASKED[FORWARD])
    if case == RIGID:
        body = text[text.index("    flexible:\n") : text.index("  rod: {shape")]
        changes = {
            body: RIGID_CRANK,
            "points:\n": "points:\n  pin: {crank: [length, 0, 0], rod: [0, 0, 0]}\n",
            "point: [pin, A]": "point: pin",
            "  U: {type: strain_energy, body: crank}": "  U: {type: kinetic_energy}",
            "  u: {type: deformation, point: crank.pin}\n": "",
            STATED: ASKED[FORWARD],
        }
    for before, after in changes.items():
        assert before in text, before
        text = text.replace(before, after, 1)
    return text


def measure(case: str, elements: str) -> dict:
    """Seconds of one run, for steps the best of five, and the peak of memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.yaml"
        path.write_text(model(case, elements))
        settings, timing = Settings(), Timing()
        start = time.process_time()
        plan = plan_run(load(path, settings), settings, timing, SILENT)
        loading = time.process_time() - start
        plan.compile(SILENT)
        times = []
        for _ in range(5 if case in (FLEXIBLE, RIGID) else 1):
            start = time.process_time()
            run(plan, timing, SILENT)
            times.append(time.process_time() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"case": case, "elements": elements, "loading": loading, "run": min(times), "peak MB": peak}


def measured(case: str, elements: str) -> dict:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--case", case, "--elements", elements]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | ONE_THREAD)
    return json.loads(out.stdout)


def main() -> None:
    """Print both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--elements", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case:
        print(json.dumps(measure(asked.case, asked.elements)))
        return
    rows = {case: measured(case, "[20, 4]") for case in (RIGID, FLEXIBLE)}
    measured(GRADIENT, "[20, 4]")  # compiles, unless its kernels are kept: the memory of a compiler is not counted
    rows |= {case: measured(case, "[70, 14]" if asked.quick else "[705, 141]") for case in (FORWARD, GRADIENT)}
    rigid, flexible = (rows[case]["run"] for case in (RIGID, FLEXIBLE))
    print(f"steps: rigid {rigid:.3f} s, 10 modes {flexible:.3f} s, ratio {flexible / rigid:.2f} [{MOST_OF_STEP}]")
    forward, gradient = (rows[case]["loading"] + rows[case]["run"] for case in (FORWARD, GRADIENT))
    print(
        f"densities {rows[GRADIENT]['elements']}: forward {forward:.2f} s, with gradient {gradient:.2f} s, "
        f"ratio {gradient / forward:.2f} [{MOST_OF_GRADIENT}], peak {rows[GRADIENT]['peak MB']:.0f} MB [{MOST_MB}]"
    )
    if asked.json:
        asked.json.write_text(json.dumps(list(rows.values()), indent=2) + "\n")


if __name__ == "__main__":
    main()
