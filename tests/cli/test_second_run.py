"""Errors that one run does not tell: gradients by the adjoint and by fields, bodies that ring; by a second run."""

import re
from threading import active_count, get_ident
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.solve.breakpoints import bends
from mbsim_cli.study import evaluation
from mbsim_cli.study.assembling import Settings, load
from mbsim_cli.study.diagnostics import discretisation
from mbsim_cli.study.evaluation import Gradient
from mbsim_cli.study.listener import SILENT, Interrupted, Listener
from mbsim_cli.study.plan import Timing, plan_run
from mbsim_cli.study.run import run
from mbsim_cli.study.streams import Uncertainty
from tests.cli.conftest import ROOT

FIVEBAR = ROOT / "models" / "fivebar.yaml"
CRANK = """\
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {E: 6e9, thickness: 0.01}
materials: {steel: {youngs_modulus: E, poisson_ratio: 0.3, density: 2600}}
fields: {p: {value: 0.5 + x}}
vectors: {z: {all: [0, 0, 1]}}
bodies:
  crank:
    flexible:
      mesh: {type: rectangle, size: [0.4, 0.08], origin: [0, -0.04], thickness: thickness, elements: [6, 2]}
      material: steel
      density: {field: p}
      sets: {hub: {x: 0}, pin: {x: 0.4}}
      frame: {fixed: hub}
      modes: {count: 3}
      nodes: {pin: {set: pin}}
      damping: {beta: 1e-6}
joints: {O: {type: revolute, bodies: [ground, crank], point: origin, axis: z, initial: {angle: 0}}}
laws: {turn: {type: polynomial, coefficients: [0, 0, 0, 0, 15*pi/4, -9*pi/4, 3*pi/8]}}
constraints: {drive: {type: motion, coordinate: O.angle, law: turn}}
sensors: {U: {type: strain_energy, body: crank}}
objectives: {psi: {integral: 2 * U, unit: J s}}
analysis: {step: 4e-4, duration: 0.4, sensitivity: {method: adjoint, parameters: all, fields: [p]}}
"""


@pytest.fixture
def crank(tmp_path):
    path = tmp_path / "crank.yaml"
    path.write_text(CRANK)
    return path


def by_halves(path, **options):
    """A result, and a finer one that is exact beside it."""
    return mbsim.run(path, **options), mbsim.run(path, **options | {"step": options["step"] / 8})


@pytest.mark.slow  # kernels of bodies that deform
def test_gradients_by_parameters_and_fields_are_as_far_off_as_they_say(crank):
    for step in (4e-4, 2e-4, 1e-4):
        done, exact = by_halves(crank, step=step)
        told = done.report["objectives"]["psi"]["discretisation"]
        found, true = done.objectives["psi"], exact.objectives["psi"]
        norm = np.linalg.norm(true.by_fields["p"] - found.by_fields["p"]) / np.linalg.norm(true.by_fields["p"])
        assert norm / 5.0 < told["relative"]["fields"]["p"] < 5.0 * norm
        off = np.abs(true.gradient - found.gradient)
        assert np.all((off / 5.0 < list(told["gradient"].values())) & (list(told["gradient"].values()) < 5.0 * off))
        warned = any("by the field p have an estimated" in warning for warning in done.warnings)
        assert warned == (told["relative"]["fields"]["p"] > 1e-2)


@pytest.mark.slow  # kernels of bodies that deform
def test_errors_of_derivatives_by_fields_stand_in_the_result(mbsim, crank, tmp_path):
    done = mbsim("run", crank, "--json").json
    assert done["discretisation"]["second_step"] == 8e-4
    told = done["objectives"]["psi"]["discretisation"]["relative"]["fields"]["p"]
    with h5py.File(tmp_path / "crank.h5") as file:
        gradient, errors = (
            file[f"objectives/psi/{kind}/p"][()] for kind in ("gradient_fields", "discretisation_fields")
        )
        assert np.linalg.norm(errors) == pytest.approx(told * np.linalg.norm(gradient))
        assert file["meta/discretisation/second_step"][()] == 8e-4
    assert "(norm); by a second run with steps of 0.0008 s" in mbsim("run", crank).out


@pytest.mark.slow  # kernels of bodies that deform
def test_an_automatic_step_keeps_derivatives_by_fields_within_the_accuracy(crank):
    done = mbsim.run(crank, step="auto", accuracy=1e-2)
    exact = mbsim.run(crank, step=done.report["step"] / 4)
    found, true = (result.objectives["psi"] for result in (done, exact))
    norm = np.linalg.norm(true.by_fields["p"])
    assert np.linalg.norm(found.by_fields["p"] - true.by_fields["p"]) < 2e-2 * norm
    assert np.all(np.abs(found.gradient / true.gradient - 1.0) < 2e-2)
    assert 0.0 < done.report["objectives"]["psi"]["discretisation"]["relative"]["fields"]["p"] <= 1e-2


def test_the_adjoint_warns_where_direct_differentiation_does():
    for step in (1e-3, 5e-2):
        done, exact = by_halves(FIVEBAR, step=step, sensitivity="adjoint")
        told, true = [], []
        for name, objective in done.objectives.items():
            entry = done.report["objectives"][name]["discretisation"]["relative"]["gradient"]
            told += list(entry.values())
            true += list(np.abs(objective.gradient / exact.objectives[name].gradient - 1.0))
        assert max(true) / 3.0 < max(told) < 3.0 * max(true)
        assert any("d psi2 / d x_G_A1 has an estimated" in warning for warning in done.warnings) == (step == 5e-2)


@pytest.mark.slow  # kernels of bodies that deform
def test_a_body_that_rings_is_compared_without_gradients_too(crank):
    done, exact = by_halves(crank, step=4e-4, sensitivity="none")
    off = abs(done.objectives["psi"].value - exact.objectives["psi"].value)
    told = done.report["objectives"]["psi"]["discretisation"]["value"]
    assert off / 5.0 < told < 5.0 * off and done.report["discretisation"]["second_step"] == 8e-4


BENT = """\
mbsim: 1
gravity: [0, 0, 0]
parameters: {{k: 30, c: 0.4, w: 5, g: 0.05, T: 1}}
bodies: {{mass: {{mass: 1}}}}
joints:
  s: {{type: prismatic, bodies: [ground, mass], point: origin, axis: x, initial: {{displacement: 0.3, velocity: 0.2}}}}
laws: {{table: {{type: spline, times: [0, 1, 4], values: [0, 1, 3], between: {between}}}}}
forces:
  spring: {{type: spring_damper, coordinate: s.displacement, stiffness: w, damping: c, natural_length: 0}}
  bent: {{type: drive, coordinate: s.displacement, value: "{value}"}}
sensors:
  x: {{type: coordinate, coordinate: s.displacement}}
  v: {{type: coordinate, coordinate: s.displacement, derivative: 1}}
objectives: {{x: {{final: x}}, X: {{integral: x**2}}, V: {{integral: v**2}}}}
analysis: {{step: 0.01, duration: 3, sensitivity: {{method: ddm, parameters: [k, c, w, g]}}}}
"""


@pytest.mark.parametrize(
    ("value", "between", "formulation", "expected"),
    [
        ("k*max(g - s.displacement, 0)", "linear", "recursive", True),
        ("k*tanh(g - s.displacement)", "linear", "recursive", False),
        ("table(t - 0.005)", "linear", "ali3p-rtdyn1", True),
        ("table(t)", "linear", "ali3p-rtdyn1", False),  # whose rows are at whole steps
        ("table(t)", "linear", "recursive", False),  # at whose rows steps end
        ("table(t)", "cubic", "ali3p-rtdyn1", False),
        ("-table(s.displacement)", "linear", "recursive", True),
    ],
)
def test_forces_with_corners_are_known(value, between, formulation, expected):
    model = mbsim.loads(BENT.format(value=value, between=between))
    assert (
        bends(plan_run(model.file, Settings(formulation=formulation), Timing(), SILENT).assembled.problem) == expected
    )


CORNERED = """{type: spring_damper, coordinate: s.displacement, natural_length: 0, elongation_law:
    {type: spline, between: linear, x: [g - 5, g, g + 5], values: [0, 0, 5*k]}}"""


def test_errors_behind_corners_are_as_large_as_they_are_said_to_be():
    """They depend on where in a step the corner lies: two runs may agree by chance, to 1/360 of the error here."""
    bent = re.sub(r"bent: .*", f"bent: {CORNERED}", BENT.format(value="", between="linear"))
    model = mbsim.loads(bent)
    values, gradients = [], []
    for g in np.random.default_rng(1).uniform(-0.15, 0.15, 14):
        exact = model.run(g=g, formulation="recursive", tolerance=1e-12, step=1e-3).objectives
        found = model.run(g=g)
        for name, objective in found.objectives.items():
            told = found.report["objectives"][name]["discretisation"]
            values.append(abs(objective.value - exact[name].value) / told["value"])
            gradients += (np.abs(objective.gradient - exact[name].gradient) / list(told["gradient"].values())).tolist()
    assert max(values) < 2.0 and max(gradients) < 20.0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--formulation", "recursive", "--sensitivity", "adjoint"), "dop853 chooses its steps"),
        (("--duration", "3e-2", "--sensitivity", "adjoint"), "fewer than 8 steps"),
        (("--sensitivity", "fd"), "differences between runs of one step"),
    ],
)
def test_gradients_without_an_estimate_are_said_to_have_none(mbsim, pendulum, options, reason):
    done = mbsim("run", pendulum, "--json", *options).json
    assert reason in done["discretisation"]["gradients"]
    assert all(number is None for number in done["objectives"]["swing"]["discretisation"]["gradient"].values())
    assert f"errors of gradients are not estimated: {reason}" in mbsim("run", pendulum, *options).out


def test_searches_and_programs_that_ask_for_a_gradient_run_once(pendulum, monkeypatch):
    monkeypatch.setattr(discretisation.FirstRun, "_by_second_run", None)  # cannot be called
    _, gradient = mbsim.load(pendulum).value_and_gradient(sensitivity="adjoint")
    assert gradient.shape == (2,)


def test_a_second_processor_estimates_errors_beside_the_analysis(pendulum, monkeypatch):
    done = {}
    for processors in (1, 2):
        threads = []

        def evaluate(*given, threads=threads, **named):
            threads.append(get_ident())
            return evaluation.evaluate(*given, **named)

        monkeypatch.setattr(discretisation, "evaluate", evaluate)
        monkeypatch.setattr(discretisation, "helpful", lambda most, count=processors: min(most, count))
        report = mbsim.run(pendulum, sensitivity="ddm").report
        done[processors] = report["objectives"], report["discretisation"]
        assert [thread == get_ident() for thread in threads] == [processors == 1]
    assert done[1] == done[2] and done[1][1]["second_step"]


def test_runs_in_threads_of_a_program_start_no_further_ones(pendulum, monkeypatch):
    monkeypatch.setattr(discretisation, "helpful", lambda most: most)
    monkeypatch.setattr(discretisation, "_Beside", None)  # cannot be called
    (done,) = mbsim.load(pendulum).run_many([{}], threads=1)
    assert done.report["discretisation"]["second_step"]


class Impatient(Listener):
    def poll(self):
        raise Interrupted


def test_an_interrupted_analysis_ends_the_second_run_too(pendulum, monkeypatch):
    monkeypatch.setattr(discretisation, "helpful", lambda most: most)
    settings, threads = Settings(method="ddm"), active_count()
    plan = plan_run(load(pendulum, settings), settings, Timing(), SILENT)
    with pytest.raises(Interrupted):
        run(plan._replace(second_run=True), Timing(), Impatient())
    assert active_count() == threads


ALIAS = """\
mbsim: 1
gravity: [0, 0, 0]
parameters: {f: 10.3}
bodies: {a: {mass: 1}}
joints: {J: {type: prismatic, bodies: [ground, a], point: origin, axis: x, initial: {displacement: 0.1}}}
forces: {S: {type: spring_damper, coordinate: J.displacement, stiffness: (2*pi*f)**2, natural_length: 0}}
sensors: {x: {type: coordinate, coordinate: J.displacement}}
objectives: {e: {integral: x**2}, end: {final: x}}
analysis: {formulation: recursive, step: 0.1, duration: 2, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.parametrize("frequency", [10, 10.3])
def test_output_times_that_miss_the_motion_change_no_integral(mbsim, tmp_path, frequency):
    """20 periods are shown at as many time points, of which those of 10 Hz all look alike."""
    (tmp_path / "alias.yaml").write_text(ALIAS)
    w = 2.0 * np.pi * frequency
    exact = 0.01 * (1.0 + np.sin(4.0 * w) / (4.0 * w))
    arguments = ("run", "alias.yaml", "--json", "-p", f"f={frequency}")
    for more in ((), ("--step", "auto", "--accuracy", "1e-2", "--sensitivity", "none")):
        done = mbsim(*arguments, *more).json
        assert done["objectives"]["e"]["value"] == pytest.approx(exact, rel=1e-8)
        assert done["objectives"]["e"]["discretisation"]["relative"]["value"] < 1e-6
        assert not done["warnings"]


@pytest.mark.parametrize("step", [1e-4, 2e-4, 3e-3])
@pytest.mark.parametrize("error", [0.0101, 0.0199, 0.05, 0.7])
def test_a_step_that_is_advised_is_shorter(step, error):
    found = discretisation.warnings(
        SimpleNamespace(worst=(error, "A.angle")), {}, [], SimpleNamespace(step=step, integrated=False)
    )
    advised = float(found[0].split("try a step of ")[1].split(" s")[0])
    assert 0.3 * step * (0.01 / error) ** 0.5 < advised < step


@pytest.mark.parametrize(
    ("off", "told"),
    [
        ([2.0, 1e-9, 1e-9, 0.0, 0.0], [2.0, 0.02, 1e-6, 0.0, 2e-10]),  # a share of 0.2 of each
        ([0.0, 1e-9, 1e-6, 0.0, 0.0], [1e-7, 1e-9, 1e-6, 0.0, 0.0]),  # what is too small to matter spoils no other
        ([8.0, 1e-9, 1e-9, 0.0, 0.0], [8.0, 4.0, 4.0, 0.0, 8e-3]),  # unresolved: by any parameter as by the first
    ],
)
def test_where_forces_begin_all_derivatives_are_as_uncertain_as_the_worst(off, told):
    gradient, values = np.array([10.0, 0.1, 5e-6, 0.0, 1e-9]), np.array([1.0, 2.0, 2.0, 3.0, 1e3])
    result = Gradient(1.0, gradient, Uncertainty(np.array([0.0, *off]), np.zeros(6)))
    other = Gradient(1.0, gradient + off, result.uncertainty)
    found = discretisation._with_errors_of_parts(result, other, None, 0.5, values, True).uncertainty.errors[1:]
    assert found == pytest.approx(told, rel=1e-3, abs=1e-12)
    by_third = np.array([0.1, 1e-4, 1.0, 0.0, 0.0])
    third = Gradient(1.0, gradient + 2.0 * by_third, result.uncertainty)
    found = discretisation._with_errors_of_parts(result, other, third, 0.5, values, True).uncertainty.errors[1:]
    limited = np.maximum(off, np.minimum(by_third, np.max(np.array(off[:2]) / gradient[:2]) * gradient))
    assert found == pytest.approx(told if off[0] > 5.0 else limited, rel=1e-3, abs=1e-12)
    found = discretisation._with_errors_of_parts(result, other, third, 0.5, values, False).uncertainty.errors[1:]
    assert found == pytest.approx(np.maximum(off, by_third), rel=1e-3, abs=1e-12)  # dry friction: whatever it shows


def test_gradients_along_the_steps_of_a_motion_have_no_estimate(mbsim, variant):
    path = variant("step: 1e-2", "formulation: recursive, integrator: dop853, tolerance: 1e-8, step: 1e-2")
    report = mbsim("run", path, "--json").json
    entry = report["objectives"]["swing"]["discretisation"]
    assert entry["value"] is not None and entry["gradient"] == {"L": None, "k": None}
    assert report["discretisation"]["gradients"].startswith("steps are chosen by the motion")
