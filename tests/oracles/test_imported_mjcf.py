"""Robots in MJCF that packages ship, imported unedited: accelerations at random positions and rates are MuJoCo's."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import mbsim_cli as mbsim
from mbsim_cli.exchange import find_meshes, read
from mbsim_cli.exchange.robot import text_of

pytestmark = pytest.mark.oracles
mujoco = pytest.importorskip("mujoco")
FOLDERS = {"gymnasium": ["envs/mujoco/assets"], "dm_control": ["suite", "third_party", "locomotion/walkers/assets"]}
MOVING = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def _robots() -> list[Path]:
    found = []
    for package, folders in FOLDERS.items():
        if spec := importlib.util.find_spec(package):
            for folder in folders:
                found += sorted((Path(spec.origin).parent / folder).rglob("*.xml"))
    return found


ROBOTS = _robots()


def _is_dropped(reference, number: int, remarks: list[str]) -> bool:
    """Whether an actuator is among those that are not taken over."""
    name = mujoco.mj_id2name(reference, mujoco.mjtObj.mjOBJ_ACTUATOR, number) or f"motor{number + 1}"
    return any(remark.startswith(f"not taken over: actuator {name},") for remark in remarks)


@pytest.mark.parametrize("path", ROBOTS, ids=[f"{path.parent.name}-{path.stem}" for path in ROBOTS])
def test_accelerations_are_mujocos(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where MuJoCo logs its warnings
    try:
        reference = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        pytest.skip(f"MuJoCo refuses it: {error}")
    if not reference.nv:
        pytest.skip("nothing moves")
    robot = read(path)
    held = [*robot.couplings, *(line for line in robot.lines if line.is_rigid)]
    assert not any(joint.closes for joint in robot.joints) and not held  # else positions depend on others
    for joint in robot.joints:
        joint.loss = 0.0  # MuJoCo holds by constraints
    driven = [number for number in range(reference.nu) if not _is_dropped(reference, number, robot.remarks)]
    assert len(driven) == len(robot.motors)
    commands = np.random.default_rng(2).uniform(-1, 1, reference.nu)
    for number, motor in zip(driven, robot.motors, strict=True):
        motor.command, motor.range = commands[number], None  # MuJoCo's are not clamped here
    target = tmp_path / "robot.yaml"
    find_meshes(robot, path, target)
    target.write_text(text_of(robot))
    model, data = mbsim.load(target), mujoco.MjData(reference)
    for name in ("CONTACT", "CLAMPCTRL", "LIMIT", "FRICTIONLOSS", "EQUALITY"):  # what is not taken over, or by hand
        reference.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")
    reference.opt.density = reference.opt.viscosity = 0.0
    lines = {line.name for line in robot.lines}
    for tendon in range(reference.ntendon):
        if mujoco.mj_id2name(reference, mujoco.mjtObj.mjOBJ_TENDON, tendon) not in lines:
            reference.tendon_stiffness[tendon] = reference.tendon_damping[tendon] = 0.0
    if reference.nkey:
        mujoco.mj_resetDataKeyframe(reference, data, 0)
        data.qvel[:] = 0.0
    dropped = np.setdiff1d(np.arange(reference.nu), driven)
    reference.actuator_gainprm[dropped], reference.actuator_biasprm[dropped] = 0.0, 0.0
    data.ctrl[:], data.act[:] = commands, 0.0
    q, v = (np.array(part) for part in model.state())
    at = {}  # place of a joint's coordinate in MuJoCo's rates and here, and its sign here
    random = np.random.default_rng(1)
    for number in range(reference.njnt):
        if reference.jnt_type[number] not in MOVING:
            continue
        name = mujoco.mj_id2name(reference, mujoco.mjtObj.mjOBJ_JOINT, number)
        for column, own in enumerate(model.mechanics().coordinates):
            if own.removeprefix("-") in (f"{name}.angle", f"{name}.displacement"):
                at[reference.jnt_dofadr[number]] = column, -1.0 if own.startswith("-") else 1.0
                change, rate = random.uniform(-0.5, 0.5, 2)
                data.qpos[reference.jnt_qposadr[number]] += change
                data.qvel[reference.jnt_dofadr[number]] = rate
                q[column] += at[reference.jnt_dofadr[number]][1] * change
                v[column] = at[reference.jnt_dofadr[number]][1] * rate
    mujoco.mj_forward(reference, data)
    found = model.accelerations(q, v)
    assert at
    for dof, (column, sign) in at.items():
        assert abs(sign * found[column] - data.qacc[dof]) < 1e-9 * np.abs(data.qacc).max(), (dof, column)
