"""Worker processes: the same bits as in one process, and none of what can befall a worker ends the study."""

from collections import deque

import numpy as np
import pytest

from mbsim_cli.errors import InputOutputError, MbsimError
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.sweep.in_process import InProcess
from mbsim_cli.study.sweep.outcomes import DONE, LOST, TIMEOUT
from mbsim_cli.study.sweep.processes import Processes
from tests.study.sweep.fakes import DIES, HANGS, cases_of, evaluate, start, start_dead, start_refused, values_of


def computed(workers, cases):
    found = {row.case: (row, kept) for row, kept in workers.compute(deque(cases))}
    assert sorted(found) == [case.number for case in cases]
    return [found[case.number] for case in cases]


def test_two_workers_one_dead_and_one_late():
    values = values_of(30)
    values[11, 1], values[17, 1] = DIES, HANGS
    cases = cases_of(values)
    found = computed(Processes(start, 2, SILENT, timeout=0.5), cases)
    assert [row.status for row, _ in found] == [{11: LOST, 17: TIMEOUT}.get(i, DONE) for i in range(30)]
    assert found[11][0].remarks == {"failure": "its worker died (signal 9)"}
    assert found[17][0].remarks == {"failure": "took more than 0.5 s"}
    whole = [case for case in cases if case.number not in (11, 17)]
    for row, kept in computed(InProcess(evaluate), whole):
        other, other_kept = found[row.case]
        assert other.numbers.tobytes() == row.numbers.tobytes() and other_kept == kept
        assert np.isfinite(row.numbers).all()


@pytest.mark.parametrize(
    ("begin", "error", "sentence"),
    [(start_refused, MbsimError, "nothing can be computed here"), (start_dead, InputOutputError, "die at their start")],
)
def test_workers_that_cannot_start(begin, error, sentence):
    with pytest.raises(error, match=sentence) as raised:
        computed(Processes(begin, 1, SILENT), cases_of(values_of(3)))
    assert raised.value.exit_code in (4, 5)
