"""The commands of docs/hpc.md work one after the other, on fewer and shorter cases."""

import re
import shlex
import shutil

import h5py
import numpy as np
import pytest

from .conftest import ROOT

COMMANDS = [
    shlex.split(line)
    for line in re.findall(r"^\$ mbsim (.*)$", (ROOT / "docs" / "hpc.md").read_text(), re.MULTILINE)
    if not line.startswith("compile")  # which tests/cli/test_compile.py does
]


@pytest.mark.slow
def test_commands_work_one_after_the_other(mbsim, tmp_path):
    shutil.copytree(ROOT / "models", tmp_path / "models")
    model = tmp_path / "models" / "fivebar.yaml"
    text = model.read_text().replace("step: 1e-3\n  duration: 5\n", "step: 1e-2\n  duration: 0.2\n")
    model.write_text(text.replace("count: 1024", "count: 8").partition("\nchecks:\n")[0])
    assert len(COMMANDS) >= 9
    for command in COMMANDS:
        done = mbsim(*command)
        assert done.code == 0, (command, done)
    with h5py.File(tmp_path / "bars" / "study.h5") as first, h5py.File(tmp_path / "again" / "study.h5") as other:
        assert (first["status"][:] == 0).all() and (other["status"][:] == 0).all() and len(other["status"]) == 8
        assert not np.array_equal(first["design"][:], other["design"][:])  # another seed
    assert {"shard-1-of-2.rows", "shard-2-of-2.rows", "study.csv"} <= {p.name for p in (tmp_path / "bars").iterdir()}
