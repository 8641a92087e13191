"""Repetitions: what blocks stand for, and what is said about wrong ones."""

from functools import partial
from pathlib import Path

import pytest

from mbsim_cli import spec
from mbsim_cli.errors import UsageError
from mbsim_cli.spec import Number
from tests.spec.example import issues_of, write
from tests.work import calls_of

CHAIN = Path(__file__).parents[2] / "models" / "chain.yaml"

ROW = """\
mbsim: 1
constants: {n: 3}
parameters: {L: 2}
vectors: {up: {all: [0, 0, 1]}}
repeat:
  row:
    for: {i: [1, n]}
    with: {before: "b_{i-1}"}
    first: {with: {before: ground}}
    points:
      P_{i}: {"{before}": [L/i, 0, 0], "b_{i}": [0, 0, 0]}
    bodies:
      b_{i}: {mass: 1, inertia: {zz: 1}}
    joints:
      j_{i}: {type: revolute, bodies: ["{before}", "b_{i}"], point: "P_{i}", axis: up}
"""


def load(tmp_path, text, **overrides):
    return spec.load(write(tmp_path, text), overrides)


def numbers(values):
    return [number.literal if number.literal is not None else number.text for number in values]


def test_a_row(tmp_path):
    model = load(tmp_path, ROW)
    assert list(model.bodies) == ["b_1", "b_2", "b_3"]
    assert [joint.bodies for joint in model.joints.values()] == [("ground", "b_1"), ("b_1", "b_2"), ("b_2", "b_3")]
    assert numbers(model.points["P_2"]["b_1"]) == ["L / 2.0", 0, 0]
    assert model.expressions.value(model.points["P_2"]["b_1"][0]) == 1
    assert model.repeat == {}


def test_it_equals_what_is_written_by_hand(tmp_path):
    by_hand = """\
mbsim: 1
constants: {n: 2}
parameters: {L: 2}
vectors: {up: {all: [0, 0, 1]}}
points:
  P_1: {ground: ["L / 1.0", 0, 0], b_1: [0, 0, 0]}
  P_2: {b_1: ["L / 2.0", 0, 0], b_2: [0, 0, 0]}
bodies:
  b_1: {mass: 1, inertia: {zz: 1}}
  b_2: {mass: 1, inertia: {zz: 1}}
joints:
  j_1: {type: revolute, bodies: [ground, b_1], point: P_1, axis: up}
  j_2: {type: revolute, bodies: [b_1, b_2], point: P_2, axis: up}
"""
    repeated, written = load(tmp_path, ROW, n="2"), load(tmp_path, by_hand)
    for section in ("points", "bodies", "joints"):
        assert getattr(repeated, section) == getattr(written, section)


@pytest.mark.parametrize(("n", "count"), [("1", 1), ("7", 7), ("2 + 3", 5), ("0", 0), ("sqrt(16)", 4)])
def test_the_command_line_sets_how_many(tmp_path, n, count):
    assert len(load(tmp_path, ROW, n=n).bodies) == count


def test_first_and_last_are_laid_over_the_ends(tmp_path):
    ends = "    last: {bodies: {'b_{i}': {mass: 5}}, sensors: {tip: {type: position, point: 'b_{i}.origin'}}}\n"
    model = load(tmp_path, ROW + ends)
    assert [body.mass for body in model.bodies.values()] == [Number(1), Number(1), Number(5)]
    assert model.sensors["tip"].point == "b_3.origin"
    alone = load(tmp_path, ROW + ends, n="1")
    assert alone.joints["j_1"].bodies == ("ground", "b_1")
    assert alone.bodies["b_1"].mass == Number(5)


NAMED = """\
mbsim: 1
constants: {half: 0.6}
parameters: {track: 1.2}
repeat:
  wheels:
    for:
      wheel: {fl: {sx: 1, sy: 1}, fr: {sx: 1, sy: -1}, rl: {sx: -2*half, sy: 1}}
    points:
      "hub_{wheel}": {design: [sx*0.9, sy*track/2, 0.3], bodies: [ground, "wheel_{wheel}"]}
    bodies:
      "wheel_{wheel}": {shape: {type: sphere, radius: 0.3, mass: 7}, position: [sx*0.9, sy*half, 0.3]}
    joints:
      "{wheel}": {type: spherical, bodies: [ground, "wheel_{wheel}"], point: "hub_{wheel}"}
"""


def test_named_instances_mirror_a_hardpoint(tmp_path):
    model = load(tmp_path, NAMED)
    assert list(model.joints) == ["fl", "fr", "rl"]
    value = model.expressions.value
    assert [value(n) for n in model.points["hub_fr"].design] == [0.9, -0.6, 0.3]
    assert [value(n) for n in model.bodies["wheel_rl"].position] == pytest.approx([-1.08, 0.6, 0.3])
    assert model.expressions.gradient(model.points["hub_fr"].design[1]) == {"track": -0.5}


NESTED = """\
mbsim: 1
constants: {n: 2}
bodies: {trunk: {mass: 5, inertia: {xx: 1, yy: 1, zz: 1}}}
joints: {free: {type: floating, bodies: [ground, trunk]}}
repeat:
  legs:
    for: {leg: {left: {side: 1}, right: {side: -1}}}
    constants: {"angle_{leg}": side*10 deg}
    repeat:
      segments:
        for: {j: [1, n]}
        with: {above: "{leg}_{j-1}", drop: 0.5}
        first: {with: {above: trunk, drop: 0}}
        points: {"{leg}_p{j}": {"{above}": [0, side*drop, -drop], "{leg}_{j}": [0, 0, 0]}}
        bodies: {"{leg}_{j}": {shape: {type: rod, length: 0.5, axis: z, mass: 1 + (j + 1) % 2, center: [0, 0, -0.25]}}}
        joints:
          "{leg}_j{j}":
            type: revolute
            bodies: ["{above}", "{leg}_{j}"]
            point: "{leg}_p{j}"
            axis: x
            initial: {angle: "angle_{leg}/j"}
"""


def test_blocks_nest(tmp_path):
    model = load(tmp_path, NESTED)
    assert list(model.bodies) == ["trunk", "left_1", "left_2", "right_1", "right_2"]
    assert model.joints["right_j1"].bodies == ("trunk", "right_1")
    assert numbers(model.points["right_p2"]["right_1"]) == [0, -0.5, -0.5]
    assert [body.shape.mass.literal for name, body in model.bodies.items() if name != "trunk"] == [1, 2, 1, 2]
    angle = model.joints["right_j2"].initial.angle
    assert model.expressions.value(angle) == pytest.approx(-0.08726646259971647)


def test_several_loops_are_combined_the_last_one_fastest(tmp_path):
    text = """\
mbsim: 1
repeat:
  grid:
    for: {i: [1, 2], j: [i, 3]}
    with: {c: 0}
    last: {with: {c: 1}}
    constants: {"a_{i}_{j}": 10*i + j + c/2, "q_{i}{j}": i // 2}
"""
    model = load(tmp_path, text)
    assert {name: number.literal for name, number in model.constants.items() if name[0] == "a"} == {
        "a_1_1": 11,
        "a_1_2": 12,
        "a_1_3": 13.5,
        "a_2_2": 22,
        "a_2_3": 23.5,
    }
    assert model.constants["q_23"].literal == 1


def test_instances_share_a_point(tmp_path):
    text = ROW + "  hub:\n    for: {k: [1, 3]}\n    points: {center: {'b_{k}': [0, k, 0]}}\n"
    assert [vector[1] for vector in load(tmp_path, text).points["center"].values()] == [Number(k) for k in (1, 2, 3)]


def test_integrands_and_texts(tmp_path):
    more = """\
  sensing:
    for: {k: [1, 2]}
    with: {weight: "L*k", name: "body {k}", ratio: k/4}
    sensors: {"v_{k}": {type: velocity, point: "b_{k}.origin"}}
    objectives:
      "o_{k}": {integral: "weight*dot(v_{k}, v_{k} - [k, 0, 0])", description: "of {name} in {{braces}}"}
      "p_{k}": {final: "v_{k}.x**k"}
"""
    model = load(tmp_path, ROW + more)
    assert model.objectives["o_2"].text == "L * 2.0 * dot(v_2, v_2 - [2.0, 0, 0])"
    assert model.objectives["o_2"].description == "of body 2 in {braces}"
    assert model.objectives["p_2"].text == "v_2.x ** 2.0"


def test_names_made_by_repetition_are_names_like_others(tmp_path):
    more = """\
  sizes:
    for: {k: [1, 3]}
    parameters: {"m_{k}": {value: k, bounds: [0, 9]}}
analysis: {sensitivity: {parameters: ["m_*", L]}}
"""
    model = load(tmp_path, ROW + more, m_2="8")
    assert model.analysis.sensitivity.parameters == ("m_1", "m_2", "m_3", "L")
    assert model.expressions.scope()["m_2"] == 8
    with pytest.raises(UsageError, match="did you mean 'm_3'"):
        load(tmp_path, ROW + more, m_33="8")
    text = (ROW + more).replace("m_*", "x_*")
    assert issues_of(tmp_path, text)[0].split(": ", 1)[1] == (
        "analysis.sensitivity.parameters[0]: unknown parameter 'x_*'; known: L, m_1, m_2, m_3"
    )


def test_an_including_file_changes_a_block(tmp_path):
    write(tmp_path, ROW, "row.yaml")
    text = "mbsim: 1\ninclude: [row.yaml]\nconstants: {n: 2}\nrepeat: {row: {bodies: {'b_{i}': {mass: 10*i}}}}\n"
    assert [body.mass for body in load(tmp_path, text).bodies.values()] == [Number(10), Number(20)]


# a text of ROW, what stands instead, and the issues
WRONG = {
    "unknown name in braces": ("P_{i}:", "P_{j}:", "11:7: repeat.row: unknown name 'j' in braces; known: before, i, n"),
    "a parameter in braces": (
        "b_{i}: {mass",
        "b_{i*L}: {mass",
        "13:7: repeat.row: 'L' is a parameter; what is repeated, and how often, follows from constants alone",
    ),
    "a brace without partner": (
        "b_{i}: {mass",
        "b_{i: {mass",
        "13:7: repeat.row: the brace '{' has no partner; braces hold placeholders; one brace as text is written twice",
    ),
    "no expression": (
        'point: "P_{i}"',
        'point: "P_{i +}"',
        "15:73: repeat.row: expression cannot be read: invalid syntax",
    ),
    "no whole number": (
        "j_{i}:",
        "j_{i/2}:",
        "15:7: repeat.row: {i/2} is 0.5, and a name takes whole numbers (in repeat.row, i = 1)",
    ),
    "division by zero": (
        "j_{i}:",
        "j_{4//(i-2)}:",
        "15:7: repeat.row: division by zero (in repeat.row, i = 2)",
    ),
    "no whole bound": ("{n: 3}", "{n: 2.5}", "7:18: repeat.row: must be a whole number, is 2.5"),
    "bound without value": (
        "{n: 3}",
        "{n: L}",
        "7:18: repeat.row: constant 'n' has no value here: unknown parameter or constant 'L'",
    ),
    "bound of a parameter": (
        "[1, n]",
        "[1, 2*L]",
        "7:18: repeat.row: 'L' is a parameter; what is repeated, and how often, follows from constants alone",
    ),
    "unknown bound": ("[1, n]", "[1, N]", "7:18: repeat.row: unknown name 'N'; did you mean 'n'?"),
    "range backwards": (
        "[1, n]",
        "[n, 1]",
        "7:14: repeat.row: the range goes from 3 to 1; [first, last], the last included; [1, 0] makes nothing",
    ),
    "too many": ("{n: 3}", "{n: 1e9}", "7:14: repeat.row: more than 4 000 000 entries are made; repeat less"),
    "no range": (
        "[1, n]",
        "n",
        "7:14: repeat.row: must be [first, last] or a mapping of named instances; "
        "i: [1, n], or i: {left: {side: 1}, right: {side: -1}}",
    ),
    "values missing": (
        "[1, n]",
        "{a: {s: 1, t: 1}, b: {s: 1, u: 1}}",
        "7:32: repeat.row: 't' is missing; every instance gives the same values",
        "7:42: repeat.row: 'u' is missing in the first instance; every instance gives the same values",
    ),
    "no name": (
        "  row:\n",
        "  for: {}\n  row:\n",
        "6:3: repeat: must be a mapping of blocks; such as row in {row: {for: {i: [1, n]}}}",
    ),
    "no 'for'": ("    for: {i: [1, n]}\n", "", "6:3: repeat.row: key 'for' is missing; for: {i: [1, n]}"),
    "unknown key": ("    bodies:", "    boddies:", "12:5: repeat.row: unknown key 'boddies'; did you mean 'bodies'?"),
    "unknown key of an end": (
        "{with: {before: ground}}",
        "{wit: {before: ground}}",
        "9:13: repeat.row: unknown key 'wit'; did you mean 'with'?",
    ),
    "unknown value of an end": (
        "{before: ground}",
        "{befor: ground}",
        "9:20: repeat.row: 'befor' does not stand in 'with' of the block; did you mean 'before'?",
    ),
    "a name of the file": (
        "{L: 2}",
        "{L: 2, i: 1}",
        "7:11: repeat.row: 'i' is also one of the parameters; give one of them another name",
    ),
    "a name with a meaning": (
        "for: {i:",
        "for: {pi:",
        "7:11: repeat.row: 'pi' has a meaning in expressions already; choose another name",
    ),
    "a name twice": (
        "for: {i: [1, n]}",
        "for: {before: [1, n]}",
        "8:12: repeat.row: 'before' stands twice in one repetition; give it another name",
    ),
    "made twice": (
        "b_{i}: {mass",
        "b: {mass",
        "13:11: repeat.row: 'mass' is made twice (in repeat.row, i = 2); "
        "names differ where they hold a placeholder such as {i}",
    ),
    "there already": (
        "repeat:",
        "bodies: {b_2: {mass: 3}}\nrepeat:",
        "14:15: repeat.row: 'mass' stands in line 5 already (in repeat.row, i = 2); "
        "names differ where they hold a placeholder such as {i}",
    ),
    "keys of a mapping alike": (
        '"b_{i}": [0',
        '"b_{i*1}": [0, 0, 0], "b_{i}": [0',
        "11:62: repeat.row: key 'b_1' stands twice (in repeat.row, i = 1); names must differ",
    ),
    "no mapping": ("for: {i: [1, n]}", "for: i", "7:10: repeat.row: must be a mapping"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_blocks(tmp_path, case):
    old, new, *expected = WRONG[case]
    assert ROW.count(old) == 1
    assert issues_of(tmp_path, ROW.replace(old, new)) == [f"model.yaml:{line}" for line in expected]


def test_errors_inside_name_the_first_instance_only(tmp_path):
    text = ROW.replace("axis: up", "axis: upp").replace("mass: 1", "mas: 1").replace("[L/i, 0, 0]", "[K, M, 1/(i-2)]")
    assert issues_of(tmp_path, text) == [
        "model.yaml:11:28: points.P_1.ground[0]: unknown parameter or constant 'K' (in repeat.row, i = 1); known: L, n",
        "model.yaml:11:31: points.P_1.ground[1]: unknown parameter or constant 'M' (in repeat.row, i = 1); known: L, n",
        "model.yaml:11:34: points.P_2.b_1[2]: division by zero (in repeat.row, i = 2)",
        "model.yaml:13:15: bodies.b_1.mas: unknown key 'mas' (in repeat.row, i = 1); did you mean 'mass'?",
        "model.yaml:15:84: joints.j_1.axis: unknown vector 'upp' (in repeat.row, i = 1); did you mean 'up'?",
    ]


def test_errors_of_nested_blocks(tmp_path):
    text = NESTED.replace("axis: x", "axis: w")
    found = issues_of(tmp_path, text)
    assert found == [
        "model.yaml:21:19: joints.left_j1.axis: unknown vector 'w' (in repeat.legs, leg = left, j = 1); known: x, y, z"
    ]
    text = NESTED.replace('"{above}": [0', '"{abov}": [0')
    assert issues_of(tmp_path, text) == [
        "model.yaml:14:33: repeat.legs.repeat.segments: unknown name 'abov' in braces; did you mean 'above'?"
    ]


def test_whole_numbers_stay_with_the_repetition(tmp_path):
    text = ROW.replace("mass: 1", "mass: L % i")
    assert issues_of(tmp_path, text)[0].endswith("% and // take numbers of the repetition only (in repeat.row, i = 1)")
    assert "cannot stand" in issues_of(tmp_path, ROW.replace("{L: 2}", '{L: "5 % 2"}'))[0]


def test_work_grows_with_links():
    """Three thousand of them take a second."""
    model = spec.load(CHAIN, {"n": "3000", "k": "3"})
    assert (len(model.bodies), list(model.parameters)) == (3000, ["L_1", "m_1", "L_2", "m_2", "L_3", "m_3"])
    few, more = (calls_of(partial(spec.load, CHAIN, {"n": count, "k": "3"})) for count in ("250", "500"))
    assert more < 2.05 * few and more < 2000 * 500


def test_wrong_links_give_one_issue_however_many_they_are(tmp_path):
    few, more = (
        CHAIN.read_text().replace("n: 24", f"n: {count}").replace("angle: 0.1", "angle: q") for count in (250, 500)
    )
    assert len(issues_of(tmp_path, few)) == len(issues_of(tmp_path, more)) == 1
    work = calls_of(partial(issues_of, tmp_path, more))
    assert work < 2.05 * calls_of(partial(issues_of, tmp_path, few)) and work < 2000 * 500
