"""Inverse dynamics of closed loops: drives by virtual power, least norm by numpy, derivatives by differences."""

import numpy as np
import pytest

import mbsim_cli
from mbsim_cli.errors import ModelError, UsageError

MODEL = """\
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {L1: 0.3, L2: 1, L3: 0.8, m: 2, c_0: 0.3, c_1: 2, c_2: 0.5, weight: 2.5, factor: 1}
points:
  A: {ground: [0, 0, 0], crank: [0, 0, 0]}
  B: {crank: [L1, 0, 0], rod: [0, 0, 0]}
  C: {rod: [L2, 0, 0], rocker: [L3, 0, 0]}
  D: {ground: [1, 0, 0], rocker: [0, 0, 0]}
bodies:
  crank: {mass: 1, center_of_mass: [L1/2, 0, 0], inertia: {zz: 0.02}}
  rod: {mass: m, center_of_mass: [L2/2, 0, 0], inertia: {zz: 0.1}}
  rocker: {mass: 1.5, center_of_mass: [L3/2, 0, 0], inertia: {zz: 0.1}}
joints:
  A: {type: revolute, bodies: [ground, crank], point: A, axis: z}
  B: {type: revolute, bodies: [crank, rod], point: B, axis: z, initial: {angle: 50 deg}}
  C: {type: revolute, bodies: [rod, rocker], point: C, axis: z}
  D: {type: revolute, bodies: [ground, rocker], point: D, axis: z, initial: {angle: 100 deg}}
sensors:
  left: {type: torque, coordinate: A.angle}
  right: {type: torque, coordinate: D.angle}
  first: {type: coordinate, coordinate: A.angle, derivative: 1}
  last: {type: coordinate, coordinate: D.angle, derivative: 1}
  pin: {type: reaction, joint: C}
objectives:
  effort: {integral: left**2 + right**2}
  force: {integral: pin.force.x*pin.force.y}
analysis:
  type: inverse_dynamics
  sampling: 0.1
  duration: 0.2
  motion: {laws: {A.angle: {type: polynomial, coefficients: [c_0, c_1, c_2]}}}
  sensitivity: {method: ddm, parameters: all}
"""
LAWS = "{laws: {A.angle: {type: polynomial, coefficients: [c_0, c_1, c_2]}}}"
BOTH = "  drives: [A.angle, D.angle]\n  redundancy: least_norm\n  weights: {A.angle: weight}\n  sensitivity:"


@pytest.fixture
def loaded(tmp_path):
    def load(old="", new="", **values):
        path = tmp_path / "model.yaml"
        path.write_text(MODEL.replace(old, new) if old else MODEL)
        return mbsim_cli.load(str(path), **values)

    return load


def test_least_norm_is_that_of_numpy(loaded):
    """Virtual power leaves one equation for two drives."""
    alone, both = loaded().run(), loaded("  sensitivity:", BOTH).run()
    for k in range(3):
        rates = np.array([1.0, both["last"][k] / both["first"][k]])
        roots = np.sqrt([2.5, 1.0])
        expected = np.linalg.pinv((rates / roots)[None, :]) @ alone["left"][k : k + 1] / roots
        assert np.allclose([both["left"][k], both["right"][k]], expected, rtol=1e-12)
    assert not alone["right"].any()


def test_gradients_by_the_adjoint_and_differences(loaded):
    old, new = "  sensitivity:", BOTH
    found = loaded(old, new).run()
    pulled = loaded(old, new).run(sensitivity="adjoint")
    names = ("L1", "L3", "m", "c_1", "weight")
    for objective in ("effort", "force"):
        result = found.report["objectives"][objective]
        for name in names:
            assert pulled.report["objectives"][objective]["gradient"][name] == pytest.approx(
                result["gradient"][name], rel=1e-10, abs=1e-12
            )
        value, h = {"L1": 0.3, "L3": 0.8, "m": 2, "c_1": 2, "weight": 2.5}, 1e-4
        for name in names[:1]:
            low, high = (
                loaded(old, new, **{name: value[name] + s * h})
                .run(sensitivity="none")
                .report["objectives"][objective]["value"]
                for s in (-1, 1)
            )
            assert (high - low) / (2 * h) == pytest.approx(result["gradient"][name], rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("method", ["ddm", "adjoint"])
def test_there_is_no_derivative_by_what_opens_a_redundant_loop(loaded, method):
    """Links that end beside the plane cannot be joined: NaN, and the reason; other derivatives stay."""
    text = MODEL.replace("rod: [L2, 0, 0]", "rod: [L2, 0, height]").replace("{L1", "{height: 0, L1")
    result, flat = loaded(MODEL, text).run(sensitivity=method), loaded().run()
    for name, objective in result.objectives.items():
        assert np.isnan(objective.by("height"))
        assert objective.by("m") == pytest.approx(flat.objectives[name].by("m"), rel=1e-12)
        assert "a change of height violates" in result.report["objectives"][name]["undefined"]["height"]
    assert not [warning for warning in result.warnings if "finite" in warning]


def test_derivatives_by_the_motion(loaded):
    """At the start, coefficients of the law are position, velocity and half the acceleration."""
    result = loaded("  sensitivity:", BOTH).run()
    for kind, name, factor in (("position", "c_0", 1.0), ("velocity", "c_1", 1.0), ("acceleration", "c_2", 0.5)):
        matrix = result[f"sensitivity/torque/{kind}"][0]
        parameter = list(result.report["parameters"]).index(name)
        by_parameter = result["sensitivity/torque/parameter"][0][:, parameter]
        assert np.allclose(matrix[:, 0], factor * by_parameter, rtol=1e-11)
        assert by_parameter.any()


def test_tables_are_as_good_as_laws(loaded, tmp_path):
    t = np.linspace(0, 0.2, 5)
    rows = np.column_stack([t, 0.3 + 2 * t + 0.5 * t**2, 2 + t, 1 + 0 * t])
    np.savetxt(tmp_path / "t.csv", rows, delimiter=",", header="time,A,A.velocity,A.acceleration", comments="")
    table = "{table: {file: t.csv, columns: {A.angle: A}, scale: {A.angle: factor}, derivatives: table}}"
    laws, tabled = loaded().run(), loaded(LAWS, table).run()
    assert np.allclose(laws["left"], tabled["left"], rtol=1e-12)
    assert np.allclose(laws["pin.force"][:, :2], tabled["pin.force"][:, :2], rtol=1e-11)
    pulled = loaded(LAWS, table).run(sensitivity="adjoint")
    for name in ("L2", "factor"):
        ours, theirs = (each.report["objectives"]["force"]["gradient"][name] for each in (tabled, pulled))
        assert ours == pytest.approx(theirs, rel=1e-10)
        assert ours


LEAD = """constraints:
  lead:
    type: point_on_plane
    point: rod.B
    plane: {point: ground.origin, normal: ground.x}
    law: {type: polynomial, coefficients: [0.2, 0.1]}
analysis:"""


def test_a_point_may_lead(loaded):
    text = MODEL.replace("analysis:", LEAD).replace(LAWS, "{constraints: [lead]}\n  drives: [D.angle]")
    result = loaded(MODEL, text).run()
    turn = np.arccos((0.2 + 0.1 * result["time"]) / 0.3)
    assert np.allclose(np.abs(result["first"]), 0.1 / (0.3 * np.sin(turn)), rtol=1e-12)
    assert result["right"].all() and not result["left"].any()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "  sensitivity:",
            BOTH.replace("  redundancy: least_norm\n  weights: {A.angle: weight}\n", ""),
            "add redundancy",
        ),
        ("  sensitivity:", "  redundancy: least_norm\n  sensitivity:", "nothing to share out"),
        ("  sensitivity:", BOTH.replace("A.angle: weight", "B.angle: 1"), "'B.angle' is no drive"),
        ("  sensitivity:", BOTH.replace("A.angle: weight", "A.angle: 0"), "must be greater than zero"),
        ("  sensitivity:", "  drives: [A.angel]\n  sensitivity:", "there is no coordinate 'A.angel'"),
        (LAWS, "{all: {type: constant, value: 1}}", "loops and constraints leave fewer freedoms"),
        (LAWS, "{laws: {A.angel: {type: constant, value: 1}}}", "joint 'A' has no coordinate 'angel'"),
        (LAWS, "{constraints: [lead]}", "unknown constraint 'lead'"),
        (
            LAWS,
            LAWS.replace("laws: {", "laws: {D.angle: {type: constant, value: 1}, "),
            r"analysis\.motion\.laws\.D\.angle: cannot be satisfied at the start",
        ),
    ],
)
def test_refused(loaded, old, new, message):
    with pytest.raises(ModelError, match=message):
        loaded(old, new).run()


def test_an_open_tree_needs_no_drives(loaded):
    tree = MODEL.replace("  C: {type: revolute, bodies: [rod, rocker], point: C, axis: z}\n", "")
    tree = tree.replace("  pin: {type: reaction, joint: C}\n", "").replace(
        "  force: {integral: pin.force.x*pin.force.y}\n", ""
    )
    with pytest.raises(ModelError, match="the mechanism is an open tree, of which all coordinates are driven"):
        loaded(MODEL, tree.replace("  sensitivity:", "  drives: [A.angle]\n  sensitivity:")).run()


def test_small_motions_show_no_torques():
    model = mbsim_cli.loads(MODEL)
    shown = {label.partition(".")[0] for label in model.linearize("start").outputs}
    assert shown == {"first", "last", "pin"}
    with pytest.raises(UsageError, match="'left' shows torques of inverse dynamics; small motions have none"):
        model.linearize("start", outputs=["left"])
