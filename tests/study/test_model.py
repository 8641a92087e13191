"""The library: models run at any values, results in memory and from files, errors, threads."""

import pickle
import pydoc
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import xarray

import mbsim_cli as mbsim
from mbsim_cli import errors
from mbsim_cli.errors import AnalysisError, ModelError, UsageError
from mbsim_cli.solve.blocks import BrokenOff
from tests.cli.conftest import PENDULUM


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("library") / "pendulum.yaml"
    file.write_text(PENDULUM)
    return file


@pytest.fixture(scope="module")
def model(path):
    return mbsim.load(path)


def test_what_a_model_tells(model):
    assert model.parameters == {"L": 1.0, "k": 2.0}
    assert model.differentiated == ("L", "k") and model.objectives == ("swing",)


def test_a_run_is_that_of_the_command_to_the_last_bit(model, path, tmp_path):
    from mbsim_cli.study.assembling import Settings
    from mbsim_cli.study.listener import SILENT
    from mbsim_cli.study.recording import record

    file = tmp_path / "p.h5"
    report = record(path, file, Settings(overrides={"L": "0.9"}), command="mbsim", listener=SILENT, force=False)
    found, stored = model.run(L=0.9), mbsim.open(file)
    assert set(found) == set(stored) and len(found) == len(stored) > 10
    for name in found:
        assert np.array_equal(found[name], stored[name], equal_nan=True), name
        assert (found.unit(name), found.labels(name)) == (stored.unit(name), stored.labels(name))
    for result in (found, stored):
        swing = result.objectives["swing"]
        assert swing.value == report["objectives"]["swing"]["value"]
        assert dict(zip(swing.parameters, swing.gradient, strict=True)) == report["objectives"]["swing"]["gradient"]
        assert swing.by("L") == swing.gradient[0] and swing.unit == "rad^2 s"
        assert repr(result) == repr(found) and "d/d L = " in repr(found) and repr(found).count(" rad^2 s/m\n") == 1
        assert "<th>d/d L [m]</th>" in result._repr_html_()


def test_a_tree_of_arrays_is_that_of_the_file(model, path, tmp_path):
    from mbsim_cli.study.assembling import Settings
    from mbsim_cli.study.listener import SILENT
    from mbsim_cli.study.recording import record

    record(path, tmp_path / "p.h5", Settings(), command="mbsim", listener=SILENT, force=False)
    found, stored = model.run().to_xarray(), xarray.open_datatree(tmp_path / "p.h5", engine="h5netcdf")
    for place in ("sensors/angle", "sensitivity/coordinates/velocity"):
        told = found[place].attrs.items()
        assert found[place].equals(stored[place]) and told <= stored[place].attrs.items() and len(told) == 2
    stored.close()


def test_every_interval_is_kept_and_the_last_instant(path, tmp_path):
    file = tmp_path / "thin.yaml"
    file.write_text(PENDULUM.replace("step: 1e-2, duration: 0.5", "step: 1e-2, duration: 0.55, output_interval: 0.1"))
    assert mbsim.run(file).time == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55])


def test_value_and_gradient(model):
    value, gradient = model.value_and_gradient([0.9, 2.5])
    again = model.value_and_gradient({"k": 2.5, "L": 0.9}, "swing")
    run = model.run(L=0.9, k=2.5).objectives["swing"]
    assert value == again[0] == run.value and gradient.tolist() == again[1].tolist() == run.gradient.tolist()
    h = 1e-5
    differences = (model.value_and_gradient([0.9 + h, 2.5])[0] - model.value_and_gradient([0.9 - h, 2.5])[0]) / (2 * h)
    assert gradient[0] == pytest.approx(differences, rel=1e-8)
    assert model.run(sensitivity="none").objectives["swing"].gradient.size == 0


def test_other_values_are_judged_as_the_file_is(model):
    with pytest.raises(ModelError, match=r"pendulum.yaml:8:.*mass"):
        model.run(L=-1.0)
    with pytest.raises(UsageError, match="unknown parameter 'l'; did you mean 'L'"):
        model.run(l=1.0)
    with pytest.raises(UsageError, match="finite number"):
        model.run(L=float("nan"))
    assert model.parameters["L"] == 1.0 and repr(model.run(L=1.0)) == repr(model.run())


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda m: m.value_and_gradient([1.0]), r"rho has shape \(1,\), not \(2,\): L, k"),
        (lambda m: m.value_and_gradient(None, "other"), "unknown objective 'other': the model has swing"),
        (lambda m: m.run(sensitivity="none").objectives["swing"].by("L"), "no derivative by 'L'"),
        (lambda m: m.run(step=0.1, accuracy=1e-3), "accuracy is what step='auto' keeps to"),
        (lambda m: m.run(sensitivity="dmm"), "sensitivity 'dmm' is unknown; did you mean 'ddm'"),
        (lambda m: m.run(formulation="recursiv"), "formulation 'recursiv' is unknown; did you mean 'recursive'"),
        (lambda m: m.run(integrator="euler"), "integrator 'euler' is unknown; known: auto, dop853, esdirk, rk4"),
        (lambda m: m.run(step="fast"), "step must be a positive number of seconds, or auto, not 'fast'"),
        (lambda m: m.run(duration=-1), "duration must be a positive number of seconds, not -1"),
        (lambda m: m.run(step="auto", accuracy=2), "accuracy must be a number between 0 and 1, not 2"),
        (lambda m: m.run(L="1"), "parameter 'L' must be a finite number, not '1'"),
        (lambda m: m.run({"L": None}), "parameter 'L' must be a finite number, not None"),
        (lambda m: m.run(integratr="rk4"), "did you mean the option 'integrator'"),
        (lambda m: m.run(L=True), "parameter 'L' must be a finite number, not True"),
        (lambda m: m.run({1: 2.0}), "parameters go by their names, not by 1"),
        (lambda m: mbsim.load(m.path, by="L"), r"by must be a list of names, as \['L'\]"),
        (lambda m: m.kinematics([0.1], of="rod"), r"of must be a list of names, as \['rod'\]"),
        (lambda m: m.linearize("start", inputs="spring"), r"inputs must be a list of names, as \['spring'\]"),
        (lambda m: m.linearize("start", outputs=["a", "a"]), "outputs: 'a' stands twice"),
        (lambda m: mbsim.load(m.path, by=[1]), "by must be names of parameters, not 1"),
        (lambda m: mbsim.load(m.path, by=["L", "k", "L"]), "by: 'L' stands twice"),
        (lambda m: mbsim.load(m.path, parameters={"L": 1.0}, L=2.0), "the value of L is given twice"),
        (lambda m: mbsim.load(m.path, parameters=[1.0]), "parameters must be a mapping of names to numbers"),
        (lambda m: mbsim.load(m.path, by=["l"]), "by: unknown parameter 'l'; did you mean 'L'"),
        (lambda m: m.run([1.0]), r"rho has shape \(1,\), not \(2,\): L, k"),
        (lambda m: mbsim.load(m.path, L="1"), "parameter 'L' must be a finite number, not '1'"),
        (lambda m: m.run({"L": 1.0}, L=2.0), "the value of L is given twice"),
        (lambda m: m.value_and_gradient([1.0, 2.0], k=3.0), "the value of k is given twice"),
        (lambda m: m.value_and_gradient(sensitivity="none"), "a gradient takes a method"),
        (lambda m: mbsim.load(m.path, L=True), "parameter 'L' must be a finite number, not True"),
        (lambda m: mbsim.check(m.path, seed=-1), "seed must be a whole number, 0 at least, not -1"),
        (lambda m: mbsim.optimize(m.path, evaluations=2.5), "must be a whole number of analyses, 1 at least, not 2.5"),
        (lambda m: mbsim.check(m.path, sensitivity="none"), "gradients by ddm or adjoint are checked, not by 'none'"),
    ],
)
def test_calls_that_make_no_sense(model, call, sentence):
    with pytest.raises(UsageError, match=sentence):
        call(model)


def test_names_of_histories(model):
    result = model.run()
    assert "angle" in result and "sensors/angle" in result and "Angle" not in result
    for name, meant in (
        ("angel", "did you mean 'angle'"),
        ("A.angel", "did you mean 'A.angle'"),
        ("angle.degrees", "no history 'angle.degrees'"),
    ):
        assert name not in result
        with pytest.raises(KeyError, match=meant):
            result[name]
    assert {"angle", "sensors/angle", "energy"} & {*result._ipython_key_completions_()} == {"angle", "sensors/angle"}


SLIDING = (  # beside the pendulum, by a joint that the tree passes backwards: its coordinates are stored negated
    PENDULUM.replace("rod: [0, 0, 0]}}", "rod: [0, 0, 0], block: [0, 0, 0]}}")
    .replace("bodies: {rod", "bodies: {block: {shape: {type: rod, length: L, mass: 1}}, rod")
    .replace("joints: {", "joints: {B: {type: planar, bodies: [block, ground], point: O, axis: z, initial: START}, ")
    .replace("START", "{position: [L, 0]}")
)


def test_columns_have_names_units_and_derivatives(tmp_path):
    """Those that pictures take, of results in memory and in files."""
    from mbsim_cli.study.assembling import Settings
    from mbsim_cli.study.listener import SILENT
    from mbsim_cli.study.recording import record

    file = tmp_path / "sliding.yaml"
    file.write_text(SLIDING)
    record(file, tmp_path / "s.h5", Settings(), command="mbsim", listener=SILENT, force=False)
    for found in (mbsim.run(file), mbsim.open(tmp_path / "s.h5")):
        (stored,) = found.labels("coordinates/position").values()
        number = stored.index("-B.x")
        assert found["B.x"].tolist() == (-found["coordinates/position"][:, number]).tolist()
        assert found["B.x"][0] == 1.0 and abs(found["B.y.velocity"][-1]) > 4.0
        assert found["angle.value"].tolist() == found["A.angle"].tolist() == found["angle"].tolist()
        names = ("B.x", "B.x.velocity", "A.angle.acceleration", "angle.value")
        assert [found.unit(name) for name in names] == ["m", "m/s", "rad/s^2", "rad"]
        assert sorted(found.unit("coordinates/position").split(", ")) == ["m", "rad"]
        assert all(found.labels(name) == {} and name in found for name in names)
        assert found.sensitivity("B.x", "L")[0] == 1.0 and found.sensitivity("B.x").shape[1] == 2
        assert np.array_equal(found.sensitivity("angle", "k"), found["sensitivity/sensors/angle"][:, 0, 1])
        assert np.array_equal(found.sensitivity("angle.value"), found.sensitivity("angle"))
        with pytest.raises(UsageError, match="no derivative by 'l'; there are L, k"):
            found.sensitivity("angle", "l")
        with pytest.raises(UsageError, match="no derivatives of 'kinetic_energy' along time"):
            found.sensitivity("kinetic_energy")


def test_one_number_is_one_along_time_and_has_the_shape_of_the_file_by_its_path(model):
    found = model.run()
    n, p = len(found.time), len(model.differentiated)
    assert found["angle"].shape == found["A.angle"].shape == found["kinetic_energy"].shape == (n,)
    assert found["sensors/angle"].shape == (n, 1) and found.labels("angle") == {}
    assert found.sensitivity("angle").shape == (n, p) and found.sensitivity("sensors/angle").shape == (n, 1, p)
    assert found.sensitivity("angle", "L").shape == (n,) and found.unit("angle") == found.unit("sensors/angle") == "rad"
    assert {found[path].shape for path in found if path.startswith("sensors/")} == {(n, 1)}


def test_a_search_begins_where_the_file_does_and_keeps_to_its_bounds(path, tmp_path):
    file = tmp_path / "bounded.yaml"
    file.write_text(PENDULUM.replace("{value: 1.0, unit: m}", "{value: 1.0, unit: m, bounds: [0.5, 1.5]}"))
    model = mbsim.load(file)
    assert model.rho.tolist() == [1.0, 2.0] and model.bounds.tolist() == [[0.5, 1.5], [-np.inf, np.inf]]
    assert repr(model.run(model.rho)) == repr(model.run()) and repr(model.run([0.9, 2.5])) == repr(
        model.run(L=0.9, k=2.5)
    )


def test_gradients_by_chosen_parameters(model, path):
    chosen = mbsim.load(path, by=["k"])
    assert chosen.differentiated == ("k",) and chosen.rho.tolist() == [2.0] and chosen.parameters == model.parameters
    (value, gradient), (same, every) = chosen.value_and_gradient([2.5]), model.value_and_gradient({"k": 2.5})
    assert value == same and gradient == pytest.approx(every[1:], rel=1e-13)
    assert chosen.run().objectives["swing"].parameters == ("k",)
    assert chosen.run(sensitivity="none").objectives["swing"].parameters == ()
    assert pickle.loads(pickle.dumps(chosen)).differentiated == ("k",)
    assert mbsim.load(path, by=model.parameters).differentiated == ("L", "k")
    numbers = mbsim.load(path, all_numbers=True, by=["points.O.rod.x", "L"])
    assert numbers.value_and_gradient()[1][1] == pytest.approx(model.value_and_gradient()[1][0], rel=1e-12)


def test_threads_run_one_model_at_once(model):
    lengths = [0.8 + 0.05 * k for k in range(8)]
    one_by_one = [model.value_and_gradient({"L": length}) for length in lengths]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda length: model.value_and_gradient({"L": length}), lengths))
    assert [(value, gradient.tolist()) for value, gradient in together] == [
        (value, gradient.tolist()) for value, gradient in one_by_one
    ]


def test_models_results_and_errors_go_to_other_processes(path):
    model = mbsim.load(path, k=2.5)
    text = path.read_text()
    path.write_text(text.replace("L: {value: 1", "L: {value: 7"))  # what was read counts
    sent, found = pickle.loads(pickle.dumps(model)), model.run(L=0.9)
    path.write_text(text)
    again = pickle.loads(pickle.dumps(found))
    assert found in {found} and found != again  # a result is itself only: no array is compared
    assert sent.parameters == model.parameters == {"L": 1.0, "k": 2.5} and repr(sent) == repr(model)
    for other in (sent.run(L=0.9), again, pickle.loads(pickle.dumps(again))):
        assert repr(other) == repr(found) and list(other) == list(found)
        assert all(np.array_equal(other[name], found[name]) for name in found)
        assert [other.labels(name) for name in found] == [found.labels(name) for name in found]
    with pytest.raises(mbsim.ModelError) as invalid:
        model.run(L=-1.0)
    broken = BrokenOff("no convergence at t = 1 s", block=None)
    for error in (invalid.value, broken, AnalysisError("locks", (1.0, None, None)), UsageError("what")):
        other = pickle.loads(pickle.dumps(error))
        assert type(other) is type(error) and str(other) == str(error) and vars(other) == vars(error)


def test_what_is_offered_to_those_who_look(model):
    assert set(mbsim.__all__) <= set(dir(mbsim)) and all(getattr(mbsim, name) for name in mbsim.__all__)
    assert mbsim.MbsimError is errors.MbsimError and "Any" not in dir(mbsim)
    assert repr(model) == f"<mbsim model: Pendulum ({model.path}); 2 parameters, objectives: swing>"
    assert (Path(mbsim.__file__).parent / "py.typed").is_file()  # annotations count for type checkers


def test_help_describes_each_name_and_shows_no_addresses():
    """As a default that is an object would."""
    for name in mbsim.__all__:
        assert getattr(mbsim, name).__doc__, name
        assert " at 0x" not in pydoc.plain(pydoc.render_doc(getattr(mbsim, name))), name


def test_check(path):
    rows = mbsim.check(path, step=0.005)
    assert {row.kind for row in rows} == {"structure", "numerical"} and all(row.passed for row in rows)


def test_a_listener_follows_and_ends_a_run(path):
    class Impatient(mbsim.Listener):
        seen = ()

        @contextmanager
        def progress(self, title, total):
            self.seen += ((title, total),)
            yield lambda done: None

        def poll(self):
            raise mbsim.Interrupted("enough")

    listener = Impatient()
    with pytest.raises(mbsim.Interrupted, match="enough"):
        mbsim.load(path, listener=listener).run()
    assert listener.seen == (("solving", 0.5),)


def test_failures_are_exceptions(tmp_path):
    file = tmp_path / "m.yaml"
    file.write_text(PENDULUM.replace("integral: angle**2", "integral: sqrt(angle - 100)"))
    with pytest.raises(AnalysisError, match=r"not a finite number; .* root or logarithm below zero"):
        mbsim.run(file)


def test_nothing_is_imported_before_it_is_used():
    import subprocess
    import sys

    code = "import sys, mbsim_cli as mbsim; mbsim.__version__; print('numpy' in sys.modules, 'pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_a_parameter_named_like_an_option_goes_into_a_mapping(model, tmp_path):
    """What could be the parameter or the option is neither."""
    file = tmp_path / "named.yaml"
    file.write_text(PENDULUM.replace("  k: {", "  duration: {").replace("stiffness: k", "stiffness: duration"))
    named, expected = mbsim.load(file), model.run(k=3.0).objectives["swing"].value
    assert mbsim.load(file, duration=3.0).parameters["duration"] == 3.0
    assert mbsim.load(file, parameters={"duration": 3.0}).parameters["duration"] == 3.0
    given = {"parameters": {"duration": 3.0}}
    assert named.run(**given).objectives["swing"].value == expected
    assert mbsim.run(file, **given).objectives["swing"].value == expected
    assert named.value_and_gradient(**given)[0] == expected
    shorter = model.run(k=3.0, duration=0.4).objectives["swing"].value
    assert named.run(**given, duration=0.4).objectives["swing"].value == shorter != expected
    assert mbsim.run(file, **given, duration=0.4).objectives["swing"].value == shorter
    calls = (
        named.run, named.value_and_gradient, named.hessian, named.sweep, named.plan,
        lambda **options: named.residuals({"angle": np.zeros(51)}, **options),
        *(lambda call=call, **options: call(file, **options) for call in (mbsim.run, mbsim.check, mbsim.sweep)),
        lambda **options: mbsim.optimize(file, **options),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(UsageError, match=r"'duration' is an option and a parameter.*parameters=\{'duration'"):
            call(duration=0.4)
    with pytest.raises(UsageError, match="L is given twice, in parameters and as a keyword"):
        named.run(L=1.0, parameters={"L": 1.0})
    with pytest.raises(UsageError, match="parameters must be a mapping"):
        named.run(parameters=3.0)


@pytest.mark.parametrize("beyond", [{"duration": 0.2}, {"parameters": {"T": 0.6}}])
def test_a_value_at_a_time_that_the_run_does_not_reach_is_refused(beyond):
    text = PENDULUM.replace("parameters:\n", "parameters:\n  T: 0.3\n")
    model = mbsim.loads(text.replace("objectives: {", "objectives: {then: {at: {time: T, value: angle}}, "))
    with pytest.raises(ModelError, match=r"objectives.then.at.time: 0.[36] s lies outside of the analysis"):
        model.run(sensitivity="none", **beyond)


def test_a_value_at_the_end_may_be_off_by_round_off():
    text = PENDULUM.replace("parameters:\n", "parameters:\n  T: 0.1 + 0.2\n")
    model = mbsim.loads(text.replace("objectives: {", "objectives: {then: {at: {time: T, value: angle}}, "))
    result = model.run(sensitivity="none", duration=0.3)
    assert result.objectives["then"].value == pytest.approx(result["angle"][-1], rel=1e-12)
