"""The job script of a study on a real SLURM, where one answers (Debian's ``slurm-wlm`` and ``munge``)."""

import shutil
import subprocess

import h5py
import pytest

from .conftest import environment
from .test_sweep import model

__all__ = ["model"]
pytestmark = pytest.mark.slow


@pytest.fixture
def slurm():
    """A controller that answers."""
    if not shutil.which("sbatch") or subprocess.run(["sinfo"], capture_output=True, timeout=60).returncode:
        pytest.skip("no SLURM answers here")


def test_an_array_computes_the_study(slurm, mbsim, model, tmp_path):
    mbsim("sweep", model, "cloud", "-o", "whole")
    mbsim("sweep", model, "cloud", "-o", "st", "--dry-run")
    mbsim("sweep", "script", "st", "--slurm", "--shards", "3", "-j", "1")
    words = ["sbatch", "--wait", f"--output={tmp_path}/log-%a", str(tmp_path / "st" / "job.sh")]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr + "".join(path.read_text() for path in tmp_path.glob("log-*"))
    assert len(list((tmp_path / "st").glob("shard-*-of-3.rows"))) == 3
    with h5py.File(tmp_path / "whole" / "study.h5") as whole, h5py.File(tmp_path / "st" / "study.h5") as found:
        for name in ("status", "result", "gradient", "sensors/angle"):
            assert whole[name][:].tobytes() == found[name][:].tobytes()
