"""Codes of messages in text and in JSON, and their explanation."""

import pytest

from .conftest import PENDULUM


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (("run", "none.yaml"), "MB501", 5),
        (("info", "pendulum.yaml", "-p", "LL=1"), "MB301", 2),
        (("info", "pendulum.yaml", "-p", "L"), "MB302", 2),
        (("validate", "pendulum.yaml", "-s", "analysis.stepp=1"), "MB101", 3),
    ],
)
def test_errors_have_codes(mbsim, pendulum, words, code, exit_code):
    done = mbsim(*words)
    assert done.code == exit_code and done.err.splitlines()[0].endswith(f" [{code}]"), done.err
    report = mbsim(*words, "--json").json
    assert [report.get("code")] == [code] or [entry["code"] for entry in report["errors"]] == [code]
    assert mbsim("explain", code.lower()).out.startswith(f"{code}: ")


def test_words_of_other_programs_name_commands(mbsim):
    done = mbsim("study", "m.yaml")
    assert done.code == 2 and "No such command 'study'. Did you mean 'sweep'?" in done.err


def test_warnings_have_codes(mbsim, tmp_path):
    (tmp_path / "m.yaml").write_text(PENDULUM.replace("angle: -60 deg", "angle: -60"))
    done = mbsim("validate", "m.yaml", "--json")
    assert done.code == 0 and done.json["warning_codes"] == ["MB610"] * len(done.json["warnings"]) != []
    assert mbsim("validate", "m.yaml").err.splitlines()[0].endswith(" [MB610]")


def test_explain_refuses_what_is_no_code(mbsim):
    done = mbsim("explain", "MB999")
    assert done.code == 2 and "there is no message 'MB999'" in done.err
    assert mbsim("explain", "MB106", "--json").json["title"] == "number out of range"
