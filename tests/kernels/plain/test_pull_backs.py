"""Pull-backs of elements at an instant against their variations, direction by direction: all kinds, real, complex."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from mbsim_cli.kernels.algebra.arrays import clear
from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import (
    pull_constraint_rates,
    pull_constraints,
    pull_with_velocity,
    vary_constraint_forces,
    vary_constraint_rates,
    vary_constraints,
    vary_with_velocity,
)
from mbsim_cli.kernels.algorithms.equations.forces import constraint_forces
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import residual
from mbsim_cli.kernels.algorithms.equations.residual_variation import (
    Load,
    clear_forces,
    resting,
    vary_bodies,
    vary_resting,
)
from mbsim_cli.kernels.algorithms.equations.sensor_pull_back import pull_sensors
from mbsim_cli.kernels.algorithms.equations.sensors import vary_sensors
from mbsim_cli.kernels.algorithms.equations.signals import pull_element_forces, vary_element_forces
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import pull_bodies, pull_tree
from mbsim_cli.kernels.algorithms.motion.kinematics import column_kinematics, motion_kinematics
from mbsim_cli.kernels.algorithms.motion.workspace import Motion, motion_alone
from mbsim_cli.kernels.algorithms.reactions.reactions import AXES
from mbsim_cli.kernels.algorithms.reactions.systems import acting_at, find_forces, pull_read, vary_read
from mbsim_cli.model.codes import Axes, Force, Joint, Law, Measure, Sensor
from mbsim_cli.model.layout import NONE
from tests.assembly.texts import assemble
from tests.cli.test_reactions import FOUR_BAR
from tests.kernels.adjoints import SCALARS, TIME, Pulled, of_axes, pulled
from tests.kernels.mechanisms import PAIRS, any_measure, branches, everything, everything_open, loop, with_sensors
from tests.kernels.plain.test_reactions import SLIDER
from tests.naive.random_mechanisms import random_mechanism
from tests.naive.reactions import assembled

IMAGINARY = pytest.mark.parametrize("imaginary", [0.0, 1e-20], ids=["real", "complex"])
MECHANISMS = pytest.mark.parametrize("build", [everything, everything_open, lambda: loop(Joint.FLOATING, Joint.FIXED)])


def forces_agree(at):
    """Check ``pull_element_forces``."""
    model, theta, state, tw = at.model, at.theta, at.state, at.twists
    dG = np.zeros_like(at.sens.z)
    clear_forces(tw, dG)
    motion = motion_alone(state)
    vary_element_forces(model, theta, at.varied, TIME, motion, motion_alone(at.sens), at.kin, tw, dG)
    pull_element_forces(model, theta, TIME, motion, at.kin, at.virtual, at.adj)
    at.take(at.powers(dG))


def constraints_agree(at):
    """Check ``pull_constraints``."""
    model, theta, state, tw, lines = at.model, at.theta, at.state, at.twists, at.eq.lines
    nu, multiplier = at.random(len(state.lam)), at.rng.normal(size=len(state.lam)).astype(at.dtype)
    dG, d_phi = np.zeros_like(at.sens.z), np.zeros_like(at.sens.lam)
    clear_forces(tw, dG)
    vary_constraints(model, theta, at.varied, TIME, state.z, at.sens.z, lines, at.kin, tw, d_phi)
    vary_constraint_forces(model, theta, at.varied, lines, multiplier, state.z, at.sens.z, at.kin, tw, dG)
    pull_constraints(
        model, theta, TIME, state.z, at.kin, lines, multiplier, at.virtual, at.padded(nu), at.adj
    )  # fmt: skip
    at.take(nu.T @ d_phi + at.powers(dG))


def rates_agree(at):
    """Check ``pull_constraint_rates``."""
    model, theta, state = at.model, at.theta, at.state
    nu1, nu2 = at.random(len(state.lam)), at.random(len(state.lam))
    first, second = np.zeros_like(at.sens.lam), np.zeros_like(at.sens.lam)
    motion, lines = motion_alone(state), (at.eq.lines, at.eq.line_rates)
    vary_constraint_rates(
        model, theta, at.varied, TIME, motion, motion_alone(at.sens), *lines, at.kin, at.twists, first, second
    )
    pull_constraint_rates(model, theta, TIME, motion, at.kin, *lines, at.padded(nu1), at.padded(nu2), at.adj)
    at.take(nu1.T @ first + nu2.T @ second)


def velocities_agree(at):
    """Check ``pull_with_velocity``."""
    model, state, lines = at.model, at.state, (at.eq.lines, at.eq.line_rates)
    nu2, second = at.random(len(state.lam)), np.zeros_like(at.sens.lam)
    vary_with_velocity(1.0, model, *lines, state.zd, at.sens.zd, at.kin, second)
    pull_with_velocity(model, *lines, state.zd, at.padded(nu2), at.kin, at.adj.zd)
    at.take(nu2.T @ second)


def sensors_agree(at):
    """Check ``pull_sensors``."""
    model, theta, state = at.model, at.theta, at.state
    d_sensors = np.zeros((at.sensors.size, at.sens.z.shape[1]), at.dtype)
    motion = motion_alone(state)
    vary_sensors(model, theta, at.varied, TIME, motion, at.sens, at.kin, at.twists, d_sensors)
    hat = at.random(at.sensors.size)
    pull_sensors(model, theta, TIME, motion, at.kin, at.padded(hat), at.adj)
    at.take(hat.T @ d_sensors)


def pull_residual(at, nu):
    """Pull mu . G + nu . Phi back to coordinates and numbers."""
    model, theta, state = at.model, at.theta, at.state
    pull_bodies(model.tree, theta, at.kin, at.virtual, at.adj)
    pull_element_forces(model, theta, TIME, motion_alone(state), at.kin, at.virtual, at.adj)
    pull_constraints(
        model, theta, TIME, state.z, at.kin, at.eq.lines, state.lam, at.virtual, at.padded(nu), at.adj
    )  # fmt: skip
    at.pull_to_root()


@IMAGINARY
@MECHANISMS
def test_residual(build, imaginary):
    at = pulled(build(), imaginary)
    model, theta, state, tw, sens = at.model, at.theta, at.state, at.twists, at.sens
    lines = at.eq.lines
    dG, d_phi, nu = np.zeros_like(sens.z), np.zeros_like(sens.lam), at.random(len(state.lam))
    clear_forces(tw, dG)
    vary_constraints(model, theta, at.varied, TIME, state.z, sens.z, lines, at.kin, tw, d_phi)
    vary_constraint_forces(model, theta, at.varied, lines, state.lam, state.z, sens.z, at.kin, tw, dG)
    vary_element_forces(model, theta, at.varied, TIME, motion_alone(state), motion_alone(sens), at.kin, tw, dG)
    vary_bodies(model.tree, theta, at.varied, state.z, sens.z, at.kin, at.comp, tw, dG)
    pull_residual(at, nu)
    at.take(at.virtual.mu[:, :SCALARS].T @ dG + nu.T @ d_phi, summed=True)


@IMAGINARY
@MECHANISMS
def test_systems_at_rest(build, imaginary):
    """M x + J^T multiplier at fixed x and multiplier, without gravity."""
    at = pulled(build(), imaginary)
    model, theta, state, sens = at.model, at.theta, at.state, at.sens
    x, multiplier = (at.rng.normal(size=len(rows)).astype(at.dtype) for rows in (state.z, state.lam))
    p, still, load = sens.z.shape[1], Motion(state.z, np.zeros_like(state.z), x), Load(x, multiplier)
    systems = [resting(len(at.kin.R) - 1, len(x), len(multiplier), p, at.dtype) for _ in range(2)]
    vary_resting(
        model, theta, at.varied, state.z, sens.z, at.eq.lines, at.kin, at.comp, at.twists,
        (load, load), systems,
    )  # fmt: skip
    at.kin.A[-1] = 0.0
    motion_kinematics(model.tree, theta, still, at.kin)
    column_kinematics(model.tree, theta, still, at.kin)
    clear(at.comp.W)
    clear(at.eq.Q)
    constraint_forces(model, theta, state.z, at.kin, multiplier, at.eq.lines, at.comp.W, at.eq.Q)
    residual(model.tree, at.kin, at.comp, at.eq.Q, at.eq.G)
    pull_bodies(model.tree, theta, at.kin, at.virtual, at.adj)
    no_nu = at.padded(np.zeros((len(multiplier), SCALARS), at.dtype))
    pull_constraints(model, theta, TIME, state.z, at.kin, at.eq.lines, multiplier, at.virtual, no_nu, at.adj)
    pull_tree(model.tree, theta, state.z, at.kin, at.comp, at.virtual, at.adj)
    at.adj.zd[:], at.adj.zdd[:] = 0.0, 0.0  # x is held
    at.take(at.virtual.mu[:, :SCALARS].T @ systems[0].dG, summed=True)


@IMAGINARY
@MECHANISMS
def test_nothing_changes_with_the_axes_of_a_body(build, imaginary):
    """Six identities a body that need no variation, of the pull-back of the whole residual."""
    at = pulled(build(), imaginary)
    pull_residual(at, at.random(len(at.state.lam)))
    for body, turn, shift in itertools.product(range(len(at.kin.R) - 1), [*np.eye(3), 0], [*np.eye(3), 0]):
        direction = of_axes(at.model, at.theta, body, np.broadcast_to(turn, 3), np.broadcast_to(shift, 3))
        products = at.adj.theta[:, :SCALARS] * direction[:, None]
        for part in (products.real, products.imag):
            assert np.abs(part.sum(axis=0)).max() <= 1e-12 * np.abs(part).sum(axis=0).max()


@IMAGINARY
@MECHANISMS
def test_elements(build, imaginary):
    builder = build()
    at = pulled(builder, imaginary)
    for agree in (forces_agree, constraints_agree, rates_agree, velocities_agree):
        agree(at)


def test_elements_of_everything_are_all():
    model = everything().problem().model
    assert set(model.forces.kind) == set(Force) - {
        Force.SPHERE_ON_ROAD
    }  # with kernels of its own: see test_every_force
    assert set(model.measures.kind) == set(model.measures.kind[model.constraints.measure]) == set(Measure)
    assert set(model.laws.kind) == set(Law)
    assert set(model.forces.axes[model.forces.kind == Force.TORQUE]) == set(Axes)


@pytest.mark.parametrize("kind", Measure, ids=lambda kind: kind.name.lower())
def test_every_measure_between_all_pairs(kind):
    builder = branches(20)
    for pair in PAIRS:
        builder.along(any_measure(builder, kind, *pair))
        if kind != Measure.EULER_NORM:
            builder.constraint(any_measure(builder, kind, *pair))
    at = pulled(builder)
    for agree in (forces_agree, constraints_agree, rates_agree):
        agree(at)


@pytest.mark.parametrize("kind", Law, ids=lambda kind: kind.name.lower())
def test_every_law_in_every_place(kind):
    builder = branches()
    law = builder.sum((kind, (-5.0, 5.0)), (kind, (7.0, 9.0)), (Law.POLYNOMIAL, None))
    builder.constraint(builder.coordinates((0,)), law)
    for applied in (Force.POINT_FORCE, Force.TORQUE):
        builder.applied(applied, 4, Axes.BODY, law)
    for slot in range(3):
        laws = [law if slot == place else NONE for place in range(3)]
        builder.along(builder.geometric(Measure.DISTANCE, 2, 4), tuple(laws))
    at = pulled(builder)
    for agree in (forces_agree, constraints_agree, rates_agree):
        agree(at)


@IMAGINARY
def test_every_sensor(imaginary):
    sensors_agree(pulled(with_sensors(*Sensor), imaginary))


def test_sensors_that_no_scalar_reads_do_not_count():
    """The length between two points that coincide has no derivative."""
    builder = branches()
    builder.sensor(Sensor.POSITION, 4)
    builder.sensor(Sensor.MEASURE, index=builder.geometric(Measure.DISTANCE, 2, 2, np.zeros(15)), order=1)
    with np.errstate(all="ignore"):
        at = pulled(builder)
        for row, defined in ((0, True), (3, False)):
            hat = np.zeros((4, at.adj.z.shape[1]))
            hat[row, 0] = 1.0
            pull_sensors(at.model, at.theta, TIME, motion_alone(at.state), at.kin, hat, at.adj)
            assert all(np.isfinite(found).all() for found in at.adj) == defined


def test_sensors_of_an_open_tree():
    sensors_agree(pulled(everything_open()))


@IMAGINARY
@pytest.mark.parametrize(("seed", "loops"), [(19, 1), (6, 2), (4, 0), (11, 2)])
def test_reactions(tmp_path, seed, loops, imaginary):
    found = assembled(tmp_path, random_mechanism(seed, bodies=4, loops=loops), sensitivity="none").problem
    reactions_agree(found, imaginary)


@pytest.mark.parametrize("text", [SLIDER % "false", SLIDER % "true", FOUR_BAR.partition("\n")[2]])
def test_reactions_to_motions(tmp_path, text):
    reactions_agree(assemble(tmp_path, text).problem, 0.0)


def reactions_agree(problem, imaginary):
    """Check ``pull_read``."""
    model, reactions, theta = problem.reacting.model, problem.reacting.reactions, problem.theta
    n, m = model.tree.column_kind.size, model.constraints.measure.size
    rng, first = np.random.default_rng(seed=n), model.tree.initial[0]
    state = theta[first : first + n], *rng.normal(size=(2, n)), rng.normal(size=m)
    at = Pulled(model, theta, state, imaginary, reactions.theta + AXES)
    state, theta, tw, acting = at.state, at.theta, at.twists, acting_at(model, at.state, at.kin, at.comp, at.eq)
    find_forces(model, theta, TIME, acting)
    dQ, varied = np.zeros_like(at.sens.z), np.zeros((problem.reacting.width, at.sens.z.shape[1]), at.dtype)
    vary_read(model, theta, at.varied, reactions, TIME, acting, at.sens, tw, dQ, varied)
    find_forces(model, theta, TIME, acting)
    hat, no_nu = at.random(len(varied)), at.padded(np.zeros((m, SCALARS), at.dtype))
    still = at.virtual._replace(mu=np.zeros_like(at.virtual.mu), U=np.zeros_like(at.virtual.U))
    pulling = SimpleNamespace(virtual=at.virtual, none=still, beside=np.zeros_like(state.lam), no_nu=no_nu)
    pull_read(model, theta, reactions, TIME, state, acting, pulling, at.padded(hat), at.adj)
    at.take(hat.T @ varied, summed=True)
