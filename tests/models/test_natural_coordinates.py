"""Natural coordinates against joint coordinates: closed models, and an open one, over many steps."""

import runpy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mbsim_cli import assembly, spec
from mbsim_cli.solve.forward import forward
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.objectives import accumulator
from tests.kernels.adjoint import adjoint, summed, weights_of
from tests.models.command import ROOT

MODELS = {  # step, steps, and whether equations are independent, so that there are gradients
    "fivebar": (2e-3, 400, True),
    "buggy_lane_change": (2.5e-3, 80, True),
    "buggy": (1e-3, 60, True),
    "double_pendulum": (1e-3, 300, True),
    "benchmarks/rssr_fourbar": (1e-3, 200, True),
    "benchmarks/a04_bricard": (2e-3, 200, False),
    "benchmarks/a02_four_bars_40": (1e-3, 600, False),
    "chain": (1e-3, 20, True),
    "benchmarks/slider_crank_sundials": (1e-3, 200, True),
    "benchmarks/slider_crank_rheonomic": (1e-3, 200, True),
    "benchmarks/quarter_car": (1e-3, 200, True),
}
SMALL = (
    "double_pendulum", "benchmarks/steady_top", "benchmarks/free_body", "benchmarks/a04_bricard",
    "benchmarks/rssr_fourbar", "benchmarks/quarter_car", "benchmarks/slider_crank_sundials",
    "benchmarks/slider_crank_rheonomic",
)  # fmt: skip
NOTHING = 1e-20  # the lane change begins straight ahead


def run(name, formulation, step, steps, sensitivity):
    """Values (k,) and gradients (k, p) of the objectives, and the sensors at the end (width,)."""
    model = spec.load(ROOT / "models" / f"{name}.yaml")
    built = assembly.build(
        model, formulation=formulation, step=step, duration=steps * step, output_interval=1, sensitivity=sensitivity
    )
    p = built.problem.theta_rho.shape[1] if sensitivity == "ddm" else 0
    found = [accumulator(objective, p) for objective in built.objectives]
    for block in forward(built.problem):
        for each in found:
            each.add(block)
    values, gradients = np.array([float(each.value) for each in found]), np.array([each.gradient for each in found])
    return values, gradients, block.sensors[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_the_difference_falls_with_the_square_of_the_step(name):
    step, steps, independent = MODELS[name]
    left = []
    for part in (1, 2):
        size = (step / part, part * steps, "ddm" if independent else "none")
        pairs = zip(run(name, "ali3p-natural", *size), run(name, "ali3p-rtdyn1", *size), strict=True)
        left.append(
            [(np.abs(ours - theirs).max(initial=0.0), np.abs(theirs).max(initial=0.0)) for ours, theirs in pairs]
        )
    for (coarse, size), (fine, _) in zip(*left, strict=True):
        assert fine <= 0.3 * coarse + 1e-10 * size + NOTHING
        assert fine <= 5e-3 * size + NOTHING


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, (*_, independent) in MODELS.items() if independent])
def test_the_adjoint_gives_what_the_direct_method_gives(name):
    """Relative to the largest derivative of each objective."""
    h, found = MODELS[name][0], []
    for method in ("adjoint", "ddm"):
        built = natural(name, step=h, duration=40 * h, sensitivity=method)
        found.append(evaluate(built.problem, built.objectives))
    for ours, theirs in zip(*(each.values() for each in found), strict=True):
        assert ours.value == pytest.approx(theirs.value, rel=1e-9, abs=NOTHING)
        largest = np.abs(theirs.gradient).max()
        np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=0.0, atol=3e-10 * largest + NOTHING)


def natural(name, **options):
    """A model assembled in natural coordinates."""
    return assembly.build(spec.load(ROOT / "models" / f"{name}.yaml"), formulation="ali3p-natural", **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_the_adjoint_by_every_number_of_small_models(name):
    """All sensors, by all numbers but those that break equations which depend on each other."""
    model, steps = spec.load(ROOT / "models" / f"{name}.yaml", every_number=True), 20
    options = {"formulation": "ali3p-natural", "step": 1e-3, "duration": steps * 1e-3, "output_interval": 1}
    problem = assembly.build(
        model, sensitivity="ddm", sensitivity_parameters=list(model.parameters), **options
    ).problem  # fmt: skip
    slopes = np.concatenate([block.d_sensors for block in forward(problem)])
    lost = np.isnan(slopes).any(axis=(0, 1))
    weights = weights_of(problem, steps)
    wanted = summed(slopes[:, :, ~lost], weights)
    found = adjoint(problem, problem.theta_rho.T, steps, weights)[~lost]
    assert np.abs(found - wanted).max() <= 1e-9 * np.abs(wanted).max() and len(wanted) > 10


@pytest.mark.slow
def test_an_eighth_of_the_memory_gives_the_same_gradient_to_the_last_bit():
    built = natural("fivebar", step=1e-3, duration=4.0, sensitivity="adjoint")
    n, m = len(built.problem.names.coordinates), len(built.problem.names.constraints)
    memory = 0.125 * 4000 * 8 * (5 * n + 3 * m)
    few = replace(built.problem, options=replace(built.problem.options, memory=memory))
    whole, again = (evaluate(problem, built.objectives) for problem in (built.problem, few))
    assert all(np.array_equal(whole[name].gradient, again[name].gradient) for name in whole)


@pytest.mark.slow
def test_the_chain_of_24_links_moves_as_the_recursive_formulation_says():
    """That integrates to ten digits: what is left is the error of natural coordinates, of second order.

    Integrals of objectives are summed over the same instants by both.
    """
    left = []
    for part in (1, 2):
        found, wanted = (run("chain", f, 1e-3 / part, 100 * part, "ddm") for f in ("ali3p-natural", "recursive"))
        left.append([np.abs(ours - theirs).max() for ours, theirs in zip(found, wanted, strict=True)])
    for coarse, fine, reference in zip(*left, wanted, strict=True):
        assert 0.2 * coarse < fine < 0.3 * coarse < 1e-2 * np.abs(reference).max()


@pytest.mark.slow
def test_the_five_bar_linkage_meets_its_reference():
    from benchmarks.reference import GRADIENTS, PSI

    errors = []
    for part in (1, 2, 4):
        values, gradients, _ = run("fivebar", "ali3p-natural", 1e-3 / part, 5000 * part, "ddm")
        errors.append((np.abs(values / PSI - 1).max(), np.abs(gradients / GRADIENTS - 1).max()))
    assert errors[0][1] < 2e-4
    for coarse, fine in pairwise(errors):
        assert np.divide(coarse, fine) == pytest.approx([4.0, 4.0], rel=0.1)


@pytest.mark.slow
def test_forty_windows_pass_their_singular_positions():
    """Near them penalties hold constraints by the square of a small singular value: the iteration ended at 0.72 s."""
    model = spec.load(ROOT / "models/benchmarks/a02_four_bars_40.yaml")
    built = assembly.build(model, formulation="ali3p-natural", step=1e-3, duration=3.0, output_interval=1)
    energy = np.concatenate([block.energy[:, :2].sum(axis=1) for block in forward(built.problem)])
    assert len(energy) == 3001
    np.testing.assert_allclose(energy, energy[0], rtol=5e-5)


@pytest.mark.slow
def test_gradients_of_windows_behind_their_singular_positions(tmp_path):
    """Two windows, which move as one crank does; three passages lose several combinations of constraints each."""
    text = runpy.run_path(str(ROOT / "models/benchmarks/generate_a02.py"))["model"](2, "1e-3", "1e-3")
    for name, body in (("ma", "vertical_0"), ("mb", "horizontal_1")):
        text = text.replace(f"{body}: {{shape: {{type: rod, mass: 1", f"{body}: {{shape: {{type: rod, mass: {name}")
    text = text.replace("\ngravity:", "\nparameters: {ma: 1, mb: 1}\ngravity:").split("objectives:")[0]
    path = tmp_path / "windows.yaml"
    path.write_text(
        f"{text}objectives: {{x: {{final: B0.x}}}}\nanalysis: {{step: 1e-3, duration: 3, output_interval: 1e-3}}\n"
    )
    built = assembly.build(spec.load(path), formulation="ali3p-natural", sensitivity="ddm")
    unsolved = []
    found = evaluate(built.problem, built.objectives, [lambda block: unsolved.append(block.gradient_error.max())])
    more, less = (np.array([crank(value, 1), crank(1, value)]) for value in (1 + 1e-4, 1 - 1e-4))
    np.testing.assert_allclose(found["x"].gradient, (more - less) / 2e-4, rtol=5e-5)
    assert max(unsolved) < 1e-8


def crank(ma, mb):
    """Where the tip of the windows' verticals is after 3 s, if they are one crank."""
    inertia, load = (ma + 2) / 3 + mb + 1, (ma + 2) / 2 + mb + 1

    def rates(_, y):
        return y[1], -9.81 * load * np.cos(y[0]) / inertia

    return np.cos(solve_ivp(rates, (0, 3), (np.pi / 2, -1), "DOP853", rtol=1e-12, atol=1e-12).y[0, -1])


HELD = """
mbsim: 1
parameters: {p: 0.3}
points: {A: {ground: [0, 0, 0], arm: [-0.3, -0.1, p]}, B: {arm: [0.1, 0.2, 0], sleeve: [0, 0, 0]}}
vectors: {u: {arm: [0.5, -0.8, -1], sleeve: [0.3, 0.7, -0.4]}}
bodies:
  arm: {mass: 1.2, center_of_mass: [0.1, 0.05, 0], inertia: {xx: 0.1, yy: 0.12, zz: 0.15}}
  sleeve: {mass: 1.7, center_of_mass: [0, 0.2, -0.1], inertia: {xx: 0.06, yy: 0.04, zz: 0.07}}
joints:
  A: {type: spherical, bodies: [ground, arm], point: A, initial: {angular_velocity: [0.5, 1, -0.4]}}
  B: {type: cylindrical, bodies: [arm, sleeve], point: B, axis: u, initial: {displacement: 0.1, angle: -0.1}}
constraints:
  one: {type: coupling, terms: {B.angle: 0.813, B.displacement: 0.754}}
  other: {type: coupling, terms: {B.angle: 0.779, B.displacement: 0.803}}
sensors: {rush: {type: coordinate, coordinate: B.displacement, derivative: 2}}
objectives: {slip: {final: rush}}
analysis: {formulation: ali3p-natural, step: 5e-3, duration: 0.1, tolerance: 1e-12, sensitivity: {method: ddm}}
"""


@pytest.mark.interpreted
def test_what_two_couplings_hold_together_does_not_give_way(tmp_path):
    """Both are nearly one, so that little of what penalties hold is across them; the derivative was 1e-3."""
    path = tmp_path / "model.yaml"
    path.write_text(HELD)
    built = assembly.build(spec.load(path))
    slip = evaluate(built.problem, built.objectives)["slip"]
    assert abs(slip.value) < 1e-9 and abs(slip.gradient[0]) < 1e-8
