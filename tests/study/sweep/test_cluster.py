"""A Dask cluster on this machine: the same bits as in one process, though a worker dies in the middle."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import deque
from functools import partial

import pytest

from mbsim_cli.errors import InputOutputError
from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.sweep.evaluating import CaseEvaluator
from mbsim_cli.study.sweep.planning import StudyRequest
from mbsim_cli.study.sweep.store import LOST
from tests.cli.conftest import PENDULUM, ROOT, environment
from tests.study.sweep.fakes import cases_of, plan_study, values_of

pytest.importorskip("distributed")
CASES = 200


@contextlib.contextmanager
def ended(process):
    """Ends a process, and what it has started, at the end."""
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def started(*words):
    command = [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]]
    return ended(subprocess.Popen(command, env=environment(), cwd=ROOT, start_new_session=True))


@pytest.fixture
def cluster(tmp_path):
    """Address of a scheduler, and two workers of one thread each."""
    file = tmp_path / "scheduler.json"
    options = ["--scheduler-file", str(file)]
    here = ["--host", "127.0.0.1", "--no-dashboard"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(started("dask_scheduler", *options, *here, "--port", "0"))
        while not file.exists():
            time.sleep(0.1)
        worker = ["dask_worker", *options, *here, "--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path)]
        workers = [stack.enter_context(started(*worker)) for _ in range(2)]
        import json

        yield json.loads(file.read_text())["address"], workers


def planned(folder, count):
    """What starts an evaluator, and the cases of a grid."""
    (folder / "m.yaml").write_text(PENDULUM)
    stated = {"grid": {"L": {"from": 0.5, "to": 2, "count": 20}, "k": {"from": 1, "to": 5, "count": count // 20}}}
    plan, values = plan_study(folder / "m.yaml", StudyRequest(stated=stated), Settings())
    return partial(CaseEvaluator, plan), cases_of(values, plan.content)


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits(cluster, tmp_path):
    from mbsim_cli.study.sweep.cluster import Cluster

    address, workers = cluster
    start, cases = planned(tmp_path, CASES)
    found = {}
    for row, _ in Cluster(address, start, SILENT).compute(deque(cases)):
        found[row.case] = row
        if len(found) == CASES // 4:
            os.kill(workers[0].pid, signal.SIGKILL)
    assert sorted(found) == list(range(CASES))
    for row, _ in start(SILENT).compute(deque(cases)):
        assert found[row.case].status == 0 and found[row.case].numbers.tobytes() == row.numbers.tobytes()


@pytest.mark.slow
def test_a_worker_that_dies_with_what_it_computed(cluster, tmp_path, monkeypatch):
    """Between the moment that a case is known to be finished and the one that it is fetched."""
    import distributed

    from mbsim_cli.study.sweep.cluster import Cluster

    address, workers = cluster
    start, cases = planned(tmp_path, 40)
    finished = Cluster._finished

    def die_with_them(self, futures):
        distributed.wait(futures)
        os.kill(workers[0].pid, signal.SIGKILL)
        while all(future.done() for future in futures):
            time.sleep(0.01)
        monkeypatch.setattr(Cluster, "_finished", finished)
        return futures

    monkeypatch.setattr(Cluster, "_finished", die_with_them)
    rows = [row for row, _ in Cluster(address, start, SILENT).compute(deque(cases))]
    assert sorted((row.case, row.status) for row in rows) == [(case, 0) for case in range(40)]


def test_no_cluster(monkeypatch):
    from mbsim_cli.study.sweep import cluster as module

    monkeypatch.setattr(module, "PATIENCE", 0.5)
    with pytest.raises(InputOutputError, match=r"no Dask cluster answers at 127\.0\.0\.1:1"):
        module.Cluster("127.0.0.1:1", CaseEvaluator, SILENT)


@pytest.mark.parametrize("while_it_is_fetched", [False, True])
def test_a_case_that_dask_gives_up_is_lost_alone(while_it_is_fetched):
    """At any moment: workers that compute it again may die of it, too."""
    from mbsim_cli.study.sweep.cluster import _fetched

    class Future:
        status = "finished" if while_it_is_fetched else "error"

        def result(self):
            raise self.exception()

        def exception(self):
            return RuntimeError("its workers died of it")

    (case,) = cases_of(values_of(1))
    row = _fetched(case, Future()).row
    assert row.status == LOST and row.identity == case.identity and "died of it" in row.remarks["failure"]
