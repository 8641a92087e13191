"""Speed of inverse dynamics with all derivatives: the 43-dof human, 301 instants, against Pinocchio.

`python benchmarks/inverse_dynamics.py` prints, in one run and with one thread each, the time of torques and the three
matrices d torque / d position, velocity, acceleration (dense arrays of all instants, reused; blocks that the next one
overwrites), of a torque objective's gradient, and of `pin.computeRNEADerivatives` called for each instant; the time
against the number of joints of a chain; and two threads. Times are processor times, best and median of repeats.

Beside these: models/human43.yaml, with derivatives by its 40 parameters, by the kernels alone and as `mbsim run` solves
it, which also prepares the tree and evaluates the motion; the command's `timing.solve` adds what watches the blocks.
"""

import argparse
import statistics
import time
from pathlib import Path
from sys import path

import numpy as np

path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import trees
from mbsim_cli import assembly, spec
from mbsim_cli.model.layout import Names
from mbsim_cli.model.problem import Motion, Problem, Torques
from mbsim_cli.solve.inverse.analysis import Trajectory, inverse
from mbsim_cli.solve.inverse.torques import InverseDynamics, Lanes

MODEL = Path(__file__).resolve().parent.parent / "models" / "human43.yaml"
PAPER = 16.6e-3  # s, all 301 instants, Intel i5-10310U
CHAINS = (8, 16, 32, 64, 128, 256)


class Case:
    """A tree, a motion, and arrays for the results."""

    def __init__(self, bodies, motion, loads=(), threads=1):
        model, theta = trees.build(bodies, loads)
        n = self.n = model.tree.column_kind.size
        self.motion = Motion(0.01 * np.arange(len(motion[0])), *motion)
        rows = self.rows = len(self.motion.time)
        free = np.ones(n, bool)
        no_parameters = np.zeros((theta.size, 0))
        problem = Problem(model, Names(), theta, no_parameters, free, free)
        self.lanes = Lanes(model, theta, no_parameters, threads)
        self.solver = InverseDynamics(problem, matrices=True, threads=threads)
        matrices = (np.zeros((rows, n, n)) for _ in range(3))
        self.kept = Torques(np.zeros((rows, n)), *matrices, np.zeros((rows, n, 0)), np.zeros(rows, bool))
        half = 0.5 * np.diff(self.motion.time)  # trapezoidal rule
        self.weight = (np.append(half, 0.0) + np.append(0.0, half))[:, None] * np.ones(n)
        self.adjoint = np.zeros((rows, n))

    def dense(self):
        """All matrices of all instants, in arrays that stay."""
        self.lanes.derivatives(self.motion, self.kept)

    def fresh(self):
        """The same in new arrays."""
        self.solver.block(self.motion)

    def streamed(self):
        """The same in blocks that the next one overwrites."""
        for _ in self.solver.stream(self.motion, instants=64):
            pass

    def torques(self):
        """Torques alone."""
        self.lanes.torques(self.motion, self.kept.torque)

    def gradient(self):
        """Gradient of half the integral of all squared torques."""
        self.solver.gradient(self.motion, self.adjoint, self.weight)


class Human43:
    """The model file, solved with derivatives by all its parameters."""

    def __init__(self):
        self.problem = assembly.build(spec.load(MODEL, {}), sensitivity="ddm").problem
        self.solver = InverseDynamics(self.problem, matrices=True)
        self.motion = Trajectory(self.problem).at(np.linspace(0.0, self.problem.options.duration, 301))

    def kernels(self):
        """What `mbsim run` computes, in blocks that the next one overwrites."""
        for _ in self.solver.stream(self.motion, instants=64):
            pass

    def command(self):
        """The same from the model's numbers on: preparation and motion, too."""
        for _ in inverse(self.problem):
            pass


def pinocchio(bodies, motion):
    """The oracle's loop."""
    import pinocchio as pin

    from benchmarks import pinocchio_tree

    model, _ = pinocchio_tree.tree(bodies)
    data = model.createData()

    def run():
        for q, v, a in zip(*motion, strict=True):
            pin.computeRNEADerivatives(model, data, q, v, a)

    return run


def measure(functions, repeats, clock=time.process_time):
    """Best and median time of each function; one after another, so that disturbances hit all."""
    for run in functions:
        run()
    times = [[] for _ in functions]
    for _ in range(repeats):
        for run, found in zip(functions, times, strict=True):
            start = clock()
            run()
            found.append(clock() - start)
    return [(min(found), statistics.median(found)) for found in times]


def _against_pinocchio(repeats):
    bodies, motion = trees.human_bodies(), trees.human_motion()
    human, loaded = Case(bodies, motion), Case(bodies, motion, trees.foot_loads())
    file = Human43()
    named = {
        "dense matrices, all instants kept": human.dense, "the same, feet loaded": loaded.dense,
        "the same, in fresh arrays": human.fresh, "dense matrices, in blocks of 64 instants": human.streamed,
        "gradient of integral of squares": human.gradient, "torques alone": human.torques,
        "matrices and 40 parameters, in blocks of 64": file.kernels, "the same, as `mbsim run` solves it": file.command,
    }  # fmt: skip
    try:
        oracle = pinocchio(bodies, motion)
    except ImportError:
        print("Pinocchio is not installed (extra `oracles`)")
        oracle = None
    *ours, theirs = measure([*named.values(), oracle or human.torques], repeats)
    print(f"43-dof human, {human.rows} instants, one thread")
    print(f"{'':58s} best ms  median ms  us/instant   ratio: best     median")
    for name, (best, median) in zip(named, ours, strict=True):
        _line(name, best, median, human.rows, theirs if oracle else None)
    if oracle:
        _line("pin.computeRNEADerivatives", *theirs, human.rows, theirs)
    best = ours[0][0]
    print(f"the paper's own figure: {1e3 * PAPER:.1f} ms, another machine; dense matrices: {best / PAPER:.3f} of it\n")


def _line(name, best, median, rows, reference):
    ratio = f"{best / reference[0]:13.3f} {median / reference[1]:11.3f}" if reference else ""
    print(f"{name:52s} {1e3 * best:12.3f} {1e3 * median:10.3f} {1e6 * best / rows:11.2f} {ratio}")


def _chains(repeats):
    print("chain of n joints, 64 instants: us an instant (best)\n     n   dense   gradient   torques")
    for n in CHAINS:
        case = Case(trees.chain_bodies(n), trees.random_motion(np.random.default_rng(n), 64, n))
        found = measure([case.dense, case.gradient, case.torques], repeats)
        print(f"{n:6d} " + " ".join(f"{1e6 * best / case.rows:9.2f}" for best, _ in found))


def _threads(repeats):
    bodies, motion = trees.human_bodies(), [np.tile(x, (10, 1)) for x in trees.human_motion()]
    one, two = Case(bodies, motion), Case(bodies, motion, threads=2)
    functions = [one.dense, two.dense, one.gradient, two.gradient]
    found = [best for best, _ in measure(functions, repeats, time.perf_counter)]
    print(f"\ntwo threads, {one.rows} instants of the human, wall time: dense {found[0] / found[1]:.2f} times faster, "
          f"gradient {found[2] / found[3]:.2f} times faster")  # fmt: skip


def main():
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=40)
    repeats = parser.parse_args().repeats
    start = time.perf_counter()
    case = Case(trees.human_bodies(), trees.human_motion())
    case.dense()
    case.gradient()
    case.torques()
    print(f"first calls, compiled or from the cache: {time.perf_counter() - start:.1f} s\n")
    _against_pinocchio(repeats)
    _chains(max(3, repeats // 4))
    _threads(max(3, repeats // 4))


if __name__ == "__main__":
    main()
