"""``mbsim sweep``: the cases that were asked for, with the numbers that single runs give, whoever computes them."""

import csv
import io
import json
import shutil
import subprocess
from importlib.util import find_spec

import h5py
import numpy as np
import pytest
import xarray

import mbsim_cli
from mbsim_cli.cli.sweep import _work as work_of
from mbsim_cli.system import usable

from .conftest import PENDULUM, environment

STUDIES = """\
study:
  cloud:
    sobol: {parameters: {L: {from: 0.5, to: 2}, k: {from: 1, to: 10, scale: log}}, count: 6, seed: 1}
    keep: sensors
  corners: {grid: {L: [0.5, 1], k: [1, 2, 3]}, sensitivity: none}
  odd: {list: [{L: 1}, {L: -1}, {k: 1e300}, {k: 3}]}
"""


WITHOUT_OBJECTIVES = "".join(line for line in PENDULUM.splitlines(True) if not line.startswith("objectives"))


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_text(PENDULUM + STUDIES)
    return path


def opened(path):
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        return data.load()


def test_cases_are_what_single_runs_compute(mbsim, model, tmp_path):
    done = mbsim("sweep", model, "cloud", "-o", "st")
    assert done.code == 0 and "6 cases: 6 done" in done.out and done.err == ""
    data = opened(tmp_path / "st" / "study.h5")
    assert list(data.varied.values) == ["L", "k"] and (data.status == 0).all()
    with h5py.File(tmp_path / "st" / "study.h5") as file:
        angle = file["sensors/angle"][:]
        assert file["sensors/angle"].attrs["unit"] == "rad" and len(file["time"]) == 51
    for case in (0, 5):
        values = [f"{name}={value!r}" for name, value in zip("Lk", data.design.values[case].tolist(), strict=True)]
        run = mbsim("run", model, "-p", values[0], "-p", values[1], "--json").json["objectives"]["swing"]
        np.testing.assert_allclose(data.result.sel(case=case, objective="swing"), run["value"], rtol=1e-12)
        for name in "Lk":
            found = data.gradient.sel(case=case, objective="swing", parameter=name)
            np.testing.assert_allclose(found, run["gradient"][name], rtol=1e-10)
        with h5py.File(tmp_path / "m.h5") as file:
            np.testing.assert_allclose(file["sensors/angle"][:], angle[case], rtol=1e-10, atol=1e-12)
    assert data.gradient_unit.sel(objective="swing", parameter="k").item() == "rad^2 s/(N m/rad)"
    assert len(list((tmp_path / "st").iterdir())) == 5
    assert "fewer than 16 cases determine none" in done.out
    assert "is the collected study of mbsim sweep" in mbsim("inspect", "st/study.h5").err


def test_the_same_command_runs_what_is_missing(mbsim, model, tmp_path):
    first = mbsim("sweep", model, "corners", "-o", "whole", "--json").json
    assert (first["computed"], first["missing"], first["done"]) == (6, 0, 6)
    for index in (2, 1):
        done = mbsim("sweep", model, "corners", "-o", "parts", "--shard", f"{index}/2", "--json").json
        assert done["computed"] == 3 and bool(done["collected"]) == (index == 1)
    again = mbsim("sweep", "parts", "--json").json
    assert again["computed"] == 0 and again["objectives"] == first["objectives"]
    a, b = (opened(tmp_path / name / "study.h5") for name in ("whole", "parts"))
    assert a.result.values.tobytes() == b.result.values.tobytes() and "gradient" not in a


def test_processes_give_the_same_bits(mbsim, model, tmp_path):
    mbsim("sweep", model, "cloud", "-o", "one")
    done = mbsim("sweep", model, "cloud", "-o", "two", "-j", "2", "--case-timeout", "60")
    assert done.code == 0, done.err
    for name in ("design", "result", "gradient", "sensors/angle"):
        with h5py.File(tmp_path / "one" / "study.h5") as one, h5py.File(tmp_path / "two" / "study.h5") as two:
            assert one[name][:].tobytes() == two[name][:].tobytes()


def test_more_workers_than_processors_are_warned_of(capsys):
    for workers in (0, 1, usable(), usable() + 1):
        assert not capsys.readouterr().err
        assert work_of(workers, None, None, None, None, False).workers == (workers or usable())
    assert f"warning: {usable() + 1} workers for {usable()} processors" in capsys.readouterr().err


def test_failures_are_rows_with_commands(mbsim, model, tmp_path):
    report = mbsim("sweep", model, "odd", "-o", "st", "--json").json
    assert report["failed"] == {"model invalid": 1, "analysis failed": 1} and report["done"] == 2
    first, second = report["failures"]
    assert "mass: must not be negative" in first["reason"] and first["status"] == 3
    assert first["command"] == f"mbsim run {model} -p L=-1.0 -p k=2.0 --sensitivity ddm"
    for failure in (first, second):
        assert mbsim(*failure["command"].split()[1:]).code == failure["status"]
    status = mbsim("sweep", "status", "st", "--json").json
    assert status["failures"] == report["failures"] and status["missing"] == 0
    assert mbsim("sweep", "retry", "st", "--json").json["computed"] == 2
    people = mbsim("sweep", "status", "st")
    assert "4 cases: 2 done, 1 model invalid, 1 analysis failed" in people.out and second["command"] in people.out
    data = opened(tmp_path / "st" / "study.h5")
    assert data.status.values.tolist() == [0, 3, 4, 0] and np.isnan(data.result.values[1:3]).all()
    assert data.reason.values[2] == second["reason"]


def test_failures_may_end_the_study(mbsim, model):
    assert mbsim("sweep", model, "odd", "-o", "st", "--fail-fast").code == 4
    assert mbsim("sweep", "status", "st", "--json").json["missing"] == 2


def test_a_changed_model_is_refused_and_a_changed_comment_is_not(mbsim, model):
    arguments = ("sweep", model, "corners", "-o", "st")
    assert mbsim(*arguments).code == 0
    text = model.read_text()
    model.write_text(
        "# a comment\n" + text.replace("name: Pendulum", "name: Other").replace("[1, 2, 3]", "[1, 2, 3, 4]")
    )
    done = mbsim(*arguments)
    assert done.code == 2 and "do not begin with the 6" in done.err  # k runs fastest
    model.write_text("# a comment\n" + text.replace("L: [0.5, 1]", "L: [0.5, 1, 2]"))
    assert mbsim(*arguments, "--json").json["computed"] == 3
    model.write_text(text.replace("damping: 0.1", "damping: 0.2"))
    done = mbsim(*arguments)
    assert done.code == 2 and "the model, or an option of its analysis, has changed" in done.err
    assert mbsim("sweep", "st", "--json").json["computed"] == 0  # as planned
    assert mbsim(*arguments, "--force", "--json").json["computed"] == 6
    assert mbsim(*arguments, "--step", "2e-2").code == 2


def test_a_sample_is_extended_by_set(mbsim, model):
    shorter = ("sweep", model, "cloud", "-o", "s", "--set", "study.cloud.sobol.count=4")
    assert mbsim(*shorter, "--json").json["cases"] == 4
    extended = mbsim("sweep", model, "cloud", "-o", "s", "--set", "study.cloud.sobol.count=8", "--json").json
    assert extended["cases"] == extended["done"] == 8
    other = mbsim("sweep", model, "cloud", "-o", "s", "--set", "analysis.step=0.02")
    assert other.code == 2 and "has changed" in other.err


def test_files_of_an_included_file_lie_beside_it(mbsim, tmp_path):
    (tmp_path / "sub").mkdir()
    sections = """\
study: {cases: {csv: {file: cases.csv}}}
measurements: {run: {file: run.csv, columns: {q: {sensor: A.angle}}}}
fit: {all: {measurements: [run], parameters: [k]}}
"""
    (tmp_path / "sub/model.yaml").write_text(PENDULUM + sections)
    (tmp_path / "sub/cases.csv").write_text("k\n1\n2\n")
    (tmp_path / "sub/run.csv").write_text("time,q\n0.1,-0.5\n0.3,-0.6\n")
    (tmp_path / "over.yaml").write_text("mbsim: 1\ninclude: [sub/model.yaml]\n")
    done = mbsim("validate", "over.yaml")
    assert done.code == 0, done.err
    assert mbsim("sweep", "over.yaml", "cases", "-o", "s", "--json").json["done"] == 2
    assert mbsim("fit", "over.yaml", "--json").json["fit"]["readings"] == 2


def test_cases_of_the_command_line(mbsim, pendulum, tmp_path):
    (tmp_path / "cases.csv").write_text("k,L\n2,1\n3,1.5\n")
    done = mbsim("sweep", pendulum, "--csv", "cases.csv", "-o", "a", "--keep", "objectives", "--json")
    assert done.json["done"] == 2
    grid = ("--grid", "L=1:4:3:log", "--grid", "k=2*L,3")
    assert mbsim("sweep", pendulum, *grid, "-o", "b", "-p", "L=1", "--dry-run").code == 2  # -p of what varies
    forecast = mbsim("sweep", pendulum, *grid, "-o", "b", "--dry-run", "--json").json
    assert forecast["cases"] == 6 and forecast["pilots"] == 6 and forecast["seconds"] > 0
    assert mbsim("sweep", "status", "b", "--json").json["missing"] == 6
    for option, value in (("--sensitivity", "none"), ("--duration", "0"), ("--step", "")):  # it is planned
        assert mbsim("sweep", "b", option, value).code == 2
    assert mbsim("sweep", "b", "--json").json["done"] == 6
    foreseen = mbsim("sweep", "b", "--dry-run", "--json")
    assert foreseen.code == 0 and foreseen.json["cases"] == foreseen.json["seconds"] == 0
    assert "nothing is left to compute" in mbsim("sweep", "b", "--dry-run").out
    assert mbsim("sweep", "collect", "b", "--to", "csv").code == 0
    able = find_spec("pyarrow") is not None
    parquet = mbsim("sweep", "collect", "b", "--to", "parquet")
    assert parquet.code == 0 if able else parquet.code == 2 and "needs pyarrow" in parquet.err
    with (tmp_path / "b" / "study.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["L"], row["k"]) for row in rows][:3] == [("1.0", "2.0"), ("1.0", "3.0"), ("2.0", "2.0")]
    data = opened(tmp_path / "b" / "study.h5")
    assert [float(row["d swing / d k"]) for row in rows] == data.gradient.values[:, 0, 1].tolist()


def test_sensors_alone_are_kept(mbsim, model, tmp_path):
    still = tmp_path / "still.yaml"
    still.write_text(WITHOUT_OBJECTIVES)
    for arguments in ((still, "--grid", "L=1,2", "--keep", "sensors"), (still, "--grid", "L=1,2", "--keep", "full")):
        done = mbsim("sweep", *arguments, "-o", arguments[-1], "--json")
        assert done.code == 0 and done.json["done"] == 2 and done.json["objectives"] == {}, done.err
    text = model.read_text() + "  angles: {grid: {L: [1, 2]}, keep: [angle]}\n"
    model.write_text(text)
    assert mbsim("sweep", model, "angles", "-o", "named").code == 0
    for folder in ("sensors", "named"):
        with h5py.File(tmp_path / folder / "study.h5") as file:
            assert file["sensors/angle"].shape[:2] == (2, 51) and "result" not in file
    assert mbsim("sweep", "extract", "full", "1").code == 0


def test_where_the_result_of_a_case_goes(mbsim, model, tmp_path):
    mbsim("sweep", model, "--grid", "L=1,1.5", "-o", "st", "--keep", "full")
    (tmp_path / "notes.txt").write_text("mine")
    for arguments, sentence in (
        (("-o", "/"), "/ is a folder; name a file, such as /result.h5"),
        (("-o", "notes.txt"), "notes.txt exists and is not an mbsim result; --force overwrites it"),
        (("-o", "st/shard-1-of-1.rows", "--force"), "st/shard-1-of-1.rows is a part of the study"),
        (("-o", "st/plan.json", "--force"), "st/plan.json is a part of the study"),
    ):
        done = mbsim("sweep", "extract", "st", "1", *arguments)
        assert done.code == 5 and sentence in done.err
    done = mbsim("sweep", "extract", "st", "1", "-o", "case.csv")
    assert done.code == 2 and "case.csv: a result is HDF5, as case.h5" in done.err
    assert mbsim("sweep", "extract", "st", "1", "-o", "notes.txt", "--force").code == 0
    assert mbsim("sweep", "extract", "st", "1").code == mbsim("sweep", "extract", "st", "1").code == 0
    assert mbsim("sweep", "status", "st", "--json").json["done"] == 2


def test_results_of_cases(mbsim, model, tmp_path):
    mbsim("sweep", model, "--grid", "L=1,1.5", "-o", "st", "--keep", "full")
    assert mbsim("sweep", "extract", "st", "1", "-o", "case.h5").code == 0
    assert mbsim("run", model, "-p", "L=1.5", "-o", "run.h5").code == 0
    with h5py.File(tmp_path / "case.h5") as case, h5py.File(tmp_path / "run.h5") as run:
        assert case.attrs["command"] == f"mbsim run {model} -p L=1.5 --sensitivity ddm"
        assert case["meta/parameters/L"][()] == run["meta/parameters/L"][()] == b"1.5"
        for name in ("time", "sensors/angle", "objectives/swing/gradient", "sensitivity/sensors/angle"):
            assert case[name][()].tobytes() == run[name][()].tobytes()
    done = mbsim("sweep", "extract", "st", "2")
    assert done.code == 2 and "has no result of case 2" in done.err
    mbsim("sweep", model, "corners", "-o", "rows")
    assert mbsim("sweep", "extract", "rows", "1").code == 2


def test_job_scripts_compute_all_shards(mbsim, model, tmp_path):
    mbsim("sweep", model, "corners", "-o", "whole")
    mbsim("sweep", model, "corners", "-o", "st", "--dry-run")
    assert mbsim("sweep", "script", "st", "--slurm", "--shards", "2", "-j", "1").code == 0
    text = (tmp_path / "st" / "job.sh").read_text()
    assert "#SBATCH --array=1-2\n" in text and "#SBATCH --time=0:1" in text  # ten minutes at least
    for task in "12":
        array = {"SLURM_ARRAY_TASK_ID": task, "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_ARRAY_TASK_MIN": "1"}
        done = subprocess.run(["bash", tmp_path / "st" / "job.sh"], env=environment(**array), capture_output=True)
        assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "st").glob("*.rows")} == {"shard-1-of-2.rows", "shard-2-of-2.rows"}
    whole, parts = (opened(tmp_path / name / "study.h5") for name in ("whole", "st"))
    assert whole.result.values.tobytes() == parts.result.values.tobytes()
    alone = subprocess.run(["bash", tmp_path / "st" / "job.sh"], env=environment(), capture_output=True, text=True)
    assert alone.returncode and "SLURM_ARRAY_TASK_ID: is set by sbatch" in alone.stderr


def test_no_shard_of_a_script_is_without_cases(mbsim, model, tmp_path):
    mbsim("sweep", model, "odd", "-o", "st", "--shard", "4/4")
    refused = mbsim("sweep", "script", "st", "--slurm", "--shards", "5")
    assert refused.code == 2 and "--shards 5 leaves some without a case, as there are 4" in refused.err
    assert "4 shards of 4 cases" in mbsim("sweep", "script", "st", "--slurm").out
    assert "--array=1-4\n" in (tmp_path / "st" / "job.sh").read_text()


def test_a_script_for_one_machine(mbsim, model, tmp_path):
    mbsim("sweep", model, "corners", "-o", "st", "--dry-run")
    assert mbsim("sweep", "script", "st", "--parallel", "--shards", "2", "-o", "go.sh").code == 0
    subprocess.run(["bash", tmp_path / "go.sh"], env=environment(), check=True)
    assert (opened(tmp_path / "st" / "study.h5").status == 0).all()
    (tmp_path / "mine.sh").write_text("rm -r *")
    for place, sentence in (
        ("mine.sh", "mine.sh exists and is not a job script of mbsim; name another output with -o"),
        (".", ". is a folder; name a file, such as job.sh"),
        ("no/go.sh", "cannot write no/go.sh: there is no folder"),
    ):
        done = mbsim("sweep", "script", "st", "--slurm", "-o", place)
        assert done.code == 5 and sentence in done.err
    assert mbsim("sweep", "script", "st", "--slurm", "-o", "go.sh").code == 0


def test_a_full_disk_ends_it_and_loses_nothing(mbsim, model, tmp_path, full_disk):
    mbsim("sweep", model, "cloud", "-o", "whole")
    with full_disk(2000):
        done = mbsim("sweep", model, "cloud", "-o", "st", "--json")
    assert done.code == 5 and "cannot write" in done.json["message"]
    again = mbsim("sweep", model, "cloud", "-o", "st", "--json").json
    assert 0 < again["computed"] <= 6 and again["missing"] == 0
    with h5py.File(tmp_path / "whole" / "study.h5") as whole, h5py.File(tmp_path / "st" / "study.h5") as found:
        for name in ("result", "gradient", "sensors/angle"):
            assert whole[name][:].tobytes() == found[name][:].tobytes()


def test_what_was_kept_and_is_lost_is_computed_again(mbsim, model, tmp_path):
    mbsim("sweep", model, "cloud", "-o", "st")
    kept = tmp_path / "st" / "shard-1-of-1.kept"
    before, whole = (tmp_path / "st" / "study.h5").read_bytes(), kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2])
    assert mbsim("sweep", "status", "st", "--json").json["missing"] == 3
    done = mbsim("sweep", "collect", "st")
    assert "data of 3 cases are damaged or missing" in done.err and "6 cases: 3 done, 3 missing" in done.out
    assert mbsim("sweep", "st", "--json").json["computed"] == 3 and kept.stat().st_size == len(whole)
    with h5py.File(io.BytesIO(before)) as first, h5py.File(tmp_path / "st" / "study.h5") as found:
        assert found["sensors/angle"][:].tobytes() == first["sensors/angle"][:].tobytes()


def test_rows_of_another_version_are_told(mbsim, model, monkeypatch):
    mbsim("sweep", model, "corners", "-o", "st", "--shard", "1/2")
    assert "digits" not in mbsim("sweep", "st", "--shard", "1/2").err
    monkeypatch.setattr(mbsim_cli, "__version__", "99.0")
    told = mbsim("sweep", "st", "--shard", "2/2").err
    assert "this is mbsim 99.0: rows of both may differ in their last digits" in told


def test_a_folder_that_vanishes(mbsim, model, tmp_path, monkeypatch):
    from mbsim_cli.study.sweep.evaluating import CaseEvaluator

    honest = CaseEvaluator.__call__

    def compute(self, case):
        if case.number == 3:
            shutil.rmtree(tmp_path / "st")
        return honest(self, case)

    monkeypatch.setattr(CaseEvaluator, "__call__", compute)
    done = mbsim("sweep", model, "corners", "-o", "st")
    assert done.code == 5 and "cannot write" in done.err and "No such file or directory" in done.err


@pytest.mark.slow  # compiles the loop of eight cases
def test_lanes_change_no_bit(mbsim, model, tmp_path, monkeypatch):
    """Also beside cases that are invalid or fail, by workers, and in what is kept of the cases."""
    from mbsim_cli.study.sweep import evaluating

    with model.open("a") as file:
        file.write("  many: {list: [{L: 1}, {L: -1}, {k: 1e300}, {k: 3}, {L: 0.7}, {L: 2}, {k: 9}, {L: 3}, {k: 4}]}\n")
    wanted = ("--formulation", "recursive", "--sensitivity", "none", "--keep", "sensors", "--json")
    monkeypatch.setattr(evaluating, "WORTH_LOADING", np.inf)
    alone = mbsim("sweep", model, "many", "-o", "alone", *wanted).json
    with monkeypatch.context() as now:
        now.setattr(evaluating, "WORTH", 0.0)
        beside = mbsim("sweep", model, "many", "-o", "beside", *wanted).json
    monkeypatch.setattr(evaluating, "WORTH_LOADING", 0.0)
    assert mbsim("sweep", model, "many", "-o", "later", *wanted).json["lanes"] == 8  # the loop is there now
    assert (alone["lanes"], beside["lanes"]) == (1, 8) and beside["failures"] == alone["failures"] != []
    with h5py.File(tmp_path / "alone" / "study.h5") as one, h5py.File(tmp_path / "beside" / "study.h5") as other:
        for name in ("status", "reason", "result", "sensors/angle"):
            np.testing.assert_array_equal(one[name][()], other[name][()])
        assert (other["seconds"][()] > 0).all()
    mbsim("sweep", model, "many", "-o", "full", *wanted[:-2], "full", "--json")
    mbsim("sweep", "extract", "full", "7")
    mbsim("run", model, "-p", "L=3.0", "-o", "run.h5", *wanted[:4])
    with h5py.File(tmp_path / "full" / "case-7.h5") as case, h5py.File(tmp_path / "run.h5") as run:
        for name in ("sensors/angle", "meta/work/evaluations", "meta/work/steps"):
            assert case[name][()].tobytes() == run[name][()].tobytes()


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["m.yaml"], 2, "name a study: the model has cloud, corners, odd"),
        (["m.yaml", "clod"], 2, "unknown study 'clod': the model has cloud, corners, odd"),
        (["m.yaml", "--grid", "q=1,2"], 2, "grid.q: unknown parameter 'q'"),
        (["m.yaml", "--grid", "L=1:2"], 2, "--grid must be NAME=A:B:N"),
        (["m.yaml", "--grid", "L=x+1,2"], 2, "unknown parameter or constant 'x'"),
        (["m.yaml", "--grid", "L=1:1:3"], 2, "must differ from the first value"),
        (["m.yaml", "--grid", "L=1:2:3:lag"], 2, "grid.L.scale: must be 'linear' or 'log', not 'lag'"),
        (["m.yaml", "--grid", "L=1:2:1"], 2, "grid.L.count: must be at least 2"),
        (["m.yaml", "--grid", "L=1,2", "--grid", "L=3"], 2, "--grid states L twice; list all its values in one"),
        (["m.yaml", "--grid", "L=1,2,1.0"], 2, "grid.L[2]: 1 stands twice, and would make equal cases"),
        (["m.yaml", "--csv", "twice.csv"], 5, "two of its columns have the name 'L'"),
        (["still.yaml", "kept", "--keep", "objectives"], 2, "--keep objectives keeps nothing: the model has no"),
        (["still.yaml", "--grid", "L=1,2"], 2, "there are no objectives that a study could keep"),
        (["m.yaml", "cloud", "--keep", "angle"], 2, "'--keep': 'angle' is not one of"),
        (["m.yaml", "cloud", "--grid", "L=1,2"], 2, "leave out its name"),
        (["m.yaml", "cloud", "--step", "auto"], 2, "a study takes one step for all cases"),
        (["m.yaml", "cloud", "--shard", "3/2"], 2, "--shard must be I/N"),
        (["m.yaml", "--csv", "no.csv"], 5, "cannot read"),
        (["m.yaml", "cloud", "--dask", "tcp://127.0.0.1:1", "-j", "2"], 2, "a Dask cluster has workers of its own"),
        (["m.yaml", "cloud", "--dask", "tcp://127.0.0.1:1", "--dry-run"], 2, "leave --dask out"),
        (["no.yaml", "cloud"], 5, "cannot read"),
        (["status", "."], 5, "holds no study"),
        (["status", "a b"], 5, "mbsim sweep MODEL.yaml -o 'a b' begins one"),
        (["status", "m.yaml"], 5, "m.yaml is a file, and holds no study: a study is a folder"),
        (["."], 5, "holds no study"),
        (["script", "."], 2, "give one of --slurm and --parallel"),
    ],
)
def test_what_no_study_can_be_made_of(mbsim, model, tmp_path, arguments, code, sentence):
    (tmp_path / "twice.csv").write_text("L,L\n1,2\n")
    (tmp_path / "still.yaml").write_text(WITHOUT_OBJECTIVES + "study: {kept: {grid: {L: [1, 2]}, keep: sensors}}\n")
    done = mbsim("sweep", *arguments)
    assert done.code == code and sentence in done.err


def test_cases_beyond_the_bounds_of_the_file_are_counted(mbsim, variant):
    model = variant("k: {value: 2.0,", "k: {value: 2.0, bounds: [1, 3],")
    done = mbsim("sweep", model, "--grid", "k=0.5,1,3,4,5", "--grid", "L=1,2", "-o", "a", "--sensitivity", "none")
    assert done.code == 0 and "warning: in 6 of 10 cases 'k' lies outside of its bounds 1 and 3" in done.err
    assert "bounds" not in mbsim("sweep", model, "--grid", "k=1,3", "-o", "b", "--sensitivity", "none").err


def test_a_file_of_cases_that_is_a_text(mbsim, variant):
    done = mbsim("validate", variant("checks:", "study: {s: {csv: cases.csv}}\nchecks:"))
    assert done.code == 3 and "study.s.csv: must be a mapping; a file is named by {file: cases.csv}" in done.err


def test_a_model_without_studies(mbsim, pendulum):
    done = mbsim("sweep", pendulum)
    assert (
        done.code == 2
        and "the model has none: write one under study" in done.err
        and "or give --grid or --csv" in done.err
    )


def test_the_plan_tells_where_results_come_from(mbsim, model, tmp_path):
    mbsim("sweep", model, "corners", "-o", "st")
    plan = json.loads((tmp_path / "st" / "plan.json").read_text())
    assert plan["texts"] == {"m.yaml": model.read_text()} and plan["folder"] == str(tmp_path)
    assert plan["sampler"] == {"kind": "grid", "stated": {"L": [0.5, 1.0], "k": [1.0, 2.0, 3.0]}}
    assert plan["settings"] == {"method": "none"} and {"numpy", "numba"} <= set(plan["platform"])


def test_one_case_is_no_cases(mbsim, pendulum):
    done = mbsim("sweep", pendulum, "--grid", "L=1.2", "-o", "st", "--jobs", "1", "--sensitivity", "none")
    assert "st: 1 case: 1 done" in done.out
