"""``--sensitivity adjoint``: the gradients of the direct method, or a sentence why there are none."""

import h5py
import numpy as np
import pytest

from tests.solve.test_singular_positions import PARALLELOGRAM, THIRD_CRANK

from .conftest import PENDULUM, ROOT
from .test_reactions import FOUR_BAR
from .test_undefined import CRANKS, DRIVES

DURATION = PENDULUM.replace("duration: 0.5", "duration: L/2").replace(
    "objectives: {swing: {integral: angle**2, unit: rad^2 s}}",
    "objectives:\n  swing: {integral: k * angle**2}\n  last: {final: angle}\n  low: {maximum: -angle, sharpness: 3*k}\n"
    "  all: {expression: swing * low + k * last}",
)
AT_REST = CRANKS.replace("{type: forward_dynamics,", "{type: forward_dynamics, start: equilibrium,").replace(
    "objectives:", "forces: {s: {type: spring_damper, points: [ground.A2, bar.B1], stiffness: 50}}\nobjectives:"
)

OPEN = """\
mbsim: 1
name: Driven arm on a ball joint
gravity: [0, -9.81, 0]
parameters:
  L: {value: 1.0, unit: m}
  w: {value: 6.0, unit: rad/s}
  T: {value: 0.095, unit: s}
points: {O: {ground: [0, 0, 0], rod: [0, 0, 0]}, P: {rod: [L, 0, 0], arm: [0, 0, 0]}, Q: {ground: [0, 1, 1]}}
bodies:
  rod: {shape: {type: cylinder, length: L, radius: 0.1, mass: 3 * L}}
  arm: {shape: {type: rod, length: L / 2, mass: 1}}
joints:
  A: {type: spherical, bodies: [ground, rod], point: O}
  B: {type: revolute, bodies: [rod, arm], point: P, axis: z}
constraints: {m: {type: motion, coordinate: B.angle, law: {type: harmonic, amplitude: 0.3, frequency: w / 6.28}}}
forces: {spring: {type: spring_damper, points: [ground.Q, arm.P], stiffness: 3, damping: 0.5}}
sensors:
  drive: {type: multiplier, constraint: m}
  load: {type: reaction, joint: A}
  speed: {type: velocity, point: arm.P}
objectives:
  work: {integral: drive * speed.x + 0.1 * speed.y**2}
  last: {final: load.force.y + L * speed.z, unit: N}
  most: {maximum: drive, sharpness: 2 * L}
analysis: {formulation: recursive, step: 1e-2, duration: T, sensitivity: {method: ddm, parameters: all}}
"""


def gradients(done):
    assert done.code == 0, done.err
    return {name: entry["gradient"] for name, entry in done.json["objectives"].items()}


def assert_same(found, expected, relative):
    """Compare gradients; what is undefined is None."""
    defined = {name: number for name, number in expected.items() if number is not None}
    size = max(map(abs, defined.values()))
    assert {name for name, number in found.items() if number is not None} == defined.keys() and size > 0.0
    assert {name: found[name] for name in defined} == pytest.approx(defined, rel=relative, abs=relative * size)


def assert_as_direct(mbsim, path, *arguments):
    found, expected = (gradients(mbsim("run", path, "--json", "--sensitivity", m, *arguments)) for m in METHODS)
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        assert_same(found[name], gradient, 1e-9)


METHODS = ("adjoint", "ddm")
STEERED = "formulation: recursive, error_control: sensitivities"


def test_gradients_and_what_stands_in_the_result(mbsim, pendulum, tmp_path):
    assert_as_direct(mbsim, pendulum)
    done = mbsim("run", pendulum, "--sensitivity", "adjoint", "--json")
    assert done.json["sensitivity"] == "adjoint" and done.json["diagnostics"]["gradient_error"] < 1e-10
    estimates = done.json["objectives"]["swing"]["discretisation"]["gradient"]
    with h5py.File(tmp_path / "pendulum.h5") as file:
        assert file["objectives/swing"].attrs["method"] == "adjoint"
        assert list(file["objectives/swing/gradient"]) == list(gradients(done)["swing"].values())
        assert "sensitivity" not in file
    direct = mbsim("run", pendulum, "--json").json["objectives"]["swing"]["discretisation"]["gradient"]
    assert estimates == pytest.approx(direct, rel=1e-6)


def test_every_kind_of_objective_and_parameters_of_the_duration(mbsim, tmp_path):
    (tmp_path / "p.yaml").write_text(DURATION)
    assert_as_direct(mbsim, "p.yaml")
    assert_as_direct(mbsim, "p.yaml", "--all-numbers")
    assert_as_direct(mbsim, "p.yaml", "--duration", "0.01")  # one step


def test_open_trees(mbsim, tmp_path):
    """Multipliers of drives and reactions too; both kinds of steps, kept whole or in parts."""
    (tmp_path / "p.yaml").write_text(OPEN)
    assert_as_direct(mbsim, "p.yaml")
    assert_as_direct(mbsim, "p.yaml", "--integrator", "rk4", "--all-numbers")
    for integrator in ("rk4", "dop853"):
        run = ("run", "p.yaml", "--json", "--sensitivity", "adjoint", "--integrator", integrator, "--step", "1e-4")
        whole, again = (gradients(mbsim(*run, *memory)) for memory in ((), ("--memory", "300kB")))
        for name in whole:  # sums over blocks, which are shorter where less is kept
            assert_same(again[name], whole[name], 1e-13)
        done = mbsim(*run, "--memory", "10kB")
        assert done.code == 2 and "10 kB of memory are too few for the adjoint: " in done.out + done.err


def test_an_open_tree_that_starts_at_rest(mbsim, tmp_path):
    text = PENDULUM.replace("step:", "formulation: recursive, start: equilibrium, step:")
    text = text.replace("angle**2", "(angle + 1e-3)**2").replace("natural_angle: 0", "natural_angle: -L")
    last = ", last: {final: angle}}"  # for several objectives, as above: a single one has kernels of its own
    (tmp_path / "p.yaml").write_text(text.replace("unit: rad^2 s}}", "unit: rad^2 s}" + last))
    assert_as_direct(mbsim, "p.yaml")


def test_a_start_at_rest_and_parameters_that_break_equations(mbsim, tmp_path):
    (tmp_path / "rest.yaml").write_text(AT_REST.replace("  load: {final: f, unit: N}\n", ""))
    found, expected = (mbsim("run", "rest.yaml", "--json", "--sensitivity", m) for m in METHODS)
    assert found.code == expected.code == 0, found.err
    for name, entry in expected.json["objectives"].items():
        other = found.json["objectives"][name]
        assert other["undefined"] == entry["undefined"] and "L1" in entry["undefined"]
        assert_same(other["gradient"], entry["gradient"], 1e-8)


def test_a_law_that_breaks_equations_later(mbsim, tmp_path):
    (tmp_path / "drives.yaml").write_text(DRIVES)
    reports = (mbsim("run", "drives.yaml", "--json", "--sensitivity", method).json for method in METHODS)
    found, expected = (report["objectives"]["x"] for report in reports)
    assert found["undefined"].keys() == expected["undefined"].keys() == {"a"}
    assert "from t = 0.06 s on" in found["undefined"]["a"]
    assert_same(found["gradient"], expected["gradient"], 1e-9)


def one_crank(step, length, mass):
    """The integral of the parallelogram's angle by the trapezoidal rule, analytic in the cranks' length and a mass."""
    pull, inertia = 9.81 * (0.5 * mass + 0.5 + length), 0.25 * mass + 0.45 + length**2
    angle, rate, integral = np.pi / 3 + 0j, 4.0 + 0j, 0j
    second = -pull * np.cos(angle) / inertia
    for _ in range(round(1 / step)):
        start, before = angle, second
        for _ in range(8):
            second = -pull * np.cos(angle) / inertia
            left = angle - start - step * rate - step**2 / 4 * (before + second)
            angle -= left / (1 - step**2 / 4 * pull * np.sin(angle) / inertia)
        rate += step / 2 * (before + second)
        integral += step / 2 * (start + angle)
    return integral


def test_behind_singular_positions_derivatives_are_those_of_a_crank_alone(mbsim, tmp_path):
    """To what the tangents near the position have of round-off, which the direct method carries through it."""
    (tmp_path / "p.yaml").write_text("mbsim: 1" + PARALLELOGRAM.replace("STEP", "1e-3"))
    expected = {"L": one_crank(1e-3, 1 + 1e-30j, 1).imag / 1e-30, "m": one_crank(1e-3, 1, 1 + 1e-30j).imag / 1e-30}
    for method, relative in (("adjoint", 1e-10), ("ddm", 1e-7)):
        found = mbsim("run", "p.yaml", "--json", "--sensitivity", method).json["objectives"]["psi"]
        assert found["value"] == pytest.approx(one_crank(1e-3, 1, 1).real, rel=1e-11)
        assert {name: found["gradient"][name] for name in expected} == pytest.approx(expected, rel=relative)


@pytest.mark.parametrize("third", [False, True])
def test_singular_positions_end_the_same_derivatives(mbsim, tmp_path, third):
    text = "mbsim: 1" + PARALLELOGRAM.replace("STEP", "2e-3")
    for old, new in THIRD_CRANK.items() if third else ():
        text = text.replace(old, new)
    (tmp_path / "p.yaml").write_text(text)
    found, expected = (mbsim("run", "p.yaml", "--json", "--sensitivity", m).json["objectives"]["psi"] for m in METHODS)
    assert found["undefined"] == expected["undefined"] and "l" in expected["undefined"]
    assert_same(found["gradient"], expected["gradient"], 1e-4)  # ill-conditioned behind such positions


def test_the_file_may_ask_for_it_and_checks_compare(mbsim, tmp_path):
    text = DURATION.replace("checks: {freedom", "checks:\n  exact: {agreement: [adjoint]}\n  freedom").replace(
        "1}}", "1}"
    )
    (tmp_path / "p.yaml").write_text(text)
    rows = mbsim("check", "p.yaml", "--json").json["checks"]
    assert sum(row["name"] == "exact: adjoint" for row in rows) == 12 and all(row["passed"] for row in rows)
    (tmp_path / "q.yaml").write_text(text.replace("method: ddm", "method: adjoint"))
    assert mbsim("run", "q.yaml", "--json").json["sensitivity"] == "adjoint"
    for path in ("p.yaml", "q.yaml"):
        done = mbsim("check", path, "--sensitivity", "adjoint", "--json")
        kinds = [row["kind"] for row in done.json["checks"]]
        assert done.code == 0 and "numerical" in kinds and "agreement" not in kinds


def test_memory(mbsim, pendulum):
    def run(*arguments):
        return mbsim("run", pendulum, "--json", "--duration", "3", "--step", "1e-4", *arguments)

    whole, again = (gradients(run("--sensitivity", "adjoint", *m)) for m in ((), ("--memory", "1.5MB")))
    assert whole == again
    done = run("--sensitivity", "adjoint", "--memory", "3kB")
    assert done.code == 2 and "3 kB of memory are too few for the adjoint: 30000 steps take" in done.out
    assert "add --sensitivity adjoint" in run("--memory", "1GB").out
    for size in ("much", "-1MB", "0MB", "3", "3 tons"):
        done = run("--sensitivity", "adjoint", "--memory", size)
        assert done.code == 2 and "--memory must be a" in done.out


def test_what_has_no_derivative_spoils_nothing_else(mbsim, tmp_path):
    """A length between points that coincide, that one objective reads, or none."""
    text = PENDULUM.replace("sensors: {", "sensors: {gap: {type: distance, points: [ground.O, rod.O]}, ")
    (tmp_path / "p.yaml").write_text(text)
    assert_as_direct(mbsim, "p.yaml")
    (tmp_path / "p.yaml").write_text(text.replace("objectives: {", "objectives: {apart: {final: gap, unit: m}, "))
    found, expected = (mbsim("run", "p.yaml", "-o", f"{m}.h5", "--sensitivity", m) for m in METHODS)
    assert found.code == expected.code == 4
    assert (
        "the gradient of objective apart is not a finite number; on this" in expected.err
        and "swing" not in found.err + expected.err
    )
    assert found.err.splitlines()[-1] == expected.err.splitlines()[-1]


def test_reactions(mbsim, tmp_path):
    """Also of constraints that depend on each other, and components that these leave undetermined."""
    more = "  pull: {final: a.force.z, unit: N}\n  most: {maximum: b.force.y, sharpness: 1, unit: N}\n  none:"
    for projection in ("mass", "identity"):
        text = FOUR_BAR.replace("  none:", more).replace("{step: ", f"{{projection: {projection}, step: ")
        (tmp_path / "bars.yaml").write_text(text)
        arguments = "run", "bars.yaml", "--json", "--quiet", "--all-numbers"
        found, expected = (mbsim(*arguments, "--sensitivity", m).json for m in METHODS)
        assert found["warnings"] == expected["warnings"] and found["diagnostics"]["gradient_error"] < 1e-9
        for name, entry in expected["objectives"].items():
            shown, wanted = (
                np.array(list(other["gradient"].values()), float) for other in (found["objectives"][name], entry)
            )
            np.testing.assert_allclose(shown, wanted, rtol=1e-9, atol=1e-9 * np.nanmax(np.abs(wanted), initial=0.0))
            assert np.isfinite(wanted).any() == (name in ("load", "most"))


def test_what_has_no_adjoint_is_refused(mbsim, tmp_path):
    sentence = "error_control: sensitivities has no adjoint: error_control: motion has one"
    text = PENDULUM.replace("step:", f"{STEERED}, step:")
    (tmp_path / "p.yaml").write_text(text)
    done = mbsim("run", "p.yaml", "--sensitivity", "adjoint")
    assert done.code == 2 and sentence in done.err
    (tmp_path / "p.yaml").write_text(text.replace("method: ddm", "method: adjoint"))
    done = mbsim("validate", "p.yaml")
    assert done.code == 3 and "analysis.sensitivity.method: error_control: sensitivities has no adjoint" in done.err
    (tmp_path / "p.yaml").write_text(text.replace("{freedom: {mobility: 1}}", "{a: {agreement: [adjoint]}}"))
    done = mbsim("validate", "p.yaml")
    assert done.code == 3 and "checks.a.agreement[0]: error_control: sensitivities has no adjoint" in done.err


def test_studies_differentiate_directly(mbsim, tmp_path):
    study = "study: {some: {grid: {L: [1, 2]}}}\n"
    (tmp_path / "p.yaml").write_text(PENDULUM.replace("method: ddm", "method: adjoint") + study)
    done = mbsim("sweep", "p.yaml", "some", "-o", "folder")
    assert done.code == 2 and "a study differentiates by ddm, not by the adjoint" in done.err


def test_the_quicker_method_is_chosen_and_said(mbsim, pendulum, tmp_path):
    few, every = (mbsim("run", pendulum, "--sensitivity", "auto", *more) for more in ((), ("--all-numbers",)))
    assert few.code == every.code == 0
    assert "gradients by ddm: 2 parameters, 1 objective, 50 steps: about 1.7 times the analysis alone, " in few.err
    assert "and 2.4 by adjoint" in few.err
    assert "gradients by ddm: 15 parameters, 1 objective, 50 steps" in every.err  # two eights, as a sweep costs
    text = PENDULUM.replace("method: ddm", "method: auto").replace("parameters:\n", "parameters:\n" + SPARE)
    (tmp_path / "p.yaml").write_text(text)
    done = mbsim("run", "p.yaml")
    assert done.code == 0 and "gradients by adjoint: 17 parameters, 1 objective," in done.err
    assert mbsim("run", "p.yaml", "--json").json["sensitivity"] == "adjoint"
    (tmp_path / "q.yaml").write_text(text.replace("step:", f"{STEERED}, step:"))
    assert "gradients by ddm: error_control: sensitivities has no adjoint" in mbsim("run", "q.yaml").err
    (tmp_path / "p.yaml").write_text(text + "study: {some: {grid: {L: [1, 2]}}}\n")
    assert mbsim("sweep", "p.yaml", "some", "-o", "folder").code == 0


SPARE = "".join(f"  spare_{k}: {k}\n" for k in range(15))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["benchmarks/trailer_at_rest", "robots/ur5", "robots/puma560", "human43"])
def test_every_number_of_models_at_rest_and_of_given_motions(mbsim, tmp_path, model):
    text = (ROOT / "models" / f"{model}.yaml").read_text()
    if "objectives:" not in text:
        text = text.replace("analysis:", 'objectives: {effort: {integral: "dot(tau, tau)"}}\nanalysis:', 1)
    (tmp_path / "m.yaml").write_text(text + "  other: {agreement: [adjoint], absolute_tolerance: 1e-6}\n")
    assert_as_direct(mbsim, "m.yaml", "--all-numbers")
    for arguments in ((), ("--sensitivity", "adjoint")):
        done = mbsim("check", "m.yaml", "--json", *arguments)
        assert done.code == 0, [row for row in done.json["checks"] if not row["passed"]]
        assert any(row["name"] == "other: adjoint" for row in done.json["checks"]) == (not arguments)
