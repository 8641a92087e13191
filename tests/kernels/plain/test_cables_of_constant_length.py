"""Cables of constant length: closed forms of accelerations and tension, derivatives in every way."""

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.errors import ModelError
from tests.models.command import mbsim as command

FALLS = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {m: 1.5, M: 4}
points:
  L: {left: [-0.3, 0, 0]}
  R: {right: [0.3, 0, 0]}
  A: {ground: [-0.3, 1, 0]}
  B: {ground: [0.3, 1.2, 0]}
bodies: {left: {mass: m}, right: {mass: M}}
joints:
  left: {type: prismatic, bodies: [ground, left], point: origin, axis: y}
  right: {type: prismatic, bodies: [ground, right], point: origin, axis: y, initial: {velocity: 0.1, displacement: 0}}
cables: {rope: {path: PATH, length: auto}}
sensors:
  a: {type: coordinate, coordinate: right.displacement, derivative: 2}
  T: {type: multiplier, constraint: rope}
objectives: {a: {final: a}, T: {final: T}}
analysis: {formulation: FORMULATION, step: 1e-2, duration: 3e-2, sensitivity: {method: ddm, parameters: all}}
"""
HOIST = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {m: 2, M: 3, r: 0.1, J: 0.5, w: 0.4, x: 0.3}
laws: {reel: {type: polynomial, coefficients: [0, w]}}
points: {A: {ground: [-0.1, 2, 0]}, B: {ground: [0.4, 2.1, 0]}, C: {weight: [0.1, 0.2, 0]}}
bodies:
  block: {mass: m, inertia: {zz: 0.1}}
  weight: {mass: M, inertia: {zz: 0.2}}
  drum: {mass: m, inertia: {zz: J}}
joints:
  block: {type: planar, bodies: [ground, block], point: origin, axis: z, initial: {position: [x, 0.5]}}
  weight: {type: revolute, bodies: [block, weight], point: origin, axis: z, initial: {angle: 0.4}}
  drum: {type: revolute, bodies: [ground, drum], point: origin, axis: z, initial: {angle: 0.3}}
cables: {rope: {path: [ground.A, block.origin, ground.B, weight.C], length: 5.2, law: reel, winds: {drum.angle: r}}}
sensors:
  T: {type: multiplier, constraint: rope}
  q: {type: position, point: weight.origin}
  turn: {type: coordinate, coordinate: drum.angle}
objectives: {q: {final: q.x + q.y}, T: {integral: T}, turn: {final: turn}}
analysis: {formulation: FORMULATION, step: 5e-3, duration: 1e-2, sensitivity: {method: ddm, parameters: all}}
checks: {agree: {agreement: [complex_step, adjoint], relative_tolerance: 1e-9}}
"""
PULLEYS = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {m: 1.5, M: 4, J: 0.1, r: 0.1, R: 0.2, w: 0.7}
points:
  A: {ground: [0, 2, 0], block: [0.1, 0.05, 0]}
  B: {ground: [0.62, 2.1, 0]}
bodies: {weight: {mass: m, inertia: {zz: 1}}, block: {mass: M, inertia: {zz: J}}}
joints:
  block:
    {type: planar, bodies: [ground, block], point: origin, axis: z,
    initial: {position: [0.25, w], velocity: [0.05, 0.1], angular_velocity: 0.8}}
  weight: {type: planar, bodies: [ground, weight], point: origin, axis: z, initial: {position: [0.92, 0.5]}}
cables:
  rope:
    path:
      - ground.A
      - {center: block.A, axis: block.z, radius: R}
      - {center: ground.B, axis: ground.z, radius: r, turn: negative}
      - weight.origin
    length: auto
sensors:
  p: {type: position, point: block.A}
  q: {type: position, point: weight.origin}
  T: {type: multiplier, constraint: rope}
  turn: {type: coordinate, coordinate: block.angle}
objectives: {q: {final: q.y + 0.3*p.x}, T: {integral: T}}
analysis: {formulation: FORMULATION, step: 1e-3, duration: 2e-3, sensitivity: {method: ddm, parameters: all}}
checks: {agree: {agreement: [complex_step, adjoint], relative_tolerance: 1e-9}}
"""
SKEW = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {m: 1.5, M: 4}
points: {A: {ground: [0.1, 0.2, 2]}, B: {ground: [0.8, 0.9, 2.3]}, Q: {right: [1, 1.2, 0.4]}}
vectors: {u: {ground: [0.2, 1, 0.3]}, v: {ground: [-0.9, 0.5, 0.2]}}
bodies: {left: {mass: m}, right: {mass: M}}
joints:
  left: {type: prismatic, bodies: [ground, left], point: origin, axis: z}
  right: {type: prismatic, bodies: [ground, right], point: origin, axis: z, initial: {velocity: 0.8, displacement: 0}}
cables:
  rope:
    path:
      - left.origin
      - {center: ground.A, axis: ground.u, radius: 0.2}
      - {center: ground.B, axis: ground.v, radius: 0.1, turn: TURN}
      - right.Q
    length: auto
sensors:
  p: {type: position, point: left.origin}
  q: {type: position, point: right.Q}
  T: {type: multiplier, constraint: rope}
objectives: {T: {final: T}}
analysis: {step: 1e-2, duration: 3e-2, sensitivity: {method: ddm, parameters: all}}
"""
g = 9.81


def path_over_skew_pulleys(p, q, side):
    """Length of the path of ``SKEW``: straight parts are tangents where the plane of each pulley shows them."""
    pulleys = [((0.1, 0.2, 2), (0.2, 1, 0.3), 0.2, 1), ((0.8, 0.9, 2.3), (-0.9, 0.5, 0.2), 0.1, side)]

    def touch(k, seen, leaves):
        """Where the tangent to a point touches, and the angle there, in extended precision."""
        center, n, r, turn = pulleys[k]
        center, n = np.array(center, np.longdouble), np.array(n, np.longdouble)
        n /= np.sqrt(n @ n)
        x = np.cross(n, [0, 0, 1])
        x /= np.sqrt(x @ x)
        y, away = np.cross(n, x), seen - center
        u, v = away @ x, away @ y
        angle = np.arctan2(v, u) + turn * (-1 if leaves else 1) * np.arccos(r / np.hypot(u, v))
        return center + r * (np.cos(angle) * x + np.sin(angle) * y), angle

    meets, leaves = np.array([0.8, 0.9, 2.3], np.longdouble), None
    for _ in range(60):  # each end of the part between both depends on the other one
        leaves, first = touch(0, meets, True)
        meets, second = touch(1, leaves, False)
    (begin, first_meets), (end, second_leaves) = touch(0, p, False), touch(1, q, True)
    turns = (first - first_meets, side * (second_leaves - second))
    straight = sum(np.sqrt(d @ d) for d in (begin - p, meets - leaves, q - end))
    return straight + sum(
        r * (angle % (4 * np.arccos(np.longdouble(0)))) for r, angle in zip((0.2, 0.1), turns, strict=True)
    )


def two_weights(m, M):
    """Acceleration of M and tension of Atwood's machine."""
    return -g * (M - m) / (M + m), 2 * g * m * M / (M + m)


def two_falls(m, M):
    """The same where M hangs on the middle of the cable: its way is half that of m."""
    return g * (2 * m - M) / (M + 4 * m), 3 * g * m * M / (M + 4 * m)


def path_over_pulleys(x, y, angle, *q):
    """Length of the path of ``PULLEYS`` by angles of triangles, in extended precision."""
    R, r = np.longdouble("0.2"), np.longdouble("0.1")
    a, b, q = np.array([0, 2], R.dtype), np.array([np.longdouble("0.62"), np.longdouble("2.1")]), np.array(q)
    c, s = np.cos(angle), np.sin(angle)
    p = np.array([x + c / 10 - s / 20, y + s / 10 + c / 20])
    (d1, d2, d3), (u, v, w) = zip(*((np.hypot(*d), np.arctan2(d[1], d[0])) for d in (p - a, b - p, q - b)), strict=True)
    first, second, third = u - np.arcsin(R / d1), v + np.arcsin((R + r) / d2), w - np.arcsin(r / d3)
    straight = np.sqrt(d1**2 - R**2) + np.sqrt(d2**2 - (R + r) ** 2) + np.sqrt(d3**2 - r**2)
    turn = 2 * np.arccos(np.longdouble(-1))
    return straight + R * ((second - first) % turn) + r * ((second - third) % turn)


PENDULUM = """
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {m: 2}
bodies: {bob: {mass: m, inertia: {zz: 1}}}
joints: {bob: {type: planar, bodies: [ground, bob], point: origin, axis: z, initial: {position: [0.6, -0.8]}}}
cables: {rope: {path: [ground.origin, bob.origin], length: auto}}
sensors: {p: {type: position, point: bob.origin}, T: {type: multiplier, constraint: rope}}
objectives: {r: {final: norm(p)}, T: {at: {time: 0, value: T}}}
analysis: {formulation: FORMULATION, step: 1e-3, duration: 4e-3, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-natural", "ali1p-rtdyn1"])
def test_a_cable_of_one_part_is_the_rod_of_a_pendulum(tmp_path, formulation):
    path = tmp_path / "model.yaml"
    path.write_text(PENDULUM.replace("FORMULATION", formulation))
    found = mbsim.run(path).objectives
    np.testing.assert_allclose([found["r"].value, found["T"].value], [1.0, 2 * 9.81 * 0.8], rtol=1e-9)
    np.testing.assert_allclose([found["r"].gradient[0], found["T"].gradient[0]], [0.0, 9.81 * 0.8], atol=1e-8)


def test_tension_over_pulleys_with_a_radius(tmp_path):
    """By the equations of motion under the length of the path as the one constraint, its derivatives by differences."""
    z = np.array([0.25, 0.7, 0.0, 0.92, 0.5], dtype=np.longdouble)

    def slopes(z, h=1e-6):
        return np.array([path_over_pulleys(*(z + h * e)) - path_over_pulleys(*(z - h * e)) for e in np.eye(5)]) / (
            2 * h
        )

    L_z, inertia = slopes(z), np.array([4, 4, 0.1, 1.5, 1.5])
    v = np.array([0.05, 0.1, 0.8, 0, 0])
    v[4] = -L_z[:4] @ v[:4] / L_z[4]
    bends = (slopes(z + 1e-5 * v) - slopes(z - 1e-5 * v)) @ v / 2e-5
    tension = (bends - g * (L_z[1] + L_z[4])) / (L_z @ (L_z / inertia))
    file = _written(tmp_path / "a.yaml", PULLEYS.replace("FORMULATION", "ali3p-rtdyn1"))
    result = mbsim.load(file).run(sensitivity="none")
    assert abs(result["T"][0] - float(tension)) < 1e-8 * tension
    angle = result["turn"]
    p, q = result["p"] - np.column_stack([
        np.cos(angle) / 10 - np.sin(angle) / 20, np.sin(angle) / 10 + np.cos(angle) / 20, 0 * angle
    ]), result["q"]  # fmt: skip
    assert np.ptp([path_over_pulleys(*at[:2], turn, *b[:2]) for at, turn, b in zip(p, angle, q, strict=True)]) < 1e-10


@pytest.mark.parametrize("turn", ["positive", "negative"])
def test_tension_over_pulleys_whose_axes_are_not_parallel(tmp_path, turn):
    """The length of the path is constant, and moves both weights as the one constraint that it is."""
    file = _written(tmp_path / "a.yaml", SKEW.replace("TURN", turn))
    result = mbsim.load(file).run(sensitivity="none")
    p, q = result["p"].astype(np.longdouble), result["q"].astype(np.longdouble)
    side = 1 if turn == "positive" else -1

    def length(z, k=0):
        return path_over_skew_pulleys(p[k] + [0, 0, z[0]], q[k] + [0, 0, z[1]], side)

    def slopes(z, h=1e-6):
        return np.array([length(z + h * e) - length(z - h * e) for e in np.eye(2)]) / (2 * h)

    assert np.ptp([length(np.zeros(2), k) for k in range(len(p))]) < 1e-10
    L_z = slopes(np.zeros(2))
    v = np.array([-0.8 * L_z[1] / L_z[0], 0.8])
    bends = (slopes(1e-5 * v) - slopes(-1e-5 * v)) @ v / 2e-5
    tension = (bends - g * L_z.sum()) / (L_z @ (L_z / np.array([1.5, 4])))
    assert abs(result["T"][0] - float(tension)) < 1e-7 * abs(tension)


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-natural"])
@pytest.mark.parametrize(
    ("path", "exact"),
    [
        ("[left.L, ground.A, ground.B, right.R]", two_weights),
        ("[left.L, ground.A, ground.B, right.R, ground.B]", two_falls),
    ],
)
def test_accelerations_and_tension(tmp_path, formulation, path, exact):
    """Parts of the path are vertical or do not move; gradients by both masses too."""
    file = tmp_path / "a.yaml"
    file.write_text(FALLS.replace("PATH", path).replace("FORMULATION", formulation))
    found = mbsim.load(file).run().objectives
    for k, name in enumerate("aT"):
        assert abs(found[name].value - exact(1.5, 4)[k]) < 1e-9
        slopes = exact(1.5 + 1e-30j, 4)[k].imag / 1e-30, exact(1.5, 4 + 1e-30j)[k].imag / 1e-30
        np.testing.assert_allclose(found[name].gradient, slopes, rtol=1e-8)


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-natural"])
def test_derivatives_agree(tmp_path, formulation):
    """By all numbers, with a winch by time and a drum."""
    file = tmp_path / "a.yaml"
    file.write_text(HOIST.replace("FORMULATION", formulation))
    assert command("check", str(file))["passed"]


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", pytest.param("ali3p-natural", marks=pytest.mark.slow)])
def test_derivatives_agree_over_pulleys_with_a_radius(tmp_path, formulation):
    """By all numbers, radii among them, and those of a law in place."""
    text = PULLEYS.replace("w: 0.7", "w: 0.7, c: 0.3").replace("FORMULATION", formulation)
    law = "length: auto\n    law: {type: polynomial, coefficients: [0, c, 5]}"
    file = _written(tmp_path / "a.yaml", text.replace("length: auto", law))
    assert command("check", str(file))["passed"]
    gradients = [objective.gradient for objective in mbsim.load(file).run().objectives.values()]
    assert np.count_nonzero(np.abs(gradients) > 1e-9) == 14


def test_elastic_cables_want_parallel_axes(tmp_path):
    text = SKEW.replace("TURN", "positive").replace("length: auto", "length: 4.5\n    stiffness: 100")
    text = text.replace("multiplier, constraint: rope", "kinetic_energy")
    sentence = r"a.yaml:\d+:\d+: cables.rope.path\[2\].axis: axes of pulleys .* parallel, not at 70.1 deg"
    with pytest.raises(ModelError, match=sentence):
        mbsim.load(_written(tmp_path / "a.yaml", text)).run()


def test_pulleys_that_overlap_are_refused(tmp_path):
    text = PULLEYS.replace("FORMULATION", "ali3p-rtdyn1").replace("R: 0.2", "R: 1.6")
    with pytest.raises(ModelError, match=r"a.yaml:\d+:\d+: cables.rope.path\[0\]: .* must not overlap or hold a point"):
        mbsim.load(_written(tmp_path / "a.yaml", text)).run()


def test_a_cable_that_would_be_slack_is_reported(tmp_path):
    """Where the right weight is pushed up, from t = 0.02 s on."""
    push = "forces: {push: {type: force, point: right.origin, value: [0, 1000*t, 0]}}\n"
    late = push.replace("value", "axes: global, value")
    text = FALLS.replace("PATH", "[left.L, ground.A, ground.B, right.R]").replace("FORMULATION", "ali3p-rtdyn1")

    def slack(text):
        warnings = mbsim.load(_written(tmp_path / "a.yaml", text)).run(sensitivity="none").warnings
        return [warning for warning in warnings if "slack" in warning]

    assert not slack(text)
    text = text.replace("duration: 3e-2", "duration: 0.12").replace("objectives:", late + "objectives:")
    (found,) = slack(text)
    # 2 m M g/(m + M) = 1000 t m/(m + M)
    assert "cable rope would be slack: its constant length pushes from t = 0.08 s on" in found


def _written(file, text):
    file.write_text(text)
    return file
