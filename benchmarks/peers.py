"""Error against time of the five-bar in mbsim and in other programs, each in an environment of its own.

    python benchmarks/peers.py FOLDER [--rounds N] [--table]

Makes environments in FOLDER by pip, and takes those that are there. The error is the largest distance of point 2 in 5 s
from the motion by dop853 at a tolerance of 1e-13; times are processor times of the solving loop alone, the quickest of
all rounds, in which the programs alternate. Prints JSON, or a table in Markdown: the time to reach each error,
interpolated between the settings of a program.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

PROGRAMS = ROOT / "benchmarks" / "peer_programs"
MODEL = ROOT / "models" / "fivebar.yaml"
PEERS = {"mujoco": ["mujoco"], "casadi": ["casadi"], "pin": ["pin", "scipy"]}  # environment, and what it needs of PyPI
NAMES = {
    "ali1p": "mbsim ali1p-rtdyn1, dop853",
    "ali3p": "mbsim ali3p-rtdyn1",
    "mujoco": "MuJoCo RK4",
    "casadi": "CasADi CVODES, equations by hand",
    "pin": "Pinocchio, SciPy DOP853",
}
ERRORS = 10.0 ** -np.arange(3, 10)
DURATION, ROW = 5.0, 0.05
REPEATS = 5
TOLERANCES = 10.0 ** -np.arange(3, 12)
STEPS = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4)


def python_of(folder: Path, name: str) -> Path:
    """The interpreter of a peer's environment, which is made where it is missing."""
    program = folder / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not program.exists():
        venv.create(folder / name, with_pip=True)
        subprocess.run([program, "-m", "pip", "install", "-q", "numpy", *PEERS[name]], check=True)
    return program


def measured_peer(folder: Path, name: str, reference: Path) -> list[dict]:
    """Settings of a peer with error, seconds and version; none where it does not install or run here."""
    try:
        program = python_of(folder, name)
        script = [program, PROGRAMS / f"{name}_fivebar.py", reference]
        output = subprocess.run(script, check=True, capture_output=True, text=True, env=one_thread()).stdout
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"{name}: {error}; {getattr(error, 'stderr', '')}", file=sys.stderr)
        return []
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def one_thread() -> dict[str, str]:
    """The environment, with one thread for linear algebra."""
    return os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Ours:
    """Runs of mbsim, and the reference that all are compared with."""

    def __init__(self) -> None:
        from mbsim_cli import assembly, spec

        self.problem = assembly.build(spec.load(MODEL, {}), sensitivity="none").problem
        tight = {"tolerance": 1e-13, "absolute_tolerance": 1e-13}
        self.time, self.p2 = self.motion(formulation="ali1p-rtdyn1", integrator="dop853", step=ROW, **tight)

    def motion(self, **options) -> tuple[np.ndarray, np.ndarray]:
        """Times and positions of point 2 in rows of ``ROW``."""
        from dataclasses import replace

        from mbsim_cli.solve.forward import forward

        changed = {"duration": DURATION, "sensitivity": "none", "output_interval": 1} | options
        blocks = list(forward(replace(self.problem, options=replace(self.problem.options, **changed))))
        return np.concatenate([b.time for b in blocks]), np.concatenate([b.sensors for b in blocks])[:, :2]

    def settings(self, name: str):
        """Settings by their names."""
        if name == "ali1p":
            common = {"formulation": "ali1p-rtdyn1", "integrator": "dop853", "step": ROW}
            return {f"tolerance {t:g}": common | {"tolerance": t, "absolute_tolerance": t} for t in TOLERANCES}
        common = {"formulation": "ali3p-rtdyn1"}
        return {f"step {h:g} s": common | {"step": h, "output_interval": round(ROW / h)} for h in STEPS}

    def measured(self, name: str) -> list[dict]:
        """The same as ``measured_peer``."""
        found = []
        for setting, options in self.settings(name).items():
            error = float(np.linalg.norm(self.motion(**options)[1] - self.p2, axis=1).max())
            times = []
            for _ in range(REPEATS):
                start = time.process_time()
                self.motion(**options)
                times.append(time.process_time() - start)
            found.append({"setting": setting, "error": error, "seconds": min(times)})
        return found


def quickest(rounds: list[list[dict]]) -> list[dict]:
    """The settings with the least seconds of all rounds."""
    return [min(same, key=lambda each: each["seconds"]) for same in zip(*rounds, strict=True)]


def time_to(settings: list[dict], error: float) -> float | None:
    """Seconds to reach an error: of the settings that do the quickest, or a better guess between two neighbours."""
    reaching = [each["seconds"] for each in settings if each["error"] <= error]
    if not reaching:
        return None
    best = min(reaching)
    ordered = sorted(settings, key=lambda each: -each["error"])
    for coarse, fine in itertools.pairwise(ordered):
        if coarse["error"] > error >= fine["error"] > 0.0:
            share = np.log(error / coarse["error"]) / np.log(fine["error"] / coarse["error"])
            between = np.exp((1.0 - share) * np.log(coarse["seconds"]) + share * np.log(fine["seconds"]))
            best = min(best, float(between))
    return best


def table(found: dict[str, list[dict]]) -> str:
    """Milliseconds to each error, in Markdown."""
    lines = [
        "| five-bar, 5 s, ms to an error of | " + " | ".join(f"{e:.0e}".replace("e-0", "e-") for e in ERRORS) + " |"
    ]
    lines.append("| --- " * (1 + len(ERRORS)) + "|")
    for name, settings in found.items():
        times = [time_to(settings, error) for error in ERRORS]
        cells = " | ".join("" if seconds is None else f"{1e3 * seconds:.3g}" for seconds in times)
        lines.append(f"| {NAMES[name]} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where environments are kept")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="print Markdown in place of JSON")
    chosen = parser.parse_args()
    ours, folder = Ours(), chosen.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    reference = folder / "reference.json"
    reference.write_text(json.dumps({"time": ours.time.tolist(), "p2": ours.p2.tolist()}))
    rounds: dict[str, list] = {name: [] for name in NAMES}
    for _ in range(chosen.rounds):
        for name in NAMES:
            one = measured_peer(folder, name, reference) if name in PEERS else ours.measured(name)
            if one:
                rounds[name].append(one)
    found = {name: quickest(each) for name, each in rounds.items() if each}
    print(table(found) if chosen.table else json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
