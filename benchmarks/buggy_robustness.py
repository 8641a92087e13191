"""Random changes of the buggy's data by up to 30 %, all in one process: each succeeds, or fails with a sentence.

    python benchmarks/buggy_robustness.py [--samples N] [--seed S] [--json]

Changed are masses, inertias (all entries of a body alike), springs, dampers, natural lengths, tyres, friction, the
initial speed and spin, the steering, and every coordinate of every hardpoint and centre of mass; wheels stay balanced.
"""

import argparse
import contextlib
import io
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import yaml

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
SHARE = 0.3
GEOMETRY = ("center_of_mass", "position", "design")
ANALYSIS_FAILED = 4
CHANGED = {*GEOMETRY, "mass", "stiffness", "damping", "natural_length", "radius", "friction", "B", "C", "value"}
NUMBER = re.compile(r"\d+\.\d+|\b\d\d+\b")  # a whole number of one digit is a part of a formula
SENTENCE = re.compile(r"(at t = [-+.\de]+ s|cannot be (assembled|found))")


class Changes:
    """Multiplies numbers by random factors."""

    def __init__(self, seed: int, geometry: float):
        self._random, self._geometry = np.random.default_rng(seed), geometry

    def factor(self, share: float = SHARE) -> float:
        return float(self._random.uniform(1 - share, 1 + share))

    def of(self, value: Any, share: float = SHARE) -> Any:
        """The same data with each number changed; 0.90 becomes 0.8127."""
        if isinstance(value, list):
            return [self.of(entry, share) for entry in value]
        if isinstance(value, str):
            return NUMBER.sub(lambda found: repr(float(found[0]) * self.factor(share)), value)
        return value * self.factor(share)

    def within(self, node: Any) -> Any:
        """A part of a model file with the vehicle's data changed."""
        if not isinstance(node, dict):
            return node
        changed = {}
        for key, value in node.items():
            if key == "inertia":
                factor = self.factor()
                changed[key] = {name: entry * factor for name, entry in value.items()}
            else:
                share = self._geometry if key in GEOMETRY else SHARE
                changed[key] = self.of(value, share) if key in CHANGED else self.within(value)
        return changed


def perturbed(seed: int, duration: float, geometry: float) -> dict[str, Any]:
    """The lane change with a vehicle of its own, ``duration`` seconds from 1.5 s before the steering starts on."""
    vehicle, manoeuvre = (
        yaml.safe_load((ROOT / "models" / f"{name}.yaml").read_text()) for name in ("buggy", "buggy_lane_change")
    )
    changes = Changes(seed, geometry)
    sections = ("constants", "laws", "roads", "objectives")
    model = vehicle | {name: vehicle.get(name, {}) | manoeuvre[name] for name in sections}
    for name in ("parameters", "bodies", "points", "repeat"):
        model[name] = changes.within(model[name])
    corner = model["repeat"]["suspension"]
    corner["bodies"]["{corner}_wheel"]["position"] = corner["points"]["{corner}_hub"]["design"]
    constants = model["constants"]
    for name in ("speed", "spin", "A"):
        constants[name] = changes.of(constants[name])
    model["laws"]["change"] |= {"start": 0.5, "end": "0.5 + T"}
    model["analysis"] |= manoeuvre["analysis"] | {"duration": duration}
    return model | {"checks": {}}


def attempt(seed: int, folder: Path, duration: float, geometry: float) -> tuple[int, str]:
    """Exit code and message of one run of the command; the message of a success is empty or a complaint."""
    from mbsim_cli.cli import outcome

    path = folder / "perturbed.yaml"
    path.write_text(yaml.safe_dump(perturbed(seed, duration, geometry)))
    out, err = io.StringIO(), io.StringIO()
    arguments = ["run", str(path), "--json", "--quiet", "--force", "-o", str(folder / "perturbed.h5")]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = outcome.call(arguments)
    report = json.loads(out.getvalue())
    if code:
        return code, report.get("message", "") + "".join(f" {error['message']}" for error in report["errors"])
    psi = report["objectives"]["psi"]
    known = [value for name, value in psi["gradient"].items() if name not in psi["undefined"]]
    finite = None not in known and np.isfinite([psi["value"], *known]).all()
    return code, "" if finite else f"not finite: {psi}"


def is_allowed(code: int, message: str) -> bool:
    """Success with numbers that are finite or say why not, or exit code 4 with a sentence on what failed and when."""
    if code == ANALYSIS_FAILED:
        return SENTENCE.search(message) is not None and "nan" not in message.lower()
    return code == 0 and not message


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1000, help="vehicles")
    parser.add_argument("--seed", type=int, default=0, help="of the first vehicle; each next one adds 1")
    parser.add_argument("--duration", type=float, default=3.0, help="seconds of each run")
    parser.add_argument("--geometry", type=float, default=SHARE, help="largest change of a coordinate of a point")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    codes, wrong, failures = Counter(), [], []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seed, given.seed + given.samples):
            code, message = attempt(seed, Path(folder), given.duration, given.geometry)
            codes[code] += 1
            if not is_allowed(code, message):
                wrong.append((seed, code, message))
            elif code:
                failures.append((seed, message))
    if given.json:
        print(json.dumps({"codes": codes, "wrong": wrong, "failures": failures}))
    else:
        print(f"{given.samples} vehicles: " + ", ".join(f"{n} with exit code {c}" for c, n in sorted(codes.items())))
        for seed, *rest in failures[:10] + wrong:
            print(f"  seed {seed}:", *rest)
        print(f"{len(wrong)} neither succeeded nor failed with a sentence that says what and when")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
