"""Error against time in mbsim and in other programs: loops, chains, and derivatives of the five-bar.

    python benchmarks/peers.py FOLDER [--rounds N] [--only NAME ...] [--table] [--commands] [--picture FILE]

Each program has an environment of its own: they are made in FOLDER by pip, and those that are there are taken. The
error is the largest distance of a point from the motion by dop853 at a tolerance of 1e-13 (of the forty four-bars: by
SciPy, as the pendulum that they are); times are processor times of the solving loop alone, the quickest of all rounds,
in which the programs alternate. Prints JSON, or tables in Markdown: the time to reach each error, interpolated between
the settings of a program. Derivatives are by five parameters; their error is relative to the largest of each. Those of
other programs than CasADi are central differences of ten runs.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
PROGRAMS, MODELS = ROOT / "benchmarks" / "peer_programs", ROOT / "models"
sys.path.insert(0, str(ROOT))

from benchmarks.peer_programs.common import DERIVATIVES, LONG, REPEATS  # noqa: E402
from mbsim_cli.errors import MbsimError  # noqa: E402

PEERS = {  # environment, and what it needs of PyPI
    "mujoco": ["mujoco"],
    "casadi": ["casadi"],
    "opensim": ["opensim"],
    "exudyn": ["exudyn"],
    "pinocchio": ["pin", "scipy"],
    "drake": ["drake"],
}
ERRORS = 10.0 ** -np.arange(3, 10)
ENOUGH = 1e-5  # error that whole commands reach
STEPS = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4)


def pendulum(time: np.ndarray) -> np.ndarray:
    """B0 (N, 3) of the forty four-bars: 41 rods turn alike and carry 40, which is a pendulum's equation."""
    from scipy.integrate import solve_ivp

    share = -9.81 * (41 / 2 + 40) / (41 / 3 + 40)
    found = solve_ivp(
        lambda _, y: [y[1], share * np.cos(y[0])], (0, time[-1]), [np.pi / 2, -1.0], "DOP853", t_eval=time,
        rtol=1e-13, atol=1e-13,
    )  # fmt: skip
    return np.column_stack([np.cos(found.y[0]), np.sin(found.y[0]), np.zeros(time.size)])


class Case(NamedTuple):
    """A mechanism: model, its point that is compared, and who solves it."""

    title: str
    model: str
    sensor: str
    duration: float
    row: float
    peers: tuple[str, ...]
    high: dict  # the formulation of high order
    tolerances: tuple[int, ...] = tuple(range(3, 12))  # decades of dop853
    links: int | None = None
    derivatives: bool = False
    known: Callable[[np.ndarray], np.ndarray] | None = None  # the motion (N, 3) at times, where it is known

    @property
    def overrides(self) -> dict[str, str]:
        """Constants of the model."""
        return {} if self.links is None else {"n": str(self.links)}


SPATIAL, CHAINS = ("mujoco", "opensim", "exudyn", "pinocchio", "drake"), ("mujoco", "opensim", "pinocchio", "drake")
LOOP, TREE = {"formulation": "ali1p-rtdyn1"}, {"formulation": "recursive"}
CASES = {
    "fivebar": Case(
        "five-bar, 5 s", "fivebar", "r2", 5.0, 0.05, tuple(PEERS), LOOP, derivatives=True
    ),
    "rssr": Case("RSSR, 2 s", "benchmarks/rssr_fourbar", "B", 2.0, 0.05, SPATIAL, LOOP),
    "delta": Case("delta robot, 2 s", "../benchmarks/peer_programs/delta", "center", 2.0, 0.05, SPATIAL, LOOP),
    "a02": Case(
        "forty four-bars, 10 s", "benchmarks/a02_four_bars_40", "B0", 10.0, 0.1, ("mujoco", "opensim", "exudyn"), LOOP,
        tolerances=(4, 5, 6, 7, 8, 9), known=pendulum,
    ),
    "chain24": Case("chain of 24, 1 s", "chain", "tip", 1.0, 0.05, CHAINS, TREE, links=24),
    "chain256": Case("chain of 256, 1 s", "chain", "tip", 1.0, 0.05, CHAINS, TREE, links=256),
}  # fmt: skip


def python_of(folder: Path, name: str) -> Path:
    """The interpreter of a peer's environment, which is made where it is missing."""
    program = folder / name / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not program.exists():
        venv.create(folder / name, with_pip=True)
        subprocess.run([program, "-m", "pip", "install", "-q", "numpy", *PEERS[name]], check=True)
    return program


def measured_peer(folder: Path, name: str, reference: Path) -> list[dict]:
    """Settings of a peer with error and seconds; none where it does not install or run here."""
    try:
        script = [python_of(folder, name), PROGRAMS / f"in_{name}.py", reference]
        done = subprocess.run(script, check=True, capture_output=True, text=True, env=one_thread(), cwd=folder)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"{name}: {error}; {getattr(error, 'stderr', '')}", file=sys.stderr)
        return []
    print(done.stderr, end="", file=sys.stderr)
    return [json.loads(line) | {"peer": name} for line in done.stdout.splitlines() if line.startswith("{")]


def one_thread() -> dict[str, str]:
    """The environment, with one thread for linear algebra."""
    return os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Ours:
    """Runs of mbsim, and the reference that all are compared with."""

    def __init__(self, case: Case) -> None:
        from mbsim_cli import assembly, spec

        def built(sensitivity: str):
            return assembly.build(spec.load(MODELS / f"{case.model}.yaml", case.overrides), sensitivity=sensitivity)

        made = built("none")
        self.case, self.problem, first = case, made.problem, made.sensor_rows[case.sensor].start
        self.seen = slice(first, first + 3)
        self.varied = built("ddm").problem if case.derivatives else self.problem
        tight = self.to(1e-13) | {
            "error_control": "sensitivities",
            "sensitivity": "ddm" if case.derivatives else "none",
        }
        if case.known:
            self.time = np.arange(round(case.duration / case.row) + 1) * case.row
            self.place = case.known(self.time)
        else:
            self.time, self.place, slopes = self.motion(**tight)
            self.slopes = slopes[:, :2]  # of the five-bar, in its plane
            self.sizes = np.abs(self.slopes).max(axis=(0, 1))

    def reference(self) -> dict:
        """The file that programs of peers read."""
        found = {"time": self.time.tolist(), "place": self.place.tolist()}
        return found | ({"derivatives": self.slopes.tolist()} if self.case.derivatives else {})

    def to(self, tolerance: float) -> dict:
        """Options of the method of high order."""
        common = {"integrator": "dop853", "step": self.case.row, "tolerance": tolerance}
        return self.case.high | common | {"absolute_tolerance": tolerance}

    def motion(self, **options) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times (N,), positions (N, 3) of the point and their derivatives (N, 3, p) in rows of the case."""
        from mbsim_cli.solve.forward import forward

        changed = {"duration": self.case.duration, "sensitivity": "none", "output_interval": 1} | options
        problem = self.problem if changed["sensitivity"] == "none" else self.varied
        alone = replace(problem, options=replace(problem.options, **changed), summed=False)  # no objectives
        blocks = list(forward(alone))
        time, seen, d_seen = (
            np.concatenate([getattr(b, name) for b in blocks]) for name in ("time", "sensors", "d_sensors")
        )
        return time, seen[:, self.seen], d_seen[:, self.seen]

    def settings(self) -> dict[tuple[str, str], dict]:
        """Options by series and setting."""
        name = f"mbsim {self.case.high['formulation']}, dop853"
        found = {(name, f"tolerance 1e-{k}"): self.to(10.0**-k) for k in self.case.tolerances}
        if self.case.high == LOOP:
            for h in STEPS:
                options = {"formulation": "ali3p-rtdyn1", "step": h, "output_interval": round(self.case.row / h)}
                found["mbsim ali3p-rtdyn1", f"step {h:g} s"] = options
        return found

    def measured(self) -> list[dict]:
        """The same as ``measured_peer``."""
        found = []
        for (series, setting), options in self.settings().items():
            for note in ("", DERIVATIVES) if self.case.derivatives else ("",):
                run = partial(self.motion, **options, sensitivity="ddm" if note else "none")
                times: list[float] = []
                try:
                    _, place, slopes = run()
                    while len(times) < REPEATS and sum(times) < LONG:
                        start = time.process_time()
                        run()
                        times.append(time.process_time() - start)
                except MbsimError as error:
                    print(f"{series}, {setting}: {error}", file=sys.stderr)
                    continue
                scaled = (slopes[:, :2] - self.slopes) / self.sizes if note else place - self.place
                error = float(np.linalg.norm(scaled.reshape(len(place), -1), axis=1).max())
                found.append(
                    {"series": series, "setting": setting, "error": error, "seconds": min(times), "note": note}
                )
        return found


def quickest(rounds: list[dict]) -> dict[str, list[dict]]:
    """Settings of each series with the least seconds of all rounds."""
    found: dict[str, dict] = {}
    for each in sorted(rounds, key=lambda each: -each["seconds"]):
        found.setdefault(each["series"], {})[each["setting"], each["note"]] = each
    return {series: list(settings.values()) for series, settings in sorted(found.items())}


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


def table(case: Case, found: dict[str, list[dict]], note: str = "") -> str:
    """Milliseconds to each error, in Markdown; of derivatives by ``note`` DERIVATIVES."""
    what = f"{case.title}{', derivatives by 5 parameters' if note else ''}: ms to an error of"
    lines = [f"| {what} | " + " | ".join(f"{e:.0e}".replace("e-0", "e-") for e in ERRORS) + " |"]
    lines.append("| --- " * (1 + len(ERRORS)) + "|")
    for name, every in found.items():
        settings = [each for each in every if each["note"] == note]
        if settings:
            times = [time_to(settings, error) for error in ERRORS]
            lines.append(f"| {name} | {' | '.join('' if t is None else f'{1e3 * t:.3g}' for t in times)} |")
    return "\n".join(lines)


def whole_commands(folder: Path, case: Case, found: dict[str, list[dict]], reference: Path) -> str:
    """Seconds of whole commands that reach ENOUGH, in Markdown: the quickest setting of each program."""
    lines = [f"| {case.title}, whole command to {ENOUGH:g} | seconds |", "| --- | --- |"]
    for series, every in found.items():
        reach = [each for each in every if each["error"] <= ENOUGH and not each["note"]]
        if not reach:
            continue
        best = min(reach, key=lambda each: each["seconds"])
        if "peer" in best:
            script = PROGRAMS / f"in_{best['peer']}.py"
            command = [python_of(folder, best["peer"]), script, reference, f"{series}, {best['setting']}"]
        else:
            command = [*mbsim_run(case, series, best["setting"]), "-o", folder / "run.h5", "--force"]
        times = []
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=one_thread(), cwd=folder)
            times.append(time.perf_counter() - start)
        lines.append(f"| {series} | {min(times):.2f} |")
    return "\n".join(lines)


def mbsim_run(case: Case, series: str, setting: str) -> list:
    """The command of a setting."""
    kind, number = setting.split()[:2]
    formulation = series.removeprefix("mbsim ").split(",")[0]
    options = {"formulation": formulation, "duration": case.duration, "sensitivity.method": "none"}
    if kind == "tolerance":
        options |= {"integrator": "dop853", "step": case.row, "tolerance": number, "absolute_tolerance": number}
    else:
        options |= {"step": number, "output_interval": case.row}
    chosen = [part for key, value in options.items() for part in ("--set", f"analysis.{key}={value}")]
    chosen += [part for pair in case.overrides.items() for part in ("-p", "=".join(pair))]
    return [Path(sys.executable).with_name("mbsim"), "run", MODELS / f"{case.model}.yaml", *chosen]


def draw(found: dict[str, dict[str, list[dict]]], picture: Path) -> None:
    """Error against time, of each motion and of derivatives."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    panels = [(name, "") for name in found] + [(name, DERIVATIVES) for name in found if CASES[name].derivatives]
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(5 * columns, 3.8 * rows), layout="constrained", squeeze=False)
    names = sorted({series for every in found.values() for series in every})
    colours = {series: f"C{k}" for k, series in enumerate(names)}
    for ax, (name, note) in zip(axes.flat, panels, strict=False):
        for series, every in found[name].items():
            points = sorted((1e3 * each["seconds"], each["error"]) for each in every if each["note"] == note)
            if points:
                line = "o-" if series.startswith("mbsim") else ".--"
                ax.loglog(*zip(*points, strict=True), line, color=colours[series], label=series)
        ax.set(title=CASES[name].title + (", derivatives" if note else ""), xlabel="processor time [ms]")
        ax.grid(alpha=0.3)
        ax.legend(fontsize=6)
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    axes[0, 0].set_ylabel("largest error [m]; derivatives: relative")
    figure.savefig(picture, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where environments are kept")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), help="mechanisms")
    parser.add_argument("--picture", type=Path, help="draw error against time")
    parser.add_argument("--table", action="store_true", help="print Markdown in place of JSON")
    parser.add_argument("--commands", action="store_true", help="time whole commands, too")
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    found, commands = {}, []
    for name in chosen.only:
        case = CASES[name]
        ours, reference, rounds = Ours(case), folder / f"{name}.json", []
        reference.write_text(json.dumps({"mechanism": name} | ours.reference()))
        for k in range(chosen.rounds):
            rounds += ours.measured()
            for peer in case.peers:
                rounds += measured_peer(folder, peer, reference)
            print(f"{name}: round {k + 1}, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
        found[name] = quickest(rounds)
        (folder / "found.json").write_text(json.dumps(found, indent=1))
        if chosen.commands:
            commands.append(whole_commands(folder, case, found[name], reference))
    tables = [
        table(CASES[name], every, note)
        for name, every in found.items()
        for note in ("", DERIVATIVES) if not note or CASES[name].derivatives
    ]  # fmt: skip
    print("\n\n".join(tables + commands) if chosen.table else json.dumps(found, indent=1))
    if chosen.picture:
        draw(found, chosen.picture)


if __name__ == "__main__":
    main()
