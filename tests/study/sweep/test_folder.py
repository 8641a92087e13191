"""Folders of studies: which plan goes on, which is refused, and that each case counts once."""

import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from functools import partial

import h5py
import numpy as np
import pytest

from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.io.study_file import StudyTable
from mbsim_cli.study.sweep.collecting import collect, export
from mbsim_cli.study.sweep.frames import Appender, framed
from mbsim_cli.study.sweep.store import (
    DONE,
    FAILED,
    LOST,
    MISSING,
    TIMEOUT,
    CaseData,
    encoded,
    ledger_of,
    packed,
)
from mbsim_cli.study.sweep.study_folder import DATA, ROWS, Quantity, Shard, StudyFolder, samples_hash
from tests.cli.conftest import environment
from tests.study.sweep.fakes import cases_of, plan_of, row_of, values_of
from tests.work import calls_of


@pytest.fixture
def folder(tmp_path):
    return StudyFolder(tmp_path / "study")


def append(folder, rows, shard=Shard()):
    appender = Appender(folder.file(shard, ROWS))
    for row in rows:
        appender.append(encoded(row))
    appender.close()


def test_a_plan_is_read_as_it_was_stored(folder):
    plan, values = plan_of(5, sensors=[Quantity("r", "m", ("x", "y"))]), values_of(5)
    assert folder.adopt(plan, values, force=False) == plan
    assert folder.plan() == plan and folder.values(plan).tobytes() == values.tobytes()
    assert sorted(path.name for path in folder.path.iterdir()) == ["plan.json", "samples.npy"]


def test_the_same_study_goes_on_and_a_longer_one_extends(folder):
    values = values_of(20)
    first = folder.adopt(plan_of(8, created="first"), values[:8], force=False)
    append(folder, [row_of(case) for case in cases_of(values[:8])])
    assert folder.adopt(plan_of(8, created="later"), values[:8], force=False) == first
    assert folder.adopt(plan_of(20), values, force=False).cases == 20
    ledger = ledger_of(folder)
    assert ledger.missing().tolist() == list(range(8, 20)) and ledger.plan.created == "first"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"content": "another"}, "the model, or an option of its analysis, has changed"),
        ({"varied": [Quantity("a", "m"), Quantity("c")]}, "other parameters vary"),
        ({"sensors": [Quantity("r")]}, "other sensors are kept"),
    ],
)
def test_another_study_is_refused(folder, changed, sentence):
    values = values_of(4)
    folder.adopt(plan_of(4), values, force=False)
    append(folder, [row_of(case) for case in cases_of(values)])
    with pytest.raises(UsageError, match=sentence):
        folder.adopt(plan_of(4, **changed), values, force=False)
    assert not len(ledger_of(folder).missing())
    folder.adopt(plan_of(4, **changed), values, force=True)
    assert len(ledger_of(folder).missing()) == 4 and not folder.files(".rows")


@pytest.mark.parametrize("other", [slice(0, 3), slice(1, 5)])
def test_other_cases_are_refused(folder, other):
    values = values_of(5)
    folder.adopt(plan_of(4), values[:4], force=False)
    with pytest.raises(UsageError, match="cases do not begin with the 4 of the study"):
        folder.adopt(plan_of(len(values[other])), values[other], force=False)


def test_each_case_counts_once(folder):
    values = values_of(6)
    folder.adopt(plan_of(6), values, force=False)
    cases = cases_of(values)
    append(folder, [row_of(cases[0], FAILED), row_of(cases[1], LOST), row_of(cases[0]), row_of(cases[2], TIMEOUT)])
    append(folder, [row_of(cases[0], FAILED), row_of(cases[2], LOST), row_of(cases[3], FAILED)], Shard(2, 3))
    append(folder, [row_of(case) for case in cases_of(values, "another model")], Shard(3, 3))
    ledger = ledger_of(folder)
    assert ledger.status.tolist() == [DONE, LOST, LOST, FAILED, MISSING, MISSING] and ledger.foreign_rows == 6
    assert ledger.missing().tolist() == [1, 2, 4, 5]  # what failed by itself would fail again
    assert ledger.missing(failed=True).tolist() == [1, 2, 3, 4, 5]
    numbers = ledger.numbers()
    assert numbers[0].tobytes() == row_of(cases[0]).numbers.tobytes() and np.isnan(numbers[1:]).all()


def test_what_holds_no_study(folder, tmp_path):
    with pytest.raises(InputOutputError, match=r"holds no study; model\.sweep\(folder="):
        folder.plan()
    folder.adopt(plan_of(3), values_of(3), force=False)
    for name, damage in (("samples.npy", b"no"), ("plan.json", b"{}"), ("plan.json", b"\xff")):
        whole = (folder.path / name).read_bytes()
        (folder.path / name).write_bytes(damage)
        with pytest.raises(InputOutputError, match=f"cannot read .*{name}"):
            ledger_of(folder)
        (folder.path / name).write_bytes(whole)
    with pytest.raises(InputOutputError, match="cannot make the folder"):
        StudyFolder(tmp_path / "no" / "study").adopt(plan_of(1), values_of(1), force=False)


def keeping(folder, count):
    """A study of which each case keeps what a sensor showed; values (N, 2)."""
    values = values_of(count)
    sensors = [Quantity("r", "m", ("x",))]
    folder.adopt(plan_of(count, sensors=sensors, samples=samples_hash(values)), values, force=False)
    cases = cases_of(values)
    append(folder, [row_of(case) for case in cases])
    kept = Appender(folder.file(Shard(), DATA))
    for case in cases:
        kept.append(packed(CaseData(case.number, case.identity, np.arange(3.0), np.full((3, 1), case.number))))
    kept.close()
    return values


def test_a_case_is_done_while_all_that_is_kept_of_it_is_there(folder):
    values = keeping(folder, 5)
    path = folder.file(Shard(), DATA)
    whole = path.read_bytes()
    assert ledger_of(folder, thorough=True).counts == {DONE: 5} and not ledger_of(folder).lost_data
    size = len(whole) // 5
    path.write_bytes(whole[: 2 * size - 1] + b"\xff" + whole[2 * size :])  # the last number of case 1
    assert ledger_of(folder, thorough=True).missing().tolist() == [1]
    path.write_bytes(whole[: 3 * size + 20])
    ledger = ledger_of(folder)
    assert ledger.missing().tolist() == [3, 4] and ledger.lost_data == 2 and np.isnan(ledger.numbers()[3:]).all()
    path.unlink()
    ledger = ledger_of(folder)
    assert ledger.counts == {MISSING: 5} and not any(ledger.rows) and np.isnan(ledger.seconds).all()
    other = packed(CaseData(2, cases_of(values, "another model")[2].identity, np.zeros(1), np.zeros((1, 1))))
    path.write_bytes(framed(other) + whole[2 * size : 3 * size])
    assert ledger_of(folder).missing().tolist() == [0, 1, 3, 4]


def test_what_sensors_showed_is_collected_or_missing(folder):
    """Damage that only a checksum tells, and a study of which nothing is done yet."""
    keeping(folder, 4)
    path = folder.file(Shard(), DATA)
    whole = path.read_bytes()
    size = len(whole) // 4
    path.write_bytes(whole[: 2 * size - 1] + b"\xff" + whole[2 * size :])
    collect(folder, ledger_of(folder))
    with h5py.File(folder.collected) as file:
        assert file["status"][:].tolist() == [DONE, MISSING, DONE, DONE]
        assert np.isnan(file["sensors/r"][1]).all() and file["sensors/r"][3, :, 0].tolist() == [3.0] * 3
    path.unlink()
    collect(folder, ledger_of(folder))
    with h5py.File(folder.collected) as file:
        assert file["status"][:].tolist() == [MISSING] * 4 and file["sensors/r"].shape == (4, 0, 1)
    folder.collected.write_bytes(b"")
    with pytest.raises(InputOutputError, match=r"study\.h5 is no collected study, or is damaged; move it away"):
        collect(folder, ledger_of(folder))


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "a bit", "zeros", "another's"])
def test_the_same_study_restores_samples(folder, damage):
    """Whatever befell them: nobody computes other values than those of the plan, and no row is lost."""
    values = keeping(folder, 6)
    path, plan = folder.path / "samples.npy", folder.plan()
    whole = path.read_bytes()
    path.unlink()
    if damage == "another's":
        np.save(path, values[::-1])
    elif damage != "gone":
        flipped = whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:]
        path.write_bytes({"empty": b"", "cut": whole[:150], "a bit": flipped, "zeros": bytes(len(whole))}[damage])
    with pytest.raises(InputOutputError, match=r"samples\.npy.*; the command that planned the study restores it"):
        ledger_of(folder)
    with pytest.raises(InputOutputError):
        folder.adopt(plan, values + 1.0, force=False)
    assert folder.adopt(plan, values, force=False) == plan and path.read_bytes() == whole
    assert ledger_of(folder).counts == {DONE: 6}


def test_a_plan_that_has_changed_is_no_plan(folder):
    keeping(folder, 3)
    path, plan = folder.path / "plan.json", folder.plan()
    for before, after in (('"content": "content"', '"content": "constant"'), ('"cases": 3', '"cases": 2')):
        whole = path.read_text()
        path.write_text(whole.replace(before, after))
        with pytest.raises(InputOutputError, match="it is not what was stored; remove it and repeat the command"):
            folder.plan()
        path.unlink()
        folder.adopt(plan, values_of(3), force=False)
        assert path.read_text() == whole and ledger_of(folder).counts == {DONE: 3}


def test_no_plan_is_left_beside_the_samples_of_another(folder, monkeypatch):
    """Where the program is killed while it begins anew."""
    folder.adopt(plan_of(3), values_of(3), force=False)
    monkeypatch.setattr(folder, "_store_samples", lambda values: np.no_such_name)
    with pytest.raises(AttributeError):
        folder.adopt(plan_of(3, content="another"), values_of(3) + 1.0, force=True)
    assert not folder.is_planned


def test_work_grows_with_cases(tmp_path):
    """A hundred thousand of them take two seconds."""

    def folder_of(count):
        folder, values = StudyFolder(tmp_path / str(count)), values_of(count)
        folder.adopt(plan_of(count), values, force=False)
        append(folder, map(row_of, cases_of(values)))
        return folder

    folders = [folder_of(count) for count in (1_000, 2_000)]
    assert ledger_of(folders[-1]).counts == {DONE: 2_000}
    few, more = (calls_of(partial(ledger_of, folder)) for folder in folders)
    assert more < 2.05 * few and more < 50 * 2_000


COLLECT = """
import resource, sys
from pathlib import Path
from mbsim_cli.study.sweep.collecting import collect
from mbsim_cli.study.sweep.store import ledger_of
from mbsim_cli.study.sweep.study_folder import StudyFolder
folder = StudyFolder(Path(sys.argv[1]))
collect(folder, ledger_of(folder))
used = resource.getrusage(resource.RUSAGE_SELF)
peak = used.ru_maxrss  # on Linux it counts what the parent had, too
if Path("/proc/self/status").exists():
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(used.ru_utime + used.ru_stime, peak / 1e6)
"""


@pytest.mark.parametrize("count", [500, pytest.param(100_000, marks=pytest.mark.slow)])
def test_collecting_is_quick_and_small(folder, count):
    """30 s and 1 GB for 100 000 cases of three objectives with five derivatives, some with sentences."""
    values = values_of(count)
    columns = {name: [Quantity(f"{name}_{i}") for i in range(size)] for name, size in (("f", 3), ("p", 5))}
    plan = plan_of(count, objectives=columns["f"], parameters=columns["p"])
    folder.adopt(plan, values, force=False)
    remarks = {"warnings": ["d f_1 / d p_2 has an estimated discretisation error of 3.4 %; try a shorter step"]}
    rows = (
        replace(row_of(case), numbers=np.full(18, case.number / 7), remarks=remarks if case.number % 10 == 0 else {})
        for case in cases_of(values)
    )
    append(folder, rows)
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, str(folder)], env=environment(), capture_output=True, text=True, check=True
    )
    seconds, gigabytes = map(float, done.stdout.split())
    assert seconds < 5 + 25 * count / 100_000 and gigabytes < 1
    with h5py.File(folder.collected) as file:
        assert file["gradient"].shape == (count, 3, 5) and file["result"][-1, 2] == (count - 1) / 7
        assert file["reason"][10].decode() == remarks["warnings"][0] and not (file["status"][:] != 0).any()


def test_one_long_sentence_does_not_make_a_table_large(tmp_path):
    cases, sentence = 2000, "x" * 10_000
    numbers, reasons = np.zeros((cases, 1)), [""] * (cases - 1) + [sentence]
    table = StudyTable(
        {"a": "m"}, {"f": ""}, {}, numbers, numbers, np.zeros((cases, 1, 0)), np.zeros(cases), np.zeros(cases), reasons
    )
    tracemalloc.start()
    try:
        export(table, tmp_path / "study.csv", "csv")
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()
    assert (tmp_path / "study.csv").read_text().endswith(f"{sentence}\n")


@pytest.mark.parametrize("name", ["plan.json", "samples.npy", "forecast.json"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_is_no_file_of_a_study(folder, name, kind):
    """Whatever stands in a folder that somebody sent, nothing waits for it, or reads without an end."""
    plan = folder.adopt(plan_of(5), values_of(5), force=False)
    path = folder.path / name
    path.unlink(missing_ok=True)
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    if name == "forecast.json":
        assert folder.stored_forecast() is None
        return
    with pytest.raises(InputOutputError, match="it is a pipe or a device, not a file"):
        folder.plan() if name == "plan.json" else folder.values(plan)
