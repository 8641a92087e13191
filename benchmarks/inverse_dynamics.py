"""Speed of inverse dynamics with all derivatives: the 43-dof human, 301 instants, against Pinocchio.

`python benchmarks/inverse_dynamics.py` prints, in one run and with one thread each, the time of torques and the three
matrices d torque / d position, velocity, acceleration (dense arrays of all instants, reused; blocks that the next one
overwrites), and of `pin.computeRNEADerivatives` called for each instant; and the time against the number of joints of a
chain. Times are processor times, best and median of repeats.

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
from mbsim_cli.model.problem import Motion, Problem
from mbsim_cli.solve.inverse.analysis import Trajectory, inverse
from mbsim_cli.solve.inverse.torques import InverseDynamics

MODEL = Path(__file__).resolve().parent.parent / "models" / "human43.yaml"
PAPER = 16.6e-3  # s, all 301 instants, Intel i5-10310U
CHAINS = (8, 16, 32, 64, 128, 256)


def in_blocks(solver, motion):
    """Torques and derivatives of a motion, 64 time points at a time, each in the same arrays."""
    room = solver.room(64)
    for start in range(0, len(motion.time), 64):
        solver.block(Motion(*(array[start : start + 64] for array in motion)), room)


class Case:
    """A tree, a motion, and arrays for the results."""

    def __init__(self, bodies, motion, loads=()):
        model, theta = trees.build(bodies, loads)
        free = np.ones(model.tree.column_kind.size, bool)
        problem = Problem(model, Names(), theta, np.zeros((theta.size, 0)), free, free)
        self.motion = Motion(0.01 * np.arange(len(motion[0])), *motion)
        self.rows = len(self.motion.time)
        self.solver, self.alone = (InverseDynamics(problem, matrices=matrices) for matrices in (True, False))
        self.kept, self.bare = self.solver.room(self.rows), self.alone.room(self.rows)

    def dense(self):
        """All matrices of all instants, in arrays that stay."""
        self.solver.block(self.motion, self.kept)

    def fresh(self):
        """The same in new arrays."""
        self.solver.block(self.motion)

    def blocks(self):
        """The same in blocks that the next one overwrites."""
        in_blocks(self.solver, self.motion)

    def torques(self):
        """Torques alone."""
        self.alone.block(self.motion, self.bare)


class Human43:
    """The model file, solved with derivatives by all its parameters."""

    def __init__(self):
        self.problem = assembly.build(spec.load(MODEL, {}), sensitivity="ddm").problem
        self.solver = InverseDynamics(self.problem, matrices=True)
        self.motion = Trajectory(self.problem).at(np.linspace(0.0, self.problem.options.duration, 301))

    def kernels(self):
        """What `mbsim run` computes, in blocks that the next one overwrites."""
        in_blocks(self.solver, self.motion)

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
        "the same, in fresh arrays": human.fresh, "dense matrices, in blocks of 64 instants": human.blocks,
        "torques alone": human.torques,
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
    print("chain of n joints, 64 instants: us an instant (best)\n     n   dense   torques")
    for n in CHAINS:
        case = Case(trees.chain_bodies(n), trees.random_motion(np.random.default_rng(n), 64, n))
        found = measure([case.dense, case.torques], repeats)
        print(f"{n:6d} " + " ".join(f"{1e6 * best / case.rows:9.2f}" for best, _ in found))


def main():
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=40)
    repeats = parser.parse_args().repeats
    start = time.perf_counter()
    case = Case(trees.human_bodies(), trees.human_motion())
    case.dense()
    case.torques()
    print(f"first calls, compiled or from the cache: {time.perf_counter() - start:.1f} s\n")
    _against_pinocchio(repeats)
    _chains(max(3, repeats // 4))


if __name__ == "__main__":
    main()
