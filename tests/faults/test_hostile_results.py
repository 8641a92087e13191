"""Results come from anywhere: what is not as the format says is refused with exit code 5, wherever it is read."""

import random

import h5py
import numpy as np
import pytest

from mbsim_cli.io import quarantine
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
    change, sentence = CASES[case]
    hostile(change)
    for arguments in READERS:
        done = mbsim(*arguments)
        assert done.code == 5 and sentence in done.err and done.err.count("\n") == 1, done


@pytest.mark.parametrize("case", ["link to a file", "external", "circle"])
def test_tables_too(mbsim, hostile, variant, case):
    hostile(CASES[case][0])
    law = "{type: table, file: m.h5, columns: {value: A1.angle}}"
    model = variant("forces:", f"constraints: {{m: {{type: motion, coordinate: A.angle, law: {law}}}}}\nforces:")
    done = mbsim("validate", model)
    assert done.code == 3 and "cannot read" in done.err


def test_a_crash_of_the_library_is_a_damaged_file(fivebar):
    import os
    import signal
    import time

    assert quarantine.fault_of(fivebar, lambda path: None) == ""
    assert quarantine.fault_of(fivebar, lambda path: 1 / 0) == "division by zero"
    assert quarantine.fault_of(fivebar, lambda path: os.kill(os.getpid(), signal.SIGSEGV)) == quarantine.CRASHED
    quarantine_patience, quarantine.PATIENCE = quarantine.PATIENCE, 0.2
    try:
        assert quarantine.fault_of(fivebar, lambda path: time.sleep(60)) == quarantine.HANGS
    finally:
        quarantine.PATIENCE = quarantine_patience


def test_a_file_that_the_library_turns_in_circles_on(fivebar, monkeypatch):
    def circles(path):
        while True:
            pass

    monkeypatch.setattr(quarantine, "PROCESSOR", 1)
    assert quarantine.fault_of(fivebar, circles) == quarantine.HANGS


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
