"""Reading YAML: version 1.2 scalars, positions, and what is refused."""

import pytest
import yaml

from mbsim_cli import spec
from mbsim_cli.errors import InputOutputError
from mbsim_cli.spec.reading import nodes
from mbsim_cli.spec.reading.nodes import NodeError, read_nodes
from tests.spec.example import VALID, issues_of, variant, write
from tests.work import calls_of


def _data(text: str):
    root, errors = read_nodes(text.encode(), "f.yaml")
    assert errors == []
    return root.data()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e5", 1e5),
        ("1e-3", 1e-3),
        ("-2.5E+3", -2500.0),
        (".5", 0.5),
        ("12", 12),
        ("0x1F", 31),
        ("0o17", 15),
        ("017", 17),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("no", "no"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("2026-01-01", "2026-01-01"),
        ("'1e5'", "1e5"),
        ("! 12", "12"),
        ("!!str 12", "12"),
        ("!!float 12", 12),
        ("=", "="),
    ],
)
def test_scalars_follow_yaml_1_2(text, value):
    assert _data(f"[{text}]") == [value]
    assert type(_data(f"[{text}]")[0]) is type(value)


def test_very_long_integers_are_numbers():
    assert _data("[" + "9" * 5000 + "]") == [float("inf")]


def test_keys_are_texts():
    assert _data("{1: a, true: b, on: c}") == {"1": "a", "true": "b", "on": "c"}


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a: [1, 2", 1, 4, "YAML cannot be read: while parsing a flow sequence"),
        ("a: 1\n b: 2", 2, 3, "YAML cannot be read"),
        ("a: &x [*x]", 1, 8, "alias *x contains itself"),
        ("a: *x", 1, 4, "alias *x has no anchor before it"),
        ("a: 1\n---\nb: 2", 2, 1, "a second document begins"),
        ("? [a]\n: 1", 1, 3, "a key must be a plain text"),
        ("a: !!python/object:os.system x", 1, 4, "is not allowed"),
        ("a: !mine [1]", 1, 4, "tag '!mine' is not allowed"),
        ("<<: {a: 1}", 1, 1, "merge keys are not part of YAML 1.2"),
        ("a: \x01", 1, 4, "text cannot be read"),
        ("a: 1\nb:2\nc: 3", 2, 1, "'b:' is not a key"),
        ("[" * 65, 1, 65, "nested more than 64 deep"),
    ],
)
def test_what_is_refused(text, line, column, message):
    with pytest.raises(NodeError, match=message.replace("*", r"\*").replace("(", r"\(")) as caught:
        read_nodes(text.encode(), "f.yaml")
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 10_000])
def test_deep_nesting_is_refused_by_whichever_limit_is_met_first(text):
    with pytest.raises(NodeError, match="nested more than 64 deep") as caught:
        read_nodes(text.encode(), "f.yaml")
    assert caught.value.line == 1  # the column is that of the depth, or where the reader gave up


def test_invalid_utf8_is_refused(tmp_path):
    path = tmp_path / "model.yaml"
    path.write_bytes(b"mbsim: 1\nname: \xff\xfe\n")
    with pytest.raises(spec.ModelError, match="text cannot be read") as caught:
        spec.load(path)
    (issue,) = caught.value.issues
    assert (issue.line, issue.column, issue.hint) == (2, 7, "save the file as UTF-8")


def test_two_items_of_one_name_are_the_only_error(tmp_path):
    text = variant("B: {type: universal", "A: {type: universal")
    line = next(number for number, text in enumerate(text.splitlines(), 1) if text.startswith("  A: {type: universal"))
    assert issues_of(tmp_path, text) == [
        f"model.yaml:{line}:3: joints.A: key 'A' stands twice, first in line {line - 1}"
    ]


def test_alias_bomb_is_refused_at_once():
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 20)]

    def refused():
        with pytest.raises(NodeError, match="aliases add more than 100000 entries"):
            read_nodes("\n".join(levels).encode(), "f.yaml")

    assert calls_of(refused) < 1e6


def test_aliases_work(tmp_path):
    text = variant("{type: polynomial, coefficients: [0, 1]}", "&r {type: polynomial, coefficients: [0, 1]}")
    assert issues_of(tmp_path, text.replace("laws:\n", "laws:\n").replace("  step: {", "  other: *r\n  step: {")) == []


def test_large_files_are_refused(tmp_path):
    path = tmp_path / "model.yaml"
    with path.open("wb") as stream:
        stream.truncate(50_000_001)
    with pytest.raises(spec.ModelError, match=r"model.yaml:1:1: the files are larger than 50 MB"):
        spec.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "1:1: the file is empty"), ("# only\n", "1:1: the file is empty"), ("[1]", "1:1: the file is not a mapping")],
)
def test_files_without_sections(tmp_path, text, message):
    (issue,) = issues_of(tmp_path, text)
    assert issue.startswith(f"model.yaml:{message}")


def test_missing_file(tmp_path):
    with pytest.raises(InputOutputError, match="No such file"):
        spec.load(tmp_path / "none.yaml")


def test_every_value_knows_its_place(tmp_path):
    model = spec.load(write(tmp_path, VALID))
    assert model.source.locate("bodies.bar.mass")[1:] == (15, 15)
    assert model.source.locate("points.B.rod[2]")[1:] == (10, 35)
    assert model.source.locate("bodies.rod.shape")[1:] == (17, 5)
    assert model.source.locate("checks.table 7.gradient.L")[1:] == (45, 53)
    assert model.source.locate("bodies.rod.mass")[1:] == (16, 3)
    issue = model.issue("joints.A.axis", "is wrong", "turn it")
    assert str(issue) == f"{tmp_path}/model.yaml:21:62: joints.A.axis: is wrong; turn it"
    assert issue.excerpt == VALID.splitlines()[20]


def test_without_libyaml_nothing_changes(tmp_path, monkeypatch):
    fast, _ = read_nodes(VALID.encode(), "model.yaml")
    monkeypatch.setattr(nodes, "_Loader", yaml.SafeLoader)
    slow, _ = read_nodes(VALID.encode(), "model.yaml")
    assert slow.data() == fast.data()
    assert issues_of(tmp_path, variant("law: ramp", "law: rmp")) == [
        "model.yaml:26:50: constraints.turn.law: unknown law 'rmp'; did you mean 'ramp'?"
    ]
    for text in ("a: [1, 2", "a: \x01", "[" * 1000, "a: *x", "a: !x y"):
        with pytest.raises(NodeError):
            read_nodes(text.encode(), "f.yaml")
