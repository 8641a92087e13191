"""Studies that are killed again and again: in the end no case is missing or counts twice, and all bits are the same."""

import contextlib
import itertools
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import h5py
import pytest

from mbsim_cli.study.sweep.store import DONE, ledger_of
from mbsim_cli.study.sweep.study_folder import StudyFolder
from tests.cli.conftest import COMMAND, PENDULUM, environment
from tests.cli.test_interruption import PATIENCE

STUDY = "study: {s: {sobol: {parameters: {L: {from: 0.5, to: 2}, k: {from: 1, to: 9}}, count: 60}, keep: sensors}}\n"
CASES = 60
ENDS = (0, -signal.SIGKILL, 128 + signal.SIGTERM, -signal.SIGTERM)  # the last before it has taken signals over


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The model, and the folder of a study that nothing befell."""
    folder = tmp_path_factory.mktemp("undisturbed")
    model = folder / "m.yaml"
    model.write_text(PENDULUM.replace("duration: 0.5", "duration: 3") + STUDY)
    subprocess.run([*COMMAND, *sweep(model, "whole")], cwd=folder, env=environment(), check=True, capture_output=True)
    return model, folder / "whole"


def sweep(model: Path, folder: str, *options: str) -> list[str]:
    return ["sweep", str(model), "-o", folder, "--quiet", *options]


def workers_of(parent: int) -> list[int]:
    """Processes that compute for another one."""
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return [
            int(child) for child in children if b"processes import work" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
    except OSError:
        return []


def strike(run: subprocess.Popen, what: str, chance: random.Random) -> str:
    """Kill the study, one of its workers if there are any, or ask it to end; what was done."""
    if what == "worker":
        if workers := workers_of(run.pid):
            os.kill(chance.choice(workers), signal.SIGKILL)
            return what
        what = "kill"
    if run.poll() is None:
        run.send_signal(signal.SIGTERM if what == "terminate" else signal.SIGKILL)
    return what


def disturbed(model: Path, folder: Path, chance: random.Random, most: int) -> Counter[str]:
    """Run a study until it is done; what befell it."""
    befell: Counter[str] = Counter()
    while True:
        run = subprocess.Popen(
            [*COMMAND, *sweep(model, folder.name, "-j", "2")],
            cwd=folder.parent,
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        if befell.total() < most:
            rows = folder / "shard-1-of-1.rows"
            before = rows.stat().st_size if rows.exists() else 0
            early = chance.random() < 0.2  # while it starts
            while not early and run.poll() is None:
                if rows.exists() and rows.stat().st_size > before:
                    break
                time.sleep(0.005)
            time.sleep(chance.random() * 0.2)
            if run.poll() is None:
                befell[strike(run, chance.choice(["kill", "worker", "terminate"]), chance)] += 1
        _, said = run.communicate(timeout=PATIENCE)
        assert run.returncode in ENDS and "Traceback" not in said, said
        if run.returncode == 0:
            return befell


def assert_the_same(folder: Path, undisturbed) -> None:
    whole, ledger = (ledger_of(StudyFolder(path)) for path in (undisturbed[1], folder))
    assert ledger.counts == {DONE: CASES} and not ledger.foreign_rows
    assert list(ledger.identities) == list(whole.identities)
    assert ledger.numbers().tobytes() == whole.numbers().tobytes()
    with h5py.File(undisturbed[1] / "study.h5") as expected, h5py.File(folder / "study.h5") as found:
        for name in ("design", "result", "gradient", "status", "reason", "sensors/angle"):
            assert found[name].dtype == expected[name].dtype and (found[name][:] == expected[name][:]).all(), name


@pytest.mark.parametrize("kills", [1, pytest.param(100, marks=pytest.mark.slow)])
def test_studies_that_are_killed(undisturbed, tmp_path, record_property, kills):
    """One that was done before it could be killed does not count."""
    chance, befell, studies = random.Random(7), Counter(), 0
    while befell.total() < kills:
        folder = tmp_path / f"st{studies}"
        befell += disturbed(undisturbed[0], folder, chance, kills - befell.total())
        assert_the_same(folder, undisturbed)
        studies += 1
    record_property("counts", f"studies killed: {dict(befell)} in {studies} studies")


@pytest.mark.slow
def test_two_shards_at_once(undisturbed, tmp_path):
    model = undisturbed[0]
    runs = [
        subprocess.Popen(
            [*COMMAND, *sweep(model, "st", "--shard", f"{i}/2")],
            cwd=tmp_path,
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in (1, 2)
    ]
    for run in runs:
        _, said = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0, said
    assert_the_same(tmp_path / "st", undisturbed)
    assert len(list((tmp_path / "st").iterdir())) == 2 * 2 + 3


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_what_a_terminal_or_a_scheduler_sends_to_all(undisturbed, tmp_path, number, code):
    """To the workers too, some of which are just starting."""
    for folder in map("st{}".format, itertools.count()):
        words = [*COMMAND, *sweep(undisturbed[0], folder, "-j", "2")]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        run = subprocess.Popen(words, cwd=tmp_path, env=environment(), start_new_session=True, **pipes)
        while not workers_of(run.pid) and run.poll() is None:
            time.sleep(0.01)
        time.sleep(0.3)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.pid, number)
        _, said = run.communicate(timeout=PATIENCE)
        if run.returncode:  # or else it was done before
            break
    assert run.returncode == code and "Traceback" not in said, said
    assert f"computed cases are kept in {folder}; the same command continues" in said
