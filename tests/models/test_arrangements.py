"""Results of a mechanism do not depend on other mechanisms in the file, nor on the order of its parts."""

import copy

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli import assembly
from mbsim_cli.model.scales import scales_of

FORMULATIONS = ("ali3p-rtdyn1", pytest.param("ali3p-natural", marks=pytest.mark.interpreted))
NAMED = ("parameters", "points", "bodies", "joints", "forces", "constraints", "laws", "sensors", "objectives")


def four_bar(name, angles, size=1.0, density=1.0, **first):
    """A four-bar linkage whose names begin with ``name``; ``angles`` of its tree joints at the start."""
    a, b, c = (f"{name}_{body}" for body in "abc")
    A, B, C, D = (f"{name}_{joint}" for joint in "ABCD")
    length, mass, inertia = f"{name}_L", density, density * size**2
    joint = {"type": "revolute", "axis": "z"}
    return {
        "parameters": {length: 0.8 * size},
        "points": {
            A: {"ground": [0, 0, 0], a: [0, 0, 0]},
            B: {a: [0.3 * size, 0, 0], b: [0, 0, 0]},
            C: {b: [length, 0, 0], c: [0.5 * size, 0, 0]},
            D: {"ground": [0.7 * size, 0.1 * size, 0], c: [0, 0, 0]},
        },
        "bodies": {
            a: {"mass": mass, "center_of_mass": [0.15 * size, 0, 0], "inertia": {"zz": 0.01 * inertia}},
            b: {"mass": 2 * mass, "center_of_mass": [0.4 * size, 0, 0], "inertia": {"zz": 0.1 * inertia}},
            c: {"mass": mass, "center_of_mass": [0.25 * size, 0, 0], "inertia": {"zz": 0.03 * inertia}},
        },
        "joints": {
            A: joint | {"bodies": ["ground", a], "point": A, "initial": {"angle": angles[0], **first}},
            B: joint | {"bodies": [a, b], "point": B, "initial": {"angle": angles[1]}},
            C: joint | {"bodies": [b, c], "point": C, "cut": True},
            D: joint | {"bodies": ["ground", c], "point": D, "initial": {"angle": angles[2]}},
        },
        "sensors": {f"{name}_r": {"type": "position", "point": f"{b}.{C}"}},
        "objectives": {f"{name}_end": {"final": f"{name}_r.x"}, f"{name}_height": {"final": f"{name}_r.y"}},
    }


def arms(first, second):
    """Two arms whose angles, times ``first`` and ``second``, add up to zero."""
    joint = {"type": "revolute", "axis": "z", "point": "origin"}
    return {
        "parameters": {"m": 1.5},
        "bodies": {arm: {"mass": "m", "center_of_mass": [0.3, 0, 0], "inertia": {"zz": 0.1}} for arm in ("u", "v")},
        "joints": {
            "U": joint | {"bodies": ["ground", "u"], "initial": {"angle": 0.2}},
            "V": joint | {"bodies": ["ground", "v"], "initial": {"angle": -0.2}},
        },
        "constraints": {"gear": {"type": "coupling", "terms": {"U.angle": first, "V.angle": second}}},
        "sensors": {"u_angle": {"type": "coordinate", "coordinate": "U.angle"}},
        "objectives": {"turned": {"final": "u_angle"}},
    }


def spring_pendulum(name, mass, length, stiffness):
    """A pendulum with a spring, which hangs from the ground."""
    joint = {"type": "revolute", "axis": "z", "point": "origin", "initial": {"angle": 0.3}}
    spring = {"type": "rotational_spring_damper", "coordinate": f"{name}_J.angle", "natural_angle": 0}
    return {
        "parameters": {f"{name}_k": stiffness},
        "bodies": {name: {"mass": mass, "center_of_mass": [length, 0, 0]}},
        "joints": {f"{name}_J": joint | {"bodies": ["ground", name]}},
        "forces": {f"{name}_f": spring | {"stiffness": f"{name}_k"}},
        "sensors": {f"{name}_q": {"type": "coordinate", "coordinate": f"{name}_J.angle"}},
        "objectives": {f"{name}_at": {"final": f"{name}_q"}},
    }


def loaded(*mechanisms, **analysis):
    """Mechanisms in one file."""
    model = {"mbsim": 1, "gravity": [0, -9.81, 0], "analysis": {"sensitivity": {"method": "ddm"}, **analysis}}
    for section in NAMED:
        model[section] = {name: entry for each in mechanisms for name, entry in each.get(section, {}).items()}
    return mbsim.loads(model)


def found(*mechanisms, **analysis):
    """Objectives, each with the derivatives that are not zero, and warnings of mechanisms in one file."""
    result = loaded(*mechanisms, **analysis).run()
    numbers = {name: [o.value, *(d for d in o.gradient if d != 0.0)] for name, o in result.objectives.items()}
    return numbers, result.warnings


def unit_of_length(*mechanisms):
    """The unit of length of mechanisms in one file, which is assembled."""
    problem = assembly.build(loaded(*mechanisms, step=1e-3, duration=0.01).file, sensitivity="none").problem
    return scales_of(problem.model, problem.theta).length


def stands_at(x, mechanism):
    """The same mechanism where the ground has this x."""
    moved = copy.deepcopy(mechanism)
    for point in moved["points"].values():
        if "ground" in point:
            point["ground"][0] += x
    return moved


STEPS = {"step": 5e-3, "duration": 0.1, "tolerance": 1e-12}


def steps_of(formulation):
    """Steps by a formulation: in natural coordinates, which are interpreted, a few."""
    return STEPS | {"formulation": formulation, "duration": 0.02 if formulation == "ali3p-natural" else 0.1}


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_loop_starts_as_without_another_whose_start_is_moved(formulation):
    """All loops were closed as one: stated values of this one moved, too, and its gradients were off by a fifth."""
    analysis = steps_of(formulation)
    own, moved = four_bar("own", (1.0, -0.6, 1.2)), four_bar("moved", (2.6, -2.0, 0.2))
    expected, told = found(own, **analysis)
    numbers, warnings = found(own, moved, **analysis)
    assert set(told) < set(warnings)
    for name, values in expected.items():
        assert numbers[name] == pytest.approx(values, rel=1e-10)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_light_mechanism_moves_as_without_a_heavy_one(formulation):
    """Its inertias are 1e-12 of theirs: least inertias for penalties, from the mean of the file, made steps fail."""
    analysis = steps_of(formulation)
    analysis |= {"step": 5e-4, "duration": analysis["duration"] / 10}
    light = four_bar("light", (1.0, -0.6, 1.2), size=1e-2, independent=True)
    heavy = four_bar("heavy", (1.0, -0.6, 1.2), density=1e8)
    expected, numbers = found(light, **analysis)[0], found(light, heavy, **analysis)[0]
    for name, values in expected.items():
        assert numbers[name] == pytest.approx(values, rel=1e-7)


@pytest.mark.parametrize("factor", [1e-10, 1e7])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_coupling_is_the_same_by_any_factor(formulation, factor):
    """Beside large factors other constraints were too soft: gradients were wrong by 3e-3, or steps failed."""
    analysis = steps_of(formulation)
    loop = four_bar("own", (1.0, -0.6, 1.2), independent=True)
    expected = found(loop, arms(1.0, 2.0), **analysis)[0]
    numbers = found(loop, arms(factor, 2.0 * factor), **analysis)[0]
    for name, values in expected.items():
        assert numbers[name] == pytest.approx(values, rel=1e-8)


@pytest.mark.parametrize("factor", [1e-10, 1e10])
def test_a_coupling_of_any_factor_rests_beside_a_loop(factor):
    """Couplings were left open, or loops."""
    loop = four_bar("own", (1.0, -0.6, 1.2), independent=True)
    expected = found(loop, arms(1.0, 2.0), type="equilibrium")[0]
    numbers = found(loop, arms(factor, 2.0 * factor), type="equilibrium")[0]
    for name, values in expected.items():
        assert numbers[name][0] == pytest.approx(values[0], rel=1e-9)


@pytest.mark.parametrize("factor", [1e-10, 1e10])
def test_drives_beside_a_coupling_of_any_factor(factor):
    """They were refused: constraints counted as dependent."""
    model = loaded(four_bar("own", (1.0, -0.6, 1.2), independent=True), arms(factor, factor), **STEPS)
    q, v = model.state()
    a = model.accelerations(q, v)
    assert model.inverse_dynamics(q, v, a, drives=["own_A.angle", "U.angle"]) == pytest.approx([0.0, 0.0], abs=1e-12)
    there = model.step(q, v, 1e-3)
    rows = model.constraints(*there)
    assert np.abs([rows.value, rows.rate]).max() < 1e-12 * max(1.0, factor)


def test_a_soft_mechanism_rests_beside_a_stiff_one():
    """Beside a stiffness of 1e13/s^2 that of a pendulum counted as none, so that no equilibrium was found."""
    soft, stiff = spring_pendulum("soft", 1.0, 1.0, 1.0), spring_pendulum("stiff", 1e-3, 0.01, 1e6)
    expected = found(soft, type="equilibrium")[0] | found(stiff, type="equilibrium")[0]
    numbers = found(soft, stiff, type="equilibrium")[0]
    for name, values in expected.items():
        assert numbers[name] == pytest.approx(values, rel=1e-12)


@pytest.mark.parametrize("kind", ["integral", "rms"])
def test_a_run_without_time_points_between_two_jumps_estimates_no_errors(kind):
    """Of the run with twice the step, which estimates errors, none lies between these jumps: the command crashed."""
    target = {"type": "spline", "times": [0, "first", "second"], "values": [1, 2, 3]}
    model = {
        "parameters": {"first": 0.0316, "second": 0.0418},
        "bodies": {"b": {"mass": 1}},
        "joints": {"J": {"type": "prismatic", "bodies": ["ground", "b"], "point": "origin", "axis": "x"}},
        "laws": {"target": target | {"extrapolate": "hold", "between": "constant"}},
        "sensors": {"x": {"type": "coordinate", "coordinate": "J.displacement"}},
        "objectives": {"o": {kind: "x - target(t)"}},
    }
    o = np.array(found(model, step=5e-3, duration=0.105)[0]["o"])
    first, second = 0.0316, 0.0418
    powers = {"integral": -np.array([1, 2, 3]), "rms": np.array([1, 4, 9]) / 0.105}[kind]
    whole, jumps = powers @ [first, second - first, 0.105 - second], -np.diff(powers)
    expected = [whole, *jumps] if kind == "integral" else [np.sqrt(whole), *(jumps / 2 / np.sqrt(whole))]
    assert o == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_order_of_a_file_changes_nothing(formulation):
    analysis = steps_of(formulation)
    mechanisms = four_bar("own", (1.0, -0.6, 1.2)), arms(1.0, 2.0), spring_pendulum("p", 1.0, 0.5, 3.0)
    turned = [{s: dict(reversed(items.items())) for s, items in each.items()} for each in reversed(mechanisms)]
    expected, numbers = found(*mechanisms, **analysis)[0], found(*turned, **analysis)[0]
    for name, values in expected.items():
        assert numbers[name] == pytest.approx(values, rel=1e-9)


@pytest.mark.parametrize(("size", "distance"), [(1.0, 1e5), (1e-5, 10.0)])
def test_the_distance_between_mechanisms_is_no_length_of_theirs(size, distance):
    """Loops were closed to 1e-9 of the distance between them, and inertias were lost in that of their common centre."""
    one, other = (four_bar(name, (1.0, -0.6, 1.2), size, density=size**-3) for name in ("one", "other"))
    assert unit_of_length(one, stands_at(distance, other)) == unit_of_length(one)


@pytest.mark.parametrize("analysis", [STEPS, {"type": "equilibrium"}], ids=["motion", "equilibrium"])
def test_a_mechanism_beside_one_at_a_hundred_kilometres(analysis):
    """Neither the motion nor the equilibrium of the two was found."""
    own, far = (four_bar(name, (1.0, -0.6, 1.2), independent=True) for name in ("own", "far"))
    expected, numbers = found(own, **analysis)[0], found(own, stands_at(1e5, far), **analysis)[0]
    for name, values in expected.items():
        assert numbers[name] == pytest.approx(values, rel=1e-8)


def test_a_base_that_is_fixed_to_the_ground_is_ground():
    loop = stands_at(1e5, four_bar("own", (1.0, -0.6, 1.2)))
    for point in loop["points"].values():
        if "ground" in point:
            point["base"] = point.pop("ground")
    for joint in loop["joints"].values():
        joint["bodies"] = ["base" if body == "ground" else body for body in joint["bodies"]]
    fixed = {"type": "fixed", "bodies": ["ground", "base"], "point": "origin"}
    base = {"bodies": {"base": {"mass": 1e9, "center_of_mass": [1, 2, 3]}}, "joints": {"F": fixed}}
    assert unit_of_length(base, loop) == unit_of_length(four_bar("own", (1.0, -0.6, 1.2)))


def test_a_sensor_changes_no_unit_of_length():
    loop = four_bar("own", (1.0, -0.6, 1.2))
    far = {
        "points": {"O": {"ground": [1e5, 0, 0]}},
        "sensors": {"d": {"type": "distance", "points": ["ground.O", "own_b.own_C"]}},
    }
    assert unit_of_length(loop, far) == unit_of_length(loop)


@pytest.mark.parametrize("inertia", [0.0, 0.1])
def test_centres_of_mass_off_by_round_off_are_no_lengths(inertia):
    """The coupling was refused, because it stayed open by the round-off of displacements."""
    names, slide = ("a", "b", "c"), {"type": "prismatic", "point": "origin", "axis": "x"}
    body = {"mass": 1, "center_of_mass": [1e-9, 0, 0], "inertia": dict.fromkeys(("xx", "yy", "zz"), inertia)}
    for x in np.linspace(0.3, 0.7, 9).tolist():
        initial = {name: {"displacement": x * k} for k, name in enumerate(names, 1)}
        terms = {f"{name.upper()}.displacement": x / k for k, name in enumerate(names, 1)}
        carts = {
            "bodies": dict.fromkeys(names, body),
            "joints": {n.upper(): slide | {"bodies": ["ground", n], "initial": initial[n]} for n in names},
            "constraints": {"c": {"type": "coupling", "terms": terms, "offset": x}},
        }
        assert unit_of_length(carts) >= 2.0**-20


def test_a_file_in_which_nothing_moves_is_at_rest():
    """There are no modes of which to choose some: the command crashed."""
    body = {
        "bodies": {"b": {"mass": 1}},
        "joints": {"J": {"type": "fixed", "bodies": ["ground", "b"], "point": "origin"}},
    }
    sensor = {"sensors": {"r": {"type": "position", "point": "b.origin"}}, "objectives": {"o": {"final": "r.x"}}}
    assert found(body, sensor, type="equilibrium")[0] == {"o": [0.0]}


def test_a_soft_mechanism_rests_beside_a_stiff_one_on_a_carriage_that_is_held():
    soft, stiff = spring_pendulum("soft", 1.0, 1.0, 1.0), spring_pendulum("stiff", 1e-3, 0.01, 1e6)
    expected = found(soft, type="equilibrium")[0] | found(stiff, type="equilibrium")[0]
    slide = {"type": "prismatic", "bodies": ["ground", "carriage"], "point": "origin", "axis": "x"}
    carriage = {"bodies": {"carriage": {"mass": 1}}, "joints": {"S": slide}}
    for name, pendulum in (("soft", soft), ("stiff", stiff)):
        pendulum["joints"][f"{name}_J"]["bodies"] = ["carriage", name]
    numbers = found(soft, stiff, carriage, type="equilibrium", hold=["S.displacement"])[0]
    for name, values in expected.items():
        assert numbers[name] == pytest.approx(values, rel=1e-12)
