"""Roads, laws made of laws, and the elements of vehicles, from the text to the numbers."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from mbsim_cli.errors import ModelError
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.model.codes import Force, Sensor, TyreQuantity
from mbsim_cli.model.layout import AXIS, FRICTION, NONE, RADIUS, SHAPE_B, SLOW
from tests.assembly.texts import assemble

CAR = """
parameters: {A: 0.3, T: 2, x_s: 5.5, H: 0.05, r: 0.3, k_b: 800, wear: 0.9}
bodies:
  car: {mass: 400, inertia: {xx: 40, yy: 100, zz: 120}}
  wheel: {mass: 10, inertia: {xx: 0.3, yy: 0.5, zz: 0.3}}
  other: {mass: 10, inertia: {xx: 0.3, yy: 0.5, zz: 0.3}}
points: {hub: {car: [1, 0.5, 0], wheel: [0, 0.02, 0]}}
joints:
  ride: {type: floating, bodies: [ground, car], initial: {position: [0, 0, 0.3]}}
  hub: {type: revolute, bodies: [car, wheel], point: hub, axis: y}
  other: {type: revolute, bodies: [car, other], point: origin, axis: y}
"""
TYRE = """
  tyre:
    {type: tyre, center: wheel.hub, axis: wheel.y, road: ROAD, radius: r, stiffness: 1e5, friction: wear,
     slip: {type: magic_formula, B: 8, C: 1.4}}
"""


def law_of(assembled, force="probe", slot=0):
    """A law of a force as a function, and its derivatives by the parameters."""
    problem = assembled.problem
    law = problem.model.forces.law[problem.names.forces.index(force), slot]
    steps = problem.theta[:, None] + 1e-30j * problem.theta_rho

    def at(x):
        value = law_value(problem.model.laws, problem.theta, law, x)[0]
        by = [np.imag(law_value(problem.model.laws, column, law, complex(x))[0]) / 1e-30 for column in steps.T]
        return value, dict(zip(problem.names.parameters, by, strict=True))

    return at


def with_law(tmp_path, law):
    """A drive that follows a law."""
    text = CAR + f"forces:\n  probe: {{type: drive, coordinate: hub.angle, law: {law}}}\n"
    return law_of(assemble(tmp_path, text, sensitivity="ddm", sensitivity_parameters=["A", "T"]))


def with_road(tmp_path, road, more="", **options):
    """A tyre on a road."""
    text = CAR + f"roads:\n  track: {road}\n{more}forces:" + TYRE.replace("tyre:", "probe:", 1).replace("ROAD", "track")
    return law_of(assemble(tmp_path, text, sensitivity="ddm", sensitivity_parameters=["x_s", "H"], **options))


def test_a_law_in_a_window_counts_from_its_start(tmp_path):
    wave = "{type: harmonic, amplitude: A, angular_frequency: 2*pi/T, power: 3}"
    at = with_law(tmp_path, f"{{type: windowed, start: 2, end: 2 + T, law: {wave}}}")
    for t in (0.0, 1.999, 2.0, 2.3, 3.1, 3.9, 4.0, 7.0):
        angle, inside = np.pi * (t - 2), 2 <= t < 4
        value, by = at(t)
        assert value == pytest.approx(0.3 * np.sin(angle) ** 3 * inside, abs=1e-15)
        assert by["A"] == pytest.approx(np.sin(angle) ** 3 * inside, abs=1e-15)
        slope = 3 * np.sin(angle) ** 2 * np.cos(angle)
        assert by["T"] == pytest.approx(0.3 * slope * (-angle / 2) * inside, abs=1e-14)


@pytest.mark.parametrize(
    ("law", "plain"),
    [
        ("{type: polynomial, coefficients: [0, 2, -4, 2]}", lambda x: 2 * x * (1 - x) ** 2),
        ("{type: smooth_step, from: 0, to: 0, start: 0.2, end: 0.8}", lambda x: 0.0),
        ("{type: spline, x: [0, 0.4, 1], values: [0, 1, 0]}", CubicSpline([0, 0.4, 1], [0, 1, 0], bc_type="natural")),
    ],
)
def test_laws_of_every_kind_move_with_the_window(tmp_path, law, plain):
    at = with_law(tmp_path, f"{{type: windowed, start: 3, end: 4, law: {law}}}")
    for x in (2.9, 3.0, 3.25, 3.77, 4.01):
        assert at(x)[0] == pytest.approx(plain(x - 3) if 3 <= x < 4 else 0.0, abs=1e-14)


def test_pieces_follow_each_other(tmp_path):
    pieces = "[{type: polynomial, coefficients: [0, A]}, {type: constant, value: A*T}, {type: constant, value: A*T}]"
    at = with_law(tmp_path, f"{{type: piecewise, breaks: [T, 5], laws: {pieces}}}")
    for t, value, by_A in ((-1.0, -0.3, -1.0), (1.5, 0.45, 1.5), (2.0, 0.6, 2.0), (9.0, 0.6, 2.0)):
        assert at(t)[0] == pytest.approx(value)
        assert at(t)[1]["A"] == pytest.approx(by_A)


def test_a_sum_of_windows(tmp_path):
    swing = "{type: harmonic, amplitude: SIGN A, angular_frequency: 2*pi/T, power: 3}"
    left, right = (
        f"{{type: windowed, start: {start}, end: {start} + T, law: {swing.replace('SIGN ', sign)}}}"
        for start, sign in ((2, ""), (6, "-"))
    )
    at = with_law(tmp_path, f"{{type: sum, laws: [{left}, {right}]}}")
    assert at(2.5)[0] == pytest.approx(0.3)
    assert at(6.5)[0] == pytest.approx(-0.3)
    assert at(5.0)[0] == 0.0


@pytest.mark.parametrize(
    "law",
    [
        "{type: windowed, start: 2, end: 4, law: {type: constant, value: 1}}",
        "{type: windowed, start: 2, end: 2.3, law: {type: harmonic, amplitude: 1, frequency: 1}}",
        "{type: piecewise, breaks: [1], laws: [{type: constant, value: 1}, {type: constant, value: 2}]}",
    ],
)
def test_a_law_that_jumps_is_refused(tmp_path, law):
    with pytest.raises(ModelError) as error:
        with_law(tmp_path, law)
    assert "the law is not continuous: it jumps from" in str(error.value)


def test_a_step(tmp_path):
    at = with_road(tmp_path, "{type: step, position: x_s, width: 0.5, height: H}")
    assert [at(x)[0] for x in (5.4, 5.75, 6.1)] == pytest.approx([0.0, 0.025, 0.05])
    assert at(5.75)[1] == pytest.approx({"x_s": -0.05 * 1.875 / 0.5, "H": 0.5})


def test_a_ramp_levels_out(tmp_path):
    at = with_road(tmp_path, "{type: ramp, start: 1, end: 5, slope: 0.1, onset: 0.4}")
    assert [at(x)[0] for x in (0.9, 3.0, 9.0)] == pytest.approx([0.0, 0.1 * (2 - 0.2), 0.4])


def test_bumps(tmp_path):
    at = with_road(tmp_path, "{type: bumps, positions: [x_s, 8], length: 0.6, height: H}")
    for x in (5.4, 5.65, 5.8, 6.2, 8.15):
        inside = next((x - start for start in (5.5, 8) if start <= x < start + 0.6), None)
        expected = 0.0 if inside is None else np.sin(np.pi * inside / 0.6) ** 3
        assert at(x)[0] == pytest.approx(0.05 * expected, abs=1e-15)
        assert at(x)[1]["H"] == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("extrapolate", ["none", "hold", "linear"])
def test_a_profile_ends_or_goes_on(tmp_path, extrapolate):
    x, z = [0.0, 1.0, 1.5, 3.0], [0.0, 0.1, -0.05, 0.02]
    at = with_road(tmp_path, f"{{type: profile, x: {x}, z: {z}, extrapolate: {extrapolate}}}")
    spline = CubicSpline(x, z, bc_type="natural")
    for place in (0.0, 0.3, 1.0, 2.2, 3.0):
        assert at(place)[0] == pytest.approx(float(spline(place)), abs=1e-15)
    linear = float(spline(0) - 5 * spline(0, 1)), float(spline(3) + 4 * spline(3, 1))
    expected = {"none": (np.nan, np.nan), "hold": (0.0, 0.02), "linear": linear}[extrapolate]
    assert [at(-5.0)[0], at(7.0)[0]] == pytest.approx(expected, nan_ok=True)


def test_a_road_from_a_file_is_a_profile_in_its_units(tmp_path):
    x, z = np.array([0.0, 1.0, 1.5, 3.0]), np.array([0.0, 0.1, -0.05, 0.02])
    spline = CubicSpline(x, z, bc_type="natural")
    road = "{type: table, file: r.csv, columns: {x: s, z: h}, scale: {x: 0.01, z: H}, extrapolate: linear}"
    read = {"s": 100 * x, "h": z / 0.05}
    at = with_road(tmp_path, road, read_table=lambda path: read)
    for place in (0.3, 2.2):
        assert at(place)[0] == pytest.approx(float(spline(place)), abs=1e-15)
        assert at(place)[1]["H"] == pytest.approx(float(spline(place)) / 0.05, abs=1e-14)
    assert at(7.0)[0] == pytest.approx(float(spline(3) + 4 * spline(3, 1)))


def test_a_sum_of_roads(tmp_path):
    more = "  a: {type: flat, height: H}\n  b: {type: sinusoidal, amplitude: 0.1, wavelength: 2}\n"
    at = with_road(tmp_path, "{type: sum, roads: [a, b]}", more)
    assert at(0.5)[0] == pytest.approx(0.15)
    assert at(0.5)[1] == pytest.approx({"x_s": 0.0, "H": 1.0})


def test_numbers_of_a_tyre(tmp_path):
    text = CAR + "forces:" + TYRE.replace("ROAD", "{type: flat}")
    problem = assemble(tmp_path, text, sensitivity="ddm", sensitivity_parameters=["r", "wear"]).problem
    o = problem.model.forces.theta[0]
    assert problem.model.forces.kind.tolist() == [Force.TYRE_MAGIC_FORMULA]
    assert problem.theta[o : o + 3].tolist() == [0, 0.02, 0]
    assert problem.theta[o + AXIS : o + AXIS + 3].tolist() == [0, 1, 0]
    assert problem.theta[o + SHAPE_B : o + SLOW + 1].tolist() == [8, 1.4, 0.1]
    rows, columns = np.nonzero(problem.theta_rho)
    assert set(zip((rows - o).tolist(), columns.tolist(), strict=True)) == {(RADIUS, 0), (FRICTION, 1)}


def test_an_anti_roll_bar_is_a_spring_on_a_difference(tmp_path):
    bar = "forces: {bar: {type: anti_roll_bar, coordinates: [hub.angle, other.angle], stiffness: k_b, natural: 0}}"
    problem = assemble(tmp_path, CAR + bar).problem
    model = problem.model
    measure = model.forces.measure[0]
    first, last = model.measures.first[measure : measure + 2]
    o = model.measures.theta[measure]
    weights = dict(zip(model.measures.coordinate[first:last].tolist(), problem.theta[o : o + 2], strict=True))
    names = problem.names.coordinates
    assert weights == {names.index("hub.angle"): 1.0, names.index("other.angle"): -1.0}
    assert problem.theta[model.forces.theta[0]] == 800


def test_a_bump_stop_pushes_back_on_both_sides(tmp_path):
    stop = (
        "forces: {stop: {type: bump_stop, coordinate: hub.angle, minimum: -1, maximum: 2, stiffness: 10, onset: 0.1}}"
    )
    assembled = assemble(tmp_path, CAR + stop, sensitivity="ddm", sensitivity_parameters=["A"])
    at = law_of(assembled, "stop", 1)
    assert [at(x)[0] for x in (-2.0, -1.0, 0.5, 2.0, 2.5)] == pytest.approx([-9.5, 0, 0, 0, 4.5])


def test_sensors_of_vehicles(tmp_path):
    sensors = """
sensors:
  load: {type: tyre, tyre: tyre, quantity: lateral_slip}
  a: {type: acceleration_along, point: car.hub, vector: wheel.z}
  phi: {type: roll, body: car, derivative: 1}
  travel: {type: displacement, points: [car.origin, wheel.hub], direction: car.z}
"""
    assembled = assemble(tmp_path, CAR + "forces:" + TYRE.replace("ROAD", "{type: flat}") + sensors)
    table = assembled.problem.model.sensors
    assert table.kind[:4].tolist() == [Sensor.TYRE, Sensor.ALONG, Sensor.ATTITUDE, Sensor.MEASURE]
    assert table.order[:3].tolist() == [TyreQuantity.LATERAL_SLIP, 2, 1]
    assert assembled.problem.names.sensor_units == ("1", "m/s^2", "rad/s", "m")
    (contact,) = assembled.contacts
    assert (contact.name, contact.load, contact.place) == ("tyre", 4, 5)
    assert assembled.problem.model.laws.next[contact.road] == NONE


def test_a_tabulated_damper_and_a_speed_hold(tmp_path):
    forces = """
forces:
  shock: {type: spring_damper, points: [ground.origin, car.hub], natural_length: 0,
          rate_law: {type: spline, x: [-1, 0, 1], values: [-900, 0, 1500]}}
  cruise: {type: rotational_spring_damper, coordinate: hub.angle, damping: 40, torque: 40*11, natural_angle: 0}
"""
    assembled = assemble(tmp_path, CAR + forces, sensitivity="ddm", sensitivity_parameters=["A"])
    at = law_of(assembled, "shock", 2)
    spline = CubicSpline([-1, 0, 1], [-900, 0, 1500], bc_type="natural")
    for rate in (-1.0, -0.3, 0.0, 0.8):
        assert at(rate)[0] == pytest.approx(float(spline(rate)), abs=1e-12)
    o = assembled.problem.model.forces.theta[1]
    assert assembled.problem.theta[o : o + 4].tolist() == [0, 40, 0, 440]
