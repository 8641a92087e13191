"""Every number of a file as a parameter: names, values that stay, derivatives, and which numbers matter most."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.spec.model_file import SECTIONS as ALL_SECTIONS
from mbsim_cli.spec.parameters import SECTIONS
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.verification import verify
from tests.assembly.texts import MODELS
from tests.cli.conftest import PENDULUM

NUMBERS = [
    "gravity.x", "gravity.y", "gravity.z",
    *(f"points.O.{body}.{axis}" for body in ("ground", "rod") for axis in "xyz"),
    "bodies.rod.shape.mass", "joints.A.initial.angle", "forces.spring.damping", "forces.spring.natural_angle",
]  # fmt: skip
TEMPLATES = """\
mbsim: 1
constants: {h: 0.5}
gravity: [0, -9.81, 0]
repeat:
  links:
    for: {i: [1, 2]}
    points: {"P{i}": {ground: [0, h, 0], "b{i}": [0, 0, 0.1]}}
    bodies: {"b{i}": {mass: 2, inertia: {xx: 1, yy: 1, zz: 1}, center_of_mass: [0.3, 0, 0]}}
    joints: {"J{i}": {type: revolute, bodies: [ground, "b{i}"], point: "P{i}", axis: z}}
sensors: {s: {type: position, point: b1.P1}}
objectives: {o: {final: s.y}}
analysis: {duration: 0.1, step: 0.01}
"""
CRANE = """\
mbsim: 1
points: {A: {ground: [0, 0, 1]}, C: {ground: [1, 0, 1]}}
bodies: {load: {mass: 2}}
joints: {guide: {type: prismatic, bodies: [ground, load], point: origin, axis: z}}
cables:
  rope: {path: [ground.A, {center: ground.C, axis: ground.y, radius: 0.1}, load.origin], stiffness: 9, length: 2}
states: {lag: {initial: 0.3, rate: guide.displacement - lag}}
controllers:
  lift: {type: pid, coordinate: guide.displacement, target: lag, kp: 8, ki: 3, filter: 0.1, kd: 2}
  late: {type: delay, input: lag, time: 0.02, initial: 0.1}
  slow: {type: transfer_function, input: late, numerator: [3], denominator: [2, 5, 1]}
analysis: {duration: 0.1, step: 0.01, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "pendulum.yaml"
    file.write_text(PENDULUM)
    return file


def test_numbers_are_named_by_their_paths(path):
    model = mbsim.load(path, all_numbers=True)
    assert sorted(model.differentiated) == sorted(["L", "k", *NUMBERS])
    assert model.parameters["joints.A.initial.angle"] == pytest.approx(-np.pi / 3)
    assert model.parameters["bodies.rod.shape.mass"] == 3.0 and "bodies.rod.shape.length" not in model.parameters


@pytest.mark.parametrize("name", ["fivebar", "buggy", "human43", "robots/ur5"])
def test_numbers_keep_their_values(name):
    plain, named = (spec.load(MODELS / f"{name}.yaml", every_number=wanted) for wanted in (False, True))
    assert len(named.parameters) > 30 + len(plain.parameters)
    theta = [build(file, sensitivity="none").problem.theta for file in (plain, named)]
    np.testing.assert_array_equal(*theta)


def test_every_section_counts_that_the_physics_reads():
    stand_for_themselves, of_results = {"parameters", "constants", "controls"}, {"checks"}
    assert {*ALL_SECTIONS} - {*SECTIONS} == stand_for_themselves | of_results


def test_short_forms_have_numbers(tmp_path):
    """Each of cables, states and controllers moves some number of the solver; lists are no vectors of three axes."""
    file = tmp_path / "crane.yaml"
    file.write_text(CRANE)
    model = spec.load(file, every_number=True)
    sections = ("cables", "states", "controllers")
    names = {path: name for name, path in model.derived.paths.items() if path.startswith(sections)}
    assert list(names) == [
        "cables.rope.path[1].radius", "cables.rope.stiffness", "cables.rope.length", "states.lag.initial",
        *(f"controllers.lift.{key}" for key in ("kp", "ki", "kd", "filter")),
        "controllers.late.time", "controllers.late.initial",
        "controllers.slow.numerator[0]", *(f"controllers.slow.denominator[{k}]" for k in range(3)),
    ]  # fmt: skip
    assembled = build(model)
    columns = dict(zip([each.key for each in assembled.parameters], assembled.problem.theta_rho.T, strict=True))
    assert [path for path, name in names.items() if not columns[name].any()] == []


def test_overrides_stand_before_all_numbers(path):
    model = spec.load(path, {"L": "1.5", "k": "2*L"}, every_number=True)
    theta = build(model, sensitivity="none").problem.theta
    np.testing.assert_array_equal(
        theta, build(spec.load(path, {"L": "1.5", "k": "3"}), sensitivity="none").problem.theta
    )


def test_templates_and_constants(tmp_path):
    file = tmp_path / "m.yaml"
    file.write_text(TEMPLATES)
    known = mbsim.load(file, all_numbers=True).parameters
    assert known["h"] == 0.5 and known["bodies.b2.center_of_mass.x"] == 0.3 and known["points.P1.b1.z"] == 0.1
    assert "points.P1.ground.y" not in known  # it is h


def test_gradients_are_those_of_named_parameters_and_of_differences(path):
    named, every = mbsim.load(path), mbsim.load(path, all_numbers=True)
    found, whole = named.run().objectives["swing"], every.run().objectives["swing"]
    assert whole.value == pytest.approx(found.value, rel=1e-14)
    for name in ("L", "k"):
        assert whole.by(name) == pytest.approx(found.by(name), rel=1e-12)
    assert whole.by("gravity.y") == pytest.approx(_difference(every, "gravity.y"), rel=1e-8)
    assert whole.by("forces.spring.damping") == pytest.approx(_difference(every, "forces.spring.damping"), rel=1e-8)


def _difference(model, name):
    value, h = model.parameters[name], 1e-4
    above, below = (model.value_and_gradient({name: value + change})[0] for change in (h, -h))
    return (above - below) / (2 * h)


def test_a_direction_of_all_numbers_of_a_loop():
    """Of the five-bar's numbers those out of its plane have no derivative, and the others' is that of differences."""
    settings = Settings(all_numbers=True, method="ddm", step=0.01, duration=5.0, without=("ali3p-natural",))
    rows = verify(MODELS / "fivebar.yaml", settings, 0, SILENT)
    undefined = [row.parameter for row in rows if row.kind == "undefined"]
    assert len(undefined) == 10 and all(name.endswith(".z") for name in undefined)
    numerical = [row for row in rows if row.kind == "numerical"]
    assert len(numerical) == 3 and all(row.passed for row in (*numerical, *(r for r in rows if r.kind == "undefined")))
