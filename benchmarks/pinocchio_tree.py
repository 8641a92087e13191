"""The same trees in Pinocchio; needs the extra ``oracles``."""

import numpy as np
import pinocchio as pin

from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import GROUND

_JOINTS = {
    Column.TRANSLATION_X: pin.JointModelPX,
    Column.TRANSLATION_Y: pin.JointModelPY,
    Column.TRANSLATION_Z: pin.JointModelPZ,
    Column.ROTATION_X: pin.JointModelRX,
    Column.ROTATION_Y: pin.JointModelRY,
    Column.ROTATION_Z: pin.JointModelRZ,
}


def tree(bodies, gravity=(0.0, 0.0, -9.81)):
    """Model, and for each body its joint and its pose in that joint's frame."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array(gravity), np.zeros(3))
    places = []
    for i, b in enumerate(bodies):
        joint, pose = (0, pin.SE3.Identity()) if b.parent == GROUND else places[b.parent]
        pose = pose * pin.SE3(b.R_P, b.p_P)
        for k, column in enumerate(b.columns):
            joint = model.addJoint(joint, _JOINTS[column](), pose, f"{i}.{k}")
            pose = pin.SE3.Identity()
        pose = pose * pin.SE3(b.R_C, b.p_C).inverse()
        places.append((joint, pose))
        if b.mass > 0.0:
            xx, yy, zz, xy, xz, yz = b.inertia
            J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            model.appendBodyToJoint(joint, pin.Inertia(b.mass, np.array(b.center), J), pose)
    return model, places


def derivatives(model, q, v, a):
    """torque (N, n) and its three derivatives (N, n, n)."""
    data = model.createData()
    torque, by = [], [[], [], []]
    for k in range(q.shape[0]):
        pin.computeRNEADerivatives(model, data, q[k], v[k], a[k])
        torque.append(data.tau.copy())
        M = np.triu(data.M)
        for stored, matrix in zip(by, (data.dtau_dq, data.dtau_dv, M + np.triu(M, 1).T), strict=True):
            stored.append(matrix.copy())
    return np.array(torque), *map(np.array, by)
