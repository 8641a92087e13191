"""What is in the cache of kernels can never change a result or run foreign code; what cannot be trusted is a miss."""

import json
import os
import pickle
import stat
import subprocess
import threading
import time
from collections import namedtuple
from pathlib import Path
from typing import ClassVar

import pytest

from mbsim_cli.kernels.compiler import entry as _entry
from mbsim_cli.kernels.compiler import jit, watch
from mbsim_cli.kernels.compiler import store as _store
from mbsim_cli.kernels.compiler.arguments import description
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.store import Store
from tests.cli.conftest import COMMAND, PENDULUM, environment

compiled_only = pytest.mark.skipif(COMPILER != "linking", reason="others keep nothing here")
NAMES = ("kernels-1", "hash")


def store(root):
    return Store(lambda: root, *NAMES)


def test_a_store_at_a_relative_path_stays_where_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = store(Path("cache"))
    kept.put(b"a", b"content")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    kept.put(b"b", b"further")
    assert (kept.get(b"a"), kept.get(b"b"), kept.trouble) == (b"content", b"further", "")


def entries(root):
    return [path for path in root.rglob("*") if path.is_file() and path.suffix not in (".lock", ".tmp")]


class Foreign:
    """Shows when it is read."""

    read: ClassVar[list[str]] = []

    def __reduce__(self):
        return Foreign.read.append, ("run",)


def truncate(path, root):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path, root):
    path.write_bytes(b"")


def flip(path, root):
    data = bytearray(path.read_bytes())
    if data:  # entries that were emptied, and that no run asked for since, stay so
        data[len(data) * 2 // 3] ^= 4
    path.write_bytes(data)


def foreign(path, root):
    path.write_bytes(pickle.dumps(Foreign()))


def other(path, root):
    """Another entry under this one's name, whole."""
    others = store(root)
    others.put(b"other", b"content")
    (found,) = (entry for entry in entries(root) if entry.read_bytes().endswith(b"content"))
    found.rename(path)


def link(path, root):
    path.rename(root / "elsewhere")
    path.symlink_to(root / "elsewhere")


def writable(path, root):
    path.chmod(0o666)


def pipe(path, root):
    path.unlink()
    os.mkfifo(path)


def folder(path, root):
    path.unlink()
    path.mkdir()
    (path / "file").touch()


WAYS = [truncate, empty, flip, foreign, other, link, writable, pipe, folder]


@pytest.mark.parametrize("damage", WAYS)
def test_what_cannot_be_trusted_is_a_miss_and_is_rewritten(tmp_path, damage):
    store(tmp_path).put(b"key", b"x" * 1000)
    assert store(tmp_path).get(b"key") == b"x" * 1000
    (path,) = entries(tmp_path)
    damage(path, tmp_path)
    Foreign.read.clear()
    assert store(tmp_path).get(b"key") is None and not Foreign.read
    store(tmp_path).put(b"key", b"y")
    assert store(tmp_path).get(b"key") == b"y"


@pytest.mark.parametrize("damage", [truncate, empty, flip, foreign, other])
def test_what_is_no_entry_is_removed(tmp_path, damage):
    """Others that want the entry would otherwise not wait for the one that makes it."""
    store(tmp_path).put(b"key", b"x" * 1000)
    (path,) = entries(tmp_path)
    damage(path, tmp_path)
    assert store(tmp_path).get(b"key") is None and not path.exists()


def double(x):
    return x + x


def answer(monkeypatch, root):
    """Value of a new entry, and whether it was compiled."""
    started = []
    monkeypatch.setattr(watch, "STORE", store(root))
    with watch.watch_compilation(started.append):
        value = jit.entry(double)(2.5)
    return value, bool(started)


@compiled_only
def test_entries_are_kept(tmp_path, monkeypatch):
    assert [answer(monkeypatch, tmp_path) for _ in range(2)] == [(5.0, True), (5.0, False)]


@compiled_only
@pytest.mark.parametrize("damage", [flip, foreign, other])
def test_a_damaged_entry_is_compiled_again(tmp_path, monkeypatch, damage):
    answer(monkeypatch, tmp_path)
    for path in entries(tmp_path):
        damage(path, tmp_path)
    Foreign.read.clear()
    assert [answer(monkeypatch, tmp_path) for _ in range(2)] == [(5.0, True), (5.0, False)]
    assert not Foreign.read


@compiled_only
def test_an_entry_of_another_library_is_compiled_again(tmp_path, monkeypatch):
    answer(monkeypatch, tmp_path)
    key = jit.entry(double).key((2.5,))
    assert store(tmp_path).get(key)
    store(tmp_path).put(key, pickle.dumps(("not", "a", "result")))
    assert [answer(monkeypatch, tmp_path) for _ in range(2)] == [(5.0, True), (5.0, False)]


@compiled_only
def test_an_entry_that_asks_for_an_unknown_symbol_is_compiled_again(tmp_path, monkeypatch):
    answer(monkeypatch, tmp_path)
    key = jit.entry(double).key((2.5,))
    code, *returned = pickle.loads(store(tmp_path).get(key))
    code = code._replace(named=(*code.named, ("no_such_symbol", 0)))
    store(tmp_path).put(key, pickle.dumps((code, *returned)))
    assert [answer(monkeypatch, tmp_path) for _ in range(2)] == [(5.0, True), (5.0, False)]


@compiled_only
def test_two_threads_load_an_entry_once(tmp_path, monkeypatch):
    answer(monkeypatch, tmp_path)
    loaded, load = [], _entry._rebuilt
    monkeypatch.setattr(_entry, "_rebuilt", lambda *given: loaded.append(given) or load(*given))
    monkeypatch.setattr(watch, "STORE", store(tmp_path))
    kept = jit.entry(double)
    threads = [threading.Thread(target=kept, args=(2.5,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loaded) == 1 and kept(2.5) == 5.0


@compiled_only
def test_types_of_the_same_name_have_their_own_entries():
    from tests.kernels.test_references import Inner

    twin, swapped = namedtuple("Inner", "a factor"), namedtuple("Inner", "factor a")
    assert len({description((kind(1.0, 2.0),)) for kind in (Inner, twin, swapped)}) == 3


def test_the_folder_is_private(tmp_path):
    old = os.umask(0)
    try:
        made = store(tmp_path / "cache")
        made.put(b"key", b"x")
    finally:
        os.umask(old)
    for path in [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def group_may_write(folder):
    folder.chmod(0o770)


def a_link(folder):
    folder.rename(folder.parent / "mine")
    folder.symlink_to(folder.parent / "mine")


def a_file(folder):
    folder.rename(folder.parent / "mine")
    folder.write_text("")


@pytest.mark.parametrize("spoil", [group_may_write, a_link, a_file])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_folder_that_is_not_safe_is_not_used(tmp_path, spoil, depth):
    store(tmp_path).put(b"key", b"x")
    spoil(tmp_path.joinpath(*NAMES[:depth]))
    unused = store(tmp_path)
    unused.put(b"key", b"y")
    assert unused.get(b"key") is None and str(tmp_path.joinpath(*NAMES[:depth])) in unused.trouble


def test_a_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    store(tmp_path).put(b"key", b"x")
    monkeypatch.setattr(_store.os, "geteuid", lambda: os.getuid() + 1)
    assert store(tmp_path).get(b"key") is None and "belongs to another user" in store(tmp_path).trouble


@compiled_only
def test_without_a_home_kernels_are_compiled_each_time(tmp_path, monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(watch, "STORE", Store(nowhere, *NAMES))
    assert jit.entry(double)(1.0) == 2.0 and "home" in watch.STORE.trouble


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, full_disk):
    kept = store(tmp_path)
    with full_disk(1000):
        kept.put(b"key", b"x" * 100_000)
    assert "too large" in kept.trouble and not entries(tmp_path) and not list(tmp_path.glob("*/*/*.tmp"))


def test_what_killed_processes_left_is_removed(tmp_path):
    store(tmp_path).put(b"key", b"x")
    (path,) = entries(tmp_path)
    for name, age in (("old.1.tmp", 2 * _store.STALE), ("new.2.tmp", 0.0)):
        path.with_name(name).touch()
        os.utime(path.with_name(name), (time.time() - age,) * 2)
    store(tmp_path).put(b"other", b"x")
    assert not path.with_name("old.1.tmp").exists() and path.with_name("new.2.tmp").exists()


def test_one_makes_an_entry_and_the_others_wait(tmp_path):
    made, waited, others = [], [], threading.Semaphore(0)

    def wait():
        waited.append(True)
        others.release()

    def run():
        mine = store(tmp_path)
        with mine.turn(b"key", wait):
            if mine.get(b"key") is None:
                assert all(others.acquire(timeout=60) for _ in range(3))
                mine.put(b"key", b"x")
                made.append(True)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1 and len(waited) == 3


def test_nobody_waits_forever(tmp_path, monkeypatch):
    monkeypatch.setattr(_store, "PATIENCE", 0.2)
    begun = time.monotonic()
    with store(tmp_path).turn(b"key"), store(tmp_path).turn(b"key"):
        assert 0.2 <= time.monotonic() - begun < 60


@pytest.fixture(scope="module")
def eight_runs(tmp_path_factory):
    """First runs at once with an empty cache: the folder, and what they printed."""
    folder = tmp_path_factory.mktemp("cold")
    (folder / "m.yaml").write_text(PENDULUM)
    variables = environment(MBSIM_CACHE_DIR=str(folder / "cache"))
    runs = [
        subprocess.Popen(
            [*COMMAND, "run", "m.yaml", "--json", "-o", f"{number}.h5"],
            cwd=folder,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    return folder, variables, [(run.communicate(), run.returncode) for run in runs]


@pytest.mark.slow
def test_eight_first_runs_at_once(eight_runs, record_property):
    folder, _, done = eight_runs
    values = [json.loads(out)["objectives"] for (out, _), code in done if code == 0]
    assert len(values) == 8 and all(value == values[0] for value in values), done
    compiled = sum("compiling " in err for (_, err), _ in done)
    waited = sum("waiting for it" in err for (_, err), _ in done)
    kept = entries(folder / "cache")
    assert compiled < 8 and kept and not list((folder / "cache").rglob("*.tmp"))
    told = f"cold runs: 8, of which {compiled} compiled something and {waited} waited; {len(kept)} entries"
    record_property("counts", told)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [truncate, empty, flip, foreign, other])
def test_every_entry_is_made_again(eight_runs, damage, record_property):
    """All files of the cache are damaged, and with the next run whole again."""
    folder, variables, done = eight_runs
    expected = json.loads(done[0][0][0])["objectives"]
    kept = sorted(entries(folder / "cache"), key=lambda path: path.stat().st_size)
    whole = {path: path.read_bytes() for path in kept}
    for path in kept:
        others = next(content for place, content in whole.items() if place != path)
        path.write_bytes(others) if damage is other else damage(path, folder)
    for compiles in (True, False):
        run = [*COMMAND, "run", "m.yaml", "--json", "-o", "again.h5"]
        again = subprocess.run(run, cwd=folder, env=variables, capture_output=True, text=True)
        assert again.returncode == 0 and json.loads(again.stdout)["objectives"] == expected
        assert ("compiling " in again.stderr) == compiles
    record_property("counts", f"cache: {len(kept)} files, {damage.__name__}: all made again")
