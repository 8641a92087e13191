"""The cache of kernels is keyed by content: neither places nor times of files matter, every change of them does."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mbsim_cli
from mbsim_cli.kernels.compiler import store as _store
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.store import source_hash

PACKAGE = Path(mbsim_cli.__file__).parent
compiled_only = pytest.mark.skipif(COMPILER != "linking", reason="others keep nothing here")
ENTRY = """
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.kernels.helper import FACTOR, twice

@entry
def eight_times(x):
    return FACTOR * twice(x)
"""
HELPER = """
from mbsim_cli.kernels.compiler.jit import kernel

FACTOR = 4.0

@kernel
def twice(x):
    return x + x
"""
CALL = """
import sys
from mbsim_cli.kernels.compiler.watch import watch_compilation
from mbsim_cli.kernels.probe import eight_times

with watch_compilation(lambda name: print("compiled", name, end=" ")):
    print(eight_times(1.5), *(name for name in sys.modules if name in ("numba", "llvmlite")))
"""


def copy_of_package(folder):
    """A package of kernels with an entry and its helper, at another place and of another time."""
    for name in ("__init__.py", "errors.py", "messages.py", "system.py", "model", "kernels"):
        source, target = PACKAGE / name, folder / "mbsim_cli" / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"), copy_function=shutil.copy)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    (folder / "mbsim_cli" / "kernels" / "probe.py").write_text(ENTRY)
    (folder / "mbsim_cli" / "kernels" / "helper.py").write_text(HELPER)
    return folder


def called(folder, cache):
    """What a process prints that calls the entry of a package."""
    environment = {**os.environ, "MBSIM_CACHE_DIR": str(cache), "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", CALL], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@compiled_only
def test_packages_of_one_content_share_what_one_compiled(tmp_path):
    here, there = (copy_of_package(tmp_path / name) for name in ("here", "there"))
    os.utime(there / "mbsim_cli" / "kernels" / "probe.py", (1e9, 1e9))
    assert called(here, tmp_path / "cache")[:3] == ["compiled", "probe.eight_times", "12.0"]
    assert called(there, tmp_path / "cache") == ["12.0"]  # and without numba
    (kept,) = tmp_path.glob("cache/*/*/probe.eight_times-" + "?" * 32)
    content = kept.read_bytes()
    assert b"BC\xc0\xde" not in content and len(content) < 6_000
    helper = there / "mbsim_cli" / "kernels" / "helper.py"
    helper.write_text(HELPER.replace("4.0", "5.0"))
    os.utime(helper, (1e9, 1e9))
    assert called(there, tmp_path / "cache")[:3] == ["compiled", "probe.eight_times", "15.0"]


def test_every_source_counts_and_only_its_content(tmp_path):
    root = copy_of_package(tmp_path) / "mbsim_cli"
    whole = source_hash("linking", root)
    for path in [root / "kernels" / "helper.py", root / "model" / "codes.py"]:
        text = path.read_text()
        path.touch()
        assert source_hash("linking", root) == whole
        path.write_text(text + "\n")
        assert source_hash("linking", root) != whole
        path.write_text(text)
    (root / "kernels" / "helper.py").rename(root / "kernels" / "aide.py")
    assert source_hash("linking", root) != whole


def test_flags_and_versions_count(monkeypatch):
    whole = source_hash("linking")
    assert source_hash("plain") != whole
    for change in ("BOUNDSCHECK", "CPU_NAME"):
        monkeypatch.setenv(f"NUMBA_{change}", "7")
        assert source_hash("linking") != whole
        monkeypatch.undo()
    for place, version in enumerate(_store._VERSIONS):
        monkeypatch.setattr(
            _store, "_VERSIONS", (*_store._VERSIONS[:place], version + "1", *_store._VERSIONS[place + 1 :])
        )
        assert source_hash("linking") != whole
        monkeypatch.undo()
    assert source_hash("linking") == whole
