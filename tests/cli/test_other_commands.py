"""``validate``, ``info``, ``schema`` and ``inspect``."""

import json

import jsonschema
import yaml

from .conftest import PENDULUM, ROOT


def test_validate_lists_every_error(mbsim, variant, pendulum):
    path = variant("point: O, axis: z", "point: OO, axis: zz")
    done = mbsim("validate", path, "--json")
    assert done.code == 3 and done.json["valid"] is False and len(done.json["errors"]) >= 2
    assert set(done.json["errors"][0]) == {"file", "line", "column", "path", "message", "hint"}
    people = mbsim("validate", path, pendulum)
    assert people.code == 3 and people.err.count("variant.yaml:9:") >= 2 and "2 files: " in people.err
    assert mbsim("validate", pendulum, "--json").json == {"valid": True, "errors": [], "warnings": []}


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
    assert people.code == 0 and people.out == "" and "mobility 1" in people.err and "A.angle*" in people.err


def test_info_of_a_body_that_deforms(mbsim):
    model = ROOT / "models/flexible/slider_crank.yaml"
    joints = {joint["name"]: joint["type"] for joint in mbsim("info", model, "--json").json["joints"]}
    assert joints["crank:pin"] == "node"
    people = mbsim("info", model)
    assert people.code == 0 and "crank:pin.angle_z" not in people.err and "crank.q6*" in people.err


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
    assert people.code == 0 and "d/d L [m]" in people.err and "51 x 1 x 2" in people.err
    assert "units/sensitivity/sensors/angle" in report["datasets"]
    assert "units/" not in people.err and "work" not in people.err


def test_info_tells_driven_coordinates_apart(mbsim, variant):
    driven = "constraints: {m: {type: motion, coordinate: A.angle, law: {type: constant, value: -60 deg}}}\nforces:"
    report = mbsim("info", variant("forces:", driven), "--json").json
    assert (report["mobility"], report["mobility_without_motions"], report["tree_joints"]) == (0, 1, ["A"])
