"""Numbers that have no meaning are NaN with the reason, or flagged: in the table, in JSON, in results and in checks."""

import math

import h5py
import numpy as np
import pytest

from mbsim_cli.cli.output import digits

CRANKS = """\
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {L1: 1, both: {value: 0, unit: m}, m: {value: 2, unit: kg}}
points:
  A1: {ground: [0, 0, 0], c1: [0, 0, 0]}
  A2: {ground: [1, 0, 0], c2: [0, 0, 0]}
  A3: {ground: [2, 0, 0], c3: [0, 0, 0]}
  B1: {c1: [L1 + both, 0, 0], bar: [0, 0, 0]}
  B2: {c2: [1 + both, 0, 0], bar: [1, 0, 0]}
  B3: {c3: [1 + both, 0, 0], bar: [2, 0, 0]}
bodies:
  c1: {mass: 1, inertia: {zz: 0.1}, center_of_mass: [0.5, 0, 0]}
  c2: {mass: 1, inertia: {zz: 0.1}, center_of_mass: [0.5, 0, 0]}
  c3: {mass: 1, inertia: {zz: 0.1}, center_of_mass: [0.5, 0, 0]}
  bar: {mass: m, inertia: {zz: 0.1}, center_of_mass: [1, 0, 0]}
joints:
  A1: {type: revolute, bodies: [ground, c1], point: A1, axis: z, initial: {angle: 1, independent: true}}
  A2: {type: revolute, bodies: [ground, c2], point: A2, axis: z, initial: {angle: 1}}
  A3: {type: revolute, bodies: [ground, c3], point: A3, axis: z, initial: {angle: 1}}
  B1: {type: revolute, bodies: [c1, bar], point: B1, axis: z, initial: {angle: -1}}
  B2: {type: revolute, bodies: [c2, bar], point: B2, axis: z}
  B3: {type: revolute, bodies: [c3, bar], point: B3, axis: z}
sensors:
  r: {type: position, point: bar.center_of_mass}
  f: {type: multiplier, constraint: B3.x}
objectives:
  x: {final: r.x, unit: m}
  way: {integral: "dot(r, r)", unit: m^2 s}
  load: {final: f, unit: N}
analysis: {type: forward_dynamics, step: 1e-2, duration: 0.1, sensitivity: {method: ddm, parameters: all}}
"""

PIN = """\
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {zB: 0, L: 1}
points:
  A: {ground: [0, 0, 0], a: [0, 0, 0]}
  B: {a: [1, 0, zB], b: [0, 0, 0]}
  C: {b: [1, 0, 0], c: [L, 0, 0]}
  D: {ground: [1.2, 0.1, 0], c: [0, 0, 0]}
bodies:
  a: {shape: {type: rod, length: 1, mass: 1}}
  b: {shape: {type: rod, length: 1, mass: 1}}
  c: {shape: {type: rod, length: 1, mass: 1}}
joints:
  A: {type: revolute, bodies: [ground, a], point: A, axis: z, initial: {angle: 1.2, independent: true}}
  B: {type: revolute, bodies: [a, b], point: B, axis: z, initial: {angle: -1.2}}
  C: {type: revolute, bodies: [b, c], point: C, axis: z, cut: true}
  D: {type: revolute, bodies: [ground, c], point: D, axis: z, initial: {angle: 1.3}}
sensors: {r: {type: position, point: b.center_of_mass}}
objectives: {rx: {final: r.x, unit: m}, rz: {final: r.z, unit: m}}
analysis: {type: forward_dynamics, step: 1e-2, duration: 0.1, sensitivity: {method: ddm, parameters: all}}
"""

DRIVES = """\
mbsim: 1
parameters: {a: 0.3, both: 0}
bodies: {arm: {mass: 1, inertia: {zz: 0.1}, center_of_mass: [0.5, 0, 0]}}
joints: {A: {type: revolute, bodies: [ground, arm], point: origin, axis: z}}
laws:
  first: {type: smooth_step, from: 0, to: a + both, start: 0.05, end: 0.1}
  second: {type: smooth_step, from: 0, to: 0.3 + both, start: 0.05, end: 0.1}
constraints:
  one: {type: motion, coordinate: A.angle, law: first}
  two: {type: motion, coordinate: A.angle, law: second}
sensors: {r: {type: position, point: arm.center_of_mass}}
objectives: {x: {final: r.x, unit: m}}
analysis: {type: forward_dynamics, step: 1e-2, duration: 0.15, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.fixture
def run(tmp_path, mbsim):
    """Write a model and run it: what ``--json`` says, and the open result."""

    def call(text, *arguments):
        path = tmp_path / "model.yaml"
        path.write_text(text)
        report = mbsim("run", path, "--json", "--quiet", *arguments)
        assert report.code == 0, report.err
        return report.json, h5py.File("model.h5")

    return call


def test_a_parameter_that_moves_redundant_equations_apart(run, mbsim):
    """One of three parallel cranks is longer: there is no such mechanism. All three: there is."""
    report, result = run(CRANKS)
    assert not any("not finite" in warning for warning in report["warnings"])
    for name, objective in report["objectives"].items():
        gradient = objective["gradient"]
        assert gradient["L1"] is None and None not in (gradient["both"], gradient["m"]), name
        assert list(objective["undefined"]) == ["L1"]
        assert objective["undefined"]["L1"].startswith("a change of L1 violates B")
        stored = result[f"objectives/{name}"]
        assert np.isnan(stored["gradient"]).tolist() == [True, False, False]
        assert [text.decode() for text in stored["undefined"]] == [objective["undefined"]["L1"], "", ""]
    for history in ("coordinates/position", "sensors/r", "multipliers/lambda"):
        assert np.isnan(result[f"sensitivity/{history}"][..., 0]).all()
        assert np.isfinite(result[f"sensitivity/{history}"][..., 1:]).all()
    shown = mbsim("inspect", "model.h5").out
    assert "NaN" in shown and "d/d L1 is NaN: a change of L1 violates B" in shown
    printed = mbsim("run", "model.yaml", "-o", "again.h5").out
    assert "NaN" in printed and "d/d L1 is NaN: a change of L1 violates B" in printed


def test_a_pin_that_leaves_the_plane(run):
    """The equation out of the plane holds in every position, and the solver does not have it."""
    report, _ = run(PIN)
    for objective in report["objectives"].values():
        assert objective["gradient"]["zB"] is None and objective["gradient"]["L"] is not None
        assert objective["undefined"]["zB"].startswith("C.z holds in every position, and a change of zB violates it")


def test_a_law_that_departs_from_another_one_later(run):
    report, result = run(DRIVES)
    objective = report["objectives"]["x"]
    assert objective["gradient"]["a"] is None
    assert "from t = 0.06 s on" in objective["undefined"]["a"]
    assert objective["gradient"]["both"] == pytest.approx(-0.5 * np.sin(0.3), rel=1e-9)
    broken = np.isnan(result["sensitivity/sensors/r"][:, 0, 0])
    assert broken.tolist() == [False] * 6 + [True] * 10


def test_differences_say_it_too(run):
    report, _ = run(CRANKS, "--sensitivity", "fd")
    exact, _ = run(CRANKS)
    for name, objective in report["objectives"].items():
        assert objective["gradient"]["L1"] is None
        assert "an analysis beside this value fails" in objective["undefined"]["L1"]
        for parameter in ("both", "m"):
            assert objective["gradient"][parameter] == pytest.approx(
                exact["objectives"][name]["gradient"][parameter], rel=1e-5, abs=1e-5
            ), (name, parameter)
    drives, _ = run(DRIVES, "--sensitivity", "fd")
    assert "does not stay assembled" in drives["objectives"]["x"]["undefined"]["a"]


def test_checks_say_it_too(tmp_path, mbsim):
    (tmp_path / "model.yaml").write_text(CRANKS + "checks: {x: {objective: x, gradient: {L1: 0.4}}}\n")
    outcome = mbsim("check", "model.yaml", "--json")
    assert outcome.code == 1
    rows = {row["name"]: row for row in outcome.json["checks"]}
    assert not rows["x"]["passed"] and "d x / d L1 is NaN: a change of L1 violates B" in rows["x"]["message"]
    assert rows["no derivative"]["passed"] and rows["no derivative"]["parameter"] == "L1"
    numerical = [row for row in outcome.json["checks"] if row["kind"] == "numerical"]
    assert len(numerical) == 3 and all(row["passed"] for row in numerical)


def test_multipliers_that_the_motion_does_not_determine_are_flagged(run, mbsim):
    report, result = run(CRANKS)
    assert report["undetermined_multipliers"] == ["B2.x", "B3.x"]  # the bar may be pressed or pulled
    assert report["objectives"]["load"]["flags"][0].startswith("sensor f: B3.x depends on other equations")
    assert report["objectives"]["x"]["flags"] == []
    assert sum("sensor f: B3.x" in warning for warning in report["warnings"]) == 1
    assert result["multipliers"].attrs["undetermined"].split(", ") == report["undetermined_multipliers"]
    assert "not determined" in result["sensors/f"].attrs["undetermined"]
    assert "undetermined" not in result["sensors/r"].attrs
    stored = [text.decode() for text in result["objectives/load/flags"]]
    assert stored == report["objectives"]["load"]["flags"]
    assert "load*: sensor f: B3.x" in mbsim("inspect", "model.h5").out


@pytest.mark.parametrize("projection", ["mass", "identity"])
def test_the_order_of_multipliers_is_said(run, projection):
    text = PIN.replace("step: 1e-2,", f"step: 1e-2, projection: {projection},")
    text = text.replace("sensors: {", "sensors: {f: {type: multiplier, constraint: C.x}, ")
    report, result = run(text)
    first_order = projection == "identity"
    assert sum("(f) are of first order" in warning for warning in report["warnings"]) == first_order
    for path in ("multipliers/lambda", "sensitivity/multipliers/lambda"):
        description = result[path].attrs["description"]
        assert "of first order" in description
        assert "show forces of the positions and velocities that are stored" in description
    assert report["undetermined_multipliers"] == []
    plain, _ = run(PIN.replace("step: 1e-2,", f"step: 1e-2, projection: {projection},"))
    assert not any("first order" in warning for warning in plain["warnings"])


@pytest.mark.parametrize(
    "analysis", ["type: equilibrium", "type: forward_dynamics, start: equilibrium, step: 0.01, duration: 0.02"]
)
@pytest.mark.parametrize(("text", "parameter"), [(CRANKS, "L1"), (PIN, "zB")])
def test_at_an_equilibrium_too(run, text, parameter, analysis):
    start = text.index("analysis: {")
    text = text[:start] + "analysis: {" + analysis + ", sensitivity: {method: ddm, parameters: all}}\n"
    report, _ = run(text.replace("integral", "final"))
    for objective in report["objectives"].values():
        assert [name for name, number in objective["gradient"].items() if number is None] == [parameter]
        assert list(objective["undefined"]) == [parameter]


@pytest.mark.parametrize(("value", "shown"), [(-0.0, "0"), (math.nan, "NaN"), (0.1 + 0.2, "0.3")])
def test_numbers_of_tables(value, shown):
    assert digits(value) == shown


def test_a_zero_has_no_sign_in_tables(mbsim, tmp_path):
    (tmp_path / "rest.yaml").write_text("""\
mbsim: 1
points: {O: {ground: [0, 0, 0], a: [0, 0, 0]}}
bodies: {a: {mass: 1, inertia: {zz: 1}}}
joints: {P: {type: prismatic, bodies: [ground, a], point: O, axis: x}}
parameters: {L: 0}
sensors: {r: {type: position, point: a.O}}
objectives: {o: {final: -r.x, unit: m}}
analysis: {step: 0.01, duration: 0.02, sensitivity: {method: ddm, parameters: all}}
""")
    shown = mbsim("run", "rest.yaml", "-q").out
    assert "-0" not in shown and "0" in shown
