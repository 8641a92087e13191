"""Versions of libraries: the lowest of pyproject.toml do their work; constraints.txt pins those of today."""

import json
import re
import subprocess
import sys
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from mbsim_cli.kernels.compiler import choice

from .conftest import PENDULUM, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRA = PROJECT["optional-dependencies"]["plot"]
DEPENDENCIES = {found.name: found for found in map(Requirement, PROJECT["dependencies"] + EXTRA)}
PINS = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
STUDY = "study: {cloud: {grid: {L: [0.9, 1.0, 1.1]}}}\n"


def lowest(found):
    """The version that a requirement allows at least."""
    return next(part.version for part in found.specifier if part.operator == ">=")


def test_what_is_installed_here_is_allowed():
    """The tests say nothing of versions that the package refuses."""
    for found in DEPENDENCIES.values():
        with suppress(PackageNotFoundError):  # of the extras, which some do without
            assert found.specifier.contains(version(found.name))


def test_constraints_pin_every_library():
    for name, found in DEPENDENCIES.items():
        assert found.specifier.contains(PINS[name])
    assert choice.FROM <= Version(PINS["numba"]).release[:2] < choice.UNTIL
    assert {"llvmlite", "pydantic-core"} <= set(PINS)


def commands(program, folder):
    """What the usual commands answer: exit codes, and the objective with its gradient."""
    (folder / "m.yaml").write_text(PENDULUM + STUDY)
    (folder / "wrong.yaml").write_text(PENDULUM.replace("mass: 3 * L", "mas: 3"))
    told = {}
    for words in (
        "--version",
        "--help",
        "validate m.yaml",
        "validate wrong.yaml",
        "run",
        "run m.yaml -o r.h5 --json",
        "run m.yaml -o a.h5 --sensitivity adjoint --json",
        "inspect r.h5 --json",
        "check m.yaml",
        "info m.yaml",
        "schema -o model.schema.json",
        "sweep m.yaml -o st -j 2 --json",
        "plot r.h5 -o p.png",
        "animate r.h5 -o p.gif",
        "no-command",
    ):
        done = subprocess.run([program, *words.split()], cwd=folder, capture_output=True, text=True)
        assert "Traceback" not in done.stderr, done.stderr
        told[words] = done.returncode, done.stdout, done.stderr
    return told


@pytest.mark.slow
def test_the_lowest_versions_do_their_work(tmp_path, monkeypatch):
    """What a first run compiles is compiled by the lowest numba, too: some minutes."""
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    scripts = tmp_path / "venv" / "bin"
    wanted = [f"{name}=={lowest(found)}" for name, found in DEPENDENCIES.items()]
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    subprocess.run([scripts / "pip", "install", "--quiet", f"{ROOT}[plot]", *wanted], check=True)
    folders = [tmp_path / name for name in ("low", "here")]
    for folder in folders:
        folder.mkdir()
    low = commands(str(scripts / "mbsim"), folders[0])
    monkeypatch.delenv("MBSIM_CACHE_DIR")
    here = commands(str(Path(sys.executable).with_name("mbsim")), folders[1])
    assert {words: code for words, (code, _, _) in low.items()} == {words: code for words, (code, _, _) in here.items()}
    assert [code for code, _, _ in here.values()] == [0, 0, 0, 3, 2, *[0] * 9, 2]
    for words in ("run m.yaml -o r.h5 --json", "run m.yaml -o a.h5 --sensitivity adjoint --json"):
        one, other = (json.loads(told[words][1])["objectives"]["swing"] for told in (low, here))
        assert one["value"] == pytest.approx(other["value"], rel=1e-12)
        assert one["gradient"] == pytest.approx(other["gradient"], rel=1e-9)
    schemas = [json.loads((folder / "model.schema.json").read_text()) for folder in folders]
    assert schemas[0] == schemas[1]
    assert "fast compiler" not in low["run m.yaml -o r.h5 --json"][2]  # the linking one passes
