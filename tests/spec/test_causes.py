"""The cause comes first, and what follows from it is not reported; numbers and units as people write them."""

import pickle
from pathlib import Path

import pytest

from mbsim_cli import spec
from mbsim_cli.errors import ModelError
from mbsim_cli.spec.expressions.number import Number
from mbsim_cli.spec.expressions.units import fault_of
from mbsim_cli.spec.reading.messages import Named, nearest, suggest
from tests.spec.example import VALID, editor, issues_of, variant, write

FIVEBAR = (Path(__file__).parents[2] / "models/fivebar.yaml").read_text()
SECTIONS = [line[:-1] for line in FIVEBAR.splitlines() if line.endswith(":") and line[0].isalpha()]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_misspelt_section_is_one_error(tmp_path, section):
    wrong = section[:-3] + section[-2] + section[-3] + section[-1]
    (issue,) = issues_of(tmp_path, FIVEBAR.replace(f"\n{section}:", f"\n{wrong}:"))
    assert issue.endswith(f"{wrong}: unknown key {wrong!r}; did you mean {section!r}?")


def test_there_are_sections():
    assert len(SECTIONS) >= 8


def test_errors_inside_a_misspelt_section_are_found_with_their_place(tmp_path):
    text = VALID.replace("\nbodies:", "\nbodeis:").replace("type: rod, length", "type: rood, length")
    assert [issue.split(": ", 2)[2] for issue in issues_of(tmp_path, text)] == [
        "unknown key 'bodeis'; did you mean 'bodies'?",
        "unknown type 'rood'; did you mean 'rod'?",
    ]


def test_a_section_that_stands_under_both_names_is_not_mixed(tmp_path):
    (issue,) = issues_of(tmp_path, VALID + "\nbodys: {another: {mass: 1}}\n")
    assert "unknown key 'bodys'" in issue


def test_a_key_of_analyses_outside_them_is_one_error(tmp_path):
    (issue,) = issues_of(tmp_path, VALID + "\nduration: 2\n")
    assert issue.endswith("duration: unknown key 'duration'; it is a key of analysis")


def test_what_has_too_many_entries_says_what_they_stand_for(tmp_path):
    (issue,) = issues_of(tmp_path, variant("point: A, axis", "point: [0, 0, 1], axis"))
    assert issue.endswith("point: needs 2 entries, not 3; one point of both bodies, or one of each")


def test_a_name_with_its_body_stands_for_the_name_alone():
    assert nearest("arm.z", ["x", "y", "z"]) == "z"
    assert nearest("arm.w", ["x", "y", "z"]) is None


def test_a_misspelt_type_is_the_cause(tmp_path):
    (issue,) = issues_of(tmp_path, variant("{type: rod, length: 2", "{tpye: rod, length: 2"))
    assert issue.endswith("unknown key 'tpye'; did you mean 'type'?")


def test_a_file_that_cannot_be_included_is_the_only_error(tmp_path):
    text = "mbsim: 1\ninclude: [bse.yaml]\nforces: {s: {type: force, point: a.b, value: [1, 0, 0]}}\n"
    (issue,) = issues_of(tmp_path, text)
    assert "cannot read 'bse.yaml'" in issue


def test_sections_of_ones_own_hold_anchors(tmp_path):
    text = VALID.replace("mbsim: 1", "mbsim: 1\nx-rod: &rod {type: rod, length: 2, mass: 1}\nx-2: [1, 2]")
    text = text.replace("shape: {type: rod, length: 2, mass: 1}", "shape: *rod")
    assert "*rod" in text
    model = spec.load(write(tmp_path, text))
    assert model.bodies["rod"].shape.length == Number(2.0)
    editor().validate(model.source.data() | {"x-rod": {"type": "rod"}})


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("200 kg", "numbers stand without units; write 200; the unit is kg"),
        ("1e-3 s", "numbers stand without units; write 1e-3; the unit is s"),
        ("5 N m/rad", "numbers stand without units; write 5; the unit is N m/rad"),
        ("9.81 m/s^2", "numbers stand without units; write 9.81; the unit is m/s^2"),
        ("20 mm", "numbers stand without units; write 0.02; the unit is m"),
        ("-1.5kN", "numbers stand without units; write -1500; the unit is N"),
        ("30°", "numbers stand without units; write 30 deg"),
        ("5 %", "numbers stand without units; write 0.05"),
        ("40 km/h", "numbers stand without units; write the number alone, in SI units"),
        ("2 a_1", "expression cannot be read: invalid syntax; a product is written 2*a_1"),
    ],
)
def test_numbers_stand_without_units(tmp_path, number, message):
    (issue,) = issues_of(tmp_path, variant("  m: 1.5\n", f"  m: {number}\n"))
    assert issue.split(": ", 2)[2] == message


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("{mass: m, center", "{mass: 200 kg, center", "write 200; the unit is kg"),
        ("{mass: m, center", "{mass: 20 mm, center", "the unit here is kg"),
        ("{angle: -135 deg,", "{angle: 10 mm,", "the unit here is rad; degrees are written 30 deg"),
    ],
)
def test_the_hint_on_a_unit_is_that_of_the_key(tmp_path, old, new, hint):
    (issue,) = issues_of(tmp_path, variant(old, new))
    assert issue.endswith(f"numbers stand without units; {hint}")


@pytest.mark.parametrize(
    "unit", ["", "1", "m", "kg m^2/s", "N m/rad", "N/(m/s)", "m**2", "s^-1", "m^1/2", "N*m", "N·m", "1/s", "rad/s^2"]
)
def test_units(tmp_path, unit):
    assert write_unit(tmp_path, repr(unit)) == []


def write_unit(tmp_path, unit):
    return issues_of(tmp_path, f"mbsim: 1\nparameters: {{a: {{value: 1, unit: {unit}}}}}\n")


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        ("banana", "unknown unit 'banana'; units are products, quotients and powers of SI symbols"),
        ("metre", "unknown unit 'metre'; did you mean 'm'?"),
        ("Nm", "unknown unit 'Nm'; write N m"),
        ("mm", "numbers stand in SI units, and 'mm' is 0.001 m; state the value in m"),
        ("deg", "numbers stand in SI units, and 'deg' is 0.0174533 rad; state the value in rad"),
        ("m//s", "'m//s' is not a unit"),
        ("(m", "'(m' is not a unit"),
    ],
)
def test_wrong_units(tmp_path, unit, message):
    (issue,) = write_unit(tmp_path, f"'{unit}'")
    assert issue.split(": ", 2)[2].startswith(message)


def test_objectives_may_be_counted_in_other_units(tmp_path):
    assert fault_of("mm", coherent=False) is None and fault_of("deg/s", coherent=False) is None
    text = VALID.replace("peak: {maximum", "peak: {unit: UNIT, maximum")
    assert issues_of(tmp_path, text.replace("UNIT", "mm")) == []
    (issue,) = issues_of(tmp_path, text.replace("UNIT", "milimetre"))
    assert "unknown unit 'milimetre'" in issue


def test_the_unit_of_a_plain_number_may_be_one(tmp_path):
    model = spec.load(write(tmp_path, "mbsim: 1\nparameters: {a: {value: 1, unit: 1}}\n"))
    assert model.parameters["a"].unit == "1"


@pytest.mark.parametrize("text", ["bodies:\n\trod: {mass: 1}\n", "bodies:\n  rod:\n  \tmass: 1\n"])
def test_a_tab_is_called_one(tmp_path, text):
    with pytest.raises(ModelError) as caught:
        spec.load(write(tmp_path, f"mbsim: 1\n{text}"))
    (issue,) = caught.value.issues
    assert (issue.message, issue.hint) == ("a tab stands in the indentation", "indent by blanks")
    assert issue.excerpt[issue.column - 1] == "\t"


def test_what_a_wrong_include_lacks_is_not_missed(tmp_path):
    (issue,) = issues_of(tmp_path, "include: base.yaml\nforces: {s: {type: force, point: a.b, value: [1, 0, 0]}}\n")
    assert issue == "model.yaml:1:10: include: must be a list; write [base.yaml]"


def test_a_text_with_braces_needs_quotes(tmp_path):
    with pytest.raises(ModelError) as caught:
        spec.load(write(tmp_path, "mbsim: 1\nrepeat:\n  a: {for: {i: [1, 2]}, joints: {J: {point: P_{i}, axis: z}}}\n"))
    (issue,) = caught.value.issues
    assert (issue.message, issue.column) == ("a text with braces stands without quotes", 47)
    assert issue.hint == 'write "P_{i}" for P_{i}'


def test_far_words_are_not_suggested():
    """A letter or two is a mistake of typing; another word is none."""
    known = ["description", "damping", "stiffness", "center_of_mass", *(f"name_{k}" for k in range(12))]
    assert nearest("friction", known) is None and suggest("friction", known) is None
    assert nearest("stifness", known) == "stiffness" and nearest("center_of_gravity", known) == "center_of_mass"
    assert nearest("tiffness", known) == "stiffness"


def test_a_key_error_says_which_name_may_be_meant():
    with pytest.raises(KeyError, match="no objective 'psi'; did you mean 'psi1'"):
        Named("objective", {"psi1": 1.0})["psi"]
    found = pickle.loads(pickle.dumps(Named("objective", {"psi1": 1.0})))
    assert found == {"psi1": 1.0} and found.get("psi") is None and "psi" not in found


CRANE = """\
mbsim: 1
points: {A: {ground: [0, 0, 1]}, C: {ground: [1, 0, 2]}}
bodies: {load: {mass: 20}}
joints: {guide: {type: prismatic, bodies: [ground, load], point: origin, axis: z}}
cables:
  rope:
    path: [ground.A, {center: ground.C, axis: ground.y, radius: 0.1}, load.origin]
    stiffness: 9
    damping: 2
    length: 3
states: {lag: {rate: guide.displacement - lag}}
controllers: {lift: {type: pid, coordinate: guide.displacement, target: lag, kp: 8, ki: 3, kd: 2, filter: 0.1}}
objectives: {held: {final: lift_integral}}
"""


@pytest.mark.parametrize(
    ("old", "new", "issue"),
    [
        ("filter: 0.1", "filter: 0", "controllers.lift.filter: must be greater than zero, is 0"),
        ("e: guide.d", "e: guid.d", "controllers.lift.coordinate: unknown joint 'guid'; did you mean 'guide'?"),
        ("length: 3", "length: foo", "cables.rope.length: unknown name 'foo'; known: lag, lift_integral, lift_rate, t"),
        ("ground.y", "ground.q", "cables.rope.path[1].axis: unknown vector 'q'; known: x, y, z"),
    ],
)
def test_a_fault_of_a_short_form_is_told_once(tmp_path, old, new, issue):
    """Not what is missing for it, nor what it would have been made into."""
    assert old in CRANE and not issues_of(tmp_path, CRANE)
    (found,) = issues_of(tmp_path, CRANE.replace(old, new))
    assert found.endswith(issue)


def test_a_wrong_range_of_a_sweep_does_not_ask_for_a_sweep(tmp_path):
    text = (
        VALID.split("\nanalysis:")[0] + "\nanalysis: {type: kinematics, sweep: {A.angle: {from: 0, to: 1, count: 1}}}\n"
    )
    found = issues_of(tmp_path, text)
    assert any("must be at least 2" in issue for issue in found), found
    assert not any("is missing" in issue for issue in found), found


@pytest.mark.parametrize(
    "analysis",
    [
        "{type: equilibrium, hold: [%s, %s]}",
        "{type: inverse_dynamics, sampling: 0.1, duration: 1, motion: {all: wave}, drives: [%s, %s]}",
    ],
)
def test_coordinates_are_listed_once(tmp_path, analysis):
    coordinate = "A.angle"
    text = VALID.split("\nanalysis:")[0] + "\nanalysis: " + analysis % (coordinate, coordinate) + "\n"
    (issue,) = issues_of(tmp_path, text)
    assert issue.endswith("[1]: 'A.angle' stands twice"), issue


@pytest.mark.parametrize("initial", ["intervals: 3, initial: [1, 2]", "intervals: 0"])
def test_a_wrong_control_does_not_make_its_force_one_that_exerts_nothing(tmp_path, initial):
    text = VALID.replace("A.angle, law: wave}", "A.angle}") + f"controls: {{u: {{force: motor, {initial}}}}}\n"
    (issue,) = issues_of(tmp_path, text)
    assert "controls.u" in issue, issue


@pytest.mark.parametrize("control", ["{intervals: 3, bounds: [-1, 1], initial: [1, 2]}", "{intervals: 0}", "3"])
def test_what_names_a_wrong_control_is_not_wrong_itself(tmp_path, control):
    control = f"{{u: {control}}}" if control != "3" else control
    users = "states: {s: {initial: 0, rate: u(t)}}\noptimization: {a: {minimize: psi, variables: [u]}}\n"
    (issue,) = issues_of(tmp_path, VALID + f"controls: {control}\n{users}")
    assert ": controls" in issue, issue


def test_a_range_of_one_value_of_a_control_goes_before_that_of_the_control(tmp_path):
    ranges = "{u_1: {from: -1, to: 1}, u: {from: -2, to: 2}}"
    text = VALID.replace("A.angle, law: wave}", "A.angle}") + "controls: {u: {force: motor, intervals: 2}}\n"
    text += f"optimization: {{a: {{minimize: psi, variables: {ranges}}}}}\n"
    variables = spec.load(write(tmp_path, text)).optimization["a"].variables
    assert [variables[f"u_{k}"].to for k in range(3)] == [Number(2.0), Number(1.0), Number(2.0)]


@pytest.mark.parametrize("elastic", ["stiffness: 100, ", ""])
def test_a_cable_has_no_negative_length(tmp_path, elastic):
    text = VALID + f"cables: {{rope: {{path: [ground.A, bar.B], {elastic}length: -m}}}}\n"
    (issue,) = issues_of(tmp_path, text)
    assert issue.endswith("cables.rope.length: must not be negative, is -1.5"), issue


@pytest.mark.parametrize("name", ["origin", "center_of_mass"])
def test_points_that_every_body_has_cannot_be_defined(tmp_path, name):
    (issue,) = issues_of(tmp_path, VALID.replace("points:\n", f"points:\n  {name}: {{bar: [1, 0, 0]}}\n", 1))
    assert issue.endswith(f"points.{name}: {name!r} exists already and cannot be defined"), issue


def test_no_body_is_named_all(tmp_path):
    """Vectors under `all` are of every body."""
    issues = issues_of(tmp_path, VALID.replace("bodies:\n", "bodies:\n  all: {mass: 1}\n", 1))
    assert any(
        issue.endswith("all stands for every body in points and vectors; no body can have that name")
        for issue in issues
    )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            '{integral: "dot(r, r - [1, 0, 0]) * q", unit: m^2 s}',
            "3",
            "must be a mapping; such as psi in {psi: {integral: 'dot(v2, v2)'}}",
        ),
        ("stiffness: 100", "stiffness: 100,5", "unknown key '5'; decimals stand behind a point"),
        ("parameters: [L, m]", "parameters: L", "or a list, such as [L_s1, L_s2]"),
        ("name: example", "name: `example`", "'`' begins no text; put the text in quotes"),
        ("coordinate: A.angle, derivative: 1", "coordinate: A.angle.velocity", "derivative: 1 reads its rate"),
        ("coordinate: A.angle, derivative: 1", "coordinate: A.speed", "A.angle with derivative: 1 is its rate"),
        ("coordinate: A.angle, derivative: 1", "coordinate: A", "must be written JOINT.coordinate; write A.angle"),
        ("angle: 90 deg", "angle: 90 degrees", "invalid syntax; write 90 deg"),
        ("analysis: {step:", "analysis: {dt:", "unknown key 'dt'; did you mean 'step'?"),
        ("length: 2, mass: 1}", "length: 2, mass:1}", "unknown key 'mass:1'; a blank stands behind the colon of mass"),
    ],
)
def test_a_hint_shows_what_would_be_right(tmp_path, old, new, sentence):
    assert any(issue.endswith(sentence) for issue in issues_of(tmp_path, VALID.replace(old, new, 1)))


def test_a_state_with_an_impossible_name_is_one_error(tmp_path):
    (issue,) = issues_of(tmp_path, VALID + "\nstates: {a b: {rate: 1}}\n")
    assert "'a b' cannot be used in expressions" in issue


def test_a_name_on_neither_body_of_a_joint_is_one_error(tmp_path):
    (issue,) = issues_of(tmp_path, VALID.replace("point: B, axes", "point: nowhere, axes"))
    assert "joints.B.point: unknown point 'nowhere'" in issue


def test_a_gear_between_a_coordinate_and_itself_is_one_error(tmp_path):
    gear = "gear: {type: gear, of: A.angle, by: A.angle, ratio: -1}"
    (issue,) = issues_of(tmp_path, variant("gear: {type: coupling, terms: {A.angle: 2, B.angle_1: -1}}", gear))
    assert issue.endswith("constraints.gear.by: 'A.angle' cannot follow itself")


def test_a_swept_coordinate_is_shown_where_it_stands(tmp_path):
    sweep = "{type: kinematics, sweep: {C.angle: {from: 0, to: 1, count: 3}}}"
    (issue,) = issues_of(tmp_path, f"{VALID.partition('analysis:')[0]}\nanalysis: {sweep}\n")
    assert "analysis.sweep.C.angle: unknown joint 'C'" in issue


def test_what_a_comma_cuts_off_an_expression_is_one_error(tmp_path):
    (issue,) = issues_of(tmp_path, VALID.replace("stiffness: 100", "stiffness: max(m, 100, 2*m)", 1))
    assert issue.endswith("inside { } and [ ] an expression with commas stands in quotes")


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        ("{mass: m, ", "{mass: m, description: 'left (see fig', inertai: , ", ["inertai"]),
        ("name: example", "name: 'arm :('\nfoo:", ["foo"]),
        ("{mass: m, ", "{mass: m, visuals: [{mesh: 'a (1.stl', scael: }], ", ["scael"]),
        ("stiffness: 100", "stiffness: max(m, 100), dampng: , naturl: ", ["stiffness", "dampng", "naturl"]),
        ("stiffness: 100", "stiffness: max(m, min(100, 2*m)), dampng: ", ["stiffness", "dampng"]),
        ("stiffness: 100", "stiffness: max(m, dampng: ", ["stiffness", "dampng"]),  # no bracket closes it
        ("stiffness: 100", "stiffness: m)(, dampng: ", ["stiffness", "dampng"]),
    ],
)
def test_unknown_keys_beside_open_brackets_are_errors(tmp_path, old, new, keys):
    issues = issues_of(tmp_path, variant(old, new))
    assert [issue.split(": ")[1].split(".")[-1] for issue in issues] == keys, issues


def test_entries_without_a_name_are_told_of_the_level_that_is_missing(tmp_path):
    (issue,) = issues_of(tmp_path, VALID + "\nstudy: {grid: {L: [1, 2]}}\n")
    assert issue.endswith("study.grid.L: unknown key 'L'; each entry of study has a name: study: {NAME: {grid: ...}}")


def test_a_slip_in_an_entry_that_is_named_like_a_key_is_found(tmp_path):
    entries = "  mass: {inertai: {zz: 1}}\n  shape: {mass: 1, foo: []}\n  inertia: {foo: 1}\n"
    slip, *foreign = issues_of(tmp_path, variant("bodies:\n", "bodies:\n" + entries))
    assert slip.endswith("unknown key 'inertai'; did you mean 'inertia'?")
    assert len(foreign) == 2 and all("unknown key 'foo'; known: center_of_mass, " in issue for issue in foreign)


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("position: [1, 0, 0]", "position: C:/x", "such as [0, 0, 0]"),
        ("axes: [n, x]", "axes: n:x", "such as [z, x]"),
        ("initial: {angle: -135 deg, independent: true}", "initial: C:/x", "such as {angle: -135 deg}"),
        (
            "initial: {angle: -135 deg, independent: true}",
            "initial: angle:1",
            "a blank stands behind the colon of a key",
        ),
        ("terms: {A.angle: 2, B.angle_1: -1}", "terms: A.angle:2", "a blank stands behind the colon of a key"),
        ("constants: {half: L/2}", "constants: half:L/2", "a blank stands behind the colon of a key"),
    ],
)
def test_a_blank_is_missed_only_behind_a_key(tmp_path, old, new, hint):
    assert any(issue.endswith("; " + hint) for issue in issues_of(tmp_path, variant(old, new)))


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        ("inertia: [1, 2, 3]", "inertia: must be three rows; three moments are written {xx: ..., yy: ..., zz: ...}"),
        ("visuals: [3]", "visuals[0]: must be a mapping; such as {mesh: meshes/arm.stl}"),
    ],
)
def test_entries_of_lists_of_another_kind_are_one_error(tmp_path, new, sentence):
    (issue,) = issues_of(tmp_path, variant("inertia: {zz: 1/6}", new))
    assert issue.endswith(sentence)


def test_a_sensor_of_a_coordinate_is_no_drive(tmp_path):
    text = variant("sensors:\n", "sensors:\n  g: {type: force, coordinate: A.angle}\n")
    assert not any("drive" in issue for issue in issues_of(tmp_path, text))


def test_a_force_on_a_coordinate_is_a_drive(tmp_path):
    text = VALID.replace("forces:\n", "forces:\n  t: {type: torque, coordinate: A.angle, value: [0, 0, 1]}\n", 1)
    assert any("unknown key 'coordinate'; a drive acts on a coordinate" in issue for issue in issues_of(tmp_path, text))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("  b:\n    mass:3\n    shape: {}\n", "48:5: 'mass:' is not a key; a blank stands behind its colon"),
        ("  b:\n    mass:3\n", "bodies.b: must be a mapping; a blank stands behind the colon of a key"),
        ("  b:\n    mass: 3\n     shape: {}\n", "context; keys of one mapping begin in the same column"),
        ("  b:\n    description: Note: this\n", "context; a text with ': ' in it stands in quotes"),
        ("  b:\n    description: |\n      see:this\n    mass: 1: 2\n", "6:12: YAML cannot be read: mapping values"),
    ],
)
def test_blanks_of_yaml(tmp_path, lines, said):
    (issue,) = issues_of(tmp_path, "mbsim: 1\nbodies:\n" + lines)
    assert said.replace("48:", "4:") in issue, issue


def test_a_wrong_cable_is_one_error(tmp_path):
    """What reads the forces that it would add is right."""
    text = VALID.replace("sensors:\n", "sensors:\n  pull: {type: force, force: rope_2}\n", 1)
    text = text.replace("objectives:\n", "objectives:\n  most: {maximum: norm(pull), unit: N}\n", 1)
    cable = "cables: {rope: {path: [ground.A, bar.B], stiffness: 100, damping: 1, length: 1, rate: 0}}\n"
    (issue,) = issues_of(tmp_path, text + cable)
    assert issue.endswith("cables.rope.rate: the length does not move; leave the rate out"), issue


@pytest.mark.parametrize(
    ("sensor", "expression", "count"),
    [
        ("{type: force, force: bar_2}", "norm(g)", 1),  # what the cable would add
        ("{type: force, force: bar_2_torque}", "norm(g)", 1),
        ("{type: force, force: bar_push}", "1", 2),
        ("{type: force, force: bar}", "1", 2),
        ("{type: position, point: bar.B}", "bar_1", 2),
        ("{type: position, point: bar.B}", "bar_2.x", 2),
    ],
)
def test_a_wrong_cable_hides_no_other_error(tmp_path, sensor, expression, count):
    """A cable adds forces NAME_1, NAME_2..., but no sensors."""
    text = variant("sensors:\n", f"sensors:\n  g: {sensor}\n").replace(
        "psi: {integral:", "psi: {integral: '1', unit: s}\n  old: {integral:"
    )
    text = text.replace("integral: '1'", f"integral: '{expression}'")
    cable = "cables: {bar: {path: [ground.A, bar.B], stiffness: 100, damping: 1, length: 1, rate: 0}}\n"
    issues = issues_of(tmp_path, text + cable)
    assert len(issues) == count and "cables.bar.rate" in issues[-1], issues


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("t_end: 5", "'t_end'; did you mean 'duration' in analysis?"),
        ("dt: 0.1", "'dt'; did you mean 'step' in analysis?"),
        ("solver: rk4", "'solver'; did you mean 'integrator' in analysis?"),
        ("tolerance: 1e-8", "'tolerance'; it is a key of analysis"),
    ],
)
def test_words_for_keys_of_analyses_outside_them(tmp_path, key, hint):
    (issue,) = issues_of(tmp_path, f"{VALID}\n{key}\n")
    assert issue.endswith(f"unknown key {hint}")


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("[0,5, 0, 0]", "needs 3 entries, not 4; decimals stand behind a point, 0.5"),
        ("[1, -2,25, 0]", "needs 3 entries, not 4; decimals stand behind a point, -2.25"),
        ("[1, 2, 3, 4]", "needs 3 entries, not 4"),
        ("[1,\n    2, 3, 4]", "needs 3 entries, not 4"),
        ("[0,5]", "needs 3 entries, not 2"),
    ],
)
def test_decimal_commas_in_points(tmp_path, written, hint):
    (issue,) = issues_of(tmp_path, variant("B: {bar: [L, 0, 0]", f"B: {{bar: {written}"))
    assert issue.endswith(hint)


@pytest.mark.parametrize(
    ("sensor", "hints"),
    [
        ("{type: torque, joint: A}", ["a reaction is the force and moment of a joint"]),
        ("{type: force, joint: A}", ["a reaction is the force and moment of a joint"]),
        ("{type: torque, drive: motor}", ["the value of a force element is read by"]),
        ("{type: force, coordinate: A.angle}", ["the value of a force element is read by"]),
        ("{type: coordinate, coordinate: A.velocity}", ["A.angle with derivative: 1 is its rate"]),
        ("{type: torque, coordinate: A.velocity}", ["joint 'A' has no coordinate 'velocity'; known: angle"]),
        ("{type: expression, value: A.force.x}", ["unknown sensor 'A.force'; a sensor reads it: {type: reaction"]),
        ("{type: expression, value: norm(motor.force)}", ["a sensor reads it: {type: force, force: motor}"]),
        ("{type: expression, value: norm(f.force)}", ["f has no parts"]),
        ("{type: expression, value: norm(r.force)}", ["its parts are r.x, r.y and r.z"]),
        ("{type: expression, value: A.torque}", ["a force or torque is read by a sensor, {type: reaction"]),
        ("{type: expression, value: A.angle.velocity}", ["{type: coordinate, coordinate: A.angle, derivative: 1}"]),
        ("{type: expression, value: A.angle}", ["{type: coordinate, coordinate: A.angle}"]),
    ],
)
def test_sensors_of_forces_that_have_other_keys(tmp_path, sensor, hints):
    text = variant("f: {type: force, force: spring}", f"f: {{type: force, force: spring}}\n  g: {sensor}")
    told = "\n".join(issues_of(tmp_path, text))
    assert all(hint in told for hint in hints) and ("derivative" in told) == ("derivative" in hints[0])


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ("bodies: [ground, bar]", "bodies: [world, bar]", "unknown body 'world'; did you mean 'ground'?"),
        ("{expression: psi + 2*peak}", "{integral: time*norm(r)}", "unknown sensor 'time'; did you mean 't'?"),
        ("{expression: psi + 2*peak}", "{integral: ln(q)}", "unknown function 'ln'; did you mean 'log'?"),
        ("{expression: psi + 2*peak}", "{integral: 'arctan2(q, 1)'}", "did you mean 'atan2'?"),
    ],
)
def test_names_of_other_programs(tmp_path, old, new, hint):
    told = "\n".join(issues_of(tmp_path, variant(old, new)))
    assert hint in told


def test_a_list_in_place_of_the_name_of_a_point(tmp_path):
    (issue,) = issues_of(tmp_path, variant("{type: position, point: bar.B}", "{type: position, point: [0, 0, 0]}"))
    assert ": must be a text; " in issue
