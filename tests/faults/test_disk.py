"""Full disks: a sentence, exit code 5 and one JSON object; no half file, no crash, and no finished result lost."""

import contextlib
import errno
import itertools
import json
import os
import resource
import subprocess
import sys

import h5py
import numpy as np
import pytest

from mbsim_cli.io.layout import Origin, Parameters
from mbsim_cli.io.provenance import Provenance
from mbsim_cli.io.target import Sink
from mbsim_cli.io.writer import ResultWriter
from tests.cli.conftest import COMMAND, environment
from tests.io import fakes

FULL = ("No space left on device", "File too large")


def assert_refused(report, size):
    assert report["exit_code"] == 5 and any(reason in report["message"] for reason in FULL), (size, report)
    assert "cannot write" in report["message"] and "partial" not in report


def test_wherever_the_disk_is_full(mbsim, pendulum, tmp_path, full_disk):
    assert mbsim("run", pendulum).code == 0
    whole = (tmp_path / "pendulum.h5").read_bytes()
    for size in map(int, np.linspace(0.0, len(whole) - 1, 12)):
        with full_disk(size):
            done = mbsim("run", pendulum, "--json")
        assert done.code == 5
        assert_refused(done.json, size)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["pendulum.h5", "pendulum.yaml"]
        assert (tmp_path / "pendulum.h5").read_bytes() == whole
    assert h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE | h5py.h5f.OBJ_DATASET) == 0


def test_a_process_ends_in_good_order(variant, tmp_path):
    """HDF5 used to crash the interpreter at its end."""
    model = variant("step: 1e-2, duration: 0.5", "step: 1e-4, duration: 5")
    done = subprocess.run(
        [*COMMAND, "run", str(model), "--json"],
        cwd=tmp_path,
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000)),
    )
    assert done.returncode == 5 and "Traceback" not in done.stderr, done
    assert_refused(json.loads(done.stdout), 600_000)
    assert [path.name for path in tmp_path.iterdir()] == ["variant.yaml"]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("this user may not mount file systems")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_small_file_system(mbsim, variant, small_disk):
    model = variant("step: 1e-2, duration: 0.5", "step: 1e-4, duration: 5")
    assert mbsim("run", model, "--step", "1e-2", "-o", small_disk / "r.h5").code == 0
    before = (small_disk / "r.h5").read_bytes()
    done = mbsim("run", model, "-o", small_disk / "r.h5", "--json")
    assert done.code == 5
    assert_refused(done.json, "1 MB")
    assert (small_disk / "r.h5").read_bytes() == before and len(list(small_disk.iterdir())) == 1


def test_no_half_bytecode_is_left_for_other_tests(tmp_path, monkeypatch, full_disk):
    """All processes that import such a module later would fail."""
    (tmp_path / "first_imported_here.py").write_text(f"LONG = {'a' * 5000!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    with full_disk(1000):
        import first_imported_here
    assert len(first_imported_here.LONG) == 5000 and not list(tmp_path.rglob("*.pyc"))


def test_pictures_and_schemas_too(mbsim, tmp_path, full_disk):
    (tmp_path / "s.json").write_text("mine")
    with full_disk(1000):
        done = mbsim("schema", "-o", "s.json", "--force")
    assert done.code == 5 and "File too large" in done.err
    assert (tmp_path / "s.json").read_text() == "mine" and len(list(tmp_path.iterdir())) == 1


def test_an_interrupted_run_on_a_full_disk_ends_as_interrupted(mbsim, pendulum, tmp_path, monkeypatch, full_disk):
    from mbsim_cli.cli import signals
    from mbsim_cli.cli.output import Terminal

    polls = itertools.count()
    with contextlib.ExitStack() as later:

        def stopped(self):
            if next(polls) == 0:  # before anything is computed
                return
            later.enter_context(full_disk(1000))
            raise signals.Stopped(15)

        monkeypatch.setattr(Terminal, "poll", stopped)
        done = mbsim("run", pendulum)
    assert done.code == 143 and "cannot write" in done.err and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_result_that_cannot_be_renamed_is_kept(mbsim, pendulum, tmp_path, monkeypatch, everywhere):
    def refused(honest):
        def move(source, target, *arguments, **options):
            if everywhere or str(target).endswith("pendulum.h5"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return honest(source, target, *arguments, **options)

        return move

    monkeypatch.setattr(os, "link", refused(os.link))
    monkeypatch.setattr(os, "replace", refused(os.replace))
    monkeypatch.setattr(os, "rename", refused(os.rename))
    done = mbsim("run", pendulum, "--json")
    monkeypatch.undo()
    assert done.code == 5 and "No space left on device; the complete result is kept in" in done.json["message"]
    kept = tmp_path / done.json["kept"]
    assert everywhere or kept.name == "pendulum.h5.complete"
    with h5py.File(kept) as file:
        assert file.attrs["status"] == "complete" and len(file["time"]) == 51
    assert kept.exists() and mbsim("run", tmp_path / "pendulum.yaml", "-o", tmp_path / "pendulum.h5").code == 0
    assert kept.exists()  # the next run takes no complete result for a left-over


def test_data_is_safe_before_it_gets_its_name(tmp_path, monkeypatch):
    done = []

    def told(name, honest):
        return lambda *arguments: done.append(name) or honest(*arguments)

    for name in ("fsync", "link"):
        monkeypatch.setattr(os, name, told(name, getattr(os, name)))
    parameters = Parameters([1.0, 2.0], [(0.5, 3.0)] * 2)
    run = ResultWriter(tmp_path / "r.h5", Origin(fakes.names(), fakes.SENSORS, parameters, Provenance("c", "t")))
    run.append(fakes.block(0, 3))
    run.finish({})
    assert done == ["fsync", "link", "fsync"]


def test_a_file_that_fails_reads_as_if_it_had_not(tmp_path, full_disk):
    """HDF5 may read again what could not be written."""
    random = np.random.default_rng(1)
    expected = bytearray()
    handle = os.open(tmp_path / "f", os.O_RDWR | os.O_CREAT)
    sink = Sink(handle)
    with full_disk(5_000):
        for _ in range(300):
            place, content = int(random.integers(0, 12_000)), random.bytes(int(random.integers(1, 900)))
            expected.extend(bytes(max(0, place + len(content) - len(expected))))
            expected[place : place + len(content)] = content
            sink.seek(place)
            sink.write(content)
            place = int(random.integers(0, 12_000))
            sink.seek(place)
            found = bytearray(int(random.integers(1, 900)))
            sink.readinto(found)
            assert found == expected[place : place + len(found)].ljust(len(found), b"\0")
    os.close(handle)
    assert isinstance(sink.error, OSError) and sink.error.errno == errno.EFBIG
    assert (tmp_path / "f").stat().st_size <= 5_000
