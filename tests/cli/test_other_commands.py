"""``validate``, ``info``, ``schema`` and ``inspect``."""

import json
import re

import h5py
import jsonschema
import pytest
import yaml

from .conftest import PENDULUM, ROOT


def test_validate_lists_every_error(mbsim, variant, pendulum):
    path = variant("point: O, axis: z", "point: OO, axis: zz")
    done = mbsim("validate", path, "--json")
    assert done.code == 3 and done.json["valid"] is False and len(done.json["errors"]) >= 2
    assert set(done.json["errors"][0]) == {"file", "line", "column", "path", "message", "hint", "code"}
    people = mbsim("validate", path, pendulum)
    assert people.code == 3 and people.err.count("variant.yaml:9:") >= 2 and "2 files: " in people.out
    assert mbsim("validate", pendulum, "--json").json == {"valid": True, "errors": [], "warnings": []}


def test_validate_reads_the_files_of_measurements_and_of_cases(mbsim, variant, tmp_path):
    stated = "measurements: {one: {file: one.csv, time: t, columns: {angle: {sensor: angle}}}}\n"
    stated += "study: {few: {csv: {file: cases.csv}}}\nobjectives:"
    model = variant("objectives:", stated)
    missing = mbsim("validate", model)
    assert missing.code == 5 and "one.csv" in missing.err and "cases.csv" in missing.err
    (tmp_path / "one.csv").write_text("t,turn\n0,1\n")
    wrong = mbsim("validate", model)
    assert wrong.code == 5 and re.search(r"one\.csv has no column 'angle'", wrong.err) and "cases.csv" in wrong.err
    (tmp_path / "one.csv").write_text("t,angle\n0,1\n")
    (tmp_path / "cases.csv").write_text("length\n1\n")
    wrong = mbsim("validate", model)
    assert wrong.code == 5 and "cases.csv: column 'length' is no parameter" in wrong.err
    (tmp_path / "cases.csv").write_text("L\n1\n")
    assert mbsim("validate", model).code == 0


def test_validate_assembles(mbsim, variant):
    path = variant(
        "forces:",
        "constraints: {c: {type: distance, points: [ground.O, rod.center_of_mass], distance: 3}}\nforces:",
    )
    done = mbsim("validate", path)
    assert done.code == 3 and "off by 2.5 m" in done.err


def test_info(mbsim, pendulum):
    report = mbsim("info", pendulum, "--json").json
    assert report["mobility"] == 1 and report["cut_joints"] == [] and report["joint_parent"] == [[1, 0]]
    uses = {parameter["name"]: parameter["used_in"] for parameter in report["parameters"]}
    assert uses["k"] == ["forces.spring.stiffness"] and "bodies.rod.shape.length" in uses["L"]
    people = mbsim("info", pendulum)
    assert people.code == 0 and people.err == "" and "A.angle*" in people.out
    assert "1 body, 1 joint, 1 coordinate, 0 constraints of rank 0, mobility 1" in people.out


def test_info_names_the_keys_that_parameters_stand_at(mbsim, tmp_path):
    """Not those that short forms are made into, nor any twice."""
    (tmp_path / "crane.yaml").write_text("""\
mbsim: 1
parameters: {k: 9000, T: 0.3, f: 2, r: 0.1}
points: {A: {ground: [0, 0, 1]}, C: {ground: [1, 0, 2]}}
bodies: {load: {mass: 20}}
joints:
  guide: {type: prismatic, bodies: [ground, load], point: origin, axis: z, friction: {loss: f, velocity: 0.01}}
cables:
  rope: {path: [ground.A, {center: ground.C, axis: ground.y, radius: r}, load.origin], stiffness: k, length: 3}
states: {lag: {initial: 0.3, rate: (guide.displacement - lag)/T}}
controllers: {lift: {type: pid, coordinate: guide.displacement, target: lag + r*sin(t), kp: k}}
analysis: {duration: 0.1, step: 0.01}
""")
    uses = {one["name"]: one["used_in"] for one in mbsim("info", "crane.yaml", "--json").json["parameters"]}
    assert uses == {
        "k": ["cables.rope.stiffness", "controllers.lift.kp"],
        "T": ["states.lag.rate"],
        "f": ["joints.guide.friction.loss"],
        "r": ["cables.rope.path[1].radius", "controllers.lift.target"],
    }


def test_info_of_a_body_that_deforms(mbsim):
    model = ROOT / "models/flexible/slider_crank.yaml"
    joints = {joint["name"]: joint["type"] for joint in mbsim("info", model, "--json").json["joints"]}
    assert joints["crank:pin"] == "node"
    people = mbsim("info", model)
    assert people.code == 0 and "crank:pin.angle_z" not in people.out and "crank.q6*" in people.out


def test_schema_accepts_the_models(mbsim, tmp_path):
    done = mbsim("schema")
    assert done.code == 0
    jsonschema.validate(yaml.safe_load(PENDULUM), json.loads(done.out))
    assert mbsim("schema", "-o", "s.json").code == 0 and (tmp_path / "s.json").read_text() == done.out
    assert mbsim("schema", "-o", "no/s.json").code == 5
    refused = mbsim("schema", "--force")
    assert refused.code == 2 and not refused.out and "no FILE is given" in refused.err


def test_inspect(mbsim, pendulum):
    mbsim("run", pendulum)
    report = mbsim("inspect", "pendulum.h5", "--json").json
    assert report["instants"] == 51 and report["status"] == "complete" and report["end"] == 0.5
    assert report["datasets"]["sensitivity/sensors/angle"]["axes"] == ["time", "scalar", "parameter"]
    people = mbsim("inspect", "pendulum.h5")
    assert people.code == 0 and "d/d L [m]" in people.out and "51 x 1 x 2" in people.out
    assert "units/sensitivity/sensors/angle" in report["datasets"]
    assert "units/" not in people.err and "work" not in people.err


def test_info_tells_driven_coordinates_apart(mbsim, variant):
    driven = "constraints: {m: {type: motion, coordinate: A.angle, law: {type: constant, value: -60 deg}}}\nforces:"
    report = mbsim("info", variant("forces:", driven), "--json").json
    assert (report["mobility"], report["mobility_without_motions"], report["tree_joints"]) == (0, 1, ["A"])


def test_results_are_on_standard_output_and_only_warnings_beside_them(mbsim, pendulum):
    """As programs of every system have it, so that ``mbsim info m.yaml | less`` shows something."""
    mbsim("run", pendulum)
    of_model = (["run"], ["check"], ["validate"], ["info"])
    of_result = (["inspect", "pendulum.h5"], ["plot", "pendulum.h5", "--list"])
    mbsim("sweep", pendulum, "--grid", "k=1,2", "-o", "st", "--sensitivity", "none")
    for command in (*([*words, pendulum] for words in of_model), *of_result, ["doctor"]):
        done, as_json = mbsim(*command), mbsim(*command, "--json")
        assert done.code == as_json.code == 0 and done.out and not done.err, command
        assert isinstance(as_json.json, dict) and not as_json.err, command
    assert "2 done" in mbsim("sweep", "status", "st").out and "2 done" in mbsim("sweep", "collect", "st").out
    written = mbsim("sweep", "script", "st", "--parallel", "--json").json
    assert written["shards"] == written["cases"] == 2 and written["start"] == f"bash {written['output']}"


def test_warnings_are_on_standard_error(mbsim, variant):
    done = mbsim("run", variant("k: {value: 2.0", "unused: {value: 1.0}\n  k: {value: 2.0"))
    assert done.code == 0 and "nothing reads this parameter" in done.err and "warning" not in done.out


COMMANDS = [
    "run",
    "check",
    "validate",
    "info",
    "schema",
    "inspect",
    "plot",
    "animate",
    "reduce",
    "linearize",
    "optimize",
]
COMMANDS += ["compile"]
OF_STUDIES = ["run", "retry", "status", "collect", "extract", "script"]


@pytest.mark.parametrize("command", [*([name] for name in COMMANDS), *(["sweep", name] for name in OF_STUDIES)])
def test_help_names_arguments_as_people_read_them(mbsim, command):
    done = mbsim(*command, "--help")
    usage, *lines = (line for line in done.out.splitlines() if line)
    assert done.code == 0 and not set("{}<>") & set(usage) and "[[" not in done.out
    assert not any(f"<{kind}" in line for line in lines for kind in ("list", "path", "str", "int", "float"))
    if command[-1] in ("optimize", "info"):
        assert usage.endswith({"optimize": "MODEL.yaml [NAME]", "info": "MODEL.yaml"}[command[-1]])


def test_a_run_without_objectives_shows_the_extremes_of_its_sensors(mbsim, variant):
    model = variant("objectives: {swing: {integral: angle**2, unit: rad^2 s}}\n", "")
    found = mbsim("run", model, "--json").json["extremes"]
    with h5py.File("variant.h5") as file:
        time, angle = file["time"][:], file["sensors/angle"][:, 0]
    expected = [angle.min(), time[angle.argmin()], angle.max(), time[angle.argmax()]]
    assert [found["angle"][key] for key in ("least", "least_at", "largest", "largest_at")] == expected
    shown = mbsim("run", model).out
    assert "angle [rad]" in shown and f"{angle.min():.8g}" in shown and f"{angle.max():.8g}" in shown
    assert "extremes" not in mbsim("run", variant("k: {value: 2.0", "k: {value: 1.0"), "--json").json


def test_every_command_but_schema_takes_json(mbsim):
    for command in (*([name] for name in COMMANDS), ["doctor"], *(["sweep", name] for name in OF_STUDIES)):
        assert ("--json" in mbsim(*command, "--help").out) == (command != ["schema"]), command
