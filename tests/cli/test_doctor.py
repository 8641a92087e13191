"""``mbsim doctor`` says what is wrong with the place and the compiler of kernels, and what would help."""

import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from mbsim_cli import system
from mbsim_cli.cli import doctor
from mbsim_cli.cli.options import VARIABLES, limit_threads
from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.compiler import choice, watch
from mbsim_cli.kernels.compiler.store import FOLDER_OF_USER, open_store
from mbsim_cli.kernels.elements import generated


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of the test's own, with two entries and one of another version."""
    monkeypatch.setenv("MBSIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(choice, "COMPILER", "linking")
    monkeypatch.setattr(choice, "REASON", "")
    monkeypatch.setattr(doctor, "_proof", lambda: {"model": "fivebar", "relative_difference": 1e-12})
    for compiler, names in {"other": ["old.entry"], "linking": ["simulate.run", "linearise.linearise"]}.items():
        for name in names:
            open_store(compiler).put(f"kernels.{name} hash".encode(), b"x" * 1000)
    reopen(monkeypatch)
    return tmp_path / "cache" / FOLDER_OF_USER


def reopen(monkeypatch):
    monkeypatch.setattr(watch, "STORE", open_store("linking"))


def test_a_healthy_place(mbsim, cache):
    done = mbsim("doctor", "--json")
    report = done.json
    assert done.code == 0 and report["problems"] == [] and report["compiler"]["name"] == "linking"
    assert {"mbsim", "python", "numba"} <= set(report["versions"]) and report["compiler"]["tested"]
    kept = report["cache"]
    assert [entry["name"] for entry in kept["entries"]] == ["linearise.linearise", "simulate.run"]
    assert kept["bytes"] == sum(path.stat().st_size for path in (cache / watch.STORE.name).iterdir()) > 2000
    assert kept["trouble"] == "" and kept["locks"] and kept["free_bytes"] > 0
    assert [folder["entries"] for folder in kept["stale"]] == [1]
    assert len(report["hints"]) == 1 and "1 folder beside it holds kernels of other versions" in report["hints"][0]
    text = mbsim("doctor")
    assert report["run"]["model"] == "fivebar" and "five-bar linkage, within 1e-12" in text.out
    assert mbsim("doctor", "--no-run", "--json").json["run"] is None
    assert text.code == 0 and "simulate.run" in text.out and "nothing is wrong" in text.out and not text.err
    assert kept["lanes"] == [] and "without gradients: nothing yet" in text.out
    watch.STORE.put(b"mbsim_cli.kernels.drivers.simulate_cases.simulate_cases hash", b"x")
    assert mbsim("doctor", "--json").json["cache"]["lanes"] == ["ALI3-P"]
    assert "without gradients: ALI3-P" in mbsim("doctor").out


def test_unfinished_files_that_vanish_meanwhile_hide_no_others(mbsim, cache, monkeypatch):
    """Where another process compiles."""
    honest, unfinished = Path.lstat, cache / watch.STORE.name / "run.1.tmp"
    unfinished.touch()

    def lstat(path):
        if path == unfinished:
            path.unlink(missing_ok=True)
        return honest(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    kept = mbsim("doctor", "--json").json["cache"]
    assert [entry["name"] for entry in kept["entries"]] == ["linearise.linearise", "simulate.run"]


def writable_by_others(folder, monkeypatch):
    folder.chmod(0o770)
    return "can be written by others; chmod 700 it"


def another_users(folder, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    return "belongs to another user"


def no_home(folder, monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("MBSIM_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", nowhere)
    return "home"


@pytest.mark.parametrize("spoil", [writable_by_others, another_users, no_home])
def test_a_cache_that_cannot_be_used(mbsim, cache, monkeypatch, spoil):
    sentence = spoil(cache, monkeypatch)
    reopen(monkeypatch)
    done = mbsim("doctor", "--json")
    (problem,) = done.json["problems"]
    assert done.json["run"] is None  # which would compile in vain
    assert done.code == 1 and sentence in problem and "set MBSIM_CACHE_DIR to a folder of your own" in problem
    assert f"problem: {problem}" in mbsim("doctor").out


def test_a_cache_that_cannot_be_written(mbsim, cache, full_disk):
    with full_disk(0):
        done = mbsim("doctor", "--json")
    assert done.code == 1 and "File too large" in done.json["problems"][0]
    assert not list(cache.glob("*/*.tmp"))


def test_a_disk_that_is_nearly_full(mbsim, cache, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(2, 1, 1_000_000))
    assert "only 1 MB are free" in mbsim("doctor", "--json").json["problems"][0]


@pytest.mark.parametrize(
    "compiler, reason, sentence",
    [
        (
            "plain",
            "numba 0.70 does not pass",
            "several times slower: numba 0.70 does not pass; install a tested version",
        ),
        ("none", "NUMBA_DISABLE_JIT is set", "NUMBA_DISABLE_JIT is set: kernels run as Python"),
    ],
)
def test_a_slow_compiler(mbsim, cache, monkeypatch, compiler, reason, sentence):
    monkeypatch.setattr(choice, "COMPILER", compiler)
    monkeypatch.setattr(choice, "REASON", reason)
    monkeypatch.setattr(choice, "is_tested", lambda: False)
    done = mbsim("doctor", "--json")
    assert done.code == 1 and sentence in done.json["problems"][0]


def test_a_setting_and_a_version_have_a_remedy_each(mbsim, cache, monkeypatch):
    monkeypatch.setattr(choice, "is_tested", lambda: False)
    monkeypatch.setenv("NUMBA_OPT", "0")
    for name, found in zip(("COMPILER", "REASON"), choice._choose(""), strict=True):
        monkeypatch.setattr(choice, name, found)
    report = mbsim("doctor", "--json").json
    (problem,) = report["problems"]
    assert problem.endswith("NUMBA_OPT=0 is set: the fast compiler needs optimisation; unset it")
    assert any("is not one of the tested versions" in hint for hint in report["hints"])


def test_generated_derivatives_are_printed(mbsim):
    done = mbsim("doctor", "--generated", "drag")
    assert "def vary_drag(theta, o, c, v, dtheta, k, d_c, d_v):" in done.out
    assert set(mbsim("doctor", "--generated", "tyre", "--json").json) >= {"keep_tyre", "pull_tyre_kept"}
    assert f"these have: {', '.join(sorted(generated()))}" in mbsim("doctor", "--generated", "magnet").err


def test_a_probe_that_fails(mbsim, cache, monkeypatch):
    monkeypatch.setattr(choice, "probe", lambda: ("ImportError: no passes", True))
    done = mbsim("doctor", "--probe", "--json")
    assert done.code == 1 and "ImportError: no passes" in done.json["problems"][0]
    monkeypatch.setattr(choice, "probe", lambda: ("", True))
    assert mbsim("doctor", "--probe", "--json").json["compiler"]["probe"] == "passed"


def test_hints(mbsim, cache, monkeypatch):
    shutil.rmtree(cache)
    reopen(monkeypatch)
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    hints = mbsim("doctor", "--json").json["hints"]
    assert any("no kernels are compiled yet" in hint for hint in hints)
    assert any("OMP_NUM_THREADS is 8" in hint for hint in hints) and len(hints) == 2


def test_threads_that_are_stated_hold_for_compression(monkeypatch):
    monkeypatch.setattr(system, "_limit", None)
    monkeypatch.setattr(system, "usable", lambda: 16)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    limit_threads(None)  # the libraries take one, as nothing is stated
    assert system.helpful(8) == 8 and {os.environ[name] for name in VARIABLES} == {"1"}
    limit_threads(None)  # a process that this one starts
    assert system.helpful(8) == 1
    limit_threads(3)
    assert system.helpful(8) == 3 and {os.environ[name] for name in VARIABLES} == {"3"}


def test_the_installation_is_proved_by_a_run(mbsim, monkeypatch):
    """The known numbers are those of the paper, whose table has five digits."""
    done = mbsim("doctor", "--json")
    run = done.json["run"]
    assert done.code == (1 if done.json["problems"] else 0) and run["relative_difference"] < 1e-8
    assert run["found"]["L_s1"] == pytest.approx(-4.2288, abs=5e-5) and run["found"]["L_s2"] == pytest.approx(
        3.2116, abs=5e-5
    )
    monkeypatch.setitem(doctor._FIVE_BAR, "L_s1", -4.2)
    done = mbsim("doctor")
    assert done.code == 1 and "gives other numbers than it should" in done.out


def test_a_run_that_fails_is_a_problem(mbsim, monkeypatch):
    def run(path):
        raise AnalysisError("Newton's iteration diverges")

    monkeypatch.setattr("mbsim_cli.run", run)
    done = mbsim("doctor")
    assert done.code == 1 and "problem: the five-bar linkage does not run: Newton's iteration diverges" in done.out
