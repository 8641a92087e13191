"""Which compiler is chosen, and that each of them compiles all that kernels are written with."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from mbsim_cli.errors import UsageError
from mbsim_cli.kernels.compiler import choice

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def compiling(monkeypatch, tmp_path):
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)


def test_the_usual_compiler_is_the_linking_one(compiling):
    assert choice.is_tested() and choice._choose("") == choice._choose("auto") == ("linking", "")


def test_the_environment_chooses(compiling, monkeypatch):
    for wanted in ("plain", "linking"):
        compiler, reason = choice._choose(wanted)
        assert compiler == wanted and f"MBSIM_COMPILER={wanted}" in reason
    with pytest.raises(UsageError, match="MBSIM_COMPILER is 'fast'; it can be linking, plain or auto"):
        choice._choose("fast")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert choice._choose("plain")[0] == "none"


@pytest.mark.parametrize(
    "version, tested", [("0.62.1", True), ("0.68.1", True), ("0.61.2", False), ("0.69.0rc1", False)]
)
def test_versions_of_numba(version, tested):
    assert choice.is_tested(version) == tested


def test_the_tested_range_is_the_packages_own():
    """A later version is probed, not refused."""
    (lowest,) = re.findall(r'"numba>=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert lowest == ".".join(map(str, choice.FROM))


@pytest.mark.parametrize("machine", [("Darwin", "arm64"), ("Windows", "AMD64"), ("Linux", "aarch64")])
def test_other_machines_are_probed(monkeypatch, machine):
    monkeypatch.setattr(choice.platform, "system", lambda: machine[0])
    monkeypatch.setattr(choice.platform, "machine", lambda: machine[1])
    assert not choice.is_tested()


@pytest.mark.parametrize("fault, chosen", [("", "linking"), ("ImportError: no passes", "plain")])
def test_an_unknown_version_of_numba_is_probed_once(compiling, monkeypatch, fault, chosen):
    probes = []
    monkeypatch.setattr(choice, "is_tested", lambda: False)
    monkeypatch.setattr(choice, "probe", lambda: probes.append(True) or (fault, True))
    for _ in range(2):
        compiler, reason = choice._choose("")
        assert compiler == chosen and fault in reason
    assert len(probes) == 1


def test_a_probe_tells_what_is_wrong(monkeypatch):
    monkeypatch.setattr(choice, "_PROBE", [sys.executable, "-c", "raise ImportError('no such pass')"])
    assert choice.probe() == ("ImportError: no such pass", True)
    monkeypatch.setattr(choice, "_PROBE", [sys.executable, "-c", "import os; os.abort()"])
    assert choice.probe() == ("exit code -6", True)


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (["no such program"], "No such file"),
        ([sys.executable, "-c", "import time; time.sleep(600)"], "timed out after"),
        ([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], "exit code -9"),
    ],
)
def test_a_probe_that_comes_to_no_end_is_tried_again(compiling, monkeypatch, program, sentence):
    """A machine that stalls says nothing of a version of numba."""
    monkeypatch.setattr(choice, "is_tested", lambda: False)
    with monkeypatch.context() as now:
        now.setattr(choice, "_PATIENCE", 0.5 if "timed out" in sentence else 300.0)
        now.setattr(choice, "_PROBE", program)
        compiler, reason = choice._choose("")
        assert compiler == "plain" and sentence in reason
    monkeypatch.setattr(choice, "probe", lambda: ("", True))
    assert choice._choose("") == ("linking", "")


@pytest.mark.parametrize("wanted", ["", "linking"])
def test_the_linking_compiler_steps_aside_without_optimisation(monkeypatch, wanted):
    monkeypatch.setenv("NUMBA_OPT", "0")
    assert choice._choose(wanted) == ("plain", "NUMBA_OPT=0 is set: the fast compiler needs optimisation")


def test_it_steps_aside_where_a_file_leaves_optimisation_out(tmp_path):
    (tmp_path / ".numba_config.yaml").write_text("opt: '0'\n")
    script = "from mbsim_cli.kernels.compiler.choice import COMPILER, REASON; print(COMPILER, REASON)"
    environment = {**os.environ, "MBSIM_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith("plain opt: 0 in .numba_config.yaml is set"), done.stderr


def test_the_linking_compiler_passes_the_probe():
    assert choice.probe() == ("", True)


@pytest.mark.parametrize("variables", [{"MBSIM_COMPILER": "plain"}, {"NUMBA_DISABLE_JIT": "1"}])
def test_the_others_pass_it(tmp_path, variables):
    """A finder refuses what is no public interface of numba, as a version without it would."""
    refuse = f"""
import sys
class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name in {PRIVATE}:
            raise ImportError(name)
sys.meta_path.insert(0, Refusal())
from mbsim_cli.kernels.compiler.probe import main
sys.exit(main())
"""
    environment = {**os.environ, "MBSIM_CACHE_DIR": str(tmp_path), **variables}
    done = subprocess.run([sys.executable, "-c", refuse], env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


PRIVATE = [f"mbsim_cli.kernels.compiler.{name}" for name in ("compiling", "linking", "simd_compiled")]
