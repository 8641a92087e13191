"""``mbsim export``: tables hold the numbers of the result; robots come back, and move as MuJoCo moves them."""

import csv
import re
import shlex
import shutil

import numpy as np
import pytest

import mbsim_cli
from mbsim_cli.exchange import read
from mbsim_cli.exchange.robot import text_of
from mbsim_cli.io.results import ResultFile
from mbsim_cli.io.tables import Column, write_table
from mbsim_cli.study.pictures.motion import ResultModel
from tests.assembly.test_scene import SLIDER

from .conftest import ROOT
from .test_import import ARM

NEAR = dict(rtol=0, atol=1e-12)


def test_tables_hold_all_digits(mbsim, fivebar, tmp_path):
    content = ResultFile(fivebar)
    for kind, suffix in (("csv", "csv"), ("mat", "mat"), ("netcdf", "nc"), ("parquet", "parquet")):
        if kind == "parquet":
            pytest.importorskip("pyarrow")
        done = mbsim("export", fivebar, "r2", "P1.angle", "--to", kind, "--derivatives", "--json")
        assert done.code == 0 and done.json["output"] == f"fivebar.{suffix}", done.err
        found = {
            "csv": from_csv, "mat": from_mat, "netcdf": from_netcdf, "parquet": from_parquet,
        }[kind](tmp_path / f"fivebar.{suffix}")  # fmt: skip
        units = done.json["columns"]
        assert len(found) == len(units) == 1 + 4 * 6 and units["d r2.y/d m_A1"] == "m/kg"
        np.testing.assert_array_equal(found["time"], content.time)
        np.testing.assert_array_equal(found["r2.y"], content.history("r2").values[:, 1])
        slope = next(found[name] for name in ("d P1.angle/d L_A1", "d P1.angle_d L_A1") if name in found)
        np.testing.assert_array_equal(slope, content.sensitivity("P1.angle", "L_A1").values[:, 0])


def test_names_of_netcdf_are_utf_8(tmp_path):
    from scipy.io import netcdf_file

    columns = [Column("time", "s", np.zeros(2)), Column("φ", "rad", np.ones(2)), Column("bär.x", "m", np.ones(2))]
    write_table(tmp_path / "out.nc", "netcdf", columns, title="Kräfte", force=False)
    with netcdf_file(tmp_path / "out.nc", mmap=False) as file:
        assert [name.encode("latin-1").decode() for name in file.variables] == ["time", "φ", "bär.x"]
        assert file.title.decode() == "Kräfte"


TWICE = """\
mbsim: 1
bodies: {a: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
joints: {J: {type: floating, bodies: [ground, a], point: origin, initial: {velocity: [1, 0, 0]}}}
sensors:
  J: {type: velocity, point: a.origin}
  time: {type: coordinate, coordinate: J.x}
analysis: {type: forward_dynamics, step: 0.1, duration: 0.2}
"""


@pytest.mark.interpreted
def test_no_two_columns_have_one_name(mbsim, tmp_path):
    from scipy.io import netcdf_file

    (tmp_path / "twice.yaml").write_text(TWICE)
    assert mbsim("run", "twice.yaml", "-q").code == 0
    done = mbsim("export", "twice.h5", "time", "J", "J.x", "--to", "netcdf", "--json")
    assert list(done.json["columns"]) == ["time", "time_", "J.x", "J.y", "J.z", "J.x_"], done
    with netcdf_file(tmp_path / "twice.nc", mmap=False) as file:
        found = {name: variable[:].tolist() for name, variable in file.variables.items()}
    assert found["time"] == pytest.approx([0, 0.1, 0.2]) and found["time_"] == found["J.x_"] == found["time"]
    assert found["J.x"] == pytest.approx([1, 1, 1])


@pytest.mark.interpreted
def test_derivatives_have_the_names_of_their_columns(mbsim, tmp_path):
    """Also where a parameter ends with an underscore, and a history has the name that another one would get."""
    text = TWICE.replace("mass: 1, inertia: {xx: 1", "mass: m, inertia: {xx: m_").replace(
        "analysis: {", "  time_: {type: coordinate, coordinate: J.y}\nparameters: {m: 1, m_: 2}\n"
        "objectives: {o: {integral: time}}\nanalysis: {sensitivity: {method: ddm, parameters: all}, "
    )  # fmt: skip
    (tmp_path / "twice.yaml").write_text(text)
    assert mbsim("run", "twice.yaml", "-q").code == 0
    done = mbsim("export", "twice.h5", "time", "time_", "J", "J.x", "--to", "csv", "--derivatives", "--json")
    names = ["time__", "time_", "J.x", "J.y", "J.z", "J.x_"]
    of = [[names[0]], [names[1]], names[2:5], [names[5]]]
    expected = [
        column for part in of for column in [*part, *(f"d {name}/d {by}" for by in ("m", "m_") for name in part)]
    ]
    assert list(done.json["columns"]) == ["time", *expected], done
    assert from_csv(tmp_path / "twice.csv")["time__"] == pytest.approx([0, 0.1, 0.2])  # J.x


PAGE = (ROOT / "docs/export.md").read_text()
COMMANDS = [shlex.split(line)[1:] for line in re.findall(r"^\$ (mbsim .*)$", PAGE, re.MULTILINE)]


def test_commands_of_the_page_work(mbsim, fivebar, tmp_path):
    pytest.importorskip("pyarrow")
    shutil.copytree(ROOT / "models", tmp_path / "models")
    shutil.copy(fivebar, tmp_path)
    done = [mbsim(*command) for command in COMMANDS]
    assert [outcome.code for outcome in done] == [0] * 6, [outcome.err for outcome in done]
    assert done[5].json["joints"] == 2 and "not stated: 2 objectives" in done[5].json["remarks"]


def from_csv(path):
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, np.array(rows, float).T, strict=True))


def from_mat(path):
    from scipy.io import loadmat

    found = loadmat(path)
    names = [str(name[0]) for name in found["names"].ravel()]
    return dict(zip(names, found["values"].T, strict=True)) | {"time": found["time"].ravel()}


def from_netcdf(path):
    from scipy.io import netcdf_file

    with netcdf_file(path, mmap=False) as file:
        assert file.variables["r2.y"].units == b"m"
        return {name: variable[:].astype(float) for name, variable in file.variables.items()}


def from_parquet(path):
    from pyarrow import parquet

    table = parquet.read_table(path)
    assert table.schema.field("r2.y").metadata[b"unit"] == b"m"
    return {name: table[name].to_numpy() for name in table.column_names}


def test_poses_put_points_where_they_are(mbsim, fivebar, tmp_path):
    assert mbsim("export", fivebar, "r2", "--to", "csv", "--poses", "-q").code == 0
    found = from_csv(tmp_path / "fivebar.csv")
    place = np.stack([found[f"bar_12.position.{axis}"] for axis in "xyz"], 1)
    w, *v = (found[f"bar_12.orientation.e{k}"] for k in range(4))
    v = np.stack(v, 1)
    moved = ResultModel(ResultFile(fivebar)).moving
    poses = mbsim_cli.open(fivebar).poses
    np.testing.assert_allclose(poses.position[:, poses.bodies.index("bar_12")], place, **NEAR)
    local = moved.scene.local[moved.scene.names["bar_12.P2"]]
    there = place + local + 2 * np.cross(v, np.cross(v, local) + w[:, None] * local)
    np.testing.assert_allclose(there, np.stack([found[f"r2.{axis}"] for axis in "xyz"], 1), **NEAR)
    assert (np.abs(np.diff(w)) < 0.2).all()


def same(first, second, ignored=()):
    """Robots agree in all that moves them."""
    for one, other in zip(first.bodies, second.bodies, strict=True):
        assert one.name == other.name
        for name in ("mass", "center", "inertia"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), **NEAR)
    for one, other in zip(first.joints, second.joints, strict=True):
        assert (one.kind, one.bodies, one.closes) == (other.kind, other.bodies, other.closes)
        for name in {"places", "turn", "axis", "damping", "loss", "stiffness", "natural", "armature", "start"} - set(
            ignored
        ):
            if name != "axis" or one.coordinate:
                np.testing.assert_allclose(getattr(one, name), getattr(other, name), **NEAR, err_msg=one.name)
    for one, other in zip(first.couplings, second.couplings, strict=True):
        np.testing.assert_allclose([*one.terms.values(), one.offset], [*other.terms.values(), other.offset], **NEAR)


def test_a_urdf_comes_back(mbsim, tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    assert mbsim("import", "arm.urdf").code == 0
    done = mbsim("export", "arm.yaml", "--to", "urdf", "-o", "again.urdf")
    assert done.code == 0 and "not stated" in done.err and "4 bodies, 4 joints" in done.out, done.err
    same(read(tmp_path / "arm.urdf"), read(tmp_path / "again.urdf"))
    assert mbsim("export", "arm.yaml", "--to", "urdf", "-o", "again.urdf").code == 5


MECHANISM = """\
<mujoco model="pair">
  <compiler angle="radian" autolimits="true"/>
  <worldbody>
    <body name="a" pos="0 0 1" quat="0.9 0.1 -0.3 0.2">
      <joint name="one" type="hinge" axis="0 1 0" pos="0.1 0 0" damping="0.2" frictionloss="0.1" armature="0.01"
        stiffness="3" springref="0.2"/>
      <joint name="two" type="slide" axis="1 0 1" pos="0 0.2 0"/>
      <inertial pos="0.1 0.2 0" mass="2" fullinertia="0.3 0.4 0.5 0.01 0.02 -0.03"/>
      <body name="b" pos="0.5 0 0"><joint name="ball" type="ball" pos="0 0 0.1"/>
        <inertial pos="0 0 0.2" mass="1" diaginertia="0.1 0.2 0.15"/></body>
    </body>
    <body name="c" pos="1 0 0"><freejoint name="free"/>
      <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/></body>
  </worldbody>
  <equality><connect name="pin" body1="b" body2="c" anchor="0.1 0.2 0.3"/></equality>
  <actuator><motor name="push" joint="one" gear="1"/></actuator>
</mujoco>
"""


def test_mjcf_comes_back(mbsim, tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "pair.xml").write_text(MECHANISM)
    assert mbsim("import", "pair.xml").code == 0
    text = (tmp_path / "pair.yaml").read_text().replace("initial: {orient", "initial: {independent: false, orient")
    (tmp_path / "pair.yaml").write_text(text)
    done = mbsim("export", "pair.yaml", "--to", "mjcf", "-o", "again.xml", "--json")
    assert done.code == 0, done.err
    first, second = read(tmp_path / "pair.xml"), read(tmp_path / "again.xml")
    assert [body.name for body in second.bodies] == [body.name for body in first.bodies]
    assert [motor.joint for motor in second.motors] == ["one"]
    for one, other in zip(first.bodies, second.bodies, strict=True):
        np.testing.assert_allclose(one.inertia, other.inertia, **NEAR)
    for name in ("one", "two"):
        one, other = (next(j for j in robot.joints if j.name == name) for robot in (first, second))
        for what in ("turn", "axis", "damping", "loss", "stiffness", "natural", "armature"):
            np.testing.assert_allclose(getattr(one, what), getattr(other, what), **NEAR)


CHAIN = """\
mbsim: 1
gravity: [0.3, 0, -9.81]
points:
  A: {ground: [0, 0, 1], one: [0.1, 0.2, 0]}
  B: {one: [0.5, 0, 0.1], two: [-0.2, 0, 0]}
  C: {two: [0.3, 0.1, 0], three: [0, 0.2, 0.1]}
  D: {three: [0.4, 0, 0], four: [0, 0, 0.3]}
vectors:
  u: {ground: [0, 1, 1], one: [1, 0, 0]}
  v: {one: [0, 0, 1], two: [0, 1, 0]}
  w: {one: [1, 0, 0], two: [0, 0, 1]}
bodies:
  one: {mass: 2, center_of_mass: [0.2, 0, 0], inertia: {xx: 0.1, yy: 0.2, zz: 0.25, xy: 0.01}}
  two: {mass: 1, center_of_mass: [0, 0.1, 0], inertia: {xx: 0.1, yy: 0.12, zz: 0.2, yz: 0.02}}
  three: {shape: {type: box, size: [0.3, 0.2, 0.1], mass: 1.5}}
  four: {shape: {type: cylinder, length: 0.4, radius: 0.1, mass: 0.7}}
joints:
  A: {type: revolute, bodies: [one, ground], point: A, axis: u}
  B: {type: universal, bodies: [one, two], point: B, axes: [v, w]}
  C: {type: cylindrical, bodies: [two, three], point: C, axis: x}
  D: {type: planar, bodies: [four, three], point: D, axis: y}
laws: {wave: {type: harmonic, amplitude: 0.4, frequency: 0.5, phase: 20 deg}}
analysis: {type: inverse_dynamics, duration: 1, sampling: 0.1, motion: {all: wave, laws: {
  B.angle_1: {type: polynomial, coefficients: [0.3, 0.5, -0.2]}, D.x: {type: polynomial, coefficients: [0.1, 0.2, 0.3]},
  C.angle: {type: polynomial, coefficients: [0.2, -0.3, 0.4]}}}}
"""


def test_torques_are_those_of_mujoco(mbsim, tmp_path):
    """Inverse dynamics in MuJoCo, which knows the exported file only: joints of many kinds, forwards and backwards."""
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "chain.yaml").write_text(CHAIN)
    assert mbsim("run", "chain.yaml", "--quiet").code == 0
    done = mbsim("export", "chain.yaml", "--to", "mjcf")
    assert done.code == 0 and "8 bodies, 8 joints" in done.out, done
    content = ResultFile(tmp_path / "chain.h5")
    names = [name.removeprefix("-") for name in content.coordinates]
    other = mujoco.MjModel.from_xml_path(str(tmp_path / "chain.xml"))
    data = mujoco.MjData(other)
    assert other.nbody == 5 and other.nv == len(names) == 8
    joints = [name.partition(".")[0] if name == "A.angle" else name.replace(".", "_") for name in names]
    place = [other.joint(joint).dofadr[0] for joint in joints]
    position, velocity, acceleration, torques = (
        np.stack([content.history(name + kind).values[:, 0] for name in names], 1)
        for kind in ("", ".velocity", ".acceleration", ".torque")
    )
    for row in range(len(position)):
        data.qpos[place], data.qvel[place], data.qacc[place] = position[row], velocity[row], acceleration[row]
        mujoco.mj_inverse(other, data)
        np.testing.assert_allclose(data.qfrc_inverse[place], torques[row], rtol=0, atol=1e-9 * np.abs(torques).max())


ODD = """\
mbsim: 1
gravity: [0.3, 0.2, -9.81]
points:
  A: {ground: [0, 0, 1], hub: [0, 0, 0]}
  B: {hub: [0.1, 0, 0], rod: [0, 0, 0]}
  C: {hub: [0, 0.2, 0], disc: [0, 0, 0.1]}
  D: {rod: [0.5, 0, 0.1], ball: [0, 0.1, 0]}
  E: {ground: [2, 0, 0], arm: [0, 0, 0]}
  F: {arm: [1, 0, 0], tip: [0, 0, 0]}
vectors: {u: {ground: [0, 1, 1], hub: [1, 0, 0]}}
bodies:
  hub: {mass: 0}
  rod: {mass: 2, center_of_mass: [0.3, 0, 0], inertia: {yy: 0.1, zz: 0.1}}
  disc: {mass: 1, inertia: {xx: 0.07, yy: 0.1, zz: 0.17}}
  ball: {shape: {type: sphere, radius: 0.1, mass: 1.5}}
  arm: {mass: 2, center_of_mass: [0.5, 0, 0.1], inertia: {zz: 0.3}}
  tip: {mass: 1, center_of_mass: [1e-17, 0, 0]}
joints:
  A: {type: revolute, bodies: [ground, hub], point: A, axis: u, initial: {angular_velocity: 1.5}}
  B: {type: revolute, bodies: [rod, hub], point: B, axis: z, initial: {angle: 0.3, angular_velocity: -2}}
  C: {type: revolute, bodies: [hub, disc], point: C, axis: y, initial: {angle: 0.4, angular_velocity: 3}}
  D: {type: floating, bodies: [rod, ball], point: D, initial: {position: [0.1, 0.2, 0.3]}}
  E: {type: revolute, bodies: [ground, arm], point: E, axis: z, initial: {angular_velocity: 2}}
  F: {type: prismatic, bodies: [arm, tip], point: F, axis: x, initial: {displacement: 0.1, velocity: 0.5}}
forces: {s: {type: spring_damper, coordinate: F.displacement, stiffness: 30, damping: 2}}
analysis: {type: forward_dynamics, step: 1e-3, duration: 0.1}
"""


@pytest.mark.interpreted
def test_mujoco_moves_what_it_would_refuse(mbsim, tmp_path):
    """Bodies without mass or without a moment, planar inertias, a disc whose moments round off, a joint that floats."""
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "odd.yaml").write_text(ODD)
    done = mbsim("export", "odd.yaml", "--to", "mjcf", "--json")
    remarks = " ".join(done.json["remarks"])
    assert done.code == 0 and "zeros of hub, rod, tip were written as 2e-15" in remarks, done
    assert "those of arm were written with the same moment" in remarks, done
    other = mujoco.MjModel.from_xml_path(str(tmp_path / "odd.xml"))
    data = mujoco.MjData(other)
    mujoco.mj_resetDataKeyframe(other, data, 0)
    mujoco.mj_forward(other, data)
    model = mbsim_cli.load(tmp_path / "odd.yaml")
    found = dict(zip(model.mechanics().coordinates, model.accelerations(*model.state()), strict=True))
    for name in ("A.angle", "B.angle", "C.angle", "E.angle", "F.displacement"):
        there = data.qacc[other.joint(name[0]).dofadr[0]]
        assert (found[name] if name in found else -found[f"-{name}"]) == pytest.approx(there, rel=1e-9), name
    (tmp_path / "odd.yaml").write_text(ODD.replace("inertia: {yy: 0.1, zz: 0.1}", "inertia: {zz: 0.1}"))
    done = mbsim("export", "odd.yaml", "--to", "mjcf", "--force")
    assert done.code == 0 and "MuJoCo refuses the file" in done.err and "; correct rod" in done.err, done


SMALL = """\
mbsim: 1
gravity: [0.3, 0.2, -9.81]
points: {P: {ground: [0, 0, 0], a: [0, 0, 0]}, Q: {a: [0.02, 0, 0], b: [0, 0, 0]}, S: {ground: [1, 0, 0], c: [0, 0, 0]}}
bodies: {a: BODY, b: OTHER, c: {mass: 1}}
joints:
  P: {type: KIND, bodies: [ground, a], point: P, axis: y, initial: {RATE: 2}}
  Q: {type: KIND, bodies: [a, b], point: Q, axis: z}
  S: {type: prismatic, bodies: [ground, c], point: S, axis: z}
forces: {s: {type: spring_damper, coordinate: S.displacement, stiffness: 1e-12, damping: 1e-12}}
analysis: {type: forward_dynamics, step: 1e-3, duration: 0.1}
"""
POINT = "{mass: 0.01, center_of_mass: [0, 0.02, 0]}"
ROUND = "{mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}"


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("body", "other", "kind", "remark"),
    [
        (POINT, POINT, "revolute", "zeros of a, b, c were written as 2e-15; the motion is the same"),
        (
            "{mass: 0.01, inertia: {yy: 1e-8}}",
            "{mass: 0.01}",
            "prismatic",
            "those of a were written with the same moment",
        ),
        (ROUND, "{mass: 1, inertia: {yy: 300, zz: 300}}", "revolute", "zeros of b, c were"),
        (POINT.replace("0.01", "1e-4"), POINT, "revolute", "; correct a, b"),
        ("{mass: 0.001, inertia: {xx: 5e-15, yy: 5e-15, zz: 5e-15}}", ROUND, "revolute", "zeros of c were"),
        ("{mass: 1, inertia: {xx: 5e-16, yy: 5e-16, zz: 5e-16}}", ROUND, "revolute", "; correct a"),
        ("{mass: 0}", "{mass: 1e-9}", "prismatic", "; correct a"),
        ("{mass: 0}", "{mass: 0.1}", "prismatic", "zeros of a, b, c were written as 2e-15; the motion is the same"),
    ],
)
def test_small_bodies_move_alike_or_are_listed(mbsim, tmp_path, body, other, kind, remark):
    mujoco = pytest.importorskip("mujoco")
    text = SMALL.replace("BODY", body).replace("OTHER", other).replace("KIND", kind)
    if kind == "prismatic":
        text = text.replace("S: {ground", "S: {a").replace("[ground, c]", "[a, c]")
    (tmp_path / "small.yaml").write_text(text.replace("RATE", "angular_velocity" if kind == "revolute" else "velocity"))
    done = mbsim("export", "small.yaml", "--to", "mjcf", "--json")
    assert done.code == 0 and remark in " ".join(done.json["remarks"]), done
    if "correct" in remark:
        with pytest.raises(ValueError, match="inertia"):
            mujoco.MjModel.from_xml_path(str(tmp_path / "small.xml"))
        return
    other = mujoco.MjModel.from_xml_path(str(tmp_path / "small.xml"))
    data = mujoco.MjData(other)
    mujoco.mj_resetDataKeyframe(other, data, 0)
    mujoco.mj_forward(other, data)
    model = mbsim_cli.load(tmp_path / "small.yaml")
    found = dict(zip(model.mechanics().coordinates, model.accelerations(*model.state()), strict=True))
    there = {name: data.qacc[other.joint(name.lstrip("-")[0]).dofadr[0]] for name in found}
    assert found == pytest.approx(there, rel=1e-8, abs=1e-8)


TURNED = """\
mbsim: 1
gravity: [0.3, 0.2, -9.81]
points:
  F: {ground: [0.1, 0.2, 1], one: [0.3, 0.1, 0.2]}
  G: {two: [0.1, -0.2, 0.3], one: [0.4, 0, 0.1]}
  H: {two: [0.3, 0.2, 0.1], three: [0.1, 0.1, -0.2]}
  L: {slip: [0, 0.1, 0], three: [0.1, 0, 0]}
  N: {slip: [0.3, 0.1, 0], four: [0.1, 0, 0.2]}
vectors: {w: {slip: [1, 0, 0], four: [0, 0.6, 0.8]}}
bodies:
  one: {mass: 2, center_of_mass: [0.2, 0, 0], inertia: {xx: 0.1, yy: 0.2, zz: 0.25, xy: 0.01}}
  two: {mass: 1, center_of_mass: [0, 0.1, 0], inertia: {xx: 0.1, yy: 0.12, zz: 0.2, yz: 0.02}}
  three: {shape: {type: box, size: [0.3, 0.2, 0.1], mass: 1.5}}
  slip: {mass: 0}
  four: {shape: {type: box, size: [0.3, 0.2, 0.1], mass: 1.5}}
joints:
  F: {type: floating, bodies: [one, ground], point: F, initial: {position: [0.1, 0.2, 0.3], velocity: [1, 2, 3],
    orientation: {euler_parameters: [0.8, 0.4, 0.4, 0.2]}, angular_velocity: [0.5, -1, 2]}}
  G: {type: spherical, bodies: [two, one], point: G,
    initial: {orientation: {euler_parameters: [0.7, 0.5, -0.1, 0.5]}, angular_velocity: [1.5, 1, -2]}}
  H: {type: floating, bodies: [three, two], point: H, initial: {position: [0.1, 0.2, -0.3], velocity: [1, -2, 3],
    orientation: {euler_parameters: [0.8, -0.4, 0.4, 0.2]}, angular_velocity: [0.5, 1, 2]}}
  L: {type: spherical, bodies: [three, slip], point: L,
    initial: {orientation: {euler_parameters: [0.7, 0.5, 0.1, 0.5]}, angular_velocity: [-1.5, 1, 2]}}
  N: {type: prismatic, bodies: [slip, four], point: N, axis: w, initial: {displacement: 0.2, velocity: 0.7}}
analysis: {type: forward_dynamics, step: 1e-3, duration: 0.1}
"""


@pytest.mark.interpreted
def test_bodies_begin_and_accelerate_alike(mbsim, tmp_path):
    """On floating and spherical joints, in either direction; also after the file is imported again."""
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "turned.yaml").write_text(TURNED)
    done = mbsim("export", "turned.yaml", "--to", "mjcf", "--json")
    assert done.code == 0 and not done.json["remarks"], done
    other = mujoco.MjModel.from_xml_path(str(tmp_path / "turned.xml"))
    data = mujoco.MjData(other)
    mujoco.mj_resetDataKeyframe(other, data, 0)
    mujoco.mj_forward(other, data)
    mujoco.mj_rnePostConstraint(other, data)
    assert mbsim("import", "turned.xml", "-o", "again.yaml").code == 0
    for name in ("turned", "again"):
        model = mbsim_cli.load(tmp_path / f"{name}.yaml")
        mechanics, (q, v) = model.mechanics(), model.state()
        motion = mechanics.kinematics(q, v, model.accelerations(q, v), of=["one", "two", "three", "four"])
        for row, body in enumerate(motion.names):
            number, velocity, acceleration = other.body(body).id, np.zeros(6), np.zeros(6)
            mujoco.mj_objectVelocity(other, data, mujoco.mjtObj.mjOBJ_XBODY, number, velocity, 0)
            mujoco.mj_objectAcceleration(other, data, mujoco.mjtObj.mjOBJ_XBODY, number, acceleration, 0)
            np.testing.assert_allclose(motion.position[row], data.xpos[number], **NEAR)
            np.testing.assert_allclose(motion.rotation[row], data.xmat[number].reshape(3, 3), **NEAR)
            np.testing.assert_allclose(
                [motion.angular_velocity[row], motion.velocity[row]], velocity.reshape(2, 3), **NEAR
            )
            found = [motion.angular_acceleration[row], motion.acceleration[row] - other.opt.gravity]
            np.testing.assert_allclose(found, acceleration.reshape(2, 3), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "arguments, code, sentence",
    [
        (["none.h5", "--to", "csv"], 5, "there is no file none.h5"),
        (["arm.yaml", "--to", "csv"], 5, "is not an mbsim result"),
        (["arm.yaml", "r2", "--to", "urdf"], 2, "--to urdf is for models, and has no use for NAME"),
        (["none.h5", "--to", "csv", "-p", "a=1"], 2, "-p and -s are for models"),
        (["arm.yaml"], 2, "Missing option '--to'. Choose from: csv, parquet"),
    ],
)
def test_what_is_asked_wrongly(mbsim, tmp_path, arguments, code, sentence):
    (tmp_path / "arm.yaml").write_text("mbsim: 1\n")
    done = mbsim("export", *arguments)
    assert done.code == code and sentence in done.err, done.err


def test_names_and_files_that_stand_there(mbsim, fivebar, tmp_path):
    done = mbsim("export", fivebar, "r3", "--to", "csv")
    assert done.code == 2 and "holds no history 'r3'; did you mean 'r2'?" in done.err
    (tmp_path / "fivebar.csv").write_text("mine")
    assert mbsim("export", fivebar, "--to", "csv").code == 5
    assert mbsim("export", fivebar, "r2", "--to", "csv", "--force").code == 0


def test_initial_velocities_come_back(mbsim, tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "v.yaml").write_text("""\
mbsim: 1
bodies:
  a: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}
  b: {mass: 1, center_of_mass: [0.3, 0, 0], inertia: {xx: 1, yy: 1, zz: 1}}
joints:
  s: {type: prismatic, bodies: [ground, a], point: origin, axis: x, initial: {displacement: 0.2, velocity: 1.5}}
  r: {type: revolute, bodies: [b, a], point: origin, axis: z, initial: {angle: 0.2, angular_velocity: 2}}
analysis: {type: forward_dynamics, step: 1e-3, duration: 0.1}
""")
    assert mbsim("export", "v.yaml", "--to", "mjcf").code == 0
    found = {joint.name: (joint.start, *joint.rates) for joint in read(tmp_path / "v.xml").joints}
    assert found == {"s": (0.2, 1.5), "r": (0.2, 2.0)}
    assert "not stated: initial velocities (s, r)" in mbsim("export", "v.yaml", "--to", "urdf").err


PARALLELOGRAM = """\
mbsim: 1
points:
  A: {ground: [0, 0, 0], left: [0, 0, 0]}
  B: {left: [1, 0, 0], top: [0, 0, 0]}
  C: {top: [2, 0, 0], right: [1, 0, 0]}
  D: {ground: [2, 0, 0], right: [0, 0, 0]}
bodies:
  left: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}
  top: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}
  right: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}
joints:
  A: {type: revolute, bodies: [ground, left], point: A, axis: z, initial: {angle: 60 deg, angular_velocity: 5}}
  B: {type: revolute, bodies: [left, top], point: B, axis: z, initial: {angle: -60 deg}}
  D: {type: revolute, bodies: [ground, right], point: D, axis: z, initial: {angle: 60 deg}}
  C: {type: spherical, bodies: [top, right], point: C, cut: true}
analysis: {type: forward_dynamics, step: 1e-3, duration: 0.1}
"""


def test_initial_velocities_close_loops(mbsim, tmp_path):
    """As in a run: the model states the velocity of one joint, and the others follow."""
    (tmp_path / "p.yaml").write_text(PARALLELOGRAM)
    assert mbsim("export", "p.yaml", "--to", "mjcf").code == 0
    rates = re.search('qvel="(.*?)"', (tmp_path / "p.xml").read_text())
    assert rates and [float(word) for word in rates[1].split()] == pytest.approx([5, -5, 5], rel=1e-12)


BRACED = """\
mbsim: 1
points:
  A: {ground: [0, 0, 0], a: [0, 0, 0]}
  B: {a: [0.3, 0, 0], b: [0, 0, 0]}
  C: {BODY: PLACE, b: [0.5, 0, 0]}
  D: {ground: [0.6, 0, 0.1], c: [0, 0, 0]}
bodies:
  a: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}
  b: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}
  c: {mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}
joints:
  A: {type: revolute, bodies: [ground, a], point: A, axis: y, initial: {angle: -60 deg, independent: false}}
  B: {type: revolute, bodies: [a, b], point: B, axis: y, initial: {independent: false}}
  D: {type: revolute, bodies: [ground, c], point: D, axis: y, initial: {angle: 40 deg, independent: false}}
  C: {type: CLOSING, bodies: [BODY, b], point: C, cut: true}
analysis: {type: forward_dynamics, step: 1e-3, duration: 0.1}
"""


@pytest.mark.parametrize(
    "closing, rows, body, place",
    [
        ("spherical", 3, "c", "[0.2, 0, 0.3]"),
        ("fixed", 6, "c", "[0.2, 0, 0.3]"),
        ("spherical", 3, "ground", "[0.5, 0, 0.2]"),
        ("revolute", 6, "c", "[0.2, 0, 0.3]"),
        ("distance", 1, "c", "[0.2, 0, 0.3]"),
    ],
)
def test_loops_are_closed_at_the_start_and_not_at_zero_coordinates(mbsim, tmp_path, closing, rows, body, place):
    mujoco = pytest.importorskip("mujoco")
    text = BRACED.replace("CLOSING, b", "revolute, axis: y, b" if closing == "revolute" else f"{closing}, b")
    if closing == "distance":  # forces and constraints may have the same name
        held = "{type: distance, points: [BODY.C, b.C], distance: 0.3}"
        pulled = "{type: spring_damper, points: [BODY.C, b.C], stiffness: 5, natural_length: -1}"
        text = re.sub("  C: {type.*\n", f"constraints: {{C: {held}}}\nforces: {{C: {pulled}}}\n", text)
    text = text.replace("BODY", body).replace("PLACE", place)
    (tmp_path / "b.yaml").write_text(text)
    assert mbsim("export", "b.yaml", "--to", "mjcf").code == 0
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "b.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert data.nefc == rows and np.abs(data.efc_pos).max() < 1e-12


@pytest.mark.interpreted
def test_mujoco_accelerates_the_linkage_with_springs(mbsim, tmp_path):
    """A revolute joint closes the loop, springs pull between points; MuJoCo's own constraints would give way."""
    mujoco = pytest.importorskip("mujoco")
    assert mbsim("export", ROOT / "models/fivebar.yaml", "--to", "mjcf", "-o", "five.xml").code == 0
    reference = mujoco.MjModel.from_xml_path(str(tmp_path / "five.xml"))
    data, mass = mujoco.MjData(reference), np.zeros((4, 4))
    mujoco.mj_resetDataKeyframe(reference, data, 0)
    mujoco.mj_forward(reference, data)
    for row, unit in zip(mass, np.eye(4), strict=True):
        mujoco.mj_mulM(reference, data, row, unit)
    rows = data.efc_J.reshape(-1, 4)
    whole = np.block([[mass, rows.T], [rows, np.zeros((6, 6))]])
    force = np.append(data.qfrc_passive - data.qfrc_bias, np.zeros(6))  # at rest
    expected = np.linalg.lstsq(whole, force, rcond=1e-12)[0][:4]
    model = mbsim_cli.load(ROOT / "models/fivebar.yaml")
    found = dict(zip(model.mechanics().coordinates, model.accelerations(*model.state()), strict=True))
    for number, name in enumerate(("A", "P1", "B", "P3")):
        sign = -1.0 if f"-{name}.angle" in found else 1.0
        coordinate = f"{'-' * (sign < 0)}{name}.angle"
        assert expected[number] == pytest.approx(sign * found[coordinate], rel=1e-9), name
    robot = read(tmp_path / "five.xml")
    assert [(joint.name, joint.kind) for joint in robot.joints if joint.closes] == [("P2", "revolute")]
    again = mbsim_cli.loads(text_of(robot))
    back = dict(zip(again.mechanics().coordinates, again.accelerations(*again.state()), strict=True))
    for number, name in enumerate(("A", "P1", "B", "P3")):
        assert back[f"{name}.angle"] == pytest.approx(expected[number], rel=1e-9), name


def test_nothing_overwrites_what_is_read(mbsim, fivebar, tmp_path):
    """Neither the result of a table, nor the model of a robot, nor the robot of a model."""
    assert mbsim("init", "pendulum").code == 0 and mbsim("export", "pendulum.yaml", "--to", "urdf").code == 0
    for command, source in (
        (("export", fivebar, "r2", "--to", "csv"), fivebar),
        (("export", "pendulum.yaml", "--to", "mjcf"), "pendulum.yaml"),
        (("import", "pendulum.urdf"), "pendulum.urdf"),
    ):
        before = (tmp_path / source).read_bytes()
        done = mbsim(*command, "-o", source, "--force")
        assert done.code == 5 and "itself; name another" in done.err, done
        assert (tmp_path / source).read_bytes() == before


@pytest.mark.interpreted
def test_joints_with_friction_are_exported_as_what_they_are(mbsim, tmp_path):
    """Constraints that hold their points in a run, for the loads that friction reads, are nothing of a robot."""
    (tmp_path / "slider.yaml").write_text(SLIDER)
    assert mbsim("export", "slider.yaml", "--to", "mjcf", "-o", "slider.xml").code == 0
    joints = re.findall(r'<joint name="(\w+)" type="(\w+)"', (tmp_path / "slider.xml").read_text())
    assert dict(joints) == {"O": "hinge", "A": "hinge", "S": "slide"}


def test_numbers_of_the_start_and_of_the_motion(mbsim, tmp_path):
    """Lengths and offsets that are those of the start are numbers; stiffnesses that move are not."""
    (tmp_path / "pair.yaml").write_text("""\
mbsim: 1
parameters: {k: 10}
bodies: {a: {mass: 2}, b: {mass: 1}}
joints:
  g: {type: prismatic, bodies: [ground, a], point: origin, axis: x, initial: {displacement: 0.3}}
  h: {type: prismatic, bodies: [ground, b], point: origin, axis: y, initial: {displacement: 0.1, independent: false}}
constraints: {c: {type: coupling, terms: {h.displacement: 1, g.displacement: -2}}}
forces: {s: {type: spring_damper, coordinate: g.displacement, natural_length: auto, stiffness: k}}
analysis: {duration: 0.1}
""")
    done = mbsim("export", "pair.yaml", "--to", "mjcf")
    assert done.code == 0 and "not stated" not in done.err, done.err
    assert 'springref="0.3"' in (tmp_path / "pair.xml").read_text()
    assert mbsim("export", "pair.yaml", "--to", "urdf").code == 0
    offset = re.findall(r'<mimic joint="g" multiplier="2" offset="(.*)" />', (tmp_path / "pair.urdf").read_text())
    assert [float(text) for text in offset] == [pytest.approx(-0.5)]
    key = "constraints.c.terms.h.displacement"
    assert mbsim("export", "pair.yaml", "--to", "mjcf", "--force", "-s", f"{key}=0").code == 0
    assert re.search('<joint joint1="g" name="c" polycoef="0.3 ', (tmp_path / "pair.xml").read_text())
    done = mbsim("export", "pair.yaml", "--to", "mjcf", "--force", "-p", "k=10", "-s", "forces.s.stiffness=k*(1 + t)")
    assert done.code == 0 and "not stated: s (spring_damper)" in done.err, done.err


def test_friction_that_a_format_has_no_word_for_is_told(mbsim, tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM)
    assert mbsim("import", "arm.urdf").code == 0
    arm = (tmp_path / "arm.yaml").read_text()
    for name, friction, told in (
        ("stiff", "{loss: 0.1, breakaway: 0.3, viscous: 0.3}", "not stated: the breakaway friction of shoulder"),
        ("loaded", "{dynamic: 0.1, radius: 0.05}", "not stated: shoulder_friction (drive)"),
    ):
        (tmp_path / f"{name}.yaml").write_text(arm.replace("{loss: 0.1}", friction))
        done = mbsim("export", f"{name}.yaml", "--to", "urdf")
        assert done.code == 0 and told in done.err and "motor" not in done.err, done.err
        assert "not stated: 2 sensors" in done.err  # those of the file, not those that friction reads
    assert '<dynamics damping="1" friction="0.1" />' in (tmp_path / "stiff.urdf").read_text()
