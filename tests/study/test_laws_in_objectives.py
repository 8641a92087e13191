"""Laws that objectives and sensors call: values by numpy, gradients by all methods, errors."""

import json
from dataclasses import replace

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.assembly import build
from mbsim_cli.errors import ModelError
from mbsim_cli.solve.linear.state_space import inputs_of
from mbsim_cli.solve.sides import sides_of

A, W = 0.3, 2.0


def data(**sections):
    """A pendulum that falls, a law to follow, and objectives that call it."""
    file = {
        "mbsim": 1,
        "gravity": [0, -9.81, 0],
        "parameters": {"A": A, "w": W},
        "bodies": {"arm": {"mass": 2, "center_of_mass": [0.1, 0, 0], "inertia": {"zz": 1}}},
        "joints": {"hub": {"type": "revolute", "bodies": ["ground", "arm"], "point": "origin", "axis": "z"}},
        "laws": {"ref": {"type": "harmonic", "amplitude": "A", "angular_frequency": "w"}},
        "sensors": {
            "q": {"type": "coordinate", "coordinate": "hub.angle"},
            "a": {"type": "coordinate", "coordinate": "hub.angle", "derivative": 2},
            "miss": {"type": "expression", "value": "ref( ref(q) + t) - q"},
        },
        "objectives": {
            "error": {"integral": "(q - ref(t))**2"},
            "last": {"final": "ref(q)*ref(t) + miss"},
            "then": {"at": {"time": 0.205, "value": "A*ref(2*q) + miss"}},
        },
        "analysis": {"step": 0.01, "duration": 0.4},
    }
    return json.dumps(file | sections)


def ref(x):
    return A * np.sin(W * x)


@pytest.mark.interpreted
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "ali3p-natural", "recursive"])
def test_values_are_those_of_the_law(formulation):
    """By numpy from the angles of the same run; at 0.205 s by the cubic polynomial through four of them."""
    found = mbsim.loads(data()).run(formulation=formulation)
    t, q = found.time, found["q"].ravel()
    miss = ref(ref(q) + t) - q
    np.testing.assert_allclose(found["miss"].ravel(), miss, atol=1e-14)
    assert not any("law_" in name for name in found)
    near = slice(19, 23)
    then = np.polynomial.Polynomial.fit(t[near], (A * ref(2.0 * q) + miss)[near], 3)(0.205)
    values = {name: each.value for name, each in found.objectives.items()}
    if formulation != "recursive":  # by Gauss's rule inside its steps
        assert values["error"] == pytest.approx(np.trapezoid((q - ref(t)) ** 2, t), rel=1e-13)
    assert values["last"] == pytest.approx(ref(q[-1]) * ref(t[-1]) + miss[-1], rel=1e-13)
    assert values["then"] == pytest.approx(then, rel=1e-12)


@pytest.mark.interpreted
@pytest.mark.parametrize("method", ["ddm", "adjoint"])
def test_gradients_follow_numbers_of_the_law(method):
    """The motion does not depend on these; compared with differences of whole runs."""
    model, h = mbsim.loads(data()), 1e-5

    def run(**replaced):
        return model.recorded(None, replaced, second_run=False).objectives

    found = run(sensitivity=method)
    for name in ("A", "w"):
        value = {"A": A, "w": W}[name]
        late, early = (run(**{name: value + s * h}, sensitivity="none") for s in (1, -1))
        for key, each in found.items():
            slope = (late[key].value - early[key].value) / (2.0 * h)
            assert each.by(name) == pytest.approx(slope, rel=1e-7), (name, key)


@pytest.mark.interpreted
def test_every_analysis_reads_laws():
    motion = {"m": {"type": "motion", "coordinate": "hub.angle", "law": "ref"}}
    error = {"objectives": {"error": {"integral": "(q - ref(t))**2"}, "last": {"final": "q + ref(t)"}}, "sensors": {}}
    error["sensors"]["q"] = {"type": "coordinate", "coordinate": "hub.angle"}
    inverse = {"type": "inverse_dynamics", "sampling": 0.01, "duration": 0.4, "motion": {"laws": {"hub.angle": "ref"}}}
    kinematics = {"type": "kinematics", "sampling": 0.01, "duration": 0.4}
    for sections in ({"analysis": inverse}, {"analysis": kinematics, "constraints": motion}):
        found = mbsim.loads(data(**error, **sections)).run().objectives
        assert found["error"].value < 1e-28 and found["last"].value == pytest.approx(2.0 * ref(0.4))


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ({"final": "rfe(t) + q"}, r"objectives.e.final: unknown function 'rfe'"),
        ({"final": "ref(t, q)"}, r"ref is a law or an unknown function; a law takes one argument"),
        (
            {"final": "ref(a)"},
            r"objectives.e.final: the argument of a law cannot depend on the sensor 'a': it reads accel",
        ),
        ({"final": "ref(x)"}, r"objectives.e.final: unknown sensor 'x'"),
        ({"final": "ref([1, 0, 0])"}, r"a number is wanted here"),
        ({"expression": "last + ref(1)"}, r"unknown function 'ref'; laws are called where sensors are read"),
    ],
)
def test_what_is_refused(objective, message):
    objectives = {"last": {"final": "q"}, "e": objective}
    with pytest.raises(ModelError, match=message) as refused:
        mbsim.loads(data(objectives=objectives)).objectives  # noqa: B018
    assert len(refused.value.issues) == 1


def test_inverse_dynamics_evaluates_laws_at_the_time_alone():
    motion = {"laws": {"hub.angle": "ref"}}
    analysis = {"type": "inverse_dynamics", "sampling": 0.01, "duration": 0.4, "motion": motion}
    with pytest.raises(ModelError, match=r"objectives.last.final: inverse dynamics evaluates laws at t alone"):
        mbsim.loads(data(analysis=analysis)).objectives  # noqa: B018


@pytest.mark.parametrize(
    ("objectives", "place"),
    [({"e": {"integral": "long*long"}}, "objectives.e.integral"), ({"last": {"final": "q"}}, "sensors.twice.value")],
)
def test_expressions_that_are_too_long_with_those_of_sensors_are_refused(objectives, place):
    sensors = json.loads(data())["sensors"] | {"long": {"type": "expression", "value": "+".join(["q" * 60] * 40)}}
    sensors["q" * 60] = sensors["q"]
    if place.startswith("sensors"):
        sensors["twice"] = {"type": "expression", "value": "long*long"}
    with pytest.raises(ModelError, match=f"{place}: with the expressions of the sensors in it, the .* 4000 characters"):
        mbsim.loads(data(sensors=sensors, objectives=objectives)).objectives  # noqa: B018


@pytest.mark.interpreted
def test_blanks_of_other_kinds_stand_before_calls():
    spaces = {"e": {"final": "q\u00a0-\u00a0ref(t)\u00a0+ ref(\u00a0q )"}, "same": {"final": "q - ref(t) + ref(q)"}}
    found = mbsim.loads(data(objectives=spaces)).run(duration=0.02).objectives
    assert found["e"].value == found["same"].value != 0.0


JUMPING = {"type": "spline", "between": "constant", "times": [0, "A", 9], "values": [1, 3, 3]}


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("method", "formulation"), [("ddm", "ali3p-rtdyn1"), ("adjoint", "ali3p-rtdyn1"), ("adjoint", "recursive")]
)
def test_means_follow_jumps_of_laws_and_of_comparisons_with_t(method, formulation):
    """Means of 1 until A and 3 from there on."""
    sensors = {"shown": {"type": "expression", "value": " if(A - 0.01 > t - 0, 3, 3)*(t <= A)"}}
    values = {
        "called": "ref(t)",
        "compared": "if( t < A/2 + A/2, 1, 3)",
        "added": "1 + ((0.02 + 0*A >= t) + 1)*(t > A)",
        "sensor": "3 - 2/3*shown",
        "signed": "2 + sign(t - (A + 0)) + 0*A*sign(shown)",
        "turned": "2 - sign( 2*A/2 - t )",
        "several": "3 - 2*(t >= 0 and not t > A)",
        "chained": "if(-1 < t <= A or t < A/2, 1, 3)",
    }
    means = {name: {"mean": text} for name, text in values.items()} | {"last": {"final": "shown"}}
    model = mbsim.loads(data(laws={"ref": JUMPING}, objectives=means, sensors=sensors, parameters={"A": 0.0537}))
    found = model.run(sensitivity=method, duration=0.1, formulation=formulation)
    assert found.objectives["last"].value == found["shown"][-1] == 0.0
    slopes = dict.fromkeys(("called", "compared", "sensor", "signed", "turned", "several", "chained"), 1.0) | {
        "added": 0.5
    }
    for name, exact in slopes.items():
        mean = 3.0 - 20.0 * 0.0537 if exact == 1.0 else 2.0 - 10.0 * 0.0537
        assert found.objectives[name].value == pytest.approx(mean, rel=1e-12), name
        assert found.objectives[name].by("A") == pytest.approx(-20.0 * exact, rel=1e-11), name


@pytest.mark.interpreted
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "recursive"])
def test_comparisons_with_t_in_sums_leave_the_motion_alone(formulation):
    """Also at an output time, where laws that act would have runs of both sides; they are no inputs."""
    analysis = {"step": 0.01, "duration": 0.1, "formulation": formulation, "sensitivity": {"method": "adjoint"}}
    analysis["sensitivity"]["parameters"] = ["A"]
    objectives = {"mean": {"mean": "if(t < A, 1, 3)"}, "last": {"maximum": "t"}}
    text = data(laws={}, objectives=objectives, sensors={}, parameters={"A": 0.05}, analysis=analysis)
    assembled = build(spec.load("m.yaml", texts={"m.yaml": text}))
    assert not assembled.problem.stops and not sides_of(assembled.problem) and not assembled.warnings
    assert [len(objective.jumps) for objective in assembled.objectives] == [1, 0]
    nameless = replace(assembled.problem.names, forces=("f",))
    assert not sides_of(replace(assembled.problem, names=nameless))
    with pytest.raises(mbsim.UsageError, match=r"no force or law 'zz'; there are none$"):
        inputs_of(assembled.problem, ["zz"], 0.0)
    found = mbsim.loads(text).run()
    assert not found.warnings and found.objectives["mean"].value == pytest.approx(2.0, rel=1e-12)
    assert found.objectives["mean"].by("A") == pytest.approx(-20.0, rel=1e-11)


@pytest.mark.parametrize(
    ("objective", "splits"), [("mean", (1, 0)), ("maximum", (0, 1)), ("final", (0, 1)), ("none", (0, 0))]
)
def test_jumps_are_searched_for_objectives_that_look_at_them(objective, splits):
    """Once for sums over time, and once for values at single times."""
    objectives = {"e": {objective: "ref(t)"}} if objective != "none" else {}
    sensors = {"shown": {"type": "expression", "value": "ref(t)"}}
    text = data(laws={"ref": JUMPING}, objectives=objectives, sensors=sensors, parameters={"A": 0.0537})
    problem = build(spec.load("m.yaml", texts={"m.yaml": text})).problem
    assert (len(problem.splits), len(problem.value_splits)) == splits


@pytest.mark.interpreted
@pytest.mark.parametrize("formulation", ["ali3p-rtdyn1", "recursive"])
def test_second_derivatives_by_times_that_sums_compare_with(formulation):
    """The mean over 0.1 s of t until A and 3 from there on is (A**2/2 + 3 (0.1 - A))/0.1."""
    analysis = {"step": 0.01, "duration": 0.1, "formulation": formulation}
    mean = {"mean": {"mean": "if(t < A, t, 3)"}}
    model = mbsim.loads(data(laws={}, objectives=mean, sensors={}, parameters={"A": 0.0537}, analysis=analysis))
    np.testing.assert_allclose(model.hessian_vector(None, [1.0], "mean"), [1.0 / 0.1], rtol=1e-7)


def test_times_that_sums_compare_with_must_stay_numbers():
    mean = {"mean": {"mean": "if(t < 1/A, 1, 3)"}}
    model = mbsim.loads(data(laws={}, objectives=mean, sensors={}, parameters={"A": 1.0}))
    with pytest.raises(ModelError, match=r"objectives\.mean\.mean: division by zero"):
        model.run({"A": 0.0}, sensitivity="none")


@pytest.mark.interpreted
@pytest.mark.parametrize(("late", "A"), [("1/A", 0.0), ("A", 1e30)])
def test_sums_may_compare_t_with_times_that_never_come(late, A):
    """Also with those that are no numbers, or so large that nothing less than their round-off lies before."""
    mean = {"mean": {"mean": f"if(t < {late}, 1, 3)"}}
    text = data(laws={}, objectives=mean, sensors={}, parameters={"A": A})
    assert mbsim.loads(text).run(sensitivity="none", duration=0.1).objectives["mean"].value == pytest.approx(1.0)


def test_a_law_that_jumps_may_be_called_where_none_may_act():
    """By steps of the trapezoidal rule."""
    laws, mean = {"ref": JUMPING}, {"mean": {"mean": "ref(t)"}}
    acting = {"push": {"type": "drive", "coordinate": "hub.angle", "value": 1, "law": "ref"}}
    with pytest.raises(ModelError, match="the force jumps from 1 to 3"):
        mbsim.loads(data(laws=laws, objectives=mean, sensors={}, forces=acting)).run(sensitivity="ddm")


@pytest.mark.parametrize(("w", "count"), [(0.0537, 2), (0.0301, 0)])
def test_jumps_of_several_laws_that_parameters_move_apart_are_warned_of(w, count):
    laws = {"ref": JUMPING, "other": JUMPING | {"times": [0, "w", 9]}}
    sensitivity = {"method": "ddm", "parameters": "all"}
    text = data(
        laws=laws,
        objectives={"mean": {"mean": "ref(t) + other(t)"}},
        sensors={},
        parameters={"A": 0.0537, "w": w},
        analysis={"step": 0.01, "duration": 0.1, "sensitivity": sensitivity},
    )
    warnings = build(spec.load("m.yaml", texts={"m.yaml": text})).warnings
    assert len([text for text in warnings if "signals jump by several laws at 0.0537 s" in text]) == count


@pytest.mark.interpreted
def test_a_called_table_that_ends_is_named():
    laws = {"ref": {"type": "spline", "times": [0, 0.01, 0.02], "values": [1, 2, 4]}}
    with pytest.raises(mbsim.AnalysisError, match="call a law beyond its table"):
        mbsim.loads(data(laws=laws)).run(duration=0.21)
    last = {"last": {"final": "q"}}
    warnings = mbsim.loads(data(laws=laws, objectives=last)).run(duration=0.05).warnings
    assert any(text.startswith("sensor miss is not finite") and "or a table ends" in text for text in warnings)
    assert not any("law_" in text for text in warnings)


def test_calls_are_no_inputs():
    """Forces stand for calls; the name of the first of them would be that of this law."""
    laws = {"law_1": {"type": "harmonic", "amplitude": "A", "angular_frequency": "w", "phase": 1}}
    forces = {"push": {"type": "drive", "coordinate": "hub.angle", "value": 1, "law": "law_1"}}
    text = data(laws=laws, forces=forces, sensors={}, objectives={"e": {"final": "law_1(t)"}})
    problem = build(spec.load("m.yaml", texts={"m.yaml": text})).problem
    assert inputs_of(problem, ["law_1"], 0.0).names == ["law_1"]
    with pytest.raises(mbsim.UsageError, match=r"no force or law 'zz'; there are push, law_1$"):
        inputs_of(problem, ["zz"], 0.0)
