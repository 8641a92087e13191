"""Computing what is missing: what is tried again, when it ends, what stays written."""

import numpy as np
import pytest

from mbsim_cli.errors import AnalysisError, UsageError
from mbsim_cli.study.listener import SILENT, Interrupted, Listener
from mbsim_cli.study.sweep.effects import main_effects
from mbsim_cli.study.sweep.forecast import forecast
from mbsim_cli.study.sweep.in_process import InProcess
from mbsim_cli.study.sweep.ledger import ledger_of
from mbsim_cli.study.sweep.outcomes import DONE, FAILED, LOST
from mbsim_cli.study.sweep.sequences import sobol
from mbsim_cli.study.sweep.shards import Shard, shard_of
from mbsim_cli.study.sweep.study_folder import StudyFolder
from mbsim_cli.study.sweep.sweeping import Limits, cases_of, sweep
from tests.study.sweep.fakes import FAILS, Unsteady, evaluate, plan_of, values_of


@pytest.fixture
def study(tmp_path):
    """A study in a folder, of which some cases fail."""

    def make(cases, failing=()):
        values = values_of(cases)
        values[list(failing), 1] = FAILS
        folder = StudyFolder(tmp_path / "study")
        folder.adopt(plan_of(cases), values, force=False)
        return folder

    return make


def run(folder, workers=None, limits=Limits(), listener=SILENT, shard=Shard(), failed=False):
    waiting = cases_of(ledger_of(folder), shard, failed=failed)
    return sweep(folder, waiting, shard, workers or InProcess(evaluate), limits, listener, keeps=False)


def test_failures_are_rows(study):
    folder = study(10, failing=(2, 7))
    tally = run(folder)
    assert tally.by_status == {DONE: 8, FAILED: 2} and tally.seconds == 2.5
    ledger = ledger_of(folder)
    assert ledger.row(2).remarks == {"failure": "as it was told"} and not len(ledger.missing())
    assert run(folder).by_status == {}
    assert run(folder, failed=True).by_status == {FAILED: 2}


def test_only_what_the_machine_is_to_blame_for_is_tried_again(study):
    folder = study(6, failing=(1,))
    tally = run(folder, Unsteady({0: 1, 3: 2}), Limits(retry=1))
    assert tally.by_status == {DONE: 4, FAILED: 1, LOST: 1}
    assert ledger_of(folder).missing().tolist() == [3]
    assert run(folder).by_status == {DONE: 1}


@pytest.mark.parametrize(("limit", "written"), [(0, 3), (1, 5), (2, 6)])
def test_too_many_failures_end_it(study, limit, written):
    folder = study(9, failing=(2, 4, 5))
    with pytest.raises(AnalysisError, match=r"case [245]: as it was told"):
        run(folder, limits=Limits(max_failures=limit))
    assert 9 - len(ledger_of(folder).missing()) == written


def test_an_interruption_keeps_what_was_computed(study):
    class Impatient(Listener):
        asked = 0

        def poll(self):
            self.asked += 1
            if self.asked == 4:
                raise Interrupted

    folder = study(9)
    with pytest.raises(Interrupted):
        run(folder, listener=Impatient())
    assert ledger_of(folder).missing().tolist() == [4, 5, 6, 7, 8]


def test_shards_share_the_cases(study):
    folder = study(11)
    for index in (3, 1, 2):
        run(folder, shard=Shard(index, 3))
    assert not len(ledger_of(folder).missing())
    assert [path.name for path in folder.files(".rows")] == [f"shard-{i}-of-3.rows" for i in (1, 2, 3)]


@pytest.mark.parametrize(
    ("text", "variables", "shard"),
    [
        ("2/3", {}, Shard(2, 3)),
        (None, {}, Shard(1, 1)),
        (None, {"ID": "7", "COUNT": "4", "MIN": "5", "MAX": "8", "STEP": "1"}, Shard(3, 4)),
        (None, {"ID": "0", "COUNT": "4", "MIN": "0"}, Shard(1, 4)),
        (None, {"ID": "9", "COUNT": "3", "MIN": "1", "STEP": "4"}, Shard(3, 3)),
        ("1/2", {"ID": "7", "COUNT": "4"}, Shard(1, 2)),
    ],
)
def test_shards_by_their_names(text, variables, shard):
    assert shard_of(text, {f"SLURM_ARRAY_TASK_{name}": value for name, value in variables.items()}) == shard


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0", ""])
def test_no_shards(text):
    with pytest.raises(UsageError, match="--shard wants I/N"):
        shard_of(text, {})


@pytest.mark.parametrize("variables", [{"ID": "9", "COUNT": "3", "MIN": "1"}, {"ID": "x", "COUNT": "2"}])
def test_arrays_that_tell_no_part(variables):
    with pytest.raises(UsageError, match="give --shard I/N"):
        shard_of(None, {f"SLURM_ARRAY_TASK_{name}": value for name, value in variables.items()})


def test_main_effects_are_shares_of_the_variance():
    """Of f = 3 a + b, shares by hand, each variance of a uniform number being 1/12."""
    points = sobol(3, 4096, 1).T
    shares = main_effects(points.T, 3 * points[0] + points[1])
    np.testing.assert_allclose(shares, [0.9, 0.1, 0.0], atol=0.01)
    # Ishigami's function, 7 and 0.1, on (-pi, pi)^3: shares of Saltelli et al. (2000)
    x, y, z = (2 * points - 1) * np.pi
    shares = main_effects(points.T, np.sin(x) + 7 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x))
    np.testing.assert_allclose(shares, [0.3139, 0.4424, 0.0], atol=0.02)


def test_main_effects_of_a_grid_and_of_too_little():
    a, b = np.meshgrid([1.0, 2.0, 3.0, 5.0], np.arange(6.0), indexing="ij")
    values = np.column_stack([a.ravel(), b.ravel()])
    shares = main_effects(values, 2 * a.ravel() + 7.0)
    np.testing.assert_allclose(shares, [1.0, 0.0], atol=1e-12)
    assert np.isnan(main_effects(values[:5], a.ravel()[:5])).all()
    assert np.isnan(main_effects(values, np.ones(24))).all()
    noise = np.where(np.arange(24) % 5 == 0, np.nan, a.ravel())
    np.testing.assert_allclose(main_effects(values, noise), [1.0, 0.0], atol=1e-12)


def test_a_forecast_reckons_with_the_mean(monkeypatch):
    from mbsim_cli.study.sweep import forecast as module
    from tests.study.sweep import fakes

    clock = iter(range(1000))
    monkeypatch.setattr(module, "perf_counter", lambda: next(clock) / 10)
    cases = fakes.cases_of(values_of(100))
    found = forecast(plan_of(100), cases, evaluate, start_seconds=3.0, workers=4, listener=SILENT)
    assert (found.pilots, found.cases) == (8, 100)
    assert found.case_seconds == pytest.approx(0.1) and found.seconds == pytest.approx(3 + 100 * 0.1 / 4)
    assert found.processor_hours == pytest.approx((4 * 3 + 10) / 3600)
    assert found.bytes_per_case == pytest.approx(2 * 16 + 40 + 24 + len(b"kept 10"), abs=1)
    found = forecast(plan_of(100), cases, fakes.Grouped(), start_seconds=3.0, workers=4, listener=SILENT)
    assert (found.pilots, found.lanes) == (8, 8) and found.case_seconds == pytest.approx(0.1 / 7)  # of one group
