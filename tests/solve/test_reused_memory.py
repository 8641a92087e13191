"""Memory of blocks: taken again where nobody holds it, left alone where somebody does."""

import numpy as np
import pytest

from mbsim_cli import assembly, spec
from mbsim_cli.model.memory import together
from mbsim_cli.solve.forward import forward
from mbsim_cli.solve.reused_memory import ReusedMemory
from tests.cli.conftest import PENDULUM


def place(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", [float, complex])
def test_memory_that_nobody_holds_is_taken_again(dtype):
    memory = ReusedMemory()
    first = memory.empty((100, 3), dtype)
    first[...] = 1.0
    here = place(first)
    del first
    smaller = memory.zeros((60, 3), dtype)
    assert place(smaller) == here and not smaller.any() and smaller.flags.c_contiguous and here % 64 == 0


@pytest.mark.parametrize("held", [lambda a: a, lambda a: a[2:5].T, lambda a: a.reshape(-1)[:0], lambda a: a[0].real])
def test_memory_that_is_held_stays_as_it_is(held):
    memory = ReusedMemory()
    kept = held(memory.zeros((100, 3), float))
    before, other = kept.copy(), memory.empty((100, 3), float)
    other[...] = 7.0
    assert not np.shares_memory(kept, other) and np.array_equal(kept, before)


def test_much_larger_or_other_memory_is_not_taken():
    memory = ReusedMemory()
    here = place(memory.empty((100,), float))
    large = memory.empty((100,), float)
    assert place(large) == here
    kept = memory.empty((100,), float)
    del large
    assert place(memory.empty((40,), float)) != here  # and what was free is let go
    assert place(kept) != here and memory.empty((0, 3), complex).shape == (0, 3)


@pytest.mark.parametrize("rows", [0, 3, 100_000, 600_000])
def test_arrays_lie_in_one_piece_and_none_in_another(rows):
    """From half of a large page on they begin on one."""
    arrays = together([(rows, 2), (rows,), (rows, 3)], [float, bool, complex])
    for number, array in enumerate(arrays):
        array[...] = number
    assert [array.dtype for array in arrays] == [float, bool, complex]
    assert [array.shape for array in arrays] == [(rows, 2), (rows,), (rows, 3)]
    assert all((array == number).all() for number, array in enumerate(arrays))
    assert not rows or not any(place(array) % 64 for array in arrays)
    assert rows < 100_000 or place(arrays[0]) % 2**21 == 0


def test_a_piece_is_taken_again_when_the_last_of_its_arrays_is_gone():
    shapes = [(200_000,), (100_000, 2)]
    first, second = together(shapes, [float, float])
    here, part = place(first), second[5:7, 1]
    part[...] = 3.0
    del first, second
    (other,) = together([(300_000,)], [float])
    other[...] = 7.0
    assert not np.shares_memory(part, other) and (part == 3.0).all()
    del part
    (again,) = together([(400_000,)], [float])
    assert place(again) == here and not np.shares_memory(again, other)


def test_blocks_that_are_kept_keep_their_numbers(tmp_path):
    path = tmp_path / "pendulum.yaml"
    path.write_text(PENDULUM)
    problem = assembly.build(spec.load(path), sensitivity="ddm").problem
    places: list[int] = []

    def passing():
        for block in forward(problem, block_steps=10):
            places.append(place(block.position))
            found = [np.array(values) for values in block]
            del block
            yield found

    kept, passed = list(forward(problem, block_steps=10)), list(passing())
    assert len(set(places[1:])) == 1 and len(kept) == 5
    for block, found in zip(kept, passed, strict=True):
        assert all(np.array_equal(values, others) for values, others in zip(block, found, strict=True))
