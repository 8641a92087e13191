"""Pinocchio: constraint dynamics with a proximal solver; SciPy's DOP853 integrates, as Pinocchio has no integrator.

The springs are forces at points, turned into torques by Jacobians. Nothing keeps the loop closed but the accuracy.
"""

import numpy as np
import pinocchio as pin
from common import ANGLES, CENTRE_A1, GRAVITY, LENGTH_3B, LENGTH_12, LENGTH_A1, NATURAL, STIFFNESS, B, reference, report
from scipy.integrate import solve_ivp


def at(x: float) -> pin.SE3:
    return pin.SE3(np.eye(3), np.array([x, 0.0, 0.0]))


def build():
    """Model, its constraint, and the frames of points 1 and 2."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array([0.0, -GRAVITY, 0.0]), np.zeros(3))
    rods = (
        ("A1", 0, 0.0, 1.0, CENTRE_A1, 1.0 / 6.0),
        ("12", 1, LENGTH_A1, 1.5, LENGTH_12 / 2, 1.5 * LENGTH_12**2 / 12),
        ("23", 2, LENGTH_12, 1.5, LENGTH_12 / 2, 1.5 * LENGTH_12**2 / 12),
        ("3B", 0, 1.0, 1.0, LENGTH_3B / 2, LENGTH_3B**2 / 12),
    )
    for name, parent, place, mass, centre, inertia in rods:
        joint = model.addJoint(parent, pin.JointModelRZ(), at(place), name)
        model.appendBodyToJoint(joint, pin.Inertia(mass, np.array([centre, 0, 0]), inertia * np.eye(3)), at(0.0))
    points = [
        model.addFrame(pin.Frame(name, joint, 0, at(x), pin.FrameType.OP_FRAME))
        for name, joint, x in (("p1", 1, LENGTH_A1), ("p2", 2, LENGTH_12))
    ]
    loop = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, 3, at(LENGTH_12), 4, at(LENGTH_3B), pin.ReferenceFrame.LOCAL
    )
    return model, loop, points


def main() -> None:
    time, expected = reference()
    model, loop, points = build()
    data, loop_data = model.createData(), loop.createData()
    pin.initConstraintDynamics(model, data, [loop])
    proximal = pin.ProximalSettings(1e-12, 1e-10, 10)

    def rates(_, state: np.ndarray) -> np.ndarray:
        q, v = state[:4], state[4:]
        pin.computeJointJacobians(model, data, q)
        torque = np.zeros(4)
        for frame, natural in zip(points, NATURAL, strict=True):
            pin.updateFramePlacement(model, data, frame)
            away = data.oMf[frame].translation - B
            length = np.linalg.norm(away)
            J = pin.getFrameJacobian(model, data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)[:3]
            torque -= J.T @ (STIFFNESS * (length - natural) / length * away)
        found = pin.constraintDynamics(model, data, q, v, torque, [loop], [loop_data], proximal)
        return np.concatenate([v, found])

    start = np.array([ANGLES[0], ANGLES[1] - ANGLES[0], ANGLES[2] - ANGLES[1], -0.25 * np.pi, *np.zeros(4)])

    def place(q: np.ndarray) -> np.ndarray:
        pin.framesForwardKinematics(model, data, q)
        return data.oMf[points[1]].translation[:2].copy()

    for tolerance in 10.0 ** -np.arange(3, 13, 2):

        def run(tolerance=tolerance) -> np.ndarray:
            states = solve_ivp(rates, (0, time[-1]), start, "DOP853", t_eval=time, rtol=tolerance, atol=tolerance).y
            return np.array([place(q) for q in states[:4].T])

        report(f"tolerance {tolerance:g}", run, expected)


if __name__ == "__main__":
    main()
