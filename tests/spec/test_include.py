"""Includes: deep merge, and positions in the right file."""

from pathlib import Path

import pytest

from mbsim_cli import spec
from mbsim_cli.errors import ModelError
from tests.spec.example import VALID, issues_of, write


def test_the_including_file_wins_key_by_key(tmp_path):
    write(tmp_path, VALID, "base.yaml")
    text = "mbsim: 1\ninclude: [base.yaml]\nbodies: {bar: {mass: 7}}\nanalysis: {duration: 9}\n"
    model = spec.load(write(tmp_path, text))
    assert model.bodies["bar"].mass == spec.Number(7)
    assert model.bodies["bar"].inertia.zz == spec.Number("1/6")
    assert (model.analysis.duration, model.analysis.step) == (spec.Number(9), spec.Number(1e-3))


def test_later_includes_win_and_includes_nest(tmp_path):
    (tmp_path / "parts").mkdir()
    write(tmp_path, VALID, "parts/base.yaml")
    write(tmp_path, "include: [base.yaml]\nname: one\n", "parts/one.yaml")
    write(tmp_path, "name: two\n", "two.yaml")
    model = spec.load(write(tmp_path, "mbsim: 1\ninclude: [parts/one.yaml, two.yaml]\n"))
    assert model.name == "two"
    assert model.source.locate("bodies.bar") == (f"{tmp_path}/parts/base.yaml", 15, 3)
    assert model.source.locate("name") == (f"{tmp_path}/two.yaml", 1, 7)


def test_errors_point_into_the_file_that_holds_them(tmp_path):
    text = "mbsim: 1\ninclude: [base.yaml]\nsensors:\n  s: {type: position, point: bar.C}\n"
    assert issues_of(tmp_path, text, base=VALID.replace("law: ramp", "law: rmp")) == [
        "model.yaml:4:34: sensors.s.point: unknown point 'C'; known: A, B, center_of_mass, origin",
        "base.yaml:26:50: constraints.turn.law: unknown law 'rmp'; did you mean 'ramp'?",
    ]


@pytest.mark.parametrize("version", ["2", "[1]"])
def test_a_file_of_another_version_is_no_part_of_this_one(tmp_path, version):
    text = "mbsim: 1\ninclude: [base.yaml]\n"
    (issue,) = issues_of(tmp_path, text, base=VALID.replace("mbsim: 1", f"mbsim: {version}"))
    assert issue.startswith("base.yaml:1:8: mbsim: is not the version of ") and issue.endswith("includes this file")
    assert issues_of(tmp_path, text, base=VALID) == []


def test_what_cannot_be_included(tmp_path):
    assert issues_of(tmp_path, VALID + "include: [none.yaml]\n") == [
        "model.yaml:47:11: include: cannot read 'none.yaml': No such file or directory"
    ]
    assert issues_of(tmp_path, VALID + "include: [one.yaml]\n", one="include: [model.yaml]\n") == [
        "one.yaml:1:11: include: 'model.yaml' includes itself"
    ]
    assert issues_of(tmp_path, VALID + "include: [one.yaml]\n", one="[1]\n") == [
        "one.yaml:1:1: the file is not a mapping of sections"
    ]
    assert issues_of(tmp_path, VALID + "include: [one.yaml]\n", one="a: [\n")[0].startswith("one.yaml:1:5: YAML cannot")
    (issue,) = issues_of(tmp_path, VALID + "include: one.yaml\n")
    assert issue == "model.yaml:47:10: include: must be a list; write [one.yaml]"
    for wrong, says in (("{a: b}", "must be a list"), ("[7]", "must be a text"), ("", "must be a list")):
        (issue,) = issues_of(tmp_path, VALID + "include: [one.yaml]\n", one=f"include: {wrong}\n")
        assert issue.startswith("one.yaml:1:") and issue.endswith(f"include: {says}")


def test_shared_aliases_are_not_merged_into(tmp_path):
    base = VALID.replace("  bar: {mass: m,", "  bar: &b {mass: m,").replace("joints:", "  twin: *b\njoints:")
    base = base.replace("  A: {type: revolute", "  C: {type: floating, bodies: [ground, twin]}\n  A: {type: revolute")
    write(tmp_path, base, "base.yaml")
    model = spec.load(write(tmp_path, "mbsim: 1\ninclude: [base.yaml]\nbodies: {bar: {mass: 7}}\n"))
    assert model.bodies["twin"].mass == spec.Number("m")


def test_texts_take_the_place_of_files(tmp_path):
    texts = {"a/m.yaml": "mbsim: 1\ninclude: [../b/n.yaml]\n", "b/n.yaml": "name: N\nconstants: {g: 2}\n"}
    model = spec.load("a/m.yaml", {"g": "3"}, texts)
    assert model.name == "N" and model.expressions.scope()["g"].real == 3.0
    with pytest.raises(ModelError, match="not stored with the model"):
        spec.load("a/m.yaml", None, {"a/m.yaml": texts["a/m.yaml"]})


def test_files_of_numbers_are_known():
    """Where one has changed, rows of a study and the log of a search belong to another model."""
    models = Path(__file__).parents[1] / "properties" / "models"
    assert {file.name for file in spec.load(models / "flexible.yaml").tables} >= {"Beam_3m.SID_FEM", "mast.SID_FEM"}


@pytest.mark.parametrize("section", ["study", "analysis", "checks", "gravity"])
def test_a_section_that_is_null_leaves_the_included_one_out(tmp_path, section):
    write(tmp_path, VALID + "study: {a: {grid: {L: [1, 2]}}}\n", "base.yaml")
    model = spec.load(write(tmp_path, f"mbsim: 1\ninclude: [base.yaml]\n{section}: null\n"))
    assert section not in model.model_fields_set


@pytest.mark.parametrize(
    ("included", "own", "kept"),
    [
        ("duration: 2, step: 1e-4", "type: kinematics, sampling: 0.01", {"duration"}),
        ("sensitivity: {method: fd, parameters: [L]}, step: 1e-3", "type: equilibrium", {"sensitivity"}),
        ("sensitivity: {method: fd, parameters: [L]}", "sensitivity: {method: ddm}", {"sensitivity"}),
        ("type: forward_dynamics, sensitivity: {method: fd, parameters: [L]}", "type: equilibrium", set()),
        ("step: 1e-3, duration: 2", "type: forward_dynamics", {"step", "duration"}),
    ],
)
def test_an_analysis_of_another_type_leaves_out_the_keys_that_it_has_not(tmp_path, included, own, kept):
    """Where the included file leaves its type out; where it states another one, nothing is taken over."""
    head = VALID.partition("\nanalysis:")[0]
    write(tmp_path, f"{head}\nanalysis: {{{included}}}\n", "base.yaml")
    model = spec.load(write(tmp_path, f"mbsim: 1\ninclude: [base.yaml]\nanalysis: {{{own}}}\n"))
    assert model.analysis.model_fields_set - {"type", "sampling"} == kept
    assert not kept & {"sensitivity"} or list(model.analysis.sensitivity.parameters) == ["L"]


@pytest.mark.parametrize(
    ("included", "own", "wrong"),
    [
        ("step: 1e-3, sensitvity: {}", "type: equilibrium", "base.yaml:43:24: analysis.sensitvity: unknown key"),
        ("step: 1e-3", "type: equilibrium, step: 2", "model.yaml:3:31: analysis.step: unknown key 'step'"),
        ("step: 1e-3", "type: equilibriun", "model.yaml:3:18: analysis.type: unknown type"),
        ("step: 1e-3", "type: [equilibrium]", "analysis"),
        ("3", "type: equilibrium", ""),
    ],
)
def test_no_slip_is_left_out_with_them(tmp_path, included, own, wrong):
    head = VALID.partition("\nanalysis:")[0]
    base = f"{head}\nanalysis: {included if included == '3' else '{' + included + '}'}\n"
    issues = issues_of(tmp_path, f"mbsim: 1\ninclude: [base.yaml]\nanalysis: {{{own}}}\n", base=base)
    assert len(issues) == bool(wrong) and all(wrong in issue for issue in issues), issues
