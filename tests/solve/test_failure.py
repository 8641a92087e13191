"""A run that fails keeps the motion before, and says when, where and in what way it failed."""

import json
import re

import h5py
import numpy as np
import pytest

import mbsim_cli
from mbsim_cli.errors import AnalysisError
from mbsim_cli.model.codes import Status
from mbsim_cli.solve.blocks import BrokenOff
from mbsim_cli.solve.faults import Diagnosis
from mbsim_cli.solve.forward import forward
from mbsim_cli.solve.initial import assemble as assemble_start
from mbsim_cli.solve.lanes import RunAhead
from mbsim_cli.solve.open_trees import open_tree
from mbsim_cli.study.assembling import Settings, build, load
from tests.assembly.texts import assemble
from tests.cli.conftest import PENDULUM, mbsim  # noqa: F401, a fixture

DRIVEN = """
gravity: [0, -9.81, 0]
points:
  A: {ground: [0, 0, 0], crank: [0, 0, 0]}
  B: {crank: [1, 0, 0], rod: [0, 0, 0]}
  C: {rod: [1, 0, 0], rocker: [ROCKER, 0, 0]}
  D: {rocker: [0, 0, 0], ground: [GROUND, 0, 0]}
bodies:
  crank: {mass: 1, inertia: {zz: 0.5}}
  rod: {mass: 0.3, center_of_mass: [0.5, 0, 0], inertia: {zz: 0.03}}
  rocker: {mass: 0.3, center_of_mass: [0.4, 0, 0], inertia: {zz: 0.03}}
joints:
  A: {type: revolute, bodies: [ground, crank], point: A, axis: z}
  B: {type: revolute, bodies: [crank, rod], point: B, axis: z, initial: {angle: -0.5}}
  C: {type: revolute, bodies: [rod, rocker], point: C, axis: z}
  D: {type: revolute, bodies: [ground, rocker], point: D, axis: z, initial: {angle: 1.5}}
constraints:
  drive: {type: motion, coordinate: A.angle, law: {type: polynomial, coefficients: [1, 1]}}
sensors: {turn: {type: coordinate, coordinate: A.angle}}
objectives: {end: {final: turn}}
"""
LOCKS = DRIVEN.replace("ROCKER", "1").replace("GROUND", "1.5")
LIMIT = float(np.arccos(-0.25))  # angle of the crank at which rod and rocker are stretched
ANALYSIS = "analysis: {type: forward_dynamics, step: 1e-2, duration: 4}\n"


def broken(problem):
    """The blocks of a run that fails, and its sentence."""
    blocks = []
    with pytest.raises(BrokenOff) as caught:
        blocks.extend(forward(problem) if False else [])
        for block in forward(problem):
            blocks.append(block)
    return blocks, str(caught.value)


def test_a_mechanism_that_locks(tmp_path):
    blocks, sentence = broken(assemble(tmp_path, LOCKS, step=1e-2, duration=4.0).problem)
    time, turn = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("time", "sensors"))
    assert LIMIT - 1 - 0.05 < time[-1] < LIMIT - 1
    assert turn[:, 0] == pytest.approx(1.0 + time, abs=1e-8)  # sensors of the last rows, too
    assert np.isfinite(turn).all()
    said = float(sentence.partition("at t = ")[2].partition(" s")[0])
    assert said == pytest.approx(time[-1] + 0.01)
    assert "locks" in sentence and "'C'" in sentence and " m;" in sentence and "'drive'" in sentence


def test_the_result_keeps_the_motion_up_to_the_failure(tmp_path, mbsim):  # noqa: F811
    (tmp_path / "locks.yaml").write_text("mbsim: 1\n" + LOCKS + ANALYSIS)
    done = mbsim("run", "locks.yaml", "--json")
    report = json.loads(done.out)
    assert done.code == 4 and "locks" in report["message"] and report["partial"].endswith("locks.h5.partial")
    with h5py.File(tmp_path / "locks.h5.partial") as file:
        assert LIMIT - 1 - 0.05 < file["time"][-1] < LIMIT - 1
        assert len(file["sensors/turn"]) == len(file["time"]) > 70
        assert "locks" in file["meta/warnings"].asstr()[0]


def test_a_singular_position(tmp_path):
    """A parallelogram that lies flat: there it can go on in two ways."""
    text = DRIVEN.replace("ROCKER", "1").replace("GROUND", "1").replace("coefficients: [1, 1]", "coefficients: [1, -1]")
    problem = assemble(tmp_path, text.replace("angle: 1.5", "angle: 1").replace("angle: -0.5", "angle: -1")).problem
    start = assemble_start(problem)
    flat = np.zeros(3)
    sentence = Diagnosis(problem, start.theta, 1.0).sentence(Status.SINGULAR, start.state.z, start.rank, flat + 1e-4)
    assert "singular position at t = 1 s" in sentence and "'C'" in sentence
    assert Diagnosis(problem, start.theta, 0.0).sentence(
        Status.NO_CONVERGENCE, start.state.z, start.rank, start.state.z
    ) is None  # fmt: skip


def test_no_convergence_names_coordinate_and_time(tmp_path):
    """A force that jumps up to be as stiff as no step resolves; the open tree has no constraint to name."""
    text = """
bodies: {a: {mass: 1}}
joints: {slide: {type: prismatic, bodies: [ground, a], point: origin, axis: x}}
vectors: {x: {all: [1, 0, 0]}}
forces: {blow: {type: drive, coordinate: slide.displacement, law: {type: polynomial, coefficients: [0, 0, 1e300]}}}
sensors: {x: {type: coordinate, coordinate: slide.displacement}}
"""
    with pytest.raises(AnalysisError, match=r"at t = .* s; the largest acceleration is that of 'slide.displacement'"):
        list(forward(assemble(tmp_path, text, step=1e3, duration=1e7).problem))


MASSLESS = """
vectors: {z: {all: [0, 0, 1]}, x: {all: [1, 0, 0]}}
bodies: {arm: {mass: 1, inertia: {xx: 1}}, ball: {mass: 2}}
joints:
  A: {type: revolute, bodies: [ground, arm], point: origin, axis: z}
  S: {type: prismatic, bodies: [arm, ball], point: origin, axis: x, initial: {displacement: 1}}
CONSTRAINTS
"""
DRIVE = (
    "constraints: {drive: {type: motion, coordinate: S.displacement, law: {type: polynomial, coefficients: [1, -1]}}}"
)


@pytest.mark.parametrize("constraints", ["", DRIVE])
def test_a_coordinate_that_nothing_resists_is_named(tmp_path, constraints):
    """A ball on a rod without inertia about its axis: at the axis the rod may turn as fast as it likes."""
    problem = assemble(tmp_path, MASSLESS.replace("CONSTRAINTS", constraints)).problem
    start = assemble_start(problem)

    def sentence(status, angle, displacement):
        place = np.array([angle, displacement])
        return Diagnosis(problem, start.theta, 1.0 - displacement).sentence(status, start.state.z, start.rank, place)

    expected = "singular at t = 1 s: neither mass nor inertia resists 'A.angle' in this position"
    assert expected in sentence(Status.SINGULAR, 0.3, 0.0)
    assert sentence(Status.NO_CONVERGENCE, 0.3, 0.0) is None
    assert sentence(Status.SINGULAR, 0.3, 0.5) is None


@pytest.mark.parametrize("constraints", ["", DRIVE])
@pytest.mark.parametrize("beyond", [np.nan, np.inf, 1e200])
def test_a_motion_that_ran_away_is_not_diagnosed(tmp_path, constraints, beyond):
    """What decomposes matrices ends with an error where they are not finite."""
    problem = assemble(tmp_path, MASSLESS.replace("CONSTRAINTS", constraints)).problem
    start, away = assemble_start(problem), np.full(2, beyond)
    with np.errstate(all="ignore"):
        found = Diagnosis(problem, start.theta, 1.0).sentence(Status.SINGULAR, start.state.z, start.rank, away)
    assert found is None or "locks" in found


def test_what_is_singular_does_not_depend_on_units(tmp_path):
    """A parallelogram of metres and one of millimetres, flat."""
    text = DRIVEN.replace("ROCKER", "1").replace("GROUND", "1").replace("coefficients: [1, 1]", "coefficients: [1, -1]")
    text = text.replace("angle: 1.5", "angle: 1").replace("angle: -0.5", "angle: -1")
    small = text
    for length in ("[1, 0, 0]", "[0.5, 0, 0]", "[0.4, 0, 0]"):
        small = small.replace(length, "[" + length[1:].partition(",")[0] + "*1e-3, 0, 0]")
    for inertia in ("zz: 0.5", "zz: 0.03"):
        small = small.replace(inertia, f"{inertia}*1e-6")
    said = []
    for model in (text, small):
        problem = assemble(tmp_path, model).problem
        start = assemble_start(problem)
        diagnosis = Diagnosis(problem, start.theta, 1.0)
        sentence = diagnosis.sentence(Status.SINGULAR, start.state.z, start.rank, np.zeros(3) + 1e-4)
        said.append(re.sub(r"\(to .*?e-1\d of", "(to nothing of", sentence))
    assert said[0] == said[1] and "singular position" in said[0]


def adaptive(tmp_path, spring, angle="-60 deg"):
    """The pendulum by dop853 with another spring."""
    text = PENDULUM.replace("stiffness: k, damping: 0.1", spring).partition("checks:")[0].replace("-60 deg", angle)
    options = "type: forward_dynamics, formulation: recursive, integrator: dop853, tolerance: 1e-6"
    (tmp_path / "m.yaml").write_text(text.replace("type: forward_dynamics", options))
    return mbsim_cli.load(tmp_path / "m.yaml")


def test_a_pace_without_hope_ends_early(tmp_path, monkeypatch):
    """Half a second would take 1e10 steps, of which ten million are allowed."""
    monkeypatch.setattr(open_tree, "JUDGED", 10_000)
    with pytest.raises(AnalysisError, match=r"^[\d ]+ steps have come to .* more than \d+ times the 10 0") as caught:
        adaptive(tmp_path, "stiffness: 2, damping: -1e6").run(sensitivity="none")
    assert "the error is largest in 'A.angle'" in str(caught.value) and "The model is stiff" not in str(caught.value)


@pytest.mark.parametrize(
    ("spring", "angle", "rate"),
    [
        ("stiffness: 1e15, damping: 0.1", "0", 3.2e7),  # stands but for what steps excite
        ("stiffness: 1e16, damping: 0.1", "-60 deg", 1e8),  # swings in full
        ("stiffness: 1e20, damping: 0.1", "-60 deg", 1e10),
        ("stiffness: 2, damping: 1e8", "-60 deg", 1e8),  # creeps
    ],
)
def test_a_stiff_run_ends_early(tmp_path, monkeypatch, spring, angle, rate):
    """Its fastest motion bounds steps: too many for accuracy, or for stability more than a quarter of all allowed."""
    monkeypatch.setattr(open_tree, "JUDGED", 10_000)
    with pytest.raises(AnalysisError, match=r"^[\d ]{5,9} steps have come to .* The model is stiff, ") as caught:
        adaptive(tmp_path, spring, angle).run(sensitivity="none")
    found = float(re.search(r"rate of about (\S+) 1/s; .* in 'A.angle'; try integrator: esdirk", str(caught.value))[1])
    tried = int(str(caught.value).partition(" steps")[0].replace(" ", ""))
    assert 0.5 * rate < found < 2 * rate and tried < 100_000


def test_a_run_that_follows_a_fast_motion_goes_on(tmp_path, monkeypatch):
    """Accuracy bounds its steps, which are fewer than allowed; the look ahead leaves the run as it is."""
    model = adaptive(tmp_path, "stiffness: 1e7, damping: 0.1")
    alone = model.run(sensitivity="ddm")
    looked: list[tuple[float, float]] = []
    monkeypatch.setattr(open_tree, "JUDGED", 100)
    monkeypatch.setattr(open_tree, "STIFFLY", 0.0)
    look = open_tree.OpenTreeSimulation._fastest
    monkeypatch.setattr(
        open_tree.OpenTreeSimulation, "_fastest", lambda *given: looked.append(found := look(*given)) or found
    )
    again = model.run(sensitivity="ddm")
    reach, rate = looked[-1]
    assert open_tree.FOLLOWED < reach < open_tree.NEAR and 1500 < rate < 6000
    assert np.array_equal(alone["angle"], again["angle"])
    for name in ("value", "gradient"):
        assert alone.report["objectives"]["swing"][name] == again.report["objectives"]["swing"][name]


def test_a_look_ahead_leaves_the_rows_of_a_run_made_beside_others(tmp_path):
    """Also where it reaches the end of the run."""
    adaptive(tmp_path, "stiffness: k, damping: 0.1")
    run = RunAhead(build(load(tmp_path / "m.yaml", Settings(method="none")), Settings(method="none"), None).problem)
    calls = run.calls()
    calls.send(run.drive(run.model, run.scheme, next(calls)))
    ((record, *_), *_), *_ = run._made
    before = [array.copy() for array in record]
    assert run.steps_ahead(1000).end[-1] == 0.5
    assert all(map(np.array_equal, before, record))


GRIP = """
mbsim: 1
gravity: [0, 0, 0]
bodies: {cart: {mass: 0.01}}
joints: {rail: {type: prismatic, bodies: [ground, cart], point: origin, axis: x, initial: {velocity: 1}}}
forces: {grip: {type: drive, coordinate: rail.displacement, value: "-60*tanh(rail.displacement.velocity/0.01)"}}
analysis: {step: 1e-2, duration: 0.1}
"""


@pytest.mark.interpreted
def test_a_stiff_force_asks_for_an_integrator_that_chooses_its_steps(mbsim, tmp_path):  # noqa: F811
    (tmp_path / "grip.yaml").write_text(GRIP)
    done = mbsim("run", "grip.yaml")
    assert done.code == 4
    assert "'grip' bends most between its iterates; try a smaller step, or formulation: ali1p-rtdyn1 with" in done.err
