"""``mbsim import`` and ``export`` of valid files with parts that few have, against MuJoCo and by hand."""

import numpy as np
import pytest

import mbsim_cli
from mbsim_cli.errors import InputOutputError
from mbsim_cli.exchange import read
from mbsim_cli.exchange.robot import text_of

ARM = """<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"{option}/><worldbody><body name="{a}">
<joint name="{j}" axis="0 1 0"{joint}/><geom size="0.1" pos="0.3 0 0"/><site name="s-1"/>{sites}
<body name="b" pos="0.5 0 0"><joint name="k" axis="0 1 1"/><geom type="box" size="0.05 0.1 0.2" pos="0.1 0.1 0"/>
</body></body></worldbody><actuator>{actuators}</actuator></mujoco>"""


def arm(path, a="a", j="j", joint="", sites="", actuators="", option=""):
    path.write_text(ARM.format(a=a, j=j, joint=joint, sites=sites, actuators=actuators, option=option))
    return path


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("actuators", "option", "remark"),
    [
        ('<motor name="m" joint="j" gear="2" armature="0.3" damping="0.7"/>', "", None),
        ('<pid name="p" joint="j" kp="10" kv="1"/><motor name="m" joint="k" ctrlrange="-3 2"/>', "", "p, which is no"),
        ('<motor name="m" joint="j" group="1"/>', ' actuatorgroupdisable="1"', "m, which is disabled"),
        ('<motor name="m" joint="j" delay="0.1" nsample="2"/>', "", "m, which is no motor"),
    ],
    ids=["armature", "pid", "disabled", "delayed"],
)
def test_actuators_are_those_of_mujoco(tmp_path, actuators, option, remark):
    mujoco = pytest.importorskip("mujoco")
    path = arm(tmp_path / "arm.xml", actuators=actuators, option=option)
    robot = read(path)
    assert remark is None or any(f"actuator {remark}" in text for text in robot.remarks)
    for motor in robot.motors:
        motor.command = 0.6
    (tmp_path / "arm.yaml").write_text(text_of(robot))
    model, other = mbsim_cli.load(tmp_path / "arm.yaml"), mujoco.MjModel.from_xml_path(str(path))
    data, q, v = mujoco.MjData(other), [0.3, -0.4], [0.5, 0.7]
    data.qpos[:], data.qvel[:] = q, v
    for motor in robot.motors:
        data.ctrl[other.actuator_ctrladr[other.actuator(motor.name).id]] = 0.6
        assert motor.range == ((-3, 2) if "ctrlrange" in actuators else None)
    if "<pid" in actuators:  # which is not taken over
        other.actuator_gear[0] = 0.0
    mujoco.mj_forward(other, data)
    np.testing.assert_allclose(model.accelerations(q, v), data.qacc, rtol=1e-9)


@pytest.mark.parametrize(
    ("joint", "remark"),
    [
        ('damping="0.1 2 3"', "terms of second and third order of the springs and dampers of j"),
        ('stiffness="1 2"', "terms of second and third order of the springs and dampers of j"),
        ('stiffness="1" springyield="0.1"', "yielding (springyield) of the springs of j"),
    ],
)
def test_springs_and_dampers_that_are_not_linear_are_told(tmp_path, joint, remark):
    pytest.importorskip("mujoco")
    assert f"not taken over: {remark}" in read(arm(tmp_path / "arm.xml", joint=" " + joint)).remarks


def test_elasticity_of_flexes_is_told(tmp_path):
    pytest.importorskip("mujoco")
    grid = 'type="grid" count="3 1 1" spacing="0.2 0.2 0.2" radius="0.01" dim="1" mass="1"'
    flex = f'<flexcomp name="f" {grid}><edge stiffness="100"/></flexcomp>'
    path = tmp_path / "flex.xml"
    path.write_text(f"<mujoco><worldbody>{flex}</worldbody></mujoco>")
    assert "not taken over: elasticity of 1 flexible part (masses count)" in read(path).remarks


WELDED = """<mujoco><worldbody><body name="a"><freejoint/><geom size="0.1"/></body>
<body name="b" pos="1 0 0.3" euler="20 30 40"><freejoint/><geom size="0.1"/></body></worldbody>
<equality><weld body1="a" body2="b" {}/></equality></mujoco>"""


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("", "fixed"),
        ('anchor="0.1 0.2 0.3"', "fixed"),
        ('anchor="0.1 0.2 0.3" relpose="1 2 3 0.9 0.1 0.2 0.3"', "fixed"),
        ('anchor="0.1 0.2 0.3" torquescale="0"', "spherical"),
    ],
)
def test_a_weld_holds_what_it_holds_in_mujoco(tmp_path, how, kind):
    """In the pose in which the joint is closed MuJoCo finds nothing open."""
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "w.xml").write_text(WELDED.format(how))
    joint = read(tmp_path / "w.xml").joints[-1]
    assert joint.kind == kind
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "w.xml"))
    data, turn = mujoco.MjData(model), np.zeros(4)
    mujoco.mju_mat2Quat(turn, joint.turn.ravel())
    data.qpos[:] = [0, 0, 0, 1, 0, 0, 0, *(joint.places[0] - joint.turn @ joint.places[1]), *turn]
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos).max() < 1e-14


def test_what_an_mjcf_has_besides_is_told(tmp_path):
    """A mocap body stands where the first keyframe has it; a joint is held whatever its further terms are."""
    pytest.importorskip("mujoco")
    path = tmp_path / "more.xml"
    path.write_text(
        '<mujoco><worldbody><body name="m" mocap="true"/><body><joint name="b" type="ball" range="0 40"/>'
        '<geom size="0.1"/></body><body><joint name="j" range="-1 1"/><geom size="0.1"/></body></worldbody>'
        '<equality><joint joint1="j" polycoef="0.1 2 3 0 0"/></equality><sensor><jointpos joint="j"/></sensor>'
        '<keyframe><key mpos="1 2 3" mquat="0 2 0 0"/><key/><key/></keyframe></mujoco>'
    )
    robot = read(path)
    for what in ("limits of b", "1 sensor", "2 keyframes after the first", "the motion of 1 mocap body"):
        assert any(remark.startswith(f"not taken over: {what}") for remark in robot.remarks), robot.remarks
    assert robot.couplings[0].terms == {"j.angle": 1.0} and robot.couplings[0].offset == 0.1
    (mocap,) = (joint for joint in robot.joints if joint.bodies[1] == "m")
    assert np.array_equal(mocap.places[0], [1, 2, 3]) and np.array_equal(mocap.turn, np.diag([1, -1, -1]))
    assert any(joint.limits for joint in robot.joints)
    path.write_text(path.read_text().replace("<worldbody>", '<option><flag limit="disable"/></option><worldbody>'))
    robot = read(path)
    assert not any(joint.limits for joint in robot.joints) and not any("limits of b" in text for text in robot.remarks)


@pytest.mark.parametrize("name", ["ground", "all", "in", "lambda", "True", "null", "origin", "center_of_mass"])
def test_names_that_model_files_do_not_have_are_changed(mbsim, tmp_path, name):
    pytest.importorskip("mujoco")
    servo = f'<position name="{name}" joint="{name}" kp="3"/><motor name="{name}_damping" joint="k"/>'
    sites = f'<site name="{name}"/><site name="s_1"/><site name="j"/>'
    arm(tmp_path / "arm.xml", a=name, j=name, joint=' damping="0.1"', sites=sites, actuators=servo)
    assert mbsim("import", "arm.xml").code == 0
    assert mbsim("validate", "arm.yaml").code == 0


def link(name, pose="0 0 0"):
    return f'<link name="{name}"><pose>{pose} 0 0 0</pose></link>'


def pin(name, parent, child):
    return f'<joint name="{name}" type="revolute"><parent>{parent}</parent><child>{child}</child></joint>'


INNER = f'<model name="n"><pose>0 0 1 0 0 0</pose>{link("x", "1 0 0")}{link("y")}{pin("k", "x", "y")}</model>'
HOOK = '<frame name="f"{}><pose relative_to="a">0 0 2 0 0 0</pose></frame>'


@pytest.mark.parametrize(
    ("content", "bodies", "places"),
    [
        (link("a") + link("b", "1 0 0") + HOOK.format(' attached_to="b"') + link("c", "1 0 2") + pin("j", "f", "c"),
         ("b", "c"), [[0, 0, 2], [0, 0, 0]]),
        (link("a") + link("c", "1 0 2") + HOOK.format("") + pin("j", "f", "c"), ("a", "c"), [[1, 0, 2], [0, 0, 0]]),
        (link("a") + INNER + pin("j", "a", "n"), ("a", "m__n__x"), [[0, 0, 1], [-1, 0, 0]]),
        (link("a") + INNER + pin("j", "__model__", "n::y"), ("a", "m__n__y"), [[0, 0, 1], [0, 0, 0]]),
    ],
    ids=["attached", "of the model", "nested", "model"],
)  # fmt: skip
def test_a_joint_at_a_frame_holds_the_link_that_the_frame_is_attached_to(tmp_path, content, bodies, places):
    """A frame is attached to what it says, else to the first link of its model; not to what its pose is relative to."""
    path = tmp_path / "m.sdf"
    path.write_text(f'<sdf version="1.9"><model name="m">{content}</model></sdf>')
    (joint,) = (joint for joint in read(path).joints if joint.name == "j")
    assert joint.bodies == bodies
    np.testing.assert_allclose(joint.places, places)


def test_joints_of_the_world_and_of_static_models(tmp_path):
    static = f'<model name="s"><static>1</static>{link("x")}{link("y")}{pin("held", "x", "y")}</model>'
    moving = f'<model name="m"><pose>0 0 1 0 0 0</pose>{link("z")}</model>'
    path = tmp_path / "w.sdf"
    path.write_text(f'<sdf version="1.10"><world name="w">{static}{moving}{pin("j", "s::x", "m::z")}</world></sdf>')
    robot = read(path)
    kinds = {joint.name: (joint.kind, joint.bodies) for joint in robot.joints}
    ground = {"base": ("fixed", ("ground", "x")), "y_base": ("fixed", ("ground", "y"))}
    assert kinds == ground | {"j": ("revolute", ("x", "z"))}
    assert "not taken over: joints of s, which is static" in robot.remarks


def test_the_format_is_that_of_the_root_element(tmp_path):
    plugin = "<plugin name='p' filename='q'><robotNamespace>r</robotNamespace></plugin>"
    path = tmp_path / "m.sdf"
    added = "<inertial><fluid_added_mass><xx>1</xx></fluid_added_mass></inertial><velocity_decay/>"
    path.write_text(f"<!-- <robot> --><sdf version='1.9'><model name='m'>{link('a', '0 0 0')}{plugin}</model></sdf>")
    assert read(path).joints[0].kind == "floating"
    path.write_text(path.read_text().replace("</link>", added + "</link>"))
    remarks = read(path).remarks
    assert any("added masses" in text for text in remarks) and any("velocity_decay" in text for text in remarks)
    path = tmp_path / "m.urdf"
    path.write_text('<?xml version="1.0" encoding="UTF-16"?><robot name="é"><link name="a"/></robot>', "utf-16")
    assert read(path).name == "é"


def hinge(name, parent, child, more=""):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="revolute">{ends}<axis xyz="0 0 1"/>{more}</joint>'


LINKS = '<link name="a"/><link name="b"/>'


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (LINKS + LINKS + hinge("j", "a", "b"), "link a stands twice"),
        (LINKS + hinge("j", "a", "b") * 2, "joint j stands twice"),
        (LINKS + hinge("j", "b", "b"), "joint j: parent and child are the same link"),
        (LINKS + hinge("j", "a", "b") + '<x:arm xmlns:x="http://www.ros.org/wiki/xacro"/>', "has macros; expand"),
    ],
)
def test_wrong_urdf_is_refused(tmp_path, content, says):
    path = tmp_path / "r.urdf"
    path.write_text(f'<robot name="r">{content}</robot>')
    with pytest.raises(InputOutputError, match=says):
        read(path)


def test_what_a_urdf_says_in_vain_is_told(tmp_path):
    path = tmp_path / "r.urdf"
    more = '<mimic joint="j"/><limit lower="1" upper="-1"/>'
    path.write_text(f'<robot name="r">{LINKS}{hinge("j", "a", "b", more)}<gazebo/><transmission/></robot>')
    robot = read(path)
    assert robot.joints[1].limits is None and not robot.couplings
    said = ("j follows itself", "elements gazebo, transmission", "limits of j, 1 -1, which leave no room")
    assert robot.remarks == [f"not taken over: {text}" for text in said]


def test_what_joints_and_links_of_a_urdf_have_besides_is_told(tmp_path):
    path = tmp_path / "r.urdf"
    flat = hinge("j", "a", "b", '<limit upper="2" velocity="3"/><dynamics damping="1"/><calibration rising="0"/>')
    flat = flat.replace("revolute", "planar")
    path.write_text(f'<robot name="r">{LINKS.replace("/>", "><contact/></link>")}{flat}</robot>')
    said = (
        "limits of efforts and velocities",
        "limits of j",
        "damping and friction of j",
        "elements calibration, contact",
    )
    assert read(path).remarks == [f"not taken over: {text}" for text in said]


@pytest.mark.parametrize("value", ["1 rad/s", "", "fast"])
def test_numbers_of_a_urdf_that_are_only_listed_need_not_be_valid(tmp_path, value):
    path = tmp_path / "r.urdf"
    flat = hinge("j", "a", "b", f'<limit lower="{value}" effort="1" velocity="{value}"/><dynamics friction="{value}"/>')
    path.write_text(f'<robot name="r">{LINKS}{flat.replace("revolute", "planar")}</robot>')
    said = ["limits of efforts and velocities", *["limits of j", "damping and friction of j"][: 2 * bool(value)]]
    assert read(path).remarks == [f"not taken over: {text}" for text in said]


def test_elements_of_a_urdf_at_a_wrong_level_are_told(tmp_path):
    path = tmp_path / "r.urdf"
    links = LINKS.replace("/>", "><limit/></link>", 1)
    path.write_text(f'<robot name="r">{links}{hinge("j", "a", "b", "<inertial/>")}<dynamics/></robot>')
    assert read(path).remarks == ["not taken over: elements dynamics, inertial, limit"]


def test_a_namespace_of_all_elements_of_a_urdf_does_not_count(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(f'<robot name="r" xmlns="http://drake.mit.edu">{LINKS}{hinge("j", "a", "b")}</robot>')
    assert [joint.name for joint in read(path).joints] == ["base", "j"]


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("joints", "remark"),
    [
        (
            hinge("j", "a", "b") + hinge("k", "a", "c") + hinge("l", "c", "b", '<mimic joint="j"/>'),
            "b is the child of j and of l",
        ),
        (hinge("j", "b", "c") + hinge("k", "c", "b") + hinge("l", "a", "b"), "b is the child of k and of l"),
    ],
    ids=["a closing joint that follows another", "a ring before its joint to the root"],
)
def test_a_second_parent_of_a_link_closes_a_loop(mbsim, tmp_path, joints, remark):
    inertia = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    links = "".join(f'<link name="{name}">{inertia}</link>' for name in "abc")
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{links}{joints}</robot>')
    assert read(tmp_path / "r.urdf").remarks == [f"{remark}, which close a loop"]
    assert mbsim("import", "r.urdf", "-o", "r.yaml").code == 0
    done = mbsim("run", "r.yaml", "-q", "--duration", "0.01")
    assert done.code == 0, done


CHAIN = """
mbsim: 1
points:
  hip: {ground: [0, 0, 1], leg: [0, 0, 0.1]}
  knee: {leg: [0, 0, -0.5], world: [0, 0, 0.2]}
  foot: {world: [0, 0.1, -0.5], hip_1: [0.1, 0, 0.2]}
bodies:
  leg: {mass: 2, center_of_mass: [0, 0.01, -0.2], inertia: {xx: 0.1, yy: 0.2, zz: 0.15}}
  world: {mass: 1, center_of_mass: [0, 0.01, -0.2], inertia: {xx: 0.1, yy: 0.2, zz: 0.15}}
  hip_1: {mass: 1, center_of_mass: [0, 0.01, -0.2], inertia: {xx: 0.1, yy: 0.2, zz: 0.15}}
joints:
  hip: {type: universal, bodies: [ground, leg], point: hip, axes: [x, y]}
  knee: {type: revolute, bodies: [world, leg], point: knee, axis: y, initial: {angle: 0.3}}
  foot: {type: cylindrical, bodies: [world, hip_1], point: foot, axis: z}
constraints:
  c: {type: coupling, terms: {knee.angle: 1, foot.angle: -2}, offset: auto}
  d: {type: coupling, terms: {knee.angle: 1, foot.displacement: -2}, offset: auto}
analysis: {type: forward_dynamics, step: 1e-3, duration: 0.1}
"""


def test_names_of_chains_are_unlike_those_of_bodies(mbsim, tmp_path):
    """The body between the axes of the joint hip was called hip_1, as another is: the export did not end."""
    (tmp_path / "chain.yaml").write_text(CHAIN)
    for kind, ending in (("urdf", "urdf"), ("mjcf", "xml")):
        done = mbsim("export", "chain.yaml", "--to", kind)
        assert done.code == 0 and "body world is called world_" in done.err, done
        assert ("not stated: coupling d, as knee follows" in done.err) == (kind == "urdf")
        if kind == "urdf" or pytest.importorskip("mujoco"):
            names = [body.name for body in read(tmp_path / f"chain.{ending}").bodies]
            assert {"leg", "world_", "hip_1"} < set(names) and len(set(names)) == len(names)
