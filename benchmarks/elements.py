"""Cost of forces by expressions: the five-bar with its springs as expressions beside the built-in ones.

    python benchmarks/elements.py [--repeat N] [--duration S] [--json]    # exit code 1 if a bound is missed

Time loops alternate, in one thread; ratios are of the least processor times. Both models have the same motion, which is
checked first.
"""

import argparse
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np  # noqa: E402

from benchmarks.figures import Figure, tell  # noqa: E402
from mbsim_cli import spec  # noqa: E402
from mbsim_cli.assembly import build  # noqa: E402
from mbsim_cli.solve.forward import start  # noqa: E402

MOST = 1.3  # times the built-in springs
SPRINGS = {
    "spring_1": ("bar_A1.P1", "L_s1"),
    "spring_2": ("bar_12.P2", "L_s2"),
}


def with_expressions(text: str) -> str:
    """The five-bar's file with springs that are expressions of distances which sensors read."""
    sensors = "".join(
        f"  {name}: {{type: distance, points: [ground.B, {end}]}}\n" for name, (end, _) in SPRINGS.items()
    )
    for name, (end, length) in SPRINGS.items():
        points = f"{{type: spring_damper, points: [ground.B, {end}], "
        old = f"{points}stiffness: 100, natural_length: {length}}}"
        assert old in text
        text = text.replace(old, f'{points}force: "-100*({name} - {length})"}}')
    return text.replace("\nsensors:\n", f"\nsensors:\n{sensors}", 1)


def problems(method: str, duration: float) -> list:
    """Built-in springs, then expressions."""
    text = (ROOT / "models" / "fivebar.yaml").read_text()
    found = []
    for each in (text, with_expressions(text)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "fivebar.yaml"
            path.write_text(each)
            problem = build(spec.load(path), sensitivity=method, duration=duration).problem
        found.append(replace(problem, options=replace(problem.options, sensitivity=method)))
    return found


def seconds(problem) -> tuple[float, np.ndarray]:
    """Processor time of the time loop, and the last position."""
    simulation = start(problem)
    simulation.first_block()
    steps = round(problem.options.duration / problem.options.step)
    begin = time.process_time()
    block = simulation.advance(steps)
    return time.process_time() - begin, block.position[-1]


def ratio(method: str, duration: float, repeat: int) -> float:
    """Time with expressions over that with built-in springs."""
    both = problems(method, duration)
    ends = [seconds(problem)[1] for problem in both]
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-9)
    times = [[seconds(problem)[0] for problem in both] for _ in range(repeat)]
    built_in, expressions = np.min(times, axis=0)
    return expressions / built_in


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--duration", type=float, default=5.0)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    figures = [
        Figure(f"springs as expressions, {label}", ratio(method, chosen.duration, chosen.repeat), "times", MOST)
        for label, method in (("motion", "none"), ("DDM", "ddm"))
    ]
    tell("five-bar, expressions over built-in springs", figures, chosen.json)


if __name__ == "__main__":
    main()
