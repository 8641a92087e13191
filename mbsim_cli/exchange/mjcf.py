"""Mechanisms in MJCF, read as MuJoCo compiles them (extra ``import``)."""

from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.errors import InputOutputError, UsageError, counted
from mbsim_cli.exchange import robot as form
from mbsim_cli.exchange.robot import GROUND, Body, Coupling, Joint, Line, Motor, Names, Robot, Visual, rotation_of

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
CONNECT, WELD, EQUAL_JOINTS, EQUAL_TENDONS = range(4)  # mjtEq
_KINDS = {SLIDE: "prismatic", HINGE: "revolute"}
SITE = 3  # mjtWrap
NO_LENGTH = 1e-12  # m
SAME = 1e-5  # relative difference of distances in two bodies that are equal but for the digits of the file
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
        self._mujoco, self._model, self._moved = mujoco, model, moved  # ``refpos`` and ``refquat`` of meshes
        name = bytes(model.names).split(b"\0", 1)[0].decode(errors="replace")
        gravity = np.zeros(3) if self._is_off("GRAVITY") else np.array(model.opt.gravity)
        self.robot = Robot(name or path.stem, path.name, gravity)
        self._start = np.array(model.key_qpos[0] if model.nkey else model.qpos0)
        self._rates = np.array(model.key_qvel[0] if model.nkey else np.zeros(model.nv))
        self._has_limits = not self._is_off("LIMIT", "CONSTRAINT")
        self._bodies, self._joints = self.robot.body_names, self.robot.joint_names
        names = (self._bodies.add(self._named("BODY", number) or f"body{number}") for number in range(1, model.nbody))
        self._body_names = [GROUND, *names]
        self._by_joint: dict[int, Joint] = {}
        for number in range(1, model.nbody):
            self._add_body(number)
        self._left = set(range(model.ntendon))  # tendons that are not taken over
        self._add_loops()
        self._add_springs()
        self._add_motors()
        self._add_visuals()
        points = [joint.name for joint in self.robot.joints] + [line.name for line in self.robot.lines]
        sites = Names([*form.NO_POINTS, *points])
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
        mass, center = float(model.body_mass[number]), np.array(model.body_ipos[number])
        inertia = turn @ np.diag(model.body_inertia[number]) @ turn.T
        self.robot.bodies.append(Body(name, mass, center, inertia))
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
        places = np.array([place + pose @ anchor, anchor])
        if kind == FREE:  # its coordinates are the pose in the world
            start = self._start[qpos : qpos + 7]
            made = Joint(name, "floating", bodies, np.array([start[:3], np.zeros(3)]), rotation_of(start[3:]))
            made.rates = np.concatenate([self._rates[dof : dof + 3], made.turn @ self._rates[dof + 3 : dof + 6]])
        elif kind == BALL:
            turn = pose @ rotation_of(self._start[qpos : qpos + 4])
            made = Joint(name, "spherical", bodies, places, turn)
            made.rates = turn @ self._rates[dof : dof + 3]
        else:
            made = Joint(name, _KINDS[kind], bodies, places, pose, np.array(model.jnt_axis[at]))
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
                continue
            coupled = kind == EQUAL_JOINTS and self._equal(number, label, data)
            if not coupled and not (kind == EQUAL_TENDONS and self._hold(number, data)):
                self.robot.remarks.append(f"not taken over: equality constraint {label}")
        self._unite_connections()

    def _unite_connections(self) -> None:
        """Make revolute joints of pairs of points at which two bodies are held together."""
        pairs: dict[frozenset[str], list[Joint]] = {}
        for joint in self.robot.joints:
            if joint.closes and joint.kind == "spherical":
                pairs.setdefault(frozenset(joint.bodies), []).append(joint)
        for kept, *others in pairs.values():
            if len(others) != 1:
                continue
            (other,) = others
            along = (other.places if other.bodies == kept.bodies else other.places[::-1]) - kept.places
            first, second = lengths = np.linalg.norm(along, axis=1)
            if lengths.all() and abs(first - second) <= SAME * first:
                to, kept.axis = along / lengths[:, None]
                kept.kind, kept.turn = "revolute", form.turn_onto(kept.axis, to)
                self.robot.joints = [joint for joint in self.robot.joints if joint is not other]

    def _add_springs(self) -> None:
        """Add tendons between two sites that have a linear spring or damper, and no constant length."""
        model = self._model
        for tendon in sorted(self._left):
            low, high = model.tendon_lengthspring[tendon]
            stiffness = 0.0 if self._is_off("SPRING") else float(model.tendon_stiffness[tendon])
            damping = 0.0 if self._is_off("DAMPER") else float(model.tendon_damping[tendon])
            bent = (model.tendon_stiffnesspoly, model.tendon_dampingpoly, model.tendon_springyield)
            is_linear = not any(np.any(numbers[tendon]) for numbers in bent) and (low == high or not stiffness)
            line = self._line(tendon, float(low)) if (stiffness or damping) and is_linear else None
            if line is not None:
                line.stiffness, line.damping = stiffness, damping
                self.robot.lines.append(line)

    def _line(self, tendon: int, length: float) -> Line | None:
        """A tendon between two sites as a line; None for one over more sites or geometry, or within one body."""
        model, first = self._model, int(self._model.tendon_adr[tendon])
        if model.tendon_num[tendon] != 2 or np.any(model.wrap_type[first : first + 2] != SITE):
            return None
        sites = model.wrap_objid[first : first + 2]
        one, other = (self._body_names[model.site_bodyid[site]] for site in sites)
        if one == other:
            return None
        label = self._named("TENDON", tendon) or f"tendon{tendon + 1}"
        name = self._joints.add(label if label not in self._of_forces() else f"{label}_tendon")
        self._left.discard(tendon)
        left = {
            "limits": model.tendon_limited[tendon] and self._has_limits,
            "dry friction": model.tendon_frictionloss[tendon],
            "armature": model.tendon_armature[tendon],
        }
        if parts := ", ".join(part for part, is_there in left.items() if is_there):
            self.robot.remarks.append(f"not taken over: {parts} of tendon {label}")
        return Line(name, (one, other), np.array(model.site_pos[sites]), length)

    def _of_forces(self) -> list[str]:
        """Names that forces of joints may have, and those of lines."""
        lines = [line.name for line in self.robot.lines]
        return lines + [f"{joint.name}_{part}" for joint in self.robot.joints for part in form.FORCES]

    def _hold(self, number: int, data: np.ndarray) -> bool:
        """Add the constant length of one tendon; False where it follows another, or would be negative."""
        tendon = int(self._model.eq_obj1id[number])
        length = float(self._model.tendon_length0[tendon] + data[0])
        line = self._line(tendon, length) if self._model.eq_obj2id[number] < 0 and length > -NO_LENGTH else None
        if line is None:
            return False
        line.is_rigid = length > NO_LENGTH
        if line.is_rigid:
            self.robot.lines.append(line)
        else:  # its ends stay together
            self.robot.joints.append(Joint(line.name, "spherical", line.bodies, line.places, closes=True))
        return True

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
        names = Names(self._of_forces())
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
            owner = self._body_names[body]
            if not np.allclose(before, np.eye(3), atol=1e-12) and np.ptp(scale) > 1e-12 * np.abs(scale).max():
                what = f"a visual mesh of {owner}, turned (refquat) before it is scaled"
                self.robot.remarks.append(f"not taken over: {what}")
                continue
            place -= turn @ (scale * (before @ at))
            self.robot.visuals.append(Visual(owner, str(Path(file).resolve()), scale, place, turn @ before))

    def _say_what_is_dropped(self) -> None:
        model = self._model

        def having(numbers: Any, among_all: bool = False) -> list[str]:
            """Names of joints whose number is not zero, among those without a coordinate of their own or among all."""
            joints = self._by_joint.items()
            return [joint.name for at, joint in joints if (among_all or not joint.coordinate) and np.any(numbers[at])]

        dof = model.jnt_dofadr
        uneven = having(model.jnt_stiffnesspoly.any(axis=1) | model.dof_dampingpoly.any(axis=1)[dof], True)
        for number in np.flatnonzero(model.actuator_dampingpoly.any(axis=1)).tolist():
            uneven.append(self._named("ACTUATOR", number) or f"motor{number + 1}")
        of_parts = {
            "dry friction": having(model.dof_frictionloss[dof]),
            "damping": having(model.dof_damping[dof]),
            "stiffness": having(model.jnt_stiffness),
            "limits of the force of all actuators (actuatorfrcrange)": having(model.jnt_actfrclimited, True),
            "terms of second and third order of the springs and dampers": uneven,
            "limits": having(model.jnt_limited & self._has_limits),
            "yielding (springyield) of the springs": having(model.jnt_stiffness * model.jnt_springyield, True),
        }
        others = {
            "compensation of gravity (gravcomp)": np.any(model.body_gravcomp),
            "forces of the medium (density, viscosity)": model.opt.density or model.opt.viscosity,
            f"{counted(model.ngeom, 'shape')} (masses count) and contacts": model.ngeom,
            counted(len(self._left), "tendon"): self._left,
            counted(model.nsensor, "sensor"): model.nsensor,
            f"{counted(model.nkey - 1, 'keyframe')} after the first": model.nkey > 1,
            f"the motion of {counted(model.nmocap, 'mocap body')}, fixed at the start": model.nmocap,
            counted(model.nplugin, "plugin"): model.nplugin,
            f"elasticity of {counted(model.nflex, 'flexible part')} (masses count)": model.nflex,
        }
        left = [f"armature of {name}" for name in having(model.dof_armature[dof])]
        left += [f"{what} of {', '.join(names)}" for what, names in of_parts.items() if names]
        left += [what for what, is_there in others.items() if is_there]
        self.robot.remarks += [f"not taken over: {what}" for what in left]
