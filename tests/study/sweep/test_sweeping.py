"""Computing what is missing: what is tried again, when it ends, what stays written."""

from dataclasses import replace

import numpy as np
import pytest

from mbsim_cli.errors import AnalysisError, UsageError
from mbsim_cli.study.listener import SILENT, Interrupted, Listener
from mbsim_cli.study.sweep.planning import sobol
from mbsim_cli.study.sweep.running import Work, cases_of, compute, forecast, shard_of
from mbsim_cli.study.sweep.store import DONE, FAILED, LOST, Computed, ledger_of
from mbsim_cli.study.sweep.study_folder import Shard, StudyFolder
from mbsim_cli.study.sweep.summary import main_effects, unknown_effects
from tests.study.sweep.fakes import FAILS, Grouped, OneByOne, Unsteady, evaluate, plan_of, values_of
from tests.study.sweep.fakes import cases_of as numbered


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


def run(folder, workers=None, listener=SILENT, **stated):
    work = Work(**stated)
    waiting = cases_of(ledger_of(folder), work)
    return compute(folder, waiting, workers or OneByOne(), work, listener, keeps=False)


def test_failures_are_rows(study):
    folder = study(10, failing=(2, 7))
    tally = run(folder)
    assert tally.by_status == {DONE: 8, FAILED: 2} and tally.seconds == 2.5
    ledger = ledger_of(folder)
    assert ledger.rows[2].remarks == {"failure": "as it was told"} and not len(ledger.missing())
    assert run(folder).by_status == {}
    assert run(folder, failed=True).by_status == {FAILED: 2}


def test_only_what_the_machine_is_to_blame_for_is_tried_again(study):
    folder = study(6, failing=(1,))
    tally = run(folder, Unsteady({0: 1, 3: 2}), retry=1)
    assert tally.by_status == {DONE: 4, FAILED: 1, LOST: 1}
    assert ledger_of(folder).missing().tolist() == [3]
    assert run(folder).by_status == {DONE: 1}


@pytest.mark.parametrize(("limit", "written"), [(0, 3), (1, 5), (2, 6)])
def test_too_many_failures_end_it(study, limit, written):
    folder = study(9, failing=(2, 4, 5))
    with pytest.raises(AnalysisError, match=r"case [245]: as it was told"):
        run(folder, max_failures=limit)
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
    with pytest.raises(UsageError, match="--shard must be I/N"):
        shard_of(text, {})


@pytest.mark.parametrize(
    "variables",
    [
        {"ID": "9", "COUNT": "3", "MIN": "1"},
        {"ID": "x", "COUNT": "2"},
        {"ID": "2", "COUNT": "3", "MIN": "1", "MAX": "4", "STEP": "1"},  # 1,2,4: nobody would compute the third part
    ],
)
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


def test_main_effects_of_all_combinations_are_those_of_their_means():
    a, b = np.meshgrid(np.arange(4.0), np.arange(4.0), indexing="ij")
    values = np.column_stack([a.ravel(), b.ravel()])
    np.testing.assert_allclose(main_effects(values, a.ravel() + b.ravel()), [0.5, 0.5], rtol=1e-12)
    # of a b: mean over b is 1.5 a, variances 1.25 of a, and 3.5^2 - 1.5^4 of the product
    np.testing.assert_allclose(
        main_effects(values, a.ravel() * b.ravel()), 1.5**2 * 1.25 / (3.5**2 - 1.5**4), rtol=1e-12
    )
    few = values[[0, 1, 4, 5]]  # two values of each
    np.testing.assert_allclose(main_effects(few, few @ [1.0, 3.0]), [0.1, 0.9], rtol=1e-12)
    assert unknown_effects("ab", few, few @ [1.0, 3.0]) == {}
    alone = np.linspace(0.0, 8.0, 17)[:, None]
    assert main_effects(alone, np.where(alone[:, 0] < 3.3, 1.0 + alone[:, 0], -1.0)) == pytest.approx(1.0)
    a, b = np.meshgrid(np.arange(5.0), np.arange(4.0), indexing="ij")
    values, failed = np.column_stack([a.ravel(), b.ravel()]), np.append((a + b).ravel()[:-1], np.nan)
    np.testing.assert_allclose(main_effects(values, failed), [0.6, 0.4], atol=0.05)  # of what is left, an estimate


def test_main_effects_take_what_other_parameters_do_for_no_chance():
    points = sobol(3, 64, 3).T
    np.testing.assert_allclose(
        main_effects(points.T, points[0] + 2 * points[1] + 3 * points[2]), np.array([1, 4, 9]) / 14, atol=0.01
    )
    np.testing.assert_allclose(main_effects(points.T, (2 * points[0] - 1) ** 2), [1.0, 0.0, 0.0], atol=0.01)
    # parameters that are correlated by 0.8, of a difference: cov(a, a - b) = 0.2 of a variance of 0.4
    a, b = np.random.default_rng(2).multivariate_normal([0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]], 4000).T
    np.testing.assert_allclose(main_effects(np.column_stack([a, b]), a - b), [0.5, 0.5], atol=0.03)


@pytest.mark.parametrize(("cases", "parameters", "chance"), [(20, 15, 0.5), (1000, 40, 0.05), (1000, 60, 0.05)])
def test_main_effects_of_many_parameters(cases, parameters, chance):
    values = np.random.default_rng(0).random((cases, parameters))
    shares = main_effects(values, np.sin(values[:, 0]))
    assert shares[0] > 0.9
    assert np.all(shares[1:] < chance)


def test_effects_that_rise_and_fall_among_few_cases():
    """Of 6 (a - 1/2)^2 + b the variances are 36/180 and 1/12."""
    of_a = 0.2 / (0.2 + 1 / 12)
    for seed in range(8):
        values = sobol(6, 20, seed)
        shares = main_effects(values, 6.0 * (values[:, 0] - 0.5) ** 2 + values[:, 1])
        assert shares[0] == pytest.approx(of_a, abs=0.3)  # straight lines alone show none of it


def test_main_effects_of_parameters_that_vary_together_or_not():
    a = np.linspace(1.0, 2.0, 40)
    values = np.column_stack([a, 5.0 - a**2, np.full(40, 3.0), np.random.default_rng(1).random(40)])
    assert np.array_equal(np.isnan(main_effects(values, a)), [True, True, True, False])
    together = {"a": "it varies together with b", "b": "it varies together with a", "c": "it has one value"}
    assert unknown_effects("abcd", values, a) == together


def test_main_effects_of_a_grid_and_of_too_little():
    a, b = np.meshgrid([1.0, 2.0, 3.0, 5.0], np.arange(6.0), indexing="ij")
    values = np.column_stack([a.ravel(), b.ravel()])
    shares = main_effects(values, 2 * a.ravel() + 7.0)
    np.testing.assert_allclose(shares, [1.0, 0.0], atol=1e-12)
    assert np.isnan(main_effects(values[:7], a.ravel()[:7])).all()
    assert np.isnan(main_effects(values, np.ones(24))).all()
    few, same = "fewer than 16 cases determine none", "all cases have the same value"
    assert unknown_effects("ab", values[:7], a.ravel()[:7]) == {"a": few, "b": few}
    assert unknown_effects("ab", values, np.ones(24)) == {"a": same, "b": same}
    assert unknown_effects("ab", values, a.ravel()) == {}
    noise = np.where(np.arange(24) % 5 == 0, np.nan, a.ravel())
    np.testing.assert_allclose(main_effects(values, noise), [1.0, 0.0], atol=1e-12)


class Timed:
    """So many workers at once whose cases take what they are told to; the first ones take ten times as long."""

    batch_size = 1

    def __init__(self, monkeypatch, workers, taking, start=3.0):
        self.workers, self.taking, self.computed, self.now = workers, taking, [], 0.0
        self.start, self.closed = start, False
        monkeypatch.setattr("mbsim_cli.study.sweep.running.perf_counter", lambda: self.now)

    def compute(self, waiting):
        try:
            free = [self.start] * self.workers
            while waiting:
                case, worker = waiting.popleft(), int(np.argmin(free))
                seconds = self.taking(case.number) * (10.0 if len(self.computed) < self.workers else 1.0)
                free[worker] += seconds
                self.now = max(self.now, free[worker])
                self.computed.append(case.number)
                row, kept = evaluate(case)
                yield Computed(replace(row, seconds=seconds), kept)
        finally:
            self.closed = True


def test_a_forecast_reckons_with_cases_from_all_over_by_all_workers_at_once(monkeypatch):
    cases = numbered(values_of(1000))
    team = Timed(monkeypatch, 4, lambda number: 0.1 + 0.2 * number / 1000)  # 0.2 on average
    found = forecast(plan_of(1000), cases, team, 4, 0.0, SILENT)
    assert found.start_seconds == pytest.approx(3.0) and team.closed
    assert found.pilots == len(team.computed) and 5.0 <= team.now - 3.0 < 6.5  # a tenth of the study
    assert found.case_seconds == pytest.approx(0.2, rel=0.02) and found.seconds == pytest.approx(3.0 + 50, rel=0.02)
    assert found.between[0] < 3.0 + 0.2 * 999 / 4 < found.between[1] and found.spread < 0.3
    assert found.processor_hours == pytest.approx((4 * found.start_seconds + 1000 * found.case_seconds) / 3600)
    assert found.bytes_per_case == pytest.approx(2 * 16 + 40 + 24 + len(b"kept 100"), abs=1)


def test_a_forecast_says_how_far_it_may_be_off(monkeypatch):
    """Pilots of a machine that changes its pace tell no more than that; few cases are all computed."""
    cases, steady = numbered(values_of(1000)), Timed(monkeypatch, 1, lambda number: 0.1)
    found = forecast(plan_of(1000), cases, steady, 1, 0.0, SILENT)
    assert found.spread == 0.0 and found.case_seconds == pytest.approx(0.1) and found.between[0] == found.seconds
    flips = Timed(monkeypatch, 1, lambda number: 0.1 if len(flips.computed) % 40 < 20 else 0.14)
    found = forecast(plan_of(1000), cases, flips, 1, 0.0, SILENT)
    assert found.between[0] < 3.0 + 120.0 < found.between[1] and found.spread > 0.02
    few = Timed(monkeypatch, 2, lambda number: 0.1)
    found = forecast(plan_of(6), cases[:6], few, 2, 0.0, SILENT)
    assert found.pilots == 6 and found.spread == 0.0
    assert sorted(few.computed) == list(range(6))


def test_a_forecast_of_cases_in_lanes_leaves_out_those_before_them():
    found = forecast(plan_of(100), numbered(values_of(100)), Grouped(), 1, 0.0, SILENT)
    assert found.lanes == 8 and found.pilots >= 10
