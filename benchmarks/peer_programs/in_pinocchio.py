"""Pinocchio: SciPy's DOP853 integrates, as Pinocchio has no integrator; loops by its proximal solver.

Springs are forces at points, turned into torques by Jacobians. Nothing keeps the loops closed but the accuracy.
"""

import numpy as np
import pinocchio as pin
from common import GROUND, Mechanism, compare
from scipy.integrate import solve_ivp


def at(place) -> pin.SE3:
    return pin.SE3(np.eye(3), np.asarray(place, float))


def build(mechanism: Mechanism):
    """Model, constraints, frames of both ends of all springs, and the frame that is compared."""
    model = pin.Model()
    model.gravity = pin.Motion(mechanism.gravity, np.zeros(3))
    joints, origins = {GROUND: 0}, {GROUND: np.zeros(3)}
    for b in mechanism.bodies:
        joint, place = joints[b.parent], b.at - origins[b.parent]
        for k, axis in enumerate(b.axes):
            joint = model.addJoint(joint, pin.JointModelRevoluteUnaligned(axis), at(place), f"{b.name}.{k}")
            place = np.zeros(3)
        model.appendBodyToJoint(joint, pin.Inertia(b.mass, b.center - b.at, b.inertia), at(np.zeros(3)))
        joints[b.name], origins[b.name] = joint, b.at

    def point(name: str, body: str, place) -> int:
        kind = pin.FrameType.OP_FRAME
        return model.addFrame(pin.Frame(name, joints[body], 0, at(place - origins[body]), kind))

    ends = [
        (point(f"a{k}", s.a, s.from_a), point(f"b{k}", s.b, s.to_b)) for k, s in enumerate(mechanism.springs)
    ]  # fmt: skip
    seen, loops = point("seen", *mechanism.seen), pin.StdVec_RigidConstraintModel()
    for loop in mechanism.loops:
        first, second = ((joints[name], at(loop.at - origins[name])) for name in (loop.a, loop.b))
        place = pin.ReferenceFrame.LOCAL
        loops.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *first, *second, place))
    return model, loops, ends, seen


def settings(mechanism: Mechanism, time: np.ndarray):
    """Series, setting and run of each."""
    model, loops, ends, seen = build(mechanism)
    data, loop_data = model.createData(), pin.StdVec_RigidConstraintData()
    for loop in loops:
        loop_data.append(loop.createData())
    if len(loops):
        pin.initConstraintDynamics(model, data, loops, loop_data)
    proximal, n = pin.ProximalSettings(1e-12, 1e-10, 10), model.nq

    def torques(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        torque = np.zeros(n)
        if ends:
            pin.computeJointJacobians(model, data, q)
        for s, pair in zip(mechanism.springs, ends, strict=True):
            places, jacobians = [], []
            for each in pair:
                pin.updateFramePlacement(model, data, each)
                places.append(data.oMf[each].translation.copy())
                jacobians.append(pin.getFrameJacobian(model, data, each, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)[:3])
            away, J = places[1] - places[0], jacobians[1] - jacobians[0]
            distance = np.linalg.norm(away)
            along = J.T @ (away / distance)
            torque -= (s.stiffness * (distance - s.free) + s.damping * (along @ v)) * along
        return torque

    def rates(_, state: np.ndarray) -> np.ndarray:
        q, v = state[:n], state[n:]
        if not len(loops):
            return np.concatenate([v, pin.aba(model, data, q, v, torques(q, v))])
        torque = torques(q, v)
        return np.concatenate([v, pin.constraintDynamics(model, data, q, v, torque, loops, loop_data, proximal)])

    start = np.concatenate([np.zeros(n), *mechanism.rates()])

    def place(q: np.ndarray) -> np.ndarray:
        pin.framesForwardKinematics(model, data, q)
        return data.oMf[seen].translation.copy()

    for tolerance in 10.0 ** -np.arange(3, 13, 2):

        def run(tolerance=tolerance) -> np.ndarray:
            states = solve_ivp(rates, (0, time[-1]), start, "DOP853", t_eval=time, rtol=tolerance, atol=tolerance).y
            return np.array([place(q) for q in states[:n].T])

        yield "Pinocchio, SciPy DOP853", f"tolerance {tolerance:g}", run


if __name__ == "__main__":
    compare(settings)
