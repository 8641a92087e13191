"""Controls: what they stand for, gradients by their values and by the duration, and optima that are known."""

from itertools import pairwise
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbsim_cli as mbsim
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.study.assembling import Settings, load
from tests.work import calls_of

BENCHMARKS = Path(__file__).parents[2] / "models" / "benchmarks"
CARRIAGE = """
mbsim: 1
gravity: [0, 0, 0]
parameters: {T: 2}
bodies: {block: {mass: 2}}
joints: {slide: {type: prismatic, bodies: [ground, block], point: origin, axis: x}}
forces: {push: {type: drive, coordinate: slide.displacement}}
laws: {wave: {type: harmonic, amplitude: 3, frequency: 0.25, offset: 1}}
controls: {u: {force: push, intervals: 4, %s}}
analysis: {step: 0.1, duration: T}
"""


def values(text, times):
    """The law of the force at times (N,)."""
    model = mbsim.loads(CARRIAGE % text)
    problem = model._plan(None, {})[0].named.problem
    law = problem.names.laws.index("laws.u")
    return [law_value(problem.model.laws, problem.theta, law, t)[0] for t in times]


def test_controls_are_laws_through_their_values():
    times = [-1.0, 0.0, 0.25, 0.5, 1.6, 2.0, 5.0]
    given = "initial: [1, 2, 4, 8, 10]"
    assert values(given, times) == pytest.approx(np.interp(times, np.linspace(0, 2, 5), [1, 2, 4, 8, 10]))
    assert values("between: constant, initial: [1, 2, 4, 8]", times) == [1, 1, 1, 2, 8, 8, 8]
    assert values("initial: 2*t", times) == pytest.approx(2 * np.clip(times, 0, 2))
    wave = [1 + 3 * np.sin(0.5 * np.pi * t) for t in np.linspace(0, 2, 5)]
    assert values("initial: wave", times) == pytest.approx(np.interp(times, np.linspace(0, 2, 5), wave))
    assert values("initial: T", times) == [2.0] * 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("initial: [1, 2]", "controls.u: 2 initial values stand for 5; 4 intervals have 5 values with both ends"),
        ("initial: 2*z", "unknown parameter or constant 'z'"),
        ("initial: '2*'", "controls.u: initial '2\\*'"),
        ("bounds: [3, 4], initial: 1", "controls.u.initial: 1 lies outside the bounds 3 and 4"),
        ("force: pull", "controls.u.force: unknown force 'pull'"),
    ],
)
def test_what_controls_cannot_be(text, message):
    text = CARRIAGE % text if "force" not in text else (CARRIAGE % "initial: 0").replace("force: push", text)
    with pytest.raises(mbsim.ModelError, match=message):
        mbsim.loads(text)


def test_a_force_takes_one_law_and_a_control_a_name_of_its_own():
    text = CARRIAGE % "initial: 0"
    with pytest.raises(mbsim.ModelError, match="'push' has a law already"):
        mbsim.loads(text.replace("slide.displacement}", "slide.displacement, law: wave}"))
    with pytest.raises(mbsim.ModelError, match="'u' is also a law"):
        mbsim.loads(text.replace("wave:", "u:"))
    with pytest.raises(mbsim.ModelError, match="of which 'u_3' exists"):
        mbsim.loads(text.replace("{T: 2}", "{T: 2, u_3: 1}"))
    with pytest.raises(mbsim.ModelError, match="has no duration"):
        mbsim.loads(text.replace("{step: 0.1, duration: T}", "{type: equilibrium}"))


def test_saved_models_have_the_values_and_keep_their_comments(tmp_path):
    from mbsim_cli.spec.parameters import with_numbers

    head, _, _ = (CARRIAGE % "").partition("controls:")
    listed = "initial:" + "".join(f"\n      - {k}" for k in range(5))
    for keys in ("intervals: 4\n    initial: 0", "intervals: 4  # four", f"{listed}\n    intervals: 4"):
        tail = "analysis: {step: 0.1, duration: T}\n"
        text = f"{head}controls:\n  u:\n    {keys}\n    force: push\n{tail}"
        path = tmp_path / "m.yaml"
        path.write_text(text)
        file = load(path, Settings())
        found = {f"u_{k}": float(k) / 3 for k in range(5)}
        path.write_text(with_numbers(file, found | {"T": 3.0}))
        again = load(path, Settings())
        scope = again.expressions.scope()
        assert {name: scope[name].real for name in found} == found and scope["T"] == 3.0
        assert ("# four" in path.read_text()) == ("# four" in text)


def test_controls_of_an_included_file_are_stated_in_the_file_itself(tmp_path):
    from mbsim_cli.spec.parameters import with_numbers

    head, _, _ = (CARRIAGE % "").partition("controls:")
    own = "controls: {u: {force: push, intervals: 2, initial: t}}\nanalysis: {step: 0.1, duration: T}\n"
    (tmp_path / "included.yaml").write_text(head + own)
    path, found = tmp_path / "m.yaml", {"u_0": 0.5, "u_1": -1.0, "u_2": 2.0}
    for more in ("", "controls:\n  w: {intervals: 1}\n", "controls: {w: {intervals: 1}}\n"):
        path.write_text("mbsim: 1\ninclude: [included.yaml]\n" + more)
        path.write_text(with_numbers(load(path, Settings()), found | {"T": 3.0}))
        scope = load(path, Settings()).expressions.scope()
        assert {name: scope[name].real for name in found} == found and scope["T"] == 3.0


@pytest.mark.slow
def test_gradients_by_controls_and_by_the_duration_are_those_of_whole_runs():
    """Where values change within steps, which then end there; the lines between values meet at angles.

    What moves these ends moves the sums of the method too: that part, of the order of its error, is left out.
    """
    rng = np.random.default_rng(0)
    angles = [round(0.2 + k / 20 + 0.1 * float(x), 3) for k, x in enumerate(rng.random(41))]
    text = (BENCHMARKS / "brachistochrone.yaml").read_text()
    for old, new in (("step: 0.02", "step: 0.0051"), ("value: 2,", "value: 1.93,"), ('"0.1 + t"', str(angles))):
        assert old in text
        text = text.replace(old, new)
    model = mbsim.loads(text, by=["T", "angle_7"])
    adjoint, direct = (
        np.array([model.value_and_gradient(objective=name, sensitivity=method)[1] for name in model.objectives])
        for method in ("adjoint", "ddm")
    )
    assert np.allclose(adjoint, direct, rtol=1e-11, atol=1e-13)
    step, numerical = 1e-5, []
    for name in model.differentiated:

        def at(k, name=name):
            run = model.run({name: model.parameters[name] + k * step}, sensitivity="none")
            return np.array([found.value for found in run.objectives.values()])

        numerical.append((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step))
    assert np.abs(adjoint - np.array(numerical).T).max() < 2e-9
    assert abs(adjoint[1, 0]) > 1.0


def test_assembly_grows_with_the_number_of_values():
    """Not with its square: a derivative by one value evaluates no other."""

    def assembled(intervals):
        model = mbsim.loads((CARRIAGE % "initial: 2*t").replace("intervals: 4", f"intervals: {intervals}"))
        return calls_of(lambda: model._plan(None, {"sensitivity": "adjoint"}))

    assembled(10)
    assert assembled(320) < 5.0 * assembled(80)


@pytest.mark.slow
def test_a_gradient_by_a_thousand_values_costs_three_motions():
    """In processor time, by turns: the median of each."""
    text = (BENCHMARKS / "cart_pole.yaml").read_text().partition("\nchecks:")[0]
    for old, new in (("intervals: 40", "intervals: 1000"), ("initial: 0, unit", "initial: 3*sin(5*t), unit")):
        assert old in text
        text = text.replace(old, new)
    model = mbsim.loads(text.replace("step: 0.01", "step: 0.002"))
    calls = {
        "motion": lambda: model.run(sensitivity="none"),
        "gradient": lambda: model.value_and_gradient(objective="energy", sensitivity="adjoint"),
    }
    spent = {name: [] for name in calls}
    for turn in range(12):
        for name, call in calls.items():
            begun = process_time()
            call()
            if turn:
                spent[name].append(process_time() - begun)
    assert len(model.differentiated) > 1000
    assert median(spent["gradient"]) < 3.0 * median(spent["motion"]), spent


OPTIMA = {"brachistochrone": ("time", 1.80160312), "sliding_mass": ("time", 0.4)}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMA)
def test_optima_that_are_known(tmp_path, name):
    pytest.importorskip("cyipopt")
    objective, value = OPTIMA[name]
    saved = BENCHMARKS / f"{name}.yaml"
    result = mbsim.optimize(saved, output=tmp_path / "best.h5", save_model=tmp_path / "best.yaml", algorithm="ipopt")
    assert result.report["optimization"]["violation"] < 1e-6
    assert result.objectives[objective].value == pytest.approx(value, rel=1e-6)
    again = mbsim.run(tmp_path / "best.yaml", sensitivity="none")
    assert again.objectives[objective].value == result.objectives[objective].value


# the published swing-up (Kelly, SIAM Review 59, 2017; Dymos), in whole newtons
PUBLISHED = [2, 4, 7, 8, 9, 9, 8, 6, 3, 2, 0, -1, -3, -4, -6, -9, -12, -14, -13, -9, -4, 0, 2, 3, 3, 3, 3, 2, 2, 2]
PUBLISHED += [1, 1, 1, 1, 0, 0, 0, 0, -1, -1, -2]


SWING_UPS = {"from rest": (0, 57.9476412, [-0.1035, 1.0]), "published": (PUBLISHED, 58.8103442, [0.0, 1.1796])}


@pytest.mark.slow
@pytest.mark.parametrize("name", SWING_UPS)
def test_two_swing_ups_are_optimal(tmp_path, name):
    """Of 58.810317 by a collocation the cart goes to the right alone; from u = 0 a search finds a better one.

    CasADi with Ipopt, and trust-constr of SciPy, find both by equations by hand and the same steps. Here these are
    integrated to round-off: the end, the effort and the way of the cart, which the published problem keeps within 2 m.
    """
    pytest.importorskip("cyipopt")
    initial, effort, way = SWING_UPS[name]
    path = tmp_path / "cart.yaml"
    path.write_text(
        (BENCHMARKS / "cart_pole.yaml").read_text().replace("initial: 0, unit", f"initial: {initial}, unit")
    )
    result = mbsim.optimize(path, output=tmp_path / "best.h5", algorithm="ipopt")
    report = result.report["optimization"]
    assert report["violation"] < 1e-6 and report["optimality"] < 1e-5
    assert result.objectives["energy"].value == pytest.approx(effort, rel=2e-8)
    u = np.array([report["variables"][f"u_{k}"]["value"] for k in range(41)])
    assert np.abs(u).max() < 20.0
    states = swung(u)
    assert states[-1, :4] == pytest.approx([1.0, np.pi, 0.0, 0.0], abs=2e-4)  # steps of 10 ms
    assert states[-1, 4] == pytest.approx(effort, rel=1e-8)
    assert [states[:, 0].min(), states[:, 0].max()] == pytest.approx(way, abs=2e-4)


def swung(u):
    """Place, angle, their rates and effort (N, 5) of the cart-pole along controls (41,), by its equations."""
    cart, pole, length, g, h = 1.0, 0.3, 0.5, 9.81, 2.0 / 40

    def rates(t, y, first, last):
        _, angle, v, w, _ = y
        force, s, c = first + (last - first) * t / h, np.sin(angle), np.cos(angle)
        M = [[cart + pole, pole * length * c], [c, length]]
        return [v, w, *np.linalg.solve(M, [force + pole * length * s * w * w, -g * s]), force * force]

    states = [np.zeros(5)]
    for piece in pairwise(u):
        run = solve_ivp(
            rates, (0.0, h), states[-1], "DOP853", np.linspace(0, h, 11), args=piece, rtol=1e-12, atol=1e-13
        )
        states += list(run.y.T[1:])
    return np.array(states)


ENDS = """
sensors: {x: {type: coordinate, coordinate: slide.displacement}}
states: {work: {rate: "%s", initial: 0}}
objectives: {end: {final: x}, sum: {final: work}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
@pytest.mark.parametrize("between", ["linear", "constant"])
def test_the_derivative_by_a_duration_whose_times_fall_on_steps(integrator, between):
    """By differences to both sides; of the force and of a state that reads the control."""
    values = [1, 5, -2, 4, 7][: 5 if between == "linear" else 4]
    text = CARRIAGE % f"between: {between}, initial: {values}" + ENDS % "u(t)*(1 + t)"
    text = text.replace("{step: 0.1,", f"{{formulation: recursive, integrator: {integrator}, step: 0.1,")
    model = mbsim.loads(text, by=["T", "u_1"])

    def at(T):
        return np.array([one.value for one in model.run({"T": T}, sensitivity="none").objectives.values()])

    h = 1e-5
    sides = [(at(2.0 + h) - at(2.0)) / h, (at(2.0) - at(2.0 - h)) / h]
    for method in ("ddm", "adjoint"):
        exact = [model.value_and_gradient(objective=name, sensitivity=method)[1][0] for name in model.objectives]
        assert all(exact == pytest.approx(side, rel=1e-4) for side in sides)


@pytest.mark.slow
def test_a_kill_and_several_starts(tmp_path):
    """A search that was ended goes on to the same bits; of two starts the better counts."""
    text = (BENCHMARKS / "brachistochrone.yaml").read_text()
    path = tmp_path / "b.yaml"
    path.write_text(text.replace("    variables: [T, angle]\n", "    variables: [T, angle]\n    starts: 2\n"))
    whole = mbsim.optimize(path, output=tmp_path / "whole.h5", algorithm="slsqp")
    report = whole.report["optimization"]
    assert len(report["starts"]) == 2 and report["value"] == min(v for v in report["starts"] if v is not None)
    calls = []

    class Ends(mbsim.Listener):
        def poll(self):
            calls.append(1)
            if len(calls) == 30:
                raise mbsim.Interrupted("enough")

    with pytest.raises(mbsim.Interrupted):
        mbsim.optimize(path, output=tmp_path / "cut.h5", algorithm="slsqp", listener=Ends())
    assert (tmp_path / "cut.h5.designs").exists()
    again = mbsim.optimize(path, output=tmp_path / "cut.h5", algorithm="slsqp")
    assert again.report["optimization"]["value"] == report["value"]
    assert not (tmp_path / "cut.h5.designs").exists()


MEASURED = """
sensors:
  x: {type: coordinate, coordinate: slide.displacement}
  v: {type: coordinate, coordinate: slide.displacement, derivative: 1}
objectives: {x: {final: x}, v: {final: v}}
"""
FORCES = {"constant": [1.0, 5.0, -2.0, 4.0], "linear": [1.0, 5.0, -2.0, 4.0, 7.0]}
EXACT = ["recursive", "ali1p-rtdyn1"]


def moved(between, T):
    """Place and speed of the block of 2 kg at the end."""
    values, h, x, v = FORCES[between], T / 4, 0.0, 0.0
    for k in range(4):
        first, last = values[k] / 2, values[k + 1 if between == "linear" else k] / 2
        x, v = x + v * h + h * h * (first / 3 + last / 6), v + h * (first + last) / 2
    return np.array([x, v])


def carriage(between, formulation, integrator=None, step=0.1):
    """A model whose duration is no multiple of its steps, nor are the times of its control."""
    text = CARRIAGE % f"between: {between}, initial: {FORCES[between]}" + MEASURED
    how = f"formulation: {formulation}" + (f", integrator: {integrator}" if integrator else "")
    return text.replace("T: 2", "T: 1.93").replace("{step: 0.1,", f"{{{how}, step: {step},")


@pytest.mark.slow
@pytest.mark.parametrize("between", FORCES)
@pytest.mark.parametrize("formulation", EXACT)
@pytest.mark.parametrize("integrator", ["rk4", "dop853", "esdirk"])
def test_pieces_of_a_control_are_integrated_exactly(between, formulation, integrator):
    model = mbsim.loads(carriage(between, formulation, integrator), by=["T"])
    found = [model.value_and_gradient(objective=name) for name in model.objectives]
    assert [value for value, _ in found] == pytest.approx(moved(between, 1.93), rel=1e-12)
    slope = (moved(between, 1.93 + 1e-4) - moved(between, 1.93 - 1e-4)) / 2e-4
    assert [float(by[0]) for _, by in found] == pytest.approx(slope, rel=1e-8)


def test_derivatives_by_times_of_jumps_need_steps_that_part_them():
    """The trapezoidal rule would have half of them, however short its steps are."""
    text = carriage("constant", "ali3p-rtdyn1", step=0.001)
    with pytest.raises(mbsim.ModelError, match=r"controls.*jumps from 1 to 5 at 0.4825 s, .*depends on T"):
        mbsim.loads(text, by=["T"])._plan(None, {"sensitivity": "ddm"})
    for by, between in ((["u_2"], "constant"), (["T"], "linear")):
        text = carriage(between, "ali3p-rtdyn1", step=0.001)
        assert mbsim.loads(text, by=by)._plan(None, {"sensitivity": "ddm"})[0].named.problem.theta_rho.any()
