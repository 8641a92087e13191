"""Natural coordinates: the same motion and gradients as the semi-recursive system, to the second order in the step."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from mbsim_cli import assembly, spec
from mbsim_cli.errors import AnalysisError, ModelError
from mbsim_cli.solve.forward import forward
from tests.campaign import generator
from tests.models.command import ROOT

STEP = 1e-30
MODELS = ROOT / "models"
COUNTS = {  # coordinates, equations; the mechanisms in space have as many freedoms as the difference
    "fivebar.yaml": (6, 4),
    "double_pendulum.yaml": (4, 2),
    "benchmarks/rssr_fourbar.yaml": (10, 9),
    "benchmarks/slider_crank_sundials.yaml": (4, 3),
    "benchmarks/steady_top.yaml": (9, 6),
    "benchmarks/free_body.yaml": (12, 6),
    "benchmarks/a04_bricard.yaml": (16, 16),
}
MECHANISMS = [("spatial_loop", 1)]  # with a coupling and a moving cylindrical joint
MORE = [("spatial_loop", k) for k in range(2, 14)] + [("open_tree", k) for k in range(6)] + [("planar_loop", 6)]


def mechanism(family, seed):
    """A random mechanism without sensors of reactions, which natural coordinates do not read."""
    data = getattr(generator, family)(seed)
    gone = [name for name, sensor in data["sensors"].items() if sensor["type"] == "reaction"]
    data["sensors"] = {name: sensor for name, sensor in data["sensors"].items() if name not in gone}
    data["objectives"] = {}
    return generator.load(data)


def run(model, formulation, step, steps, sensitivity="ddm"):
    """Sensors (N, width), and their derivatives (N, width, p), at every step."""
    built = assembly.build(
        model, formulation=formulation, step=step, duration=steps * step, output_interval=1, sensitivity=sensitivity
    )
    blocks = list(forward(built.problem))
    return built.problem, *(np.concatenate([getattr(b, name) for b in blocks]) for name in ("sensors", "d_sensors"))


def check_order(model, step, steps):
    """At the start both are the same; later their difference falls by four as the step halves."""
    left = []
    for part in (1, 2):
        _, ours, d_ours = run(model, "ali3p-natural", step / part, part * steps)
        _, theirs, d_theirs = run(model, "ali3p-rtdyn1", step / part, part * steps)
        for a, b in ((ours, theirs), (d_ours, d_theirs)):
            size = np.abs(b).max(initial=0.0)
            np.testing.assert_allclose(a[0], b[0], rtol=1e-9, atol=1e-12 * size)
            left.append((np.abs(a[-1] - b[-1]).max(initial=0.0), size))
    for (coarse, size), (fine, _) in zip(left[:2], left[2:], strict=True):
        assert coarse < 1e-4 * size + 1e-15
        assert fine <= 0.3 * coarse + 1e-12 * size


def check_complex_step(model, step, steps, parameter=0):
    """The gradient is that of the discrete run."""
    problem, values, derivatives = run(model, "ali3p-natural", step, steps)
    plain = replace(problem, theta_rho=problem.theta_rho[:, :0], options=replace(problem.options, sensitivity="none"))
    moved = problem.theta + 1j * STEP * problem.theta_rho[:, parameter]
    wanted = np.concatenate([block.sensors for block in forward(plain, theta=moved)])
    np.testing.assert_allclose(wanted.real, values, rtol=1e-9, atol=1e-9 * np.abs(values).max())
    wanted = wanted.imag / STEP
    np.testing.assert_allclose(derivatives[..., parameter], wanted, rtol=1e-8, atol=1e-9 * np.abs(wanted).max() + 1e-15)


@pytest.mark.parametrize(("family", "seed"), MECHANISMS)
def test_random_mechanisms_move_as_in_the_semi_recursive_system(family, seed):
    model = mechanism(family, seed)
    check_order(model, 1e-3, 2)
    check_complex_step(model, 1e-3, 2, seed % 4)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "seed"), MORE)
def test_more_random_mechanisms(family, seed):
    test_random_mechanisms_move_as_in_the_semi_recursive_system(family, seed)


def test_the_five_bar_linkage_has_the_gradient_of_its_own_steps():
    model = spec.load(MODELS / "fivebar.yaml")
    check_order(model, 2e-3, 2)
    check_complex_step(model, 2e-3, 2, 4)


@pytest.mark.parametrize(("file", "counts"), COUNTS.items())
def test_bodies_share_points_and_vectors(file, counts):
    names = assembly.build(spec.load(MODELS / file), formulation="ali3p-natural", sensitivity="none").problem.names
    assert (len(names.coordinates), len(names.constraints)) == counts
    assert len(set(names.coordinates)) == counts[0]
    assert len(set(names.constraints)) == counts[1]


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


def test_reactions_are_refused():
    def read(data):
        data["sensors"]["R"] = {"type": "reaction", "joint": next(iter(data["joints"]))}

    assert "ali3p-natural does not read reactions" in refused(read, ModelError)


def test_euler_parameters_are_refused():
    def read(data):
        data["bodies"]["free"] = {"mass": 1, "inertia": {"xx": 1, "yy": 1, "zz": 1}}
        data["joints"]["free"] = {"type": "floating", "bodies": ["ground", "free"], "point": ["origin", "origin"]}
        data["sensors"]["e"] = {"type": "coordinate", "coordinate": "free.e1"}

    assert "natural coordinates have no Euler parameters" in refused(read, (ModelError, AnalysisError))


def test_gradients_with_dependent_equations_are_refused():
    data = yaml.safe_load((MODELS / "benchmarks/a04_bricard.yaml").read_text())
    data["parameters"] = {"g": {"value": 9.81, "unit": "m/s^2"}}
    data["gravity"] = [0, "-g", 0]
    built = assembly.build(generator.load(data), formulation="ali3p-natural", duration=1e-3, sensitivity="ddm")
    with pytest.raises(AnalysisError, match="equations depend on each other"):
        list(forward(built.problem))
