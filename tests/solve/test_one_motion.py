"""The motion of a run is the same, bit for bit, whatever gradients are wanted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.solve.forward import forward, start
from mbsim_cli.solve.tape import Tape
from mbsim_cli.study.reduced_bodies import standard_input
from tests.marks import COMPILED

MODELS = Path(__file__).parents[2] / "models"
PARTS = "../tests/properties/models/"
MOTION = ("time", "position", "velocity", "acceleration", "lambda_", "sigma", "kappa", "sensors", "drift", "energy")
# steps of each: some with redundant constraints, tyres, light links, quasi-static loads
LOOPS = {
    "fivebar": 60, "buggy_lane_change": 40, "scissor_lift": 30, "excavator": 30, "robots/stewart": 25,
    "robots/delta": 25, "robots/parallel": 30, "benchmarks/a04_bricard": 40, "benchmarks/andrews_squeezer": 60,
    "benchmarks/whipple_bicycle": 40, "benchmarks/slider_crank_sundials": 40,
}  # fmt: skip
OTHERS = [  # families of systems and integrators that have kernels of their own
    ("double_pendulum", 40, {"integrator": "dop853"}),
    ("double_pendulum", 40, {"integrator": "esdirk"}),
    pytest.param("flexible/slider_crank", 30, {}, marks=pytest.mark.slow),
    pytest.param("flexible/slider_crank", 30, {"formulation": "ali3p-natural"}, marks=pytest.mark.slow),
    pytest.param("flexible/pendulum_open_tree", 20, {}, marks=pytest.mark.slow),
]
TEN = [  # one or more for each family of elements and integrators; steps, and what must be among them
    ("fivebar", 30, {"formulation": "ali3p-rtdyn0"}),
    ("fivebar", 30, {"formulation": "ali1p-rtdyn1", "integrator": "rk4"}),
    ("fivebar", 30, {"formulation": "ali1p-rtdyn1", "integrator": "dop853"}),
    pytest.param("fivebar", 30, {"formulation": "ali3p-natural"}, marks=COMPILED),
    ("human43", 5, {}),
    ("buggy", 20, {}),  # tyres
    (f"{PARTS}forces", 10, {}),  # stops, friction, every law
    (f"{PARTS}moving", 15, {}),  # expressions
    (f"{PARTS}moving", 15, {"formulation": "ali3p-natural"}),
    (f"{PARTS}states", 15, {}),  # states and controllers
    (f"{PARTS}mounts", 10, {}),  # bushings
    (f"{PARTS}contact", 30, {}),  # contact shapes, friction
    (f"{PARTS}contact", 30, {"formulation": "recursive", "integrator": "rk4"}),
    ("benchmarks/pid_slider", 30, {"integrator": "rk4"}),  # the file's own steps are those of sensitivities
    ("benchmarks/slip_to_roll", 20, {}),
    ("flexible/slider_crank", 20, {}),
]


def problem_of(name, steps, **options):
    """The first steps of a model."""
    problem = assembly.build(spec.load(MODELS / f"{name}.yaml", {}), standard_input=standard_input, **options).problem
    return replace(problem, options=replace(problem.options, duration=steps * problem.options.step, output_interval=1))


def motion_of(problem, method, count=1):
    """Arrays of a run; by ddm in so many directions, those of the problem repeated."""
    own = problem.theta_rho if problem.theta_rho.shape[1] else np.eye(problem.theta.size, 1)
    directions = np.ascontiguousarray(np.resize(own.T, (count, problem.theta.size)).T)
    options = replace(problem.options, sensitivity=method)
    tape = Tape() if method == "adjoint" else None
    blocks = list(forward(replace(problem, theta_rho=directions, options=options), tape=tape))
    return [np.concatenate([getattr(block, name) for block in blocks]) for name in MOTION]


def assert_one_motion(problem, counts):
    alone = motion_of(problem, "none")
    assert np.ptp(alone[1], axis=0).any()
    for method, count in [("adjoint", 1), *(("ddm", count) for count in counts)]:
        for name, expected, found in zip(MOTION, alone, motion_of(problem, method, count), strict=True):
            assert np.array_equal(expected, found, equal_nan=True), f"{name} by {method} in {count} directions"


@pytest.mark.parametrize("name", LOOPS)
def test_one_motion_of_loops(name):
    assert_one_motion(problem_of(name, LOOPS[name]), range(1, 18))


@pytest.mark.parametrize(("name", "steps", "options"), OTHERS)
def test_one_motion_of_other_systems(name, steps, options):
    assert_one_motion(problem_of(name, steps, **options), (1, 5, 8, 17))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "steps", "options"), TEN)
def test_one_motion_of_every_family(name, steps, options):
    """Whatever number of columns is varied along: 1 to 17, of which eight go together."""
    assert_one_motion(problem_of(name, steps, **options), range(1, 18))


def test_a_looser_tolerance_holds_for_all_methods():
    problem = problem_of("fivebar", 40)
    loose = replace(problem, options=replace(problem.options, tolerance=1e-4, step=5e-3, duration=0.2))
    assert_one_motion(loose, (1, 8))
    sharp = replace(loose, options=replace(loose.options, tolerance=1e-10))
    assert not np.array_equal(motion_of(loose, "ddm")[1], motion_of(sharp, "ddm")[1])


def test_a_run_without_derivatives_has_no_room_for_any():
    """Also where parameters are named, as for differences: compiled loops write into whatever they are given."""
    for name, options in (("fivebar", {"formulation": "ali1p-rtdyn1"}), ("double_pendulum", {})):
        problem = problem_of(name, 2, **options)
        assert problem.theta_rho.shape[1]
        for method in ("none", "fd"):
            run = start(replace(problem, options=replace(problem.options, sensitivity=method)))
            assert run.sens.z.size == run.directions.dtheta.size == 0
