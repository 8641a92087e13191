"""Machine code for levels of processors, and kernels that come with the package."""

import os
import subprocess
import sys

import pytest

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.kernels.compiler import installed as _level
from mbsim_cli.kernels.compiler import store as _store
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.store import Store

THIRD, FOURTH = (" ".join(sorted(_level.LEVELS[name])) for name in ("x86-64-v3", "x86-64-v4"))
has_a_level = pytest.mark.skipif(
    COMPILER != "linking" or not _level.own_level(), reason="of x86-64 on Linux, by the linking compiler"
)


@pytest.mark.parametrize(
    "flags, level",
    [(f"fpu {THIRD}", "x86-64-v3"), (f"{FOURTH} gfni", "x86-64-v4"), (THIRD.replace("fma", ""), ""), ("", "")],
)
def test_flags_tell_the_level(flags, level):
    assert _level.level_of(f"AuthenticAMD\nEPYC\n{flags}") == level


def test_a_level_is_asked_for_by_its_name(monkeypatch):
    monkeypatch.setattr(_level, "own_level", lambda: "x86-64-v3")
    assert _level._wanted("") == _level._wanted("native") == "" and _level._wanted("x86-64-v3") == "x86-64-v3"
    with pytest.raises(UsageError, match="'znver4'; it can be native or x86-64-v3 or x86-64-v4"):
        _level._wanted("znver4")
    with pytest.raises(UsageError, match="x86-64-v4, which is more than this processor has: x86-64-v3"):
        _level._wanted("x86-64-v4")
    monkeypatch.setattr(_level, "own_level", lambda: "")
    with pytest.raises(UsageError, match="more than this processor has: native"):
        _level._wanted("x86-64-v3")


@pytest.fixture
def brought_along(tmp_path, monkeypatch):
    """A folder of a package, filled from a store with one entry."""
    store = Store(lambda: tmp_path / "cache", "kernels-1", "hash")
    store.put(b"kernels.one hash", b"code")
    for beside in ("one.lock", "one.1.abc.tmp"):
        (tmp_path / "cache/kernels-1/hash" / beside).touch()
    for name, value in {"WANTED": "x86-64-v3", "own_level": lambda: "x86-64-v4"}.items():
        monkeypatch.setattr(_level, name, value)
    monkeypatch.setattr(_store, "settings", list)
    monkeypatch.setattr(_store, "_brought", tmp_path / "prebuilt")
    _store.fill_prebuilt(tmp_path / "prebuilt", store.path)
    return tmp_path / "prebuilt"


def test_entries_come_along(brought_along, monkeypatch):
    (found,) = _store.prebuilt_entries()
    assert found.parent.name.startswith("x86-64-v3-") and found.name.startswith("kernels.one-")
    assert _store.prebuilt(b"kernels.one hash") == b"code" and _store.prebuilt(b"kernels.two hash") is None
    found.write_bytes(found.read_bytes()[:-1])
    assert _store.prebuilt(b"kernels.one hash") is None
    monkeypatch.setattr(_level, "WANTED", "")  # then it is the processor's own level
    assert _store.prebuilt_level() == "x86-64-v4" and _store.prebuilt_entries() == []
    monkeypatch.setattr(_store, "settings", lambda: [("OPT", "1")])
    assert _store.prebuilt_level() == ""


def test_what_cannot_be_filled(brought_along, monkeypatch):
    (brought_along / "file").touch()
    with pytest.raises(InputOutputError, match="file"):
        _store.fill_prebuilt(brought_along / "file", str(brought_along))
    monkeypatch.setattr(_level, "WANTED", "")
    with pytest.raises(UsageError, match="set MBSIM_PROCESSOR to x86-64-v4 or x86-64-v3"):
        _store.ignore_prebuilt()


SCRIPT = """
import sys
from pathlib import Path
import numpy as np
from mbsim_cli.kernels.compiler import store, watch
from mbsim_cli.kernels.compiler.jit import entry
from mbsim_cli.kernels.algebra.vectors import cross3

store._brought = Path(sys.argv[1])
value = sum(entry(cross3)((1.0, 2.0, 3.0), (0.1, 0.2, -0.3)))
print(value.hex(), "numba" in sys.modules, store.prebuilt_level() or "-")
if len(sys.argv) > 2:
    store.fill_prebuilt(store._brought, watch.STORE.path)
"""


@has_a_level
def test_kernels_that_came_along_need_no_compiler(tmp_path):
    def call(*arguments, **variables):
        environment = {**os.environ, "MBSIM_CACHE_DIR": str(tmp_path / f"cache{len(arguments)}"), **variables}
        command = [sys.executable, "-c", SCRIPT, str(tmp_path / "prebuilt"), *arguments]
        return subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout.split()

    level = _level.own_level()
    value, loaded, _ = call("fill", MBSIM_PROCESSOR=level)
    assert loaded == "True"  # to compile it
    assert call() == call(MBSIM_PROCESSOR=level) == [value, "False", level]
