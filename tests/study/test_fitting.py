"""Fits: known parameters from another integrator's data, derivatives, noise, what data do not determine, resumption."""

import runpy
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import least_squares

import mbsim_cli as mbsim
from mbsim_cli import spec
from mbsim_cli.errors import AnalysisError, InputOutputError
from mbsim_cli.study.fitting.estimate import Group, Problem, _rho, estimate
from mbsim_cli.study.fitting.readings import Computed, Readings, measured_of
from mbsim_cli.study.listener import Interrupted, Listener
from mbsim_cli.study.optimizing.design import Variables
from mbsim_cli.study.sweep.frames import framed
from tests.models.command import ROOT

FOLDER = ROOT / "models/benchmarks"
GENERATOR = runpy.run_path(str(FOLDER / "generate_sledge.py"))
TRUTH = GENERATOR["TRUTH"]
TEXT = (FOLDER / "sledge.yaml").read_text().partition("\nchecks:\n")[0] + "\n"


def write(folder, text=TEXT, seed=1, change=lambda rows: rows):
    """The model with data of a seed."""
    (folder / "sledge.yaml").write_text(text)
    for name, (header, rows) in GENERATOR["runs"](seed).items():
        np.savetxt(folder / name, change(rows), delimiter=",", header=header, comments="")
    return folder / "sledge.yaml"


def stating(fits, text=TEXT):
    """The text with other fits."""
    return text.partition("\nfit:\n")[0] + f"\nfit: {fits}\n"


def deviations(fit):
    """Estimates minus the truth, over their standard errors."""
    return (fit.values - [TRUTH[name] for name in fit.names]) / fit.errors


@pytest.mark.parametrize("seed", range(2))
def test_known_parameters_are_found(tmp_path, seed):
    found = mbsim.load(write(tmp_path, seed=seed)).fit("all")
    assert np.abs(deviations(found)).max() < 4.0
    assert found.report["fit"]["converged"] and not found.warnings
    assert found.samples["slow"]["x_mm"].sigma == pytest.approx(1.0, rel=0.35)  # estimated, in millimetres
    assert found.hold_out["light"]["x"].residuals.std() == pytest.approx(1.0, rel=0.35)


@pytest.mark.slow
def test_standard_errors_are_those_of_many_samples(tmp_path):
    """Of 100 samples each estimate lies within three standard errors in 95, and within one in about two thirds."""
    found = np.array([deviations(mbsim.load(write(tmp_path, seed=seed)).fit("all")) for seed in range(100)])
    assert ((np.abs(found) < 3.0).mean(axis=0) >= 0.95).all()
    assert np.std(found, axis=0) == pytest.approx(np.ones(found.shape[1]), abs=0.3)


def readings_of(path, name, by):
    model = mbsim.load(path)
    return Readings(model, measured_of(model.file, name), by, {"d0": (0.0, 0.05)})


@pytest.mark.parametrize("measurement", ["slow", "loaded"])
def test_derivatives_are_those_of_what_is_read(tmp_path, measurement):
    """Scale, offset and delay among them, values of the run itself, and a parameter that it replaces."""
    text = TEXT.replace("scale: 1000, offset: b0", "scale: 1000 + k, offset: b0*m").replace(
        "start: x_2}", "start: 2*x_2, c: 0.7}"
    )
    by = ("m", "k", "c", "x_2", "b0", "d0")
    readings = readings_of(write(tmp_path, text), measurement, by)
    place = np.array([1.7, 45.0, 0.6, 0.06, 2.0, 0.0131])
    readings.settle(place)
    jacobian = readings.at(place).jacobian
    for column in range(len(by)):
        step = 1e-6 * max(abs(place[column]), 1.0) * np.eye(len(by))[column]
        slope = (readings.at(place + step).values - readings.at(place - step).values) / 2.0 / step[column]
        size = np.abs(slope).max()
        assert np.abs(jacobian[:, column] - slope).max() <= 2e-6 * size + 1e-8, by[column]
        zero = {"slow": ["x_2"], "loaded": ["c", "b0", "d0"]}[measurement]
        assert (size == 0.0) == (by[column] in zero)


def test_rates_of_interpolated_histories(tmp_path):
    """Derivatives by time of the polynomials themselves: of values at rows, Hermite's are the stored velocities."""
    result = mbsim.load(write(tmp_path)).run(duration=0.5)
    rows = result.time[2:-2]
    at_rows = result.at(rows, "guide.displacement", rate=True)
    assert at_rows == pytest.approx(result["guide.displacement.velocity"][2:-2], abs=1e-10)
    times, step = rows + 1.7e-3, 1e-6
    for name in ("x.x", "guide.displacement.velocity"):
        slope = (result.at(times + step, name) - result.at(times - step, name)) / 2 / step
        assert result.at(times, name, rate=True) == pytest.approx(slope, abs=1e-7)


def test_as_few_evaluations_as_by_hand(tmp_path):
    """Noise that is known: the same search as of ``least_squares`` with the residuals of the library."""
    fits = "{hand: {measurements: [loaded], parameters: [k, c, x_2]}}"
    model = mbsim.load(write(tmp_path, stating(fits)), by=["k", "c", "x_2"])
    found = model.fit()
    data = np.loadtxt(tmp_path / "sledge_run2.csv", delimiter=",", skiprows=1)
    hand = mbsim.load(
        write(tmp_path, TEXT.replace("displacement: start", "displacement: x_2")), by=["k", "c", "x_2"], payload=1.5
    )
    residuals = hand.residuals(
        {"guide.displacement": data[:, 1]}, times=data[:, 0], scales={"guide.displacement": 1e-3}
    )
    low, high = hand.bounds.T
    by_hand = least_squares(residuals, hand.rho, residuals.jacobian, bounds=(low, high), x_scale="jac")
    assert found.values == pytest.approx(by_hand.x, rel=1e-5)
    assert found.estimate.evaluations <= 1.5 * by_hand.nfev
    covariance = np.linalg.inv(by_hand.jac.T @ by_hand.jac)
    assert found.covariance == pytest.approx(covariance, rel=1e-3)


def test_what_the_data_do_not_determine_is_named(tmp_path):
    found = mbsim.load(write(tmp_path)).fit("lumped")
    assert np.isnan(found.errors).all() and len(found.warnings) == 1
    assert "the data do not determine m, k and c" in found.warnings[0]
    worst = found.report["fit"]["directions"][-1]
    total, parts = found.parameters["m"] + 0.5, worst["parameters"]
    assert not worst["determined"] and worst["singular_value"] < 1e-9
    assert parts["k"] / parts["m"] == pytest.approx(found.parameters["m"] / total)  # (m + payload) : k : c
    fits = "{one: {measurements: [light], parameters: [k, m]}}"
    some = mbsim.load(write(tmp_path, stating(fits))).fit()
    assert np.isfinite(some.errors).all()  # of a damping that is known


def test_parameters_of_a_direction_are_named_though_one_of_them_is_near_zero(tmp_path):
    """m, k and the natural length b make two numbers: the amplitude of a force, and its mean."""
    (tmp_path / "force.csv").write_text("time,F\n0,1\n0.2,1.2\n0.4,0.9\n0.6,0.2\n")
    (tmp_path / "model.yaml").write_text("""
mbsim: 1
gravity: [0, -9.81, 0]
parameters: {m: {value: 1, bounds: [0.1, 5]}, k: {value: 20, bounds: [1, 100]}, b: {value: 0, bounds: [-1, 1]}}
bodies: {block: {mass: m}}
joints: {guide: {type: prismatic, bodies: [ground, block], point: origin, axis: y}}
forces: {spring: {type: spring_damper, coordinate: guide.displacement, stiffness: k, natural_length: b}}
sensors: {F: {type: torque, coordinate: guide.displacement}}
measurements: {run: {file: force.csv, columns: {F: {sensor: F, scale: 0.1, offset: b}}}}
fit: {all: {measurements: [run], parameters: [k, b, m]}}
analysis:
  type: inverse_dynamics
  sampling: 0.01
  duration: 1
  motion: {all: {type: harmonic, amplitude: 1, frequency: 0.5}}
""")
    found = mbsim.load(tmp_path / "model.yaml").fit("all")
    assert np.isnan(found.errors).all() and "the data do not determine k, b and m" in found.warnings[0]


def test_residuals_of_as_many_readings_as_parameters(tmp_path):
    """Three readings and three parameters, of which the data determine two: one degree of freedom is left."""
    text = stating("{few: {measurements: [loaded], parameters: [m, k, c]}}")
    text = text.replace("sigma: 1e-3}", "sigma: 1e-5}").replace("  loaded:\n", "  loaded:\n    between: [0.4, 0.51]\n")
    found = mbsim.load(write(tmp_path, text)).fit()
    residuals = found.samples["loaded"]["x"].residuals
    assert len(residuals) == 3 and "the data do not determine m, k and c" in found.warnings[0]
    times = np.sqrt(np.mean(residuals**2) * 3.0)
    assert found.warnings[1].startswith(f"residuals of loaded.x are {times:.3g} times the stated sigma of 1e-05")


def test_readings_at_the_ends_of_between_count_however_their_times_are_rounded(tmp_path):
    """1950 times 0.001 is more than 1.95."""
    (tmp_path / "x.csv").write_text("t,x\n50,1\n100,2\n1950,3\n2000,4\n")
    measured = "{file: x.csv, time: t, time_scale: 0.001, between: [0.1, 1.95], columns: {x: {sensor: x.x}}}"
    path = write(tmp_path, TEXT.replace("measurements:\n", f"measurements:\n  odd: {measured}\n"))
    (column,) = measured_of(spec.load(path), "odd").columns
    assert column.readings.tolist() == [2, 3]


@pytest.mark.slow
def test_robust_losses_withstand_outliers(tmp_path):
    def spoilt(rows):
        rows = rows.copy()
        rows[::7, 1] += 0.05 * np.sign(rows[::7, 1]) * (1.0 if np.abs(rows[:, 1]).max() < 1.0 else 1000.0)
        return rows

    off = {}
    for loss in ("linear", "soft_l1", "huber", "cauchy"):
        fits = f"{{one: {{measurements: [loaded], parameters: [k, c, x_2], loss: {loss}}}}}"
        found = mbsim.load(write(tmp_path, stating(fits), change=spoilt), m=TRUTH["m"]).fit()
        off[loss] = abs(found.parameters["x_2"] - TRUTH["x_2"])
        if loss in ("huber", "cauchy"):
            assert off[loss] < 5.0 * found.errors[2]
    assert off["linear"] > 3.0 * off["soft_l1"] and off["linear"] > 5.0 * off["cauchy"]


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_losses_and_their_derivatives_by_residuals(loss):
    problem, x, step = SimpleNamespace(loss=loss, loss_scale=1.5), np.linspace(-4, 4, 18), 1e-5
    (cost, slope, second), (above, *_), (below, *_) = (_rho(problem, x + late) for late in (0, step, -step))
    assert (above - below) / (4 * step) == pytest.approx(slope * x, abs=1e-9)
    assert (above - 2 * cost + below) / (2 * step**2) == pytest.approx(second, abs=1e-4)


@pytest.mark.parametrize("loss", ["soft_l1", "cauchy"])
def test_standard_errors_of_robust_losses_are_the_scatter_of_estimates(loss):
    """Means of 60 readings, a tenth of which scatter ten times as much as the others."""
    random = np.random.default_rng(0)
    variables = Variables(("mean",), ("",), np.zeros(1), np.full(1, -np.inf), np.full(1, np.inf), np.zeros(1, bool))
    means, errors = [], []
    for _ in range(600):
        readings = random.normal(size=60) * np.where(random.random(60) < 0.1, 10.0, 1.0)
        compute = lambda values: Computed(np.full(60, values[0]), np.ones((60, 1)))  # noqa: E731
        groups = [Group(slice(0, 60), 1.0, 1.0)]
        found = estimate(Problem(variables, readings, groups, compute, loss, 1.5, 1e-10, 50))
        means.append(found.values[0])
        errors.append(np.sqrt(found.covariance[0, 0]))
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.08)


def test_readings_that_are_all_outliers_give_no_standard_error():
    variables = Variables(("mean",), ("",), np.zeros(1), np.full(1, -np.inf), np.full(1, np.inf), np.zeros(1, bool))
    readings, groups = np.repeat([-50.0, 50.0], 10), [Group(slice(0, 20), 1.0, 1.0)]
    compute = lambda values: Computed(np.full(20, values[0]), np.ones((20, 1)))  # noqa: E731
    found = estimate(Problem(variables, readings, groups, compute, "huber", 1.5, 1e-10, 50))
    assert np.isnan(found.covariance).all()


def test_outliers_alone_take_the_standard_errors_only_of_what_they_read():
    """Two means, each of readings of its own: all readings of the second one are outliers."""
    variables = Variables(("a", "b"), ("", ""), np.zeros(2), np.full(2, -np.inf), np.full(2, np.inf), np.zeros(2, bool))
    groups = [Group(slice(0, 40), 1.0, 1.0)]
    readings, which = np.append(np.linspace(-1.0, 1.0, 20), np.repeat([-50.0, 50.0], 10)), np.repeat([0, 1], 20)
    compute = lambda values: Computed(values[which], np.eye(2)[which])  # noqa: E731
    found = estimate(Problem(variables, readings, groups, compute, "huber", 1.5, 1e-10, 50))
    alone = np.sum(readings[:20] ** 2) / 20**2 * 40 / 38
    assert found.covariance[0, 0] == pytest.approx(alone, rel=1e-12) and np.isnan(found.covariance[1]).all()


@pytest.mark.parametrize(("most", "reached"), [(0.9, True), (0.5, False)])
def test_a_search_that_failing_analyses_keep_from_the_optimum_has_not_converged(most, reached):
    """Readings atan(0.8) t + 0; its first step leads to where analyses fail in any case."""
    time = np.linspace(0.0, 1.0, 20)
    readings = np.arctan(0.8) * time + 1e-3 * np.sin(40.0 * time)

    def compute(values):
        if values[0] > most:
            raise AnalysisError("the mechanism locks")
        return Computed(
            np.arctan(values[0]) * time + values[1], np.stack([time / (1 + values[0] ** 2), 1 + 0 * time], 1)
        )

    wide = np.full(2, np.inf)
    variables = Variables(("a", "b"), ("", ""), np.array([-2.0, 0.3]), -wide, wide, np.zeros(2, bool))
    groups = [Group(slice(0, 20), None, 1.0)]
    found = estimate(Problem(variables, readings, groups, compute, "linear", 1.0, 1e-8, 200))
    assert found.converged == reached and (abs(found.values[0] - 0.8) < 1e-2) == reached
    assert reached or found.ended == "a better fit lies where analyses fail: the mechanism locks"


def test_an_end_of_a_range_holds_an_estimate(tmp_path):
    fits = "{one: {measurements: [loaded], parameters: {k: {from: 30, to: 45}, x_2: {from: 0.01, to: 1, scale: log}}}}"
    found = mbsim.load(write(tmp_path, stating(fits)), m=TRUTH["m"]).fit()
    assert found.parameters["k"] == 45.0 and found.report["fit"]["parameters"]["k"]["held_by"] == "upper"
    assert any("k is held by the upper end of its range" in sentence for sentence in found.warnings)
    assert any("times the stated sigma" in sentence for sentence in found.warnings)
    assert np.isnan(found.errors[0]) and np.isfinite(found.errors[1])
    fits = "{one: {measurements: [loaded], parameters: [x_2]}}"
    alone = mbsim.load(write(tmp_path, stating(fits)), m=TRUTH["m"], k=45.0).fit()
    assert found.parameters["x_2"] == pytest.approx(alone.parameters["x_2"], rel=1e-6)


def test_a_parameter_without_influence_is_an_error(tmp_path):
    fits = "{one: {measurements: [loaded], parameters: [k, b0]}}"
    with pytest.raises(mbsim.ModelError, match=r"fit\.one\.parameters\[1\]: no reading of this fit depends on 'b0'"):
        mbsim.load(write(tmp_path, stating(fits))).fit()


class Ends(Listener):
    """Ends a search after so many sentences."""

    def __init__(self, after):
        self.after, self.said = after, []

    def say(self, sentence):
        self.said.append(sentence)
        if len([s for s in self.said if s.startswith("evaluation ")]) >= self.after:
            raise Interrupted


def test_a_killed_fit_goes_on(tmp_path, monkeypatch):
    fits = "{all: {measurements: [loaded], parameters: [k, c, x_2]}}"
    path, log = write(tmp_path, stating(fits)), tmp_path / "log"
    runs = []
    recorded = mbsim.Model.recorded
    monkeypatch.setattr(mbsim.Model, "recorded", lambda *a, **k: (runs.append(1), recorded(*a, **k))[1])
    whole = mbsim.load(path).fit("all", log=log)
    needed = len(runs)
    assert not log.exists()
    with pytest.raises(Interrupted):
        mbsim.load(path, listener=Ends(4)).fit("all", log=log)
    done = len(runs) - needed
    log.write_bytes(log.read_bytes()[:-5])  # a kill in the midst of writing
    listener = Ends(1000)
    runs.clear()
    again = mbsim.load(path, listener=listener).fit("all", log=log)
    assert again.values.tobytes() == whole.values.tobytes() and not log.exists()
    assert len(runs) < needed - done + 5 and "evaluations of an earlier search are read" in listener.said[0]
    log.write_bytes(framed(b"mbsim evaluations 1\n" + b"of an earlier version"))
    listener = Ends(100)
    mbsim.load(path, listener=listener).fit("all", log=log)
    assert listener.said[0].endswith("another version of mbsim: the search starts again")
    log.write_text("mine")
    with pytest.raises(InputOutputError, match="is not a log of mbsim fit"):
        mbsim.load(path).fit("all", log=log)


KILLED = """
import os, signal, sys
import mbsim_cli as mbsim

class Ends(mbsim.Listener):
    def say(self, sentence):
        if sentence.startswith(f"evaluation {sys.argv[3]}:"):
            os.kill(os.getpid(), signal.SIGKILL)

mbsim.load(sys.argv[1], listener=Ends()).fit("all", log=sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [2, 5])
def test_a_fit_that_the_system_kills_goes_on(tmp_path, monkeypatch, after):
    path, log = write(tmp_path), tmp_path / "log"
    runs = []
    recorded = mbsim.Model.recorded
    monkeypatch.setattr(mbsim.Model, "recorded", lambda *a, **k: (runs.append(1), recorded(*a, **k))[1])
    whole = mbsim.load(path).fit("all")
    needed = len(runs)
    words = [sys.executable, "-c", KILLED, str(path), str(log), str(after)]
    assert subprocess.run(words, cwd=ROOT, capture_output=True).returncode == -signal.SIGKILL
    runs.clear()
    listener = Ends(1000)
    again = mbsim.load(path, listener=listener).fit("all", log=log)
    assert f"{after} evaluations of an earlier search are read" in listener.said[0]
    assert again.values.tobytes() == whole.values.tobytes() and not log.exists()
    assert len(runs) == needed - 2 * (after - 1)  # of two measurements; the first evaluation tells what they cover


def test_too_few_evaluations_are_told(tmp_path):
    found = mbsim.load(write(tmp_path)).fit("all", evaluations=3)
    assert not found.report["fit"]["converged"] and found.estimate.evaluations == 3
    assert "the search has not converged: the limit of 3 evaluations is reached" in found.warnings[0]


def test_the_saved_model_has_the_estimates_and_all_else(tmp_path):
    text = TEXT.replace("c: {value: 0.5,", 'c: {value: "0.5",').replace("k: {value: 40,", "k: {value: 20 * 2,")
    model = mbsim.load(write(tmp_path, text), start=0.11)
    found = model.fit("all", evaluations=4)
    saved = found.save_model(tmp_path / "fitted.yaml")
    assert mbsim.load(saved).parameters == {**model.parameters, **found.parameters}
    before, after = text.splitlines(), saved.read_text().splitlines()
    changed = [line for line in range(len(before)) if before[line] != after[line]]
    assert len(before) == len(after) and len(changed) == 7  # six estimates, and a value that replaced another
    assert sum(line.endswith("# a guess") for line in after) == 1
    with pytest.raises(InputOutputError, match="exists"):
        found.save_model(saved)
    (tmp_path / "other").mkdir()
    with pytest.raises(mbsim.UsageError, match="names other files relative to its folder"):
        found.save_model(tmp_path / "other/fitted.yaml")


def test_a_saved_model_states_what_it_includes(tmp_path):
    """With sections of its own, in either style, and without."""
    write(tmp_path)
    (tmp_path / "base.yaml").write_text(TEXT)
    for number, own in enumerate(("", "parameters: {m: {value: 1.4}}\n", "parameters:\n  # own\n  m: 1.4\n")):
        path = tmp_path / f"top{number}.yaml"
        path.write_text(f"mbsim: 1\ninclude: [base.yaml]\n{own}")
        found = mbsim.load(path).fit("all", evaluations=2)
        saved = mbsim.load(found.save_model(tmp_path / f"saved{number}.yaml"))
        assert [saved.parameters[name] for name in found.names] == list(found.values)
        assert "# own" in (tmp_path / "saved2.yaml").read_text() if number == 2 else True


def test_aliases_are_not_rewritten(tmp_path):
    text = TEXT.replace("m: {value: 1.5,", "m: {value: &m 1.5,").replace("payload: 1.5", "payload: *m")
    found = mbsim.load(write(tmp_path, text)).fit("all", evaluations=1)
    with pytest.raises(mbsim.UsageError, match="the value of 'm' cannot be saved: it is an alias, or others are"):
        found.save_model(tmp_path / "fitted.yaml")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("parameters: [m, k, c]", "parameters: [m, kk]", r"parameters\[1\]: unknown parameter 'kk'"),
        ("parameters: [m, k, c]", "parameters: [m, m]", "'m' stands twice"),
        ("parameters: [m, k, c]", "parameters: []", "needs one parameter at least"),
        ("parameters: [m, k, c]", "parameters: [m, payload]", "every measurement states its own value of 'payload'"),
        ("parameters: [m, k, c]", "parameters: {m: {from: 2, to: 3}}", "the value 1.5 of 'm', where the search begins"),
        ("parameters: [m, k, c]", "parameters: [m]\n    loss_scale: 2", "give a robust loss beside loss_scale"),
        ("parameters: [m, k, c]", "parameters: [m]\n    tolerance: 0", "tolerance: must be greater than zero"),
        ("measurements: [light]", "measurements: [lite]", r"measurements\[0\]: unknown measurement 'lite'"),
        ("hold_out: [light]", "hold_out: [slow]", "'slow' is held out, and fitted to"),
        ("bounds: [0, 0.05], ", "", "'d0', the delay of column 'x_mm' of 'slow', has no bounds"),
        ("sigma: 1e-3}}\n  light", "sigma: 1e-3*m}}\n  light", "sigma of 'loaded' has the value of m"),
        ("sigma: 1e-3}}\n  light", "sigma: 0}}\n  light", "sigma: must be greater than zero, is 0"),
        ("sensor: guide.displacement", "sensor: guid.displacement", "unknown sensor or joint 'guid'; did you mean"),
        ("scale: 1000", "scale: 0", "scale: must not be zero"),
        ("payload: 1.5, start", "payloud: 1.5, start", "unknown parameter 'payloud'"),
        ("time: t, ", "time: t, between: [2, 1], ", "between: 1 is not after 2"),
        ("time: t, ", "time: t, delimiter: a, ", "delimiter: must be one character"),
        ("x_mm: {sensor", "t: {sensor", "column 't' holds the times"),
    ],
)
def test_what_is_stated_wrongly(tmp_path, old, new, sentence):
    assert old in TEXT
    with pytest.raises(mbsim.ModelError, match=sentence):
        mbsim.load(write(tmp_path, TEXT.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("time: t, ", "time: tt, ", r"measurements\.slow\.time: .*sledge_run1.csv has no column 'tt'"),
        ("x_mm: {sensor", "x_m: {sensor", r"has no column 'x_m'; did you mean 'x_mm'\?"),
        ("sensor: x.x, scale", "sensor: x.w, scale", "columns.x_mm.sensor: no history 'x.w'"),
        ("sensor: x.x, scale", "sensor: x, scale", r"'x' has 3 columns: x, y, z; one of them, as x\.x"),
        ("sledge_run2.csv", "sledge_run9.csv", "sledge_run9.csv"),
        ("duration: 3}", "duration: 2}", r"readings from 0 to 2.95 s lie outside of the run, .*between: \[0, 2\]"),
        ("time: t, ", "time: t, between: [5, 6], ", "has no readings within between"),
    ],
)
def test_what_does_not_fit_the_data(tmp_path, old, new, sentence):
    assert old in TEXT
    model = mbsim.load(write(tmp_path, TEXT.replace(old, new)))
    with pytest.raises(mbsim.MbsimError, match=sentence):
        model.fit("all")


def test_which_fit_is_meant(tmp_path):
    model = mbsim.load(write(tmp_path))
    with pytest.raises(mbsim.UsageError, match="name a fit: the model has all, lumped"):
        model.fit()
    with pytest.raises(mbsim.UsageError, match="unknown fit 'al': the model has all, lumped"):
        model.fit("al")
    with pytest.raises(mbsim.UsageError, match="begins with k = 2000, outside of its range 1 to 1000"):
        mbsim.load(tmp_path / "sledge.yaml", k=2000.0).fit("all")
    shutil.copy(ROOT / "models/fivebar.yaml", tmp_path)
    with pytest.raises(mbsim.UsageError, match="none: write one under fit"):
        mbsim.load(tmp_path / "fivebar.yaml").fit()


@pytest.mark.parametrize(
    ("analysis", "sentence"),
    [
        ("{formulation: ali3p-rtdyn1, step: 0.25, duration: 3}", "leave the motion of guide.displacement"),
        ("{formulation: recursive, integrator: dop853, step: 0.5, duration: 3}", "readings of loaded.x lie between"),
        ("{formulation: recursive, integrator: dop853, step: 0.1, duration: 3}", ""),
    ],
    ids=["of the motion", "of interpolation", "of none"],
)
def test_runs_that_are_too_coarse_for_the_readings_are_told(tmp_path, analysis, sentence):
    """Estimates take up the error, with standard errors as small as ever."""
    text = stating("{all: {measurements: [loaded], parameters: [k, c, x_2]}}")
    lines = [f"analysis: {analysis}" if line.startswith("analysis:") else line for line in text.splitlines()]
    found = mbsim.load(write(tmp_path, "\n".join(lines))).fit()
    said = [warning for warning in found.warnings if "try a" in warning]
    assert any(sentence in warning for warning in said) if sentence else not said


SWITCHED = """
mbsim: 1
gravity: [0, 0, 0]
parameters: {F: 2, T: 0.3}
bodies: {cart: {mass: 1}}
joints: {rail: {type: prismatic, bodies: [ground, cart], point: origin, axis: x}}
laws: {on: {type: spline, between: constant, times: [0, T, 2], values: [0, F, 0]}}
forces: {push: {type: drive, coordinate: rail.displacement, law: on}}
sensors:
  x: {type: coordinate, coordinate: rail.displacement}
  a: {type: coordinate, coordinate: rail.displacement, derivative: 2}
objectives: {soft: {maximum: a, sharpness: 0.1}}
analysis: {formulation: recursive, integrator: dop853, step: 0.05, duration: 1}
measurements: {lab: {file: lab.csv, columns: {x: {sensor: x, sigma: 1e-3}, a: {sensor: a, sigma: 0.1}}}}
fit: {all: {measurements: [lab], parameters: {F: {from: 1, to: 5}, T: {from: 0.1, to: 0.6}}}}
"""


def test_a_start_where_a_force_jumps_at_a_reading(tmp_path):
    """There the acceleration has no derivative by the time of the jump; other readings have. F is 3, T is 0.37."""
    time, F, T = np.arange(0.0, 1.001, 0.05), 3.0, 0.37
    rows = np.column_stack([time, 0.5 * F * np.maximum(time - T, 0.0) ** 2, F * (time > T)])
    np.savetxt(tmp_path / "lab.csv", rows, delimiter=",", header="time,x,a", comments="")
    (tmp_path / "model.yaml").write_text(SWITCHED)
    found = mbsim.load(tmp_path / "model.yaml").fit()
    np.testing.assert_allclose(found.values, [F, T], rtol=1e-8)
    assert not found.warnings  # none of the objective, which has no part in it


@pytest.mark.parametrize("objective", ["", "objectives: {mean: {mean: a}, then: {at: {time: 0.2, value: a}}}"])
def test_jumps_of_what_is_not_measured_are_not_told(tmp_path, objective):
    """Of the acceleration, at an output time and twice within an interval, where the displacement is measured."""
    time, T = np.arange(0.0, 1.001, 0.05), 0.4
    x = 1.5 * np.maximum(time - T, 0.0) ** 2 - 1.5 * np.maximum(time - T - 0.01, 0.0) ** 2
    np.savetxt(tmp_path / "lab.csv", np.column_stack([time, x]), delimiter=",", header="time,x", comments="")
    text = SWITCHED.replace("times: [0, T, 2], values: [0, F, 0]", "times: [0, T, T + 0.01, 2], values: [0, F, 0, 0]")
    text = text.replace(", a: {sensor: a, sigma: 0.1}", "").replace("sigma: 1e-3", "sigma: 1e-5")
    text = text.replace("objectives: {soft: {maximum: a, sharpness: 0.1}}", objective)
    (tmp_path / "model.yaml").write_text(text)
    found = mbsim.load(tmp_path / "model.yaml").fit()
    np.testing.assert_allclose(found.values, [3.0, T], rtol=1e-5)
    assert not found.warnings


@pytest.mark.parametrize(("step", "read"), [("auto", True), ("0.05", False)])
def test_fits_keep_the_objectives_that_choose_automatic_steps(tmp_path, step, read):
    """With an adaptive integrator there is no automatic step without an objective."""
    (tmp_path / "lab.csv").write_text("time,x,a\n0,0,0\n0.05,0,0\n")
    (tmp_path / "model.yaml").write_text(SWITCHED.replace("step: 0.05", f"step: {step}"))
    model = mbsim.load(tmp_path / "model.yaml")
    readings = Readings(model, measured_of(model.file, "lab"), ["F"], {})
    assert bool(readings.file.objectives) == read


def test_reactions_that_are_not_determined_are_refused(tmp_path):
    """Two hinges on one axis share the force along it in any way."""
    (tmp_path / "lab.csv").write_text("time,r\n0,1\n0.05,1\n")
    (tmp_path / "model.yaml").write_text("""
mbsim: 1
parameters: {m: {value: 1, bounds: [0.5, 3]}}
points: {P: {ground: [0, 0, 0], b: [0, 0, 0]}, Q: {ground: [1, 0, 0], b: [1, 0, 0]}}
bodies: {b: {mass: m, inertia: {xx: 0.1, yy: 0.1, zz: 0.1}}}
joints:
  P: {type: revolute, bodies: [ground, b], point: P, axis: x}
  Q: {type: revolute, bodies: [ground, b], point: Q, axis: x}
sensors: {R: {type: reaction, joint: P}}
measurements: {lab: {file: lab.csv, columns: {r: {sensor: R.force.x, sigma: 1}}}}
fit: {all: {measurements: [lab], parameters: [m]}}
analysis: {step: 0.01, duration: 0.1}
""")
    with pytest.raises(mbsim.ModelError, match=r"r\.sensor: 'R\.force\.x' has no value at 0 s, as reactions that"):
        mbsim.load(tmp_path / "model.yaml").fit()


ENDING = """\
mbsim: 1
parameters: {T: 0.05, F: 2}
bodies: {a: {mass: 1}}
joints: {x: {type: prismatic, bodies: [ground, a], point: origin, axis: x}}
forces: {F: {type: drive, coordinate: x.displacement, value: "if(t < T, F, 0)"}}
sensors: {x: {type: coordinate, coordinate: x.displacement}}
measurements: {one: {file: one.csv, time: t, columns: {x: {sensor: x}}}}
fit: {all: {measurements: [one], parameters: [T]}}
analysis: {step: 1e-2, duration: 0.1}
"""


@pytest.mark.interpreted
def test_derivatives_that_lack_a_jump_are_named_as_the_reason(tmp_path):
    """Steps of ALI3-P go across the jump at T; those of Runge-Kutta methods end there, and find T."""
    t, T, F = np.linspace(0.0, 0.1, 11), 0.0437, 2.0
    way = np.where(t < T, F * t**2 / 2.0, F * T**2 / 2.0 + F * T * (t - T))
    np.savetxt(tmp_path / "one.csv", np.column_stack([t, way]), delimiter=",", header="t,x", comments="")
    (tmp_path / "model.yaml").write_text(ENDING)
    model = mbsim.load(tmp_path / "model.yaml")
    told = r"depends on 'T', unless by a jump of a force, which .*; forces\.F\.value .* by -2; formulations of open"
    with pytest.raises(mbsim.ModelError, match=told):
        model.fit()
    (tmp_path / "model.yaml").write_text(ENDING.replace("{step", "{formulation: recursive, integrator: rk4, step"))
    found = mbsim.load(tmp_path / "model.yaml").fit()
    assert found.parameters["T"] == pytest.approx(T, rel=1e-9)
