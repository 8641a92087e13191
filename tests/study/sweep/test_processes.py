"""Worker processes: the same bits as in one process, and none of what can befall a worker ends the study."""

from collections import deque
from time import sleep

import numpy as np
import pytest

from mbsim_cli.errors import InputOutputError, MbsimError
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.sweep import processes
from mbsim_cli.study.sweep.processes import Processes
from mbsim_cli.study.sweep.store import DONE, LOST, TIMEOUT
from tests.study.sweep.fakes import (
    DIES,
    HANGS,
    SLOW,
    Grouped,
    OneByOne,
    cases_of,
    start,
    start_dead,
    start_grouped,
    start_refused,
    values_of,
)


def computed(workers, cases):
    found = {row.case: (row, kept) for row, kept in workers.compute(deque(cases))}
    assert sorted(found) == [case.number for case in cases]
    return [found[case.number] for case in cases]


def test_two_workers_one_dead_and_one_late():
    values = values_of(30)
    values[11, 1], values[17, 1] = DIES, HANGS
    cases = cases_of(values)
    found = computed(Processes(start, 2, SILENT, timeout=2.0), cases)
    assert [row.status for row, _ in found] == [{11: LOST, 17: TIMEOUT}.get(i, DONE) for i in range(30)]
    assert found[11][0].remarks == {"failure": "its worker died (signal 9)"}
    assert found[17][0].remarks == {"failure": "took more than 2 s"}
    whole = [case for case in cases if case.number not in (11, 17)]
    for row, kept in computed(OneByOne(), whole):
        other, other_kept = found[row.case]
        assert other.numbers.tobytes() == row.numbers.tobytes() and other_kept == kept
        assert np.isfinite(row.numbers).all()


def test_a_case_that_is_a_little_late():
    values = values_of(1)
    values[0, 1] = SLOW
    ((row, _),) = computed(Processes(start, 1, SILENT, timeout=0.02), cases_of(values))
    assert row.status == TIMEOUT


def test_the_clock_of_a_case_starts_with_the_case(monkeypatch):
    """However long its worker had nothing to do before."""
    worker = processes._Worker(start)
    time = iter([0.0, 10.0, 11.0, 15.5])  # it is ready, has a case, and is looked at twice
    monkeypatch.setattr(processes, "monotonic", lambda: next(time))
    worker.begin()
    worker.give(cases_of(values_of(1)))
    assert [worker.time_left(5.0), worker.time_left(5.0)] == [4.0, 0.0]
    worker.end()


def test_nobody_listens_for_a_while():
    """Cases that were computed meanwhile are not late, and one that was slow is, though its answer is there."""
    values = values_of(4)
    values[2, 1] = SLOW
    statuses = {}
    for row, _ in Processes(start, 1, SILENT, timeout=0.4).compute(deque(cases_of(values))):
        statuses[row.case] = row.status
        sleep(0.5)
    assert statuses == {0: DONE, 1: DONE, 2: TIMEOUT, 3: DONE}


def test_cases_that_are_computed_together():
    """Of a group that a worker dies of each case is tried alone, and where a clock runs there are no groups."""
    values = values_of(40)
    values[21, 1] = DIES
    workers = Processes(start_grouped, 2, SILENT)
    found = computed(workers, cases_of(values))
    assert workers.batch_size == 8
    assert [row.status for row, _ in found] == [LOST if i == 21 else DONE for i in range(40)]
    values[21, 1] = HANGS
    workers = Processes(start_grouped, 1, SILENT, timeout=1.0)
    found = computed(workers, cases_of(values)[18:24])
    assert workers.batch_size == 1 and [row.status for row, _ in found] == [DONE] * 3 + [TIMEOUT] + [DONE] * 2


def test_groups_in_this_process():
    workers = Grouped()
    assert len(computed(workers, cases_of(values_of(20)))) == 20
    assert workers.sizes == [1, 8, 8, 3] and workers.batch_size == 8


@pytest.mark.parametrize(
    ("begin", "error", "sentence"),
    [(start_refused, MbsimError, "nothing can be computed here"), (start_dead, InputOutputError, "die at their start")],
)
def test_workers_that_cannot_start(begin, error, sentence):
    with pytest.raises(error, match=sentence) as raised:
        computed(Processes(begin, 1, SILENT), cases_of(values_of(3)))
    assert raised.value.exit_code in (4, 5)
