"""``mbsim import``: robots of other formats against their own programs, and against formulas."""

import math
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as rotation

import mbsim_cli
from mbsim_cli.errors import InputOutputError, UsageError
from mbsim_cli.exchange import read
from mbsim_cli.exchange.robot import text_of
from mbsim_cli.spec.loader import load

from .conftest import COMMAND, ROOT, environment

ARM = """\
<?xml version="1.0"?>
<robot name="two links">
  <link name="base-link"/>
  <link name="upper">
    <inertial><origin xyz="0.2 0 0" rpy="0 0 1.5707963267948966"/><mass value="2"/>
      <inertia ixx="0.03" iyy="0.01" izz="0.035" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry></visual>
  </link>
  <link name="lower"><inertial><origin xyz="0 0.1 0"/><mass value="1"/></inertial></link>
  <link name="tool"><inertial><mass value="0.5"/>
    <inertia ixx="0.005" iyy="0.002" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute">
    <parent link="base-link"/><child link="upper"/><origin xyz="0 0 1" rpy="0 0 0.3"/><axis xyz="0 -2 0"/>
    <limit lower="-1" upper="2" effort="10" velocity="1"/><dynamics damping="0.7" friction="0.1"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz="0.4 0 0" rpy="0.5 -0.2 0.1"/><axis xyz="0 0.6 0.8"/>
    <mimic joint="shoulder" multiplier="-0.5" offset="0.1"/>
  </joint>
  <joint name="flange" type="fixed"><parent link="lower"/><child link="tool"/><origin xyz="0 0.3 0"/></joint>
</robot>
"""


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path


@pytest.mark.interpreted
def test_urdf_becomes_a_model_that_runs(mbsim, arm):
    done = mbsim("import", arm, "-o", "arm.yaml")
    assert done.code == 0 and "arm.yaml: 4 bodies, 4 joints" in done.out, done
    assert "1 visual meshes are left out, as package://nowhere/a.stl: not found" in done.err
    assert "tool to lower" in done.err  # its inertia is that of no body
    assert mbsim("validate", "arm.yaml").code == 0
    again = mbsim("import", arm, "-o", "arm.yaml")
    assert again.code == 5 and "exists" in again.err
    found = mbsim("import", arm, "-o", "arm.yaml", "--json", "--force").json
    assert (found["bodies"], found["joints"]) == (4, 4) and len(found["remarks"]) == 3
    assert mbsim("run", "arm.yaml", "--duration", "0.01").code == 0


def test_a_floating_base_falls(mbsim, arm):
    assert mbsim("import", arm, "--base", "floating").code == 0
    text = Path("arm.yaml").read_text()
    assert "base: {type: floating, bodies: [ground, base_link], point: base}" in text


def test_urdf_places_and_inertias(arm):
    """Against the format's own definitions: rpy turns about fixed axes, inertias stand in the axes of their origin."""
    robot = read(arm)
    shoulder, elbow = robot.joints[1], robot.joints[2]
    assert np.allclose(shoulder.axis, [0, -1, 0]) and shoulder.limits == (-1, 2) and shoulder.damping == 0.7
    c, s = math.cos(0.3), math.sin(0.3)
    assert np.allclose(shoulder.turn, [[c, -s, 0], [s, c, 0], [0, 0, 1]])
    r, p, y = 0.5, -0.2, 0.1
    first = [math.cos(y) * math.cos(p), math.sin(y) * math.cos(p), -math.sin(p)]
    last_row = [-math.sin(p), math.cos(p) * math.sin(r), math.cos(p) * math.cos(r)]
    assert np.allclose(elbow.turn[:, 0], first) and np.allclose(elbow.turn[2], last_row)
    upper = next(body for body in robot.bodies if body.name == "upper")
    assert np.allclose(upper.inertia, np.diag([0.01, 0.03, 0.035]), atol=1e-15)  # a quarter turn about z
    assert robot.couplings[0].terms == {"elbow.angle": 1.0, "shoulder.angle": 0.5} and robot.couplings[0].offset == 0.1
    lower = next(body for body in robot.bodies if body.name == "lower")
    assert lower.mass == 1.5 and np.allclose(lower.center, [0, (0.1 + 0.5 * 0.3) / 1.5, 0])
    assert np.allclose(np.diag(lower.inertia) - [0.005, 0.002, 0.002], [0.04 / 3, 0, 0.04 / 3])  # m1 m2/(m1 + m2) d^2


def test_a_quaternion_turns_an_origin_of_urdf(arm):
    """Version 1.1 of the format; the quaternion need not be of unit length."""
    turned = {joint.name: joint.turn for joint in read(arm).joints}["elbow"]
    x, y, z, w = 2 * rotation.from_euler("xyz", [0.5, -0.2, 0.1]).as_quat()
    arm.write_text(ARM.replace('rpy="0.5 -0.2 0.1"', f'quat_xyzw="{x} {y} {z} {w}"'))
    assert np.allclose({joint.name: joint.turn for joint in read(arm).joints}["elbow"], turned, atol=1e-15)
    arm.write_text(ARM.replace('rpy="0.5 -0.2 0.1"', 'quat_xyzw="0 0 0 0"'))
    with pytest.raises(InputOutputError, match="joint elbow: quat_xyzw must not be zero"):
        read(arm)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("</robot>", "", "cannot be read as XML"),
        ('type="continuous"', 'type="screw"', "joint elbow: unknown type 'screw'"),
        ('<parent link="upper"/>', '<parent link="uper"/>', "joint elbow: the parent uper is no link"),
        ('xyz="0 -2 0"', 'xyz="0 0 0"', "joint shoulder: the axis has no direction"),
        ('xyz="0 -2 0"', 'xyz="0 -2"', "joint shoulder: xyz must have 3 numbers, not '0 -2'"),
        ('<mass value="2"/>', '<mass value="heavy"/>', "link upper: value must have 1 number, not 'heavy'"),
        ('<link name="upper">', "<link>", "a link has no name"),
    ],
)
def test_wrong_urdf_is_refused_with_a_sentence(mbsim, arm, old, new, says):
    arm.write_text(ARM.replace(old, new, 1))
    done = mbsim("import", arm)
    assert done.code == 5 and says in done.err, done


def test_other_formats_are_refused(mbsim, tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    assert mbsim("import", tmp_path / "a.txt").code == 2
    assert mbsim("import", tmp_path / "missing.urdf").code == 5


MJCF = """\
<mujoco model="mixed">
  <compiler angle="degree"/>
  <option gravity="0.3 -0.2 -9.81"/>
  <default><joint damping="0.2"/></default>
  <worldbody>
    <body name="trunk" pos="0.1 0.2 1" euler="10 20 30">
      <joint name="slide" type="slide" axis="1 2 0" stiffness="30" springref="0.05"/>
      <joint name="turn" type="hinge" axis="0 1 1" pos="0.1 0 0.05" range="-40 40" armature="0.02" ref="5"/>
      <geom type="box" size="0.2 0.1 0.05" mass="3" euler="0 40 0" pos="0.05 0 0"/>
      <body name="leg" pos="0.3 0 0" quat="0.9 0.1 -0.2 0.3">
        <joint name="hip" axis="0 0 1"/>
        <geom type="capsule" fromto="0 0 0 0 0.1 -0.4" size="0.04" density="800"/>
        <body name="foot" pos="0 0.1 -0.4"><geom type="sphere" size="0.06"/><site name="toe" pos="0.1 0 0"/></body>
      </body>
    </body>
    <body name="ball" pos="1 0 1">
      <joint name="socket" type="ball" pos="0 0 0.2" damping="0"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/>
    </body>
    <body name="free" pos="0 2 1"><freejoint name="flight"/><geom type="box" size="0.1 0.2 0.3"/></body>
  </worldbody>
  <actuator>
    <motor name="push" joint="hip" gear="4"/>
    <position name="hold" joint="turn" gear="3" kp="10" kv="2"/>
    <position name="weak" joint="slide" kp="900" forcerange="-2 1"/>
    <velocity name="slow" joint="hip" kv="3"/>
    <position name="late" joint="hip" kp="5" timeconst="0.1"/>
  </actuator>
  <keyframe><key qpos="0.1 0.3 -0.4  0.8 0.2 0.1 -0.4  0 2 1 0.6 0.3 0.2 0.1" ctrl="0.7 -0.4 0.2 0.5 0"/></keyframe>
</mujoco>
"""


def test_mjcf_accelerates_as_mujoco_does(tmp_path):
    """Several joints of one body, bodies of geometry, defaults, actuators, a keyframe; free and ball joints."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "mixed.xml"
    path.write_text(MJCF)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.actuator_gainprm[4], model.actuator_biasprm[4] = 0.0, 0.0  # its force lags behind its command
    mujoco.mj_forward(model, data)
    robot = read(path)
    assert "not taken over: actuator late, which is no motor or servo of a joint that acts at once" in robot.remarks
    assert [motor.name for motor in robot.motors] == ["push", "hold", "weak", "slow"]
    assert 'value: "3*(10*hold_command - 30*turn.angle - 6*turn.angle.velocity - 2.61' in text_of(robot)
    target = tmp_path / "mixed.yaml"
    target.write_text(text_of(robot).replace("step: 1e-3, duration: 1}", "step: 1e-5, duration: 2e-5}"))
    uncompiled = environment(NUMBA_DISABLE_JIT="1")  # two steps take less than the compilation of their kernels
    subprocess.run([*COMMAND, "run", str(target)], env=uncompiled, cwd=tmp_path, check=True, capture_output=True)
    result = mbsim_cli.open(tmp_path / "mixed.h5")
    labels = result.labels("coordinates/acceleration")["coordinate"]
    found = dict(zip(labels, result["coordinates/acceleration"][0], strict=True))
    for joint, coordinate in (("slide", "slide.displacement"), ("turn", "turn.angle"), ("hip", "hip.angle")):
        dof = model.jnt_dofadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint)]
        assert found[coordinate] == pytest.approx(data.qacc[dof], rel=1e-9), joint
    flight = [value for name, value in found.items() if name.startswith("flight.")][:3]
    assert flight == pytest.approx([0.3, -0.2, -9.81], rel=1e-12)


BODY = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"


@pytest.mark.parametrize(
    ("axis", "x"),
    [([0, 0, 1], [1, 0, 0]), ([0, 0, -1], [1, 0, 0]), ([1, 0, 0], [0, 0, -1]), ([0, 0.6, 0.8], [1, 0, 0])],
)
def test_a_planar_joint_moves_along_the_axes_of_its_frame(mbsim, tmp_path, axis, x):
    """Whatever turns the origin: x is that of the child, carried by the least rotation from z to the normal."""
    (tmp_path / "p.urdf").write_text(
        f"<robot name='p'><link name='a'/><link name='b'>{BODY}</link><joint name='j' type='planar'><parent link='a'/>"
        f"<child link='b'/><origin rpy='0.5 0.2 1'/><axis xyz='{axis[0]} {axis[1]} {axis[2]}'/></joint></robot>"
    )
    assert mbsim("import", "p.urdf").code == 0
    model = load(tmp_path / "p.yaml")
    assert model.joints["j"].reference == "j_zero"
    found = np.array([model.expressions.value(number) for number in model.vectors["j_zero"]["b"]])
    assert found == pytest.approx(np.array(x), abs=1e-15)


FLIGHT = """<mujoco><compiler angle="radian"/><worldbody>
 <body pos="1 0 2"><freejoint name="fly"/><geom type="box" size="0.05 0.04 0.2" pos="0.1 0 0.2"/>
  <body pos="0.1 0 0.2" euler="0.2 0.3 0.4"><joint name="b" type="ball"/><geom size="0.05" pos="0.1 0 0"/>
   <body name="a" pos="0 0.1 0.2" euler="0.5 0 0.4"><joint name="j" axis="0 1 1" actuatorfrcrange="-1 1"/>
    <geom type="box" size="0.05 0.04 0.2" pos="0 0 0.2"/><site name="tip" pos="0 0 0.4"/></body></body></body>
</worldbody><actuator><motor joint="j" name="m" ctrlrange="-1 1"/></actuator>
<keyframe><key qpos="0.3 0.1 0.2 0.9 0.1 0.2 0.37 0.8 0.1 -0.2 0.5 0.3"
 qvel="1 2 3 4 5 6 -7 8 9 2" ctrl="5"/></keyframe>
</mujoco>"""


def test_velocities_of_a_keyframe_are_those_of_mujoco(mbsim, tmp_path):
    """Also its commands, which MuJoCo keeps within their ranges, as the model does by bounds."""
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "f.xml").write_text(FLIGHT)
    model = mujoco.MjModel.from_xml_string(FLIGHT)
    data, velocity = mujoco.MjData(model), np.zeros(6)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, 0, velocity, 0)
    done = mbsim("import", "f.xml", "--json")
    assert any("actuatorfrcrange) of j" in remark for remark in done.json["remarks"])
    assert "m_command: {value: 1, bounds: [-1, 1]}" in (tmp_path / "f.yaml").read_text()
    (tmp_path / "g.yaml").write_text(
        "mbsim: 1\ninclude: [f.yaml]\nsensors: {v: {type: velocity, point: a.tip}}\nanalysis: {duration: 0.001}\n"
    )
    uncompiled = environment(NUMBA_DISABLE_JIT="1")
    subprocess.run([*COMMAND, "run", "g.yaml"], env=uncompiled, cwd=tmp_path, check=True, capture_output=True)
    assert mbsim_cli.open(tmp_path / "g.h5")["v"][0] == pytest.approx(velocity[3:], rel=1e-12)


ONE_END = {  # of each format: a hinge that turns below 1 rad, or anywhere
    "xml": "<mujoco><compiler angle='radian'/><worldbody><body><joint name='j' range='-inf {}' limited='true'/>"
    "<geom size='0.1'/></body></worldbody></mujoco>",
    "urdf": f"<robot name='r'><link name='a'/><link name='b'>{BODY}</link><joint name='j' type='revolute'>"
    "<parent link='a'/><child link='b'/><limit lower='-inf' upper='{}' effort='1' velocity='1'/></joint></robot>",
    "sdf": "<sdf version='1.9'><model name='m'><link name='b'/><joint name='j' type='revolute'><parent>world</parent>"
    "<child>b</child><axis><xyz>1 0 0</xyz><limit><upper>{}</upper></limit></axis></joint></model></sdf>",
}


@pytest.mark.parametrize("ending", ONE_END)
def test_a_joint_with_one_limit_keeps_it(mbsim, tmp_path, ending):
    """Its stop has one end; a joint with infinite limits has no stop, and other infinite numbers are refused."""
    if ending == "xml":
        pytest.importorskip("mujoco")
    path, target = tmp_path / f"a.{ending}", tmp_path / "a.yaml"
    path.write_text(ONE_END[ending].format("1"))
    done = mbsim("import", path, "-o", target, "--stops", "--json")
    assert done.code == 0 and not any("of j" in remark for remark in done.json["remarks"]), done
    assert "j_stop: {type: bump_stop, coordinate: j.angle, maximum: 1, stiffness" in target.read_text()
    assert mbsim("validate", target).code == 0
    path.write_text(ONE_END[ending].format("inf"))
    assert mbsim("import", path, "-o", target, "--stops", "--force").code == 0
    assert "_stop" not in target.read_text()
    for wrong in ("nan", "--inf"):
        path.write_text(ONE_END[ending].format(wrong))
        assert mbsim("import", path, "-o", target, "--force").code == 5


@pytest.mark.parametrize(
    ("limits", "value"),
    [("-inf 5", '"min(1*m_command, 5)"'), ("-1 inf", '"max(1*m_command, -1)"'), ("-1 5", '"clip(1*m_command, -1, 5)"')],
)
def test_a_motor_with_one_limit_keeps_it(mbsim, tmp_path, limits, value):
    pytest.importorskip("mujoco")
    motor = f"<actuator><motor name='m' joint='j' forcerange='{limits}' ctrlrange='{limits}'/></actuator></mujoco>"
    (tmp_path / "m.xml").write_text(ONE_END["xml"].format("1").replace("</mujoco>", motor))
    done = mbsim("import", "m.xml", "-o", "m.yaml")
    assert done.code == 0, done
    assert f"value: {value}" in (tmp_path / "m.yaml").read_text() and mbsim("validate", "m.yaml").code == 0


def test_infinite_damping_of_an_mjcf_is_refused(mbsim, tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "a.xml"
    path.write_text(ONE_END["xml"].format("1").replace("limited", "damping='inf' limited"))
    done = mbsim("import", path)
    assert done.code == 5 and "damping of j is not finite" in done.err, done


def test_what_an_mjcf_disables_is_off(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "off.xml"
    flags = '<flag gravity="disable" spring="disable" damper="disable"/>'
    path.write_text(MJCF.replace('-9.81"/>', f'-9.81">{flags}</option>').replace('damping="0"', 'damping="0.1"'))
    robot = read(path)
    assert np.all(robot.gravity == 0)
    assert all(joint.stiffness == joint.damping == 0 for joint in robot.joints)
    assert "not taken over: damping of socket" in robot.remarks
    path.write_text(LOOP.replace('name="c"', 'name="c" active="false"'))
    robot = read(path)
    assert not any(joint.closes for joint in robot.joints)
    assert "not taken over: equality constraint c, which is not active" in robot.remarks


def test_commands_of_the_page_run(mbsim, tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "robot.urdf").write_text(ARM)
    (tmp_path / "robot.xml").write_text(LOOP)
    (tmp_path / "robot.sdf").write_text(SDF)
    (tmp_path / "loops.yaml").write_text("end: {places: {lower: [0, 0.3, 0], base_link: [0.3, 0.1, 0.8]}}")
    page = (ROOT / "docs" / "import.md").read_text()
    commands = re.findall(r"^\$ mbsim (.*)$", page, re.MULTILINE)
    assert len(commands) == 6
    for command in commands:  # what is run needs kernels of its own; the first test here runs it without the compiler
        done = mbsim(*shlex.split(command.replace("run robot.yaml", "validate robot.yaml")))
        assert done.code == 0, (command, done)


LOOP = """\
<mujoco model="four-bar">
  <worldbody>
    <body name="crank" pos="0 0 0"><joint name="a" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.01"/>
      <body name="coupler" pos="0.1 0 0"><joint name="b" axis="0 0 1"/>
        <geom type="capsule" fromto="0 0 0 0.35 0 0" size="0.01"/></body></body>
    <body name="rocker" pos="0.3 0 0"><joint name="d" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.01"/></body>
  </worldbody>
  <equality><connect name="c" body1="coupler" body2="rocker" anchor="0.35 0 0"/></equality>
  <keyframe><key qpos="0.2 0.6 1.6"/></keyframe>
</mujoco>
"""


def test_mjcf_closes_loops(mbsim, tmp_path):
    """The point of the rocker is where the anchor lies in the reference position."""
    pytest.importorskip("mujoco")
    path = tmp_path / "loop.xml"
    path.write_text(LOOP)
    robot = read(path)
    assert np.allclose(robot.joints[-1].places, [[0.35, 0, 0], [0.15, 0, 0]]) and robot.joints[-1].closes
    done = mbsim("import", path)
    assert done.code == 0, done
    assert mbsim("info", "loop.yaml", "--json").json["cut_joints"] == ["c"]


@pytest.mark.parametrize("kind", ["connect", "weld"])
def test_mjcf_closes_loops_at_sites(tmp_path, kind):
    """Poses in which the frames of both sites coincide, as MuJoCo finds them, are those of the joint."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "sites.xml"
    path.write_text(
        '<mujoco><worldbody><body name="a"><freejoint/><geom size="0.1"/><site name="s" pos="1 2 3" euler="10 20 30"/>'
        '</body><body name="b"><freejoint/><geom size="0.1"/><site name="r" pos="3 1 2" euler="40 -20 5"/></body>'
        f'</worldbody><equality><{kind} site1="s" site2="r"/></equality></mujoco>'
    )
    joint = read(path).joints[-1]
    assert joint.bodies == ("a", "b") and joint.closes
    model = mujoco.MjModel.from_xml_path(str(path))
    data, turn = mujoco.MjData(model), np.zeros(4)
    mujoco.mju_mat2Quat(turn, joint.turn.ravel())
    data.qpos[7:] = [*(joint.places[0] - joint.turn @ joint.places[1]), *turn]  # the first body stands in the world
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos[: 3 if kind == "connect" else 6]).max() < 1e-14


TENDONS = """\
<mujoco model="held">
  <worldbody>
    <site name="hook" pos="0 0.1 2"/>
    <body name="upper" pos="0 0 1"><joint name="a" axis="0 1 0" stiffness="3"/>
      <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02"/><site name="middle" pos="0.3 0 0.02"/>
      <body name="lower" pos="0.5 0 0"><joint name="b" axis="0 0.6 0.8"/>
        <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.02"/><site name="tip" pos="0.4 0 0"/></body></body>
  </worldbody>
  <tendon>
    <spatial name="a_spring" stiffness="40" springlength="0.7"><site site="hook"/><site site="middle"/></spatial>
    <spatial name="rope" stiffness="5" damping="2" limited="true" range="0 3">
      <site site="tip"/><site site="hook"/></spatial>
    <spatial name="slack" stiffness="5" springlength="0 0.3"><site site="hook"/><site site="tip"/></spatial>
    <spatial name="over" stiffness="5"><site site="hook"/><site site="middle"/><site site="tip"/></spatial>
    <spatial name="short" stiffness="5"><site site="middle"/><site site="tip"/></spatial>
  </tendon>
  <keyframe><key qpos="0.3 -0.4" qvel="1 -2"/></keyframe>
</mujoco>
"""


@pytest.mark.interpreted
def test_springs_between_sites_pull_as_in_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "held.xml"
    path.write_text(TENDONS)
    robot = read(path)
    assert [line.name for line in robot.lines] == [
        "a_spring_tendon",
        "rope",
        "short",
    ]  # a_spring is the force of a joint
    assert "not taken over: limits of tendon rope" in robot.remarks
    assert "not taken over: 2 tendons" in robot.remarks
    reference = mujoco.MjModel.from_xml_path(str(path))
    reference.tendon_stiffness[2:4] = 0.0
    data = mujoco.MjData(reference)
    mujoco.mj_resetDataKeyframe(reference, data, 0)
    mujoco.mj_forward(reference, data)
    model = mbsim_cli.loads(text_of(robot))
    assert model.accelerations(*model.state()) == pytest.approx(data.qacc, rel=1e-10)


def test_a_tendon_of_constant_length_is_a_distance(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "held.xml"
    held = (
        '<equality><tendon tendon1="rope" polycoef="0.1 0 0 0 0"/><tendon tendon1="slack" tendon2="over"/></equality>'
    )
    path.write_text(TENDONS.replace("  <keyframe>", f"  {held}\n  <keyframe>"))
    robot, reference = read(path), mujoco.MjModel.from_xml_path(str(path))
    (rope,) = (line for line in robot.lines if line.is_rigid)
    assert rope.length == reference.tendon_length0[1] + 0.1
    assert "not taken over: equality constraint equality2" in robot.remarks
    text = text_of(robot)
    assert f"rope: {{type: distance, points: [lower.rope, ground.rope], distance: {rope.length!r}}}" in text
    (tmp_path / "held.yaml").write_text(text)
    load(tmp_path / "held.yaml", {})


@pytest.mark.parametrize(("longer", "says"), [("-9", "not taken over: equality constraint e"), ("-LENGTH", "")])
def test_a_tendon_without_length_holds_its_ends_together(tmp_path, longer, says):
    """Names of tendons, equalities and joints may be the same."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "held.xml"
    path.write_text(TENDONS)
    length = float(mujoco.MjModel.from_xml_path(str(path)).tendon_length0[1])
    held = f'<tendon name="e" tendon1="rope" polycoef="{longer.replace("LENGTH", repr(length))} 0 0 0 0"/>'
    coupled = '<joint name="rope" joint1="a" joint2="b"/>'
    path.write_text(TENDONS.replace("  <keyframe>", f"  <equality>{held}{coupled}</equality>\n  <keyframe>"))
    robot = read(path)
    assert not any(line.is_rigid for line in robot.lines)
    assert [joint.kind for joint in robot.joints if joint.closes] == ([] if says else ["spherical"])
    assert not says or says in robot.remarks
    (tmp_path / "held.yaml").write_text(text_of(robot))
    load(tmp_path / "held.yaml", {})


@pytest.mark.slow
def test_mjcf_moves_with_its_loop_closed(tmp_path):
    path = tmp_path / "loop.xml"
    path.write_text(LOOP)
    pytest.importorskip("mujoco")
    gap = "  gap: {type: distance, points: [coupler.c_end, rocker.c_start]}\n"
    points = "points:\n  c_end: {coupler: [0.35, 0, 0]}\n  c_start: {rocker: [0.15, 0, 0]}\n"
    text = text_of(read(path)).replace("gravity: [0, 0, -9.81]", "gravity: [0, -9.81, 0]")
    text = re.sub(r"^points:.*\n", points, re.sub(r"^sensors:\n", f"sensors:\n{gap}", text, flags=re.M), flags=re.M)
    (tmp_path / "loop.yaml").write_text(text)
    result = mbsim_cli.run(tmp_path / "loop.yaml")
    assert np.abs(result["gap"]).max() < 1e-9 and np.ptp(result["a_angle"]) > 0.5


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
def test_a_device_is_no_robot(mbsim):
    done = mbsim("import", "/dev/zero")
    assert done.code == 5 and "/dev/zero: it is a pipe or a device" in done.err


def test_mjcf_without_mujoco_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.xml").write_text("<mujoco/>")
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(UsageError, match=r"MJCF is read by MuJoCo; in a clone of mbsim install it with: pip install"):
        read(tmp_path / "a.xml")


def test_broken_mjcf_is_refused(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "loop.xml"
    path.write_text(LOOP.replace('body2="rocker"', 'body2="roker"'))
    with pytest.raises(InputOutputError, match="cannot be read as MJCF"):
        read(path)


SDF = """\
<?xml version="1.0"?>
<sdf version="1.9"><world name="w"><gravity>0 0 -9.81</gravity><plugin name="physics" filename="libx.so"/>
<model name="bars">
  <pose>0.5 0 0 0 0 0.3</pose>
  <frame name="pin"><pose>0.3 0 0 0 0 0</pose></frame>
  <link name="crank"><pose>0.05 0 0 0 0 0.2</pose>
    <inertial><mass>0.3</mass><inertia><ixx>0.001</ixx><iyy>0.002</iyy><izz>0.002</izz></inertia></inertial></link>
  <link name="coupler"><pose relative_to="crank" degrees="true">0.1 0.05 0 0 0 -6</pose>
    <inertial auto="true"><density>2000</density></inertial>
    <collision name="c"><pose>0.1 0 0 0 0 0</pose><geometry><box><size>0.2 0.02 0.02</size></box></geometry></collision>
    <visual name="v"><pose>0.1 0 0 0 0 0</pose>
      <geometry><mesh><uri>model://bars/bar.obj</uri><scale>0.1 0.1 0.1</scale></mesh></geometry></visual></link>
  <link name="rocker"><pose relative_to="pin">0 0.1 0 0 0 0</pose></link>
  <joint name="a" type="revolute"><parent>world</parent><child>crank</child>
    <axis><xyz expressed_in="__model__">0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit>
      <dynamics><damping>0.1</damping><friction>0.2</friction></dynamics></axis></joint>
  <joint name="b" type="revolute"><pose relative_to="crank">0.1 0 0 0 0 0</pose><parent>crank</parent>
    <child>coupler</child><axis><xyz>0 0 1</xyz></axis></joint>
  <joint name="d" type="revolute"><pose relative_to="pin"/><parent>world</parent><child>rocker</child>
    <axis><xyz>0 0 1</xyz></axis></joint>
  <joint name="c" type="revolute"><parent>coupler</parent><child>rocker</child><axis><xyz>0 0 1</xyz></axis></joint>
</model></world></sdf>
"""
CUBE = "".join(f"v {x} {y} {z}\n" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
CUBE += "".join(f"f {a} {b} {c}\n" for a, b, c in [(1, 2, 4), (1, 4, 3), (5, 8, 6), (5, 7, 8), (1, 5, 6), (1, 6, 2)])


@pytest.fixture
def bars(tmp_path):
    (tmp_path / "bars").mkdir()
    (tmp_path / "bars" / "bar.obj").write_text(CUBE)
    path = tmp_path / "bars" / "robot.sdf"
    path.write_text(SDF)
    return path


def test_sdf_becomes_a_closed_loop(mbsim, bars):
    """Poses relative to frames, axes in other frames, inertia of collisions, stops, a mesh; by hand."""
    done = mbsim("import", bars, "-o", "bars.yaml", "--stops")
    assert done.code == 0 and "not taken over: plugin physics" in done.err, done
    text = Path("bars.yaml").read_text()
    assert "friction: {loss: 0.2}" in text and "\n  a_stop: {type: bump_stop" in text
    assert 'visuals: [{mesh: "bars/bar.obj", scale: [0.1, 0.1, 0.1], position: [0.1, 0, 0]}]' in text
    robot = read(bars)
    a, b, d, c = robot.joints
    at = np.array([0.5 + 0.05 * math.cos(0.3), 0.05 * math.sin(0.3), 0])
    assert np.allclose(a.places, [at, [0, 0, 0]]) and np.allclose(a.turn[:, 0], [math.cos(0.5), math.sin(0.5), 0])
    turn = math.radians(6)  # from the crank's frame back to the coupler's
    assert np.allclose(b.places, [[0.1, 0, 0], [0.05 * math.sin(turn), -0.05 * math.cos(turn), 0]])
    assert np.allclose(d.places[1], [0, -0.1, 0]) and c.closes and not d.closes
    coupler = robot.bodies[1]
    assert coupler.mass == pytest.approx(0.16) and coupler.inertia[2, 2] == pytest.approx(0.16 * (0.04 + 4e-4) / 12)
    assert robot.bodies[2].mass == 1.0  # the format's own default
    info = mbsim("info", "bars.yaml", "--json").json
    assert info["cut_joints"] == ["c"] and info["mobility"] == 1


def test_sdf_floats_unless_it_is_held(bars):
    text = SDF.replace("<parent>world</parent>", "<parent>crank</parent>", 1).replace(
        "<child>crank</child>", "<child>coupler</child>", 1
    )
    bars.write_text(text)
    kinds = {joint.name: joint.kind for joint in read(bars).joints}
    assert "floating" in kinds.values() or "base" not in kinds
    bars.write_text(SDF.replace("<parent>world</parent>", "<parent>pin2</parent>", 1))
    with pytest.raises(InputOutputError, match="joint a: the parent pin2 is no link"):
        read(bars)


ONE = """<sdf version="1.7"><model name="m" placement_frame="hook"><pose>1 2 3 0 0 0</pose>
<frame name="hook"><pose relative_to="l">0 0 1 0 0 0</pose></frame>
<link name="l"><pose rotation_format="quat_xyzw">0 1 0  0 0 0.7071067811865476 0.7071067811865476</pose></link>
<link name="k"><pose relative_to="l">0.5 0 0 0 0 0</pose></link>
<joint name="u" type="universal"><parent>l</parent><child>k</child>
<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
</model></sdf>"""


def test_sdf_places_a_model_by_one_of_its_frames(tmp_path):
    """The frame 1 m above the link is put at (1, 2, 3); a universal joint is two hinges; nothing holds the links."""
    path = tmp_path / "one.sdf"
    path.write_text(ONE)
    base, first, second = read(path).joints
    assert base.kind == "floating" and np.allclose(base.places[0], [1, 2, 2])
    assert np.allclose(base.turn, np.eye(3))  # as the link's frame is that of the hook
    assert first.bodies == ("l", "u_middle") and second.bodies == ("u_middle", "k")
    assert np.allclose(first.axis, [1, 0, 0]) and np.allclose(second.axis, [0, 1, 0])
    assert read(path, floating=False).joints[0].kind == "fixed"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('relative_to="pin">0 0.1', 'relative_to="pn">0 0.1', "there is no frame or link bars::pn"),
        ('name="pin"><pose>', 'name="pin"><pose relative_to="rocker">', "is stated relative to itself"),
        ('type="revolute"><parent>coupler', 'type="hinge"><parent>coupler', "joint c: unknown type 'hinge'"),
        ("<mass>0.3</mass>", "<mass>much</mass>", "link crank: mass must have 1 number, not 'much'"),
        ("<mass>0.3</mass>", "<mass>inf</mass>", "mass of crank is not finite"),
        ("</sdf>", "", "cannot be read as XML"),
    ],
)
def test_wrong_sdf_is_refused_with_a_sentence(mbsim, bars, old, new, says):
    bars.write_text(SDF.replace(old, new, 1))
    done = mbsim("import", bars)
    assert done.code == 5 and says in done.err, done


OPEN = LOOP.replace('<equality><connect name="c" body1="coupler" body2="rocker" anchor="0.35 0 0"/></equality>', "")
LOOPS = (
    "c: {type: revolute, places: {coupler: [0.35, 0, 0], rocker: [0.15, 0, 0]}, "
    "axes: {coupler: [0, 0, 1], rocker: [0, 0, 1]}}"
)


def test_loops_of_a_file(mbsim, tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "open.xml").write_text(OPEN)
    (tmp_path / "loops.yaml").write_text(LOOPS)
    assert mbsim("import", "open.xml", "--loops", "loops.yaml").code == 0
    info = mbsim("info", "open.yaml", "--json").json
    assert info["cut_joints"] == ["c"] and info["mobility"] == 1
    for old, new, says in [
        ("revolute", "hinge", "c: type is spherical or revolute, not 'hinge'"),
        ("coupler: [0.35", "couple: [0.35", "there is no body 'couple'"),
        ("[0.35, 0, 0]", "[0.35, 0]", "c: places of coupler must have three numbers"),
        ("c: {", "a: {", "the robot has a joint a already"),
        ("axes", "axles", "unknown key 'axles'"),
        ("c: {", "in: {", "no joint is called in; in_2 would be right"),
        ("c: {", "c: {}\nc: {", "loops.yaml:2:1: key 'c' stands twice, first in line 1"),
        ("c: {", "c: [{", "loops.yaml:1:"),
    ]:
        (tmp_path / "loops.yaml").write_text(LOOPS.replace(old, new, 1))
        done = mbsim("import", "open.xml", "--loops", "loops.yaml", "--force")
        assert done.code == 5 and says in done.err, done


def test_shapes_of_an_sdf_may_be_posed_relative_to_frames(tmp_path):
    """The inertia is that of the box at its place, scaled to the mass that is stated; its density does not count."""
    (tmp_path / "box.sdf").write_text(
        """<sdf version="1.11"><model name="box"><frame name="f"><pose>1 2 3 0 0 1.5707963267948966</pose></frame>
        <link name="a"><pose>1 0 0 0 0 0</pose><inertial auto="true"><mass>6</mass><density>9</density></inertial>
        <collision name="c"><pose relative_to="f">0.5 0 0 0 0 0</pose>
        <geometry><box><size>1 2 3</size></box></geometry></collision>
        <visual name="v"><pose relative_to="f">0.5 0 0 0 0 0</pose>
        <geometry><mesh><uri>box.obj</uri></mesh></geometry></visual></link></model></sdf>"""
    )
    robot = read(tmp_path / "box.sdf")
    (body,), (visual,) = robot.bodies, robot.visuals
    assert body.mass == pytest.approx(6) and np.allclose(body.center, [0, 2.5, 3])
    assert np.allclose(body.inertia, np.diag([5, 6.5, 2.5]))  # the sides 1 and 2 change places
    assert np.allclose(visual.place, [0, 2.5, 3]) and np.allclose(visual.turn, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])


def test_a_visual_is_drawn_where_its_body_is(mbsim, bars, tmp_path):
    pytest.importorskip("meshio")
    from mbsim_cli import spec
    from mbsim_cli.assembly.scene import moving_scene

    assert mbsim("import", bars, "-o", "bars.yaml").code == 0
    (surface,) = moving_scene(spec.load(tmp_path / "bars.yaml")).scene.surfaces
    assert len(surface.triangles) == 6 and np.allclose(surface.points.mean(axis=0), [0.1, 0, 0])
    assert np.allclose(np.ptp(surface.points, axis=0), 0.2)
    (tmp_path / "bars" / "bar.obj").unlink()
    scene = moving_scene(spec.load(tmp_path / "bars.yaml")).scene
    assert not scene.surfaces and "coupler is drawn without its surface: there is no file" in scene.left_out[0]


@pytest.mark.parametrize(
    "how",
    [
        'scale="0.1 0.2 0.3"',
        'scale="0.1 0.2 -0.3" refpos="1 0.2 -0.3"',
        'scale="0.2 0.2 0.2" refpos="1 0.2 -0.3" refquat="0.5 0.1 -0.7 0.2"',
    ],
)
def test_a_mesh_of_mjcf_is_drawn_where_mujoco_has_it(tmp_path, how):
    """MuJoCo moves its vertices into the axes of its own inertia."""
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "assets").mkdir()
    corners = np.array([[0, 0, 0], [3, 0, 0], [0, 2, 0], [0, 0, 1.0]])
    faces = [(1, 3, 2), (1, 2, 4), (2, 3, 4), (1, 4, 3)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a} {b} {c}" for a, b, c in faces]
    (tmp_path / "assets" / "wedge.obj").write_text("\n".join(lines))
    path = tmp_path / "wedge.xml"
    path.write_text(
        f'<mujoco><compiler meshdir="assets"/><asset><mesh name="w" file="wedge.obj" {how}/></asset>'
        '<worldbody><body><joint/><geom type="mesh" mesh="w" pos="0.4 0 1" euler="20 30 40"/>'
        '<geom type="mesh" mesh="w" group="3"/></body></worldbody></mujoco>'
    )
    (visual,) = read(path).visuals
    assert Path(visual.file) == tmp_path / "assets" / "wedge.obj"
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    theirs = model.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    ours = (corners * visual.scale) @ visual.turn.T + visual.place
    for point in ours:
        assert np.abs(theirs - point).max(axis=1).min() < 1e-6  # vertices are in single precision there


def test_a_mesh_of_mjcf_that_is_turned_before_it_is_stretched_is_left_out(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "wedge.obj").write_text("v 0 0 0\nv 3 0 0\nv 0 2 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    (tmp_path / "wedge.xml").write_text(
        '<mujoco><asset><mesh name="w" file="wedge.obj" scale="1 2 3" refquat="0.5 0.1 -0.7 0.2"/></asset>'
        '<worldbody><body name="b"><joint/><geom type="mesh" mesh="w"/></body></worldbody></mujoco>'
    )
    robot = read(tmp_path / "wedge.xml")
    assert not robot.visuals
    assert "not taken over: a visual mesh of b, turned (refquat) before it is scaled" in robot.remarks
