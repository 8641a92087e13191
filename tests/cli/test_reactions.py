"""Reactions as the command shows them: all pins of a four-bar, and what redundant constraints leave undetermined."""

import h5py
import numpy as np

FOUR_BAR = """\
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {L: {value: 0.4, unit: m}}
points:
  A: {ground: [0, 0, 0], crank: [0, 0, 0]}
  B: {crank: [L, 0, 0], coupler: [0, 0, 0]}
  C: {coupler: [1.1, 0, 0], rocker: [0.7, 0, 0]}
  D: {ground: [1.2, 0.1, 0], rocker: [0, 0, 0]}
bodies:
  crank: {mass: 1, center_of_mass: [0.2, 0.01, 0.05], inertia: {xx: 0.01, yy: 0.02, zz: 0.02}}
  coupler: {mass: 2, center_of_mass: [0.5, 0.02, 0], inertia: {xx: 0.01, yy: 0.2, zz: 0.2}}
  rocker: {mass: 1.5, center_of_mass: [0.3, 0, 0], inertia: {xx: 0.01, yy: 0.1, zz: 0.1}}
joints:
  A: {type: revolute, bodies: [ground, crank], point: A, axis: z, initial: {angle: 1, independent: true}}
  B: {type: revolute, bodies: [crank, coupler], point: B, axis: z, initial: {angle: -0.5653}}
  C: {type: revolute, bodies: [coupler, rocker], point: C, axis: z}
  D: {type: revolute, bodies: [ground, rocker], point: D, axis: z, initial: {angle: 1.5511}}
sensors:
  a: {type: reaction, joint: A, axes: joint}
  b: {type: reaction, joint: B}
  c: {type: reaction, joint: C, on: coupler}
  d: {type: reaction, joint: D, axes: body}
  g: {type: acceleration, point: coupler.center_of_mass}
objectives:
  load: {integral: b.force.x**2 + a.force.y*c.moment.z, unit: N^2 s}
  lost: {maximum: norm(d.force), sharpness: 1, unit: N}
  none: {expression: 2*lost, unit: N}
analysis: {step: 1e-3, duration: 3e-3, sensitivity: {method: ddm, parameters: all}}
"""


def test_all_pins_of_a_four_bar(mbsim, tmp_path):
    (tmp_path / "bars.yaml").write_text(FOUR_BAR)
    done = mbsim("run", "bars.yaml", "--json", "--quiet")
    assert done.code == 0, done.err
    shown, lost, none = done.json["warnings"]
    assert "leave a.force.z, a.moment.x, a.moment.y, b.force.z" in shown and "C.z, C.tilt_y, C.tilt_x follow" in shown
    for name, told in (("lost", lost), ("none", none)):
        assert told.startswith(f"objective {name} is NaN, for it reads d.force.z (not determined)")
        assert "d.force.x and d.force.y can be read alone" in told
    objectives = done.json["objectives"]
    assert objectives["load"]["value"] > 0 and abs(objectives["load"]["gradient"]["L"]) > 0
    assert objectives["lost"]["value"] is None and objectives["none"]["gradient"] == {"L": None}
    with h5py.File(tmp_path / "bars.h5") as file:
        sensors, sensitivity = file["sensors"], file["sensitivity/sensors"]
        force = sensors["b.force"][()] + sensors["c.force"][()]
        wanted = 2 * (sensors["g"][()] + [0, 9.81, 0])
        np.testing.assert_allclose(force[:, :2], wanted[:, :2], rtol=1e-9)  # accelerations of steps are 1e-10 off
        for pin in "abcd":
            undetermined = np.array([[0, 0, 1], [1, 1, 0]], bool)
            for part, unknown in zip(("force", "moment"), undetermined, strict=True):
                assert (np.isnan(sensors[f"{pin}.{part}"][()]) == unknown).all()
                assert (np.isnan(sensitivity[f"{pin}.{part}"][:, :, 0]) == unknown).all()
                reason = sensors[f"{pin}.{part}"].attrs["undetermined"]
                assert f"{pin}.{part}.{'xyz'[unknown.argmax()]}" in reason and "follow from other equations" in reason
                assert sensors[f"{pin}.{part}"].attrs["unit"] == {"force": "N", "moment": "N m"}[part]
        assert len(file["meta/warnings"]) == 3
    assert mbsim("plot", "bars.h5", "a.force", "b.force.x", "d.moment", "--json").code == 0


def test_other_numbers_that_are_none_are_not_taken_for_reactions(mbsim, tmp_path):
    gap = "  gap: {type: distance, points: [ground.A, crank.A], derivative: 1}\n"
    (tmp_path / "bars.yaml").write_text(FOUR_BAR.replace("  g: {type: acc", gap + "  g: {type: acc"))
    done = mbsim("run", "bars.yaml", "--json", "--quiet")
    assert done.code == 0, done.err
    (undetermined,) = (
        warning for warning in done.json["warnings"] if "undetermined, " in warning or "leave" in warning
    )
    told = [warning for warning in done.json["warnings"] if "not finite" in warning]
    assert "gap" not in undetermined and [sentence.split(" is")[0] for sentence in told] == [
        "sensor gap",
        "the derivative of sensor gap",
    ]
    with h5py.File(tmp_path / "bars.h5") as file:
        assert np.isnan(file["sensors/gap"]).all() and "undetermined" not in file["sensors/gap"].attrs
