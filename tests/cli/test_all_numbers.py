"""``run --all-numbers``: a table of the numbers that matter most, all of them in JSON and in the result."""

import h5py
import numpy as np


def test_a_table_and_all_of_them_elsewhere(mbsim, pendulum, tmp_path):
    done = mbsim("run", pendulum, "--all-numbers", "--top", "3")
    assert done.code == 0 and "3 of 15 numbers, largest effects first" in done.out
    assert "joints.A.initial.angle" in done.out and "points.O.rod.z" not in done.out
    assert "of one that is zero, 1 % of the size beside it" in done.out and "0 m/s^2, of 9.81 m/s^2" in done.out
    report = mbsim("run", pendulum, "--all-numbers", "--json").json
    entries = report["influence"]
    sizes = [abs(entry["effects"]["swing"]) for entry in entries]
    assert len(entries) == 15 and sizes == sorted(sizes, reverse=True)
    first = entries[0]
    gradient = report["objectives"]["swing"]["gradient"]
    assert first["effects"]["swing"] == 0.01 * first["scale"] * gradient[first["number"]]
    assert {entry["number"]: entry["scale"] for entry in entries}["gravity.x"] == 9.81  # as long as the vector
    with h5py.File(tmp_path / "pendulum.h5") as file:
        names = [name.decode() for name in file["parameters/name"]]
        assert np.array_equal(file["objectives/swing/gradient"], [gradient[name] for name in names])
        assert "sensitivity" not in file
    assert mbsim("inspect", "pendulum.h5").code == 0


def test_without_gradients_there_is_no_influence(mbsim, pendulum):
    done = mbsim("run", pendulum, "--all-numbers", "--sensitivity", "none")
    assert done.code == 2 and "--all-numbers takes gradients" in done.err


TIP = "F: {type: fixed, bodies: [rod, tip], point: origin}"
ARM = """\
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {L: 0.4}
bodies:
  arm: {mass: 2, center_of_mass: [L/2, 0.1, 0], inertia: [[0.1, 0.02, 0], [0.02, 0.2, 0.01], [0, 0.01, 0.3]]}
  tool: {mass: 0}
joints:
  J: {type: universal, bodies: [ground, arm], point: origin, axes: [x, y]}
  F: {type: fixed, bodies: [arm, tool], point: origin}
objectives: {effort: {integral: "dot(tau, tau)"}}
sensors: {tau: {type: torques}}
analysis:
  type: inverse_dynamics
  motion: {all: {type: harmonic, amplitude: 0.3, frequency: 1}}
  sampling: 0.1
  duration: 0.5
"""


def test_entries_of_a_symmetric_matrix_are_one_number_and_dependent_numbers_follow(mbsim, tmp_path):
    """A check changed each entry by itself, so that the file was refused, and held L/2 where L changed."""
    (tmp_path / "arm.yaml").write_text(ARM)
    assert mbsim("check", "arm.yaml", "--all-numbers").code == 0
    gradient = mbsim("run", "arm.yaml", "--all-numbers", "--json").json["objectives"]["effort"]["gradient"]
    entries = [f"bodies.arm.inertia[{row}].{column}" for row in range(3) for column in "xyz"[row:]]
    assert [name for name in gradient if "inertia" in name] == entries


def test_numbers_that_cannot_change_by_themselves_are_left_out_of_the_check(mbsim, pendulum, tmp_path):
    """The file refuses masses below zero, so that there was no check at all."""
    text = pendulum.read_text().replace("bodies: {", "bodies: {tip: {mass: 0}, ")
    pendulum.write_text(text.replace("joints: {", f"joints: {{{TIP}, "))
    (tmp_path / "arm.yaml").write_text(ARM)
    for model, mass in ((pendulum, "bodies.tip.mass"), ("arm.yaml", "bodies.tool.mass")):
        done = mbsim("check", model, "--all-numbers", "--json")
        rows = {row["name"]: row for row in done.json["checks"]}
        assert done.code == 0 and rows["not compared"]["parameter"] == mass
        assert "must not be negative" in rows["not compared"]["message"] and "numerical derivative" in rows
