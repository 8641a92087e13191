"""Studies from Python: the rows and folders of ``mbsim sweep``, as arrays."""

import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pandas
import pytest
import xarray

import mbsim_cli as mbsim
from mbsim_cli.cli.outcome import call
from mbsim_cli.study.sweep.study_folder import StudyFolder
from tests.cli.conftest import PENDULUM, environment

STUDY = "study: {lengths: {grid: {L: {from: 0.8, to: 1.2, count: 3}, k: [1, 2]}}}\n"
MODEL = PENDULUM + STUDY
LENGTHS = {"zip": {"L": np.linspace(0.8, 1.2, 5), "k": np.full(5, 1.5)}}


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.yaml").write_text(MODEL)
    return tmp_path / "m.yaml"


@pytest.mark.parametrize("workers", [1, 2])
def test_rows_are_those_of_the_command_and_either_goes_on_with_the_other(path, workers):
    found = mbsim.sweep("m.yaml", workers=workers, keep="sensors", step=0.02)
    assert str(found.folder) == "m-lengths" and found.report["computed"] == 6
    command = ["sweep", "m.yaml", "lengths", "--keep", "sensors", "--step", "0.02", "--quiet"]
    assert call([*command, "-o", "other"]) == 0
    ours, theirs = (StudyFolder(path.parent / name).plan() for name in ("m-lengths", "other"))
    assert ours.content == theirs.content and ours.samples == theirs.samples
    stored = mbsim.open_study("other")
    for name in ("design", "results", "gradients", "status"):
        assert np.array_equal(getattr(found, name), getattr(stored, name)), name
    assert list(found) == list(stored) == ["L", "k", "swing", "time", "angle"] and len(found) == 5
    for name in found:
        assert np.array_equal(found[name], stored[name]) and found.unit(name) == stored.unit(name)
    assert mbsim.sweep("m.yaml", None, "other", keep="sensors", step=0.02).report["computed"] == 0
    assert found["angle"].shape == (6, len(found["time"])) and found.to_xarray()["sensors/angle"].shape[2] == 1
    assert call([*command, "-o", "m-lengths"]) == 0
    assert mbsim.open_study("m-lengths").report["done"] == 6


def test_what_a_study_tells(path):
    model = mbsim.load(path)
    study = model.sweep(LENGTHS, "s", step=0.02)
    assert study.varied == ("L", "k") and study.objectives == ("swing",) and study.parameters == ("L", "k")
    assert study["L"].tolist() == LENGTHS["zip"]["L"].tolist() and "psi" not in study and "swing" in study
    alone = model.run(L=1.1, k=1.5, step=0.02).objectives["swing"]
    case = int(np.flatnonzero(study["L"] == 1.1)[0])
    assert study["swing"][case] == alone.value
    assert study.sensitivity("swing")[case].tolist() == alone.gradient.tolist()
    assert study.sensitivity("swing", "k")[case] == alone.by("k") and (study.seconds > 0.0).all()
    assert repr(study).splitlines()[:2] == ["<mbsim study in s: 5 cases, 5 done>", "  L: 0.8 to 1.2 m"]
    sent = pickle.loads(pickle.dumps(study))
    assert repr(sent) == repr(study) and sent != study and {sent, study}
    assert study._ipython_key_completions_() == ["L", "k", "swing"]
    with pytest.raises(KeyError, match="did you mean 'swing'"):
        study["swign"]
    with pytest.raises(mbsim.UsageError, match="no derivative by 'm'; there are L, k"):
        study.sensitivity("swing", "m")
    with pytest.raises(mbsim.UsageError, match="no objective 'L'"):
        study.sensitivity("L")


@pytest.mark.parametrize("varied", [False, True], ids=["the same instants", "different instants"])
def test_tables_and_trees_are_those_of_the_files(path, varied):
    path.write_text(MODEL.replace("duration: 0.5", "duration: 0.5*L") if varied else MODEL)
    study = mbsim.sweep(path, {"list": [{"L": 1.0}, {"L": 0.9}, {"L": -1.0}], "keep": "sensors"}, "s", step=0.05)
    assert call(["sweep", "collect", "s", "--to", "csv", "--quiet"]) == 0
    table = pandas.read_csv("s/study.csv", index_col="case")
    pandas.testing.assert_frame_equal(
        study.to_pandas().drop(columns="reason"), table.drop(columns="reason"), check_dtype=False
    )
    assert study["time"].ndim == (2 if varied else 1)
    with xarray.open_datatree("s/study.h5", engine="h5netcdf") as stored:
        tree = study.to_xarray()
        assert set(tree.variables) == set(stored.variables) and set(tree.children) | {"meta"} == set(stored.children)
        for place in (".", "sensors"):
            for name, variable in tree[place].data_vars.items():
                xarray.testing.assert_equal(variable, stored[place][name].astype(variable.dtype))
                assert variable.attrs.items() <= stored[place][name].attrs.items()


def test_gradients_by_chosen_parameters(path):
    study = mbsim.load(path, by=["k"]).sweep(LENGTHS, "s", step=0.05, workers=2)
    assert study.parameters == ("k",) and study.gradients.shape == (5, 1, 1)
    every = mbsim.sweep(path, LENGTHS, "t", step=0.05)
    assert study.sensitivity("swing", "k") == pytest.approx(every.sensitivity("swing", "k"), rel=1e-12)
    assert StudyFolder(study.folder).plan().content != StudyFolder(every.folder).plan().content
    bare = mbsim.sweep(path, LENGTHS, "u", step=0.05, sensitivity="none")
    assert bare.parameters == () and bare.gradients.shape == (5, 1, 0)
    assert bare["swing"] == pytest.approx(every["swing"], rel=1e-12)


def test_a_case_that_fails_is_a_row(path):
    study = mbsim.sweep(path, {"list": [{"L": 1.0}, {"L": -1.0}]}, "s")
    assert study.status.tolist() == [0, 3] and np.isnan(study["swing"][1]) and "mass" in study.reasons[1]
    assert repr(study).startswith("<mbsim study in s: 2 cases, 1 done, 1 failed>")
    with pytest.raises(mbsim.AnalysisError, match="a case failed, and the study was to end then"):
        mbsim.sweep(path, {"list": [{"L": 1.0}, {"L": -1.0}]}, "t", max_failures=0)


def test_results_of_cases(path):
    study = mbsim.sweep(path, {"grid": {"L": [0.9, 1.1]}}, "s", keep="full")
    result = study.extract(1)
    assert (path.parent / "s" / "case-1.h5").is_file()
    assert result.objectives["swing"].value == study["swing"][1] == mbsim.run(path, L=1.1).objectives["swing"].value


def test_a_study_is_planned_foretold_and_computed_in_parts(path):
    model = mbsim.load(path)
    planned = model.plan(folder="s", keep="sensors", step=0.05)
    assert planned.report["missing"] == 6 and (planned.status == -1).all() and np.isnan(planned["swing"]).all()
    foretold = planned.forecast()
    assert foretold.cases == foretold.pilots == 6 and foretold.workers == 1
    low, high = foretold.between
    assert 0.0 < low <= foretold.seconds <= high and foretold.bytes > 0 and foretold.processor_hours > 0.0
    assert mbsim.open_study("s").report["missing"] == 6  # no row of a pilot is kept
    first = planned.compute(shard=(1, 2))
    assert first.status.tolist() == [0, -1] * 3 and planned.report["missing"] == 6
    second = mbsim.open_study("s").compute(2, shard=(2, 2))
    assert second.report["done"] == 6 and (path.parent / "s" / "study.h5").is_file()
    whole = model.sweep(folder="t", keep="sensors", step=0.05)
    assert np.array_equal(second.results, whole.results) and np.array_equal(second["angle"], whole["angle"])
    assert second.forecast().cases == 0 and second.compute().report["computed"] == 0


def test_what_failed_is_computed_again_if_so_wanted(path):
    study = mbsim.sweep(path, {"list": [{"L": 1.0}, {"L": -1.0}]}, "s", step=0.05)
    assert study.compute().report["computed"] == 0
    again = study.compute(failed=True)
    assert again.report["computed"] == 1 and again.status.tolist() == [0, 3]
    with pytest.raises(mbsim.AnalysisError, match="a case failed, and the study was to end then"):
        study.compute(failed=True, max_failures=0)


def test_a_cluster_computes_what_is_missing(path):
    distributed = pytest.importorskip("distributed")
    planned = mbsim.load(path).plan(LENGTHS, "s", step=0.05)
    here = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**here) as cluster, distributed.Client(cluster) as client:
        study = planned.compute(dask=client)
        assert planned.compute(dask=client.scheduler.address).report["computed"] == 0
        assert client.status == "running"
    assert np.array_equal(study.results, mbsim.sweep(path, LENGTHS, "t", step=0.05).results)


SCRIPT = """\
import mbsim_cli as mbsim

print(mbsim.sweep("m.yaml", folder="s", workers=2, step=0.05))
"""


def test_a_script_needs_no_guard(path):
    (path.parent / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], env=environment(), capture_output=True, text=True)
    assert done.stdout.count("<mbsim study in s: 6 cases, 6 done>") == 1 and not done.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_control_c_leaves_whole_rows(path, workers):
    class Pressing(mbsim.Listener):
        @contextmanager
        def progress(self, title, total):
            yield lambda done: os.kill(os.getpid(), signal.SIGINT) if (title, done) == ("computing", 2) else None

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as stopped:
            mbsim.sweep(path, None, "s", workers=workers, listener=Pressing(), step=0.05)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped.value.__notes__ == ["computed cases are kept in s; the same call continues"]
    there = mbsim.open_study("s")
    assert there.report["done"] == 2 and there.report["missing"] == 4 and "2 done, 4 missing" in repr(there)
    assert mbsim.sweep(path, None, "s", workers=workers, step=0.05).report["computed"] == 4


def test_threads_compute_studies_at_once(path):
    model = mbsim.load(path)
    with ThreadPoolExecutor(2) as threads:
        studies = list(threads.map(lambda n: model.sweep(LENGTHS, f"s{n}", workers=n, step=0.05), (1, 2)))
    assert np.array_equal(studies[0].results, studies[1].results) and np.isfinite(studies[0].results).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda model: model.sweep("length"), "unknown study 'length': the model has lengths"),
        (lambda model: model.sweep({"zip": {"L": [1, 2], "k": np.ones(3)}}), "3 values beside the 2 of 'L'"),
        (lambda model: model.sweep({"L": [1, 2]}), "a study states its cases under grid, zip, list"),
        (lambda model: model.sweep({"grid": {"L": [1]}, "kep": "full"}), "unknown key 'kep'"),
        (lambda model: model.sweep({"grid": {"L": [np.nan]}}), "finite"),
        (lambda model: model.sweep(workers=-1), "workers must be a whole number"),
        (lambda model: model.sweep(workers=1.5), "workers must be a whole number"),
        (lambda model: model.sweep(case_timeout=0), "case_timeout must be a positive number"),
        (lambda model: model.sweep(max_failures=-1), "max_failures must be a whole number, not -1"),
        (lambda model: model.sweep(keep="all"), "keep must be one of objectives, sensors, full"),
        (lambda model: model.sweep(sensitivity="adjoint"), "a study differentiates by ddm"),
        (lambda model: model.sweep(step="auto"), "one step for all cases"),
        (lambda model: model.sweep(accuracy=1e-3), "accuracy"),
        (lambda model: model.sweep(memory=1e9), "memory"),
        (lambda model: model.sweep(L=0.9), "'L' varies in the study"),
        (lambda model: mbsim.load(model.path, all_numbers=True).sweep(), "without all_numbers"),
    ],
)
def test_studies_that_make_no_sense(path, call, sentence):
    with pytest.raises(mbsim.UsageError, match=sentence):
        call(mbsim.load(path))
    assert not list(path.parent.glob("*/"))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"shard": (0, 2)}, r"shard must be \(I, N\) with I from 1 to N, not \(0, 2\)"),
        ({"shard": (3, 2)}, r"not \(3, 2\)"),
        ({"shard": "1/2"}, r"not '1/2'"),
        ({"shard": 2}, "not 2"),
        ({"retry": 1.5}, "retry must be a whole number, not 1.5"),
        ({"retry": None}, "retry must be a whole number, not None"),
        ({"dask": "tcp://127.0.0.1:1", "workers": 2}, "leave them out beside dask"),
        ({"dask": "tcp://127.0.0.1:1", "case_timeout": 2}, "leave them out beside dask"),
    ],
)
def test_cases_cannot_be_computed_so(path, given, sentence):
    planned = mbsim.load(path).plan(folder="s")
    with pytest.raises(mbsim.UsageError, match=sentence):
        planned.compute(**given)


def test_a_folder_of_another_study_is_refused_unless_it_may_go(path):
    mbsim.sweep(path, LENGTHS, "s", step=0.05)
    with pytest.raises(
        mbsim.UsageError, match=r"in s was planned; .* mbsim.open_study\('s'\).compute\(\), or .* force=True"
    ):
        mbsim.sweep(path, LENGTHS, "s", step=0.1)
    assert mbsim.sweep(path, LENGTHS, "s", step=0.1, force=True).report["computed"] == 5
    with pytest.raises(mbsim.InputOutputError, match="holds no study"):
        mbsim.open_study(path.parent)
