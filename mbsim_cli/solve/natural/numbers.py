"""Numbers that kernels read in natural coordinates: theta, then those of measures, poses, rigidity, mass and weight."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbsim_cli.model.layout import COM, GRAVITY, INERTIA, MASS, MEASURE_SIZE, Model

if TYPE_CHECKING:
    from mbsim_cli.solve.natural.system import NaturalSystem

POSE_SIZE = 12  # of each coordinate that a body depends on, and of what depends on none
SHAPE_SIZE = 6  # of an equation of rigidity


class Places(NamedTuple):
    """Where the numbers begin."""

    target: int  # zero, of all equations that are added
    measure: np.ndarray  # (added,)
    pose: np.ndarray  # (nb,)
    shape: np.ndarray  # (rigid,)
    mass: int
    weight: int


def places(system: "NaturalSystem") -> Places:
    """Where the numbers of a system begin."""
    target = len(system.problem.theta)
    ends = np.cumsum([target + 1, *(MEASURE_SIZE for _ in system.rows)])
    poses = np.cumsum([ends[-1], *(POSE_SIZE * (1 + len(columns)) for columns in system.columns)])
    shapes = poses[-1] + SHAPE_SIZE * np.arange(len(system.plan.rigid) + 1)
    mass = int(shapes[-1])
    return Places(target, ends[:-1], poses[:-1], shapes[:-1], mass, mass + len(system.mass_entries[0]))


def numbers_of(system: "NaturalSystem", theta: np.ndarray) -> np.ndarray:
    """All of them at a stack of theta (T, size)."""
    fields, back = system.fields(theta), np.argsort(system.order)
    blocks = [theta, np.zeros((len(theta), 1)), *(row.numbers(theta) for row in system.rows)]
    weight = np.zeros((len(theta), system.plan.size), complex)
    mass = np.zeros((len(theta), system.plan.size, system.plan.size), complex)
    states = _states(system.problem.model)
    for i, used in enumerate(system.listed):
        pose = fields.poses[i]
        blocks.append(pose[:, :, 0])
        blocks.append(np.moveaxis(pose[:, :, 1 + used], 2, 1).reshape(len(theta), -1))
        moments = _moments_of(theta, int(system.problem.model.tree.theta[i]))
        maps = pose[:, :, 1 + used].reshape(len(theta), 4, 3, -1)
        mass[:, used[:, None], used] += np.einsum("tjan,tjk,tkam->tnm", maps, moments, maps, optimize=True)
        if i in states:
            along = maps[:, 0, 2]  # the body of a state slides along z of the ground
            mass[:, used[:, None], used] += np.einsum("t,tn,tm->tnm", theta[:, states[i]], along, along)
        gravity = theta[:, GRAVITY : GRAVITY + 3]
        weight[:, used] += np.einsum("tjan,tj,ta->tn", maps, moments[:, :, 0], gravity)
    blocks += [rigid.shape(theta) for rigid in system.plan.rigid]
    mass = mass[:, back][:, :, back]
    rows, columns = system.mass_entries
    return np.concatenate([*blocks, mass[:, rows, columns], weight[:, back]], axis=1)


def _states(model: Model) -> dict[int, int]:
    """Bodies that states slide, with the offsets of their inertia."""
    of, columns = model.armatures, model.tree.column_body
    return {int(columns[c]): int(o) for c, o, stored in zip(*of, strict=True) if not stored}


def _moments_of(theta: np.ndarray, o: int) -> np.ndarray:
    """Mass, first and second moments (T, 4, 4) of a body about its origin, in its axes."""
    m, c = theta[:, o + MASS], theta[:, o + COM : o + COM + 3]
    xx, yy, zz, xy, xz, yz = theta[:, o + INERTIA : o + INERTIA + 6].T
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    second = 0.5 * np.einsum("iit->t", J) * np.eye(3)[:, :, None] - J
    found = np.zeros((len(theta), 4, 4), complex)
    found[:, 0, 0] = m
    found[:, 0, 1:] = found[:, 1:, 0] = m[:, None] * c
    found[:, 1:, 1:] = np.moveaxis(second, 2, 0) + m[:, None, None] * c[:, :, None] * c[:, None, :]
    return found
