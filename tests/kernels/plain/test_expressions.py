"""Forces that are expressions of the motion: whole runs against complex step, adjoint and other formulations."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbsim_cli
from mbsim_cli.kernels.elements.tape import operate, slopes_of
from mbsim_cli.model.codes import Operation
from mbsim_cli.model.layout import NoSignals
from mbsim_cli.spec.expressions.program import OPERATIONS
from mbsim_cli.study.assembling import Settings, build, load
from tests.kernels.differentiate import assert_agree

MODEL = """\
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {k: 3, c: 0.2, m: 1.3, L: 0.9}
laws: {soft: {type: spline, x: [-4, -1, 0, 1, 4], values: [-2, -0.4, 0, 0.5, 2.5]}}
points:
  O: {ground: [0, 0, 0], a: [0, 0, 0]}
  B: {ground: [2.5, 0.3, 0]}
  P: {a: [1, 0, 0], b: [0, 0, 0]}
  Q: {b: [L, 0.1, 0], d: [0, 0, 0]}
  E: {d: [0.8, 0, 0.1]}
bodies:
  a: {mass: m, center_of_mass: [0.5, 0, 0], inertia: {xx: 0.1, yy: 0.2, zz: 0.2}}
  b: {mass: 0.7, center_of_mass: [0.4, 0, 0.1], inertia: {xx: 0.05, yy: 0.1, zz: 0.1}}
  d: {mass: 0.5, center_of_mass: [0.4, 0.1, 0], inertia: {xx: 0.05, yy: 0.1, zz: 0.1}}
joints:
  O: {type: revolute, bodies: [ground, a], point: O, axis: z, initial: {angle: 0.2}}
  P: {type: revolute, bodies: [a, b], point: P, axis: z, initial: {angle: 0.3}}
  Q: {type: revolute, bodies: [b, d], point: Q, axis: z, initial: {angle: -0.3}}
sensors:
  r: {type: position, point: d.E}
  v: {type: velocity, point: d.E}
  w: {type: angular_velocity, body: b}
  e: {type: direction, vector: a.x}
  yaw: {type: yaw, body: b}
  along: {type: velocity_along, point: d.E, vector: a.y}
  q1: {type: coordinate, coordinate: O.angle}
  s: {type: distance, points: [ground.B, d.E]}
  s1: {type: distance, points: [ground.B, d.E], derivative: 1}
  F: {type: force, force: motor}
  G: {type: force, force: spring}
  H: {type: force, force: pull}
  K: {type: kinetic_energy}
forces:
  motor:
    type: drive
    coordinate: O.angle
    value: "-k*O.angle - c*O.angle.velocity + soft(r.y)*k - w.z**3*step(t, 0, 0.5, 0.1, L)"
  spring:
    type: spring_damper
    points: [ground.B, d.E]
    natural_length: 0.1
    stiffness: 0.5
    force: "-k*(s - L) - c*s1*abs(s1) + 0.2*P.angle.velocity + 0.1*dot(v, r)*cos(yaw) + along"
  pull: {type: force, point: b.Q, value: ["-0.3*r.x - c*v.x*abs(v.x)", e.y, "k*sin(3*t)*w.z"]}
  turn:
    type: torque
    body: d
    value:
      - "if(r.x > 2.1, 0.2*v.y, sqrt(r.x - 2.1))"
      - "impact(r.y, v.y, 1.5, k, 1.5, c, 0.2)"
      - "norm(cross(r, v))*0.05*m"
    axes: body
objectives:
  j1: {integral: r.y**2 + K}
  j2: {final: q1 + s}
  j3: {integral: F**2 + 0.1*G*q1 + H.x + H.z}
analysis: {formulation: FORMULATION, step: 1e-2, duration: 0.02, sensitivity: {method: ddm, parameters: all}}
checks: {gradients: {agreement: [complex_step, adjoint, OTHERS], relative_tolerance: 1e-9}}
"""
LOOP = "constraints: {rod: {type: distance, points: [ground.B, d.E]}}\nobjectives:"
BALL = "Q: {type: spherical, bodies: [b, d], point: Q}"
REVOLUTE = "Q: {type: revolute, bodies: [b, d], point: Q, axis: z, initial: {angle: -0.3}}"


def written(folder, formulation, others="", **changes):
    """The model, with texts replaced."""
    text = MODEL.replace("FORMULATION", formulation).replace(", OTHERS", f", {others}" if others else "")
    for old, new in changes.get("replaced", ()):
        assert old in text
        text = text.replace(old, new)
    path = folder / "model.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("formulation", "others", "replaced"),
    [
        pytest.param("ali3p-rtdyn1", "ali3p-rtdyn0", [], marks=pytest.mark.slow),  # by complex steps below
        ("ali3p-rtdyn0", "ali3p-rtdyn1", [("objectives:", LOOP), (REVOLUTE, BALL)]),
        ("ali3p-natural", "", [("objectives:", LOOP)]),
        ("recursive", "conventional, partial_recursive", [("analysis: {", "analysis: {integrator: rk4, ")]),
        pytest.param(
            "recursive",
            "",
            [("analysis: {", "analysis: {integrator: esdirk, "), (REVOLUTE, BALL)],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["tree", "loop", "natural", "open", "implicit"],
)
def test_gradients_of_whole_runs(tmp_path, formulation, others, replaced):
    found = mbsim_cli.check(written(tmp_path, formulation, others, replaced=replaced))
    assert len(found) >= 3 * 5 * 2
    assert [row for row in found if not row.passed] == []


def test_every_number_by_complex_step(tmp_path):
    """Along random directions of theta: also numbers of laws, and constants within expressions."""
    problem = build(load(written(tmp_path, "ali3p-rtdyn1"), Settings()), Settings(), []).problem
    signals, rng = problem.model.signals, np.random.default_rng(3)
    numbers = [o + np.arange(a, b) - a for o, a, b in zip(signals.theta, signals.numbers, signals.steps, strict=True)]
    direction = np.zeros(problem.theta.size)
    direction[np.concatenate(numbers)] = 1.0
    direction[problem.model.laws.theta[0] + 5 :][:16] = rng.normal(size=16)
    assert_agree(problem, {"numbers": direction}, steps=3)


def test_values_against_scipy(tmp_path):
    """A mass on a rail, pulled by a law, dry drag and a spring that knows the other mass."""
    path = tmp_path / "model.yaml"
    path.write_text(
        """\
mbsim: 1
gravity: [0, 0, 0]
points: {O: {ground: [0, 0, 0], a: [0, 0, 0], b: [0, 0, 0]}}
bodies: {a: {mass: 2, inertia: {xx: 1, yy: 1, zz: 1}}, b: {mass: 0.5, inertia: {xx: 1, yy: 1, zz: 1}}}
joints:
  A: {type: prismatic, bodies: [ground, a], point: O, axis: x, initial: {displacement: 0.3}}
  B: {type: prismatic, bodies: [ground, b], point: O, axis: x, initial: {displacement: -0.2}}
forces:
  one: {type: drive, coordinate: A.displacement, value: "-4*tanh(A.displacement - B.displacement) + cos(2*t)"}
  two: {type: force, point: b.O, value: ["3*(A.displacement - B.displacement)**3 - v.x*hypot(v.x, 0.1)", 0, 0]}
sensors:
  x: {type: coordinate, coordinate: A.displacement}
  y: {type: coordinate, coordinate: B.displacement}
  v: {type: velocity, point: b.O}
objectives: {x_end: {final: x}, y_end: {final: y}}
analysis: {formulation: recursive, integrator: dop853, duration: 1, step: 0.5, tolerance: 1e-12}
"""
    )

    def rate(t, z):
        x, y, u, v = z
        return u, v, (-4 * np.tanh(x - y) + np.cos(2 * t)) / 2, (3 * (x - y) ** 3 - v * np.hypot(v, 0.1)) / 0.5

    exact = solve_ivp(rate, (0, 1), [0.3, -0.2, 0, 0], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    found = mbsim_cli.run(path).objectives
    assert [found["x_end"].value, found["y_end"].value] == pytest.approx(exact[:2], rel=1e-9)


@pytest.mark.parametrize("code", [code for code in Operation if code != Operation.LAW], ids=lambda code: code.name)
@pytest.mark.parametrize("imaginary", [0.0, 1e-20])
def test_slopes_of_steps(code, imaginary):
    at = np.array([0.31, 0.74, -0.2]) + 1j * imaginary * np.array([0.3, -1.2, 0.7])
    given = at if imaginary else at.real
    value = operate(code, *given)
    slopes = slopes_of(code, *given, value)
    for k in range(3):
        moved = at.real + 1e-30j * np.eye(3)[k]
        assert slopes[k].real == pytest.approx(operate(code, *moved).imag / 1e-30, rel=1e-14, abs=1e-15)
    if imaginary:
        assert value.imag == pytest.approx(
            sum(slope.real * x.imag for slope, x in zip(slopes, at, strict=True)), rel=1e-12
        )


@pytest.mark.parametrize(
    ("code", "a", "b"),
    [
        (Operation.ATAN2, np.inf, 1.0),
        (Operation.ATAN2, 1.0, -np.inf),
        (Operation.POWER, np.inf, -0.5),
        (Operation.POWER, 2.0, -np.inf),
        (Operation.POWER, 0.5, np.inf),
    ],
)
def test_finite_values_of_infinite_operands_have_no_slopes(code, a, b):
    value = operate(code, np.float64(a), np.float64(b), np.float64(0.0))
    assert np.isfinite(value)
    assert slopes_of(code, np.float64(a), np.float64(b), np.float64(0.0), value) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("late", [0.0, 1e-20j])
def test_infinite_and_undefined_operands(late):
    """Comparisons with infinity follow the order of numbers. An undefined operand gives an undefined result."""
    inf, nan = np.float64(np.inf) + late, np.float64(np.nan) + late
    one, two = np.float64(1.0) + late, np.float64(2.0) + late
    for code, expected in ((Operation.LESS, (0, 1, 0)), (Operation.LESS_EQUAL, (0, 1, 1)), (Operation.SIGN, (1, 1, 1))):
        assert tuple(operate(code, *pair, one) for pair in ((inf, one), (one, inf), (inf, inf))) == expected
    assert operate(Operation.SELECT, operate(Operation.LESS, inf, one, one), one, two).real == 2
    for code in (Operation.LESS, Operation.LESS_EQUAL, Operation.MINIMUM, Operation.MAXIMUM):
        assert all(np.isnan(operate(code, *pair, one).real) for pair in ((nan, one), (one, nan)))
    assert np.isnan(operate(Operation.SELECT, nan, one, two).real)
    for name, (a, b) in {"less": (nan, one), "less_equal": (one, nan), "select": (nan, one)}.items():
        assert np.isnan(OPERATIONS[name].value(*np.array([a, b, two])[: 2 + (name == "select")]))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("x.velocity/Z < 1", 2),
        ("-x.velocity/Z < 1", 3),
        ("(t + 1)/Z < 1", 2),
        ("-(t + 1)/Z < 1", 3),
        ("t < -1/Z", 2),
        ("t/Z < 1", None),
    ],
)
def test_comparisons_beside_a_division_by_zero(tmp_path, condition, expected):
    path, value = tmp_path / "model.yaml", f"if({condition.replace('x.', 'x.displacement.')}, 3, 2)"
    path.write_text(
        f"""\
mbsim: 1
parameters: {{Z: 0}}
bodies: {{a: {{mass: 1}}}}
joints: {{x: {{type: prismatic, bodies: [ground, a], point: origin, axis: x, initial: {{velocity: 1}}}}}}
forces: {{F: {{type: drive, coordinate: x.displacement, value: "{value}"}}}}
sensors: {{F: {{type: force, force: F}}}}
objectives: {{F: {{integral: F}}}}
analysis: {{formulation: recursive, integrator: rk4, duration: 0.1, step: 0.05}}
"""
    )
    with np.errstate(all="ignore"):  # numpy warns of divisions where nothing is compiled
        if expected is None:
            with pytest.raises(mbsim_cli.AnalysisError, match=r"undefined at t = 0 s.*F.value"):
                mbsim_cli.run(path)
        else:
            assert mbsim_cli.run(path).objectives["F"].value == pytest.approx(0.1 * expected, rel=1e-12)


def test_models_without_expressions_know_nothing_of_them(tmp_path):
    head, _, rest = MODEL.partition("forces:\n")
    plain = '  motor: {type: drive, coordinate: O.angle, value: "-k*c + pi"}\nobjectives: {j: {final: q1}}\n'
    path = written(tmp_path, "ali3p-rtdyn1")
    text = head + "forces:\n" + plain + rest[rest.index("analysis:") :]
    for sensor in ("G: {type: force, force: spring}", "H: {type: force, force: pull}"):
        text = text.replace(f"  {sensor}\n", "")
    path.write_text(text.replace("FORMULATION", "ali3p-rtdyn1").partition("checks:")[0])
    file = load(path, Settings())
    assert file.moving == ()
    assert isinstance(build(file, Settings(), []).problem.model.signals, NoSignals)


def test_natural_coordinates_find_bodies_behind_coordinates(tmp_path):
    """Nothing but a coordinate of a joint says that the force on one body depends on the other."""
    path = tmp_path / "model.yaml"
    path.write_text(
        """\
mbsim: 1
gravity: [0, 0, 0]
parameters: {k: 4, c: 30}
points: {O: {ground: [0, 0, 0], a: [0, 0, 0], b: [0, 0, 0]}}
bodies: {a: {mass: 2, inertia: {xx: 1, yy: 1, zz: 1}}, b: {mass: 0.5, inertia: {xx: 1, yy: 1, zz: 1}}}
joints:
  A: {type: prismatic, bodies: [ground, a], point: O, axis: x, initial: {displacement: 0.3}}
  B: {type: prismatic, bodies: [ground, b], point: O, axis: x, initial: {displacement: -0.2, velocity: 1}}
forces:
  one: {type: drive, coordinate: A.displacement, value: "-k*B.displacement - c*B.displacement.velocity"}
  two: {type: spring_damper, points: [a.O, b.O], stiffness: 10, natural_length: 0.2}
sensors: {x: {type: coordinate, coordinate: A.displacement}}
objectives: {x_end: {final: x}}
analysis: {formulation: ali3p-natural, duration: 0.05, step: 0.01, sensitivity: {method: ddm, parameters: all}}
checks: {gradients: {agreement: [complex_step, adjoint], relative_tolerance: 1e-9}}
"""
    )
    found = mbsim_cli.check(path)
    assert len(found) >= 6
    assert [row for row in found if not row.passed] == []


def test_integrals_of_sensors_that_are_expressions_inside_adaptive_steps(tmp_path):
    """The first block has no times inside steps yet."""
    path = tmp_path / "a.yaml"
    path.write_text("""
mbsim: 1
bodies: {a: {mass: 1}}
parameters: {k: 3}
joints: {a: {type: prismatic, bodies: [ground, a], point: origin, axis: x, initial: {displacement: 1}}}
sensors: {x: {type: coordinate, coordinate: a.displacement}, F: {type: expression, value: -k*x}}
forces: {f: {type: drive, coordinate: a.displacement, value: F}}
objectives: {a: {integral: F}}
analysis:
  {formulation: recursive, integrator: dop853, step: 0.05, duration: 0.1, sensitivity: {method: ddm, parameters: all}}
""")
    found = mbsim_cli.load(path).run().objectives["a"]
    w = np.sqrt(3) * 0.1
    assert abs(found.value + np.sqrt(3) * np.sin(w)) < 1e-9
    assert abs(found.gradient[0] + (np.sin(w) / np.sqrt(3) + 0.1 * np.cos(w)) / 2) < 1e-8
