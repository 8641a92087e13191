"""Formulations of open trees: the same accelerations as the residual, exact sensitivities.

Compiled in the slow group, for no run needs these kernels; most of it runs as plain Python, too, in ``plain``.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mbsim_cli.kernels.algorithms.motion.workspace import LoadedMotion, Motion
from mbsim_cli.kernels.algorithms.open_trees.open_tree import open_tree
from mbsim_cli.kernels.compiler.simd import padded
from mbsim_cli.model.codes import Axes, Column, Force, Joint, Law, Measure
from mbsim_cli.model.layout import GROUND, NONE, FlexibleTree
from mbsim_cli.solve import allocate
from mbsim_cli.solve.open_trees.open_tree import FLEXIBLE, FORMULATIONS
from tests.kernels import textbook
from tests.kernels.accelerations import accelerations, accelerations_and_variations
from tests.kernels.instant import EPS, Instant, random_state
from tests.kernels.mechanisms import PAIRS, any_measure, branches
from tests.kernels.models import Builder

pytestmark = pytest.mark.slow

DENSE = ("conventional", "partial_recursive")  # form the mass matrix
FEW = settings(max_examples=15)
joints = st.lists(st.sampled_from(list(Joint)), min_size=1, max_size=6)
seeds = st.integers(0, 10**6)
TIME = 0.05


class Accelerations:
    """z'' and reactions at one state, and their variations along dtheta (p, len(theta)), dz, dzd (n, p)."""

    def __init__(self, formulation, problem, z, zd, *, theta=None, directions=None):
        model = problem.model
        theta = np.array(problem.theta if theta is None else theta)
        dtype = np.result_type(theta, z, zd).type
        dtheta, dz, dzd = directions or (np.zeros((0, theta.size)), np.zeros((z.size, 0)), np.zeros((z.size, 0)))
        wanted, n, m = len(dtheta), z.size, model.constraints.measure.size
        p = padded(wanted)
        dtheta, dz, dzd = (np.pad(a, ((0, 0), (0, p - wanted))) for a in (dtheta.T, dz, dzd))
        theta, dtheta, z, zd, dz, dzd = (np.array(a, dtype, order="C") for a in (theta, dtheta, z, zd, dz, dzd))
        zdd, reaction, dzdd, d_reaction = (np.zeros(k, dtype) for k in (n, m, (n, p), (m, p)))
        deforms = isinstance(model.tree, FlexibleTree)
        self.dyn = (FLEXIBLE if deforms else FORMULATIONS)[formulation](model, theta, p, dtype)
        tree, motion = open_tree(model), Motion(z, zd, zdd)
        if directions is None:
            self.found = accelerations(model, theta, tree, TIME, motion, self.dyn, reaction)
        else:
            along, change = allocate.directions(model, dtheta, dtype), LoadedMotion(dz, dzd, dzdd, d_reaction)
            self.found = accelerations_and_variations(
                model, theta, along, tree, TIME, motion, change, self.dyn, reaction
            )
            self.dzdd, self.d_reaction = dzdd[:, :wanted], d_reaction[:, :wanted]
        self.z, self.zd, self.zdd, self.reaction = z, zd, zdd, reaction


def loaded(builder, rng):
    """Every force with every law on random pairs of bodies, and laws that drive some coordinates."""
    laws = [builder.law(kind) for kind in Law]
    bodies = range(GROUND, len(builder.bodies))
    for k, kind in enumerate(Measure):
        a, b = rng.choice(bodies, 2, replace=False)
        used = tuple(laws[(k + slot) % len(laws)] for slot in range(3))
        if kind == Measure.COORDINATES:
            builder.along(builder.coordinates(tuple(range(min(4, len(builder.z))))), used)
        elif kind != Measure.EULER_NORM:
            builder.along(builder.geometric(kind, int(a), int(b)), used)
    for kind in (Force.POINT_FORCE, Force.TORQUE):
        for k, axes in enumerate(Axes):
            builder.applied(kind, int(rng.integers(len(builder.bodies))), axes, (NONE, laws[1])[k])
    drivable = [c for c, kind in enumerate(builder.kinds) if kind < Column.EULER_0]
    for k, c in enumerate(rng.permutation(drivable)[: len(drivable) // 2]):
        builder.constraint(builder.coordinates((int(c),)), (*laws, NONE)[k % 6])
    return builder


def random_tree(kinds, seed):
    """A tree of these joints with random parents, all forces and some driven coordinates."""
    builder = Builder(seed)
    for i, joint in enumerate(kinds):
        builder.body(joint, int(builder.rng.integers(GROUND, i)))
    if not builder.z:
        builder.body(Joint.PLANAR)
    return loaded(builder, builder.rng)


def every_joint():
    """A tree of all joints, all forces, all laws."""
    return random_tree(list(Joint), 8)


CASES = {"every joint": every_joint, "branches": lambda: loaded(branches(), np.random.default_rng(4))}


def euler_sets(problem):
    """The four coordinates of each set of Euler parameters."""
    return [slice(c, c + 4) for c in open_tree(problem.model).euler]


@FEW
@given(joints, seeds)
def test_residual_vanishes(kinds, seed):
    builder = random_tree(kinds, seed)
    problem = builder.problem()
    z, zd, *_ = random_state(builder, problem)
    for formulation in FORMULATIONS:
        found = Accelerations(formulation, problem, z, zd)
        assert found.found
        instant = Instant(problem, found.z, found.zd, found.zdd, found.reaction, t=TIME)
        G = instant.G.copy()
        for e in euler_sets(problem):  # forces along e change nothing but its norm
            G[e] -= found.z[e] * (found.z[e] @ G[e]) / (found.z[e] @ found.z[e])
        size = max(1.0, np.abs(Instant(problem, found.z, found.zd, 0 * found.zdd, found.reaction, t=TIME).G).max())
        assert np.abs(G).max() <= 1e-10 * size
        tree = open_tree(problem.model)
        driven = tree.driver[tree.driver != NONE]
        assert np.abs(instant.phi[:, driven]).max(initial=0.0) <= 1e-10 * max(1.0, np.abs(found.zdd).max())
        norms = np.setdiff1d(np.arange(found.reaction.size), driven)
        assert np.abs(instant.phi[2, norms]).max(initial=0.0) <= 1e-10 * max(1.0, np.abs(found.zdd).max())


@FEW
@given(joints, seeds)
def test_formulations_agree(kinds, seed):
    builder = random_tree(kinds, seed)
    problem = builder.problem()
    z, zd, *_ = random_state(builder, problem)
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(3, problem.theta.size)), *rng.normal(size=(2, z.size, 3))
    one, two, three = (Accelerations(name, problem, z, zd, directions=directions) for name in FORMULATIONS)
    for name in ("zdd", "reaction", "dzdd", "d_reaction"):
        a = getattr(one, name)
        for b in (getattr(two, name), getattr(three, name)):
            assert np.abs(a - b).max(initial=0.0) <= 1e-10 * max(1.0, np.abs(a).max(initial=0.0)), name
    assert np.abs(two.dyn.eq.M - three.dyn.eq.M).max(initial=0.0) <= 1e-10 * np.abs(two.dyn.eq.M).max(initial=0.0)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_textbook(formulation):
    """Unit Euler parameters, forces without laws: the twin is written with differences in time."""
    builder = branches(3)
    for k, kind in enumerate(Measure):
        if kind < Measure.COORDINATES:
            builder.along(any_measure(builder, kind, *PAIRS[k]))
    for kind in (Force.POINT_FORCE, Force.TORQUE):
        for axes in Axes:
            builder.applied(kind, 4, axes)
    builder.constraint(builder.coordinates((6,)))
    problem = builder.problem()
    found = Accelerations(formulation, problem, np.array(builder.z), np.array(builder.zd))
    if formulation in DENSE:
        expected = textbook.mass_matrix(builder, found.z)
        assert np.abs(found.dyn.eq.M - expected).max() <= 1e-12 * np.abs(expected).max()
    G = textbook.residual(builder, found.z, found.zd, found.zdd, found.reaction)
    held = textbook.residual(builder, found.z, found.zd, 0 * found.zdd, 0 * found.reaction)
    assert np.abs(G).max() <= 1e-7 * np.abs(held).max()
    assert found.zdd[6] == 0.0
    assert np.abs(found.reaction).max() > 0.1


def assert_exact(formulation, builder, directions):
    """Check variations along {name: direction} with random dz, dz' against the complex step."""
    problem = builder.problem()
    z, zd, *_ = random_state(builder, problem)
    dz, dzd = np.random.default_rng(3).normal(size=(2, z.size, len(directions)))
    found = Accelerations(formulation, problem, z, zd, directions=(np.array(list(directions.values())), dz, dzd))
    failures = []
    for k, (name, direction) in enumerate(directions.items()):
        moved = problem.theta + 1j * EPS * direction
        exact = Accelerations(formulation, problem, z + 1j * EPS * dz[:, k], zd + 1j * EPS * dzd[:, k], theta=moved)
        for output, variation in (("zdd", found.dzdd), ("reaction", found.d_reaction)):
            derivative = getattr(exact, output).imag / EPS
            error = np.abs(variation[:, k] - derivative).max(initial=0.0)
            if not error <= 1e-9 * max(1.0, np.abs(derivative).max(initial=0.0)):
                failures.append(f"{name} {output}: {error:.1e}")
    assert not failures, failures
    assert np.abs(found.d_reaction).max() > 1.0, "no driver was part of the test"
    for e in euler_sets(problem):
        assert np.abs(np.linalg.norm(z[e]) - 1.0) > 1e-3, "all Euler parameters are meant to be off the unit sphere"


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("case", CASES)
def test_variations_along_every_number(case, formulation):
    builder = CASES[case]()
    builder.problem()  # adds the initial values to the numbers
    assert_exact(formulation, builder, builder.directions())


@pytest.mark.parametrize("formulation", DENSE)
def test_derivative_of_the_mass_matrix(formulation):
    builder = every_joint()
    problem = builder.problem()
    z, zd, *_ = random_state(builder, problem)
    rng = np.random.default_rng(5)
    for _, direction in zip(range(40), builder.directions().values(), strict=False):
        dz = rng.normal(size=(z.size, 1)).repeat(padded(1), axis=1)  # dM is that of the last direction
        found = Accelerations(formulation, problem, z, zd, directions=(direction + 0 * dz.T[:, :1], dz, 0 * dz))
        moved = problem.theta + 1j * EPS * direction
        exact = Accelerations(formulation, problem, z + 1j * EPS * dz[:, 0], zd, theta=moved).dyn.eq.M.imag / EPS
        assert np.abs(found.dyn.eq.dM - exact).max() <= 1e-12 * np.abs(exact).max()
        assert np.array_equal(found.dyn.eq.dM, found.dyn.eq.dM.T)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_body_without_inertia_at_a_tip_is_singular(formulation):
    builder = Builder(1)
    builder.body(Joint.REVOLUTE, builder.body(Joint.REVOLUTE), massless=True)
    problem = builder.problem()
    assert not Accelerations(formulation, problem, np.array(builder.z), np.array(builder.zd)).found
