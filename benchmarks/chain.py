"""Evaluations of the chain's equations of motion in the formulations for open trees, and in Pinocchio."""

import time
from pathlib import Path

import numpy as np

from mbsim_cli import assembly, spec
from mbsim_cli.kernels.algorithms.motion.workspace import LoadedMotion, Motion
from mbsim_cli.kernels.algorithms.open_trees.open_tree import open_tree
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.model.codes import Column, Status
from mbsim_cli.model.coordinates import kinds
from mbsim_cli.model.layout import FlexibleTree
from mbsim_cli.solve import allocate
from mbsim_cli.solve.open_trees.open_tree import FLEXIBLE, FORMULATIONS
from tests.kernels.accelerations import accelerations, accelerations_and_variations

MODEL = Path(__file__).parents[1] / "models" / "chain.yaml"
PARAMETERS = 8
STATES = 1000
AT_ONCE = 24_000  # coordinates of all states together: what is read and written stays in the caches


def chain(n):
    """Problem of a chain of n links with eight parameters, or as many as it has."""
    overrides = {"n": str(n), "k": str(min(n, PARAMETERS // 2))}
    return assembly.build(spec.load(MODEL, overrides)).problem


class Evaluations:
    """Accelerations of a chain at random states, many in one call, alone and with their sensitivities."""

    def __init__(self, problem, formulation, states=None):
        model, n = problem.model, kinds(problem.model.tree).size
        self.rows = rows = states or max(1, min(200, AT_ONCE // (n * PARAMETERS)))
        rng = np.random.default_rng(n)
        size = np.where(kinds(model.tree) == Column.ELASTIC, 0.01, 0.3)
        self.z, self.zd = size * rng.normal(size=(2, rows, n))
        p = padded(PARAMETERS)
        dtheta = np.resize(problem.theta_rho.T, (p, problem.theta.size)).T.copy()  # repeats them where there are fewer
        dz, dzd = rng.normal(size=(2, rows, n, p))
        made = FLEXIBLE if isinstance(model.tree, FlexibleTree) else FORMULATIONS
        dyn, tree = made[formulation](model, problem.theta, p), open_tree(model)
        self.zdd, self.dzdd = np.zeros((rows, n)), np.zeros((rows, n, p))
        none, d_none, t = np.zeros((rows, 0)), np.zeros((rows, 0, p)), np.zeros(rows)
        given, directions = (model, problem.theta), allocate.directions(model, dtheta, float)
        motion, change = Motion(self.z, self.zd, self.zdd), LoadedMotion(dz, dzd, self.dzdd, d_none)
        self._alone = *given, tree, t, motion, dyn, none
        self._varied = *given, directions, tree, t, motion, change, dyn, none

    def alone(self):
        """Accelerations."""
        if accelerations(*self._alone) != Status.OK:
            raise SystemExit("the chain is singular")

    def with_sensitivities(self):
        """Accelerations and their variations in eight directions."""
        if accelerations_and_variations(*self._varied) != Status.OK:
            raise SystemExit("the chain is singular")


class Pinocchio:
    """The same accelerations there, by a loop inside the library and by one call a state."""

    def __init__(self, problem, z, zd):
        import pinocchio as pin

        from benchmarks import pinocchio_tree

        self.pin, self.z, self.zd = pin, z, zd
        self.model, _ = pinocchio_tree.tree(pinocchio_tree.bodies_of(problem.model, problem.theta), problem.theta[:3])
        self.data, self.pool = self.model.createData(), pin.ModelPool(self.model, 1)
        self.torque = np.zeros(z.shape[1])
        self.batch = [np.asfortranarray(x.T) for x in (z, zd, np.zeros_like(z))]
        self.zdd = np.zeros_like(self.batch[0])

    def inside(self):
        """``abaInParallel`` with one thread."""
        self.pin.abaInParallel(1, self.pool, *self.batch, self.zdd)

    def called(self):
        """``aba`` for one state after another."""
        for q, v in zip(self.z, self.zd, strict=True):
            self.pin.aba(self.model, self.data, q, v, self.torque)


def best_times(runs, repeats, clock=time.process_time):
    """Best processor time of each of {key: (function, states)} per state; all in turn, so that disturbances hit all."""
    for run, _ in runs.values():
        run()
    best = dict.fromkeys(runs, np.inf)
    for _ in range(repeats):
        for key, (run, rows) in runs.items():
            start = clock()
            run()
            best[key] = min(best[key], (clock() - start) / rows)
    return best
