"""``--set``: keys of a model file replaced by the command line."""

from pathlib import Path

import pytest

from mbsim_cli import spec
from mbsim_cli.errors import MbsimError
from mbsim_cli.spec.reading.source import read_source, set_keys
from mbsim_cli.study.sweep.job_script import command_of
from mbsim_cli.study.sweep.study_folder import Quantity, StudyPlan

MODELS = Path(__file__).parents[2] / "models"


def load(model, **keys):
    return spec.load(MODELS / f"{model}.yaml", {f".{key.replace('__', '.')}": text for key, text in keys.items()})


def test_keys_that_the_file_states_and_keys_that_it_does_not():
    model = load("fivebar", analysis__step="1e-4", analysis__output_interval="5", gravity="[0, 0, -1]")
    assert float(model.analysis.step.literal) == 1e-4 and model.analysis.output_interval.literal == 5
    assert [number.literal for number in model.gravity] == [0, 0, -1]


def test_entries_of_lists_by_number_and_by_axis():
    for key in ("gravity[1]", "gravity.1", "gravity.y"):
        assert spec.load(MODELS / "fivebar.yaml", {f".{key}": "-3"}).gravity[1].literal == -3


def test_values_are_expressions_as_in_the_file():
    model = load("fivebar", bodies__bar_12__shape__mass="2 * m_A1")
    assert model.expressions.value(model.bodies["bar_12"].shape.mass) == 2


def test_a_formulation_that_a_check_names_may_be_set():
    for formulation in ("ali3p-natural", "ali3p-rtdyn1"):
        assert load("fivebar", analysis__formulation=formulation).analysis.formulation == formulation
    with pytest.raises(MbsimError, match="method of the analysis itself"):
        load("fivebar", **{"checks__natural coordinates__agreement": "[ali3p-rtdyn1]"})


def test_a_duration_that_ends_before_a_check_may_be_set():
    assert load("fivebar", analysis__duration="0.5").analysis.duration.literal == 0.5
    with pytest.raises(MbsimError, match="6 s lies outside the duration of 5 s"):
        load("fivebar", **{"checks.position of point 2.values.0.time": "6"})


def test_what_an_alias_shares_stays_apart(tmp_path):
    path = tmp_path / "m.yaml"
    text = "mbsim: 1\nbodies:\n  a: &one {shape: {type: rod, length: 1, mass: 2}}\n  b: *one\n"
    path.write_text(text)
    source, _ = read_source(path)
    assert not set_keys(source, {".bodies.a.shape.mass": "5"}, {"bodies"})
    assert [source.data()["bodies"][name]["shape"]["mass"] for name in "ab"] == [5, 2]


def test_constants_of_repetitions_and_what_repetitions_make():
    model = load("chain", constants__n="3", bodies__link_2__mass="7")
    assert list(model.bodies) == ["link_1", "link_2", "link_3"] and model.bodies["link_2"].mass.literal == 7


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("analysis.stepp", "1", "fivebar.yaml: analysis.stepp: unknown key 'stepp' (in --set analysis.stepp=1)"),
        ("analysis.step", "fast", "analysis.step: unknown parameter or constant 'fast' (in --set analysis.step=fast)"),
        ("bodies.bar_122.mass", "1", "--set bodies.bar_122.mass=1: bodies has no 'bar_122'; did you mean 'bar_12'?"),
        ("gravity.q", "1", "no entry 'q' in a list of 3"),
        ("analysis.step.a", "1", "analysis.step is 0.001, and has no key 'a'"),
        ("analysis..step", "1", "a key is written as analysis.step"),
        ("include", "[a.yaml]", "'include' cannot be set"),
        ("x-own.a", "1", "'x-own' cannot be set"),
        ("analysis.sensitivity", "{method: ddm", "--set analysis.sensitivity={method: ddm: YAML cannot be read"),
    ],
)
def test_what_is_refused(key, text, words):
    with pytest.raises(MbsimError) as refused:
        spec.load(MODELS / "fivebar.yaml", {f".{key}": text})
    assert words in str(refused.value)


def test_the_command_of_a_case_sets_them_again():
    made = {name: "" for name in ("study", "content", "file", "command", "created", "mbsim_version", "samples")}
    fields = StudyPlan.__dataclass_fields__
    plan = StudyPlan(
        **{name: made.get(name) for name in fields if name not in ("varied", "settings", "folder", "file")},
        varied=[Quantity("L")], folder="/a", file="m.yaml",
        settings={"overrides": {".analysis.step": "1e-4", "m": "2"}, "method": "ddm"},
    )  # fmt: skip
    assert "-s analysis.step=1e-4 -p m=2 -p L=1.5" in command_of(plan, [1.5])
