"""Append-only files: what is whole is read again bit by bit, whatever happened to the rest."""

import os

import numpy as np
import pytest

from mbsim_cli.errors import InputOutputError
from mbsim_cli.study.sweep.frames import MARK, Appender, framed, read_frames

CONTENTS = [bytes([i]) * (i * 7 % 50) + MARK * (i % 3) for i in range(24)]  # marks may stand in contents


@pytest.fixture
def path(tmp_path):
    appender = Appender(tmp_path / "f.rows")
    for content in CONTENTS:
        appender.append(content)
    appender.close()
    return tmp_path / "f.rows"


def contents(path):
    return [bytes(content) for _, content in read_frames(path)]


def test_what_was_appended_is_read(path, tmp_path):
    assert contents(path) == CONTENTS
    (tmp_path / "empty").touch()
    assert contents(tmp_path / "empty") == []


def test_wherever_a_writer_was_killed(path):
    whole = path.read_bytes()
    ends = [end for end, _ in read_frames(path)]
    for size in range(0, len(whole), 3):
        path.write_bytes(whole[:size])
        complete = sum(end <= size for end in ends)
        assert contents(path) == CONTENTS[:complete]
        if size % 60 == 0:
            appender = Appender(path)
            appender.append(b"new")
            appender.close()
            assert contents(path) == [*CONTENTS[:complete], b"new"]
            assert path.stat().st_size == (ends[complete - 1] if complete else 0) + len(framed(b"new"))


def test_damage_costs_what_it_hits(path):
    whole, random = path.read_bytes(), np.random.default_rng(5)
    ends = [end for end, _ in read_frames(path)]
    for place in random.integers(0, len(whole), 30).tolist():
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        hit = sum(end <= place for end in ends)
        assert contents(path) == CONTENTS[:hit] + CONTENTS[hit + 1 :]


def test_zeros_that_a_crash_of_the_machine_leaves(path):
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(4096))
    Appender(path).close()
    assert path.read_bytes() == whole


def test_one_process_appends(path):
    first = Appender(path)
    with pytest.raises(InputOutputError, match="another process is computing the same cases"):
        Appender(path)
    first.close()
    Appender(path).close()


def test_a_full_disk_takes_nothing_of_what_is_there(path, full_disk):
    appender = Appender(path)
    with full_disk(path.stat().st_size + 100):
        appender.append(b"fits")
        with pytest.raises(InputOutputError, match=r"cannot write .*File too large"):
            appender.append(b"does not" * 100)
        assert contents(path) == [*CONTENTS, b"fits"]
    appender.append(b"again")
    appender.close()
    assert contents(path) == [*CONTENTS, b"fits", b"again"]


@pytest.mark.parametrize("again", [False, True])
def test_a_file_that_vanishes_is_missed(path, again):
    appender = Appender(path)
    os.unlink(path)
    if again:
        path.touch()
    with pytest.raises(InputOutputError, match="cannot write"):
        appender.append(b"lost")
