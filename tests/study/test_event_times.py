"""Forces that jump where the motion passes a comparison: steps end there, and derivatives follow the times."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.assembly.problem import build
from mbsim_cli.study.event_times import jumping
from tests.assembly.texts import FIVEBAR
from tests.marks import COMPILED

BLOCK = """
mbsim: 1
parameters: {k: 40, F: 1.5, m: 2, x0: 1, a: 0.2}
bodies: {block: {mass: m}, cart: {mass: 3}}
joints:
  s: {type: prismatic, bodies: [ground, block], point: origin, axis: x, initial: {displacement: x0}}
  c: {type: prismatic, bodies: [ground, cart], point: origin, axis: x, initial: {velocity: 0.5}}
sensors:
  x: {type: coordinate, coordinate: s.displacement}
  v: {type: coordinate, coordinate: s.displacement, derivative: 1}
  w: {type: coordinate, coordinate: c.displacement, derivative: 1}
forces:
  push: {type: drive, coordinate: s.displacement, value: "VALUE"}
  pull: {type: drive, coordinate: c.displacement, value: "OTHER"}
objectives:
  end: {final: x}
  sum: {integral: x}
  place: {at: {time: 0.9, value: x}}
  most: {maximum: "x + w"}
gravity: [0, 0, 0]
analysis: {formulation: recursive, step: 0.01, duration: 1.2, sensitivity: {method: ddm, parameters: [k, F, m, x0, a]}}
"""


def compiled(test):
    """A test that compiles kernels of forces by formulas, which quick tests interpret."""
    for mark in COMPILED:
        test = mark(test)
    return test


def model(value, other="0", old="", new=""):
    return mbsim.loads(BLOCK.replace("VALUE", value).replace("OTHER", other).replace(old or "none", new))


def rubbed(k, F, m, x0, T=1.2):
    """End and integral of a block on a spring that friction rubs, from rest; it turns round once, at pi / omega."""
    omega, c = np.sqrt(k / m), F / k
    half, turned = np.pi / omega, 2 * c - x0
    end = -c + (turned + c) * np.cos(omega * (T - half))
    sums = c * half, -c * (T - half) + (turned + c) * np.sin(omega * (T - half)) / omega
    return np.array([end, sum(sums)])


@pytest.mark.interpreted
def test_friction_that_turns_round_has_its_closed_form_where_steps_are_long():
    """Without the times d end / d m was 6 % off at any step."""
    found = model("-k*x - F*sign(v)", old="step: 0.01", new="integrator: rk4, step: 0.04").run().objectives["end"]
    by_mass = rubbed(40.0, 1.5, 2.0 + 1e-30j, 1.0)[0].imag / 1e-30
    assert found.value == pytest.approx(rubbed(40.0, 1.5, 2.0, 1.0)[0], rel=1e-4)
    assert found.by("m") == pytest.approx(by_mass, rel=1e-4)


@compiled
@pytest.mark.parametrize(
    ("integrator", "accuracy", "of_sums"),
    [("dop853, tolerance: 1e-12", 1e-9, 1e-9), ("rk4", 1e-5, 1e-3), ("esdirk, tolerance: 1e-11", 1e-7, 1e-7)],
)
def test_friction_that_turns_round_has_its_closed_form(integrator, accuracy, of_sums):
    """Without the times d end / d m was 6 % off."""
    found = model("-k*x - F*sign(v)", old="step:", new=f"integrator: {integrator}, step:").run()
    values = {"k": 40.0, "F": 1.5, "m": 2.0, "x0": 1.0}
    exact = rubbed(**values)
    by = np.array([rubbed(**{**values, name: values[name] + 1e-30j}).imag / 1e-30 for name in values])
    for column, (name, off) in enumerate({"end": accuracy, "sum": of_sums}.items()):
        objective = found.objectives[name]
        assert objective.value == pytest.approx(exact[column].real, rel=off)
        np.testing.assert_allclose(objective.gradient[:4], by[:, column], rtol=off, atol=off)
    assert not [warning for warning in found.warnings if "jump" in warning]


@compiled
@pytest.mark.parametrize(
    ("value", "other"),
    [
        ("-k*x - if(x > a*cos(3*t), F, 0)", "0"),
        ("-k*x - if(x > a and v < 0, F, -F)", "0"),
        ("-k*x - F*sign(v - w)", "F*sign(v - w)"),  # friction between both: one condition, two forces
        ("-k*x - if(v > w, F, -F)", "if(2*w > 2*v, -F, F)"),
        ("-k*x - F*sign(v)", "if(x < a, 3, 1)"),
    ],
)
def test_derivatives_are_those_of_whole_runs(value, other):
    m = model(value, other, old="step:", new="tolerance: 1e-12, step:")
    way, h = {"k": 7.0, "F": -0.3, "m": 0.4, "x0": 0.2, "a": 0.05}, 1e-4
    result, adjoint = m.run(), m.run(sensitivity="adjoint")
    assert not [warning for warning in result.warnings if "jump" in warning]
    low, high = (
        m.run({name: m.parameters[name] + change * part for name, part in way.items()}, sensitivity="none")
        for change in (-h, h)
    )
    for name, objective in result.objectives.items():
        change = (high.objectives[name].value - low.objectives[name].value) / (2 * h)
        assert objective.gradient @ list(way.values()) == pytest.approx(change, abs=1e-7)
        np.testing.assert_allclose(adjoint.objectives[name].gradient, objective.gradient, atol=1e-9)
    change = (high["x"][::40] - low["x"][::40]) / (2 * h)
    np.testing.assert_allclose(result.sensitivity("x")[::40] @ list(way.values()), change, atol=1e-7)


@compiled
def test_values_do_not_depend_on_gradients():
    m = model("-k*x - F*sign(v)", old="step:", new="integrator: rk4, step:")
    with_gradients, without = m.run(), m.run(sensitivity="none")
    np.testing.assert_allclose(with_gradients["x"], without["x"], atol=1e-13)


@compiled
def test_friction_that_holds_keeps_its_warning():
    """The block stays where it turns round: a law of time would let it slide back against its friction."""
    found = model("-k*x - 10*F*sign(v)", old="step:", new="integrator: rk4, step:").run()
    assert any("steps go across" in warning and warning.endswith("as by step or tanh") for warning in found.warnings)
    assert found["x"][-1] == pytest.approx(-0.25, abs=0.03)


@compiled
def test_other_integrators_name_those_that_end_steps_at_jumps():
    found = model("-k*x - F*sign(v)", old="recursive", new="ali3p-rtdyn1").run()
    assert any(warning.endswith("or use formulation: recursive, whose steps end there") for warning in found.warnings)


@pytest.mark.parametrize(
    ("value", "jumps"),
    [
        ("if(x < 0, 0.5*x, x)", 0),
        ("impact(x, 0, 9, 1.5, 1, 0.1, 0.2)", 0),
        ("step(x, 0, 0, a, 1)", 0),
        ("impact(x, v, 0, 100, 1.5, 1, 0.1)", 0),
        ("if(x < a, 1, 2)", 1),
        ("if(x < a, if(v < 0, F, 0), 0)", 2),
        ("if(t < a, 1, 2)", 0),
    ],
)
def test_comparisons_at_which_expressions_only_bend_cost_no_run(tmp_path, value, jumps):
    path = tmp_path / "model.yaml"
    path.write_text(BLOCK.replace("VALUE", value).replace("OTHER", "0"))
    assert len(list(jumping(build(spec.load(path)).problem))) == jumps


@compiled
def test_check_compares_with_whole_runs(tmp_path):
    from mbsim_cli.study.assembling import Settings
    from mbsim_cli.study.listener import SILENT
    from mbsim_cli.study.verification import verify

    path = tmp_path / "model.yaml"
    agreement = "checks: {c: {agreement: [adjoint, complex_step]}}\ngravity"
    path.write_text(BLOCK.replace("VALUE", "-k*x - F*sign(v)").replace("OTHER", "0").replace("gravity", agreement))
    rows = verify(path, Settings(), 0, SILENT)
    assert len(rows) > 20 and all(row.passed for row in rows), [row for row in rows if not row.passed]


@compiled
@pytest.mark.parametrize("step", [0.3, 1.2])
def test_times_do_not_depend_on_the_output_step(step):
    """Polynomials through ten points of an output interval of 1.2 s left an error of 5e-4."""
    found = model("-k*x - F*sign(v)", old="step: 0.01", new=f"step: {step}").run()
    assert found.objectives["end"].value == pytest.approx(rubbed(40.0, 1.5, 2.0, 1.0)[0], abs=1e-9)


@compiled
@pytest.mark.parametrize("value", ["-k*x - F*sign(v) + if(t < 0.95, 1, 0)", "-k*x - if(e > 0, F, 0)"])
def test_conditions_of_time_and_named_expressions_stand_beside_jumps(value):
    """Both ended with an internal error."""
    sensor = "sensors:\n  e: {type: expression, value: x - a}"
    m = model(value, old="sensors:", new=sensor)
    ends = [m.run({"F": force}, sensitivity="none").objectives["end"].value for force in (1.4999, 1.5001)]
    assert m.run().objectives["end"].by("F") == pytest.approx((ends[1] - ends[0]) / 2e-4, abs=1e-6)


@compiled
def test_a_contact_law_beside_a_jump_is_no_jump():
    other = "impact(w, 0, 0.2, 9, 1.5, 1, 0.1)"
    found = model("-k*x - F*sign(v)", other).run()
    assert not [warning for warning in found.warnings if "jump" in warning]


@pytest.mark.slow  # an adaptive integrator of closed loops
def test_friction_turns_round_in_a_loop(tmp_path):
    path = tmp_path / "model.yaml"
    rub = "{type: drive, coordinate: A.angle, value: '-c*sign(A.angle.velocity)'}"
    analysis = "{formulation: ali1p-rtdyn1, tolerance: 1e-11, step: 0.01, duration: 2, sensitivity: {method: ddm}}"
    path.write_text(
        f"checks: null\ninclude: ['{FIVEBAR}']\nparameters: {{c: 2}}\nforces: {{rub: {rub}}}\nanalysis: {analysis}\n"
    )
    m = mbsim.Model(path, by=["c", "L_s1"])
    result = m.run()
    assert not [warning for warning in result.warnings if "jump" in warning]
    for name in m.differentiated:
        low, high = (
            m.run({name: m.parameters[name] + h}, sensitivity="none").objectives["psi1"] for h in (-1e-4, 1e-4)
        )
        assert result.objectives["psi1"].by(name) == pytest.approx((high.value - low.value) / 2e-4, rel=1e-6, abs=1e-6)
