"""Starts: closed from anywhere, near to what is declared, in any unit; contradictions are refused."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from mbsim_cli import spec
from mbsim_cli.assembly import build, problem
from mbsim_cli.assembly.position.search import determined, newton
from mbsim_cli.errors import ModelError
from mbsim_cli.solve.initial import assemble as assemble_start
from tests.assembly.linkages import LINKAGES, random_start, text_of
from tests.assembly.texts import load

CLOSED = 1e-9
SENSITIVE = "analysis: {sensitivity: {method: ddm, parameters: all}}\n"


def issues(folder, text):
    with pytest.raises(ModelError) as caught:
        build(load(folder, text))
    return caught.value.issues


def four_bar(A="", B="", C="", D="", extra="", crank=0.5, rod="2"):
    return (
        "points:\n"
        "  A: {ground: [0, 0, 0], crank: [0, 0, 0]}\n"
        f"  B: {{crank: [{crank}, 0, 0], rod: [0, 0, 0]}}\n"
        f"  C: {{rod: [{rod}, 0, 0], rocker: [1.2, 0, 0]}}\n"
        "  D: {rocker: [0, 0, 0], ground: [2, 0, 0]}\n"
        "bodies:\n"
        + "".join(f"  {body}: {{mass: 1, inertia: {{zz: 0.1}}}}\n" for body in ("crank", "rod", "rocker"))
        + "joints:\n"
        f"  A: {{type: revolute, bodies: [ground, crank], point: A, axis: z, initial: {{{A}}}}}\n"
        f"  B: {{type: revolute, bodies: [crank, rod], point: B, axis: z, initial: {{{B}}}}}\n"
        f"  C: {{type: revolute, bodies: [rod, rocker], point: C, axis: z, initial: {{{C}}}}}\n"
        f"  D: {{type: revolute, bodies: [ground, rocker], point: D, axis: z, initial: {{{D}}}}}\n" + extra
    )


RSUR = """
points:
  O: {ground: [0, 0, 0], crank: [0, 0, 0]}
  P: {crank: [0, 0.06, 0], rod: [0, 0, 0]}
  Q: {rod: [0, 0, 0.31], arm: [0.35, 0, 0]}
  A: {ground: [-0.3, 0.1, 0.3], arm: [0, 0, 0]}
bodies:
  crank: {shape: {type: rod, axis: y, length: 0.06, mass: 0.5}}
  rod: {shape: {type: rod, axis: z, length: 0.31, mass: 0.8}}
  arm: {shape: {type: rod, length: 0.6, mass: 4}}
joints:
  O: {type: revolute, bodies: [ground, crank], point: O, axis: x}
  P: {type: spherical, bodies: [crank, rod], point: P}
  Q: {type: universal, bodies: [rod, arm], point: Q, axes: [x, x]}
  A: {type: revolute, bodies: [ground, arm], point: A, axis: y, initial: {STATED}}
"""


@pytest.mark.parametrize(("stated", "count"), [("", 1), ("angle: 1.5", 0)])
def test_loops_that_close_far_from_where_nobody_said(tmp_path, stated, count):
    """A guess of one joint of the loop is enough."""
    told = [warning for warning in build(load(tmp_path, RSUR.replace("STATED", stated))).warnings if "far" in warning]
    assert len(told) == count and all("A.angle from 0 deg to 90.5" in warning for warning in told)


def closed_positions(crank, rod, rocker, ground):
    """Angles of A, B, D of a four-bar, for many angles of the crank."""
    for a in np.linspace(-np.pi, np.pi, 721):
        B = crank * np.exp(1j * a)
        reach = abs(ground - B)
        cosine = (rod**2 + reach**2 - rocker**2) / (2 * rod * reach)
        for bend in np.arccos([cosine, cosine]) * [1, -1] if abs(cosine) <= 1 else ():
            b = np.angle(ground - B) + bend
            d = np.angle(B + rod * np.exp(1j * b) - ground)
            turned = (b - a + np.pi) % (2 * np.pi) - np.pi
            yield from ((a, turned, d), (a, turned, d + 2 * np.pi))


def closes_by_scipy(equations):
    """Whether the library's least squares close the loops from the declared start, all coordinates free."""
    theta, rows = equations.problem.theta.tolist(), equations.of_position
    first, n = equations.problem.model.tree.initial[0], len(equations.problem.independent)
    found = least_squares(
        lambda z: equations.at(theta, z)[0][rows],
        equations.problem.theta[first : first + n],
        jac=lambda z: equations.at(theta, z)[1][rows],
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    return np.abs(found.fun).max() < CLOSED


@pytest.mark.parametrize("starts", [2, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", LINKAGES)
def test_random_starts_close_as_often_as_by_the_library(tmp_path, monkeypatch, name, starts):
    generator, seen, close = np.random.default_rng(7), [], problem.close

    def watched(equations, *rest, **named):
        seen.append(equations)
        return close(equations, *rest, **named)

    monkeypatch.setattr(problem, "close", watched)
    ours = theirs = 0
    for _ in range(starts):
        text = text_of(LINKAGES[name], random_start(LINKAGES[name], generator))
        try:
            ours += build(load(tmp_path, text)).closing.is_closed
        except ModelError as error:
            assert "no position was found" in str(error)
        theirs += closes_by_scipy(seen[-1])
    assert ours >= theirs > 0


@pytest.mark.parametrize("angle", ["", "angle: 0", "angle: 1 deg", "angle: -1 deg"])
def test_a_stretched_four_bar_closes(tmp_path, angle):
    assembled = build(load(tmp_path, four_bar(*[angle] * 4)))
    assert assembled.closing.is_closed
    stretched = build(load(tmp_path, four_bar("angle: 0, independent: true")))
    assert stretched.closing.is_closed and stretched.closing.z[0] == 0.0


def test_of_several_closed_positions_the_nearest_is_taken_and_said(tmp_path):
    up = build(load(tmp_path, four_bar("angle: 1", D="angle: 100 deg")))
    assert up.closing.z == pytest.approx([1.0, -0.602733, 1.475322], abs=1e-6)
    assert not any("nearest" in warning for warning in up.warnings)
    down = build(load(tmp_path, four_bar("angle: 1", D="angle: 4")))
    assert down.closing.z == pytest.approx([1.0, -1.874444, 4.330686], abs=1e-6)
    assert "nearest of 2" in down.warnings[0]


@pytest.mark.parametrize("independence", ["", ", independent: false"])
@pytest.mark.parametrize(("angle", "B"), [("100 deg", -0.602733), ("4", -1.874444)])
def test_values_of_a_cut_joint_choose_among_closed_positions(tmp_path, angle, B, independence):
    text = four_bar("angle: 1", D=f"angle: {angle}{independence}").replace(
        "point: D, axis: z", "point: D, axis: z, cut: true"
    )
    assert build(load(tmp_path, text)).closing.z[:2] == pytest.approx([1.0, B], abs=1e-6)


@pytest.mark.parametrize(("angle", "place"), [(-2.8352, 0.69627), (-2.5586439, 0.7184292)])
def test_a_stated_position_of_a_cut_slide_is_found(tmp_path, angle, place):
    """Far from the other coordinates, which are stated nowhere."""
    text = text_of(LINKAGES["slider_crank"], {"A": {"angle": angle}, "P": {"displacement": place}})
    text = text.replace("type: prismatic", "type: prismatic\n    cut: true")
    warnings = build(load(tmp_path, text)).warnings
    assert not any("changed initial" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("joints", "told"),
    [
        ({"D": "angle: 100 deg"}, "D.angle from 100 deg to 84.5297 deg"),
        ({"D": "angle: 1.4754"}, None),  # as one rounds it
        ({"B": "angle: -30 deg", "C": "angle: 1", "D": "angle: 1.5"}, "B.angle from -30 deg to -34.534"),
        ({"C": "angle: 60 deg", "B": "angle: -0.5", "D": "angle: 1.5"}, "C.angle from 60 deg to 61.768"),
        ({"D": "angle: 1.4, independent: false"}, None),  # a guess
        ({"B": "angle: -30 deg", "D": "angle: 1.4, independent: false"}, "B.angle from -30 deg to -34.534"),
    ],
)
@pytest.mark.parametrize("cut", [False, True])
def test_stated_values_that_others_determine_are_said(tmp_path, joints, told, cut):
    """Whether the joint is cut or not; a coordinate that the file does not state may go where it likes."""
    text = four_bar("angle: 1, independent: true", **joints)
    if cut:
        text = text.replace("point: D, axis: z", "point: D, axis: z, cut: true")
    warnings = [warning for warning in build(load(tmp_path, text)).warnings if "changed initial" in warning]
    if told is None:
        assert warnings == []
    else:
        (warning,) = warnings
        assert told in warning and warning.startswith("closing the loops changed") and warning.endswith("a guess")


def test_what_of_a_guess_moves_is_not_told(tmp_path):
    """The rod is too short for this angle of the crank."""
    (told,) = build(load(tmp_path, four_bar("angle: 1", rod="0.5"))).warnings
    assert "does not close the loops" in told and "A.angle from 57.2958 deg to 46.890" in told
    assert build(load(tmp_path, four_bar("angle: 1, independent: false", rod="0.5"))).warnings == []


def test_other_values_carry_what_is_stated_along(tmp_path):
    """A file's start is rounded for its own lengths; that others move it a little is what they were asked for."""
    text = "parameters: {rod: 2}\n" + four_bar("angle: 1, independent: true", D="angle: 1.4754", rod="rod")
    path = tmp_path / "bars.yaml"
    path.write_text("mbsim: 1\n" + text)
    for rod, is_said in ((2, False), (2.005, False), (2.3, True)):
        warnings = build(spec.load(path, {"rod": str(rod)})).warnings
        assert any("changed initial values: D.angle" in warning for warning in warnings) == is_said


def test_where_an_equilibrium_is_searched_from_is_a_guess(tmp_path):
    text = four_bar("angle: 1", D="angle: 100 deg", extra="gravity: [0, -9.81, 0]\nanalysis: {type: equilibrium}\n")
    assert not any("changed initial" in warning for warning in build(load(tmp_path, text)).warnings)


def test_angles_do_not_gain_full_turns(tmp_path):
    assembled = build(load(tmp_path, four_bar("angle: 1")))
    assert np.abs(assembled.closing.z).max() < np.pi


def test_declared_values_that_do_not_close_move_as_little_as_they_can(tmp_path):
    """All are stated and none can stay: the start is where their squared changes are least, and so its derivative."""
    extra = "parameters: {L: 2, a: 2.9}\n" + SENSITIVE
    text = four_bar("angle: a", "angle: -1", "", "angle: 2", extra, crank=1.5, rod="L")
    assembled = build(load(tmp_path, text))
    declared, found = np.array([2.9, -1.0, 2.0]), assembled.closing.z
    assert assembled.closing.moved.all() and "A.angle from 166.158 deg to 106.296 deg" in assembled.warnings[0]
    theta, rows = assembled.problem.theta.tolist(), assembled.equations.of_position
    J = assembled.equations.at(theta, found)[1][rows]
    along = np.linalg.svd(J)[2][-1]  # the one motion that the loop has
    assert abs(along @ (found - declared)) < 1e-9
    assert np.linalg.norm(found - declared) < 1e-9 + min(
        np.linalg.norm(np.array(other) - declared) for other in closed_positions(1.5, 2.0, 1.2, 2.0)
    )

    def start(**values):
        return assemble_start(assembled.at(values).problem, motion_only=True).state.z.copy()

    d_start = assemble_start(assembled.problem, motion_only=True).sensitivity.z
    for k, (name, value) in enumerate({"L": 2.0, "a": 2.9}.items()):
        difference = (start(**{name: value + 1e-5}) - start(**{name: value - 1e-5})) / 2e-5
        assert d_start[:, k] == pytest.approx(difference, abs=1e-8)
        assert np.abs(difference).min() > 0.1


@pytest.mark.parametrize("size", [1e-3, 1e5])
@pytest.mark.parametrize("name", ["slider_crank", "rssr", "three_rrr"])
def test_closing_does_not_depend_on_the_unit_of_length(tmp_path, name, size):
    starts = [random_start(LINKAGES[name], np.random.default_rng(3), factor) for factor in (1.0, size)]
    reference, other = (
        build(load(tmp_path, text_of(LINKAGES[name], start, factor)))
        for start, factor in zip(starts, (1.0, size), strict=True)
    )
    slides = np.array([unit == "m" for unit in reference.problem.names.coordinate_units])
    scale = np.where(slides, size, 1.0)
    # a kilometre is not a power of 1024: the way differs, and where several positions are near, so may the end
    assert other.closing.is_closed and np.abs(other.closing.z / scale).max() < 10.0
    placed = assemble_start(other.problem, motion_only=True)
    lengths = [name == "m" for name in other.closing.scales.names[: len(placed.residual)]]
    assert np.abs(placed.residual / np.where(lengths, size, 1.0)).max() < 1e-12


def test_points_that_coincide_at_the_declared_start_come_apart(tmp_path):
    """Their distance has no derivative there, nor has it a direction."""
    text = """
    points: {O: {ground: [0, 0, 0], disc: [0, 0, 0]}}
    bodies: {disc: {mass: 1, inertia: {zz: 1}}}
    joints: {J: {type: planar, bodies: [ground, disc], point: O, axis: z}}
    constraints: {apart: {type: distance, points: [ground.O, disc.O], distance: 0.5}}
    """
    closing = build(load(tmp_path, text)).closing
    assert closing.is_closed and np.hypot(*closing.z[:2]) == pytest.approx(0.5)


def test_what_stays_open_is_said_in_its_unit_without_a_verdict_on_lengths(tmp_path):
    (issue,) = issues(tmp_path, four_bar("angle: 1, independent: true", rod="5"))
    gap = 5.0 - 1.2 - abs(0.5 * np.exp(1j) - 2.0)
    assert f"the nearest one stays open by {gap:.4g} m at C" in issue.message
    assert "no position was found" in issue.message and "rad" not in issue.message
    assert "may not fit" in issue.hint and "A.angle" in issue.hint


SLIDER = LINKAGES["slider_crank"]
DRIVEN = """
constraints:
  push: {type: motion, coordinate: P.displacement, law: {type: polynomial, coefficients: [0, 1]}OFFSET}
"""


def test_a_law_that_misfits_at_the_start(tmp_path):
    stated = text_of(SLIDER, {"P": {"displacement": 1.33}, "A": {"angle": 0.7}}, extra=DRIVEN.replace("OFFSET", ""))
    (issue,) = issues(tmp_path, stated)
    assert issue.path == "constraints.push" and "law 0, position 1.33 m" in issue.message
    assert "offset: auto" in issue.hint
    # the slider cannot come to 0: crank 0.4, rod 1.1
    found = issues(tmp_path, text_of(SLIDER, {}, extra=DRIVEN.replace("OFFSET", "")))
    (issue,) = (issue for issue in found if issue.path == "constraints.push")
    assert "law 0, position" in issue.message and " m" in issue.message and "rad" not in issue.message
    assert "offset: auto" in issue.hint
    auto = DRIVEN.replace("OFFSET", ", offset: auto")
    assembled = build(load(tmp_path, text_of(SLIDER, {"P": {"displacement": 1.33}}, extra=auto)))
    start = assemble_start(assembled.problem, motion_only=True)
    names = assembled.problem.names.coordinates
    assert start.state.z[names.index("P.displacement")] == pytest.approx(1.33, abs=1e-9)
    assert start.state.zd[names.index("P.displacement")] == pytest.approx(1.0, abs=1e-9)


def test_a_law_with_another_velocity_than_the_stated_one(tmp_path):
    text = text_of(
        SLIDER, {"P": {"velocity": 0.5}, "A": {"angle": 0.7}}, extra=DRIVEN.replace("OFFSET", ", offset: auto")
    )
    (issue,) = issues(tmp_path, text)
    assert issue.path == "constraints.push" and "law 1, stated velocity 0.5 m/s" in issue.message
    assert build(load(tmp_path, text.replace("0.5", "1.0004"))).closing.is_closed  # three digits of it


def test_an_automatic_value_with_a_law_fits_the_start(tmp_path):
    """A law that does not begin at zero: the target takes what it lacks, and nothing jumps in the first step."""
    law = "{type: polynomial, coefficients: [0.3, 1]}"
    turn = f"{{type: angle, vectors: [ground.x, crank.x], axis: ground.z, law: {law}}}"
    assembled = build(load(tmp_path, four_bar("angle: 1", D="angle: 1.5", extra=f"constraints: {{turn: {turn}}}\n")))
    start = assemble_start(assembled.problem, motion_only=True)
    assert start.state.z[0] == pytest.approx(1.0, abs=1e-12)
    assert start.theta[assembled.problem.automatic[0][0]] == pytest.approx(0.7, abs=1e-12)


@pytest.mark.parametrize("name", ["crank_rocker", "five_bar", "slider_crank", "watt", "three_rrr"])
def test_stated_velocities_win_over_unstated_ones(tmp_path, name):
    """Angles of all joints are stated, velocities of as many as the mechanism has degrees of freedom, anywhere."""
    linkage, generator = LINKAGES[name], np.random.default_rng(11)
    for _ in range(4):
        closed = build(load(tmp_path, text_of(linkage, random_start(linkage, generator))))
        theta = closed.problem.theta.tolist()
        J = closed.equations.at(theta, closed.closing.z)[1]
        motions = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, tol=1e-9) :]
        zd = generator.standard_normal(len(motions)) @ motions
        rates = dict(zip(closed.problem.names.coordinates, zd.tolist(), strict=True))
        places = dict(zip(closed.problem.names.coordinates, closed.closing.z.tolist(), strict=True))
        order = generator.permutation(len(zd))
        chosen, rows = [], np.zeros((0, len(zd)))
        for i in order:  # coordinates whose rates determine all others
            more = np.vstack([rows, motions[:, i]]) if len(rows) else motions[:, i][None]
            if len(chosen) < len(motions) and np.linalg.svd(more)[1].min() > 0.1:
                rows, chosen = more, [*chosen, closed.problem.names.coordinates[i]]
        if len(chosen) < len(motions):
            continue
        initial = {}
        for coordinate, place in places.items():
            joint, key = coordinate.lstrip("-").split(".")
            initial[joint] = {key: place}
            if coordinate in chosen:
                initial[joint]["velocity" if key == "displacement" else "angular_velocity"] = rates[coordinate]
        again = build(load(tmp_path, text_of(linkage, initial)))
        start = assemble_start(again.problem, motion_only=True).state
        found = dict(zip(again.problem.names.coordinates, start.zd.tolist(), strict=True))
        for coordinate in chosen:
            assert found[coordinate] == pytest.approx(rates[coordinate], abs=1e-6), coordinate


def test_a_velocity_stated_at_a_joint_that_is_cut_is_kept(tmp_path):
    text = four_bar("angle: 1", D="angle: 1.5", C="angular_velocity: 2").replace("point: C,", "point: C, cut: true,")
    assembled = build(load(tmp_path, text))
    assert assembled.topology.cut == ("C",)
    start = assemble_start(assembled.problem, motion_only=True).state
    names = assembled.problem.names.coordinates
    rate = {name: value for name, value in zip(names, start.zd, strict=True)}
    # the angle of C is that of the rocker against the rod
    assert rate["D.angle"] - rate["A.angle"] - rate["B.angle"] == pytest.approx(2.0, abs=1e-12)


def test_velocities_that_contradict_each_other_are_named(tmp_path):
    (issue,) = issues(tmp_path, four_bar("angle: 1, angular_velocity: 2", D="angle: 1.5, angular_velocity: 0.3"))
    assert "D.angle" in issue.message and "A.angle (2 rad/s)" in issue.message and "0.5362" in issue.message
    assert build(load(tmp_path, four_bar("angle: 1, angular_velocity: 2", D="angle: 1.5, angular_velocity: 0.5362")))


def test_a_velocity_against_a_law_elsewhere_in_the_loop(tmp_path):
    drive = "constraints: {drive: {type: motion, coordinate: A.angle, law: {type: polynomial, coefficients: [1, 2]}}}\n"
    (issue,) = issues(tmp_path, four_bar("angle: 1", D="angle: 1.5, angular_velocity: 0.3", extra=drive))
    assert "constraint 'drive'" in issue.message and "0.5362" in issue.message


TWO_LAWS = """\
points: {tip: {slide: [1, 0, 0]}, far: {ground: [3, 0, 0]}}
bodies: {turn: {mass: 1, inertia: {zz: 1}}, slide: {mass: 1, inertia: {zz: 1}}}
joints:
  turn: {type: revolute, bodies: [ground, turn], point: origin, axis: z}
  slide: {type: prismatic, bodies: [ground, slide], point: origin, axis: x}
constraints:
  first: {type: motion, coordinate: turn.angle, law: {type: polynomial, coefficients: [0, 1]}}
  SECOND
analysis: {step: 0.01, duration: 0.1}
"""
PUSH = "push: {type: motion, coordinate: slide.displacement, law: {type: polynomial, coefficients: [0, RATE]}}"


@pytest.mark.parametrize(
    ("second", "named", "asked", "follows"),
    [
        (
            "other: {type: motion, coordinate: turn.angle, law: {type: polynomial, coefficients: [0, RATE]}}",
            "other", "2 rad/s", "constraint 'first' follows 1 rad/s",
        ),
        (
            f"{PUSH}\n  gear: {{type: coupling, terms: {{turn.angle: 1, slide.displacement: -1}}}}",
            "gear", "0 rad/s", "constraint 'first' and constraint 'push' follows -1 rad/s",
        ),
        (
            PUSH.replace("push", "pull").replace("RATE", "1")
            + "\n  rod: {type: distance, points: [ground.far, slide.tip], "
            "law: {type: polynomial, coefficients: [0, -RATE]}}",
            "rod", "-2 m/s", "constraint 'pull' follows -1 m/s",
        ),
    ],
)  # fmt: skip
def test_laws_that_ask_for_different_velocities_at_the_start(tmp_path, second, named, asked, follows):
    """They agree where the rate is 1, and are an error where it is 2; in an equilibrium nothing moves."""
    text = TWO_LAWS.replace("SECOND", second)
    assert build(load(tmp_path, text.replace("RATE", "1"))).closing.is_closed
    (issue,) = issues(tmp_path, text.replace("RATE", "2"))
    assert issue.path == f"constraints.{named}" and f"a velocity of {asked}, but from {follows}: no" in issue.message
    still = text.replace("RATE", "2").replace("{step: 0.01, duration: 0.1}", "{type: equilibrium}")
    assert build(load(tmp_path, still)).closing.is_closed


def many_stated(p0):
    """A loop in space with as many stated values as coordinates, but for those of the joint that closes it."""
    return f"""
parameters: {{p0: {p0!r}, p1: -0.141848, p2: 0.036675}}
points:
  J0a: {{b0: [p0, p1, p2]}}
  J0b: {{ground: [0.260414, 0.43421, -0.045717]}}
  J2a: {{b0: [0.059772, 0.13889, -0.277159]}}
  J2b: {{b2: [-0.027548, -0.186799, -0.204872]}}
  J3a: {{b2: [0.47037, 0.118411, 0.370416]}}
  J3b: {{b3: [0.421362, -0.290626, -0.367064]}}
  J4a: {{b4: [-0.185188, 0.036448, -0.062517]}}
  J4b: {{b3: [-0.112695, -0.29066, 0.2377]}}
  C0a: {{ground: [0.14952111013336256, -0.15639858899971304, -0.3739470582140749]}}
  C0b: {{b4: [0.6355399378608176, -1.4825265607976978, -0.653695121025923]}}
vectors:
  J0u: {{b0: [0.330079, 0.455542, 0.608714]}}
  J0w: {{ground: [-0.734251, 0.530689, 0.973676]}}
  J0ru: {{b0: [-0.081656, -0.802197, -0.163024]}}
  J0rw: {{ground: [0.569337, 0.092009, -0.683992]}}
  J3u: {{b2: [-0.310025, -0.922216, 0.472749]}}
  J3w: {{b3: [0.869462, 0.020593, -0.918987]}}
bodies:
{"".join(f"  {b}: {{mass: 1, inertia: {{xx: 0.1, yy: 0.1, zz: 0.1}}}}{chr(10)}" for b in ("b0", "b2", "b3", "b4"))}
joints:
  J0: {{type: universal, bodies: [b0, ground], point: [J0a, J0b], axes: [J0u, J0w], reference: [J0ru, J0rw],
       initial: {{angles: [0.074357, 0.343061]}}}}
  J2: {{type: fixed, bodies: [b0, b2], point: [J2a, J2b]}}
  J3: {{type: cylindrical, bodies: [b2, b3], point: [J3a, J3b], axis: [J3u, J3w],
       initial: {{angle: 0.924677, displacement: 0.239323}}}}
  J4: {{type: spherical, bodies: [b4, b3], point: [J4a, J4b],
       initial: {{orientation: {{axis: [0.548069, 0.132691, -0.477324], angle: -0.603295}}}}}}
  C0: {{type: spherical, bodies: [ground, b4], point: [C0a, C0b]}}
{SENSITIVE}"""


def test_stated_values_that_just_close_a_loop_are_the_limit_of_those_that_almost_do(tmp_path):
    """Seven stated values beside four freedoms: the start is continuous in all numbers, and has one derivative."""

    def at(p0):
        return build(load(tmp_path, many_stated(p0)))

    def start(p0):
        return assemble_start(at(p0).problem, motion_only=True).state.z.copy()

    exact, size = at(-0.245821), 1e-5
    first = exact.problem.model.tree.initial[0]
    stated = exact.packing.packed.stated
    declared = exact.problem.theta[first : first + stated.size].copy()
    found = start(-0.245821)
    assert stated.any() and not stated.all()
    assert np.abs(found - declared)[stated].max() < 1e-8 and not any("moved" in told for told in exact.warnings)
    assert np.abs(start(-0.245821 + 1e-8) - found).max() < 1e-7  # was 4.6e-3
    d_start = assemble_start(exact.problem, motion_only=True).sensitivity.z[:, 0]
    difference = (start(-0.245821 + size) - start(-0.245821 - size)) / (2 * size)
    assert d_start == pytest.approx(difference, abs=1e-7)
    assert np.abs(d_start[stated]).max() > 0.1


def test_what_the_rest_determines_is_found_however_badly():
    """A coordinate of a cable follows from those of bodies: these keep their values, and its derivatives are theirs."""
    J = np.array([[1.0, 0.0, 2e-3], [0.0, 1.0, 1e-3]])
    free, own = np.ones(3, dtype=bool), np.array([False, False, True])
    assert determined(J, free, np.zeros(3, dtype=bool)) == [0, 1]
    assert determined(J, free, np.zeros(3, dtype=bool), first=own)[-1] == 2


class CircleAndSteepLine:
    """The unit circle, and the line z_0 = z_1 by a slope whose square hides the damping of steps to the circle."""

    of_position = np.arange(2)

    def at(self, theta, z):
        """Residuals (2,) and their derivatives (2, 2)."""
        steep = 1e8 * np.array([1.0, -1.0])
        return np.array([steep @ z, z @ z - 1.0]), np.stack([steep, 2.0 * z])


def test_damped_steps_are_solved_beside_steep_slopes():
    z = newton(CircleAndSteepLine(), (), np.array([0.1, 0.1]), [0, 1])
    assert z == pytest.approx([0.5**0.5, 0.5**0.5], rel=1e-6)
