"""Every message for an invalid model, with its line and column."""

from pathlib import Path

import pytest

from tests.spec.example import VALID, issues_of, variant

_BLOCKS = (Path(__file__).parent / "messages.txt").read_text().split("\n\n")[1:]


def _case(block: str) -> tuple[str, str, list[str]]:
    old, new, *expected = block.strip("\n").split("\n")
    return old[2:].replace("\\n", "\n"), new[2:].replace("\\n", "\n"), expected


CASES = [_case(block) for block in _BLOCKS]


def test_the_example_is_valid(tmp_path):
    assert issues_of(tmp_path, VALID) == []


@pytest.mark.parametrize(("old", "new", "expected"), CASES, ids=[new[:40] for _, new, _ in CASES])
def test_message(tmp_path, old, new, expected):
    assert issues_of(tmp_path, variant(old, new)) == [f"model.yaml:{line}" for line in expected]


def test_all_errors_come_at_once(tmp_path):
    text = VALID
    wrong = [
        case for case in CASES if case[0] in ("unit: m, bounds", "type: rod, length: 2", "law: ramp", "step: 1e-3")
    ]
    for old, new, _ in wrong[:1] + wrong[1:2] + wrong[-1:]:
        text = text.replace(old, new)
    text = text.replace("law: ramp", "law: rmp").replace("value: [1, 2, 3]", "value: [1, 2]")
    found = " ".join(issues_of(tmp_path, text))
    for fragment in ("unknown key 'units'", "unknown type 'rood'", "unknown law 'rmp'", "output interval", "3 numbers"):
        assert fragment in found


def test_items_with_errors_are_known_to_others(tmp_path):
    text = variant("bar: {mass: m, center", "bar: {maas: m, center").replace("point: A, axis", "pont: A, axis")
    assert [issue.split(": ", 2)[2] for issue in issues_of(tmp_path, text)] == [
        "unknown key 'maas'; did you mean 'mass'?",
        "unknown key 'pont'; did you mean 'point'?",
    ]
