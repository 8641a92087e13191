"""The same trees in Pinocchio; needs the extra ``oracles``."""

import numpy as np
import pinocchio as pin

from benchmarks.trees import Body
from mbsim_cli.model.codes import Column
from mbsim_cli.model.layout import COM, GROUND, INERTIA, MASS, P_C, P_P, R_C, R_P

_JOINTS = {
    Column.TRANSLATION_X: pin.JointModelPX,
    Column.TRANSLATION_Y: pin.JointModelPY,
    Column.TRANSLATION_Z: pin.JointModelPZ,
    Column.ROTATION_X: pin.JointModelRX,
    Column.ROTATION_Y: pin.JointModelRY,
    Column.ROTATION_Z: pin.JointModelRZ,
    Column.EULER_0: pin.JointModelSpherical,  # stands for all four Euler parameters
}


def bodies_of(model, theta):
    """Bodies of a model with these numbers."""
    first, found = model.tree.first_column, []
    for i, parent in enumerate(model.tree.parent):
        block = theta[model.tree.theta[i] :]
        columns = tuple(int(kind) for kind in model.tree.column_kind[first[i] : first[i + 1]])
        frames = block[P_P : P_P + 3], block[R_P : R_P + 9].reshape(3, 3)
        frames += block[P_C : P_C + 3], block[R_C : R_C + 9].reshape(3, 3)
        inertia = block[MASS], block[COM : COM + 3], block[INERTIA : INERTIA + 6]
        found.append(Body(int(parent), columns, *frames, *inertia))
    return found


def tree(bodies, gravity=(0.0, 0.0, -9.81)):
    """Model, and for each body its joint and its pose in that joint's frame."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array(gravity), np.zeros(3))
    places = []
    for i, b in enumerate(bodies):
        joint, pose = (0, pin.SE3.Identity()) if b.parent == GROUND else places[b.parent]
        pose = pose * pin.SE3(b.R_P, b.p_P)
        for k, column in enumerate(b.columns):
            if column not in _JOINTS:
                continue
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
