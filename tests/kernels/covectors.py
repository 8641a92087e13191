"""Dot-product tests of pull-backs: a covector of a scalar on a variation against the scalar's own variation."""

import numpy as np

from mbsim_cli.kernels._simd import padded
from mbsim_cli.kernels.algorithms.constraints import constraint_rates, move_lines
from mbsim_cli.kernels.algorithms.covectors import covectors, virtual
from mbsim_cli.kernels.algorithms.sensors import sense
from mbsim_cli.kernels.algorithms.tree_pull_back import virtual_motion
from mbsim_cli.kernels.algorithms.variation import vary_kinematics
from mbsim_cli.kernels.integrators.ali3p import evaluate
from mbsim_cli.solve import work as allocate
from tests.kernels.instant import random_state

SCALARS = 2  # how many are pulled back at once
TIME = 0.05


class Pulled:
    """An instant of a builder's problem, variations of it in all its numbers and its state, and a virtual motion.

    With ``imaginary``, state and numbers are complex: pull-backs are differentiated by the complex step.
    """

    def __init__(self, builder, imaginary=0.0, seed=3):
        problem = builder.problem()
        self.rng, self.model, model = np.random.default_rng(seed), problem.model, problem.model
        self.dtype = complex if imaginary else float
        self.state = allocate.state(model, self.dtype)
        for stored, given in zip(self.state, random_state(builder, problem), strict=False):
            stored[:] = self._near(given, imaginary)
        self.theta = self._near(problem.theta, imaginary)
        self._evaluate()
        self._vary(np.array(random_directions(builder)).T)
        self.virtual = virtual(model, padded(SCALARS), self.dtype)
        self.virtual.mu[:, :SCALARS] = self.random(len(self.state.z))
        virtual_motion(model.tree, self.kin, self.virtual)
        self.cov = covectors(model, self.theta.size, padded(SCALARS), self.dtype)

    def _near(self, values, imaginary):
        noise = 1j * imaginary * self.rng.normal(size=len(values)) if imaginary else 0.0
        return np.asarray(values) + noise

    def random(self, count):
        """Covectors (count, SCALARS)."""
        return self.rng.normal(size=(count, SCALARS)).astype(self.dtype)

    def padded(self, values):
        """The same with as many columns as covectors have."""
        return np.pad(values, ((0, 0), (0, padded(SCALARS) - SCALARS)))

    def _evaluate(self):
        model, theta, state = self.model, self.theta, self.state
        work = allocate.work(model, theta)
        self.kin, self.comp, self.eq = work.kin, work.comp, work.eq
        evaluate(model, theta, TIME, False, state, self.kin, self.comp, self.eq)
        move_lines(model, theta, self.eq.lines, self.kin, self.eq.line_rates)
        motion = TIME, state.z, state.zd, state.zdd
        constraint_rates(model, theta, self.eq.lines, *motion, self.kin, self.eq.phi1, self.eq.phi2)
        self.sensors = np.zeros(allocate.sensor_width(model), self.dtype)
        sense(model, theta, *motion, state.lam, self.kin, self.sensors)

    def _vary(self, dtheta):
        """Random variations of the state beside those of the numbers."""
        model, p = self.model, padded(dtheta.shape[1])
        self.sens = allocate.sensitivity(model, p, self.dtype)
        for rows in self.sens:
            rows[:] = self.rng.normal(size=rows.shape)
        self.varied = allocate.directions(model, allocate.padded_directions(dtheta, self.dtype), self.dtype)
        self.twists = allocate.sensitivity_work(model, p, self.dtype).twists
        dtheta, touch = self.varied.dtheta, self.varied.touch
        vary_kinematics(model.tree, self.theta, dtheta, touch, self.kin, *self.sens[:3], self.twists)

    def powers(self, dG):
        """Variation (SCALARS, p) of the power of forces, from what ``tw.F`` and dG (n, p) hold of them."""
        U, mu = self.virtual.U[..., :SCALARS], self.virtual.mu[:, :SCALARS]
        return np.einsum("bik,bip->kp", U, self.twists.F, optimize=True) + mu.T @ dG

    def take(self, expected):
        """Take the covectors, which on the variations must be the expected ones (SCALARS, p) of the scalars."""
        cov, tw, sens = self.cov, self.twists, self.sens
        pairs = [(cov.P, tw.N), (cov.D, tw.N1), (cov.H, tw.N2), (cov.z, sens.z), (cov.zd, sens.zd)]
        pairs += [(cov.zdd, sens.zdd), (cov.lam, sens.lam), (cov.theta, self.varied.dtheta)]
        found = sum(hat.reshape(-1, hat.shape[-1]).T @ d.reshape(-1, d.shape[-1]) for hat, d in pairs)
        for hat in cov:
            hat[:] = 0.0
        assert np.abs(expected).max() > 0.0
        assert np.abs(found[SCALARS:]).max(initial=0.0) == 0.0
        for part in (np.real, np.imag) if self.dtype is complex else (np.real,):
            size = np.abs(part(expected)).max()
            np.testing.assert_allclose(part(found[:SCALARS]), part(expected), rtol=0.0, atol=1e-12 * size)


def random_directions(builder):
    """Seven random combinations of all numbers, relative to their sizes, and none: then the state varies alone."""
    size = np.maximum(0.1, np.abs(builder.theta))
    numbers = np.array(list(builder.directions().values()))
    return [*(size * (np.random.default_rng(5).normal(size=(7, len(numbers))) @ numbers)), 0.0 * size]
