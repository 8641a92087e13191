"""Error against time of the five-bar, and of its derivatives, in mbsim and in other programs.

    python benchmarks/peers.py FOLDER [--rounds N] [--table] [--picture FILE]

Each program has an environment of its own: they are made in FOLDER by pip, and those that are there are taken. The
error is the largest distance of point 2 in 5 s from the motion by dop853 at a tolerance of 1e-13; times are processor
times of the solving loop alone, the quickest of all rounds, in which the programs alternate. Prints JSON, or tables in
Markdown: the time to reach each error, interpolated between the settings of a program. Derivatives are those of point
2 by five parameters; their error is relative to the largest of each parameter.
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
PEERS = {  # environment, and what it needs of PyPI
    "mujoco": ["mujoco"],
    "casadi": ["casadi"],
    "opensim": ["opensim"],
    "exudyn": ["exudyn"],
    "pin": ["pin", "scipy"],
}
NAMES = {
    "ali1p": "mbsim ali1p-rtdyn1, dop853",
    "ali3p": "mbsim ali3p-rtdyn1",
    "mujoco": "MuJoCo RK4",
    "casadi": "CasADi CVODES, equations by hand",
    "compiled": "the same, compiled by gcc",
    "opensim": "OpenSim, Runge-Kutta-Merson",
    "exudyn": "Exudyn, trapezoidal rule of index 2",
    "pin": "Pinocchio, SciPy DOP853",
}
DERIVATIVES = "d"  # note of settings whose error is that of derivatives
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
        done = subprocess.run(script, check=True, capture_output=True, text=True, env=one_thread(), cwd=folder)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"{name}: {error}; {getattr(error, 'stderr', '')}", file=sys.stderr)
        return []
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def one_thread() -> dict[str, str]:
    """The environment, with one thread for linear algebra."""
    return os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Ours:
    """Runs of mbsim, and the reference that all are compared with."""

    def __init__(self) -> None:
        from mbsim_cli import assembly, spec

        self.problem = assembly.build(spec.load(MODEL, {}), sensitivity="none").problem
        self.varied = assembly.build(spec.load(MODEL, {}), sensitivity="ddm").problem
        tight = {"tolerance": 1e-13, "absolute_tolerance": 1e-13, "error_control": "sensitivities"}
        tight |= {"formulation": "ali1p-rtdyn1", "integrator": "dop853", "step": ROW}
        self.time, self.p2, self.d_p2 = self.motion(sensitivity="ddm", **tight)
        self.sizes = np.abs(self.d_p2).max(axis=(0, 1))

    def motion(self, **options) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times (N,), positions (N, 2) of point 2 and their derivatives (N, 2, p) in rows of ``ROW``."""
        from dataclasses import replace

        from mbsim_cli.solve.forward import forward

        changed = {"duration": DURATION, "sensitivity": "none", "output_interval": 1} | options
        problem = self.problem if changed["sensitivity"] == "none" else self.varied
        blocks = list(forward(replace(problem, options=replace(problem.options, **changed))))
        time, seen, d_seen = (
            np.concatenate([getattr(b, name) for b in blocks]) for name in ("time", "sensors", "d_sensors")
        )
        return time, seen[:, :2], d_seen[:, :2]

    def settings(self, name: str):
        """Settings by their names."""
        if name == "ali1p":
            common = {"formulation": "ali1p-rtdyn1", "integrator": "dop853", "step": ROW}
            motion = {f"tolerance {t:g}": common | {"tolerance": t, "absolute_tolerance": t} for t in TOLERANCES}
            return motion | {f"{name}, gradients": {**each, "sensitivity": "ddm"} for name, each in motion.items()}
        common = {"formulation": "ali3p-rtdyn1"}
        steps = {f"step {h:g} s": common | {"step": h, "output_interval": round(ROW / h)} for h in STEPS}
        return steps | {f"{name}, gradients": {**each, "sensitivity": "ddm"} for name, each in steps.items()}

    def measured(self, name: str) -> list[dict]:
        """The same as ``measured_peer``."""
        found = []
        for setting, options in self.settings(name).items():
            _, p2, d_p2 = self.motion(**options)
            note = DERIVATIVES if "sensitivity" in options else ""
            off = ((d_p2 - self.d_p2) / self.sizes).reshape(len(p2), -1) if note else p2 - self.p2
            error = float(np.linalg.norm(off, axis=1).max())
            times = []
            for _ in range(REPEATS):
                start = time.process_time()
                self.motion(**options)
                times.append(time.process_time() - start)
            found.append({"setting": setting, "error": error, "seconds": min(times), "note": note})
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


def table(found: dict[str, list[dict]], note: str = "") -> str:
    """Milliseconds to each error, in Markdown; of derivatives by ``note`` DERIVATIVES."""
    what = "derivatives by 5 parameters" if note else "five-bar, 5 s"
    lines = [f"| {what}, ms to an error of | " + " | ".join(f"{e:.0e}".replace("e-0", "e-") for e in ERRORS) + " |"]
    lines.append("| --- " * (1 + len(ERRORS)) + "|")
    for name, every in found.items():
        settings = [each for each in every if each["note"] == note]
        if not settings:
            continue
        times = [time_to(settings, error) for error in ERRORS]
        cells = " | ".join("" if seconds is None else f"{1e3 * seconds:.3g}" for seconds in times)
        lines.append(f"| {NAMES[name]} | {cells} |")
    return "\n".join(lines)


def draw(found: dict[str, list[dict]], picture: Path) -> None:
    """Error against time, of the motion and of derivatives."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
    for ax, note, title in zip(axes, ("", DERIVATIVES), ("motion", "derivatives by 5 parameters"), strict=True):
        for name, every in found.items():
            points = [(1e3 * each["seconds"], each["error"]) for each in every if each["note"] == note]
            if points:
                ax.loglog(*zip(*points, strict=True), "o-", label=NAMES[name], lw=2 if name.startswith("ali") else 1)
        ax.set(title=f"five-bar, 5 s: {title}", xlabel="processor time of the solving loop [ms]")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("largest error [m]; derivatives: relative")
    axes[0].legend(fontsize=8)
    figure.savefig(picture, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where environments are kept")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--picture", type=Path, help="draw error against time")
    parser.add_argument("--table", action="store_true", help="print Markdown in place of JSON")
    chosen = parser.parse_args()
    ours, folder = Ours(), chosen.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    reference = folder / "reference.json"
    reference.write_text(json.dumps({"time": ours.time.tolist(), "p2": ours.p2.tolist(), "d_p2": ours.d_p2.tolist()}))
    rounds: dict[str, list] = {name: [] for name in NAMES}
    for _ in range(chosen.rounds):
        for name in ("ali1p", "ali3p", *PEERS):
            one = measured_peer(folder, name, reference) if name in PEERS else ours.measured(name)
            for key in (name, "compiled") if one else ():
                if part := [each for each in one if each["setting"].startswith("compiled") == (key == "compiled")]:
                    rounds[key].append(part)
        print(f"round {len(rounds['ali1p'])}, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    found = {name: quickest(each) for name, each in rounds.items() if each}
    (folder / "found.json").write_text(json.dumps(found, indent=1))
    print(f"{table(found)}\n\n{table(found, DERIVATIVES)}" if chosen.table else json.dumps(found, indent=1))
    if chosen.picture:
        draw(found, chosen.picture)


if __name__ == "__main__":
    main()
