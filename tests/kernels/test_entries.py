"""Entries are called through C's interface: what they are given and return, in code of both loaders."""

import enum
import os
import pickle
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from mbsim_cli.kernels.compiler import arguments, image, installed, watch
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.kernels.compiler.jit import bound, entry, kernel
from mbsim_cli.kernels.compiler.store import Store
from mbsim_cli.study import evaluation

compiled_only = pytest.mark.skipif(COMPILER != "linking", reason="what the linking compiler does")


class Colour(enum.IntEnum):
    RED = 7


class Switches(NamedTuple):
    first: bool
    second: bool


class Mixed(NamedTuple):
    on: bool
    switches: Switches
    z: complex
    nothing: None
    pair: tuple
    colour: Colour
    rows: np.ndarray
    inner: tuple


@kernel
def write_all(on, mixed, view, records, count, x, z, out):
    """Everything that is given, one after the other."""
    out[0] = count + (1.0 if on else 0.0)
    out[1] = x + (1.0 if mixed.on else 0.0) + (2.0 if mixed.switches.first else 0.0)
    out[2] = (1.0 if mixed.switches.second else 0.0) + mixed.z.imag + z.real
    out[3] = mixed.pair[0] * mixed.pair[1] + mixed.colour
    out[4] = mixed.rows[1, 2] + (0.0 if mixed.nothing is None else 100.0)
    out[5] = mixed.inner[0][1] + mixed.inner[1].first
    for i in range(view.size):
        out[6] += view[i]
    out[7] = records[1]["b"] + records[1]["a"][1]


@kernel
def give_all(on, mixed, view, records, count, x, z, out):
    write_all(on, mixed, view, records, count, x, z, out)
    return count, x, on, z, mixed.pair[1] > 2


def given(dtype=float):
    """Read-only, strided and structured arrays; booleans before and behind what is aligned."""
    rows = np.arange(6.0).reshape(2, 3)
    rows.flags.writeable = False
    records = np.zeros(2, [("a", "f8", (2,)), ("b", "i8")])
    records[1] = ([1.5, 2.5], 3)
    mixed = Mixed(True, Switches(True, True), 1 + 2j, None, (2, 3), Colour.RED, rows, ((1, 4.5), Switches(True, False)))
    return True, mixed, np.arange(20, dtype=dtype)[1::3], records, 3, np.float64(0.25), 5 - 1j


@compiled_only
@pytest.mark.parametrize("images", [True, False])
def test_kernels_see_what_python_gives(images, tmp_path, monkeypatch):
    if images and not image.IMAGES:
        pytest.skip("images are for x86-64 Linux")
    from mbsim_cli.kernels.compiler import compiling

    monkeypatch.setattr(compiling, "IMAGES", images)
    monkeypatch.setattr(watch, "STORE", Store(lambda: tmp_path, "kernels"))
    expected = np.zeros(8)
    returned = give_all(*given(), expected)
    for _ in range(2):  # compiled, then loaded
        call, found = entry(give_all), np.zeros(8)
        assert call(*given(), found) == returned
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(expected, [4, 3.25, 8, 13, 5, 5.5, 70, 5.5])


@entry
def weigh(rows, switches, on, out, last, x, y):
    """Content of the arrays, and all numbers."""
    out[0] = rows[0] + (10.0 if switches.second else 0.0) + (100.0 if on and last else 0.0)
    return out[0] + x, y


def test_a_bound_entry_reads_its_arrays_and_the_numbers_of_each_call():
    rows, out = np.array([1.0, 2.0]), np.zeros(1)
    call = bound(weigh, rows, Switches(False, True), True, out, True)  # a single byte before the numbers
    assert call(0.5, 4.0) == (111.5, 4.0)
    rows[0] = 3.0
    assert call(np.float64(0.25), -4.0) == (113.25, -4.0)
    assert out[0] == 113.0


def test_a_bound_entry_holds_what_it_is_given():
    call = bound(weigh, np.array([1.0, 2.0]), Switches(False, True), True, np.zeros(1), False)
    first = call(0.5, 4.0)
    others = [np.full(2, 7.0) for _ in range(100)]
    assert call(0.5, 4.0) == first and len(others) == 100


def test_the_structure_is_that_of_c():
    whole = struct.Struct(arguments.layout(given()))
    pieces = [struct.Struct(each) for each in arguments.layouts(given())]
    numbers = [each.numbers for each in arguments.taken_apart(given())[1]]
    packed = b"".join(piece.pack(*each) for piece, each in zip(pieces, numbers, strict=True))
    assert len(pieces) == 3
    assert whole.size == len(packed) == 8 + (8 + 16 + 8 + 16 + 8 + 72 + 24) + 56 + 56 + 8 + 8 + 16
    assert packed == whole.pack(*(number for each in numbers for number in each))
    assert whole.unpack(packed)[:5] == (True, True, True, True, 1.0)


@compiled_only
def test_what_decides_on_the_compiled_form_is_told_apart():
    a = np.zeros((2, 2))
    frozen = a.copy()
    frozen.flags.writeable = False
    different = [a, frozen, a.T[:1], np.asfortranarray(np.ones((2, 2))), a[0], a > 0, a + 0j, 1, 1.0, True, None, (1,)]
    different += [(1.0,), Colour.RED, Switches(True, True), (True, True), 1j, ((1,), 1), (1, (1,))]
    assert len({arguments.description((x,)) for x in different}) == len(different)
    assert len({arguments.taken_apart((x,))[0] for x in different}) == len(different)
    for x in (1, 1.0, True, 1j):  # one form for numbers of Python and numpy
        assert arguments.description((x,)) == arguments.description((np.array([x])[0],))
    with pytest.raises(TypeError, match="not float32"):
        arguments.layout((np.float32(1.0),))


@kernel
def refuse(x):
    if x < 0.0:
        raise ValueError("x is negative")
    return 2.0 * x


@compiled_only
def test_exceptions_of_kernels_are_raised():
    call = entry(refuse)
    assert call(2.0) == 4.0
    with pytest.raises(ValueError, match="x is negative"):
        call(-1.0)
    assert call(3.0) == 6.0
    with pytest.raises(TypeError, match="takes 1 arguments, not 2"):
        call(1.0, 2.0)


@kernel
def count_until(told, places, most):
    """Count in one place until a number stands in another; places are read, so that no number is read ahead."""
    while told[places[0]] == 0.0 and told[places[1]] < most:
        told[places[1]] += 1.0
    return told[places[0]]


def test_groups_that_calls_share_are_taken_apart_once(monkeypatch):
    """A model stays known while work areas come and go; what is said of a group is the same each time."""
    arguments.forget()
    model, honest, seen = tuple(np.zeros((k, 2)) for k in range(40)), arguments._take_apart, []
    monkeypatch.setattr(arguments, "_take_apart", lambda x, *out: seen.append(x[0]) or honest(x, *out))
    first = arguments.taken_apart((model, 1.5))
    for k in range(100):
        work = tuple(np.full(3, k) for _ in range(20))
        kinds, (same, other, numbers) = arguments.taken_apart((model, work, 1.5))
        assert kinds[0] == first[0][0] and same is first[1][0] and numbers.numbers == [1.5]
        assert other.numbers[4] == work[0].ctypes.data
    assert sum(x is model for x in seen) == 1
    assert len(arguments._known) <= arguments._MOST
    arguments.forget()
    assert not arguments._known


def test_records_are_let_go_before_the_next_block(monkeypatch):
    """Each block of a run has new ones, of up to some 10 MB."""
    remembered = []

    def solved(problem, theta, tape):
        for _ in range(3):
            remembered.append(len(arguments._known))
            arguments.taken_apart((tuple(np.zeros((9, 5))),))
            yield SimpleNamespace(time=np.zeros(1))
        remembered.append(len(arguments._known))

    arguments.forget()
    monkeypatch.setattr(evaluation, "solved", solved)
    assert sum(len(arguments._known) for _ in evaluation.blocks_of(None)) == 3
    assert remembered == [0] * 4


@compiled_only
def test_other_threads_run_meanwhile():
    """One ends a loop that would otherwise go on for minutes."""
    call, told, places = entry(count_until), np.zeros(2), np.array([0, 1])
    assert call(told, places, 1.0) == 0.0
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(call, told, places, 1e11)
        while told[1] < 1e3:
            time.sleep(0.001)
        told[0] = 1.0
        assert found.result() == 1.0


def test_versions_are_read_without_loading_libraries():
    script = """
import sys
from mbsim_cli.kernels.compiler.installed import is_switched_off, processor_of, version
from mbsim_cli.io.provenance import LIBRARIES, platform_facts
facts = platform_facts()
found = facts["numba"], version("llvmlite"), facts["scipy"], is_switched_off()
processor_of()
assert not {"numba", "llvmlite", "scipy", "importlib.metadata"} & set(sys.modules) or sys.platform != "linux"
import numba, llvmlite, scipy
assert found == (numba.__version__, llvmlite.__version__, scipy.__version__, bool(numba.config.DISABLE_JIT)), found
assert all(facts[name] == __import__(name).__version__ for name in LIBRARIES)
"""
    subprocess.run([sys.executable, "-c", script], check=True, env={**os.environ})


def test_processors_are_told_apart(tmp_path):
    (tmp_path / "one").write_text("processor: 0\nmodel name: A\ncpu MHz: 1\nflags: avx avx2\n\nprocessor: 1\n")
    (tmp_path / "faster").write_text("processor: 0\nmodel name: A\ncpu MHz: 2\nflags: avx avx2\n\nprocessor: 1\n")
    (tmp_path / "other").write_text("processor: 0\nmodel name: A\ncpu MHz: 1\nflags: avx\n\n")
    one, faster, other, unknown = (
        installed.processor_of(str(tmp_path / name)) for name in ("one", "faster", "other", "missing")
    )
    assert one == faster != other and unknown and unknown not in (one, other)


@compiled_only
def test_entries_are_pickled_by_name():
    from mbsim_cli.kernels.drivers.simulate import run

    assert pickle.loads(pickle.dumps(run)) is run


def test_a_single_row_is_of_the_type_of_many():
    one, many, columns = np.zeros((1, 4)), np.zeros((3, 4)), np.zeros((4, 3)).T
    assert one.flags.f_contiguous and one.flags.c_contiguous  # to numpy it is both
    kinds = [arguments.taken_apart((array,))[0] for array in (one, many, columns, many[:, ::2])]
    assert kinds[0] == kinds[1] and len(set(kinds)) == 3
    assert arguments.description((one,)) == arguments.description((many,)) != arguments.description((columns,))
