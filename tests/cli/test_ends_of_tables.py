"""Analyses that leave a table: they end there in a sentence, or go on as the table says."""

import h5py
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from mbsim_cli import assembly, spec
from mbsim_cli.errors import AnalysisError, ModelError
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.solve.open_trees import open_tree
from mbsim_cli.study.assembling import Settings, build, load
from mbsim_cli.study.evaluation import blocks_of, evaluate
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.plan import values_at
from mbsim_cli.study.recording import record

MODEL = """
mbsim: 1
gravity: [0, 0, -9.81]
points: {P: {ground: [0, 0, 1]}}
parameters: {x: 0.2}
bodies: {top: {mass: 1.3, inertia: {xx: 0.2, yy: 0.5, zz: 0.6}}}
joints: {J: {type: prismatic, bodies: [ground, top], point: origin, axis: z}}
laws:
  t: {type: spline, times: [0, 0.03, 0.05], values: [0, 1, 2], extrapolate: EXTRAPOLATE}
  e: {type: spline, x: [-0.1, 0, 0.01, x/10], values: [-2, 0, 1, 2], extrapolate: EXTRAPOLATE}
  r: {type: spline, x: [-2, 0, 0.5], values: [-2, 0, 2], extrapolate: EXTRAPOLATE}
forces:
  f: {type: spring_damper, points: [ground.P, top.origin], stiffness: 3, natural_length: 1, PLACE}
sensors: {p: {type: position, point: top.origin}, f: {type: force, force: f}}
objectives: {last: {final: "p.z"}, sum: {integral: f}}
analysis: {ANALYSIS, sensitivity: {method: ddm, parameters: all}}
"""
LAWS = {  # place: argument in words, and its last value in the table
    "law: t": ("the time is", 0.05),
    "elongation_law: e": ("the elongation of force 'f' is", 0.02),
    "rate_law: r": ("the rate of force 'f' is", 0.5),
}
FALLING = {"law: t": 0.05, "elongation_law: e": np.sqrt(0.04 / 9.81), "rate_law: r": 0.5 / 9.81}  # about when
ANALYSES = {
    "ali3p": "step: 0.001, duration: 0.08",
    "rk4": "formulation: recursive, integrator: rk4, step: 0.001, duration: 0.08",
    "dop853": "formulation: recursive, step: 0.02, duration: 0.08",
    "inverse": "type: inverse_dynamics, sampling: 0.001, duration: 0.08, "
    "motion: {all: {type: polynomial, coefficients: [0, 0, -4.905]}}",
}


def written(folder, extrapolate, place, kind):
    path = folder / "model.yaml"
    text = MODEL.replace("EXTRAPOLATE", extrapolate).replace("PLACE", place)
    path.write_text(text.replace("ANALYSIS", kind))
    return path


def evaluated(path):
    assembled = build(load(path, Settings()), Settings(), None)
    return evaluate(assembled.problem, assembled.objectives)


@pytest.mark.parametrize("kind", ANALYSES)
@pytest.mark.parametrize("place", LAWS)
def test_an_analysis_ends_where_it_leaves_a_table(tmp_path, monkeypatch, place, kind):
    monkeypatch.chdir(tmp_path)
    path = written(tmp_path, "none", place, ANALYSES[kind])
    with pytest.raises(AnalysisError) as caught:
        record(path, tmp_path / "out.h5", Settings(), command="", listener=SILENT, force=False)
    words, end = LAWS[place]
    sentence = str(caught.value)
    assert sentence.startswith(f"the table of laws.{place[-1]} ends: it covers ")
    assert f" to {end:g}, and {words} " in sentence
    assert "extrapolate: hold or linear" in sentence
    value = float(sentence.split(words)[1].split()[0])
    time = float(sentence.split(" at t = ")[1].split()[0])
    assert end < value < 1.1 * end
    assert time == pytest.approx(FALLING[place], rel=0.1)
    step = 0.02 if kind == "dop853" else 0.001
    with h5py.File(tmp_path / "out.h5.partial") as file:
        assert time - 1.5 * step <= file["time"][-1] <= time
        assert np.isfinite(file["sensors/f"][:]).all()


FOLLOWING = """
mbsim: 1
gravity: [0, -9.81, 0]
laws: {table: {type: spline, x: [-0.05, 0, 0.05], values: [-0.01, 0, 0.02]}}
bodies: {a: {mass: 1}, b: {mass: 0.5}}
joints:
  a: {type: prismatic, bodies: [a, ground], point: origin, axis: y}
  b: {type: prismatic, bodies: [ground, b], point: origin, axis: x}
ELEMENT
sensors: {p: {type: position, point: a.origin}}
objectives: {last: {final: p.y}}
analysis: {formulation: FORMULATION, step: 0.005, duration: 0.2}
"""


@pytest.mark.interpreted
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-natural", "ali1p-rtdyn1"])
@pytest.mark.parametrize(
    ("element", "words"),
    [
        (
            "constraints: {cam: {type: coupling, of: b.displacement, by: a.displacement, law: table}}",
            "the coordinate that it follows",
        ),
        (
            'forces: {f: {type: drive, coordinate: b.displacement, value: "table(a.displacement)"}}',
            "the value that it is called at",
        ),
    ],
)
def test_a_table_that_a_coordinate_leaves_is_named(tmp_path, element, words, formulation):
    """A cam and an expression: a falls out of the table after 0.1 s, its joint counts upwards."""
    path = tmp_path / "model.yaml"
    path.write_text(FOLLOWING.replace("ELEMENT", element).replace("FORMULATION", formulation))
    sentence = rf"^the table of laws\.table ends: it covers -0\.05 to 0\.05, and {words} is 0\.05"
    with pytest.raises(AnalysisError, match=sentence) as caught:
        evaluated(path)
    assert float(str(caught.value).split(" at t = ")[1].split()[0]) == pytest.approx(np.sqrt(0.1 / 9.81), abs=0.01)


@pytest.mark.interpreted
def test_a_table_of_a_multiplier_ends_where_the_multiplier_leaves_it(tmp_path):
    """The tension of a rope, (19.62 + 20 t)/3 N, passes 8 N at 0.219 s."""
    path = tmp_path / "model.yaml"
    path.write_text("""
mbsim: 1
gravity: [0, 0, -9.81]
laws: {table: {type: spline, x: [0, 8], values: [0, 0]}}
bodies: {a: {mass: 2}, b: {mass: 1}}
joints:
  a: {type: prismatic, bodies: [ground, a], point: origin, axis: x}
  b: {type: prismatic, bodies: [ground, b], point: origin, axis: z}
constraints: {rope: {type: coupling, terms: {a.displacement: 1, b.displacement: 1}, offset: 0}}
sensors: {T: {type: multiplier, constraint: rope}, x: {type: coordinate, coordinate: a.displacement}}
forces: {f: {type: drive, coordinate: a.displacement, value: "-20*t + table(abs(T))"}}
objectives: {last: {final: x}}
analysis: {formulation: ali3p-rtdyn1, step: 0.005, duration: 1}
""")
    with pytest.raises(AnalysisError, match=r"the value that it is called at is 8\.006") as caught:
        evaluated(path)
    assert str(caught.value).split(" at t = ")[1].split()[0] == "0.22"


def test_an_integration_that_pauses_between_instants_ends_there_too(tmp_path, monkeypatch):
    monkeypatch.setattr(open_tree, "steps_at_once", lambda *sizes: 2)
    path = written(tmp_path, "none", "elongation_law: e", ANALYSES["dop853"])
    with pytest.raises(AnalysisError, match=r"^the table of laws.e ends: it covers"):
        evaluated(path)


@pytest.mark.parametrize("extrapolate", ["hold", "linear"])
@pytest.mark.parametrize("place", LAWS)
def test_a_table_that_goes_on_has_gradients(tmp_path, place, extrapolate):
    path = written(tmp_path, extrapolate, place, ANALYSES["rk4"])
    direct = [result.gradient[0] for result in evaluated(path).values()]
    model_file = load(path, Settings())
    runs = [values_at(model_file, Settings(), {"x": h}) for h in (1e-4, -1e-4)]
    np.testing.assert_allclose(direct, (runs[0] - runs[1]) / 2e-4, rtol=1e-4, atol=1e-9)
    assert (direct[1] != 0.0) == (place == "elongation_law: e")


def test_an_equilibrium_lies_inside_the_tables_or_is_none(tmp_path):
    """Weight 12.753 N: the search may leave a table; where it ends, the table must hold."""
    with pytest.raises(AnalysisError, match=r"table of laws.e ends: .* elongation of force 'f' is .* at t = 0 s"):
        evaluated(written(tmp_path, "none", "elongation_law: e", "type: equilibrium"))
    path = written(tmp_path, "none", "elongation_law: e", "type: equilibrium")
    path.write_text(path.read_text().replace("-9.81", "-0.9"))  # 1.17 N
    inside = evaluated(path)["last"]
    path.write_text(path.read_text().replace("extrapolate: none", "extrapolate: linear"))
    found = evaluated(path)["last"]
    assert inside.value == pytest.approx(found.value, rel=1e-12)
    np.testing.assert_allclose(inside.gradient, found.gradient, rtol=1e-10)


def test_what_a_table_is_beyond_its_ends(tmp_path):
    x, y = [-0.1, 0.0, 0.01, 0.02], [-2.0, 0.0, 1.0, 2.0]
    curve = CubicSpline(x, y, bc_type="natural")
    slopes = curve(x[0], 1), curve(x[-1], 1)
    expected = {
        "none": (np.nan, np.nan),
        "hold": (y[0], y[-1]),
        "linear": (y[0] - 0.5 * slopes[0], y[-1] + 0.5 * slopes[1]),
    }
    inside = []
    for extrapolate, (below, above) in expected.items():
        path = written(tmp_path, extrapolate, "elongation_law: e", ANALYSES["rk4"])
        problem = assembly.build(spec.load(path)).problem
        at = [law_value(problem.model.laws, problem.theta, problem.model.forces.law[0, 1], place)[0]
              for place in (x[0] - 0.5, x[-1] + 0.5, *x, -0.05, 0.001, 0.015)]  # fmt: skip
        assert at[:2] == pytest.approx([below, above], nan_ok=True)
        np.testing.assert_allclose(at[2:], curve([*x, -0.05, 0.001, 0.015]), rtol=1e-13, atol=1e-15)
        inside.append(at[2:])
    assert inside[0] == inside[1] == inside[2]


def test_a_driven_coordinate_needs_its_table_at_the_start(tmp_path):
    path = written(tmp_path, "none", "law: t", ANALYSES["ali3p"])
    late = "constraints: {drive: {type: motion, coordinate: J.displacement, law: late}}\nlaws:\n"
    late += "  late: {type: spline, times: [0.1, 1], values: [0, 1]}"
    path.write_text(path.read_text().replace("laws:", late, 1))
    with pytest.raises(ModelError, match=r"laws\.late: the table of a constraint must cover the start"):
        build(load(path, Settings()), Settings(), None)


@pytest.mark.parametrize("extrapolate", ["hold", "linear"])
def test_a_table_of_motion_goes_on(tmp_path, extrapolate):
    (tmp_path / "walk.csv").write_text("time,J.displacement\n0,0\n0.01,0.001\n0.02,0.003\n")
    table = f"{{file: walk.csv, extrapolate: {extrapolate}}}"
    kind = f"type: inverse_dynamics, sampling: 0.01, duration: 0.04, motion: {{table: {table}}}"
    path = written(tmp_path, "linear", "law: t", kind)
    assembled = build(load(path, Settings()), Settings(), None)
    (block,) = blocks_of(assembled.problem)
    slope = CubicSpline([0, 0.01, 0.02], [0, 0.001, 0.003])(0.02, 1) if extrapolate == "linear" else 0.0
    np.testing.assert_allclose(block.position[2:, 0], 0.003 + slope * np.array([0, 0.01, 0.02]), rtol=1e-12)
    np.testing.assert_allclose(block.velocity[3:, 0], slope, rtol=1e-12)
    assert not block.acceleration[3:].any()
    path.write_text(path.read_text().replace(table, "{file: walk.csv}"))
    with pytest.raises(ModelError, match=r"the table covers 0 s to 0.02 s, the analysis 0 s to 0.04 s"):
        build(load(path, Settings()), Settings(), None)


SLOW_START = """
mbsim: 1
gravity: [0, 0, -9.81]
bodies: {plate: {}, a: {mass: 40}}
joints:
  plate: {type: prismatic, bodies: [ground, plate], point: origin, axis: z}
  a: {type: prismatic, bodies: [plate, a], point: origin, axis: z, initial: {displacement: 0.3}}
laws: {road: {type: spline, times: [0, 0.002, 0.004, 0.006, 1], values: [0, 3e-10, 3e-9, 1e-8, 0.01]}}
constraints: {road: {type: motion, coordinate: plate.displacement, law: road}}
forces:
  s: {type: spring_damper, coordinate: a.displacement, stiffness: 22000, damping: 100, natural_length: 0.3}
sensors: {q: {type: coordinate, coordinate: a.displacement}}
analysis: {type: forward_dynamics, formulation: recursive, start: equilibrium, step: 1e-3, duration: 1}
"""


def test_the_trial_of_the_first_step_stays_within_the_run(mbsim, tmp_path):
    """From rest, rates alone allow trial steps beyond the table, which ends with the run."""
    path, found = tmp_path / "m.yaml", {}
    path.write_text(SLOW_START)
    for integrator in ("rk4", "dop853", "esdirk"):
        out = tmp_path / f"{integrator}.h5"
        done = mbsim("run", path, "--integrator", integrator, "-o", out)
        assert done.code == 0, done.err
        with h5py.File(out) as file:
            found[integrator] = file["sensors/q"][()]
    for integrator in ("dop853", "esdirk"):
        np.testing.assert_allclose(found[integrator], found["rk4"], atol=1e-7)
