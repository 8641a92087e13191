"""Steps of ALI3-P around instants at which laws of time change, against equations of one coordinate, piece by piece."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.model.layout import STEP
from mbsim_cli.study.assembling import Settings, build
from mbsim_cli.study.evaluation import evaluate
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.verification import complex_steps
from tests.marks import NATURAL

R, L, RODS, PISTON, BOB, ARM, G, END, HEIGHT = 0.2, 0.6, 0.9, 1.1, 0.4, 0.25, 9.81, 0.48, 3.0
CRANK, START = 0.05, 0.7  # inertia about the pin; angle
RAMP = {"type": "spline", "times": ["a", "b"], "values": ["h", 0.0], "extrapolate": "hold"}
BLEND = {  # of the crank: at rest, then with a constant acceleration, then with the rate that was reached
    "type": "piecewise",
    "breaks": ["a", "b"],
    "laws": [
        {"type": "constant", "value": START},
        {"type": "polynomial", "coefficients": [f"{START} + h*a**2/2", "-h*a", "h/2"]},
        {"type": "polynomial", "coefficients": [f"{START} + h*(a**2 - b**2)/2", "h*(b - a)"]},
    ],
}


def slider_crank(a, b, *, drives, laws=None, parameters=None, **analysis):
    """A slider-crank whose crank a torque turns that is held until a and falls to zero at b, or that a law drives.

    A pendulum hangs on the middle of the rod.
    """
    joint, small = {"type": "revolute", "axis": "z"}, {"xx": 0.1, "yy": 0.1}
    law = {"type": "motion" if drives else "drive", "coordinate": "O.angle", "law": BLEND if drives else RAMP}
    beta = float(np.arcsin(R / L * np.sin(START)))
    return {
        "mbsim": 1,
        "gravity": [0, -G, 0],
        "parameters": {"a": a, "b": b, "h": HEIGHT} | (parameters or {}),
        "points": {
            "O": {"ground": [0, 0, 0], "crank": [0, 0, 0]},
            "pin": {"crank": [R, 0, 0], "rod": [0, 0, 0]},
            "hook": {"rod": [L / 2, 0, 0], "bob": [0, 0, 0]},
            "head": {"rod": [L, 0, 0], "piston": [0, 0, 0]},
            "line": {"ground": [0, 0, 0], "piston": [0, 0, 0]},
        },
        "bodies": {
            "crank": {"mass": 1, "inertia": small | {"zz": CRANK}},
            "rod": {"mass": RODS, "center_of_mass": [L / 2, 0, 0], "inertia": small | {"zz": RODS * L**2 / 12}},
            "piston": {"mass": PISTON, "inertia": small | {"zz": 0.1}},
            "bob": {"mass": BOB, "center_of_mass": [ARM, 0, 0], "inertia": small | {"zz": 0.0}},
        },
        "joints": {
            "O": joint
            | {"bodies": ["ground", "crank"], "point": "O", "initial": {"angle": START, "independent": not drives}},
            "pin": joint | {"bodies": ["crank", "rod"], "point": "pin", "initial": {"angle": -START - beta}},
            "hook": joint
            | {"bodies": ["rod", "bob"], "point": "hook", "initial": {"angle": beta - np.pi / 2, "independent": True}},
            "head": joint | {"bodies": ["rod", "piston"], "point": "head", "initial": {"angle": beta}},
            "line": joint
            | {
                "type": "prismatic", "bodies": ["ground", "piston"], "point": "line", "axis": "x",
                "initial": {"displacement": float(R * np.cos(START) + L * np.cos(beta))},
            },
        },
        "laws": laws or {},
        "constraints" if drives else "forces": {"law": law},
        "sensors": {
            "piston": {"type": "coordinate", "coordinate": "line.displacement"},
            "speed": {"type": "coordinate", "coordinate": "line.displacement", "derivative": 1},
            "bob": {"type": "position", "point": "bob.hook"},
            "swing": {"type": "coordinate", "coordinate": "hook.angle"},
            "turning": {"type": "coordinate", "coordinate": "hook.angle", "derivative": 1},
        },
        "objectives": {name: {"final": name} for name in ("piston", "speed", "swing", "turning")},
        "analysis": {"duration": END, "step": 2e-3, "formulation": "ali3p-rtdyn1", **analysis},
    }  # fmt: skip


def found_by(data, method="ddm"):
    """Objectives, and the assembled problem."""
    data = data | {"analysis": data["analysis"] | {"sensitivity": {"method": method, "parameters": "all"}}}
    assembled = build(spec.load("m.yaml", texts={"m.yaml": json.dumps(data)}), Settings(), None)
    return evaluate(assembled.problem, assembled.objectives), assembled


def kinematics(q, q1):
    """Rates (7, 2) of centres of rod, piston and bob, of crank and rod by q, and accelerations but for q''."""
    (phi, psi), (phi1, psi1), k = q, q1, R / L
    s, c = np.sin(phi), np.cos(phi)
    sine = k * s
    cosine = np.sqrt(1 - sine**2)
    b1 = k * c / cosine  # of the rod's slope by phi, which is -beta
    b2 = (sine * b1**2 - sine) / cosine
    rod = -R * s - L / 2 * sine * b1, L / 2 * cosine * b1
    rod2 = -R * c - L / 2 * (cosine * b1**2 + sine * b2), L / 2 * (cosine * b2 - sine * b1**2)
    piston, piston2 = -R * s - L * sine * b1, -R * c - L * (cosine * b1**2 + sine * b2)
    arm, arm2 = (-ARM * np.sin(psi), ARM * np.cos(psi)), (-ARM * np.cos(psi), -ARM * np.sin(psi))
    first = [*rod, piston, *rod, 1.0, b1]
    second = np.array([*rod2, piston2, *rod2, 0.0, b2]) * (phi1**2 + 0j)
    second[3:5] += np.array(arm2) * psi1**2
    return np.array([first, [0, 0, 0, *arm, 0, 0]]).T, second


WEIGHTS = np.array([RODS, RODS, PISTON, BOB, BOB, CRANK, RODS * L**2 / 12])
FALLING = np.array([0, -G, 0, 0, -G, 0, 0])


def accelerations(q, q1, torque):
    """Of the crank under a torque, and of the pendulum."""
    J, bias = kinematics(q, q1)
    M, Q = J.T @ (WEIGHTS[:, None] * J), J.T @ (WEIGHTS * (FALLING - bias)) + np.array([torque, 0.0])
    return np.array([M[1, 1] * Q[0] - M[0, 1] * Q[1], M[0, 0] * Q[1] - M[1, 0] * Q[0]]) / (
        M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]
    )


def swing(q, q1, phi2):
    """Acceleration of the pendulum on a driven crank."""
    J, bias = kinematics(q, q1)
    return J[:, 1] @ (WEIGHTS * (FALLING - bias - J[:, 0] * phi2)) / (J[:, 1] @ (WEIGHTS * J[:, 1]))


@cache
def exact(a, b, h, drives):
    """What the sensors show at the end: piston, its speed, angle of the pendulum in its joint, and its rate."""
    state = np.array([START, -np.pi / 2, 0, 0], complex)
    middle, last = sorted((a, b), key=lambda t: t.real)
    for begin, end in ((0, middle), (middle, last), (last, END)):

        def rates(s, y, begin=begin, length=end - begin):
            t, psi, psi1 = begin + s * length, y[1], y[3]
            tm = begin.real + 0.5 * length.real
            if drives:
                phi, phi1, phi2 = driven(t, tm, a, b, h)
                return length * np.array([0, psi1, 0, swing((phi, psi), (phi1, psi1), phi2)])
            torque = h if tm < a.real else h * (b - t) / (b - a) if tm < b.real else 0.0
            return length * np.array([*y[2:], *accelerations(y[:2], y[2:], torque)])

        state = solve_ivp(rates, (0, 1), state, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    phi, phi1 = driven(END, END, a, b, h)[:2] if drives else (state[0], state[2])
    slope = np.arcsin(R / L * np.sin(phi))
    speed, slope1 = kinematics((phi, state[1]), (phi1, state[3]))[0][[2, 6], 0] * phi1
    return np.array([R * np.cos(phi) + L * np.cos(slope), speed, state[1] + slope, state[3] + slope1])


def driven(t, tm, a, b, h):
    """Angle of the driven crank and its derivatives at t, in the piece that tm is in."""
    if tm < a.real:
        return START + 0 * t, 0 * t, 0 * t
    if tm < b.real:
        return START + h * (t - a) ** 2 / 2, h * (t - a), h + 0 * t
    return START + h * (b - a) ** 2 / 2 + h * (b - a) * (t - b), h * (b - a) + 0 * t, 0 * t


def gradient(a, b, drives):
    """Derivatives (4, 3) of these by a, b and h."""
    return np.array([exact(*(x + 1j * STEP * e for x, e in zip((a, b, HEIGHT), unit, strict=True)), drives).imag / STEP
                     for unit in np.eye(3)]).T  # fmt: skip


NAMES = ("piston", "speed", "swing", "turning")
INSTANTS = {  # by a step of 8 ms
    "on instants": (0.16, 0.32),
    "a third off": (0.16 + 0.008 / 3, 0.32 + 0.008 / 3),
}


@pytest.mark.parametrize("formulation", ["ali3p-rtdyn0", "ali3p-rtdyn1", NATURAL])
@pytest.mark.parametrize("drives", [False, True], ids=["torque", "driven"])
@pytest.mark.parametrize("where", INSTANTS)
def test_values_and_derivatives_are_of_second_order(where, drives, formulation):
    (a, b), off = INSTANTS[where], []
    true = np.column_stack([exact(a, b, HEIGHT, drives).real, gradient(a, b, drives)])
    for step in (8e-3, 4e-3, 2e-3, 1e-3):
        found, assembled = found_by(slider_crank(a, b, drives=drives, formulation=formulation, step=step))
        assert not assembled.warnings
        off.append(np.abs(shown(found) - true))
    coarse, half, fine, finest = np.array(
        off
    )  # two halvings make 16: instants a third off one way are so the other way
    size = np.abs(true).max(axis=1, keepdims=True)
    assert np.all(coarse < 5e-3 * size)
    assert np.all((fine < coarse / 9) | (fine < 1e-9 * size))
    assert np.all((finest < half / 12) | (finest < 1e-9 * size))


def shown(found):
    """Values and gradients (4, 4)."""
    return np.array([[found[name].value, *found[name].gradient] for name in NAMES])


PLACES = {  # the torque or the drive changes at these instants; steps of 2 ms
    "between instants": (0.1607, 0.3213),
    "on instants": (0.16, 0.32),
    "beside instants": (0.16 + 1e-12, 0.32 - 1e-12),
    "a unit of round-off beside them": (float(np.nextafter(0.16, 0)), float(np.nextafter(0.32, 1))),
    "both in one step": (0.1603, 0.1617),
    "both in one step, near its ends": (0.16 + 1e-9, 0.162 - 1e-9),
    "on the first and in the first step": (0.0, 0.0011),
    "before the start and on the end": (-0.01, END),
    "near the start and behind the end": (1e-13, END + 0.01),
}


def crank_at(where, drives):
    """Times at which laws change, and the mechanism; skips the test where the start is on the far side of a change."""
    a, b = PLACES[where]
    if drives and a <= 0:
        pytest.skip("the start has the rate, or the acceleration, that holds behind")
    return a, b, slider_crank(a, b, drives=drives, step=2e-3)


@pytest.mark.parametrize("drives", [False, True], ids=["torque", "driven"])
@pytest.mark.parametrize("where", PLACES)
def test_gradients_wherever_laws_change(where, drives):
    """Two derivations agree to round-off, and with the equations of one coordinate."""
    a, b, data = crank_at(where, drives)
    by_direct, by_adjoint = shown(found_by(data)[0]), shown(found_by(data, "adjoint")[0])
    size = np.abs(by_direct).max(axis=1, keepdims=True)
    assert np.all(np.abs(by_adjoint - by_direct) < 1e-9 * size)
    true = np.column_stack([exact(a, b, HEIGHT, drives).real, gradient(a, b, drives)])
    assert np.all(np.abs(by_direct - true) < 2e-2 * size)


@pytest.mark.slow  # complex numbers where laws change compile for nearly a minute
@pytest.mark.parametrize("drives", [False, True], ids=["torque", "driven"])
@pytest.mark.parametrize("where", PLACES)
def test_gradients_are_complex_steps_wherever_laws_change(where, drives):
    *_, data = crank_at(where, drives)
    found, assembled = found_by(data)
    by_direct = shown(found)
    size = np.abs(by_direct).max(axis=1, keepdims=True)
    assert np.all(np.abs(shown(complex_steps(assembled, SILENT)) - by_direct) < 1e-9 * size)


def test_differences_of_runs_that_move_kinks_across_instants():
    """Also of runs without gradients, which take the same steps; the adjoint with few instants in memory, too."""
    a, b = 0.16, 0.3213
    data = slider_crank(a, b, drives=False, step=2e-3)
    direct = shown(found_by(data)[0])
    problem = (assembled := found_by(data, "adjoint")[1]).problem
    little = replace(problem, options=replace(problem.options, memory=6e4))
    again = shown(evaluate(little, assembled.objectives))
    assert np.allclose(again, direct, rtol=1e-9, atol=1e-11)
    assert np.allclose(slopes(lambda a: slider_crank(a, b, drives=False, step=2e-3), a), direct[:, 1], rtol=2e-4)


def slopes(data, a, step=1e-5):
    """Derivatives by the first instant, by differences of runs without gradients."""
    moved = [found_by(data(a + way * step), "none")[0] for way in (-1, 1)]
    values = [np.array([found[name].value for name in NAMES]) for found in moved]
    return (values[1] - values[0]) / (2 * step)


def test_a_law_of_time_that_is_also_one_of_a_coordinate():
    """Moving it with time must leave the other alone."""

    def data(a):
        spring = {"type": "rotational_spring_damper", "coordinate": "hook.angle", "elongation_law": "ramp"}
        forces = {
            "law": {"type": "drive", "coordinate": "O.angle", "law": "ramp"},
            "spring": spring | {"stiffness": 1, "natural_angle": 0},
        }
        return slider_crank(a, 0.3213, drives=False, laws={"ramp": RAMP}) | {"forces": forces}

    direct = shown(found_by(data(0.1607))[0])
    assert np.allclose(direct, shown(found_by(data(0.1607), "adjoint")[0]), rtol=1e-9, atol=1e-10)
    assert np.allclose(direct[:, 1], slopes(data, 0.1607), rtol=2e-4)


@pytest.mark.parametrize("projection", ["mass", "identity"])
def test_results_at_some_instants_are_those_of_all(projection):
    data = slider_crank(0.1607, 0.32, drives=True, projection=projection)
    some = found_by(data | {"analysis": data["analysis"] | {"output_interval": 0.008}})[0]
    assert np.array_equal(shown(some), shown(found_by(data)[0]))


OF_TIME = """
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {b: 0.2037, a: 3}
bodies: {rod: {mass: 1, center_of_mass: [0.5, 0, 0], inertia: {xx: 0.1, yy: 0.1, zz: 0.1}}}
joints: {p: {type: revolute, bodies: [ground, rod], point: origin, axis: y}}
laws: {w: {type: spline, times: [0, b, 0.2], values: [0, 5, 0], between: linear, extrapolate: hold}}
forces:
  d: {type: drive, coordinate: p.angle, LAW}
  e: {type: drive, coordinate: p.angle, value: "a*sin(30*t)"}
sensors: {q: {type: coordinate, coordinate: p.angle}}
objectives: {end: {final: q}}
analysis: {formulation: FORMULATION, step: 0.01, duration: 0.2, sensitivity: {method: ddm}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-natural", "recursive, integrator: rk4"])
def test_expressions_of_time_beside_and_around_laws(formulation):
    """By a knot within a step: DDM, adjoint and differences; a law of a force is the same as one that it reads at t."""
    found = []
    for law in ("law: w", 'value: "w(t)"'):
        text = OF_TIME.replace("LAW", law).replace("FORMULATION", formulation).replace("0.2037", "0.0837")
        model = mbsim.loads(text, by=["b"])
        value, by_ddm = model.value_and_gradient(objective="end", sensitivity="ddm")
        _, by_adjoint = model.value_and_gradient(objective="end", sensitivity="adjoint")
        ends = [model.run({"b": 0.0837 + h}, sensitivity="none").objectives["end"].value for h in (1e-6, -1e-6)]
        assert by_ddm == pytest.approx(by_adjoint, rel=1e-9)
        assert by_ddm[0] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=5e-6)
        found.append([value, by_ddm[0]])
    assert found[0] == pytest.approx(found[1], rel=1e-11)
