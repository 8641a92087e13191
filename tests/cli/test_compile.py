"""``mbsim compile`` fills the cache with what runs need, and says what it did."""

import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from mbsim_cli.kernels.compiler import choice, installed, store, watch
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.store import Store
from mbsim_cli.study import compiling
from mbsim_cli.study.compiling import SPECIMENS, Compiled
from mbsim_cli.study.sweep import evaluating

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def planned(monkeypatch):
    """Analyses that would be compiled, which takes minutes, with the kernels that are said to be."""
    found = []

    def compile_kernels(problem, listener, objectives, in_vain):
        options = problem.options
        found.append((options.formulation, options.integrator if options.integrated else None, options.sensitivity))
        return Compiled(["simulate.run"], 0.5)

    monkeypatch.setattr(compiling, "compile_kernels", compile_kernels)
    monkeypatch.setattr(evaluating, "compile_lanes", lambda problem, listener, require: ([], True))
    monkeypatch.setattr(compiling, "perf_counter", lambda: 0.0)
    return found


@pytest.fixture
def loops(monkeypatch, planned):
    """Those for which loops of eight cases would be compiled."""
    found = []

    def compile_lanes(problem, listener, require):
        found.append((problem.options.formulation, problem.options.integrator if problem.options.integrated else None))
        return ["loop"], True

    monkeypatch.setattr(evaluating, "compile_lanes", compile_lanes)
    return found


@pytest.mark.skipif(COMPILER != "linking", reason="others cannot tell what they compile")
def test_runs_find_what_it_compiled(mbsim, pendulum):
    report = mbsim("compile", pendulum, "--json", "--quiet").json
    assert [entry["sensitivity"] for entry in report["analyses"]] == ["none", "ddm", "adjoint"]
    assert report["refused"] == [] and report["cache"] == watch.STORE.path
    assert mbsim("run", pendulum, "--formulation", "recursive").code == 0  # rows of open trees are observed behind
    kept = {path.name.rsplit("-", 1)[0] for path in Path(report["cache"]).iterdir()}
    assert {"observe.observe", "time_points.linearise", "simulate.run"} <= kept
    for method in ("none", "ddm", "adjoint"):
        assert "compiling" not in mbsim("run", pendulum, "--sensitivity", method).err
    again = mbsim("compile", pendulum)
    assert again.code == 0 and not again.err
    assert "3 analyses, all kernels were there already" in again.out and report["cache"] in again.out


def test_every_formulation_and_integrator(mbsim, pendulum, planned):
    report = mbsim("compile", pendulum, "--all", "--json").json
    closed = {(formulation, None) for formulation in ("ali3p-rtdyn0", "ali3p-rtdyn1")}
    trees = {(f, i) for f in ("recursive", "conventional", "partial_recursive") for i in ("rk4", "dop853", "esdirk")}
    assert {(formulation, integrator) for formulation, integrator, _ in planned} >= closed | trees
    assert len(set(planned)) == len(planned) and {method for *_, method in planned} == {"none", "ddm", "adjoint"}
    assert report["count"] == len(planned) == len(report["analyses"]) and report["compiled"] == ["simulate.run"]
    assert report["seconds"] == 0.5 * len(planned)


def test_it_compiles_for_what_is_set(mbsim, pendulum, planned):
    """Keys that choose other kernels, as those of the run will."""
    assert mbsim("compile", pendulum, "-s", "analysis.formulation=ali3p-rtdyn0", "-p", "L=1").code == 0
    assert {formulation for formulation, *_ in planned} == {"ali3p-rtdyn0"}
    refused = mbsim("compile", "--all", "-p", "L=1")
    assert refused.code == 2 and "-p and -s are for model files; name some" in refused.err


def test_it_compiles_what_an_automatic_integrator_may_choose(mbsim, pendulum, planned):
    text = pendulum.read_text()
    pendulum.write_text(text.replace("analysis: {", "analysis: {formulation: recursive, integrator: auto, "))
    assert mbsim("compile", pendulum).code == 0
    methods = ("none", "ddm", "adjoint")
    assert planned == [("recursive", integrator, m) for integrator in ("dop853", "esdirk") for m in methods]


@pytest.mark.skipif(COMPILER != "linking", reason="others compute one case at a time")
def test_loops_for_eight_cases(mbsim, pendulum, loops):
    """Where they are asked for, with all, and where the model states a study without gradients."""
    assert mbsim("compile", pendulum, "--json").json["compiled"] == ["simulate.run"] and not loops
    report = mbsim("compile", pendulum, "--lanes", "--json").json
    assert loops == [("ali3p-rtdyn1", None)] and report["compiled"] == ["loop", "simulate.run"]
    assert [entry["compiled"][1:] for entry in report["analyses"]] == [["loop"], [], []]
    loops.clear()
    with pendulum.open("a") as file:
        file.write("study: {few: {list: [{L: 1}], sensitivity: ddm}}\n")
    mbsim("compile", pendulum)
    assert not loops
    pendulum.write_text(pendulum.read_text().replace("ddm}}", "none}}"))
    mbsim("compile", pendulum)
    assert loops == [("ali3p-rtdyn1", None)]
    loops.clear()
    mbsim("compile", pendulum, "--all")
    trees = {(f, i) for f in ("recursive", "conventional", "partial_recursive") for i in ("rk4", "dop853")}
    assert set(loops) == trees | {(formulation, None) for formulation in ("ali3p-rtdyn0", "ali3p-rtdyn1")}


@pytest.mark.skipif(COMPILER != "linking", reason="others compute one case at a time")
def test_what_has_no_loop_for_eight_cases_is_said(mbsim, pendulum, loops):
    """Where ``--lanes`` asks for one: nothing is silently left out."""
    text = pendulum.read_text()
    for chosen, reason in (
        ("formulation: ali3p-natural", "natural coordinates have none"),
        ("formulation: recursive, integrator: esdirk", "esdirk has none"),
    ):
        pendulum.write_text(text.replace("analysis: {", f"analysis: {{{chosen}, "))
        done = mbsim("compile", pendulum, "--lanes")
        assert done.code == 0 and f"{pendulum}: no loop for eight cases of a study: {reason}" in done.out
        report = mbsim("compile", pendulum, "--lanes", "--json").json
        assert [entry["alone"] for entry in report["analyses"]] == [reason, "", ""] and not loops
    assert "eight cases" not in mbsim("compile", pendulum).out
    assert "eight cases" not in mbsim("compile", pendulum, "--lanes", "--quiet").out
    done = mbsim("compile", ROOT / "models" / "human43.yaml", "--lanes")
    assert "no loop for eight cases of a study: only forward dynamics has one" in done.out


def test_what_a_model_does_not_allow_is_said(mbsim, planned):
    done = mbsim("compile", ROOT / "models" / "fivebar.yaml", "--all")
    assert done.code == 0 and {"ali3p-rtdyn0", "ali3p-rtdyn1"} <= {formulation for formulation, *_ in planned}
    assert "not for recursive, conventional, partial_recursive" in done.out and "form a loop" in done.out


def test_without_models_small_ones_stand_for_all(mbsim, planned):
    report = mbsim("compile", "--all", "--json").json
    analyses = {formulation for formulation, *_ in planned}
    assert {"recursive", "ali3p-rtdyn1", "statics", "recursive-newton-euler"} <= analyses
    assert report["refused"] == [] and all(not Path(entry["model"]).exists() for entry in report["analyses"])


@pytest.mark.skipif(COMPILER != "linking", reason="others keep nothing that could come along")
def test_kernels_for_a_package(mbsim, pendulum, planned, monkeypatch, tmp_path):
    monkeypatch.setattr(store, "_brought", store._brought)
    done = mbsim("compile", pendulum, "--into", tmp_path / "prebuilt")
    assert done.code == 2 and "set MBSIM_PROCESSOR to x86-64-v4 or x86-64-v3" in done.err and not planned
    monkeypatch.setattr(installed, "WANTED", "x86-64-v3")
    report = mbsim("compile", pendulum, "--into", tmp_path / "prebuilt", "--json").json
    assert Path(report["into"]).parent == tmp_path / "prebuilt"
    assert {path.name for path in Path(report["into"]).iterdir()} == {
        path.name for path in Path(report["cache"]).iterdir() if path.suffix not in (".lock", ".tmp")
    }
    (tmp_path / "file").touch()
    assert mbsim("compile", pendulum, "--into", tmp_path / "file").code == 5
    monkeypatch.setattr(choice, "COMPILER", "plain")
    done = mbsim("compile", pendulum, "--into", tmp_path / "prebuilt")
    assert done.code == 2 and "the linking compiler" in done.err


def test_nothing_to_compile_for_is_a_wrong_usage(mbsim):
    done = mbsim("compile")
    assert done.code == 2 and "name model files, or give --all" in done.err


def test_an_invalid_model(mbsim, variant, planned):
    assert mbsim("compile", variant("revolute", "revolving")).code == 3 and not planned


def test_kernels_that_cannot_be_kept(mbsim, pendulum, planned, monkeypatch, tmp_path):
    (tmp_path / "kernels-1").mkdir(mode=0o777)
    (tmp_path / "kernels-1").chmod(0o777)
    monkeypatch.setattr(watch, "STORE", Store(lambda: tmp_path, "kernels-1", "hash"))
    done = mbsim("compile", pendulum)
    assert done.code == 5 and "cannot be kept" in done.err and "mbsim doctor says more" in done.err
    assert mbsim("compile", pendulum, "--json").json["trouble"]


def test_nothing_is_compiled_in_vain(pendulum, tmp_path):
    """Where kernels cannot be kept the first one that is missing ends the command, which took minutes before."""
    (tmp_path / "file").write_text("no folder")
    command = [sys.executable, "-m", "mbsim_cli", "compile", str(pendulum)]
    there = {"MBSIM_CACHE_DIR": str(tmp_path / "file"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | there, capture_output=True, text=True, timeout=60)
    assert done.returncode == 5 and done.stderr.startswith("mbsim: compiled kernels cannot be kept: "), done.stderr
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr


def test_commands_of_the_page(mbsim, planned, tmp_path):
    shutil.copytree(ROOT / "models", tmp_path / "models")
    commands = re.findall(r"^\$ mbsim (.*)$", (ROOT / "docs" / "kernels.md").read_text(), re.MULTILINE)
    assert len(commands) == 4
    assert [mbsim(*command.split()).code for command in commands] == [0, 0, 0, 0]


def test_what_the_page_says_of_the_answers(mbsim, pendulum, planned):
    page = (ROOT / "docs" / "kernels.md").read_text()
    report = mbsim("compile", pendulum, "--json").json
    assert all(f"`{name}`" in page for name in [*report, *report["analyses"][0]])
    assert all(f"`{name}`" in page for name in mbsim("doctor", "--json").json)


RECORD = """
import sys
from itertools import pairwise
from pathlib import Path
from mbsim_cli.kernels.compiler import plain

called = set()
def recorded(function):
    def call(*arguments):
        called.add(function.__name__)
        return function(*arguments)
    return call
plain.entry = recorded
from mbsim_cli.study import compiling
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.compiling import Compiled
compiling.COMPILER = "another"  # first steps are made
compiling._ways = lambda stated: [compiling.Settings(formulation="recursive", integrator="rk4"), compiling.Settings()]
variants = compiling.precompile((), True, SILENT, False, compiling.Settings())
refused = [variant.model for variant in variants if variant.refused]
assert all("closed_loop" in model for model in refused), refused
print(*called)
"""


def test_the_small_models_need_what_others_do():
    """Without the compiler, first steps are quick, and tell what they call."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", RECORD], env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sources = (ROOT / "mbsim_cli" / "kernels" / "drivers").glob("*.py")
    lines = [line for path in sources for line in path.read_text().splitlines()]
    entries = {after[4:].partition("(")[0] for line, after in pairwise(lines) if line == "@entry"}
    other = {
        "close_loops",
        "integrate_implicit",
        "measure_drift",
        "stand",
    }  # of other systems, which take longer
    rare = {"applied_torques", "integrate_cases", "measure_start", "simulate_cases"}
    rare |= {"move_places", "vary_places"}  # of kinematics at one time point, from Python
    assert entries - set(done.stdout.split()) == other | rare


def test_small_models_are_valid(mbsim, tmp_path):
    for name, text in SPECIMENS.items():
        (tmp_path / name).write_text(text)
    assert mbsim("validate", *tmp_path.iterdir()).code == 0
