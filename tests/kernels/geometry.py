"""Textbook geometry in numpy, written without the kernels: rotations, joint motions, poses, measures."""

import numpy as np

from mbsim_cli.model.codes import JOINT_COLUMNS, Column, Joint, Measure


def skew(a):
    """Matrix of a x."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def rotation(axis, angle):
    """Rotation about a unit axis, by Rodrigues."""
    K = skew(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def euler_rotation(e):
    """Rotation of Euler parameters e / |e|."""
    e = e / np.sqrt(e @ e)
    return np.eye(3) + 2 * e[0] * skew(e[1:]) + 2 * skew(e[1:]) @ skew(e[1:])


def joint_motion(joint, z):
    """Displacement d and rotation J that coordinates z give in the joint frame on the parent's side."""
    d, R, left = np.zeros(3, z.dtype), np.eye(3), list(z)
    for column in JOINT_COLUMNS[joint]:
        if column <= Column.TRANSLATION_Z:
            d = d + R[:, column] * left.pop(0)
        elif column <= Column.ROTATION_Z:
            R = R @ rotation(np.eye(3)[column - Column.ROTATION_X], left.pop(0))
        elif column == Column.EULER_0:
            R = R @ euler_rotation(np.array([left.pop(0) for _ in range(4)]))
    return d, R


def poses(builder, theta, z):
    """Rotation matrices and origins of all bodies, then of the ground."""
    found = [(np.eye(3), np.zeros(3))] * (len(builder.bodies) + 1)
    for i, body in enumerate(builder.bodies):
        o = body.theta
        p_P, R_P, p_C, R_C = theta[o : o + 3], theta[o + 3 : o + 12], theta[o + 12 : o + 15], theta[o + 15 : o + 24]
        parent_R, parent_r = found[body.parent]
        d, J = joint_motion(body.joint, z[body.first : body.first + len(JOINT_COLUMNS[body.joint])])
        frame = parent_R @ R_P.reshape(3, 3)
        R = frame @ J @ R_C.reshape(3, 3).T
        found[i] = R, parent_r + parent_R @ p_P + frame @ d - R @ p_C
    return found


def measure(kind, block, pose_a, pose_b):
    """A geometric measure from its block (15,) and the poses of its bodies."""
    (Ra, ra), (Rb, rb) = pose_a, pose_b
    p_a, p_b, u_a, u_b, n_a = block.reshape(5, 3)
    d = rb + Rb @ p_b - ra - Ra @ p_a
    u, w, n = Ra @ u_a, Rb @ u_b, Ra @ n_a
    if kind == Measure.PROJECTION:
        return u @ d
    if kind == Measure.DOT:
        return u @ w
    if kind == Measure.DISTANCE:
        return np.sqrt(d @ d)
    return np.arctan2(np.cross(n, u) @ w, u @ w)


def free_rotation(joint):
    """Whether the joint turns by Euler parameters."""
    return joint in (Joint.SPHERICAL, Joint.FLOATING)
