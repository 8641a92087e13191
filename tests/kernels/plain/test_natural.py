"""Natural coordinates: the same motion and gradients as the semi-recursive system, to the second order in the step."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mbsim_cli import assembly, spec
from mbsim_cli.errors import AnalysisError, ModelError
from mbsim_cli.kernels.algorithms.systems.contract import evaluate, mass, tangent
from mbsim_cli.model.layout import COM, GRAVITY, INERTIA, MASS
from mbsim_cli.solve import allocate
from mbsim_cli.solve.forward import forward, start
from mbsim_cli.solve.natural.joint_motion import JointReader
from mbsim_cli.solve.natural.start import natural_start
from mbsim_cli.study.evaluation import blocks_of
from mbsim_cli.study.reduced_bodies import standard_input
from tests.assembly.texts import assemble
from tests.campaign import generator
from tests.kernels.adjoint import adjoint, assert_set_back, summed, weights_of
from tests.models.command import ROOT
from tests.naive.natural import Cloud
from tests.solve.test_singular_positions import PARALLELOGRAM, passages

STEP = 1e-30
MODELS = ROOT / "models"
COUNTS = {  # coordinates, equations, trios of all bodies; mechanisms in space have as many freedoms as the difference
    "fivebar.yaml": (6, 4, 0),
    "double_pendulum.yaml": (4, 2, 0),
    "benchmarks/rssr_fourbar.yaml": (10, 9, 2),
    "benchmarks/slider_crank_sundials.yaml": (4, 3, 0),
    "benchmarks/steady_top.yaml": (9, 6, 3),
    "benchmarks/free_body.yaml": (12, 6, 4),
    "benchmarks/a04_bricard.yaml": (16, 16, 8),
}
MECHANISMS = [("spatial_loop", 1)]  # with a coupling and a moving cylindrical joint
SHARE = 0.25  # an error of first order leaves two thirds, and a constant one all of it
AMPLIFIED = 100.0  # round-off of positions in accelerations and multipliers, relative to eps / h^2
ROUND_OFF = 1e-13  # of sums of sensors that are not far from 1
SMALL = 0.1  # motion and reactions of bodies of about 1 kg and 1 m, below which they count as none
MORE = [("spatial_loop", k) for k in range(2, 14)] + [("open_tree", k) for k in range(6)] + [("planar_loop", 6)]


def mechanism(family, seed):
    """A random mechanism."""
    data = getattr(generator, family)(seed)
    data["objectives"] = {}
    return generator.load(data)


def run(model, formulation, step, steps, sensitivity="ddm"):
    """Sensors (N, width), and their derivatives (N, width, p), at every step."""
    built = assembly.build(
        model, formulation=formulation, step=step, duration=steps * step, output_interval=1, sensitivity=sensitivity,
        standard_input=standard_input,
    )  # fmt: skip
    blocks = list(forward(built.problem))
    return built.problem, *(np.concatenate([getattr(b, name) for b in blocks]) for name in ("sensors", "d_sensors"))


def check_order(model, step, steps):
    """At the start both are the same; later their difference falls by four as the step halves, towards nothing.

    What is left of it for steps that go to zero is at most a share of what halving the step changes in both.
    """
    ends = []
    for part in (1, 2):
        problem, *ours = run(model, "ali3p-natural", step / part, part * steps)
        _, *theirs = run(model, "ali3p-rtdyn1", step / part, part * steps)
        width = problem.reacting.width if problem.reacting else 0
        first = ours[0].shape[1] - width  # reactions stand last
        pairs = [
            (a[:, rows], b[:, rows])
            for rows in (slice(first), slice(first, None))
            for a, b in zip(ours, theirs, strict=True)
        ]
        sizes = [max(largest(b), SMALL) for _, b in pairs]
        for (a, b), size in zip(pairs, sizes, strict=True):
            np.testing.assert_allclose(a[0], b[0], rtol=1e-9, atol=1e-11 * size)
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        ends.append([(a[-1], b[-1]) for a, b in pairs])
    noise = AMPLIFIED * np.finfo(float).eps / (0.5 * step) ** 2
    for (ours, theirs), (our_fine, their_fine), size in zip(*ends, sizes, strict=True):
        changed = largest(ours - our_fine) + largest(theirs - their_fine)
        left = largest(4 * (our_fine - their_fine) - (ours - theirs)) / 3
        assert left <= SHARE * changed + noise * size


def largest(x):
    """Largest entry of those that are numbers."""
    return np.nanmax(np.abs(x), initial=0.0)


def check_complex_step(model, step, steps, parameter=0):
    """The gradient is that of the discrete run. Returns the problem and all derivatives."""
    problem, values, derivatives = run(model, "ali3p-natural", step, steps)
    plain = replace(problem, theta_rho=problem.theta_rho[:, :0], options=replace(problem.options, sensitivity="none"))
    moved = problem.theta + 1j * STEP * problem.theta_rho[:, parameter]
    wanted = np.concatenate([block.sensors for block in forward(plain, theta=moved)])
    np.testing.assert_allclose(wanted.real, values, rtol=1e-9, atol=1e-9 * np.nanmax(np.abs(values)))
    wanted = wanted.imag / STEP
    np.testing.assert_allclose(
        derivatives[..., parameter], wanted, rtol=1e-8, atol=1e-9 * np.nanmax(np.abs(wanted)) + 1e-15
    )
    return problem, derivatives


def check_adjoint(problem, derivatives, relative=1e-9):
    """The adjoint gives the derivatives of random sums of sensors; what has none is not read."""
    steps, lost = len(derivatives) - 1, np.isnan(derivatives).any(axis=-1)
    weights = np.where(lost[..., None], 0.0, weights_of(problem, steps))
    wanted = summed(np.nan_to_num(derivatives), weights)
    found = adjoint(problem, problem.theta_rho.T, steps, weights)
    assert_set_back(problem)
    assert (np.abs(found - wanted).max(axis=0) <= relative * np.abs(wanted).max(axis=0) + ROUND_OFF).all()


@pytest.mark.parametrize(("family", "seed"), MECHANISMS)
def test_random_mechanisms_move_as_in_the_semi_recursive_system(family, seed):
    model = mechanism(family, seed)
    check_order(model, 4e-3, 2)
    check_complex_step(model, 4e-3, 2, seed % 4)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "seed"), MORE)
def test_more_random_mechanisms(family, seed):
    model = mechanism(family, seed)
    check_order(model, 4e-3, 2)
    check_adjoint(*check_complex_step(model, 4e-3, 2, seed % 4))


@pytest.mark.slow
@settings(max_examples=30)
@given(family=st.sampled_from(["open_tree", "spatial_loop", "planar_loop"]), seed=st.integers(0, 10**9))
def test_any_mechanism_moves_as_in_the_semi_recursive_system(family, seed):
    check_order(mechanism(family, seed), 4e-3, 3)


@pytest.mark.parametrize(("family", "seed"), [("planar_loop", 6), ("spatial_loop", 5)])
def test_reactions_agree_to_the_second_order(family, seed):
    check_order(mechanism(family, seed), 8e-3, 3)


def test_the_five_bar_linkage_has_the_gradient_of_its_own_steps():
    model = spec.load(MODELS / "fivebar.yaml")
    check_order(model, 2e-3, 2)
    check_adjoint(*check_complex_step(model, 2e-3, 2, 4))


class AnyState:
    """Equations in natural coordinates at the start, and at other coordinates."""

    def __init__(self, model):
        self.tree = assembly.build(model, sensitivity="none").problem
        problem = assembly.build(model, formulation="ali3p-natural", sensitivity="none").problem
        problem, self.start = natural_start(problem)
        self.model, self.theta, self.z = problem.model, self.start.theta, self.start.state.z

    def look(self, *state, factors=None):
        """G, Phi, J, M, r, R, T at (z, zd, zdd, lam), T for the ``factors`` of C and K."""
        dtype = np.result_type(*(part.dtype for part in state)).type
        work = allocate.work(self.model, self.theta.astype(dtype))
        work.kin.expected[:] = self.start.expected
        at = allocate.state(self.model, dtype)
        for mine, wanted in zip(at, state, strict=False):
            mine[:] = wanted
        theta, kin, comp, eq, T = self.theta.astype(dtype), work.kin, work.comp, work.eq, work.tangent.T
        evaluate(self.model, theta, 0.0, False, at, kin, comp, eq)
        M = np.zeros((at.z.size, at.z.size), dtype)
        mass(self.model, theta, kin, comp, M)
        if factors:
            tangent(self.model, theta, 0.0, *factors, at, eq.lines, at.lam, kin, comp, T)
        R = np.swapaxes(kin.pose[:, 3:12].reshape(-1, 3, 3), 1, 2)
        return eq.G, eq.phi, eq.J, M, kin.pose[:, :3], R, T[:, : at.z.size]

    def poses(self, z):
        """Origins and rotation matrices of all bodies."""
        n, m = z.size, self.start.state.lam.size
        return self.look(z, np.zeros(n), np.zeros(n), np.zeros(m))[4:6]


TWINS = ["double_pendulum.yaml", "benchmarks/steady_top.yaml", "benchmarks/a04_bricard.yaml"]


@pytest.mark.parametrize("file", TWINS)
def test_equations_are_those_of_mass_points(file):
    """Without springs G = M z'' - weight + J^T lambda, with J the derivative of Phi."""
    at = AnyState(spec.load(MODELS / file))
    rng, n, m = np.random.default_rng(5), at.z.size, at.start.state.lam.size
    z, zd, zdd, lam = at.z, rng.normal(size=n), rng.normal(size=n), rng.normal(size=m)
    G, phi, J, M, *_ = at.look(z, zd, zdd, lam)
    assert np.abs(phi).max() < 1e-12
    theta, tree = at.theta, at.tree.model.tree
    bodies = [(theta[o + MASS], theta[o + COM : o + COM + 3], theta[o + INERTIA : o + INERTIA + 6]) for o in tree.theta]
    cloud = Cloud(at.poses, bodies, n)
    np.testing.assert_allclose(M, cloud.mass_matrix(), rtol=1e-12, atol=1e-12 * np.abs(M).max())
    slopes = np.stack([at.look(z + 1j * STEP * e, zd, zdd, lam)[1].imag / STEP for e in np.eye(n)], axis=1)
    np.testing.assert_allclose(J, slopes, rtol=1e-12, atol=1e-12 * np.abs(J).max())
    wanted = cloud.mass_matrix() @ zdd - cloud.weight(theta[GRAVITY : GRAVITY + 3]) + slopes.T @ lam
    np.testing.assert_allclose(G, wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())


ELEMENTS = [("spatial_loop", 1), ("spatial_loop", 5), ("open_tree", 4)]


@pytest.mark.parametrize(("family", "seed"), ELEMENTS)
def test_the_tangent_is_the_derivative_of_the_residual(family, seed):
    """Where bodies are rigid: elements see the nearest rotation, to the second order."""
    assert_tangent(AnyState(mechanism(family, seed)))


CAM = """
mbsim: 1
gravity: [0, -9.81, 0]
laws: {profile: {type: polynomial, coefficients: [0.1, 0.2, 0.3, -0.2]}}
bodies:
  cam: {mass: 2, center_of_mass: [0.02, 0, 0], inertia: {xx: 0.01, yy: 0.01, zz: 0.02}}
  follower: {mass: 1, center_of_mass: [0, 0.1, 0], inertia: {xx: 0.01, yy: 0.01, zz: 0.02}}
joints:
  cam: {type: revolute, bodies: [ground, cam], point: origin, axis: z, initial: {angle: 0.4, angular_velocity: 5}}
  guide: {type: prismatic, bodies: [ground, follower], point: origin, axis: y}
constraints: {lift: {type: coupling, of: guide.displacement, by: cam.angle, law: profile}}
sensors: {q: {type: coordinate, coordinate: cam.angle}}
analysis: {step: 1e-3, duration: 1e-3}
"""


def test_the_tangent_has_the_curve_of_a_coupling():
    assert_tangent(AnyState(spec.load("cam.yaml", texts={"cam.yaml": CAM})))


def assert_tangent(at):
    """Against complex steps of the residual."""
    rng, (z, zd, zdd, lam), (beta, gamma) = np.random.default_rng(7), at.start.state[:4], (0.2, 0.07)
    zdd, lam = rng.normal(size=z.size), rng.normal(size=lam.size)
    T, exact = at.look(z, zd, zdd, lam, factors=(beta, gamma))[6], np.empty((z.size, z.size))
    for c, e in enumerate(1j * STEP * np.eye(z.size)):
        exact[:, c] = at.look(z + gamma * e, zd + beta * e, zdd + e, lam)[0].imag / STEP
    np.testing.assert_allclose(T, exact, rtol=1e-11, atol=1e-12 * np.abs(exact).max())


def test_a_wheel_turns_by_the_rule_and_is_foreseen():
    """A vector that turns evenly by w h turns by 2 arctan(w h / 2), and Newton has nothing to correct."""
    body = {"mass": 2, "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.2}}
    joint = {"type": "revolute", "bodies": ["ground", "wheel"], "point": "origin", "axis": "z"}
    joint |= {"initial": {"angle": 0.3, "angular_velocity": 60}}
    data = {
        "mbsim": 1,
        "gravity": [0, 0, -9.81],
        "bodies": {"wheel": body},
        "joints": {"axle": joint},
        "objectives": {},
    }
    data |= {"sensors": {"turn": {"type": "coordinate", "coordinate": "axle.angle"}}}
    _, sensors, _ = run(generator.load(data), "ali3p-natural", 0.01, 6, "none")
    np.testing.assert_allclose(np.diff(sensors[:, 0]), 2 * np.arctan(0.3), rtol=1e-9)


@pytest.mark.parametrize(("file", "counts"), COUNTS.items())
def test_bodies_share_points_and_vectors(file, counts):
    problem = assembly.build(spec.load(MODELS / file), formulation="ali3p-natural", sensitivity="none").problem
    names, system = problem.names, problem.system
    assert (len(names.coordinates), len(names.constraints), system.model.tree.trios.sum()) == counts
    assert len(set(names.coordinates)) == counts[0]
    assert len(set(names.constraints)) == counts[1]
    tree, theta = system.model.tree, system.numbers(problem.theta[None] + 0j)[0].real
    for o, count in zip(tree.pose + 12, tree.trios, strict=True):
        maps = theta[o : o + 36 * count].reshape(count, 3, 4, 3)  # x, y, z move the body along x, y, z alike
        assert (np.moveaxis(maps, 1, 2) == maps[:, 0, :, 0][..., None, None] * np.eye(3)).all()


def test_thin_rods_do_not_loosen_the_constraints():
    model = spec.load(MODELS / "benchmarks/a04_bricard.yaml")
    problem = assembly.build(model, formulation="ali3p-natural", step=1e-3, duration=4e-3, output_interval=1).problem
    assert max(block.drift.max() for block in forward(problem)) < 1e-12


def refused(change, error):
    data = generator.open_tree(0)
    data["sensors"], data["objectives"] = {}, {}
    change(data)
    with pytest.raises(error) as caught:
        list(forward(assembly.build(generator.load(data), formulation="ali3p-natural", duration=1e-3).problem))
    return str(caught.value)


SPINNING = """
bodies: {wheel: {mass: 1, inertia: {xx: 0.1, yy: 0.1, zz: 0.2}}, arm: {mass: 1, inertia: {xx: 0.1, yy: 0.1, zz: 0.2}}}
points: {O: {ground: [0, 0, 0], wheel: [0, 0, 0]}, E: {wheel: [1, 0, 0], arm: [0, 0, 0]}}
joints:
  axle: {type: revolute, bodies: [ground, wheel], point: O, axis: z, initial: {angle: 3, angular_velocity: 50}}
  pin: {type: revolute, bodies: [wheel, arm], point: E, axis: z}
laws:
  wind: {type: spline, x: [0, 1, 7], values: [0, 1, 2], extrapolate: none}
forces:
  f: {type: rotational_spring_damper, coordinate: axle.angle, elongation_law: wind, natural_angle: 0}
sensors: {turn: {type: coordinate, coordinate: axle.angle}}
objectives: {last: {final: turn}}
analysis: {formulation: ali3p-natural, step: 0.01, duration: 0.2}
"""


def test_a_table_that_the_motion_leaves_is_named(tmp_path):
    """The angle goes on beyond half a turn, and the table with it; instants before its end are kept."""
    problem, seen = assemble(tmp_path, SPINNING).problem, []
    with pytest.raises(
        AnalysisError, match=r"^the table of laws\.wind ends: it covers 0 to 7, and the elongation"
    ) as caught:
        seen.extend(block for block in blocks_of(problem))
    value = float(str(caught.value).split("elongation of force 'f' is ")[1].split()[0])
    times, turns = (np.concatenate([getattr(b, name) for b in seen]) for name in ("time", "sensors"))
    np.testing.assert_allclose(times, 0.01 * np.arange(times.size), atol=1e-12)
    assert turns[-1, 0] < 7 < value < turns[-1, 0] + 0.6
    assert {block.position.shape[1] for block in seen} == {len(problem.names.coordinates)}


def test_euler_parameters_are_refused():
    def read(data):
        data["bodies"]["free"] = {"mass": 1, "inertia": {"xx": 1, "yy": 1, "zz": 1}}
        data["joints"]["free"] = {"type": "floating", "bodies": ["ground", "free"], "point": ["origin", "origin"]}
        data["sensors"]["e"] = {"type": "coordinate", "coordinate": "free.e1"}

    assert "natural coordinates have no Euler parameters" in refused(read, (ModelError, AnalysisError))


BENDING = [("bent_loop", k) for k in (3, 5, 6, 7, 8, 9)]


@pytest.mark.parametrize(("family", "seed"), BENDING[:1])
def test_directions_that_break_dependent_equations_are_not_numbers(family, seed):
    """As in joint coordinates; a direction that bends a planar linkage says so, and disturbs no other."""
    model, found = mechanism(family, seed), []
    for formulation in ("ali3p-natural", "ali3p-rtdyn1"):
        built = assembly.build(
            model, formulation=formulation, step=1e-3, duration=2e-3, output_interval=1, sensitivity="ddm"
        )
        found.append(list(forward(built.problem))[-1])
    ours, theirs = found
    assert (ours.broken[-1] != 0).tolist() == (theirs.broken[-1] != 0).tolist()
    assert theirs.broken[-1].any()
    sound = theirs.broken[-1] == 0
    wanted = theirs.d_sensors[-1][:, sound]
    np.testing.assert_allclose(
        ours.d_sensors[-1][:, sound], wanted, rtol=1e-4, atol=1e-10 + 1e-5 * np.nanmax(np.abs(wanted), initial=0)
    )


@pytest.mark.slow
@pytest.mark.parametrize(("family", "seed"), BENDING[1:])
def test_more_bent_loops(family, seed):
    test_directions_that_break_dependent_equations_are_not_numbers(family, seed)


def test_singular_positions_that_a_motion_passes_end_derivatives(tmp_path):
    """All links of the parallelogram lie on one line; behind, a length of one crank has no derivative."""
    natural = PARALLELOGRAM.replace("forward_dynamics, ", "forward_dynamics, formulation: ali3p-natural, ")
    simulation = start(assemble(tmp_path, natural.replace("STEP", "0.01")).problem)
    simulation.first_block()
    block = simulation.advance(52)
    passed = np.interp(np.pi, np.unwrap(block.sensors[:, 0]), block.time)
    assert list(passages(block)) == pytest.approx([passed], abs=0.01)
    undefined = np.isnan(block.d_position[-1]).all(axis=0)
    assert {"l", "c"} == {
        name for name, lost in zip(simulation.problem.names.parameters, undefined, strict=False) if lost
    }


@pytest.mark.parametrize("kind", [float, complex])
def test_motions_of_joints_have_numbers_of_one_kind(kind):
    """Derivatives by no parameter were real beside complex motions, for which there is no kernel of reactions."""
    model = spec.load(MODELS / "double_pendulum.yaml")
    tree = assembly.build(model, sensitivity="none").problem
    problem = assembly.build(model, formulation="ali3p-natural", sensitivity="none").problem
    theta, near = tree.theta.astype(kind), start(tree).state.z
    motion = [part[None].astype(kind) for part in natural_start(problem)[1].state[:3]]
    reader = JointReader(problem.system, theta, np.zeros((theta.size, 0), kind))
    found, slopes = reader.read(motion, [np.zeros((*part.shape, 0), kind) for part in motion], near[None])
    assert {part.dtype for part in (*found, *slopes)} == {np.dtype(kind)}
    np.testing.assert_allclose(found.x[0], near, atol=1e-14)
