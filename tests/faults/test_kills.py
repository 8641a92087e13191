"""Killed runs: what stood under the final name stays, what was computed is kept, left-overs go with the next run."""

import collections
import random
import signal
import subprocess
import time

import h5py
import pytest

from tests.cli.conftest import COMMAND, environment, ordinary_signals
from tests.cli.test_interruption import PATIENCE, long_run, stop

__all__ = ["long_run"]
POLITE = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGQUIT: 131, signal.SIGUSR1: 138}
ROUNDS = 100


@pytest.mark.parametrize(
    "number",
    [signal.SIGHUP, *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGQUIT, signal.SIGUSR1))],
)
def test_what_schedulers_send_keeps_what_was_computed(long_run, tmp_path, number):
    run, _, err = stop(["run", "long.yaml"], tmp_path, number, long_run)
    assert run.returncode == POLITE[number] and "Traceback" not in err, err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.h5.partial", "long.yaml"]


def test_what_a_killed_run_leaves_goes_with_the_next(long_run, tmp_path, mbsim, pendulum):
    stop(["run", "long.yaml", "-o", "r.h5"], tmp_path, signal.SIGKILL, lambda: any(tmp_path.glob(".r.h5.*.tmp")))
    (left,) = tmp_path.glob(".r.h5.*")
    (tmp_path / ".r.h5.other-machine-1.mbsim.tmp").write_text("in use elsewhere")
    done = mbsim("run", pendulum, "-o", "r.h5")
    assert done.code == 0 and f"removed {left}, which a run that was killed had left" in done.err
    assert [path.name for path in tmp_path.glob(".*")] == [".r.h5.other-machine-1.mbsim.tmp"]


def test_the_file_of_a_run_that_goes_on_stays(tmp_path, mbsim, pendulum):
    from mbsim_cli.io.target import TemporaryFile

    other = TemporaryFile(tmp_path / "pendulum.h5")
    done = mbsim("run", pendulum)
    assert done.code == 0 and "removed" not in done.err and other.path.exists()
    other.discard()


def left_overs(folder):
    """When each unfinished file in a folder was written last."""
    return {path.stat().st_ctime_ns for path in folder.glob(".r.h5.*.tmp")}


@pytest.mark.slow
def test_a_hundred_kills(mbsim, pendulum, tmp_path, record_property):
    """At random times, over a result that is there: it is the old one or a whole new one, nothing else is lost."""
    assert mbsim("run", pendulum, "-o", "r.h5").code == 0
    old = (tmp_path / "r.h5").read_bytes()
    text = pendulum.read_text().replace("step: 1e-2, duration: 0.5", "step: 1e-4, duration: 30")
    (tmp_path / "m.yaml").write_text(text)
    choose, counts = random.Random(7), collections.Counter()
    start = time.monotonic()
    assert subprocess.run([*COMMAND, "run", "m.yaml", "-q"], cwd=tmp_path, env=environment()).returncode == 0
    whole = time.monotonic() - start
    for number in ROUNDS // 4 * [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]:
        (tmp_path / "r.h5").write_bytes(old)
        (tmp_path / "r.h5.partial").unlink(missing_ok=True)
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "preexec_fn": ordinary_signals}
        before = left_overs(tmp_path)  # of a run that was killed, while no other has begun to write
        run = subprocess.Popen([*COMMAND, "run", "m.yaml", "-o", "r.h5"], cwd=tmp_path, env=environment(), **pipes)
        time.sleep(choose.uniform(0.0, whole))
        run.send_signal(number)
        err = run.communicate(timeout=PATIENCE)[1]
        assert run.returncode in (0, -number, POLITE.get(number)) and "Traceback" not in err, err
        new = (tmp_path / "r.h5").read_bytes() != old
        for name in ["r.h5"] * new + ["r.h5.partial"] * (tmp_path / "r.h5.partial").exists():
            with h5py.File(tmp_path / name) as file:
                rows = len(file["time"])
                assert file.attrs["status"] == ("partial" if name.endswith("partial") else "complete")
                assert {len(file[f"sensors/{sensor}"]) for sensor in file["sensors"]} == {rows}
        left = left_overs(tmp_path)
        assert left <= before or (number == signal.SIGKILL and len(left - before) == 1)
        kept = (tmp_path / "r.h5.partial").exists()
        counts[signal.Signals(number).name, "new" if new else "partial" if kept else "old"] += 1
    record_property(
        "counts", "kills: " + ", ".join(f"{name} {what}: {n}" for (name, what), n in sorted(counts.items()))
    )
