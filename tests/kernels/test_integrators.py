"""Integrators of open trees: order, exact gradients of the steps taken, error control, stiff models, failures."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.integrators.esdirk import ImplicitTableau
from mbsim_cli.kernels.integrators.runge_kutta import EVALUATIONS, FACTORISATIONS, JACOBIANS, REJECTED, STEPS
from mbsim_cli.model.codes import INTEGRATORS, Column, Joint, Law, Measure
from mbsim_cli.model.layout import COM, GROUND, INERTIA, MASS, NONE
from mbsim_cli.solve.forward import forward
from mbsim_cli.solve.open_trees import open_tree
from mbsim_cli.solve.open_trees.integration import newton_control, tableau
from mbsim_cli.solve.open_trees.open_tree import OpenTreeSimulation
from tests.kernels.mechanisms import everything_open
from tests.kernels.models import Builder

ROOT = Path(__file__).parents[2]
EPS = 1e-30
OUTPUTS = ("position", "velocity", "acceleration", "lambda_", "sensors")
LONG = 20.0  # s: a share of the duration bounds the steps
NAMES = ("rk4", "dop853", "esdirk")


def run(problem, integrator, steps, step, *, fixed=False, directions=None, theta=None, **options):
    """Rows 0 .. steps of a run, {field of Block: array}; ``fixed`` takes steps of that length."""
    given = {"integrator": integrator, "formulation": "recursive"} | options
    chosen = replace(problem.options, **{"step": step, "duration": steps * step} | given)
    if directions is not None:
        chosen = replace(chosen, sensitivity="ddm")
        problem = replace(problem, theta_rho=np.array(directions).T)
    simulation = OpenTreeSimulation(replace(problem, options=chosen), theta)
    if fixed:
        control = simulation.scheme.control
        changed = {"error": control.error._replace(adaptive=False)} if integrator == "esdirk" else {"adaptive": False}
        simulation.scheme = simulation.scheme._replace(control=control._replace(**changed))
    blocks = [simulation.first_block()]
    while simulation.step < steps:
        blocks.append(simulation.advance(steps - simulation.step))
    names = [name for name in blocks[0]._fields if isinstance(getattr(blocks[0], name), np.ndarray)]
    return {name: np.concatenate([getattr(block, name) for block in blocks]) for name in names}


def ball_and_arm():
    """A spherical joint that carries a universal one and a spring, and a driven slide: every kind of coordinate."""
    builder = Builder(3)
    ball = builder.body(Joint.SPHERICAL)
    arm = builder.body(Joint.UNIVERSAL, ball)
    slide = builder.body(Joint.PRISMATIC, ball)
    builder.along(builder.geometric(Measure.DISTANCE, GROUND, arm))
    builder.constraint(builder.coordinates((builder.bodies[slide].first,)), builder.law(Law.HARMONIC))
    return builder


def some(builder, count=3):
    """A few directions, spread over the numbers, of which one varies a mass and one an initial position."""
    found = builder.directions()
    names = [*list(found)[7 :: len(found) // count][:count], next(name for name in found if name.endswith(":mass"))]
    return [found[name] for name in names]


@pytest.fixture(scope="module")
def motion():
    """A problem, directions, and its tight reference over 0.4 s in rows of 10 ms."""
    builder = ball_and_arm()
    problem = builder.problem()
    directions = some(builder)
    tight = {"tolerance": 1e-13, "absolute_tolerance": 1e-13, "error_control": "sensitivities"}
    return problem, directions, run(problem, "dop853", 40, 0.01, directions=directions, **tight)


def difference(found, reference, names=("position", "velocity", "d_position", "d_velocity")):
    """Largest differences of rows at the same times, relative to the largest value, by name."""
    rows = np.searchsorted(reference["time"], found["time"] - 1e-9)
    return np.array(
        [np.abs(found[name] - reference[name][rows]).max() / np.abs(reference[name]).max() for name in names]
    )


def at_end(found):
    """The last row alone."""
    return {name: rows[-1:] for name, rows in found.items()}


@pytest.mark.parametrize(
    ("integrator", "order", "steps"), [("rk4", 4, (20, 40)), ("esdirk", 4, (20, 40)), ("dop853", 8, (14, 28))]
)
def test_order(motion, integrator, order, steps):
    problem, directions, reference = motion
    runs = (run(problem, integrator, k, 0.4 / k, fixed=True, directions=directions) for k in steps)
    motion_and_sensitivities = [difference(at_end(found), reference).reshape(2, 2).max(axis=1) for found in runs]
    slopes = np.log2(motion_and_sensitivities[0] / motion_and_sensitivities[1])
    assert np.all(slopes > order - 0.5), slopes


@pytest.mark.parametrize("integrator", ["dop853", "esdirk"])
def test_error_falls_with_the_tolerance_between_steps_too(motion, integrator):
    problem, directions, reference = motion
    tolerances = (1e-4, 1e-6, 1e-8)
    errors, steps = [], []
    for tolerance in tolerances:
        given = {"tolerance": tolerance, "absolute_tolerance": tolerance, "error_control": "sensitivities"}
        found = run(problem, integrator, 40, 0.01, directions=directions, duration=LONG, **given)
        errors.append(difference(found, reference))
        steps.append(found["work"][:, STEPS].sum())
    assert steps[0] < 10, "rows were meant to lie inside steps"
    assert np.all(np.array(errors).max(axis=1) <= 50 * np.array(tolerances)), errors
    assert all(few < many for few, many in itertools.pairwise(steps))


@pytest.mark.parametrize("integrator", NAMES)
def test_euler_parameters_stay_on_the_manifold_and_driven_coordinates_on_their_laws(motion, integrator):
    problem, directions, _ = motion
    found = run(problem, integrator, 20, 0.02, directions=directions)
    kinds = problem.model.tree.column_kind
    e = slice(*(np.flatnonzero(kinds == Column.EULER_0)[0] + np.array([0, 4])))
    z, zd, dz, dzd = (found[name][:, e] for name in ("position", "velocity", "d_position", "d_velocity"))
    assert np.abs((z * z).sum(axis=1) - 1.0).max() < 1e-15 * 4
    assert np.abs((z * zd).sum(axis=1)).max() < 1e-15 * 4
    assert np.abs(np.einsum("ti,tip->tp", z, dz)).max() < 1e-14
    assert np.abs(np.einsum("ti,tip->tp", zd, dz) + np.einsum("ti,tip->tp", z, dzd)).max() < 1e-13
    i = next(k for k, law in enumerate(problem.model.constraints.law) if law != NONE)
    measure, law = problem.model.constraints.measure[i], problem.model.constraints.law[i]
    c = problem.model.measures.coordinate[problem.model.measures.first[measure]]
    a = problem.theta[problem.model.measures.theta[measure]]
    offset, amplitude, omega, phase = problem.theta[problem.model.laws.theta[law] :][:4]
    t, target = found["time"], problem.theta[problem.model.constraints.theta[i]]
    expected = (target + offset + amplitude * np.sin(omega * t + phase)) / a
    assert np.abs(found["position"][:, c] - expected).max() < 1e-14
    assert np.abs(found["acceleration"][:, c] + amplitude * omega**2 * np.sin(omega * t + phase) / a).max() < 1e-12


def assert_gradient_is_that_of_the_steps(integrator, every, steps=3, **options):
    """Check all outputs against the complex step of the whole run, along every so many numbers."""
    builder = everything_open()
    problem = builder.problem()
    chosen = dict(list(builder.directions().items())[::every])
    given = {"tolerance": 1e-7, "absolute_tolerance": 1e-7} | options
    found = run(problem, integrator, steps, 0.01, directions=list(chosen.values()), **given)
    failures, sizes = [], []
    for k, (name, direction) in enumerate(chosen.items()):
        moved = problem.theta + 1j * EPS * direction
        exact = run(problem, integrator, steps, 0.01, theta=moved, **given)
        for output in OUTPUTS:
            derivative = exact[output].imag / EPS
            error = np.abs(found[f"d_{output}".rstrip("_")][..., k] - derivative).max()
            sizes.append(np.abs(derivative).max())
            if not error <= 1e-9 * max(1e-3, sizes[-1]):
                failures.append(f"{name} {output}: {error:.1e} of {sizes[-1]:.1e}")
    assert not failures, failures
    assert np.median(sizes) > 1e-3, "hardly anything varied"


@pytest.mark.slow  # two minutes of compilation; without the compiler it runs by default (plain/test_integrators.py)
@pytest.mark.parametrize("integrator", ["rk4", "dop853", "esdirk"])
def test_gradient_is_that_of_the_steps_taken(integrator):
    assert_gradient_is_that_of_the_steps(integrator, 37)


def test_sensitivities_can_control_the_error(motion):
    problem, directions, reference = motion
    fast = [1e3 * direction for direction in directions]
    given = {"directions": fast, "tolerance": 1e-6, "absolute_tolerance": 1e-6, "duration": LONG}
    found = {
        control: run(problem, "dop853", 40, 0.01, error_control=control, **given)
        for control in ("motion", "sensitivities")
    }
    steps = {control: rows["work"][:, STEPS].sum() for control, rows in found.items()}
    assert steps["sensitivities"] > steps["motion"]
    scaled = {**reference, "d_position": 1e3 * reference["d_position"]}
    loose, tight = (difference(found[control], scaled, ("d_position",)) for control in found)
    assert tight < 0.1 * loose


def slide(laws=(NONE, NONE, NONE), numbers=(0.0, 0.0, 0.0, 0.0), mass=1.0, builder=None, parent=GROUND):
    """A mass on a straight line without gravity, with a force on its coordinate."""
    builder = builder or Builder(1, gravity=(0, 0, 0))
    body = builder.body(Joint.PRISMATIC, parent)
    o, column = builder.bodies[body].theta, builder.bodies[body].first
    builder.theta[o + MASS] = mass
    builder.theta[o + COM : o + COM + 3] = 0.0, 0.0, 0.0
    builder.theta[o + INERTIA : o + INERTIA + 6] = (mass * 1e-2, mass * 1e-2, mass * 1e-2, 0.0, 0.0, 0.0)
    builder.along(builder.coordinates((column,), (1.0,)), laws)
    force = builder.forces[-1][-1]
    builder.theta[force : force + 4] = numbers
    return builder


def singular_motion():
    """x'' = 6 x^2 from x = 1, x' = 2: x = 1 / (1 - t)^2."""
    builder = slide()
    builder.laws.append((Law.POLYNOMIAL, builder.numbers("law", range(3), (0.0, 0.0, -6.0)), 3, NONE, NONE))
    builder.forces[0] = (*builder.forces[0][:4], (NONE, 0, NONE), builder.forces[0][5])
    builder.z[:], builder.zd[:] = [1.0], [2.0]
    return builder


@pytest.mark.parametrize("integrator", ["dop853", "esdirk"])
def test_known_motion_and_its_singularity(integrator):
    problem = singular_motion().problem()
    found = run(problem, integrator, 8, 0.1, tolerance=1e-8, absolute_tolerance=1e-8)
    expected = 1 / (1 - found["time"]) ** 2
    assert np.abs(found["position"][:, 0] / expected - 1).max() < 1e-6
    too_small = r"no step is short enough for the tolerance at t = 1 s, not even \d.\de-1\d s; look for a jump"
    with pytest.raises(AnalysisError, match=too_small):
        run(problem, integrator, 20, 0.1, tolerance=1e-8, absolute_tolerance=1e-8)


def stiff_slide():
    """1 g on 1e8 N/m, carried by a pendulum."""
    builder = Builder(2)
    arm = builder.body(Joint.REVOLUTE)
    slide(numbers=(1e8, 0.0, 0.0, 0.0), mass=1e-3, builder=builder, parent=arm)
    builder.z[1], builder.zd[1] = 0.0, 0.0
    return builder


@pytest.mark.parametrize("integrator", ["dop853", "esdirk"])
def test_steps_are_limited(integrator):
    problem, given = stiff_slide().problem(), {"tolerance": 1e-7, "absolute_tolerance": 1e-7}
    problem = replace(problem, names=replace(problem.names, coordinates=("arm", "slide")))
    work = run(problem, integrator, 2, 2e-4, **given)["work"]
    tried = int(work[:, [STEPS, REJECTED]].sum())
    assert tried > 5
    assert np.array_equal(run(problem, integrator, 2, 2e-4, max_steps=tried, **given)["work"], work)
    sentence = (
        rf"all {tried - 1} steps that max_steps allows were tried before t = \S+ s, the last ones of .* in 'slide'"
    )
    with pytest.raises(AnalysisError, match=sentence) as caught:
        run(problem, integrator, 2, 2e-4, max_steps=tried - 1, **given)
    assert ("esdirk" in str(caught.value)) == (integrator == "dop853")
    with pytest.raises(AnalysisError, match="all 5 steps"):  # however long the run is to be
        run(problem, integrator, 2, 1e5, max_steps=5, **given)


def test_the_smallest_step_does_not_depend_on_the_duration():
    problem, given = stiff_slide().problem(), {"tolerance": 1e-7, "absolute_tolerance": 1e-7}
    times = [run(problem, "dop853", 1, 1e-4, duration=duration, **given)["time"][-1] for duration in (1e-2, 1e10)]
    assert times == [1e-4, 1e-4]


@pytest.mark.parametrize("integrator", ["dop853", "esdirk"])
def test_pauses_change_nothing(integrator, motion, monkeypatch):
    problem, directions, _ = motion
    given = {"directions": directions, "tolerance": 1e-6, "absolute_tolerance": 1e-6}
    whole = run(problem, integrator, 4, 0.1, **given)
    monkeypatch.setattr(open_tree, "steps_at_once", lambda *sizes: 2)
    calls, honest = [], OpenTreeSimulation.advance
    monkeypatch.setattr(OpenTreeSimulation, "advance", lambda *given: calls.append(honest(*given)) or calls[-1])
    paused = run(problem, integrator, 4, 0.1, **given)
    assert len(calls) > 2 and not any(len(block.time) for block in calls[:-1])
    for name, rows in whole.items():
        assert np.array_equal(paused[name], rows), name


@pytest.mark.parametrize("integrator", ["dop853", "esdirk"])
def test_an_endless_acceleration_is_no_endless_run(integrator):
    problem = slide(numbers=(0.0, 0.0, 0.0, 1e308), mass=1e-3).problem()
    with pytest.raises(AnalysisError, match="at t = 0 s"):
        run(problem, integrator, 1, 0.1)


def test_a_body_without_inertia_is_named_singular():
    problem = slide(mass=0.0).problem()
    for integrator in NAMES:
        with pytest.raises(AnalysisError, match="singular at t = 0 s"):
            run(problem, integrator, 1, 0.1)


def test_work_is_counted(motion):
    problem, _, _ = motion
    rk4 = run(problem, "rk4", 10, 0.01)["work"]
    assert rk4[0].tolist() == [0, 0, 1, 0, 0]
    assert np.all(rk4[1:] == [1, 0, 4, 0, 0])
    total = run(problem, "dop853", 1, 0.4)["work"].sum(axis=0)
    assert total[EVALUATIONS] == 2 + 12 * total[STEPS] + 11 * total[REJECTED] + total[REJECTED]
    assert total[JACOBIANS] == total[FACTORISATIONS] == 0
    total = run(problem, "esdirk", 1, 0.4)["work"].sum(axis=0)
    assert 0 < total[JACOBIANS] == total[FACTORISATIONS] < 5 * total[STEPS]
    assert total[EVALUATIONS] > 6 * total[STEPS]


@pytest.mark.parametrize("integrator", ["dop853", "esdirk"])
def test_a_sudden_force_rejects_steps(integrator):
    builder = slide()
    builder.laws.append((Law.SMOOTH_STEP, builder.numbers("law", range(4), (0.5, 0.501, 0.0, 100.0)), 4, NONE, NONE))
    builder.forces[0] = (*builder.forces[0][:4], (0, NONE, NONE), builder.forces[0][5])
    builder.z[:], builder.zd[:] = [0.0], [0.0]
    found = run(builder.problem(), integrator, 10, 0.1, tolerance=1e-8, absolute_tolerance=1e-8)
    assert found["work"][:, REJECTED].sum() > 0
    # a quintic step is odd about its middle: from there on it acts as a jump, but for its spread
    spread = 100 * 0.001**2 / 56
    assert np.abs(found["position"][-1, 0] - (50 * 0.4995**2 + spread)) < 1e-6


def test_stiff_spring():
    """The implicit method steps over 50 000 oscillations a second."""
    problem = stiff_slide().problem()
    given = {"tolerance": 1e-7, "absolute_tolerance": 1e-7}
    stiff, explicit = (run(problem, name, 10, 0.02, **given) for name in ("esdirk", "dop853"))
    count = {name: rows["work"][:, STEPS].sum() for name, rows in (("esdirk", stiff), ("dop853", explicit))}
    assert count["dop853"] >= 20 * count["esdirk"], count
    for name in ("position", "velocity"):
        assert np.abs(stiff[name][:, 0] - explicit[name][:, 0]).max() < 1e-5, name


def test_energy_of_a_chain():
    """24 links over 10 s at 1e-10: the energy drifts by less than 1e-9."""
    model = spec.load(ROOT / "models" / "chain.yaml", {})
    chosen = {"formulation": "recursive", "integrator": "dop853", "tolerance": 1e-10}
    problem = assembly.build(model, duration=10.0, step=0.1, sensitivity="none", **chosen).problem
    energy = np.concatenate([block.energy for block in forward(problem)])
    total = energy[:, 0] + energy[:, 1]
    assert np.abs(total - total[0]).max() < 1e-9 * energy[:, 0].max()
    assert energy.shape == (101, 3)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_what_is_known_of_an_integrator_holds_of_its_tableau(name):
    method, known = tableau(name), INTEGRATORS[name]
    assert known.adaptive == bool(method.error.any()) and known.implicit == isinstance(method, ImplicitTableau)


def test_tableau_of_esdirk():
    method = tableau("esdirk")
    a, c = method.a, method.c
    b, embedded = a[-1], a[-1] - method.error[0]
    assert np.allclose(a @ np.ones(6), c, atol=1e-15)
    assert np.allclose(a @ c, c**2 / 2, atol=1e-15), "stage order 2"
    third = [(np.ones(6), 1), (c, 1 / 2), (c**2, 1 / 3), (a @ c, 1 / 6)]
    fourth = [(c**3, 1 / 4), (c * (a @ c), 1 / 8), (a @ c**2, 1 / 12), (a @ a @ c, 1 / 24)]
    for left, right in third + fourth:
        assert b @ left == pytest.approx(right, abs=1e-15)
    for left, right in third:
        assert embedded @ left == pytest.approx(right, abs=1e-15)
    assert abs(embedded @ c**3 - 1 / 4) > 1e-4

    def damping(weights, z):
        return 1 + z * weights @ np.linalg.solve(np.eye(6) - z * a, np.ones(6))

    assert abs(damping(b, -1e8)) < 1e-6, "L-stable"
    assert abs(damping(embedded, -1e8)) < 0.16, "the estimate of the error stays bounded"
    imaginary = [abs(damping(b, 1j * y)) for y in np.geomspace(1e-3, 1e6, 200)]
    assert max(imaginary) <= 1 + 1e-12, "A-stable"
    assert method.ahead[1:].sum(axis=1) == pytest.approx(np.ones(5))


def test_stages_are_solved_more_exactly_than_steps():
    problem = ball_and_arm().problem()
    options = replace(problem.options, tolerance=1e-6, absolute_tolerance=1e-9, gradient_tolerance=1e-10)
    plain, loose = newton_control(options, stepped=False), replace(options, gradient_tolerance=1e-6)
    stepped, motion = newton_control(options, stepped=True), newton_control(loose, stepped=False)
    assert (motion.relative, motion.absolute) == pytest.approx((1e-9, 1e-12))
    assert (plain.relative, plain.absolute) == pytest.approx((1e-12, 1e-15))
    assert stepped.relative == pytest.approx(1e-15)
