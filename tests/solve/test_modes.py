"""Modes against closed forms, published values and differences; their gradients too."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh

import mbsim_cli as mbsim
from mbsim_cli import assembly, spec
from mbsim_cli.model.problem import damping_ratio, frequency
from mbsim_cli.solve.linear.equations import Linearising, at_equilibrium, at_start
from mbsim_cli.solve.linear.modes import found_at, modes_of

MODELS = Path(__file__).parents[2] / "models"
TIGHT = 1e-9
HEAD = "mbsim: 1\ngravity: [0, 0, -9.81]\n"
MODAL = "analysis: {type: modes, sensitivity: {method: ddm, parameters: all}}\n"

CHAIN = (
    HEAD
    + """
parameters: {k: 100, m: 2}
repeat:
  row:
    for: {i: [1, 5]}
    bodies: {"b{i}": {mass: m}}
    joints: {"s{i}": {type: prismatic, bodies: ["b{i-1}", "b{i}"], point: origin, axis: x}}
    forces: {"f{i}": {type: spring_damper, coordinate: "s{i}.displacement", stiffness: k, natural_length: 0}}
    first: {joints: {"s{i}": {bodies: [ground, "b{i}"]}}}
points: {end: {ground: [100, 0, 0]}}
forces:
  end: {type: spring_damper, points: [ground.end, b5.origin], stiffness: k, natural_length: 100}
"""
    + MODAL
)

DOUBLE = (
    HEAD
    + """
parameters: {l_1: 0.7, l_2: 0.4, m_1: 1.3, m_2: 0.6}
points:
  O: {ground: [0, 0, 0], a: [0, 0, 0]}
  P: {a: [0, 0, -l_1], b: [0, 0, 0]}
bodies:
  a: {mass: m_1, center_of_mass: [0, 0, -l_1]}
  b: {mass: m_2, center_of_mass: [0, 0, -l_2]}
joints:
  O: {type: revolute, bodies: [ground, a], point: O, axis: y}
  P: {type: revolute, bodies: [a, b], point: P, axis: y}
"""
    + MODAL
)

SHAFT = (
    HEAD
    + """
parameters: {speed: 40, k: 900, J: 0.3}
bodies: {hub: {mass: 0}, arm: {mass: 0}, disc: {mass: 2, inertia: {xx: 0.2, yy: 0.2, zz: J}}}
joints:
  tilt: {type: revolute, bodies: [ground, hub], point: origin, axis: x}
  nod: {type: revolute, bodies: [hub, arm], point: origin, axis: y}
  spin: {type: revolute, bodies: [arm, disc], point: origin, axis: z, initial: {angular_velocity: speed}}
forces:
  x: {type: rotational_spring_damper, coordinate: tilt.angle, stiffness: k, natural_angle: 0}
  y: {type: rotational_spring_damper, coordinate: nod.angle, stiffness: k, natural_angle: 0}
analysis: {type: modes, at: start, sensitivity: {method: ddm, parameters: all}}
"""
)


def problem_of(text, tmp_path, by=None, values=()):
    path = tmp_path / "model.yaml"
    path.write_text(text)
    return assembly.build(spec.load(path, dict(values)), sensitivity="ddm", sensitivity_parameters=by).problem


def found_in(problem):
    at_rest = problem.options.at != "start"
    return found_at(problem, at_equilibrium(problem) if at_rest else at_start(problem), moves=not at_rest)


def test_chain_of_masses(tmp_path):
    """omega_j = 2 sqrt(k / m) sin(j pi / (2 (n + 1))), of six springs and five masses."""
    found = found_in(problem_of(CHAIN, tmp_path))
    omega = 2.0 * np.sqrt(50.0) * np.sin(np.arange(1, 6) * np.pi / 12.0)
    assert np.allclose(found.value, 1j * omega, rtol=TIGHT, atol=TIGHT)
    assert np.allclose(found.d_value, 1j * np.outer(omega, [0.5 / 100.0, -0.5 / 2.0]), rtol=TIGHT, atol=TIGHT)
    assert found.neutral == 0 and found.stable
    places = np.cumsum(found.shape[:, 0])
    exact = np.sin(np.arange(1, 6) * np.pi / 6.0)
    assert np.allclose(places / places[2], exact / exact[2], rtol=TIGHT)


def double_pendulum(l_1, l_2, m_1, m_2):
    M = np.array([[(m_1 + m_2) * l_1**2, m_2 * l_1 * l_2], [m_2 * l_1 * l_2, m_2 * l_2**2]])
    K = 9.81 * np.diag([(m_1 + m_2) * l_1, m_2 * l_2])
    return np.sort(np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K))))


PENDULUM = (
    HEAD
    + """
parameters: {rate: 3}
bodies: {arm: {mass: 1, center_of_mass: [0, 0, -1]}}
joints:
  O: {type: revolute, bodies: [ground, arm], point: origin, axis: y, initial: {angle: 1, angular_velocity: rate}}
"""
    + MODAL.replace("modes", "modes, at: start")
)


@pytest.mark.parametrize("second", [1e-6, 1.0, 100.0])
def test_a_motion_that_is_not_steady_is_reported(tmp_path, second):
    """s^2 = -g cos(angle): per radian s changes by -tan(angle) / 2 of it; its time constant is 1 / |s|."""
    text = PENDULUM.replace("-9.81", repr(-9.81 / second**2))
    found = found_in(problem_of(text, tmp_path, values={"rate": repr(3.0 / second)}))
    root = np.sqrt(9.81 * np.cos(1.0))
    assert np.allclose(found.value * second, 1j * root, rtol=TIGHT)
    assert found.unsteady.tolist() == [0]
    assert found.drift == pytest.approx([3.0 * np.tan(1.0) / 2.0 / root], rel=1e-5)


@pytest.mark.parametrize("second", [1e-6, 1.0, 100.0])
def test_a_point_at_rest_that_is_no_equilibrium_is_reported(tmp_path, second):
    """It moves by g sin(angle) / (2 |s|^2), half a tangent, in its time constant."""
    text = PENDULUM.replace("-9.81", repr(-9.81 / second**2))
    found = found_in(problem_of(text, tmp_path, values={"rate": "0"}))
    assert found.unsteady.tolist() == [0]
    assert found.drift == pytest.approx([np.tan(1.0) ** 2 / 4.0], rel=1e-5)
    still = found_in(problem_of(text.replace("angle: 1,", "angle: 0,"), tmp_path, values={"rate": "0"}))
    assert not still.unsteady.size


@pytest.mark.parametrize("rate", ["0", "3"])
def test_responses_about_a_start_that_is_not_steady_warn(rate):
    response = "frequency_response, at: start, inputs: [push], frequencies: [1]"
    text = PENDULUM.replace("rate: 3", f"rate: {rate}").replace("modes, at: start", response)
    others = "sensors: {q: {type: coordinate, coordinate: O.angle}}\n"
    others += "forces: {push: {type: drive, coordinate: O.angle, value: 0}}\n"
    warnings = mbsim.loads(text + others).run().warnings
    assert any("the motion is not steady: eigenvalues of mode 1" in one for one in warnings)


@pytest.mark.parametrize("times", [[0, 1, 2], [-2, -1, 0]])
def test_a_table_may_begin_or_end_at_the_point(tmp_path, times):
    """Behind its end it has no value, with which the motion a moment before or after could be compared."""
    drive = f"""
laws: {{push: {{type: spline, times: {times}, values: [0, 0, 0]}}}}
forces: {{motor: {{type: drive, coordinate: O.angle, law: push}}}}
"""
    found = found_in(problem_of(PENDULUM + drive, tmp_path))
    assert found.value == pytest.approx([1j * np.sqrt(9.81 * np.cos(1.0))], rel=TIGHT)
    assert found.drift == pytest.approx([3.0 * np.tan(1.0) / 2.0 / abs(found.value[0])], rel=1e-3)


@pytest.mark.slow
def test_double_pendulum(tmp_path):
    found = found_in(problem_of(DOUBLE, tmp_path))
    values = np.array([0.7, 0.4, 1.3, 0.6])
    assert np.allclose(found.value, 1j * double_pendulum(*values), rtol=TIGHT)
    for k, change in enumerate(np.eye(4) * 1e-20j):
        stepped = values + change
        exact = double_pendulum_complex(*stepped).imag / 1e-20
        assert np.allclose(found.d_value[:, k].imag, exact, rtol=TIGHT, atol=1e-9)


def double_pendulum_complex(l_1, l_2, m_1, m_2):
    """The roots of the characteristic polynomial, by the formula of quadratic equations."""
    a = m_1 * m_2 * l_1**2 * l_2**2
    b = 9.81 * (m_1 + m_2) * m_2 * l_1 * l_2 * (l_1 + l_2)
    c = 9.81**2 * (m_1 + m_2) * m_2 * l_1 * l_2
    root = np.sqrt(b * b - 4.0 * a * c)
    return np.sqrt(np.array([b - root, b + root]) / (2.0 * a))


@pytest.mark.slow
def test_quarter_car_with_damping(tmp_path):
    text = (
        HEAD
        + """
parameters: {k_s: 18e3, c_s: 900, m_u: 35}
bodies: {wheel: {mass: m_u}, body: {mass: 250}}
joints:
  axle: {type: prismatic, bodies: [ground, wheel], point: origin, axis: z}
  strut: {type: prismatic, bodies: [wheel, body], point: origin, axis: z}
forces:
  tyre: {type: spring_damper, coordinate: axle.displacement, stiffness: 180e3, natural_length: 0}
  s: {type: spring_damper, coordinate: strut.displacement, stiffness: k_s, damping: c_s, natural_length: 0}
"""
        + MODAL
    )
    found = found_in(problem_of(text, tmp_path))

    def roots(k_s, c_s, m_u):
        """m_u m_b s^4 + c (m_u + m_b) s^3 + (k (m_u + m_b) + k_t m_b) s^2 + k_t c s + k k_t."""
        whole = m_u + 250.0
        every = np.roots([m_u * 250.0, c_s * whole, k_s * whole + 180e3 * 250.0, 180e3 * c_s, k_s * 180e3])
        return np.sort_complex(every[every.imag > 0.0])[::-1]

    values = np.array([18e3, 900.0, 35.0])
    assert np.allclose(found.value, roots(*values), rtol=TIGHT)
    for k, value in enumerate(values):
        h = 1e-4 * value
        change = np.eye(3)[k] * h
        slope = (8 * (roots(*(values + change)) - roots(*(values - change)))
                 - roots(*(values + 2 * change)) + roots(*(values - 2 * change))) / (12 * h)  # fmt: skip
        assert np.allclose(found.d_value[:, k], slope, rtol=1e-8)


HALF_CAR = (
    """
mbsim: 1
gravity: [0, 0, 0]
parameters: {m: 600, J: 900, a: 1.2, b: 1.5, k: 20e3, c: 1500}
points:
  front: {ground: [a, 0, 0], body: [a, 0, 1]}
  rear: {ground: [-b, 0, 0], body: [-b, 0, 1]}
  centre: {carrier: [0, 0, 1], body: [0, 0, 1]}
bodies: {carrier: {mass: 0}, body: {mass: m, center_of_mass: [0, 0, 1], inertia: {yy: J}}}
joints:
  bounce: {type: prismatic, bodies: [ground, carrier], point: origin, axis: z}
  pitch: {type: revolute, bodies: [carrier, body], point: centre, axis: y}
forces:
  front: {type: spring_damper, points: [ground.front, body.front], stiffness: k, damping: c, natural_length: 1}
  rear: {type: spring_damper, points: [ground.rear, body.rear], stiffness: 1.3*k, damping: c, natural_length: 1}
"""
    + MODAL
)


@pytest.mark.slow
def test_half_car(tmp_path):
    """Roots of (m s^2 + c_z s + k_z) (J s^2 + c_p s + k_p) - (c_x s + k_x)^2, and slopes of it."""
    found = found_in(problem_of(HALF_CAR, tmp_path))

    def determinant(s, m, J, a, b, k, c):
        bounce = m * s**2 + 2.0 * c * s + 2.3 * k
        pitch = J * s**2 + (a**2 + b**2) * c * s + (a**2 + 1.3 * b**2) * k
        return bounce * pitch - ((a - b) * c * s + (a - 1.3 * b) * k) ** 2

    values = np.array([600, 900, 1.2, 1.5, 20e3, 1500])
    assert found.value.size == 2
    for s, d_s in zip(found.value, found.d_value, strict=True):
        h = 1e-3
        slope = sum(determinant(s + w * h, *values) / (4 * w * h) for w in (1, 1j, -1, -1j))
        assert abs(determinant(s, *values)) < TIGHT * abs(slope * s)
        for k, value in enumerate(values):
            step = 1e-3 * value * np.eye(6)[k]
            by = sum(determinant(s, *(values + w * step)) / (4e-3 * w * value) for w in (1, 1j, -1, -1j))
            assert d_s[k] == pytest.approx(-by / slope, rel=TIGHT), k


LINKS = (
    """
mbsim: 1
gravity: [0, 0, 0]
parameters: {EI: 3, mass: 2, length: 1.5}
constants: {h: length/%(n)d, part: mass/%(n)d, k: EI/h}
repeat:
  row:
    for: {i: [1, %(n)d]}
    points: {tip: {"b{i}": [h, 0, 0]}}
    bodies: {"b{i}": {shape: {type: rod, length: h, mass: part}}}
    joints: {"j{i}": {type: revolute, bodies: ["b{i-1}", "b{i}"], point: [tip, origin], axis: y}}
    forces: {"f{i}": {type: rotational_spring_damper, coordinate: "j{i}.angle", stiffness: k, natural_angle: 0}}
    first:
      joints: {"j{i}": {bodies: [ground, "b{i}"], point: origin}}
      forces: {"f{i}": {stiffness: 2*k}}
"""
    + MODAL
)


@pytest.mark.slow
def test_rigid_links_approach_a_clamped_beam(tmp_path):
    """To 1e-9 the frequencies of the links, and with the square of their length those of Euler and Bernoulli."""
    exact = np.array([1.8751040687119611, 4.694091132974175]) ** 2 * np.sqrt(3.0 / (2.0 / 1.5 * 1.5**4))
    errors = []
    for n in (8, 16):
        found = found_in(problem_of(LINKS % {"n": n}, tmp_path))
        h, part, k = 1.5 / n, 2.0 / n, 3.0 * n / 1.5
        turned = np.tril(np.ones((n, n)))  # slopes of the links by the angles of joints
        height = h * (np.tril(np.ones((n, n)), -1) + 0.5 * np.eye(n)) @ turned
        M = part * height.T @ height + part * h * h / 12.0 * turned.T @ turned
        omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, np.diag([2.0 * k] + (n - 1) * [k]))))
        assert np.allclose(found.value.imag, np.sort(omega.real), rtol=TIGHT)
        assert np.allclose(
            found.d_value.imag, np.outer(found.value.imag, [0.5 / 3.0, -0.5 / 2.0, -1.5 / 1.5]), rtol=1e-8
        )
        errors.append(found.value.imag[:2] / exact - 1.0)
    assert np.allclose(errors[0] / errors[1], 4.0, rtol=0.1)
    assert np.abs(errors[1]).max() < 0.01


@pytest.mark.slow
def test_rotating_shaft(tmp_path):
    """Forward and backward whirl: I s^2 + i J speed s + k = 0 of complex tilts."""
    found = found_in(problem_of(SHAFT, tmp_path))
    g = 0.3 * 40.0 / (2 * 0.2)
    exact = np.sqrt(g * g + 900.0 / 0.2) + np.array([-g, g])
    assert np.allclose(found.value, 1j * exact, rtol=TIGHT)
    d_g = np.array([0.3, 0.0, 40.0]) / (2 * 0.2)
    d_root = (g * d_g + np.array([0.0, 0.5 / 0.2, 0.0])) / np.sqrt(g * g + 900.0 / 0.2)
    assert np.allclose(found.d_value.imag, [d_root - d_g, d_root + d_g], rtol=1e-8)
    assert not found.unsteady.size
    assert found.neutral == 2  # the angle of the spin, and its speed


@pytest.mark.slow
def test_equal_eigenvalues_have_no_derivatives(tmp_path):
    found = found_in(problem_of(SHAFT.replace("speed: 40", "speed: 0"), tmp_path))
    assert found.close == ((1,), (0,))
    assert np.isnan(found.d_value).all()
    assert np.allclose(found.value, 1j * np.sqrt(900.0 / 0.2), rtol=TIGHT)


WHIPPLE = (MODELS / "benchmarks" / "whipple_bicycle.yaml").read_text()


def bicycle(tmp_path, speed, stiffness="1e12"):
    """Slip is of order 1 / C; round-off of order C hides eigenvalues near zero."""
    problem = problem_of(WHIPPLE, tmp_path, by=["v"], values={"v": repr(float(speed)), "C": stiffness})
    return found_in(replace(problem, options=replace(problem.options, at="start")))


def test_objectives_of_equal_eigenvalues_have_values_and_no_derivatives():
    """Of a pair alone, of all modes without damping, and of an expression that reads the pair; others have both."""
    masses = {name: {"mass": "m" if name == "c" else 2} for name in "abc"}
    model = {
        "mbsim": 1,
        "gravity": [0, 0, 0],
        "parameters": {"k": 100, "m": 0.5},
        "bodies": masses,
        "joints": {x: {"type": "prismatic", "bodies": ["ground", x], "point": "origin", "axis": "x"} for x in masses},
        "forces": {
            x: {"type": "spring_damper", "coordinate": f"{x}.displacement", "stiffness": "k", "natural_length": 0}
            for x in masses
        },
        "objectives": {
            "pair": {"imaginary_part": 1},
            "square": {"expression": "pair**2"},
            "largest": {"real_part": "largest"},
            "single": {"imaginary_part": 3},
        },
        "analysis": {"type": "modes", "sensitivity": {"method": "ddm", "parameters": "all"}},
    }
    found = mbsim.loads(model).run().objectives
    assert [each.value for each in found.values()] == pytest.approx([50**0.5, 50, 0, 200**0.5], rel=1e-12, abs=1e-9)
    for name in ("pair", "square", "largest"):
        assert np.isnan(found[name].gradient).all() and set(found[name].undefined) == {"k", "m"}, name
    assert found["single"].gradient == pytest.approx([200**0.5 / 200, -(200**0.5)], rel=1e-10)


@pytest.mark.slow
def test_bicycle(tmp_path):
    """Table 2 of Meijaard et al. (2007): weave, capsize and castering at 5 m/s; it capsizes beyond 6.024 m/s."""
    found = bicycle(tmp_path, 5.0)
    published = np.array([-0.322866429004087, -0.775341882195845 + 4.46486771378823j, -14.0783896927982])
    assert np.allclose(found.value[:3], published, rtol=2e-8, atol=0.0)
    assert not found.unsteady[found.unsteady < 3].size


@pytest.mark.slow
def test_speed_from_which_the_bicycle_does_not_weave(tmp_path):
    """Newton's method on the real part by its derivative, towards no slip; the derivative against a difference."""
    speeds = []
    for stiffness in ("1e8", "2e8"):
        speed = 4.2
        for _ in range(6):
            found = bicycle(tmp_path, speed, stiffness)
            k = int(np.argmax(found.value.imag))
            change = found.value[k].real / found.d_value[k, 0].real
            speed -= change
            if abs(change) < 1e-9:
                break
        speeds.append(speed)
    assert 2.0 * speeds[1] - speeds[0] == pytest.approx(4.29238253634111, rel=1e-10)
    beside = [bicycle(tmp_path, speed + change, stiffness).value[k].real for change in (1e-3, -1e-3)]
    assert found.d_value[k, 0].real == pytest.approx((beside[0] - beside[1]) / 2e-3, rel=1e-5)


@pytest.mark.slow
def test_speed_beyond_which_the_bicycle_capsizes(tmp_path):
    """Where the cubic through real parts and their derivatives on both sides is zero, towards rolling without slip."""
    sides = []
    for speed in (6.0, 6.05):
        slipping, less = (bicycle(tmp_path, speed, C) for C in ("1e8", "2e8"))
        for part in ("value", "d_value"):
            one, other = (getattr(found, part).reshape(-1)[0].real for found in (slipping, less))
            sides.append(2.0 * other - one)
    powers = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0.05, 0.05**2, 0.05**3], [0, 1, 2 * 0.05, 3 * 0.05**2]])
    roots = np.roots(np.linalg.solve(powers, sides)[::-1])
    assert 6.0 + roots[np.argmin(np.abs(roots))].real == pytest.approx(6.02426201538837, rel=3e-7)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["fivebar", "benchmarks/andrews_squeezer"])
def test_gradients_against_differences(tmp_path, model):
    """Loops: by whole new linear equations beside each parameter."""
    path = MODELS / f"{model}.yaml"
    file = spec.load(path)
    by = list(file.parameters)[:3]
    problem = assembly.build(file, sensitivity="ddm", sensitivity_parameters=by).problem
    problem = replace(problem, options=replace(problem.options, at="start"))
    point = replace(at_start(problem), zd=0 * at_start(problem).zd, dzd=0 * at_start(problem).dzd)
    linear = Linearising(problem, point)
    derivatives = linear.derivatives()
    for k, name in enumerate(by):
        value = float(file.expressions.scope()[name].real)
        h = 1e-4 * max(abs(value), 1e-3)
        sides = []
        for change in (2 * h, h, -h, -2 * h):
            moved = assembly.build(spec.load(path, {name: repr(value + change)}), sensitivity="none").problem
            at = at_start(moved)
            beside = Linearising(problem, point).at(replace(point, z=at.z, theta=at.theta, dz=point.dz, dzd=point.dzd))
            sides.append((beside.M, beside.C, beside.K))
        for exact, *four in zip(derivatives[:3], *sides, strict=True):
            slope = (-four[0] + 8 * four[1] - 8 * four[2] + four[3]) / (12 * h)
            noise = 1e-11 * np.abs(sides[0][0]).max() / h
            assert np.allclose(exact[k], slope, rtol=1e-6, atol=noise + 1e-7 * np.abs(slope).max()), name


def test_modes_of_matrices():
    """Damped and neutral modes of random matrices with known eigenvalues."""
    random = np.random.default_rng(4)
    omega, zeta = np.array([1.0, 3.0, 40.0, 2000.0]), np.array([0.1, 0.0, 1.5, 0.3])
    mix = random.normal(size=(5, 5))
    M, C, K = np.eye(5), np.diag([0.0, *(2 * zeta * omega)]), np.diag([0.0, *omega**2])
    found = modes_of(*(mix.T @ part @ mix for part in (M, C, K)))
    root = np.sqrt(complex(1) * (zeta**2 - 1))
    exact = np.concatenate([-zeta * omega + root * omega, (-zeta * omega - root * omega)[zeta > 1]])
    assert np.allclose(np.sort_complex(found.value), np.sort_complex(exact), rtol=1e-8)
    assert found.neutral == 2
    f, _ = frequency(found.value[:1], np.zeros((1, 0)))
    z, _ = damping_ratio(found.value[:1], np.zeros((1, 0)))
    assert f[0] == pytest.approx(1.0 / (2 * np.pi)) and z[0] == pytest.approx(0.1)


@pytest.mark.parametrize("mass", [1e-1, 1e-3, 1e-4])
def test_slow_modes_beside_very_fast_ones_are_found(mass):
    """A heavy mass on a light structure: from some 2e6 between the frequencies on the slowest was taken for zero."""
    M, K = 50.0 * np.ones((4, 4)) + mass * np.eye(4), np.diag([500.0, 1e7, 1e10, 1e13])
    found, exact = modes_of(M, np.zeros((4, 4)), K), 1.0 / np.sqrt(eigh(M, K, eigvals_only=True)[::-1])
    assert found.neutral == 0 and exact[-1] > 2e6 * exact[0]
    np.testing.assert_allclose(np.abs(found.value), exact, rtol=1e-4)


PLATE = """
mbsim: 1
gravity: [3.05, 3.079, 0.153]
parameters: {m: 1.546, k: %s}
vectors: {n: {ground: [0.48, -0.267, -0.167], plate: [0.744, 0.571, 0.882]}}
bodies: {plate: {mass: m, center_of_mass: [-0.198, -0.184, -0.14], inertia: {xx: 0.319, yy: 0.26, zz: 0.289}}}
joints:
  slide:
    type: planar
    bodies: [ground, plate]
    point: origin
    axis: n
    initial: {position: [-0.095, 0.207], velocity: [0.648, -0.095], angle: 0.414}
forces: {s: {type: spring_damper, coordinate: slide.x, stiffness: k, natural_length: 0}}
analysis: {type: modes, at: start, sensitivity: {method: ddm, parameters: all}}
"""


@pytest.mark.parametrize(("stiffness", "neutral"), [(1e-12, 4), (1e-9, 2)])
def test_round_off_of_zeros_is_no_mode(tmp_path, stiffness, neutral):
    """A gliding plate on a very soft spring: the derivative of its weight by the angle cancels that of its inertia."""
    problem = problem_of(PLATE % stiffness, tmp_path)
    linear = Linearising(problem, at_start(problem))
    equations, found = linear.equations, found_at(problem, linear.point, moves=False)
    assert modes_of(equations.M, equations.C, equations.K).neutral == 2
    assert found.neutral == neutral and found.stable
    assert found.value.size == (6 - neutral) // 2
    assert abs(found.value[-1]) == pytest.approx(0.8196 * np.sqrt(stiffness), rel=1e-3)
