"""Robots that Pinocchio's package ships, imported unedited: mass matrix, weights and torques of inverse dynamics."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.errors import ModelError
from mbsim_cli.exchange import find_meshes, read
from mbsim_cli.exchange.robot import Names, Robot, text_of

pytestmark = pytest.mark.oracles
pin = pytest.importorskip("pinocchio")


def _robots() -> list[Path]:
    spec = importlib.util.find_spec("pinocchio")
    prefix = next((p for p in Path(spec.origin).parents if p.name == "cmeel.prefix"), None) if spec else None
    return sorted((prefix / "share" / "example-robot-data").rglob("*.urdf")) if prefix else []


ROBOTS = _robots()


def _at_an_instant(robot: Robot, numbers: np.ndarray) -> str:
    """The model with laws that pass through positions, velocities and accelerations (3, n) at time zero."""
    moving = [joint for joint in robot.joints if joint.coordinate]
    head = text_of(robot).partition("analysis:")[0]
    head = re.sub(r"sensors:\n(  .*\n)+", "", head)
    laws = "".join(
        f"  l{i}: {{type: polynomial, coefficients: [{q!r}, {v!r}, {a / 2!r}]}}\n"
        for i, (q, v, a) in enumerate(numbers.T.tolist())
    )
    motion = ", ".join(f"{joint.coordinate}: l{i}" for i, joint in enumerate(moving))
    what = f"{{type: inverse_dynamics, sampling: 1, duration: 1, motion: {{laws: {{{motion}}}}}}}"
    return f"{head}laws:\n{laws}analysis: {what}\n"


@pytest.mark.parametrize("path", ROBOTS, ids=[path.stem for path in ROBOTS])
def test_torques_are_pinocchios(path, tmp_path):
    try:
        reference = pin.buildModelFromUrdf(str(path))
    except ValueError as error:
        pytest.skip(f"Pinocchio refuses it: {error}")
    robot = read(path)
    find_meshes(robot, path, tmp_path / "robot.yaml")
    refused = [remark for remark in robot.remarks if remark.startswith("correct")]
    if refused:
        pytest.skip(refused[0])
    robot.couplings = []  # Pinocchio knows no joints that follow others here
    for joint in robot.joints:
        joint.loss = 0.0  # nor the friction of joints
    moving = [joint for joint in robot.joints if joint.coordinate]
    if not moving:
        pytest.skip("nothing moves")
    numbers = np.random.default_rng(1).uniform(-1, 1, (3, len(moving)))
    model = tmp_path / "robot.yaml"
    model.write_text(_at_an_instant(robot, numbers))
    result = mbsim.run(model)
    torques = dict(zip(result.labels("torque")["coordinate"], result["torque"][0], strict=True))
    q, v, a = pin.neutral(reference), np.zeros(reference.nv), np.zeros(reference.nv)
    at = {joint.name: i for i, joint in enumerate(moving)}
    names, places = Names(), {}
    for number in range(1, reference.njoints):
        own, i = reference.joints[number], at[names.add(reference.names[number])]
        position, v[own.idx_v], a[own.idx_v] = numbers[:, i]
        q[own.idx_q : own.idx_q + own.nq] = [position] if own.nq == 1 else [np.cos(position), np.sin(position)]
        places[i] = own.idx_v
    expected = pin.rnea(reference, reference.createData(), q, v, a)
    damping = [joint.damping * numbers[1, i] for i, joint in enumerate(moving)]  # which its torques leave out
    for i, joint in enumerate(moving):
        scale = np.abs(expected).max()
        assert abs(torques[joint.coordinate] - expected[places[i]] - damping[i]) < 1e-9 * scale, joint.name
    model.write_text(text_of(robot))
    try:
        mechanics = mbsim.load(model).mechanics()
    except ModelError as error:  # Romeo's fingers: their torques are right, and no mass matrix has an inverse
        assert all("nothing gives inertia" in str(issue) for issue in error.issues)
        return
    order = [joint.coordinate for joint in moving]
    take = [order.index(name) for name in mechanics.coordinates]
    columns = [places[i] for i in take]
    M = pin.crba(reference, reference.createData(), q)
    M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(columns, columns)]
    here, still = numbers[0, take], np.zeros(len(moving))
    armature = np.diag([moving[i].armature for i in take])
    assert np.abs(mechanics.mass_matrix(here) - armature - M).max() < 1e-9 * np.abs(M).max()
    weight = pin.computeGeneralizedGravity(reference, reference.createData(), q)[columns]
    assert np.abs(mechanics.inverse_dynamics(here, still, still) - weight).max() < 1e-9 * max(1.0, np.abs(weight).max())


def test_there_are_fifty():
    assert len(ROBOTS) >= 50
