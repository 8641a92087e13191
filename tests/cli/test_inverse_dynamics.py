"""Inverse dynamics through the public command: results, streaming, round trips, failures."""

import json
import tracemalloc
from itertools import islice

import h5py
import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.cli.outcome import call
from mbsim_cli.solve.inverse import analysis
from mbsim_cli.solve.inverse.analysis import InverseAnalysis, inverse

ARM = """\
mbsim: 1
parameters: {L: {value: 0.6, unit: m}, amplitude: 0.8, k: 30}
dh:
  arm:
    rows:
      slide: {variable: d, alpha: 90 deg, link: {mass: 2}}
      turn: {a: L, link: {mass: 1.5, center_of_mass: [-L/2, 0, 0], inertia: {zz: 0.1}}}
      swing:
        a: 0.4
        alpha: 30 deg
        link: {mass: 0.7, center_of_mass: [-0.2, 0, 0.1], inertia: {xx: 0.02, yy: 0.03, zz: 0.03}}
points: {tip: {swing: [0, 0, 0.05]}}
forces:
  load:
    {type: force, point: swing.tip, value: [3, -2, 5], law: {type: harmonic, amplitude: 1, frequency: 0.7, phase: 1}}
  spring: {type: spring_damper, points: [ground.origin, swing.tip], stiffness: k, damping: 2, natural_length: 0.3}
"""
INVERSE = """\
sensors:
  tau: {type: torques}
  lift: {type: torque, coordinate: slide.displacement}
  r: {type: position, point: swing.tip}
objectives:
  effort: {integral: "dot(tau, tau)", unit: N^2 m^2 s}
  peak: {maximum: lift, sharpness: 0.3}
  reach: {integral: "dot(r, r)*norm(tau)"}
analysis:
  type: inverse_dynamics
  sampling: 0.01
  duration: 0.5
  motion: {all: {type: harmonic, amplitude: amplitude, frequency: 1.5}}
  sensitivity: {method: ddm}
checks:
  start: {sensor: r, values: [{time: 0, value: [L + 0.4, 0.025, 0.0433012701892219]}], relative_tolerance: 1}
"""


@pytest.fixture
def arm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.yaml").write_text(ARM + INVERSE)
    return tmp_path / "arm.yaml"


def test_run(arm, capsys):
    assert call(["run", "arm.yaml", "--json", "--quiet"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["analysis"], report["steps"], report["sensitivity"]) == ("inverse_dynamics", 50, "ddm")
    assert set(report["objectives"]["effort"]["gradient"]) == {"L", "amplitude", "k"}
    with h5py.File("arm.h5") as file:
        assert file["torque"].shape == (51, 3)
        assert file["sensitivity/torque/position"].shape == (51, 3, 3)
        assert file["sensitivity/torque/parameter"].shape == (51, 3, 3)
        assert [dim.label for dim in file["sensitivity/torque/velocity"].dims] == [
            "time",
            "coordinate",
            "with_respect_to",
        ]
        assert np.array_equal(file["sensors/tau"][()], file["torque"][()])
        weights = np.full(51, 0.01)
        weights[[0, -1]] = 0.005
        torque, by_parameter = file["torque"][()], file["sensitivity/torque/parameter"][()]
        gradient = 2 * np.einsum("t,ti,tip->p", weights, torque, by_parameter)
        assert np.allclose(file["objectives/effort/gradient"][()], gradient, rtol=1e-12)


def test_without_sensitivities_only_torques_are_written(arm):
    assert call(["run", "arm.yaml", "--sensitivity", "none", "--quiet"]) == 0
    with h5py.File("arm.h5") as file:
        assert "torque" in file and "sensitivity" not in file


def test_check_differentiates_torques_and_objectives(arm, capsys):
    assert call(["check", "arm.yaml", "--json"]) == 0
    checks = json.loads(capsys.readouterr().out)["checks"]
    numerical = [check for check in checks if check["kind"] == "numerical"]
    assert {check["objective"] for check in numerical} == {"effort", "peak", "reach", "random sum of torques"}
    assert max(check["relative_error"] for check in numerical) < 1e-7
    kinds = {check["parameter"].split()[0] for check in numerical if check["objective"] == "random sum of torques"}
    assert kinds == {"position", "velocity", "acceleration", "all"}


def test_a_wrong_pinned_torque_fails(arm, capsys):
    wrong = "  wrong: {sensor: lift, values: [{time: 0.2, value: 1}]}\n"
    arm.write_text(ARM + INVERSE + wrong)
    assert call(["check", "arm.yaml", "--json"]) == 1
    capsys.readouterr()


def test_torques_of_a_forward_solution_are_the_applied_ones(arm, capsys):
    drives = "".join(
        f"  {name}: {{type: drive, coordinate: {coordinate}, value: {value}}}\n"
        for name, coordinate, value in (
            ("a", "slide.displacement", 35),
            ("b", "turn.angle", 4),
            ("c", "swing.angle", -1),
        )
    )
    forward = "analysis: {step: 1e-3, duration: 0.3, tolerance: 1e-13}\n"
    (arm.parent / "forward.yaml").write_text(ARM + drives + forward)
    assert call(["run", "forward.yaml", "--quiet"]) == 0
    motion = "motion: {table: {file: forward.h5, derivatives: table}}"
    table = f"analysis: {{type: inverse_dynamics, sampling: 1e-3, duration: 0.3, {motion}}}\n"
    (arm.parent / "back.yaml").write_text(ARM + table)
    assert call(["run", "back.yaml", "--quiet"]) == 0
    with h5py.File("back.h5") as file:
        assert np.allclose(file["torque"][()], [35, 4, -1], atol=1e-8)


def test_a_spline_through_samples_comes_near_the_law(arm, capsys):
    assert call(["run", "arm.yaml", "--quiet", "-o", "law.h5"]) == 0
    with h5py.File("law.h5") as file:
        time, position = file["time"][()], file["coordinates/position"][()]
        exact = file["torque"][()]
    names = "time,slide.displacement,turn.angle,swing.angle"
    np.savetxt("walk.csv", np.column_stack([time, position]), delimiter=",", header=names, comments="")
    arm.write_text(
        (ARM + INVERSE).replace(
            "all: {type: harmonic, amplitude: amplitude, frequency: 1.5}", "table: {file: walk.csv}"
        )
    )
    assert call(["run", "arm.yaml", "--quiet", "-o", "spline.h5"]) == 0
    with h5py.File("spline.h5") as file:
        assert abs(file["torque"][5:-5] - exact[5:-5]).max() < 2e-3 * abs(exact).max()
    capsys.readouterr()
    assert call(["run", "arm.yaml", "-s", "analysis.sampling=0.1"]) == 0
    told = capsys.readouterr().err
    assert "take more samples: a shorter sampling" in told and "a shorter step" not in told


def test_the_end_of_a_motion_between_rows_is_not_said_to_be_exact(arm, capsys):
    time = np.linspace(0.0, 0.5, 26)
    rows = np.column_stack([time, *[np.sin(6.0 * time)] * 3])
    np.savetxt("walk.csv", rows, delimiter=",", header="time,slide.displacement,turn.angle,swing.angle", comments="")
    law = (ARM + INVERSE).replace('{integral: "dot(tau, tau)", unit: N^2 m^2 s}', "{final: lift}")
    table = law.replace("all: {type: harmonic, amplitude: amplitude, frequency: 1.5}", "table: {file: walk.csv}")
    for motion, told in ((law, 0.0), (table, None)):
        arm.write_text(motion)
        assert call(["run", "arm.yaml", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["objectives"]["effort"]["discretisation"]["value"] == told
        assert call(["run", "arm.yaml"]) == 0
        assert ("of quadrature over time points alone" in capsys.readouterr().out) == (told is None)
    assert call(["run", "arm.yaml", "--step", "auto", "--accuracy", "1e-2", "--json"]) == 0
    seen = capsys.readouterr()
    assert json.loads(seen.out)["objectives"]["effort"]["discretisation"]["value"] is None
    assert "quadrature of objectives and gradients within" in seen.err


def test_faults_have_their_exit_codes(arm, capsys):
    arm.write_text(ARM + INVERSE + "constraints: {rope: {type: distance, points: [ground.origin, swing.tip]}}\n")
    assert call(["run", "arm.yaml"]) == 3
    assert "loops and constraints leave fewer freedoms than coordinates" in capsys.readouterr().err
    arm.write_text((ARM + INVERSE).replace("all: {", "table: {file: none.csv}, all: {"))
    assert call(["run", "arm.yaml"]) == 3
    assert "none.csv" in capsys.readouterr().err


def test_blocks_join_and_memory_is_bounded(arm, monkeypatch):
    problem = assembly.build(spec.load(arm), sensitivity="ddm", duration=200.0).problem
    whole = InverseAnalysis(problem).at(np.arange(0, 20) * 0.01)
    with monkeypatch.context() as patched:
        patched.setattr(analysis, "BLOCK_NUMBERS", 250)
        torque = [block.torque.copy() for block in islice(inverse(problem), 3)]
    assert len(torque[0]) == 6 and np.allclose(np.concatenate(torque), whole.torque[:18], rtol=1e-14)
    tracemalloc.start()
    instants = sum(len(block.time) for block in inverse(problem))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert instants == 20001
    assert peak < 100e6
