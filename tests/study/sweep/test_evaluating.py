"""Cases one after another in one worker: none leaves anything behind for the next, whatever becomes of it."""

import gc
import tempfile

import numpy as np
import pytest

from mbsim_cli.study.assembling import Settings
from mbsim_cli.study.diagnostics import discretisation
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.sweep import evaluating
from mbsim_cli.study.sweep.evaluating import CaseEvaluator
from mbsim_cli.study.sweep.planning import StudyRequest
from mbsim_cli.study.sweep.store import DONE, INVALID, UNREADABLE, Case
from tests.assembly.texts import FIVEBAR
from tests.study.sweep.fakes import plan_study

# Whole, a mechanism that cannot be closed, a mass that cannot be, and an objective that is no number.
WORDS = {"no position was found": INVALID, "must not be negative": INVALID, "is not a finite number": 4}
VALUES = [(1.41, 1.1, 1.0), (9.0, 1.0, 1.0), (1.38, 0.9, 1.5), (1.4, -1.0, 1.0), (1.4, 1.2, -1.0), (1.42, 0.8, 2.0)]


@pytest.fixture(scope="module")
def stated(tmp_path_factory):
    """The model with a study, in a folder."""
    folder = tmp_path_factory.mktemp("study")
    text = FIVEBAR.read_text().replace("duration: 5", "duration: 0.02").partition("\nchecks:")[0]
    text = text.replace("parameters:\n", "parameters:\n  root: 1\n", 1)
    text = text.replace("P2], stiffness: 100", "P2], stiffness: 100*root")
    text = text.replace('integral: "dot(v2, v2)"', 'integral: "sqrt(root) * dot(v2, v2)"')
    for section in ("study", "optimization"):
        head, _, tail = text.partition(f"\n{section}:")
        text = head + "\n" + "\n".join(tail.partition("\n\n")[2:])
    (folder / "model.yaml").write_text(text)
    (folder / "cases.csv").write_text("\n".join(["L_A1,m_A1,root", *(",".join(map(repr, row)) for row in VALUES)]))
    return folder


@pytest.fixture(scope="module")
def plan(stated):
    return planned(stated, {"csv": {"file": str(stated / "cases.csv")}})


def planned(folder, study):
    return plan_study(folder / "model.yaml", StudyRequest(None, study), Settings(method="ddm"))


def row_of(evaluator, values, number):
    return evaluator(Case(number, bytes(16), values[number])).row


def test_good_cases_between_failing_ones_have_the_rows_that_they_have_alone(plan):
    study, values = plan
    evaluator, words = CaseEvaluator(study, SILENT), dict(WORDS)
    alone = {number: row_of(CaseEvaluator(study, SILENT), values, number) for number in (5, 2, 0)}
    for number in [0, 1, 2, 3, 5, 4, 0, 4, 2, 3, 5]:
        row = row_of(evaluator, values, number)
        known = alone.setdefault(number, row)
        assert row.status == known.status and row.remarks == known.remarks
        assert row.numbers.tobytes() == known.numbers.tobytes()
        if row.status != DONE:
            (word,) = (word for word in WORDS if word in row.remarks["failure"])
            assert row.status == words.pop(word, row.status) == WORDS[word]
    assert not words


@pytest.mark.parametrize("place", ["..", "absolute"])
def test_included_files_of_other_folders(stated, tmp_path, place):
    """They are read as they were planned, also where they have changed since."""
    (tmp_path / "base.yaml").write_text((stated / "model.yaml").read_text())
    folder = tmp_path / "studies"
    folder.mkdir()
    (folder / "model.yaml").write_text(f"include: [{tmp_path if place == 'absolute' else place}/base.yaml]\n")
    study, values = planned(folder, {"list": [{"m_A1": 1.5}]})
    (tmp_path / "base.yaml").unlink()
    assert row_of(CaseEvaluator(study, SILENT), values, 0).status == DONE


def test_objectives_that_are_not_kept_neither_fail_nor_warn(stated):
    """Case 4 fails by the second objective, and a limit of 0 % lets every objective warn of its steps."""
    study, values = planned(stated, {"list": [{"root": -1.0}], "keep": ["psi1"]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discretisation, "LIMIT", 0.0)
        row = row_of(CaseEvaluator(study, SILENT), values, 0)
    assert row.status == DONE
    told = [warning for warning in row.remarks["warnings"] if "psi" in warning]
    assert told and all("psi1" in warning for warning in told)


def test_a_sign_that_comes_from_the_values_of_a_case_is_told_with_its_place(stated):
    study, values = planned(stated, {"list": [{"root": 1.0}, {"root": -1.0}], "keep": ["psi1"]})
    text = (stated / "model.yaml").read_text()
    place = text[: text.index("100*root")].count("\n") + 1
    evaluator = CaseEvaluator(study, SILENT)
    told = [row_of(evaluator, values, number).remarks.get("warnings", []) for number in (0, 1)]
    signs = [[warning for warning in warnings if "negative" in warning] for warnings in told]
    assert signs[0] == [] and len(signs[1]) == 1
    assert f"model.yaml:{place}:" in signs[1][0] and "forces.spring_2.stiffness: is negative: -100" in signs[1][0]


def test_memory_of_a_run_is_given_back_with_its_case(plan):
    """Nothing of it waits for the collector of garbage: it would be new memory for each case, page by page."""
    study, values = plan
    evaluator = CaseEvaluator(study, SILENT)
    row_of(evaluator, values, 0)
    gc.disable()
    gc.freeze()  # what is there already does not count, and is millions of objects behind other tests
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        row_of(evaluator, values, 2)
        gc.collect()
        left = [thing for thing in gc.garbage if isinstance(thing, np.ndarray) or type(thing).__name__ == "Simulation"]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.unfreeze()
        gc.enable()
    assert not left


def test_what_the_system_refuses_is_no_defect_of_mbsim(stated, tmp_path, monkeypatch):
    """It says nothing of the case, which is tried again."""
    study, values = planned(stated, {"list": [{"root": 1.0}], "keep": "full"})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    row = row_of(CaseEvaluator(study, SILENT), values, 0)
    assert row.status == UNREADABLE and "No such file or directory" in row.remarks["failure"]


def test_who_takes_cases_one_by_one_makes_no_loop_for_several(stated, monkeypatch):
    """Which is compiled after the first case, and in its time where a clock runs."""
    stating = {"list": [{"root": 1.0}], "sensitivity": "none", "keep": ["psi1"]}
    study, values = plan_study(stated / "model.yaml", StudyRequest(None, stating), Settings())
    asked = []
    monkeypatch.setattr(evaluating, "lanes_for", lambda *given: asked.append(given) or 8)
    for one_by_one, together in ((True, 1), (False, 8)):
        evaluator = CaseEvaluator(study, SILENT, one_by_one=one_by_one)
        assert row_of(evaluator, values, 0).status == DONE
        assert evaluator.batch_size == together and len(asked) == (not one_by_one)
