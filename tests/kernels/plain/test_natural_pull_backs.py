"""Pull-backs of a system in natural coordinates against its variations at any motion: dot products, real and complex.

The functions are those that integrators know of a system. All its numbers vary, also those of linear maps, of rigidity
and of the mass matrix, each for itself.
"""

import numpy as np
import pytest

from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.equations.residual_variation import Load, resting
from mbsim_cli.kernels.algorithms.equations.sensors import sense, vary_sensors
from mbsim_cli.kernels.algorithms.motion.workspace import LoadedMotion, motion_alone
from mbsim_cli.kernels.algorithms.natural.workspace import natural_adjoints, natural_virtual
from mbsim_cli.kernels.algorithms.systems.contract import (
    evaluate,
    place,
    pull_at_rest,
    pull_rates,
    pull_rates_with_velocity,
    pull_readings,
    pull_residual,
    vary_at_rest,
    vary_bodies_of,
    vary_equations,
    vary_rates,
    vary_rates_with_velocity,
    vary_residual,
)
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.model.codes import BETWEEN_BODIES, Force, Joint, Law, Measure, Sensor
from mbsim_cli.solve import allocate
from tests.kernels.adjoints import SCALARS, TIME, compare
from tests.kernels.mechanisms import PAIRS, branches, loop, on_single_bodies
from tests.kernels.natural import natural_problem, sensed


def everything():
    """A forked tree with every joint, every measure as a force and as a constraint, all laws, forces and sensors."""
    builder = branches(7)
    builder.body(Joint.PRISMATIC, 2)
    builder.body(Joint.FIXED, 4)
    builder.body(Joint.REVOLUTE, 1)
    laws = [builder.law(kind) for kind in Law]
    for k, kind in enumerate(BETWEEN_BODIES * 2):
        used = tuple(laws[(k + slot) % len(laws)] for slot in range(3))
        builder.along(builder.geometric(kind, *PAIRS[k % len(PAIRS)]), used)
        builder.constraint(builder.geometric(kind, *PAIRS[(k + 1) % len(PAIRS)]), laws[k % len(laws)])
    builder.along(builder.coordinates((0, 6)), tuple(laws[:3]))
    builder.constraint(builder.coordinates((0, 1, 6)), laws[2])
    builder.along(builder.coordinates((6,), [1.0]), tuple(laws[1:4]))
    on_single_bodies(builder, laws)
    builder.sphere_on_road(3, laws[1])
    return sensed(builder)


class Natural:
    """An instant where bodies stand as in the tree, and move as they like; variations of it, and a virtual motion."""

    def __init__(self, problem, z, imaginary, seed=3):
        tree = problem.system.problem
        self.rng, self.model = np.random.default_rng(seed), problem.system.model
        self.dtype = complex if imaginary else float
        theta = problem.system.numbers(tree.theta[None] + 0j)[0].real
        self.state = allocate.state(self.model, self.dtype)
        for rows in self.state:
            rows[:] = self.rng.normal(size=rows.shape)
        self._stand(tree, theta, z)
        mine, theirs = problem.system.elastic
        self.state.z[mine] = np.array(z)[theirs]
        self.theta = theta + 1j * imaginary * self._varied(theta)[:, 0] if imaginary else theta
        for rows in self.state:
            rows += 1j * imaginary * self.rng.normal(size=rows.shape) if imaginary else 0.0
        self._evaluate()
        self._vary()
        self.still = self.kin._replace(
            **{name: np.zeros_like(getattr(self.kin, name)) for name in ("V", "A", "rate", "second")}
        )
        self.virtual = natural_virtual(self.model, padded(SCALARS), self.dtype)
        self.virtual.mu[:, :SCALARS] = self.random(self.state.z.size)
        self.adj = natural_adjoints(self.model, self.theta.size, padded(SCALARS), self.dtype)

    def _stand(self, tree, theta, z):
        """Coordinates that put all bodies where those of the joints put them."""
        kin, ours = allocate.work(tree.model, tree.theta).kin, self.model.tree
        place(tree.model, tree.theta, np.array(z), False, kin)
        maps, left = np.zeros((len(ours.theta), 12, self.state.z.size)), np.zeros((len(ours.theta), 12))
        for i, o in enumerate(ours.pose):
            columns = ours.column[ours.first[i] : ours.first[i + 1]]
            maps[i][:, columns] = theta[o + 12 : o + 12 * (1 + len(columns))].reshape(-1, 12).T
            left[i] = np.concatenate([kin.r[i], kin.R[i].reshape(3, 3).T.ravel()]) - theta[o : o + 12]
        mine, *_ = np.linalg.lstsq(maps.reshape(left.size, -1), left.ravel(), rcond=None)
        np.testing.assert_allclose(maps @ mine, left, atol=1e-12)
        self.state.z[:] = mine

    def _varied(self, theta, p=1):
        """Random numbers (len(theta), p), but where what a coordinate does not move is zero."""
        found, tree = self.rng.normal(size=(theta.size, p)), self.model.tree
        for o, a, b in zip(tree.pose, tree.first, tree.first[1:], strict=False):
            maps = slice(o + 12, o + 12 * (1 + b - a))
            found[maps] *= theta[maps, None] != 0.0
        return found

    def random(self, count):
        """Adjoints (count, SCALARS)."""
        return self.rng.normal(size=(count, SCALARS)).astype(self.dtype)

    def padded(self, values):
        """The same with as many columns as adjoints have."""
        return np.pad(values, ((0, 0), (0, padded(SCALARS) - SCALARS)))

    @property
    def none(self):
        """An adjoint (m, p) of no equation."""
        return self.padded(np.zeros((self.state.lam.size, SCALARS), self.dtype))

    def _evaluate(self):
        work = allocate.work(self.model, self.theta)
        self.kin, self.comp, self.eq = work.kin, work.comp, work.eq
        evaluate(self.model, self.theta, TIME, False, self.state, self.kin, self.comp, self.eq)
        move_lines(self.model, self.theta, self.eq.lines, self.kin, self.eq.line_rates)
        self.sensors = np.zeros(allocate.sensor_width(self.model), self.dtype)
        sense(self.model, self.theta, TIME, motion_alone(self.state), self.state.lam, self.kin, self.sensors)

    def _vary(self):
        """Seven random directions of all numbers, and none: then the state varies alone."""
        dtheta = np.maximum(0.1, np.abs(self.theta))[:, None] * self._varied(self.theta, 8)
        dtheta[:, 7] = 0.0
        self.varied = allocate.directions(self.model, allocate.padded_directions(dtheta, self.dtype), self.dtype)
        self.sens = allocate.sensitivity(self.model, padded(8), self.dtype)
        for rows in self.sens:
            rows[:] = self.rng.normal(size=rows.shape)
        self.twists = allocate.twists_of(self.model, padded(8), self.dtype)
        vary_bodies_of(self.model, self.theta, self.varied, self.state, self.kin, self.sens, self.twists)

    def take(self, expected, moves=("z", "zd", "zdd", "lam")):
        """Take the adjoints, which on the variations must be the expected ones (SCALARS, p) of the scalars."""
        adj = self.adj
        found = adj.theta.T @ self.varied.dtheta + sum(getattr(adj, x).T @ getattr(self.sens, x) for x in moves)
        compare(adj, found, expected)


def residual_agrees(at):
    nu, dG, d_phi = at.random(at.state.lam.size), np.zeros_like(at.sens.z), np.zeros_like(at.sens.lam)
    vary_equations(at.model, at.theta, at.varied, TIME, at.state.z, at.sens.z, at.eq.lines, at.kin, at.twists, d_phi)
    vary_residual(
        at.model, at.theta, at.varied, TIME, at.state, at.sens, at.eq, at.kin, at.comp, at.twists, dG
    )  # fmt: skip
    pull_residual(
        at.model, at.theta, TIME, at.state, at.eq, at.kin, at.comp, at.virtual, at.padded(nu), at.adj
    )  # fmt: skip
    at.take(at.virtual.mu[:, :SCALARS].T @ dG + nu.T @ d_phi)


def resting_agrees(at):
    """M x + J^T multiplier at fixed x and multiplier, without weight."""
    n, m, p = at.state.z.size, at.state.lam.size, at.sens.z.shape[1]
    x, multiplier = (at.rng.normal(size=k).astype(at.dtype) for k in (n, m))
    systems, load = [resting(len(at.kin.R) - 1, n, m, p, at.dtype) for _ in range(2)], Load(x, multiplier)
    vary_at_rest(
        at.model, at.theta, at.varied, at.state.z, at.sens.z, at.eq.lines, at.kin, at.comp,
        at.twists, (load, load), systems,
    )  # fmt: skip
    state = LoadedMotion(at.state.z, np.zeros_like(x), x, multiplier)
    pull_at_rest(at.model, at.theta, TIME, state, at.eq, at.still, at.comp, at.virtual, at.none, at.adj)
    at.take(at.virtual.mu[:, :SCALARS].T @ systems[0].dG, moves=("z",))


def rates_agree(at):
    nu1, nu2 = at.random(at.state.lam.size), at.random(at.state.lam.size)
    first, second = np.zeros_like(at.sens.lam), np.zeros_like(at.sens.lam)
    vary_rates(at.model, at.theta, at.varied, TIME, at.state, at.sens, at.eq, at.kin, at.twists, first, second)
    pull_rates(
        at.model, at.theta, TIME, at.state, at.eq, at.kin, at.comp, at.virtual, at.padded(nu1), at.padded(nu2), at.adj
    )  # fmt: skip
    at.take(nu1.T @ first + nu2.T @ second)


def velocities_agree(at):
    nu2, second = at.random(at.state.lam.size), np.zeros_like(at.sens.lam)
    pull_rates_with_velocity(
        at.model, at.theta, at.state.zd, at.eq, at.kin, at.padded(nu2), at.adj, at.adj.zd
    )  # fmt: skip
    vary_rates_with_velocity(1.0, at.model, at.theta, at.eq, at.state.zd, at.sens.zd, at.kin, at.twists, second)
    at.take(nu2.T @ second)


def sensors_agree(at):
    d_sensors, hat = np.zeros((at.sensors.size, at.sens.z.shape[1]), at.dtype), at.random(at.sensors.size)
    vary_sensors(at.model, at.theta, at.varied, TIME, motion_alone(at.state), at.sens, at.kin, at.twists, d_sensors)
    pull_readings(at.model, at.theta, TIME, at.state, at.kin, at.comp, at.virtual, at.padded(hat), at.adj)
    at.take(hat.T @ d_sensors)


def built(builder, imaginary):
    return Natural(natural_problem(builder), builder.z, imaginary)


def agrees(at):
    """All pull-backs; that of a system at rest leaves another motion behind."""
    for agree in (sensors_agree, residual_agrees, rates_agree, velocities_agree, resting_agrees):
        agree(at)


@pytest.mark.parametrize("imaginary", [0.0, pytest.param(1e-20, marks=pytest.mark.slow)], ids=["real", "complex"])
def test_everything(imaginary):
    at = built(everything(), imaginary)
    model = at.model
    assert set(model.forces.kind) == set(Force)
    assert set(model.laws.kind) == set(Law)
    assert set(model.measures.kind[model.constraints.measure]) == {*BETWEEN_BODIES, Measure.COORDINATES}
    assert set(model.sensors.kind) >= set(Sensor) - {
        Sensor.STRAIN_ENERGY,
        Sensor.COORDINATE,
    }  # measures stand for these
    assert model.tree.defined.size and model.tree.rigid.size
    agrees(at)


@pytest.mark.slow
@pytest.mark.parametrize("cut", Joint, ids=lambda joint: joint.name.lower())
def test_loops(cut):
    at = built(sensed(loop(Joint.PRISMATIC, cut)), 0.0)
    agrees(at)
