"""Optimisation: conditions of optima that are known, searches on formulas, and a mechanism whose optimum is known."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.errors import AnalysisError, InputOutputError, ModelError, UsageError
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.evaluation import Gradient
from mbsim_cli.study.listener import Interrupted, Listener
from mbsim_cli.study.optimizing.design import Designs, Enough, Limit, Variables, optimality
from mbsim_cli.study.optimizing.methods import method_for, search
from mbsim_cli.study.optimizing.optimize import Request, Task, history_of, line_of, optimize, report_of, warnings_of
from mbsim_cli.study.sweep.frames import framed, read_frames
from tests.spec.example import write

FIVEBAR = Path(__file__).parents[2] / "models" / "fivebar.yaml"
METHODS = ["slsqp", "mma"]


def of(u, limit, equal=False):
    """Conditions of (x - 2)^2 + (y - 0.4)^2 on the unit square, with x + y at most, or equal to, a limit."""
    gradient = 2 * (u - np.array([2, 0.4]))
    return optimality(u, gradient, np.array([u.sum() - limit]), np.ones((1, 2)), np.array([equal]))


def test_conditions_of_an_optimum():
    """Without a limit (1, 0.4), held by the range; at 1.2 (1, 0.2); equal to 2 (1, 1), which the limit pushes to."""
    free = of(np.array([1, 0.4]), 5.0)
    assert free.residual < 1e-12 and free.multipliers == [0] and free.of_ranges == pytest.approx([2, 0])
    held = of(np.array([1, 0.2]), 1.2)
    assert (
        held.residual < 1e-12 and held.multipliers == pytest.approx([0.4]) and held.of_ranges == pytest.approx([1.6, 0])
    )
    pushed = of(np.array([1, 0.9]), 1.9, equal=True)
    assert pushed.residual < 1e-12 and pushed.multipliers == pytest.approx([-1])
    assert of(np.array([0.5, 0.2]), 5.0).residual == pytest.approx(3)
    assert of(np.array([1, 0.2]), 1.1).residual == pytest.approx(0, abs=1e-12)  # beyond the limit: not asked here


def formula(most, sign=1.0, limit=0.7, log=False, tolerance=1e-6):
    """Designs of 1 + (a - 3)^2 + 10 (b - a^2/4)^2 in [1, 4]^2 with a + b at most 10 * limit."""
    names = ("a", "b")
    ends = np.array([1.0, 1.0]), np.array([4.0, 4.0])
    variables = Variables(names, ("m", ""), np.array([1.5, 3.5]), *ends, np.full(2, log))

    def analyse(values):
        a, b = values
        if a > 3.7:
            raise AnalysisError("the mechanism locks")
        f = 1 + (a - 3) ** 2 + 10 * (b - a * a / 4) ** 2
        g = np.array([2 * (a - 3) - 10 * a * (b - a * a / 4), 20 * (b - a * a / 4)])
        return {"f": Gradient(sign * f, sign * g), "sum": Gradient((a + b) / 10, np.full(2, 0.1))}

    limits = [Limit("sum", limit, 1.0)]
    return Designs(variables, "f", sign, limits, analyse, most, tolerance)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("sign", "log"), [(1.0, False), (-1.0, False), (1.0, True)])
def test_searches_find_the_optimum(method, sign, log):
    designs = formula(600, sign, log=log)
    assert search(method, designs) == ""
    assert designs.best.values == pytest.approx([3, 2.25], rel=1e-4)
    assert designs.best.found["f"] == pytest.approx(sign, rel=1e-6)
    assert designs.best.optimality.residual <= 1e-6


@pytest.mark.filterwarnings("error")
def test_trust_regions_take_linear_limits_without_a_warning_of_scipy():
    optimum("trust-constr", 0.4)


@pytest.mark.parametrize("method", [*METHODS, "trust-constr"])
def test_searches_may_use_all_analyses(method):
    designs = formula(4, limit=0.4)
    assert search(method, designs) == "the limit of 4 analyses is reached"
    assert len(designs.trials) == 4


def optimum(method, limit, tolerance=1e-6):
    designs = formula(600, limit=limit, tolerance=tolerance)
    assert search(method, designs) == ""
    assert designs.best.found["sum"] == pytest.approx(limit, rel=1e-6)
    return designs


def test_a_limit_holds_and_its_multiplier_tells_what_it_costs():
    found = optimum("slsqp", 0.45)
    above, below = (optimum("slsqp", 0.45 + step, 1e-8).best.found["f"] for step in (1e-3, -1e-3))
    price = found.multipliers(found.best)
    assert price == pytest.approx([(above - below) / 2e-3], rel=1e-3)
    other = optimum("mma", 0.45)
    assert other.best.values == pytest.approx(found.best.values, rel=1e-4)
    assert other.multipliers(other.best) == pytest.approx(price, rel=1e-4)


def test_a_limit_that_is_missed_is_told_in_its_unit():
    """Places in the ranges, which a + b = 1.5 + 3.5 stands at; limits are those of (a + b)/10."""
    designs = formula(1, limit=0.45)
    designs.at((designs.variables.start - 1.0) / 3.0)
    assert line_of(designs).endswith(", sum beyond its limit by 5.0e-02")
    kept = formula(1, limit=0.55)
    kept.at((kept.variables.start - 1.0) / 3.0)
    assert "limit" not in line_of(kept)


@pytest.mark.parametrize("method", METHODS)
def test_a_search_turns_back_from_designs_that_fail(method):
    designs = formula(600)
    object.__setattr__(designs.variables, "start", np.array([3.69, 1.0]))
    assert search(method, designs) == ""
    assert designs.best.values == pytest.approx([3, 2.25], rel=1e-4)


def problem(functions, start, low, high, limits, most):
    """Designs of complex functions by name, of which f becomes least."""
    names = tuple(f"x{i}" for i in range(len(start)))
    ends = np.full(len(start), low), np.full(len(start), high)
    variables = Variables(names, names, np.array(start, float), *ends, np.zeros(len(start), bool))

    def analyse(x):
        steps = x + 1e-30j * np.eye(len(x))
        return {n: Gradient(f(x).real, np.array([f(y).imag / 1e-30 for y in steps])) for n, f in functions.items()}

    return Designs(variables, "f", 1.0, limits, analyse, most, 1e-6)


@pytest.mark.parametrize("equal", [False, True])
def test_a_design_that_gains_by_what_it_is_beyond_a_limit_is_not_better(equal):
    """Springs of least a + b that sag by 58.86/a + 39.24/b = 0.1: each its root times the sum of both by 0.1."""
    springs = {"f": lambda x: x.sum(), "sag": lambda x: 58.86 / x[0] + 39.24 / x[1]}
    designs = problem(springs, [900, 200], 10.0, 5000.0, [Limit("sag", 0.1, 1.0, equal)], 50)
    assert search("slsqp", designs) == ""
    roots = np.sqrt([58.86, 39.24])
    assert designs.best.values == pytest.approx(10 * roots * roots.sum(), rel=1e-5)
    assert designs.best.optimality.residual <= 1e-6


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_objective_that_is_to_be_equal_to_a_number_is_no_cost(sign):
    """A search that also made it smaller took 75 analyses of a swinging mass in place of six."""
    designs = problem({"f": lambda x: 1.0 / x[0] + x[1] ** 2}, [1.0, 1.0], 0.1, 10.0, [Limit("f", 3.0, 1.0, True)], 12)
    designs.sign = sign
    assert search("slsqp", designs) == "" and len(designs.trials) <= 10
    assert designs.best.found["f"] == pytest.approx(3.0, rel=1e-5)
    assert designs.multipliers(designs.best) == pytest.approx([1.0])


@pytest.mark.filterwarnings("error")
def test_trust_regions_keep_more_equalities_than_there_are_variables():
    limits = [Limit("f", 9.0, 1.0, True), Limit("x", 3.0, 1.0, True)]
    designs = problem({"f": lambda x: x[0] ** 2, "x": lambda x: x[0]}, [1.0], 0.1, 10.0, limits, 12)
    assert search("trust-constr", designs) == ""
    assert designs.best.values == pytest.approx([3.0], rel=1e-5)


@pytest.mark.filterwarnings("error")
def test_trust_regions_take_equalities_that_depend_on_each_other_without_a_warning_of_scipy():
    square = {"f": lambda x: x @ x, "sum": lambda x: x[0] + x[1], "twice": lambda x: 2 * x[0] + 2 * x[1]}
    limits = [Limit("sum", 5.0, 1.0, True), Limit("twice", 10.0, 1.0, True)]
    designs = problem(square, [1.0, 3.0], 0.1, 10.0, limits, 12)
    search("trust-constr", designs)
    assert designs.best.found["sum"] == pytest.approx(5.0)


def test_moving_asymptotes_on_the_beam_of_five_boxes():
    """Svanberg (1987), section 5: weight 1.340 for (6.016, 5.309, 4.494, 3.502, 2.153)."""
    weights = np.array([61, 37, 19, 7, 1])
    sag = {"f": lambda x: 0.0624 * x.sum(), "sag": lambda x: (weights / x**3).sum()}
    beam = problem(sag, [5] * 5, 1.0, 10.0, [Limit("sag", 1.0, 1.0)], 22)
    assert search("mma", beam) == ""
    assert beam.best.values == pytest.approx([6.016, 5.309, 4.494, 3.502, 2.153], abs=1e-3)
    assert beam.best.found["f"] == pytest.approx(1.340, abs=5e-4)


def test_moving_asymptotes_on_two_bars():
    """Svanberg (1987), section 5: weight 1.51 for (1.41, 0.38); of the stresses that of one bar is at its limit."""

    def stress(sign):
        return lambda x: 0.124 * np.sqrt(1 + x[1] ** 2) * (8 / x[0] + sign / (x[0] * x[1]))

    bars = {"f": lambda x: x[0] * np.sqrt(1 + x[1] ** 2), "a": stress(1), "b": stress(-1)}
    limits = [Limit("a", 1.0, 1.0), Limit("b", 1.0, 1.0)]
    truss = problem(bars, [1.5, 0.5], np.array([0.2, 0.1]), np.array([4.0, 1.6]), limits, 14)
    assert search("mma", truss) == ""
    assert truss.best.values == pytest.approx([1.4116, 0.3771], abs=1e-3)
    assert truss.best.found["f"] == pytest.approx(1.51, abs=2e-3) and truss.best.found["b"] < 0.6


@pytest.mark.filterwarnings("error")
def test_moving_asymptotes_stop_where_analyses_fail_without_a_warning_of_numpy():
    def analyse(values):
        if values[0] > 0.5:
            raise AnalysisError("the mechanism locks")
        a, b = values
        gradient = np.array([2 * (a - 0.8) + 0.1 * b, 0.6 * (b - 0.1) + 0.1 * a])
        return {"f": Gradient((a - 0.8) ** 2 + 0.3 * (b - 0.1) ** 2 + 0.1 * a * b, gradient)}

    ends = np.array([0.0, -1.0]), np.array([2.0, 1.0])
    variables = Variables(("a", "b"), ("", ""), np.array([0.1, 0.2]), *ends, np.zeros(2, bool))
    designs = Designs(variables, "f", 1.0, [], analyse, 200, 1e-6)
    assert search("mma", designs) != ""  # what ended it
    assert designs.best.values[0] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(("linear", "most"), [(True, 16), (False, 40)])
def test_a_limit_that_is_linear_is_used_up_at_once(linear, most):
    """Compliance of bars of unequal weights w at a given mean: thickness as the root of w."""
    w = np.linspace(0.2, 1.0, 120) ** 2
    functions = {"f": lambda x: (w / x).sum(), "mean": lambda x: x.mean()}
    bars = problem(functions, [0.3] * 120, 0.05, 1.0, [Limit("mean", 0.3, 1.0, linear=linear)], most)
    assert search("mma", bars) == ""
    assert bars.best.values == pytest.approx(0.3 * np.sqrt(w) / np.sqrt(w).mean(), rel=1e-4)
    second = bars.trials[1]
    assert second.violation <= 1e-9 and (second.excess[0] > -1e-9) == linear


def test_ends():
    assert "the limit of 3 analyses" in search("slsqp", formula(3))
    assert (method_for("auto", 3), method_for("auto", 300), method_for("mma", 3)) == ("slsqp", "mma", "mma")


@pytest.mark.parametrize("method", METHODS)
def test_a_search_without_progress_ends_and_says_why(method):
    """A noisy derivative leads out of a range that holds the optimum; values do not follow."""
    names, ends = ("a", "b"), (np.zeros(2), np.ones(2))
    variables = Variables(names, ("", ""), np.array([0.8, 0.9]), *ends, np.zeros(2, bool))

    def analyse(values):
        a, b = values
        return {"f": Gradient(1.0 + (a - 0.4) ** 2 + b, np.array([2 * (a - 0.4), 1.0 if b > 1e-3 else -0.2]))}

    designs = Designs(variables, "f", 1.0, [], analyse, 500, 1e-9)
    ended = search(method, designs)
    assert designs.best.values[1] < 0.01
    assert ended and "successfully" not in ended and len(designs.trials) < 160
    (told,) = warnings_of(designs, ended)
    assert re.match(r"the optimality conditions hold to \S+ \([ab]\), not to 1e-09: .*", told)
    report = report_of(designs, history_of(designs, {"f": ""}, {}), {"f": ""})
    assert report["variables"]["b"]["at"] == "lower" and report["variables"]["b"]["held_by"] == ""


def test_a_search_that_stalls_ends(monkeypatch):
    """Values that fall by less and less, whatever the derivatives say."""
    names, ends = ("a",), (np.zeros(1), np.ones(1))
    variables = Variables(names, ("",), np.array([0.8]), *ends, np.zeros(1, bool))
    designs = Designs(variables, "f", 1.0, [], lambda v: {"f": Gradient(1 + 1e-8 * v[0], np.array([1.0]))}, 500, 1e-9)
    with pytest.raises(Enough, match="the last 20 analyses gained less than 1e-05 of f"):
        for u in np.linspace(0.8, 0.1, 400):
            designs.at(np.array([u]))
    assert len(designs.trials) == 21


@pytest.mark.parametrize("count", [9, 17, 30])
def test_quadratic_programming_takes_few_analyses_where_the_cost_is_steep(count):
    """The least effort that moves a mass of 1 kg by 1 m in 1 s, from rest to rest: the force 6 - 12 t, and 12 N^2 s."""
    times = np.linspace(0, 1, count)
    h = times[1]
    speed, place = np.full(count, h), h * (1 - times)
    speed[[0, -1]], place[[0, -1]] = h / 2, [h / 2 - h * h / 6, h * h / 6]
    work = h / 6 * (np.diag([2.0, *[4.0] * (count - 2), 2.0]) + np.eye(count, k=1) + np.eye(count, k=-1))

    def analyse(u):
        return {
            "effort": Gradient(u @ work @ u, 2 * work @ u),
            "speed": Gradient(speed @ u, speed),
            "place": Gradient(place @ u, place),
        }

    names, ends = tuple(f"u_{i}" for i in range(count)), (np.full(count, -100.0), np.full(count, 100.0))
    variables = Variables(names, ("N",) * count, np.zeros(count), *ends, np.zeros(count, bool))
    limits = [Limit("speed", 0.0, 1.0, equal=True), Limit("place", 1.0, 1.0, equal=True)]
    designs = Designs(variables, "effort", 1.0, limits, analyse, 200, 1e-6)
    assert search("slsqp", designs) == ""
    assert designs.best.found["effort"] == pytest.approx(12, rel=1e-9)
    assert designs.best.values == pytest.approx(6 - 12 * times, abs=1e-5)
    assert len(designs.trials) <= 25


def calm(tmp_path, listener=None, name="calm", **options):
    """Optimise a fast variant of the five-bar linkage."""
    output = tmp_path / "out.h5"
    request = Request(name, output, **options)
    return optimize(FIVEBAR, request, Settings(step=5e-3), listener or Listener(), "mbsim"), output


def test_the_springs_that_carry_the_weight(tmp_path):
    """Released from rest it stays; each bar's equilibrium of moments about its pins gives the same lengths."""
    report, output = calm(tmp_path, name="rest")
    found = report["optimization"]
    assert found["value"] < 1e-14 and found["optimality"] <= 1e-8 and report["warnings"] == []
    with h5py.File(output) as file:
        history = file["optimization"]
        assert history.attrs["ended"] == "optimal" and history["values"].shape == (found["analyses"], 2)
        assert history["objectives"][history.attrs["best"] - 1, 0] == pytest.approx(file["objectives/psi1/value"][()])
        assert file["parameters/value"][:] == pytest.approx([found["variables"][n]["value"] for n in ("L_s1", "L_s2")])
        r2 = file["sensors/r2"][:]
    assert np.abs(r2 - [0.5, -2, 0]).max() < 1e-6


def test_a_limit_on_another_objective_is_active(tmp_path):
    report, _ = calm(tmp_path)
    found = report["optimization"]
    limit = found["constraints"][0]
    assert limit["active"] and limit["value"] == pytest.approx(0.5, rel=1e-6) and limit["sensitivity"] > 0
    assert found["optimality"] <= 1e-6 and found["value"] < 0.1 * found["start"]
    mass = found["variables"]["m_A1"]
    assert mass["value"] == pytest.approx(0.5, abs=1e-14) and mass["held_by"] == "lower"


def test_from_python(tmp_path):
    """As the command: the result of the best design, what it reports, and the same refusals."""
    output = tmp_path / "out.h5"
    found = mbsim.optimize(FIVEBAR, "rest", output, step=5e-3, evaluations=3, algorithm="slsqp")
    report = found.report["optimization"]
    assert report["analyses"] == 3 and "the limit of 3 analyses" in found.warnings[-1]
    assert found.objectives["psi1"].value == report["value"] < report["start"]
    assert np.array_equal(found["r2"], mbsim.open(output)["r2"])
    for given, sentence in (
        ({"name": "rst"}, "unknown optimization 'rst'"),
        ({"algorithm": "newton"}, "unknown algorithm 'newton'; there are auto, slsqp, trust-constr, ipopt, mma"),
        ({"evaluations": 0}, "1 at least, not 0"),
        ({"sensitivity": "fd"}, "an optimisation follows exact gradients"),
    ):
        with pytest.raises(UsageError, match=sentence):
            mbsim.optimize(FIVEBAR, **{"name": "rest", "output": output, "force": True} | given)
    with pytest.raises(InputOutputError, match="is the model itself"):
        mbsim.optimize(FIVEBAR, "rest", FIVEBAR, force=True)


class Impatient(Listener):
    """Ends at a number of sentences."""

    def __init__(self, count):
        self.left = count

    def say(self, sentence):
        self.left -= 1

    def poll(self):
        if self.left == 0:
            self.left = -1
            raise Interrupted("interrupted")


def test_an_interruption_leaves_the_best_design(tmp_path):
    with pytest.raises(Interrupted) as stop:
        calm(tmp_path, Impatient(3))
    assert stop.value.kept == str(tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["optimization"].attrs["ended"] == "interrupted"
        psi3 = file["optimization/objectives"][:, 2]
        assert file["objectives/psi3/value"][()] == psi3[file["optimization"].attrs["best"] - 1]


class Pressing(Listener):
    """Presses Ctrl-C when a design was tried."""

    def __init__(self, count):
        self.at = count

    @contextmanager
    def progress(self, title, total):
        yield lambda done: os.kill(os.getpid(), signal.SIGINT) if (title, done) == ("optimizing", self.at) else None


def test_control_c_in_a_program_leaves_the_best_design(tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as stop:
            mbsim.optimize(FIVEBAR, "calm", tmp_path / "out.h5", step=5e-3, listener=Pressing(2))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert stop.value.__notes__ == [
        f"the best of 2 designs is kept in {tmp_path / 'out.h5'}; the same call continues the search"
    ]
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["optimization"].attrs["ended"] == "interrupted" and len(file["optimization/values"]) == 2
    assert {entry.name for entry in tmp_path.iterdir()} == {"out.h5", "out.h5.designs"}


KILLED = """
import os, signal, sys
from pathlib import Path
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.optimizing import optimize
from mbsim_cli.study.assembling import Settings

honest, calls = optimize.Task.objectives, []
def objectives(self, values):
    calls.append(1)
    if len(calls) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return honest(self, values)
optimize.Task.objectives = objectives
request = optimize.Request("calm", Path(sys.argv[2]))
optimize.optimize(Path(sys.argv[1]), request, Settings(step=5e-3), Listener(), "mbsim")
"""


class Noting(Listener):
    """Keeps what is said."""

    def __init__(self):
        self.said = []

    def say(self, sentence):
        self.said.append(sentence)


@pytest.fixture
def killed(tmp_path):
    """A search that was killed in its fourth analysis; the log that it left."""
    words = [sys.executable, "-c", KILLED, str(FIVEBAR), str(tmp_path / "out.h5")]
    done = subprocess.run(words, cwd=FIVEBAR.parents[1], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    log = tmp_path / "out.h5.designs"
    assert len(list(read_frames(log))) == 4  # one says what the designs are of
    assert [entry.name for entry in tmp_path.iterdir()] == [log.name]
    return log


def recomputed(tmp_path, monkeypatch, **options):
    """Analyses that the search needs, sentences, the history of the result, and the number of all analyses."""
    honest, calls, listener = Task.objectives, [], Noting()
    with monkeypatch.context() as counted:
        counted.setattr(Task, "objectives", lambda self, values: calls.append(1) or honest(self, values))
        report, output = calm(tmp_path, listener, **options)
    with h5py.File(output) as file:
        history = file["optimization/values"][:].tobytes() + file["optimization/objectives"][:].tobytes()
    assert not (tmp_path / "out.h5.designs").exists()
    return len(calls), listener.said, history, report["optimization"]["analyses"]


def test_a_search_that_was_killed_goes_on(tmp_path, monkeypatch, killed):
    """To the same result, bit by bit; a frame that is damaged is computed again."""
    log = killed.read_bytes()
    calls, said, history, analyses = recomputed(tmp_path, monkeypatch)
    assert calls == analyses - 3 and said[0] == f"3 designs of an earlier search are read from {killed}"
    killed.write_bytes(log[:-100] + bytes([log[-100] ^ 1]) + log[-99:])
    assert recomputed(tmp_path, monkeypatch)[::2] == (analyses - 2, history)
    killed.write_bytes(log)
    calls, said, undisturbed, _ = recomputed(tmp_path, monkeypatch, force=True)
    assert calls == analyses and undisturbed == history and "earlier search" not in said[0]


def test_designs_of_another_model_are_not_taken(tmp_path, killed):
    listener, request = Noting(), Request("calm", tmp_path / "out.h5", evaluations=2)
    optimize(FIVEBAR, request, Settings(step=6e-3), listener, "")
    assert "are of another model, other options or another version of mbsim" in listener.said[0]


@pytest.mark.parametrize("content", [b"my own notes", framed(b"of another program")])
def test_a_file_that_is_no_log_stays(tmp_path, content):
    other = tmp_path / "out.h5.designs"
    other.write_bytes(content)
    with pytest.raises(InputOutputError, match="exists and is not a log of mbsim optimize"):
        calm(tmp_path, force=True)
    assert other.read_bytes() == content
    os.unlink(other)
    os.mkfifo(other)
    with pytest.raises(InputOutputError, match="it is a pipe or a device"):
        calm(tmp_path)


def test_frames_of_anybody_are_no_designs(tmp_path, monkeypatch, killed):
    """Whoever writes a log cannot end the search with an exception."""
    head, *designs = [content for _, content in read_frames(killed)]
    key, _, numbers = designs[0].split(b"\n", 2)
    others = [b"", b"\n[]\n", b"\n{}\n" + numbers, b'\n{"a": 1}\n' + numbers, b"\n\xff\n" + numbers]
    for wrong in [*(key + other for other in others), designs[0][:-8]]:
        killed.write_bytes(framed(head) + framed(wrong))
        assert recomputed(tmp_path, monkeypatch, evaluations=2)[0] == 2


def test_an_interruption_without_words_is_no_optimum(tmp_path):
    class Wordless(Impatient):
        def poll(self):
            if self.left == 0:
                self.left = -1
                raise Interrupted

    with pytest.raises(Interrupted):
        calm(tmp_path, Wordless(2))
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["optimization"].attrs["ended"] == "interrupted"


def test_what_cannot_be_met_is_said(tmp_path):
    stated = "optimization: {no: {minimize: psi2, constraints: {psi1: {at_most: -1}}}}"
    model = write(tmp_path, f"mbsim: 1\ninclude: [{FIVEBAR}]\n{stated}\n")
    with pytest.raises(AnalysisError, match="which is to be at_most -1; it is kept in"):
        request = Request("no", tmp_path / "no.h5", evaluations=4)
        optimize(model, request, Settings(step=2e-2, duration=0.5), Listener(), "")
    assert (tmp_path / "no.h5").exists()


@pytest.mark.parametrize(
    "given",
    ["variables: [L_s1], constraints: {psi2: {at_most: 2*m_A1}}", "variables: {L_s1: {from: 0.9*L_s1, to: 1.1*L_s1}}"],
)
def test_limits_and_ranges_may_be_formulas_of_what_stays(tmp_path, given):
    """And a range of its own start."""
    spec.load(write(tmp_path, f"mbsim: 1\ninclude: [{FIVEBAR}]\noptimization: {{x: {{minimize: psi1, {given}}}}}\n"))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("{minimize: psi9}", "minimize: unknown objective 'psi9'; did you mean"),
        ("{minimize: psi1, maximize: psi2}", "give one of minimize and maximize"),
        ("{minimize: psi1, variables: []}", "needs one parameter at least"),
        ("{minimize: psi1, variables: [L_s9]}", "unknown parameter 'L_s9'"),
        ("{minimize: psi1, variables: [L_12]}", "'L_12' is a constant"),
        ("{minimize: psi1, variables: [L_s1, L_s1]}", "'L_s1' stands twice"),
        ("{minimize: psi1, variables: {L_s1: {from: 2.5, to: 3}}}", "where the search begins, lies outside"),
        ("{minimize: psi1, variables: {L_s1: {from: 1, to: 3}}}", "reaches beyond the bounds 1.5 and 3"),
        ("{minimize: psi1, variables: {L_s1: {from: 3, to: 2}}}", "2 is less than 3"),
        ("{minimize: psi1, constraints: {psi2: {}}}", "give at_most, at_least or both; or equals"),
        ("{minimize: psi1, constraints: {psi2: {at_most: 1, equals: 2}}}", "give at_most, at_least or both; or equals"),
        ("{minimize: psi1, constraints: {psi2: {at_least: 2, at_most: 1}}}", "2 is more than at_most, 1"),
        ("{minimize: psi1, constraints: {psi2: {equals: 2}}, algorithm: mma}", "mma keeps no equalities"),
        (
            "{minimize: psi1, constraints: {psi2: {at_most: 2*L_s1}}}",
            "2*L_s1 is read at the start alone, and would not",
        ),
        (
            "{minimize: psi1, variables: {L_s1: {from: L_s2/2, to: 3}, L_s2: {from: 1.9, to: 2.5}}}",
            "L_s2/2 is read at the start alone, and would not follow L_s2",
        ),
        ("{minimize: psi1, tolerance: 0}", "must be greater than zero, is 0"),
    ],
)
def test_what_is_refused(tmp_path, given, sentence):
    text = f"mbsim: 1\ninclude: [{FIVEBAR}]\noptimization: {{x: {given}}}\n"
    with pytest.raises(ModelError) as error:
        spec.load(write(tmp_path, text))
    assert any(sentence in str(issue) for issue in error.value.issues), [str(issue) for issue in error.value.issues]
