"""The command of docs/kinematics.md prints what the page shows; what files about kinematics may not say."""

import re
import shutil

import h5py
import numpy as np
import pytest

from .conftest import ROOT

PAGE = (ROOT / "docs" / "kinematics.md").read_text()
CAM = (ROOT / "models" / "benchmarks" / "cam.yaml").read_text()
ALL = "{shaft.angle: {from: 0, to: 360 deg, count: 361}}"


def test_the_command_of_the_page(mbsim, tmp_path):
    (tmp_path / "models/benchmarks").mkdir(parents=True)
    shutil.copy(ROOT / "models/benchmarks/cam.yaml", tmp_path / "models/benchmarks")
    shown = re.search(r"\$ mbsim run models/benchmarks/cam.yaml\n(.*?)```", PAGE, re.DOTALL).group(1)
    printed = mbsim("run", "models/benchmarks/cam.yaml").out
    assert printed.splitlines()[:11] == shown.splitlines()[:11]  # all but estimates at round-off and times
    e, length, angle = 0.02, 0.06, np.radians(np.arange(361))
    with h5py.File(tmp_path / "cam.h5") as file:
        lift = e * np.sin(angle) + np.sqrt(length**2 - (e * np.cos(angle)) ** 2)
        assert np.allclose(file["sensors/lift"][()].ravel(), lift, rtol=1e-13)
        assert np.allclose(file["time"], np.arange(361) / 360)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("shaft.angle: {from", "shaft.angel: {from", "joint 'shaft' has no coordinate 'angel'; did you mean 'angle'?"),
        ("type: kinematics", "type: kinematics\n  sampling: 0.1", "a sweep has its samples by count"),
        (
            "count: 361}}",
            "count: 361}, guide.displacement: {from: 0, to: 1, count: 3}}",
            "3 samples, and shaft.angle has",
        ),
        (f"sweep: {ALL}", "sampling: 0.1", "duration is missing; or give a sweep"),
        (f"sweep: {ALL}", "duration: 2", "sampling is missing; or give a sweep"),
        (f"sweep: {ALL}", "sampling: 3\n  duration: 2", "the sampling time 3 s is longer than the duration 2 s"),
        ("contact:", "sweep_shaft_angle:", "'sweep_shaft_angle' is also a constraint"),
        ("count: 361", "count: 1", "must be at least 2"),
    ],
)
def test_refused(mbsim, tmp_path, old, new, message):
    (tmp_path / "cam.yaml").write_text(CAM.replace(old, new))
    told = mbsim("validate", "cam.yaml")
    assert told.code == 3
    assert message in told.err


def test_few_samples_ask_for_more(mbsim, tmp_path):
    (tmp_path / "cam.yaml").write_text(CAM.replace("count: 361", "count: 13"))
    told = mbsim("run", "cam.yaml").err
    assert "take more samples: a shorter sampling, or a larger count of the sweep" in told and "step" not in told


def test_a_freedom_without_a_law_is_named(mbsim, tmp_path):
    text = re.sub(r"constraints:\n.*\n", "", CAM).replace("  force: {type: multiplier, constraint: contact}\n", "")
    (tmp_path / "cam.yaml").write_text(text)
    told = mbsim("run", "cam.yaml")
    assert told.code == 3
    assert "1 freedom is left: nothing drives guide.displacement" in told.err


def test_ends_begin_and_count_of_a_range(mbsim, tmp_path):
    text = CAM.replace("from: 0, to: 360 deg, count: 361", "from: 90 deg, to: 450 deg, count: 5")
    text = text.replace("type: kinematics", "type: kinematics\n  duration: 2").split("\nchecks:")[0]
    (tmp_path / "cam.yaml").write_text(text.replace("method: ddm", "method: adjoint"))
    mbsim("run", "cam.yaml")
    with h5py.File(tmp_path / "cam.h5") as file:
        root = np.sqrt(0.06**2 - 0.02**2)
        assert np.allclose(file["sensors/lift"][()].ravel(), [0.08, root, 0.04, root, 0.08], rtol=1e-12)
        assert np.allclose(file["sensors/speed"][()].ravel(), np.pi * 0.02 * np.array([0, -1, 0, 1, 0]), atol=1e-13)
        assert np.allclose(file["objectives/end/gradient"][()], [1, 1, 1, 0, 0], atol=1e-12)
