"""Somebody else's folder is the working directory, or names a study: nothing in it is run."""

import json
import re
import subprocess
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest

from mbsim_cli.errors import UsageError
from mbsim_cli.kernels.compiler import choice, watch
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.sweep import job_script
from mbsim_cli.study.sweep.planning import StudyRequest
from mbsim_cli.study.sweep.processes import Processes
from mbsim_cli.study.sweep.store import DONE
from mbsim_cli.study.sweep.study_folder import StudyFolder
from mbsim_cli.system import isolated
from tests.cli.conftest import PENDULUM, ROOT, environment
from tests.study.sweep.fakes import cases_of, plan_study, start, values_of

MODULES = ("mbsim_cli", "numpy", "numba", "random", "pickle", "sitecustomize", "usercustomize")
NAMES = ["a b", "a'b", 'a"b', "a$(touch ran)b", "a`touch ran`b", "a;touch ran;b", "#a", "-rf", "a\\b", "a{b}c%d"]
STUDY = "study: {cloud: {grid: {L: [0.9, 1.0, 1.1]}}}\n"


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A working directory with packages of names that children import; the file that each writes when it runs."""
    folder = tmp_path / "sent by somebody"
    ran = tmp_path / "ran"
    for name in MODULES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"open({str(ran)!r}, 'a').write({name!r})\nraise SystemExit(0)\n")
    monkeypatch.chdir(folder)
    return ran


def test_the_plant_works(planted):
    """It runs where a child does not keep its working directory out."""
    subprocess.run([sys.executable, "-m", "mbsim_cli"], check=False)
    assert planted.exists()


def write(path):
    """What the companion is asked to do."""
    Path(path).write_text("computed")


def test_the_companion_of_the_compiler(planted, tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "usable", lambda: 2)
    monkeypatch.setattr(watch, "COMPILER", "linking")
    monkeypatch.setattr(watch, "PAIRED", False)
    monkeypatch.setattr(watch.STORE, "trouble", "")
    second = watch.Companion(write, str(tmp_path / "done"))
    second.start()
    assert second._process is not None and second._process.wait(60) == 0
    second.stop()
    assert (tmp_path / "done").exists() and not planted.exists()


def test_the_probe_of_the_compiler(planted, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert choice.probe() == ("", True) and not planted.exists()


def test_workers_of_studies(planted):
    rows = [row for row, _ in Processes(start, 1, SILENT).compute(deque(cases_of(values_of(2))))]
    assert [row.status for row in rows] == [DONE, DONE] and not planted.exists()


def test_a_study_by_the_command(planted):
    Path("m.yaml").write_text(PENDULUM + STUDY)
    words = [*isolated("mbsim_cli.cli.app"), "sweep", "m.yaml", "-j", "2", "--sensitivity", "none", "--quiet"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not planted.exists()


def test_children_of_python_are_isolated():
    """There is one place that starts an interpreter."""
    package = ROOT / "mbsim_cli"
    texts = {path.relative_to(package).as_posix(): path.read_text() for path in package.rglob("*.py")}
    assert {name for name, text in texts.items() if "sys.executable" in text} == {
        "system.py",
        "study/sweep/job_script.py",
    }
    assert not [
        name for name, text in texts.items() if name != "system.py" and re.search(r'"-m", "|\[sys\.executable, ', text)
    ]
    assert isolated("m")[:2] == [sys.executable, "-I"]


def planned(folder, model="m.yaml"):
    """A study that nobody has computed."""
    Path(model).write_text(PENDULUM + STUDY)
    plan, values = plan_study(Path(model), StudyRequest("cloud"), Settings())
    study = StudyFolder(folder)
    study.adopt(plan, values, force=False)
    return study


@pytest.mark.parametrize("kind", job_script.TEMPLATES)
@pytest.mark.parametrize("where", ["folder", "study", "script", "python"])
@pytest.mark.parametrize("sign", ["\n", "\r", "\x0b", "\u2028"])
def test_no_line_ends_in_a_script(tmp_path, monkeypatch, kind, where, sign):
    monkeypatch.chdir(tmp_path)
    name = f"x{sign}touch ran{sign}"
    study = planned(tmp_path / (name if where == "folder" else "st"))
    if where == "study":  # a plan may be anybody's, and its checksum is no signature
        (study.path / "plan.json").write_text(replace(study.plan(), study=name).text())
    if where == "python":
        monkeypatch.setattr(sys, "executable", f"/{name}/python")
    with pytest.raises(UsageError, match="line break or another control character"):
        job_script.write_script(kind, study, tmp_path / f"{name if where == 'script' else 'job'}.sh", 2, 1)
    assert not list(tmp_path.glob("*.sh"))


@pytest.mark.parametrize("kind", job_script.TEMPLATES)
@pytest.mark.parametrize("name", NAMES)
def test_odd_names_are_words_of_a_script(tmp_path, monkeypatch, kind, name):
    monkeypatch.chdir(tmp_path)
    study = planned(tmp_path / name)
    (study.path / "plan.json").write_text(replace(study.plan(), study=name).text())
    shown = [sys.executable, "-c", "import json, sys; sys.stdout.write(json.dumps(sys.argv) + chr(10))"]
    monkeypatch.setattr(job_script, "program", lambda: shown)
    script = job_script.write_script(kind, study, tmp_path / f"{name}.sh", 2, 1)
    task = {"SLURM_ARRAY_TASK_ID": "1"}
    done = subprocess.run(["bash", script], env=environment(**task), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(str(tmp_path / name) in json.loads(line) for line in done.stdout.splitlines())
    assert "sweep" in done.stdout and not list(tmp_path.rglob("ran"))
