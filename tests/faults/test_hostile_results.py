"""Results come from anywhere: what is not as the format says is refused with exit code 5, wherever it is read."""

import itertools
import os
import random
import re
import signal
import struct
import time

import h5py
import numpy as np
import pytest

from mbsim_cli import quarantine
from mbsim_cli.errors import InputOutputError
from mbsim_cli.io import guard, sid_file, tables, target
from tests.faults import mutations

READERS = (["inspect", "m.h5"], ["plot", "m.h5", "--list"])


@pytest.fixture
def hostile(fivebar, tmp_path):
    """A result that something is done to."""

    def make(change):
        path = tmp_path / "m.h5"
        path.write_bytes(fivebar.read_bytes())
        with h5py.File(path, "r+") as file:
            change(file)
        return path

    return make


def replaced(path, value):
    def change(file):
        del file[path]
        file[path] = value

    return change


def attribute(name, value, path="/"):
    return lambda file: file[path].attrs.__setitem__(name, value)


def huge(file):
    del file["sensors/r2"]
    file.create_dataset("sensors/r2", shape=(10**12, 3), dtype="f8", chunks=(1000, 3), compression="gzip")


def huge_chunk(file):
    del file["sensors/r2"]
    file.create_dataset("sensors/r2", (101, 3), "f8", chunks=(10**8, 3), maxshape=(None, 3), compression="gzip")


def bytes_for_a_name(file):
    h5py.h5d.create(file["meta"].id, b"\xff\xfe", h5py.h5t.NATIVE_DOUBLE, h5py.h5s.create(h5py.h5s.SCALAR))


def external(file):
    del file["time"]
    file.create_dataset("time", shape=(10,), dtype="f8", external=[("/etc/passwd", 0, 80)])


def virtual(file):
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (3,))
    del file["time"]
    file.create_virtual_dataset("time", layout)


def circle(file):
    file["sensors/circle"] = file["/"]


CASES = {
    "link to a file": (replaced("sensors/r2", h5py.ExternalLink("/etc/passwd", "/x")), "link to somewhere else"),
    "soft link": (replaced("sensors/r2", h5py.SoftLink("/time")), "link to somewhere else"),
    "external": (external, "time: its content is in other files"),
    "virtual": (virtual, "time: its content is in other files"),
    "circle": (circle, "stands twice"),
    "huge": (huge, "claims to be 2.4e+13 bytes large, of which 0 are there"),
    "huge chunk": (huge_chunk, "sensors/r2: it claims to be 2.4e+09 bytes large, of which 0 are there"),
    "no group": (replaced("sensors", 1.0), "sensors: it is no group"),
    "a group": (lambda file: file.create_group("sensors/new"), "sensors/new: it is a group, and no numbers or texts"),
    "name": (bytes_for_a_name, "'\\xff\\xfe' is no name"),
    "label": (lambda file: h5py.h5ds.set_label(file["coordinates/unit"].id, 0, b"\xff"), "'\\xff' is no name"),
    "name of an attribute": (attribute(b"\xff", 1), "'\\xff' is no name"),
    "seconds": (replaced("meta/timing/solve", "long"), "meta/timing/solve: it holds no numbers"),
    "error": (lambda file: file.__delitem__("meta/discretisation/motion"), "meta/discretisation/motion is missing"),
    "gradient": (lambda file: file.__delitem__("objectives/psi2/gradient"), "objectives/psi2/gradient is missing"),
    "version": (attribute("format_version", 2), "of version 2 of the format, and this mbsim reads version 1"),
    "status": (attribute("status", np.zeros(3)), "status"),
    "unit": (attribute("unit", 3, "sensors/r2"), "its attribute unit is not what it should be"),
    "type": (replaced("time", np.zeros(101, "c16")), "neither numbers nor texts"),
    "texts": (replaced("coordinates/name", np.zeros(5)), "coordinates/name: it holds no texts"),
    "shape": (replaced("coordinates/position", np.zeros((3, 5))), "it is 3 long where the axis time is not"),
    "dimensions": (replaced("diagnostics/power", np.zeros((3, 5))), "it has 2 dimensions, not 1"),
    "missing": (lambda file: file.__delitem__("parameters/value"), "parameters/value is missing"),
    "times": (lambda file: file["time"].__setitem__(0, np.nan), "its times do not increase"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_as_the_format_says_is_refused(mbsim, hostile, case):
    """By ``inspect``; each third of them by ``plot`` too, which reads files by the same guard."""
    change, sentence = CASES[case]
    hostile(change)
    for arguments in READERS if list(CASES).index(case) % 3 == 0 else READERS[:1]:
        done = mbsim(*arguments)
        assert done.code == 5 and sentence in done.err and done.err.count("\n") == 1, done


def test_attributes_do_not_stand_for_what_is_found(mbsim, hostile):
    path = hostile(attribute("bytes", "many"))
    assert mbsim("inspect", "m.h5").code == 0
    assert mbsim("inspect", "m.h5", "--json").json["bytes"] == path.stat().st_size


def test_a_look_at_a_table_that_somebody_ends_makes_no_model_invalid(hostile, mbsim, variant, monkeypatch):
    """Cases of studies whose tables vary read them each, and are tried again then."""
    hostile(lambda file: None)
    monkeypatch.setattr(tables, "_hdf5_columns", lambda path: os.kill(os.getpid(), signal.SIGKILL))
    law = "{type: table, file: m.h5, columns: {value: A1.angle}}"
    model = variant("forces:", f"constraints: {{m: {{type: motion, coordinate: A.angle, law: {law}}}}}\nforces:")
    done = mbsim("run", model)
    assert done.code == 5 and "ended by signal 9" in done.err


@pytest.mark.parametrize("case", ["link to a file", "external", "circle"])
def test_tables_too(mbsim, hostile, variant, case):
    hostile(CASES[case][0])
    law = "{type: table, file: m.h5, columns: {value: A1.angle}}"
    model = variant("forces:", f"constraints: {{m: {{type: motion, coordinate: A.angle, law: {law}}}}}\nforces:")
    done = mbsim("validate", model)
    assert done.code == 3 and "cannot read" in done.err


def test_a_crash_of_the_library_is_a_damaged_file(small, monkeypatch):
    assert quarantine.fault_of(small, lambda path: None) == ""
    assert quarantine.fault_of(small, lambda path: 1 / 0) == "division by zero"
    assert quarantine.fault_of(small, lambda path: os.kill(os.getpid(), signal.SIGSEGV)) == quarantine.CRASHED
    monkeypatch.setattr(quarantine, "PATIENCE", 0.2)
    assert quarantine.fault_of(small, lambda path: time.sleep(600)) == quarantine.HANGS


def test_a_file_that_the_library_turns_in_circles_on(fivebar, monkeypatch):
    def circles(path):
        while True:
            pass

    monkeypatch.setattr(quarantine, "PROCESSOR", 1)
    assert quarantine.fault_of(fivebar, circles) == quarantine.HANGS


@pytest.fixture
def small(tmp_path):
    """A file of a few bytes: looks at larger ones are waited for longer."""
    (tmp_path / "small").write_bytes(b"small")
    return tmp_path / "small"


@pytest.fixture
def seen(monkeypatch):
    """Have something done the fifth time that a child is looked at; what is seen of it may be changed."""
    honest = quarantine._state_of

    def fifth(work, changed=lambda number, state, spent: (state, spent)):
        count = itertools.count(1)

        def noted(child):
            number = next(count)
            if number == 5:
                work(child)
            return changed(number, *honest(child))

        monkeypatch.setattr(quarantine, "_state_of", noted)
        monkeypatch.setattr(quarantine, "PATIENCE", 0.05)

    return fifth


def test_a_machine_that_is_busy_makes_no_file_hang(small, seen):
    """A look that goes on is waited for: that of 20 000 sensors was given up where it got a fifth of a processor."""
    read, write = os.pipe()
    seen(lambda child: os.write(write, b"go on"), lambda number, state, spent: (state, [number]))
    assert quarantine.fault_of(small, lambda path: os.read(read, 5)) == ""


@pytest.mark.parametrize("state", "RD")
def test_what_waits_for_a_processor_or_a_disk_does_not_hang(small, seen, state):
    read, write = os.pipe()
    seen(lambda child: os.write(write, b"go on"), lambda number, _, spent: (state, spent))
    assert quarantine.fault_of(small, lambda path: os.read(read, 5)) == ""


def test_what_somebody_has_stopped_does_not_hang(small, seen):
    seen(lambda child: os.kill(child, signal.SIGCONT))
    assert quarantine.fault_of(small, lambda path: os.kill(os.getpid(), signal.SIGSTOP)) == ""


def test_states_are_those_of_the_system():
    state, spent = quarantine._state_of(os.getpid())
    assert state == "R" and sum(map(int, spent)) > 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_look_that_somebody_ends_says_nothing_of_the_file(fivebar, mbsim, pendulum, tmp_path, monkeypatch, number):
    """As the system does where memory is short, a scheduler, or an impatient user."""
    with pytest.raises(
        quarantine.Unjudged, match=f"cannot tell what .*fivebar.h5 is: .* ended by signal {int(number)}"
    ):
        quarantine.fault_of(fivebar, lambda path: os.kill(os.getpid(), number))
    (tmp_path / "r.h5").write_bytes(fivebar.read_bytes())
    monkeypatch.setattr(target, "require_format", lambda file, kind: os.kill(os.getpid(), number))
    done = mbsim("run", pendulum, "-o", "r.h5")
    assert done.code == 5 and "cannot tell what" in done.err
    assert not target.may_replace(tmp_path / "r.h5") and target.may_replace(tmp_path / "r.h5", force=True)


def test_a_file_that_asks_for_much_memory(fivebar, tmp_path):
    """More is there for a larger file."""
    large, size = tmp_path / "large", 10**8
    with large.open("wb") as file:
        file.truncate(size)
    most = quarantine.MEMORY + quarantine.MEMORY_EACH * size
    for path, amount, fault in (
        (fivebar, quarantine.MEMORY // 2, ""),
        (fivebar, quarantine.MEMORY * 2, quarantine.GREEDY),
        (large, most * 9 // 10, ""),
        (large, most * 2, quarantine.GREEDY),
    ):
        assert quarantine.fault_of(path, lambda _, amount=amount: np.empty(amount, "u1")) == fault


def test_texts_are_looked_at_before_they_are_read(mbsim, hostile):
    """The length of a text is a number beside the place where it stands, and HDF5 makes room for so much."""
    path = hostile(replaced("meta/platform/system", "x" * 54321))
    length = re.compile(re.escape(struct.pack("<I", 54321)) + rb"(?!\0{4})", re.DOTALL)  # and where the text stands
    data, count = length.subn(struct.pack("<I", 4 * 10**9), path.read_bytes())
    assert count == 1
    path.write_bytes(data)
    for arguments in READERS:
        assert mbsim(*arguments).code == 5
    with pytest.raises(InputOutputError, match="memory allocation failed"), guard.opened(path):
        pass


def test_a_file_that_the_library_fails_on_is_looked_at_once(mbsim, fivebar, monkeypatch):
    monkeypatch.setattr(sid_file, "fault_in", lambda *_: quarantine.HANGS)
    monkeypatch.setattr(quarantine, "fault_of", None)  # what ``guard`` calls
    done = mbsim("inspect", fivebar)
    assert done.code == 5 and f"is damaged: {quarantine.HANGS}" in done.err


@pytest.mark.parametrize("seed", range(12))
def test_damaged_bytes(mbsim, fivebar, tmp_path, seed):
    data = fivebar.read_bytes()
    (tmp_path / "m.h5").write_bytes(mutations.bytes_of(data, random.Random(seed)))
    assert mbsim("inspect", "m.h5", "--json").code in (0, 5)


def test_a_film_of_the_smallest_size(mbsim, fivebar):
    pytest.importorskip("matplotlib")
    assert mbsim("animate", fivebar, "--size", "64x64", "--fps", "2").code == 0
    done = mbsim("animate", fivebar, "--speed", "1e-12")
    assert done.code == 2 and "frames" in done.err
