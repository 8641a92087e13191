"""Mechanisms in MJCF: read as MuJoCo compiles them (extra ``import``), written as bodies within bodies."""

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError, counted
from mbsim_cli.exchange.robot import (
    FORCES,
    GROUND,
    INERTIA,
    NO_POINTS,
    Body,
    Coupling,
    Joint,
    Motor,
    Names,
    Robot,
    Visual,
    digits,
    quaternion_of,
    rotation_of,
)
from mbsim_cli.exchange.xml import laid_out, words

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
CONNECT, WELD, EQUAL_JOINTS = range(3)  # mjtEq
_KINDS = {SLIDE: "prismatic", HINGE: "revolute"}
_TO_JOINT = (0, 1)  # mjtTrn: a joint, also in the axes of its parent
_SHOWN_GROUPS = 3  # groups of shapes shown by default; others mostly serve contacts


def read(path: Path) -> Robot:
    """The mechanism in a file, at its first keyframe or, without one, at its reference position.

    A body with several joints becomes a chain of bodies, of which only the last one has mass. Raises InputOutputError
    where MuJoCo refuses the file.
    """
    try:
        import mujoco
    except ImportError:
        hint = "in a clone of mbsim install it with: pip install '.[import]'"
        raise UsageError(f"MJCF is read by MuJoCo; {hint}") from None
    warnings: list[str] = []
    mujoco.set_mju_user_warning(warnings.append)  # MuJoCo would write them to a log in the current folder
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise InputOutputError(f"{path} cannot be read as MJCF: {' '.join(str(error).split())}") from None
    finally:
        mujoco.set_mju_user_warning(None)
    moved = {}
    if model.nmesh:  # the model does not tell how its meshes were moved before they were scaled
        moved = {mesh.name: (mesh.refpos, mesh.refquat) for mesh in mujoco.MjSpec.from_file(str(path)).meshes}
    robot = _Reader(mujoco, model, path, moved).robot
    robot.remarks += (f"MuJoCo warns: {' '.join(text.split())}" for text in warnings)
    return robot


class _Reader:
    """Builds a ``Robot`` from the arrays of a compiled model."""

    def __init__(self, mujoco: Any, model: Any, path: Path, moved: dict[str, tuple[np.ndarray, np.ndarray]]):
        self._mujoco = mujoco
        self._model = model
        self._moved = moved  # ``refpos`` and ``refquat`` of meshes
        name = bytes(model.names).split(b"\0", 1)[0].decode(errors="replace")
        gravity = np.zeros(3) if self._is_off("GRAVITY") else np.array(model.opt.gravity)
        self.robot = Robot(name or path.stem, path.name, gravity)
        self._start = np.array(model.key_qpos[0] if model.nkey else model.qpos0)
        self._rates = np.array(model.key_qvel[0] if model.nkey else np.zeros(model.nv))
        self._has_limits = not self._is_off("LIMIT", "CONSTRAINT")
        self._bodies, self._joints = self.robot.body_names, self.robot.joint_names
        self._body_names = [GROUND] + [
            self._bodies.add(self._named("BODY", number) or f"body{number}") for number in range(1, model.nbody)
        ]
        self._by_joint: dict[int, Joint] = {}
        for number in range(1, model.nbody):
            self._add_body(number)
        self._add_loops()
        self._add_motors()
        self._add_visuals()
        sites = Names([*NO_POINTS, *(joint.name for joint in self.robot.joints)])
        for number in range(model.nsite):
            site = sites.add(self._named("SITE", number) or f"site{number}")
            body = self._body_names[model.site_bodyid[number]]
            self.robot.sites.append((site, body, np.array(model.site_pos[number])))
        self._say_what_is_dropped()

    def _named(self, kind: str, number: int) -> str:
        return self._mujoco.mj_id2name(self._model, getattr(self._mujoco.mjtObj, f"mjOBJ_{kind}"), number) or ""

    def _is_off(self, *flags: str) -> bool:
        """Whether one of these flags of the model's options is set; versions of MuJoCo have different flags."""
        bits = (getattr(self._mujoco.mjtDisableBit, f"mjDSBL_{flag}", 0) for flag in flags)
        return any(self._model.opt.disableflags & bit for bit in bits)

    def _add_body(self, number: int) -> None:
        model, name = self._model, self._body_names[number]
        turn = rotation_of(model.body_iquat[number])
        self.robot.bodies.append(
            Body(
                name,
                float(model.body_mass[number]),
                np.array(model.body_ipos[number]),
                turn @ np.diag(model.body_inertia[number]) @ turn.T,
            )
        )
        before = self._body_names[model.body_parentid[number]]
        first, count = model.body_jntadr[number], model.body_jntnum[number]
        place, quaternion = np.array(model.body_pos[number]), model.body_quat[number]
        if model.nkey and (moved := int(model.body_mocapid[number])) >= 0:
            place = np.array(model.key_mpos[0]).reshape(-1, 3)[moved]
            quaternion = np.array(model.key_mquat[0]).reshape(-1, 4)[moved]
        pose = rotation_of(quaternion)
        if count == 0:
            made = Joint(self._joints.add(name), "fixed", (before, name), np.array([place, np.zeros(3)]), pose)
            self.robot.joints.append(made)
            return
        for at in range(first, first + count):
            last = at == first + count - 1
            after = name if last else self._bodies.add(f"{name}_{at - first + 1}")
            if not last:
                self.robot.bodies.append(Body(after))
            self._add_joint(at, (before, after), place, pose)
            before, place, pose = after, np.zeros(3), np.eye(3)

    def _add_joint(self, at: int, bodies: tuple[str, str], place: np.ndarray, pose: np.ndarray) -> None:
        model, kind = self._model, int(self._model.jnt_type[at])
        name = self._joints.add(self._named("JOINT", at) or f"{bodies[1]}_joint")
        qpos, dof = model.jnt_qposadr[at], model.jnt_dofadr[at]
        anchor = np.array(model.jnt_pos[at])
        if kind == FREE:  # its coordinates are the pose in the world
            start = self._start[qpos : qpos + 7]
            made = Joint(name, "floating", bodies, np.array([start[:3], np.zeros(3)]), rotation_of(start[3:]))
            made.rates = np.concatenate([self._rates[dof : dof + 3], made.turn @ self._rates[dof + 3 : dof + 6]])
        elif kind == BALL:
            turn = pose @ rotation_of(self._start[qpos : qpos + 4])
            made = Joint(name, "spherical", bodies, np.array([place + pose @ anchor, anchor]), turn)
            made.rates = turn @ self._rates[dof : dof + 3]
        else:
            made = Joint(
                name,
                _KINDS[kind],
                bodies,
                np.array([place + pose @ anchor, anchor]),
                pose,
                np.array(model.jnt_axis[at]),
            )
            zero = float(model.qpos0[qpos])
            made.start = float(self._start[qpos]) - zero
            made.rates = self._rates[dof : dof + 1]
            if model.jnt_limited[at] and self._has_limits:
                made.limits = (float(model.jnt_range[at, 0]) - zero, float(model.jnt_range[at, 1]) - zero)
            made.armature = float(model.dof_armature[dof])
            made.damping = 0.0 if self._is_off("DAMPER") else float(model.dof_damping[dof])
            made.loss = 0.0 if self._is_off("FRICTIONLOSS", "CONSTRAINT") else float(model.dof_frictionloss[dof])
            made.stiffness = 0.0 if self._is_off("SPRING") else float(model.jnt_stiffness[at])
            made.natural = float(model.qpos_spring[qpos]) - zero
        self._by_joint[at] = made
        self.robot.joints.append(made)

    def _add_loops(self) -> None:
        """Add equality constraints: joints that close loops, and couplings of coordinates."""
        model = self._model
        for number in range(model.neq):
            kind, data = int(model.eq_type[number]), model.eq_data[number]
            label = self._named("EQUALITY", number) or f"equality{number + 1}"
            if self._is_off("EQUALITY", "CONSTRAINT") or not model.eq_active0[number]:
                self.robot.remarks.append(f"not taken over: equality constraint {label}, which is not active")
                continue
            if kind in (CONNECT, WELD):
                welds = kind == WELD and data[10] != 0.0  # a torquescale of 0 leaves the rotation free
                bodies, places, turn = self._closed(number, kind, data)
                shape, turn = ("fixed", turn) if welds else ("spherical", np.eye(3))
                self.robot.joints.append(Joint(self._joints.add(label), shape, bodies, places, turn, closes=True))
            elif kind == EQUAL_JOINTS and self._equal(number, label, data):
                continue
            else:
                self.robot.remarks.append(f"not taken over: equality constraint {label}")

    def _closed(self, number: int, kind: int, data: np.ndarray) -> tuple[tuple[str, str], np.ndarray, np.ndarray]:
        """The two bodies of a connection or weld, its point in each [m], and the second's axes in the first one's."""
        model, ids = self._model, [int(self._model.eq_obj1id[number]), int(self._model.eq_obj2id[number])]
        if model.eq_objtype[number] == self._mujoco.mjtObj.mjOBJ_SITE:
            turns = [rotation_of(model.site_quat[site]) for site in ids]
            places, turn = np.array(model.site_pos[ids]), turns[0] @ turns[1].T
            ids = [int(body) for body in model.site_bodyid[ids]]
        elif kind == WELD:  # the anchor in the second body, then in the first
            turn, places = rotation_of(data[6:10]), np.array([data[3:6], data[:3]])
        else:
            turn, places = np.eye(3), np.array([data[:3], data[3:6]])
        return (self._body_names[ids[0]], self._body_names[ids[1]]), places, turn

    def _equal(self, number: int, label: str, data: np.ndarray) -> bool:
        """Add q_1 = data_0 + data_1 q_2, both from their reference.

        False for terms of higher order in q_2, and for joints without a coordinate of their own, or with several.
        """
        first = self._by_joint.get(int(self._model.eq_obj1id[number]))
        second = self._by_joint.get(int(self._model.eq_obj2id[number]))
        if first is None or not first.coordinate:
            return False
        if second is not None and (not second.coordinate or np.any(data[2:5])):
            return False
        terms = {first.coordinate: 1.0} | ({second.coordinate: -float(data[1])} if second is not None else {})
        self.robot.couplings.append(Coupling(self._joints.add(label), terms, float(data[0])))
        return True

    def _add_motors(self) -> None:
        """Add actuators of joints whose force is affine in command, position and rate: motors, servos.

        Their armatures and damping act on the joint, whatever their force is.
        """
        model = self._model
        names = Names(f"{joint.name}_{part}" for joint in self.robot.joints for part in FORCES)
        for number in range(model.nactuator):
            label = self._named("ACTUATOR", number) or f"motor{number + 1}"
            at = int(model.actuator_trnid[number, 0])
            joint = self._by_joint.get(at) if model.actuator_trntype[number] in _TO_JOINT else None
            kinds = (model.actuator_gaintype, model.actuator_biastype, model.actuator_dyntype)
            gain, bias, dynamics = (int(kind[number]) for kind in kinds)
            affine = gain == 0 and bias in (0, 1) and dynamics == 0 and not model.actuator_delay[number]
            gear = float(model.actuator_gear[number, 0])
            if joint is not None and joint.coordinate:
                joint.armature += gear**2 * float(model.actuator_armature[number])
                joint.damping += 0.0 if self._is_off("DAMPER") else gear**2 * float(model.actuator_damping[number])
            is_off = self._is_off("ACTUATION") or model.opt.disableactuator >> int(model.actuator_group[number]) & 1
            if joint is None or not joint.coordinate or not affine or is_off:
                why = "disabled" if is_off else "no motor or servo of a joint that acts at once"
                self.robot.remarks.append(f"not taken over: actuator {label}, which is {why}")
                continue
            a, b, c = map(float, model.actuator_biasprm[number, :3]) if bias else (0.0, 0.0, 0.0)
            motor = Motor(names.add(label), joint.name, gear, bias=(a, b, c))
            motor.gain = float(model.actuator_gainprm[number, 0])
            motor.zero = float(model.qpos0[model.jnt_qposadr[at]])
            own = int(model.actuator_ctrladr[number])  # others may have several commands
            motor.command = float(model.key_ctrl[0, own]) if model.nkey else 0.0
            if model.actuator_ctrllimited[own] and not self._is_off("CLAMPCTRL"):
                low, high = map(float, model.actuator_ctrlrange[own])
                motor.range = (low, high) if np.isfinite([low, high]).all() else None
                motor.command = min(max(motor.command, low), high)
            if model.actuator_forcelimited[number]:
                low, high = map(float, model.actuator_forcerange[number])
                motor.limits = (low, high)
            self.robot.motors.append(motor)

    def _add_visuals(self) -> None:
        """Add the meshes that MuJoCo shows, with the poses of the files: it moves vertices into principal axes."""
        model = self._model
        for number in range(model.ngeom):
            mesh, body = int(model.geom_dataid[number]), int(model.geom_bodyid[number])
            of_mesh = model.geom_type[number] == self._mujoco.mjtGeom.mjGEOM_MESH
            if not of_mesh or not body or model.geom_group[number] >= _SHOWN_GROUPS or model.mesh_pathadr[mesh] < 0:
                continue
            file = bytes(model.paths)[model.mesh_pathadr[mesh] :].split(b"\0", 1)[0].decode(errors="replace")
            turn = rotation_of(model.geom_quat[number]) @ rotation_of(model.mesh_quat[mesh]).T
            place = np.array(model.geom_pos[number]) - turn @ model.mesh_pos[mesh]
            scale = np.array(model.mesh_scale[mesh])
            at, own = self._moved[self._named("MESH", mesh)]
            before = rotation_of(own).T
            if not np.allclose(before, np.eye(3), atol=1e-12) and np.ptp(scale) > 1e-12 * np.abs(scale).max():
                self.robot.remarks.append(
                    f"not taken over: a visual mesh of {self._body_names[body]}, turned (refquat) before it is scaled"
                )
                continue
            place -= turn @ (scale * (before @ at))
            turn = turn @ before
            made = Visual(self._body_names[body], str(Path(file).resolve()), scale, place, turn)
            self.robot.visuals.append(made)

    def _say_what_is_dropped(self) -> None:
        model = self._model

        def having(numbers: Any, among_all: bool = False) -> list[str]:
            """Names of joints whose number is not zero, among those without a coordinate of their own or among all."""
            joints = self._by_joint.items()
            return [joint.name for at, joint in joints if (among_all or not joint.coordinate) and np.any(numbers[at])]

        dof, terms = model.jnt_dofadr, "terms of second and third order of the springs and dampers"
        left = [f"armature of {name}" for name in having(model.dof_armature[dof])]
        left += [
            f"{what} of {', '.join(names)}"
            for what, names in (
                ("dry friction", having(model.dof_frictionloss[dof])),
                ("damping", having(model.dof_damping[dof])),
                ("stiffness", having(model.jnt_stiffness)),
                ("limits of the force of all actuators (actuatorfrcrange)", having(model.jnt_actfrclimited, True)),
                (terms, self._uneven()),
                ("limits", having(model.jnt_limited & self._has_limits)),
                ("yielding (springyield) of the springs", having(model.jnt_stiffness * model.jnt_springyield, True)),
            )
            if names
        ]
        left += [
            what
            for what, is_there in (
                ("compensation of gravity (gravcomp)", np.any(model.body_gravcomp)),
                ("forces of the medium (density, viscosity)", model.opt.density or model.opt.viscosity),
                (f"{counted(model.ngeom, 'shape')} (masses count) and contacts", model.ngeom),
                (counted(model.ntendon, "tendon"), model.ntendon),
                (counted(model.nsensor, "sensor"), model.nsensor),
                (f"{counted(model.nkey - 1, 'keyframe')} after the first", model.nkey > 1),
                (f"the motion of {counted(model.nmocap, 'mocap body')}, fixed at the start", model.nmocap),
                (counted(model.nplugin, "plugin"), model.nplugin),
                (f"elasticity of {counted(model.nflex, 'flexible part')} (masses count)", model.nflex),
            )
            if is_there
        ]
        self.robot.remarks += [f"not taken over: {what}" for what in left]

    def _uneven(self) -> list[str]:
        """Names of joints and actuators whose springs or dampers are polynomials of higher order."""
        model = self._model
        springs, dampers = model.jnt_stiffnesspoly.any(axis=1), model.dof_dampingpoly.any(axis=1)
        names = [joint.name for at, joint in self._by_joint.items() if springs[at] or dampers[model.jnt_dofadr[at]]]
        return names + [
            self._named("ACTUATOR", number) or f"motor{number + 1}"
            for number in range(model.nactuator)
            if model.actuator_dampingpoly[number].any()
        ]


# Writing: nested bodies in the pose of zero coordinates; the initial state is a keyframe.


_JOINTS = {"revolute": "hinge", "prismatic": "slide", "spherical": "ball"}
_CLOSING = {"spherical": "connect", "fixed": "weld"}
_REFUSED = 1e-15  # kg and kg m^2: MuJoCo refuses bodies that move with less
_LEAST = 2e-15  # written for zeros
_NEGLIGIBLE = 1e-9  # largest share of _LEAST in the inertia of a body
_LEAST_FULL = 1e-13  # kg m^2: MuJoCo takes smaller moments about principal axes only, its bound is 1e-14
_ROUND_OFF = 1e-12  # of moments, relative to the largest, and of lengths


def mjcf_of(robot: Robot) -> str:
    """The text of an MJCF file; what MJCF cannot state is added to the robot's remarks."""
    root = Element("mujoco", model=robot.name)
    SubElement(root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
    SubElement(root, "option", gravity=words(robot.gravity))
    start: list[float] = []
    rates: list[float] = []
    bodies = {body.name: body for body in robot.bodies}
    carried: dict[str, list[Joint]] = {}  # joints to children, by parent body
    for joint in robot.joints:
        if not joint.closes:
            carried.setdefault(joint.bodies[0], []).append(joint)
    inertias, names = _Inertias(robot), Names(joint.name for joint in robot.joints)
    world = SubElement(root, "worldbody")
    pending = [(joint, world) for joint in reversed(carried.get(GROUND, []))]
    while pending:  # depth first, as the format numbers coordinates
        joint, parent = pending.pop()
        chain = _chain(joint, bodies, carried)
        body = bodies[chain[-1].bodies[1]]
        inner = _write_body(parent, chain, body.name, inertias.of(body, joint.kind != "fixed"), names, start, rates)
        pending += [(below, inner) for below in reversed(carried.get(chain[-1].bodies[1], []))]
    _add_equalities(root, robot)
    inertias.remark()
    if robot.motors:
        actuators = SubElement(root, "actuator")
        for motor in robot.motors:
            SubElement(actuators, "motor", name=motor.name, joint=motor.joint, gear=digits(motor.gear))
    if start:
        velocity = {"qvel": words(rates)} if any(rates) else {}
        SubElement(SubElement(root, "keyframe"), "key", {"name": "start", "qpos": words(start)} | velocity)
    return laid_out(root, robot)


def _chain(joint: Joint, bodies: dict[str, Body], carried: dict[str, list[Joint]]) -> list[Joint]:
    """A joint and those that follow it over massless bodies, which become several joints of one body in MJCF.

    In MuJoCo no rotation follows a ball in the same body.
    """
    chain = [joint]
    while chain[-1].kind in _JOINTS:
        body = bodies[chain[-1].bodies[1]]
        below = carried.get(body.name, [])
        if not body.is_massless or len(below) != 1 or below[0].kind not in _JOINTS:
            break
        if below[0].kind != "prismatic" and any(joint.kind == "spherical" for joint in chain):
            break
        chain.append(below[0])
    return chain


class _Inertias:
    """Masses and inertias that MuJoCo accepts, for the same motion; ``remark`` lists those that are not the model's."""

    def __init__(self, robot: Robot):
        self._remarks = robot.remarks
        self._replaced: list[str] = []
        self._filled: list[str] = []
        self._refused: list[str] = []
        self._axes: dict[str, np.ndarray] = {GROUND: np.zeros((0, 3))}  # about which a body turns, at zero coordinates
        bodies = {body.name: body for body in robot.bodies}
        tree = [joint for joint in robot.joints if not joint.closes]
        lengths = [np.abs((joint.places[1], bodies[joint.bodies[1]].center)).max() for joint in tree]
        turned, shifted, slides = [], [], {GROUND: False}  # moments that joints feel, and masses
        for joint in tree:
            own = {"revolute": joint.axis[None], "spherical": np.eye(3), "floating": np.eye(3)}.get(joint.kind)
            before, body = self._axes[joint.bodies[0]] @ joint.turn, bodies[joint.bodies[1]]
            self._axes[body.name] = before if own is None else np.concatenate([before, own])
            slides[body.name] = slides[joint.bodies[0]] or joint.kind in ("prismatic", "floating")
            lever = np.linalg.norm(body.center - joint.places[1])
            around = body.mass * lever**2 if lever > _ROUND_OFF * max(lengths) else 0.0
            moment = np.abs(body.inertia).max()
            if len(self._axes[body.name]):
                turned.append(
                    max(around, joint.armature * (joint.kind == "revolute"), moment * (moment > _noise(body)))
                )
            if slides[body.name]:
                shifted.append(max(body.mass, joint.armature * (joint.kind == "prismatic")))
        of_moments, of_mass = (
            _NEGLIGIBLE * min(filter(None, sizes), default=0.0) > _LEAST for sizes in (turned, turned + shifted)
        )
        self._is_negligible = np.array([of_mass, of_moments, of_moments, of_moments])

    def of(self, body: Body, moves: bool) -> dict[str, str] | None:
        """Attributes of the ``inertial`` of a body; None for one without mass that is fixed to another."""
        if body.is_massless and not moves:
            return None
        inertia, turns = body.inertia, len(self._axes[body.name]) > 0
        moments, axes = np.linalg.eigh(inertia)
        noise = max(_noise(body), _ROUND_OFF * moments[2])
        only = self._only_moment(body, moments)
        is_filled = only > noise and (_excess(moments) > noise or (moves and moments[0] < _REFUSED))
        if is_filled:
            inertia, moments, axes = only * np.eye(3), np.full(3, only), np.eye(3)
        numbers, excess = np.array([body.mass, *moments]), _excess(moments)
        lacks = moves & (numbers < _REFUSED)
        are_zero = np.abs(numbers) <= [0.0, noise, noise, noise]
        stated = {"pos": words(body.center)}
        if excess > noise or (lacks & [True, turns, turns, turns] & ~(are_zero & self._is_negligible)).any():
            self._refused.append(body.name)
            inertia = body.inertia
        else:
            if is_filled:
                self._filled.append(body.name)
            if lacks.any():
                self._replaced.append(body.name)
            if lacks.any() or moments[0] < _LEAST_FULL or excess > -noise:  # MuJoCo's own principal axes are off
                numbers = np.where(lacks, _LEAST, np.maximum(numbers, 0.0))
                numbers[1] = max(numbers[1], numbers[3] - numbers[2])
                axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
                stated |= {"quat": words(quaternion_of(axes)), "mass": digits(numbers[0])}
                return stated | {"diaginertia": words(numbers[1:])}
        return stated | {"mass": digits(body.mass), "fullinertia": words(inertia[at] for at in INERTIA.values())}

    def _only_moment(self, body: Body, moments: np.ndarray) -> float:
        """The moment about the only axis that a body turns about, the largest if it does not turn; 0 for more axes."""
        axes = self._axes[body.name]
        if not len(axes):
            return moments[2]
        first = axes[0] / np.linalg.norm(axes[0])
        is_only = np.abs(np.cross(first, axes)).max() < 1e-9 * np.abs(axes).max()
        return first @ body.inertia @ first if is_only else 0.0

    def remark(self) -> None:
        """List the bodies whose numbers are others than in the model, and those that MuJoCo refuses."""
        for what, names, how in (
            ("moving bodies without mass or inertia: zeros of", self._replaced, f"as {_LEAST:g}"),
            ("inertias that are zero or impossible: those of", self._filled, "with the same moment about all axes"),
        ):
            if names:
                sentence = f"MuJoCo refuses {what} {', '.join(names)} were written {how}"
                self._remarks.append(f"{sentence}; the motion is the same")
        if self._refused:
            why = f"it needs {_REFUSED:g} kg and kg m^2 of all that moves, and inertias that a body can have"
            self._remarks.append(f"MuJoCo refuses the file: {why}; correct {', '.join(self._refused)}")


def _noise(body: Body) -> float:
    """Round-off of moments of inertia that were shifted to the centre of mass [kg m^2]."""
    return _ROUND_OFF * body.mass * float(body.center @ body.center)


def _excess(moments: np.ndarray) -> float:
    """The largest moment minus the sum of the others, positive for inertias that no body can have [kg m^2]."""
    return moments[2] - moments[1] - moments[0]


def _write_body(
    parent: Element,
    chain: list[Joint],
    name: str,
    inertial: dict[str, str] | None,
    names: Names,
    start: list[float],
    rates: list[float],
) -> Element:
    """Add a body with its joints, the outer first; their initial coordinates and velocities are appended.

    A joint that floats on another body becomes three slides and a ball, as MuJoCo's float in the world only.
    """
    place, turn = np.zeros(3), np.eye(3)  # of the body at zero coordinates
    for joint in chain:
        place = place + turn @ (joint.places[0] - joint.turn @ joint.places[1])
        turn = turn @ joint.turn
    made = SubElement(parent, "body", name=name, pos=words(place), quat=words(quaternion_of(turn)))
    if inertial is not None:
        SubElement(made, "inertial", inertial)
    if chain[0].kind == "floating":
        velocity, spin = np.split(chain[0].rates, 2)
        velocity = velocity - np.cross(spin, turn @ chain[0].places[1])  # of the origin
        if chain[0].bodies[0] == GROUND:
            SubElement(made, "freejoint", name=chain[0].name)
            start += [*place, *quaternion_of(turn)]
        else:
            for letter, axis in zip("xyz", np.eye(3), strict=True):
                SubElement(made, "joint", name=names.add(f"{chain[0].name}_{letter}"), type="slide", axis=words(axis))
            SubElement(made, "joint", name=chain[0].name, type="ball")
            start += [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
            velocity = turn.T @ velocity
        rates += [*velocity, *(turn.T @ spin)]
    anchors, turns = [chain[-1].places[1]], [np.eye(3)]  # from the innermost outwards; turns: the body in the joint's
    for outer, inner in zip(chain[-2::-1], chain[:0:-1], strict=True):
        turns.append(inner.turn @ turns[-1])
        anchors.append(anchors[-1] + turns[-1].T @ (outer.places[1] - inner.places[0]))
    for joint, anchor, from_body in zip(chain, reversed(anchors), reversed(turns), strict=True):
        if joint.kind in _JOINTS:
            _write_joint(made, joint, anchor, from_body.T @ joint.axis)
            start += [joint.start] if joint.coordinate else [1.0, 0.0, 0.0, 0.0]
            rates += list(joint.rates if joint.coordinate else from_body.T @ joint.turn.T @ joint.rates)
    return made


def _write_joint(body: Element, joint: Joint, anchor: np.ndarray, axis: np.ndarray) -> None:
    stated = {"name": joint.name, "type": _JOINTS[joint.kind], "pos": words(anchor)}
    if joint.coordinate:
        stated["axis"] = words(axis)
        for name, value in (("damping", joint.damping), ("armature", joint.armature), ("frictionloss", joint.loss)):
            stated |= {name: digits(value)} if value else {}
        if joint.stiffness:
            stated |= {"stiffness": digits(joint.stiffness), "springref": digits(joint.natural)}
        if joint.limits is not None:
            stated["range"] = words(joint.limits)
    SubElement(body, "joint", stated)


def _add_equalities(root: Element, robot: Robot) -> None:
    """Joints that close loops, between sites, and couplings.

    An ``anchor`` would not do: MuJoCo takes its place in the second body from the pose of zero coordinates.
    """
    equality = Element("equality")
    owners = {joint.coordinate: joint.name for joint in robot.joints if joint.coordinate}
    elements = {body.get("name", GROUND): body for body in root.iter() if body.tag in ("worldbody", "body")}
    for joint in robot.joints:
        if not joint.closes:
            continue
        if joint.kind not in _CLOSING or not elements.keys() >= {*joint.bodies}:  # chains unite bodies without mass
            robot.remarks.append(f"not stated: loop closed by the {joint.kind} joint {joint.name}")
            continue
        sites = {"site1": f"{joint.name}_1", "site2": f"{joint.name}_2"}
        turns = (joint.turn, np.eye(3))
        for site, body, place, turn in zip(sites.values(), joint.bodies, joint.places, turns, strict=True):
            SubElement(elements[body], "site", name=site, pos=words(place), quat=words(quaternion_of(turn)))
        SubElement(equality, _CLOSING[joint.kind], sites | {"name": joint.name})
    for coupling in robot.couplings:
        names = [owners.get(coordinate) for coordinate in coupling.terms]
        if len(names) > 2 or None in names:
            robot.remarks.append(f"not stated: coupling {coupling.name}")
            continue
        own, *rest = coupling.terms.values()
        polynomial = [coupling.offset / own, -rest[0] / own if rest else 0.0, 0.0, 0.0, 0.0]
        joints = {f"joint{k}": name for k, name in enumerate(map(str, names), 1)}
        SubElement(equality, "joint", joints | {"name": coupling.name, "polycoef": words(polynomial)})
    if len(equality):
        root.append(equality)
