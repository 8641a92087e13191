"""Cables: lengths, belt friction, energies and equilibria against closed forms, derivatives in every way."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.errors import AnalysisError, ModelError
from tests.models.command import mbsim as command

HOIST = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {k: 2e4, c: 40, r: 0.1, l: 5.75, mu: 0.2}
laws: {reel: {type: polynomial, coefficients: [0, 0.1]}}
points:
  A: {ground: [-0.1, 2, 0]}
  B: {ground: [0.15, 2.1, 0]}
  C: {weight: [0, 0.1, 0]}
bodies:
  block: {mass: 5, inertia: {xx: 0.01, yy: 0.01, zz: 0.02}}
  weight: {mass: 2, inertia: {xx: 0.01, yy: 0.01, zz: 0.02}}
joints:
  block:
    {type: planar, bodies: [ground, block], axis: z, point: origin,
    initial: {velocity: [0.1, 0.05], angular_velocity: 2}}
  weight:
    {type: planar, bodies: [ground, weight], axis: z, point: origin,
    initial: {position: [0.38, 0.9], velocity: [0.3, 0]}}
cables:
  rope:
    path:
      - ground.A
      - {center: block.origin, axis: block.z, radius: r}
      - {center: ground.B, axis: ground.z, radius: 0.08, turn: negative}
      - weight.C
    stiffness: k
    length: LENGTH
sensors:
  p: {type: position, point: block.origin}
  q: {type: position, point: weight.C}
  F: {type: force, force: rope_4}
  N: {type: force, force: rope_2}
  M: {type: force, force: rope_2_torque}
  T: {type: kinetic_energy}
  V: {type: potential_energy}
objectives:
  a: {final: "p.y + 0.3*p.x"}
  f: {integral: "norm(F) + M.z"}
ANALYSIS
"""
ALI3P = "analysis: {formulation: FORMULATION, step: 1e-3, duration: 4e-3, sensitivity: {method: ddm, parameters: all}}"
AGREE = "\nchecks: {agree: {agreement: [complex_step, adjoint], relative_tolerance: 1e-9}}"
WINCH = "l - reel(t)\n    rate: -0.1\n    damping: c\n    friction: mu"


def written(path, length="l", formulation="ali3p-rtdyn1", checks="", analysis=ALI3P, replaced=()):
    text = HOIST.replace("LENGTH", length).replace("ANALYSIS", analysis + checks).replace("FORMULATION", formulation)
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


def path_length(p, q, r=0.1, R=0.08):
    """Length of the path of the hoist by angles of triangles."""
    a, b = np.array([-0.1, 2.0]), np.array([0.15, 2.1])

    def polar(d):
        return np.hypot(*d), np.arctan2(d[1], d[0])

    (d1, from_a), (d2, to_b), (d3, to_q) = polar(p - a), polar(b - p), polar(q - b)
    first = from_a - np.arcsin(r / d1)  # directions of the straight parts: the path goes round to the left, then right
    second = to_b + np.arcsin((R + r) / d2)
    third = to_q - np.arcsin(R / d3)
    wrap, back = (second - first) % (2 * np.pi), (second - third) % (2 * np.pi)
    straight = np.sqrt(d1**2 - r**2) + np.sqrt(d2**2 - (r + R) ** 2) + np.sqrt(d3**2 - R**2)
    return straight + r * wrap + R * back


@pytest.mark.interpreted
def test_length_tension_and_energy(tmp_path):
    """Tension by the length of the path at every instant; with it the energy stays; torques vanish without friction."""
    model = mbsim.load(written(tmp_path / "a.yaml", analysis=ALI3P.replace("4e-3", "8e-3")))
    result = model.recorded(None, {"sensitivity": "none"}, second_run=False)
    tension = np.linalg.norm(result["F"], axis=1)
    lengths = [path_length(p[:2], q[:2]) for p, q in zip(result["p"], result["q"], strict=True)]
    np.testing.assert_allclose(tension, 2e4 * (np.array(lengths) - 5.75 - 0.5e-4), rtol=1e-9)
    assert tension.min() > 100 and np.ptp(tension) > 20
    energy = result["T"] + result["V"] + tension**2 / 4e4
    assert np.ptp(energy) < 2e-4 * np.ptp(tension**2 / 4e4)
    assert np.abs(result["M"]).max() < 1e-12 * tension.max()


@pytest.mark.slow
@pytest.mark.parametrize(
    "formulation",
    [
        *("ali3p-rtdyn1", "ali3p-rtdyn0", "ali3p-natural"),
        *("recursive, integrator: dop853", "ali1p-rtdyn1, integrator: dop853"),
    ],
)
def test_derivatives_agree(tmp_path, formulation):
    """By all numbers, with a winch, damping and friction."""
    path = written(tmp_path / "a.yaml", WINCH, formulation, AGREE)
    assert command("check", str(path))["passed"]
    gradients = [objective.gradient for objective in mbsim.load(path).run().objectives.values()]
    assert np.count_nonzero(np.abs(gradients) > 1e-12) == 10


@pytest.mark.slow
def test_belt_friction(tmp_path):
    """Tensions at both ends of a cable that is drawn over a post: exp(mu theta), over 2 turns and 3/4, or 1/4."""
    model = """
mbsim: 1
parameters: {mu: 0.15}
points: {P: {ground: [0, 0, 0]}}
bodies: {a: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}, b: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
joints:
  a: {type: prismatic, bodies: [ground, a], point: origin, axis: x, initial: {displacement: -2, velocity: SPEED}}
  b: {type: prismatic, bodies: [ground, b], point: origin, axis: y, initial: {displacement: -2, velocity: AWAY}}
cables:
  belt:
    path: [a.origin, {center: ground.P, axis: ground.z, radius: 0.05, turns: 2, turn: TURN}, b.origin]
    stiffness: 1e3
    length: 4
    friction: mu
    velocity: 1e-4
sensors:
  A: {type: force, force: belt_1}
  B: {type: force, force: belt_3}
objectives: {ratio: {final: "norm(A)/norm(B)"}}
analysis: {step: 1e-5, duration: 2e-5, sensitivity: {method: ddm, parameters: all}}
"""
    for speed in (1, -1):
        for turn, quarters in (("positive", 11), ("negative", 9)):
            path = tmp_path / "a.yaml"
            path.write_text(model.replace("SPEED", str(speed)).replace("AWAY", str(-speed)).replace("TURN", turn))
            ratio = mbsim.load(path).run().objectives["ratio"]
            bend = quarters * np.pi / 2 + 2 * np.arcsin(0.05 / 2)
            assert abs(ratio.value - np.exp(-speed * 0.15 * bend)) < 1e-4 * ratio.value
            assert abs(ratio.gradient[0] + speed * bend * ratio.value) < 1e-3 * bend * ratio.value


@pytest.mark.slow
def test_block_and_tackle_at_rest(tmp_path):
    """Four falls carry a load: each has a quarter of its weight, and the load hangs where they are as long as that."""
    path = tmp_path / "a.yaml"
    path.write_text("""
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {m: 20, k: 1e4}
points:
  A: {ground: [-0.1, 0, 3], load: [-0.2, 0, 0]}
  B: {ground: [0.1, 0, 3], load: [0, 0, 0]}
  E: {ground: [0.2, 0, 3], load: [0.2, 0, 0]}
bodies: {load: {mass: m, inertia: {xx: 1, yy: 1, zz: 1}}}
joints: {guide: {type: prismatic, bodies: [ground, load], point: origin, axis: z, initial: {displacement: 0.98}}}
cables:
  fall:
    path:
      - ground.E
      - {center: load.E, axis: load.y, radius: 0.05, turn: positive}
      - {center: ground.B, axis: ground.y, radius: 0.05, turn: negative}
      - {center: load.B, axis: load.y, radius: 0.05, turn: positive}
      - ground.A
    stiffness: k
    length: 8.4
sensors:
  z: {type: coordinate, coordinate: guide.displacement}
  F: {type: force, force: fall_2}
objectives: {z: {final: z}, pull: {final: F.z}}
analysis: {type: equilibrium, sensitivity: {method: ddm, parameters: all}}
""")
    found = mbsim.load(path).run().objectives
    z, pull = found["z"], found["pull"]
    assert abs(pull.value - 20 * 9.81 / 2) < 0.4  # of falls that lean a little
    assert abs(z.gradient[0] * 20 + z.gradient[1] * 1e4) < 1e-3 * abs(z.gradient[0] * 20)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("center: block.origin", "center: block.orign", r"path\[1\].center: unknown point 'orign'"),
        ("axis: block.z", "axis: ground.z", r"path\[1\].axis: 'block.origin' and 'ground.z' must be of one body"),
        ("stiffness: k", "stiffness: -1", r"cables.rope.stiffness: must be greater than zero"),
        ("length: l", "length: l - rel(t)", r"cables.rope.length: unknown function or law 'rel'; did you mean 'reel'"),
        ("length: l", "length: l - reel(t)\n    damping: 1", r"need the rate of a length that moves"),
        ("length: l", "length: l - reel(t)\n    rate: 1", r"cables.rope.rate: damping and friction alone read it"),
        ("length: l", "length: l - reel(t)\n    damping: 1\n    rate: spin*2",
         r"a.yaml:\d+:11: cables.rope.rate: unknown name 'spin'"),
        ("length: l", "length: l\n    rate: 1", r"cables.rope.rate: the length does not move"),
        ("length: l", "length: l\n    velocity: 1", r"give friction beside velocity"),
        ("- weight.C", "- weight.C\n      - weight.C", r"cables.rope.path: both points are 'weight.C'"),
        ("- weight.C", "- {center: weight.C, axis: weight.z, radius: 1}", r"give points as ends"),
        ("- weight.C", "- &two {center: weight.C, axis: weight.z, radius: 1}\n      - *two\n      - weight.C",
         r"cables.rope.path: both pulleys are that about 'weight.C'"),
        ("radius: r}", "radius: 0}", r"path\[1\].radius: must be greater than zero"),
        ("sensors:", "forces: {rope_4: {type: torque, body: block, value: [1, 0, 0]}}\nsensors:",
         r"'rope_4' is also a force"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, old, new, sentence):
    with pytest.raises(ModelError, match=sentence):
        spec.load(written(tmp_path / "a.yaml", replaced=[(old, new)]))


PASSING = """
mbsim: 1
points: {E: {ground: [-1, 0, 0]}}
bodies: {load: {mass: 1}}
joints:
  slide:
    {type: prismatic, bodies: [ground, load], point: origin, axis: y,
    initial: {displacement: -1.6, velocity: -20}}
cables:
  rope:
    {path: [ground.E, {center: ground.origin, axis: ground.z, radius: 0.2}, load.P], stiffness: 10, length: 1}
analysis: {step: 1e-3, duration: 0.02, sensitivity: {method: none}}
"""


@pytest.mark.interpreted
def test_a_run_warns_where_the_cable_jumps_about_a_pulley(tmp_path):
    """Once, of all its forces; the load passes below the pulley, beyond -45 degrees."""
    path = tmp_path / "a.yaml"
    path.write_text(PASSING.replace("points: {", "points: {P: {load: [0.9, 0, 0]}, "))
    (sentence,) = [each for each in mbsim.run(path).warnings if "jumps" in each]
    assert "cables.rope.length" in sentence and "the cable jumps by a turn about a pulley" in sentence


@pytest.mark.interpreted
def test_what_has_no_value_in_a_cable_is_told(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(PASSING.replace("points: {", "points: {P: {load: [0, 1.5, 0]}, "))
    told = r"cables.rope.length .* a point lies within a pulley"
    with np.errstate(invalid="ignore"), pytest.raises(AnalysisError, match=told):
        mbsim.run(path)


def test_a_length_reads_a_coordinate_beside_another_force(tmp_path):
    """The other force, which reads none, is checked without the parts of the cable."""
    moving = [("length: l", "length: l - 0.1*block.angle"), ("sensors:", PUSH + "\nsensors:")]
    assert spec.load(written(tmp_path / "a.yaml", replaced=moving)).forces["push"].is_vector


PUSH = 'forces: {push: {type: force, point: weight.origin, value: ["3*sin(t)", 0, 0]}}'


# Of constant length; closed forms and derivatives of short runs: tests/kernels/plain/test_cables_of_constant_length.py

SWINGING = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {m: 1, M: 1.4, s: 0.8}
points: {P: {ground: [0, 0, 0]}, Q: {ground: [0.7, 0, 0]}, W: {weight: [0.7, 0, 0]}}
bodies: {bob: {mass: m, inertia: {zz: 1}}, weight: {mass: M}}
joints:
  bob: {type: planar, bodies: [ground, bob], point: origin, axis: z, initial: {position: ["s*sin(1)", "-s*cos(1)"]}}
  weight: {type: prismatic, bodies: [ground, weight], point: origin, axis: y, initial: {displacement: -1}}
cables: {rope: {path: [bob.origin, ground.P, ground.Q, weight.W], length: auto}}
sensors: {p: {type: position, point: bob.origin}, T: {type: multiplier, constraint: rope}}
objectives: {r: {final: norm(p)}, T: {final: T}}
analysis:
  {formulation: FORMULATION, step: 1e-2, duration: 1, sensitivity: {method: ddm, parameters: all}SETTINGS}
checks: {agree: {agreement: [complex_step, adjoint], relative_tolerance: 1e-9}}
"""


def swinging_atwood(m, M, r, g=9.81):
    """Length of the swinging side and tension after a second."""

    def rates(t, y):
        length, angle, speed, spin = y
        acceleration = (m * length * spin**2 + g * (m * np.cos(angle) - M)) / (m + M)
        return speed, spin, acceleration, -(g * np.sin(angle) + 2.0 * speed * spin) / length

    y = solve_ivp(rates, (0.0, 1.0), (r, 1.0, 0.0, 0.0), "DOP853", rtol=1e-13, atol=1e-14).y[:, -1]
    return y[0], M * (g + rates(1.0, y)[2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulation", "settings", "error"),
    [
        ("ali1p-rtdyn1", ", integrator: dop853, tolerance: 1e-12, absolute_tolerance: 1e-12", 1e-9),
        ("ali3p-rtdyn1", "", 1e-3),
        ("ali3p-rtdyn0", "", 1e-3),
        ("ali3p-natural", "", 1e-3),
    ],
)
def test_swinging_atwood_machine(tmp_path, formulation, settings, error):
    """Against its own equations by SciPy, gradients by differences of these; derivatives in every way."""
    path = tmp_path / "a.yaml"
    path.write_text(SWINGING.replace("FORMULATION", formulation).replace("SETTINGS", settings))
    found, at, h = mbsim.load(path).run().objectives, np.array([1.0, 1.4, 0.8]), 1e-4
    differences = [
        np.subtract(swinging_atwood(*(at + h * e)), swinging_atwood(*(at - h * e))) / (2 * h) for e in np.eye(3)
    ]
    for name, value, slopes in zip("rT", swinging_atwood(*at), np.transpose(differences), strict=True):
        assert abs(found[name].value - value) < error * abs(value)
        np.testing.assert_allclose(found[name].gradient, slopes, rtol=max(20 * error, 1e-6), atol=20 * error)
    assert command("check", str(path))["passed"]


@pytest.mark.parametrize(
    ("cable", "sentence"),
    [
        ("path: [ground.A, {center: block.origin, axis: block.z, radius: -r}, weight.C], length: 5",
         r"cables.rope.path\[1\].radius: must be greater than zero"),
        ("path: [ground.A, {center: block.origin, axis: ground.z, radius: r}, weight.C], length: 5",
         r"cables.rope.path\[1\].axis: 'block.origin' and 'ground.z' must be of one body"),
        ("path: [ground.A, weight.C], length: l - t", r"cables.rope.length: without a stiffness .*; give law, winds"),
        ("path: [ground.A, weight.C], length: l, law: rel", r"cables.rope.law: unknown law 'rel'; did you mean 'reel'"),
        ("path: [ground.A, weight.C], length: l, winds: {block.angl: 1}", r"cables.rope.winds.*did you mean"),
        ("path: [ground.A, weight.C], length: l, damping: 1", r"give stiffness beside damping"),
        ("path: [ground.A, weight.C], length: l, stiffness: 1, law: reel", r"give no law beside stiffness"),
        ("path: [ground.A, weight.C], length: auto, stiffness: 1", r"auto .* without a stiffness"),
        ("path: [ground.A, weight.D], length: l", r"cables.rope.path\[1\]: unknown point 'D'"),
        ("path: [ground.A, ground.B], length: l", r"cables.rope.path: all of it is on 'ground'"),
        ("path: [ground.A, ground.A, weight.C], length: l", r"cables.rope.path: both points are 'ground.A'"),
    ],
)  # fmt: skip
def test_what_is_refused_of_a_constant_length(tmp_path, cable, sentence):
    text = HOIST.replace("ANALYSIS", "analysis: {step: 1e-3, duration: 2e-3}")
    path = tmp_path / "a.yaml"
    path.write_text(f"{text[: text.index('cables:')]}cables: {{rope: {{{cable}}}}}\n{text[text.index('analysis:') :]}")
    with pytest.raises(ModelError, match=sentence):
        spec.load(path)


STRING = """
mbsim: 1
materials: {steel: {youngs_modulus: 2.1e11, poisson_ratio: 0.3, density: 7850}}
bodies:
  bow:
    flexible:
      mesh:
        {type: beam, length: 1, elements: 2, planar: true,
        section: {type: rectangle, size: [0.02, 0.03]}}
      material: steel
      sets: {root: {x: 0}, tip: {x: 1}}
      frame: {fixed: root}
      modes: {count: 2}
      nodes: {root: {set: root}, tip: {set: tip}}
joints:
  clamp: {type: fixed, bodies: [ground, bow], point: origin}
cables:
  string: {path: [bow.root, bow.tip], length: 0.99, stiffness: 1e4}
analysis: {step: 1e-5, duration: 3e-5}
"""


@pytest.mark.parametrize("stiffness", [", stiffness: 1e4", ""])
def test_a_cable_may_bend_the_body_that_it_is_on(tmp_path, stiffness):
    path = tmp_path / "a.yaml"
    path.write_text(STRING.replace(", stiffness: 1e4", stiffness))
    assert "string" in spec.load(path).cables
