"""What README.md and docs/commands.md show works: the model file as it stands, and the commands."""

import re
import shlex
import shutil

import pytest

from .conftest import ROOT

README = (ROOT / "README.md").read_text()
COMMANDS = [
    line.removeprefix("$ ")
    for block in re.findall(r"```console\n(.*?)```", README + (ROOT / "docs/commands.md").read_text(), re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ ")
]
PLAIN = [command for command in COMMANDS if command.startswith("mbsim ")]
FRESH = [command for command in COMMANDS if not command.startswith("mbsim ")]


def test_the_model_file_is_complete(mbsim, tmp_path):
    (text,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "double.yaml").write_text(text)
    assert mbsim("validate", "double.yaml").code == 0
    assert mbsim("check", "double.yaml").code == 0


def test_there_are_commands():
    assert len(PLAIN) >= 4 and len(FRESH) == 2


@pytest.fixture
def clone(tmp_path):
    """A folder with the models."""
    shutil.copytree(ROOT / "models", tmp_path / "models")


NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.?\d*(?:e[-+]?\d+)?(?![\w.])")
FEWER = {  # of a study of a thousand cases, and of kernels that take a minute to compile
    "sweep": ["--shard", "1/500"],
    "check": ["--without", "ali3p-natural"],
}


def test_commands_work_one_after_the_other(mbsim, clone):
    words = {command: shlex.split(command)[1:] for command in PLAIN}
    for arguments in words.values():
        arguments += FEWER.get(arguments[0], [])
    done = {command: mbsim(*words[command]) for command in PLAIN}
    assert [(command, done[command].code) for command in PLAIN] == [(c, 0) for c in PLAIN]
    (ranked,) = (outcome.out for command, outcome in done.items() if "--all-numbers" in command)
    assert_printed(ranked, "effects of a change of each number by 1 %")


def assert_printed(said, first):
    """Whether a command prints what README.md shows: the same words, and numbers to the digits that matter."""
    (shown,) = (text for text in re.findall(r"```text\n(.*?)```", README, re.DOTALL) if text.startswith(first))
    lines = iter(said[said.index(first) :].splitlines())
    for wanted in filter(NUMBER.search, shown.splitlines()):
        if "steps of" not in wanted:  # seconds are those of the machine
            found = next(filter(NUMBER.search, lines))
            assert NUMBER.sub("#", found) == NUMBER.sub("#", wanted)
            tolerance = 0.1 if wanted.startswith("estimated") else 1e-6
            assert numbers_of(found) == pytest.approx(numbers_of(wanted), rel=tolerance)


def numbers_of(line):
    return [float(number) for number in NUMBER.findall(line)]


def test_the_run_of_the_first_command(mbsim, clone):
    """Installing is what ``.ci/run`` does with both commands for a fresh machine; here the run itself."""
    run = next(part for command in FRESH for part in command.split(" && ") if "bin/mbsim" in part)
    done = mbsim(*shlex.split(run)[1:])
    assert done.code == 0
    assert_printed(done.out, "┏")


def test_continuous_integration_runs_these_very_commands():
    marks = re.findall(r"<!-- ci: (\w+) -->\n```console\n\$ (.*)\n```", README)
    assert [mark for mark, _ in marks] == ["run", "test"] and [command for _, command in marks] == FRESH
