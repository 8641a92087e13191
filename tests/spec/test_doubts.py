"""Doubts about what is valid: degrees where radians stand, signs, idle forces, parameters that nothing reads."""

import pytest

from mbsim_cli import spec
from mbsim_cli.spec.warnings import warnings_of, warnings_of_values
from tests.spec.example import VALID, variant, write

ARM = """\
mbsim: 1
parameters: {tilt: {value: 20, unit: rad}}
dh: {arm: {rows: {hip: {alpha: 90, theta: tilt}, knee: {alpha: 2*pi, initial: {angle: -30}}}}}
forces: {stop: {type: bump_stop, coordinate: knee.angle, maximum: 100, stiffness: 10}}
"""


def _doubts(folder, text):
    return [doubt.replace(f"{folder}/", "") for doubt in warnings_of(spec.load(write(folder, text)))]


UNUSED = [
    "model.yaml:33:3: laws.step: nothing uses this law; it acts where its name stands",
    "model.yaml:34:3: laws.table: nothing uses this law; it acts where its name stands",
]


def test_laws_that_act_nowhere(tmp_path):
    """There is no other doubt, and none about a law that a sum names."""
    assert _doubts(tmp_path, VALID) == UNUSED
    used = variant("law: {type: constant, value: 2}", "law: {type: sum, laws: [step, table]}")
    assert _doubts(tmp_path, used) == []
    text = used + "roads: {hill: {type: flat}}\nmaterials: {steel: {youngs_modulus: 1, poisson_ratio: 0, density: 1}}"
    assert [doubt.partition(": ")[2] for doubt in _doubts(tmp_path, text + "\nfields: {rho: {value: 0.5}}")] == [
        f"{place}: nothing uses this {what}; it acts where its name stands"
        for place, what in (("roads.hill", "road"), ("materials.steel", "material"), ("fields.rho", "field"))
    ]


@pytest.mark.parametrize("place", ["objective", "sensor", "force", "motion"])
def test_laws_that_functions_hide(tmp_path, place):
    """sin(t) is the sine of t, whatever law is called sin; sinus(t) is a law."""
    text = """\
mbsim: 1
bodies: {b: {mass: 1}}
joints: {j: {type: prismatic, bodies: [ground, b], point: origin, axis: x}}
laws: {sin: {type: constant, value: 3}}
forces: {f: {type: drive, coordinate: j.displacement, law: sin}}
"""
    text += {
        "objective": 'objectives: {o: {integral: "2*sin(t)"}}\n',
        "sensor": 'sensors: {s: {type: expression, value: "sin(t)"}}\n',
        "force": "",
        "motion": "",
    }[place]
    if place in ("force", "motion"):
        argument = "t" if place == "force" else "t) + sin(j.displacement"
        text = text.replace("law: sin}", f'law: sin, value: "sin({argument})"}}')
    assert _doubts(tmp_path, text) == [
        "model.yaml:4:8: laws.sin: expressions with sin(...) call the function sin; rename the law"
    ]
    other = text.replace("law: sin", "law: sinus").replace("{sin:", "{sinus:").replace("sin(t)", "sinus(t)")
    assert _doubts(tmp_path, other) == []


def test_degrees_without_their_unit(tmp_path):
    assert _doubts(tmp_path, ARM) == [
        "model.yaml:2:28: parameters.tilt.value: 20 rad are 3.18 turns; degrees are written 20 deg",
        "model.yaml:3:32: dh.arm.rows.hip.alpha: 90 rad are 14.3 turns; degrees are written 90 deg",
        "model.yaml:3:87: dh.arm.rows.knee.initial.angle: -30 rad are 4.77 turns; degrees are written -30 deg",
        "model.yaml:4:67: forces.stop.maximum: 100 rad are 15.9 turns; degrees are written 100 deg",
    ]


def test_degrees_that_replace_the_value_of_a_parameter(tmp_path):
    doubt = ": 400 rad are 63.7 turns; degrees are written 400 deg"
    assert warnings_of(spec.load(write(tmp_path, ARM), {"tilt": "400"}))[0].endswith(f"parameters.tilt.value{doubt}")
    assert not any("parameters" in doubt for doubt in warnings_of(spec.load(write(tmp_path, ARM), {"tilt": "20 deg"})))


@pytest.mark.parametrize(("value", "beyond"), [("2.5", True), ("2", False), ("1", False), ("0.999", True)])
def test_values_beyond_the_bounds_of_the_file(tmp_path, value, beyond):
    doubt = f"6:14: parameters.L.value: {value}, which stands for it, lies outside the bounds 1 and 2"
    found = [doubt.partition("yaml:")[2] for doubt in warnings_of(spec.load(write(tmp_path, VALID), {"L": value}))]
    assert (doubt in found) == beyond and len(found) == len(UNUSED) + beyond


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("length: 2", "length: 20 deg", "17:32: bodies.rod.shape.length: {}m; {}"),
        ("value: sqrt(2), unit: m, bounds: [1, 2]", "value: -2e1 deg, unit: m", "6:14: parameters.L.value: {}m; {}"),
        ("zz: 1/6", "zz: 1/6 deg", None),  # of a product it says nothing, which may be an arc
        ("B.angle_1: -1", "B.angle_1: -1 deg", None),
    ],
)
def test_degrees_where_there_is_no_angle(tmp_path, old, new, expected):
    text = "a number of degrees stands where the unit is ", "deg is pi/180"
    told = [f"model.yaml:{expected.format(*text)}"] if expected else []
    assert _doubts(tmp_path, variant(old, new)) == [*told, *UNUSED]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("-9.81", "-9810", "3:1: gravity: free fall of 9810 m/s^2 is that of the earth in mm; lengths are in m"),
        ("-9.81", "-980.665", "3:1: gravity: free fall of 980.665 m/s^2 is that of the earth in cm; lengths are in m"),
        ("-9.81", "-98", None),
        (
            "sqrt(2), unit: m, bounds: [1, 2]",
            "1414, unit: m",
            "15:48: bodies.bar.inertia: a radius of gyration of 0.333 m, where a point is 707 m from the centre of "
            "mass; lengths are in m, masses in kg, inertias in kg m^2",
        ),
        (
            "zz: 1/6",
            "zz: 2e5",
            "15:48: bodies.bar.inertia: a radius of gyration of 365 m, where a point is 0.707 m from the centre of "
            "mass; lengths are in m, masses in kg, inertias in kg m^2",
        ),
        ("zz: 1/6", "zz: 1/600", None),
    ],
)
def test_units_that_are_off_by_a_thousand(tmp_path, old, new, expected):
    assert _doubts(tmp_path, variant(old, new)) == [*([f"model.yaml:{expected}"] if expected else []), *UNUSED]


@pytest.mark.parametrize(
    ("shape", "points", "said"),
    [
        (
            "type: rod",
            "{b: [0, 0, 0]}, K: {b: [0, -0.5, 0]}",
            "rod lies from the origin along x, but point K is at [0, -0.5, 0]",
        ),
        ("type: rod", "{b: [-1, 0, 0]}", "rod lies from the origin along x, but point A is at [-1, 0, 0]"),
        ("type: cylinder, radius: 1, axis: z", "{b: [1, 0, 0]}", "cylinder lies from the origin along z, but point A"),
        ("type: rod", "{b: [0, 0, 0]}", None),  # of a body with nothing else there is no other way
        ("type: rod", "{b: [0, -0.5, 0]}, K: {b: [1, 0, 0]}", None),
        ("type: rod, center: [0, 0, 0]", "{b: [-1, 0, 0]}", None),
        ("type: rod, axis: y", "{b: [0, 0.5, 0]}", None),
    ],
)
def test_rods_beside_the_points_of_their_body(tmp_path, shape, points, said):
    text = f"mbsim: 1\npoints: {{A: {points}}}\nbodies: {{b: {{shape: {{{shape}, length: 1, mass: 1}}}}}}\n"
    text += "joints: {free: {type: floating, bodies: [ground, b]}}\n"
    found = _doubts(tmp_path, text)
    assert len(found) == (said is not None)
    assert all(f"bodies.b.shape: this {said}" in doubt and doubt.endswith("say where it lies") for doubt in found)


def test_a_model_without_bodies(tmp_path):
    sentence = "the model has no bodies, and nothing moves; they stand under bodies, or in a table under dh"
    assert _doubts(tmp_path, "mbsim: 1\n") == [f"model.yaml:1:1: {sentence}"]


IDLE = "leave it out, unless it is an input of mbsim linearize"
SPRING = "type: spring_damper, points: [ground.A, bar.B]"
ANGLE = "coordinate: A.angle"
BAR = "type: anti_roll_bar, coordinates: [A.angle, B.angle_1]"
NEGATIVE = "it pushes away from the state without force"


@pytest.mark.parametrize(
    ("force", "expected"),
    [
        (f"{SPRING}, stiffness: -2*m", [f".stiffness: is negative: -3; {NEGATIVE}"]),
        (f"{SPRING}, damping: -1", [".damping: is negative: -1; it feeds energy in"]),
        (f"type: viscous_friction, {ANGLE}, damping: -1", [".damping: is negative: -1; it feeds energy in"]),
        (
            f"{BAR}, stiffness: -5, damping: -1",
            [f".stiffness: is negative: -5; {NEGATIVE}", ".damping: is negative: -1; it feeds energy in"],
        ),
        (
            f"{SPRING}, stiffness: 1, natural_length: -2",
            [".natural_length: is negative: -2; no length is, so that the element pulls at every length"],
        ),
        (f"{SPRING}, stiffness: 0", [": exerts nothing with zero stiffness; " + IDLE]),
        (f"{SPRING}, stiffness: 0, damping: m - 1.5", []),  # what damping would do there is a question
        (f"{SPRING}, stiffness: 0, force: 1", []),
        (f"{SPRING}, stiffness: 0, rate_law: wave", []),
        (f"type: rotational_spring_damper, {ANGLE}, torque: 0", [": exerts nothing with zero torque; " + IDLE]),
        (f"type: drive, {ANGLE}, value: 0", [": exerts nothing with zero value; " + IDLE]),
        (f"type: viscous_friction, {ANGLE}, damping: 0", [": exerts nothing with zero damping; " + IDLE]),
        ("type: force, point: bar.B, value: [0, 0, 0], law: wave", [": exerts nothing with zero value; " + IDLE]),
        ("type: torque, body: bar, value: [0, 0, 0]", [": exerts nothing with zero value; " + IDLE]),
        (f"{BAR}, stiffness: 1, ratios: [0, 0]", [": exerts nothing with zero ratios; " + IDLE]),
        (f"{BAR}, stiffness: 0", [": exerts nothing with zero stiffness; " + IDLE]),
        ("type: drag, point: bar.B, area: 0, coefficient: 1", [": exerts nothing with zero area; " + IDLE]),
        (
            f"type: rotational_spring_damper, {ANGLE}, damping: 2, natural_angle: 0",
            [".natural_angle: nothing reads it; it belongs to a stiffness or an elongation_law"],
        ),
        (
            "type: bushing, points: [ground.A, bar.B], damping: [1, 1, 1, 1, 1, 1], natural: [1, 0, 0, 0, 0, 0]",
            [".natural: nothing reads it; it belongs to a stiffness or laws"],
        ),
    ],
)
def test_forces_of_a_sign_that_is_seldom_meant_and_forces_without_effect(tmp_path, force, expected):
    text = variant("  motor: {", f"  odd: {{{force}}}\n  motor: {{")
    found = [doubt for doubt in _doubts(tmp_path, text) if "nothing uses" not in doubt]
    assert [doubt.partition("forces.odd")[2] for doubt in found] == expected
    assert all(doubt.startswith("model.yaml:29:") for doubt in found)


def test_a_state_that_nothing_changes_is_no_force(tmp_path):
    found = _doubts(tmp_path, VALID + "states: {s: {initial: 2, rate: 0}}\n")
    assert "states.s.rate: is zero: nothing changes the state; make it a constant" in " ".join(found)
    assert "exerts nothing" not in " ".join(found)


def test_a_coordinate_may_be_less_than_zero(tmp_path):
    """No length can, but the value of a coordinate at which a spring has no force."""
    joints = "joints: {guide: {type: prismatic, bodies: [ground, cart], point: origin, axis: x}}"
    spring = "type: spring_damper, coordinate: guide.displacement, stiffness: 1, natural_length: -2"
    text = f"mbsim: 1\nbodies: {{cart: {{mass: 1}}}}\n{joints}\nforces: {{s: {{{spring}}}}}\n"
    assert _doubts(tmp_path, text) == []


def test_values_of_parameters_make_a_sign_and_take_it_back(tmp_path):
    text = variant("stiffness: 100,", "stiffness: 100*(2 - m),")
    assert _doubts(tmp_path, text) == UNUSED
    model = spec.load(tmp_path / "model.yaml", {"m": "3"})
    doubt, *_ = warnings_of(model)
    assert doubt.endswith(f"model.yaml:28:71: forces.spring.stiffness: is negative: -100; {NEGATIVE}")
    assert warnings_of_values(model) == [doubt] and warnings_of_values(spec.with_values(model, {"m": 1.0})) == []


FITTED = """\
measurements: {lab: {file: lab.csv, columns: {x: {sensor: r.x}}}}
fit: {a: {measurements: [lab], parameters: {m: {from: 1, to: k}}}}
"""


@pytest.mark.parametrize(
    "read", ["checks: {a: {objective: psi, value: k}}", "study: {a: {grid: {k: [1, 2]}}}", FITTED, ""]
)
def test_parameters_that_nothing_reads(tmp_path, read):
    text = variant("  m: 1.5\n", "  m: 1.5\n  k: 3\n").replace("checks:", "x-a:") + read
    assert _doubts(tmp_path, text)[:1] == [
        "model.yaml:8:3: parameters.k: nothing reads this parameter; gradients by it are zero"
    ]


@pytest.mark.parametrize(("inputs", "count"), [("push", 0), ("spring", 1)])
def test_a_force_that_is_an_input_may_be_zero(tmp_path, inputs, count):
    text = f"""\
mbsim: 1
bodies: {{cart: {{mass: 1}}}}
joints: {{slide: {{type: prismatic, bodies: [ground, cart], point: origin, axis: x}}}}
forces:
  push: {{type: drive, coordinate: slide.displacement, value: 0}}
  spring: {{type: spring_damper, coordinate: slide.displacement, stiffness: 9}}
sensors: {{x: {{type: coordinate, coordinate: slide.displacement}}}}
analysis: {{type: frequency_response, inputs: [{inputs}], outputs: [x], frequencies: {{from: 1, to: 9}}}}
"""
    assert sum(IDLE in doubt for doubt in _doubts(tmp_path, text)) == count
