"""Append-only files: what is whole is read again bit by bit, whatever happened to the rest."""

import errno
import fcntl
import os

import numpy as np
import pytest

from mbsim_cli.errors import InputOutputError
from mbsim_cli.study.sweep import frames
from mbsim_cli.study.sweep.frames import MARK, Appender, framed, read_frames

CONTENTS = [bytes([i]) * (i * 7 % 50) + MARK * (i % 3) for i in range(24)]  # marks may stand in contents


@pytest.fixture
def path(tmp_path):
    appender = Appender(tmp_path / "f.rows")
    for content in CONTENTS:
        appender.append(content)
    appender.close()
    return tmp_path / "f.rows"


def beginnings(path, most):
    return [content for _, content in read_frames(path, most)]


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


def test_a_search_finds_marks_wherever_they_lie(path, monkeypatch):
    whole = path.read_bytes()
    first = len(framed(CONTENTS[0]))
    for piece in (1, 2, 3, 5, 64):
        monkeypatch.setattr(frames, "PIECE", piece)
        path.write_bytes(b"?" * piece + whole[1:])
        assert contents(path) == CONTENTS[1:]
        path.write_bytes(MARK[:3] + whole[first:])
        assert contents(path) == CONTENTS[1:]


def test_a_file_that_is_cut_while_it_is_read(path):
    """As a writer does that goes on behind a killed one; a file that is mapped would end the reader by a signal."""
    appender = Appender(path)
    for _ in range(6):
        appender.append(bytes(100_000))
    appender.close()
    reader = read_frames(path)
    for _ in range(len(CONTENTS) + 2):
        next(reader)
    os.truncate(path, 350_000)
    assert len(list(reader)) <= 2


def test_beginnings_are_those_of_the_frames(path):
    assert beginnings(path, 9) == [content[:9] for content in CONTENTS]
    whole, last = path.read_bytes(), len(framed(CONTENTS[-1]))
    path.write_bytes(whole[: -last - 1] + b"?" + whole[-last:-2])  # damage behind a beginning, and an end cut off
    assert beginnings(path, 4) == [content[:4] for content in CONTENTS[:-1]]


def test_beginnings_of_damaged_files_are_those_of_whole_frames(path):
    """Wherever bytes are missing or changed: of a frame that is found by its beginning no other is lost."""
    whole, random = path.read_bytes(), np.random.default_rng(6)
    for place in random.integers(0, len(whole), 40).tolist():
        for damaged in (
            whole[:place] + whole[place + int(random.integers(1, 40)) :],
            whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :],
            whole[:place] + b"?" + whole[place:],
        ):
            path.write_bytes(damaged)
            found, known = beginnings(path, 1000), contents(path)
            assert [content for content in found if content in known] == known and len(found) <= len(known) + 1


def test_two_writers_where_no_locks_are(path, monkeypatch):
    """Neither writes over what the other wrote: the second ends."""

    def refuse(handle, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    first, second = Appender(path), Appender(path)
    first.append(b"mine")
    with pytest.raises(InputOutputError, match="another process is computing the same cases"):
        second.append(b"yours")
    first.append(b"too")
    assert contents(path) == [*CONTENTS, b"mine", b"too"]


def test_nothing_of_what_fails_stays(path, full_disk):
    appender, size = Appender(path), path.stat().st_size
    with full_disk(size + 100), pytest.raises(InputOutputError):
        appender.append(b"does not" * 100)
    assert path.stat().st_size == size
