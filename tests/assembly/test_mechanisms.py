"""Whole mechanisms: the five-bar, forced cuts, rank, and what is said about mechanisms that cannot be."""

import numpy as np
import pytest

from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.errors import ModelError
from mbsim_cli.solve.tape import arrays_of
from tests.assembly.texts import FIVEBAR, MODELS, assemble, load


def issues(folder, text):
    with pytest.raises(ModelError) as caught:
        build(load(folder, text))
    assert all(issue.line > 1 and issue.column > 0 for issue in caught.value.issues)
    return caught.value.issues


def test_the_fivebar():
    assembled = build(spec.load(FIVEBAR))
    model, problem = assembled.problem.model, assembled.problem
    assert assembled.topology.cut == ("P2",)
    assert problem.names.constraints == ("P2.x", "P2.y")
    assert assembled.dropped == ["P2.z", "P2.tilt_y", "P2.tilt_x"]
    assert problem.independent.tolist() == [True, True, False, False]
    assert assembled.closing.mobility == 2
    assert len(model.measures.kind) == 4
    assert problem.theta_rho.shape == (len(problem.theta), 5)
    assert not any(array.flags.writeable for array in arrays_of(model))


@pytest.mark.parametrize("cut", ["A", "P1", "P2", "P3", "B"])
def test_the_fivebar_cut_anywhere_is_the_same_mechanism(tmp_path, cut):
    text = FIVEBAR.read_text()
    if cut in ("P1",):
        text = text.replace("  P1:\n    type: revolute\n", "  P1:\n    type: revolute\n    cut: true\n")
    else:
        text = text.replace(f"  {cut}: {{type: revolute,", f"  {cut}: {{type: revolute, cut: true,")
    path = tmp_path / "model.yaml"
    path.write_text(text)
    assembled = build(spec.load(path))
    assert assembled.topology.cut == (cut,)
    assert assembled.closing.mobility == 2
    assert len(assembled.equations.initial_measures) == (cut in ("A", "P1"))
    row = assembled.topology.index["bar_12"]
    tip = assembled.closing.at.point(row, (np.sqrt(3.25), 0.0, 0.0))
    np.testing.assert_allclose(tip, (0.5, -2.0, 0.0), atol=1e-12)
    assert assembled.info["loops"][0]["cut"] == cut


def test_structure_of_the_benchmarks():
    bricard = build(spec.load(MODELS / "benchmarks" / "a04_bricard.yaml"))
    assert (bricard.closing.mobility, len(bricard.info["redundant_constraints"])) == (1, 1)
    windows = build(spec.load(MODELS / "benchmarks" / "a02_four_bars_40.yaml"))
    assert windows.closing.mobility == 1


FOUR_BAR = """
parameters: {L: 2}
points:
  A: {ground: [0, 0, 0], crank: [0, 0, 0]}
  B: {crank: [0.5, 0, 0], rod: [0, 0, 0]}
  C: {rod: [L, 0, 0], rocker: [1, 0, 0]}
  D: {rocker: [0, 0, 0], ground: [2, 0, 0]}
bodies:
  crank: {mass: 1, inertia: {zz: 0.1}}
  rod: {mass: 1, inertia: {zz: 0.1}}
  rocker: {mass: 1, inertia: {zz: 0.1}}
joints:
  A: {type: revolute, bodies: [ground, crank], point: A, axis: z, initial: {angle: 1, independent: true}}
  B: {type: revolute, bodies: [crank, rod], point: B, axis: z}
  C: {type: revolute, bodies: [rod, rocker], point: C, axis: z}
  D: {type: revolute, bodies: [ground, rocker], point: D, axis: z, initial: {angle: 1.5}}
"""


def test_a_loop_that_does_not_close_names_joint_and_distance(tmp_path):
    (issue,) = issues(tmp_path, FOUR_BAR.replace("{L: 2}", "{L: 5}"))
    assert issue.path == "joints.C"
    # ground 2 m, crank 0.5 m at 1 rad: the pivots are 1.78 m apart, and 1 + 1.78 m do not reach over 5 m
    reach = abs(0.5 * np.exp(1j) - 2.0) + 1.0
    assert f"stays open by {5 - reach:.4g} m" in issue.message
    assert "C, B, A, D" in issue.message


def test_too_many_independent_coordinates(tmp_path):
    """One degree of freedom, and two or three coordinates that claim it."""
    stated = FOUR_BAR.replace("{angle: 1.5}", "{angle: 1.5, independent: true}")
    (issue,) = issues(tmp_path, stated)
    assert issue.path == "joints.D.initial.independent"
    assert "1 too many: A.angle, D.angle" in issue.message
    assert "mobility 1" in issue.hint
    (issue,) = issues(
        tmp_path, stated.replace("point: B, axis: z}", "point: B, axis: z, initial: {independent: true}}")
    )
    assert "2 too many: A.angle, B.angle, D.angle" in issue.message


def test_a_mechanism_without_freedom_asks_for_an_axis_or_a_joint_too_many(tmp_path):
    turned = FOUR_BAR.replace("bodies: [rod, rocker], point: C, axis: z", "bodies: [rod, rocker], point: C, axis: x")
    (issue,) = issues(tmp_path, turned)
    assert "mobility 0: is there a joint or constraint too many, or an axis that points another way" in issue.hint


def test_a_range_that_begins_elsewhere_than_its_coordinate(tmp_path):
    text = FOUR_BAR.replace(", independent: true", "")
    (issue,) = issues(tmp_path, text + "analysis: {type: kinematics, sweep: {A.angle: {from: 0, to: 1, count: 3}}}\n")
    assert issue.path == "analysis.sweep.A.angle"
    assert issue.hint == "leave the initial value out, or begin the range there"


def test_a_driven_coordinate_need_not_be_independent(tmp_path):
    motion = "constraints: {drive: {type: motion, coordinate: A.angle, law: {type: polynomial, coefficients: [1, 1]}}}"
    (issue,) = issues(tmp_path, FOUR_BAR + motion + "\n")
    assert "1 too many" in issue.message
    assert issue.hint.endswith("mobility 0; the motion 'drive' gives A.angle already")


def test_a_coordinate_without_inertia(tmp_path):
    text = """
    points: {P: {a: [0, 0, 1], b: [0, 0, 0]}}
    bodies: {a: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}, b: {}}
    joints:
      j: {type: revolute, bodies: [ground, a], point: origin, axis: z}
      k: {type: revolute, bodies: [a, b], point: P, axis: x}
    """
    (issue,) = issues(tmp_path, text)
    assert issue.path == "joints.k"
    assert "nothing gives inertia to coordinate 'angle'" in issue.message
    # a massless body inside a chain is fine
    heavy = "{mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}"
    chained = text.replace(f"a: {heavy}, b: {{}}", f"a: {{}}, b: {heavy}")
    assert assemble(tmp_path, chained).closing.mobility == 2


def test_a_rod_that_may_spin_about_itself(tmp_path):
    text = """
    bodies: {rod: {shape: {type: rod, length: 1, mass: 1}}}
    joints: {s: {type: spherical, bodies: [ground, rod], point: origin}}
    """
    (issue,) = issues(tmp_path, text)
    assert issue.path == "joints.s"


def test_degenerate_directions(tmp_path):
    text = """
    bodies: {b: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
    joints: {j: {type: revolute, bodies: [ground, b], point: origin, axis: z}}
    constraints: {c: {type: angle, vectors: [ground.z, b.x], axis: ground.z, angle: 0}}
    """
    (issue,) = issues(tmp_path, text)
    assert issue.path.startswith("constraints.c")


def test_loops_that_forbid_cutting(tmp_path):
    (issue,) = issues(tmp_path, FOUR_BAR.replace("axis: z", "axis: z, cut: false"))
    assert issue.path.endswith(".cut")


def test_automatic_values_and_couplings(tmp_path):
    text = (
        FOUR_BAR
        + """
constraints:
  gear: {type: coupling, terms: {A.angle: 1, D.angle: -2}, offset: auto}
forces:
  spring: {type: spring_damper, points: [ground.A, rod.C], stiffness: 5}
"""
    )
    assembled = assemble(tmp_path, text)
    problem, model = assembled.problem, assembled.problem.model
    assert len(problem.automatic) == 2
    assert assembled.closing.mobility == 0
    assert problem.independent.sum() == 1  # the position: the gear takes what it finds
    assert problem.independent_velocity.sum() == 0
    gear = problem.names.constraints.index("gear")
    assert problem.automatic[0] == (model.constraints.theta[gear], model.constraints.measure[gear])


def test_cut_joints_have_no_coordinates_to_couple_or_read(tmp_path):
    text = FOUR_BAR.replace("point: C, axis: z", "point: C, axis: z, cut: true")
    (issue,) = issues(tmp_path, text + "constraints: {c: {type: coupling, terms: {C.angle: 1, A.angle: 2}}}\n")
    assert issue.path == "constraints.c.terms"
    spherical = text.replace("C: {type: revolute", "C: {type: spherical").replace("point: C, axis: z", "point: C")
    (issue,) = issues(tmp_path, spherical + "sensors: {e: {type: coordinate, coordinate: C.e0}}\n")
    assert issue.path == "sensors.e.coordinate"
    (issue,) = issues(tmp_path, text + "sensors: {l: {type: multiplier, constraint: C}}\n")
    assert "equations: C.x, C.y" in issue.hint
    (issue,) = issues(tmp_path, text + "sensors: {a: {type: angle, vectors: [crank.x, rod.x], axis: ground.z}}\n")
    assert issue.path == "sensors.a.axis"


def test_a_planar_loop_out_of_plane_cannot_close(tmp_path):
    off = FOUR_BAR.replace("ground: [2, 0, 0]", "ground: [2, 0, 0.1*L]")
    (issue,) = issues(tmp_path, off)
    assert issue.path == "joints.C"
    assert "stays open by 0.2" in issue.message
    tilted = FOUR_BAR.replace("ground: [2, 0, 0]", "ground: [2, 0, L - 2]")
    assembled = assemble(tmp_path, tilted, sensitivity="ddm")
    ((parameter, equation),) = assembled.problem.broken
    assert (parameter, assembled.problem.names.equation(equation)) == (0, "C.z")
    assert assemble(tmp_path, FOUR_BAR, sensitivity="ddm").problem.broken == ()


def test_a_law_that_can_move_nothing(tmp_path):
    """The angle between two bodies on a slider never changes, so that its equation is left out; its law is not."""
    text = """
    bodies: {b: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
    joints: {j: {type: prismatic, bodies: [ground, b], point: origin, axis: z}}
    laws: {wave: {type: harmonic, amplitude: 0.3, frequency: 1}}
    constraints: {c: {type: angle, vectors: [ground.x, b.x], axis: ground.z, angle: 0, law: wave}}
    """
    (issue,) = issues(tmp_path, text)
    assert issue.path.startswith("constraints.c")
    assert "its law can move nothing" in issue.message
    assert assemble(tmp_path, text.replace(", law: wave", "")).dropped == ["c"]
    oblique = "    parameters: {L: 2}\n    vectors: {u: {ground: [L, 1, 0.2]}}"
    turned = oblique + text.replace("ground.x, b", "ground.u, b")
    automatic = assemble(tmp_path, turned.replace("angle: 0, law: wave", "angle: auto"), sensitivity="ddm")
    assert (automatic.dropped, automatic.problem.broken) == (["c"], ())  # it is what it always is
    (issue,) = issues(tmp_path, turned.replace(", law: wave", ""))
    assert "stays open by 0.4636" in issue.message


def test_distances_that_nothing_changes(tmp_path):
    """Without any coordinate a distance holds or is an error; it used to reach the solver, which has no columns."""
    text = """
    points: {a: {ground: [0, 0, 0], b: [0, 0, 0]}, p: {b: [3, 0, 0]}, g: {ground: [0, 4, 0]}}
    bodies: {b: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
    joints: {j: {type: fixed, bodies: [ground, b], point: a}}
    constraints: {d: {type: distance, points: [ground.g, b.p], distance: 5}}
    """
    assembled = assemble(tmp_path, text)
    assert (assembled.dropped, len(assembled.problem.names.constraints)) == (["d"], 0)
    (issue,) = issues(tmp_path, text.replace("distance: 5", "distance: 5.5"))
    assert issue.path == "constraints.d" and "stays open by 0.5" in issue.message
