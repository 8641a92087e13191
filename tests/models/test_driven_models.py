"""Kinematics of the driven models against their runs, and its gradients against the complex step."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from mbsim_cli.study.assembling import Settings, build, load
from mbsim_cli.study.evaluation import blocks_of, evaluate
from mbsim_cli.study.listener import SILENT
from mbsim_cli.study.verification import complex_steps

pytestmark = pytest.mark.slow

MODELS = Path(__file__).parents[2] / "models"
DRIVEN = {
    "robots/stewart.yaml": 0.05,
    "robots/delta.yaml": 0.05,
    "scissor_lift.yaml": 0.5,
    "excavator.yaml": 0.25,
    "benchmarks/slider_crank_rheonomic.yaml": 0.1,
    "benchmarks/cam.yaml": 0.05,
}
TURN = {"type": "motion", "coordinate": "shaft.angle", "law": {"type": "polynomial", "coefficients": [0, "2*pi"]}}


def stated(name):
    """The model as a mapping, in forward dynamics; a range of kinematics becomes a law."""
    data = yaml.safe_load((MODELS / name).read_text())
    data.pop("checks", None)
    if "sweep" in data["analysis"]:
        data["constraints"]["sweep_shaft_angle"] = TURN
        data["analysis"] = {"step": 0.005, "duration": 1}
    return data


def driven(name, tmp_path, sampling):
    """The model with kinematics in place of forward dynamics."""
    data = stated(name)
    data["analysis"] = {"type": "kinematics", "sampling": sampling, "duration": data["analysis"]["duration"]}
    data["analysis"]["sensitivity"] = {"method": "ddm", "parameters": "all"}
    return written(data, tmp_path / "driven.yaml")


def written(data, path):
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return load(path, Settings())


@pytest.mark.parametrize(("name", "sampling"), DRIVEN.items())
def test_positions_of_runs(name, sampling, tmp_path):
    file = written(stated(name), tmp_path / "forward.yaml")
    forward = build(file, Settings(method="none", tolerance=1e-13), None).problem
    alone = build(driven(name, tmp_path, sampling), Settings(method="none"), None).problem
    run, samples = (
        {key: np.concatenate([getattr(block, key) for block in blocks]) for key in ("time", "position", "velocity")}
        for blocks in (list(blocks_of(forward)), list(blocks_of(alone)))
    )
    rows = [int(np.argmin(abs(run["time"] - t))) for t in samples["time"]]
    assert np.allclose(run["time"][rows], samples["time"], atol=1e-12)
    assert np.abs(run["position"][rows] - samples["position"]).max() < 1e-10
    size = np.abs(samples["velocity"]).max()
    assert np.abs(run["velocity"][rows] - samples["velocity"]).max() < 1e-8 * size


@pytest.mark.parametrize(("name", "sampling"), DRIVEN.items())
def test_gradients_by_complex_step_and_adjoint(name, sampling, tmp_path):
    file = driven(name, tmp_path, sampling)
    assembled = build(file, Settings(method="ddm"), None)
    found = evaluate(assembled.problem, assembled.objectives, listener=SILENT)
    stepped = complex_steps(assembled, SILENT)
    backwards = build(file, Settings(method="adjoint"), None)
    pulled = evaluate(backwards.problem, backwards.objectives, listener=SILENT)
    values = np.array([max(abs(parameter.value), 1e-3) for parameter in assembled.parameters])
    for key, result in found.items():
        size = np.abs(result.gradient * values).max()
        for other in (stepped[key], pulled[key]):
            assert np.abs((result.gradient - other.gradient) * values).max() <= 1e-9 * size, key
