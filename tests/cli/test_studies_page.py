"""What docs/studies.md shows works, on shorter runs."""

import re
import shlex
import shutil

from .conftest import ROOT

PAGE = (ROOT / "docs/studies.md").read_text()
COMMANDS = [shlex.split(line)[1:] for line in re.findall(r"^\$ (mbsim .*)$", PAGE, re.MULTILINE)]


def test_commands_work_one_after_the_other(mbsim, tmp_path):
    shutil.copytree(ROOT / "models", tmp_path / "models")
    model = tmp_path / "models/fivebar.yaml"
    text = model.read_text()
    short = text.replace("step: 1e-3\n  duration: 5\n", "step: 1e-2\n  duration: 0.5\n")
    model.write_text(short.partition("\nchecks:\n")[0])
    assert short != text and len(COMMANDS) >= 7
    assert [(command, mbsim(*command).code) for command in COMMANDS] == [(command, 0) for command in COMMANDS]
    files = {path.name for path in (tmp_path / "springs").iterdir()}
    shown = set(re.findall(r"`([\w.-]+\.(?:json|npy|h5|csv|rows|kept))`", PAGE))
    assert files == {name.replace("I-of-N", "1-of-1") for name in shown if name != "forecast.json"} - {"study.parquet"}
    assert (tmp_path / "bars.sh").read_text().count("--shard") == 1
