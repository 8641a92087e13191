"""Kernels are kept for other entries and processes; a second process compiles beside the first one."""

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mbsim_cli.kernels.compiler import watch
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.watch import Companion
from mbsim_cli.study.assembling import Settings, build, load

pytestmark = pytest.mark.skipif(COMPILER != "linking", reason="what the linking compiler does")

ROOT = Path(__file__).resolve().parents[2]
KERNELS = """
import numpy as np
from mbsim_cli.kernels.compiler import linking, watch
from mbsim_cli.kernels.compiler.jit import entry, kernel

typed, before = [], linking.LinkingCompiler.compile_extra
def compile_extra(self, function):
    typed.append(function.__name__)
    return before(self, function)
linking.LinkingCompiler.compile_extra = compile_extra

@kernel
def square(x):
    return x * x

@kernel
def norm(a):
    total = 0.0
    for i in range(a.size):
        total += square(a[i])
    return np.sqrt(total)
"""
FIRST = "def sizes(a):\n    return norm(a)\n"
SECOND = "def sizes(a):\n    return 2.0 * norm(a)\n"
CALL = "print(entry(sizes)(np.array([3.0, 4.0])), *sorted(typed))\n"


@pytest.fixture
def compile_in_process(tmp_path):
    """Compile an entry in a process of its own; what it gives, and what had to be compiled."""
    environment = {**os.environ, "MBSIM_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    (tmp_path / "kernels_here.py").write_text(KERNELS)

    def run(entry):
        (tmp_path / "entry_here.py").write_text(f"from kernels_here import *\n{entry}{CALL}")
        done = subprocess.run(
            [sys.executable, "entry_here.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        value, *compiled = done.stdout.split()
        return float(value), compiled

    return run


def parts(folder):
    return [path for path in folder.glob("cache/*/parts/*/*") if path.suffix not in (".lock", ".tmp")]


def test_another_entry_links_what_was_compiled(compile_in_process, tmp_path):
    assert compile_in_process(FIRST) == (5.0, ["norm", "sizes", "sizes", "square"])
    assert compile_in_process(FIRST) == (5.0, [])
    assert compile_in_process(SECOND) == (10.0, ["sizes", "sizes"])
    for path in parts(tmp_path):  # what is damaged counts as missing
        path.write_bytes(path.read_bytes()[:-1])
    assert compile_in_process(FIRST.replace("norm(a)", "3.0 * norm(a)")) == (
        15.0,
        ["norm", "sizes", "sizes", "square"],
    )


def test_the_older_half_of_too_many_is_removed(tmp_path, monkeypatch):
    for k in range(8):
        (tmp_path / str(k)).write_bytes(b"content")
        os.utime(tmp_path / str(k), (k, k))
    monkeypatch.setattr(watch.PARTS_STORE, "path", str(tmp_path))
    from mbsim_cli.kernels.compiler import compiling

    compiling._make_room()
    assert len(list(tmp_path.iterdir())) == 8
    monkeypatch.setattr(compiling, "MOST_BYTES", 20)
    compiling._make_room()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["4", "5", "6", "7"]


def test_a_kernel_is_compiled_anew_where_what_it_imports_has_changed(compile_in_process, tmp_path):
    """The number of a module two imports below, imported within a function of the one between."""
    (tmp_path / "numbers_here.py").write_text("FACTOR = 2.0\n")
    (tmp_path / "between_here.py").write_text("def load():\n    from numbers_here import FACTOR\n    return FACTOR\n")
    entry = "from scaling_here import scaled\ndef sizes(a):\n    return scaled(a[0])\n"
    (tmp_path / "scaling_here.py").write_text(
        "from between_here import load\nfrom kernels_here import square, kernel\nFACTOR = load()\n"
        "@kernel\ndef scaled(x):\n    return FACTOR * square(x)\n"
    )
    assert compile_in_process(entry) == (18.0, ["scaled", "sizes", "sizes", "square"])
    # another length: within one second, Python tells files apart by that alone
    (tmp_path / "numbers_here.py").write_text("FACTOR = 30.0\n")
    assert compile_in_process(entry + "# changed\n") == (270.0, ["scaled", "sizes", "sizes"])


def write_flags(path, array):
    Path(f"{path}.new").write_text(f"{os.getpid()} {array.flags.writeable} {watch.BESIDE}")
    Path(f"{path}.new").rename(path)
    time.sleep(600)


@pytest.fixture
def alone(monkeypatch):
    monkeypatch.setattr(watch, "PAIRED", False)


@pytest.fixture
def importable(monkeypatch, alone):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(watch, "usable", lambda: 2)


def test_the_second_process_gets_the_same_types_and_ends_with_the_first(importable, tmp_path):
    array = np.zeros(3)
    array.flags.writeable = False
    companion = Companion(write_flags, str(tmp_path / "found"), array)
    companion.start()
    try:
        assert watch.PAIRED
        while not (tmp_path / "found").exists():
            assert companion._process.poll() is None
            time.sleep(0.05)
        number, *flags = (tmp_path / "found").read_text().split()
        assert flags == ["False", "True"]
    finally:
        companion.stop()
    assert not watch.PAIRED
    with pytest.raises(ProcessLookupError):
        os.kill(int(number), 0)


def test_one_processor_compiles_alone(monkeypatch, alone):
    monkeypatch.setattr(watch, "usable", lambda: 1)
    companion = Companion(print)
    companion.start()
    companion.stop()
    assert not watch.PAIRED and companion._process is None


def test_what_cannot_be_handed_over_is_compiled_alone(importable):
    companion = Companion(lambda: None)
    companion.start()
    assert not watch.PAIRED and companion._process is None


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("fivebar", Settings()),
        ("fivebar", Settings(formulation="ali3p-natural")),
        ("buggy_lane_change", Settings(method="adjoint")),
        ("human43", Settings()),
        ("flexible/slider_crank", Settings()),
    ],
)
def test_what_any_analysis_needs_can_be_handed_over(model, settings):
    assembled = build(load(ROOT / "models" / f"{model}.yaml", Settings()), settings, None)
    problem, objectives = pickle.loads(pickle.dumps((assembled.problem, assembled.objectives), 5))
    given = [array for array in assembled.problem.model.tree if isinstance(array, np.ndarray)]
    found = [array for array in problem.model.tree if isinstance(array, np.ndarray)]
    for before, after in zip(given, found, strict=True):
        assert np.array_equal(before, after) and before.flags.writeable == after.flags.writeable
    assert problem.names.coordinates == assembled.problem.names.coordinates
    assert len(objectives) == len(assembled.objectives)


def test_kernels_depend_on_kernels_and_on_the_layout_of_models_alone():
    """So that a change elsewhere compiles none of them anew; the compiler's own files belong to the folder's name."""
    from mbsim_cli.kernels.compiler import compiling
    from mbsim_cli.kernels.drivers import simulate

    found = {path.relative_to(ROOT / "mbsim_cli").parts[:2] for path in compiling.closure(simulate.__file__)}
    assert {first for first, _ in found} == {"kernels", "model"}
    assert ("kernels", "algorithms") in found and ("kernels", "compiler") not in found


def test_every_way_to_import_counts(tmp_path):
    from mbsim_cli.kernels.compiler import compiling

    for name in ("first_here", "second_here", "third_here"):
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "all_here.py").write_text(
        "import numpy as np, first_here as f\n"
        "from mbsim_cli.kernels.algebra import (\n    spatial,  # one a line\n    vectors,\n)\n"
        "def late():\n    from second_here import (x, y)\n    from third_here import z; return z\n"
    )
    found = {path.name for path in compiling.closure(str(tmp_path / "all_here.py"))}
    assert found >= {"all_here.py", "first_here.py", "second_here.py", "third_here.py", "spatial.py", "vectors.py"}
