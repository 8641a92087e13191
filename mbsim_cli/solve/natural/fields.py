"""Points, vectors and poses as linear functions of the coordinates, at many values of theta at once.

A field is an array (T, 3, 1 + N): constant, then N coordinates. The first of the T values of theta is the problem's,
the others lie a tiny imaginary way along directions, so that whatever is computed carries its derivatives.
"""

from collections.abc import Callable

import numpy as np

from mbsim_cli.model.layout import GROUND

STEP = 1e-40  # imaginary way along a direction
SAME = 1e-9  # relative size of what counts as nothing

Local = Callable[[np.ndarray], np.ndarray]  # theta (T, size) -> vector (T, 3) in body axes


def entries(offset: int) -> Local:
    """Three numbers that follow each other."""
    return lambda theta: theta[:, offset : offset + 3]


def axis(offset: int, k: int, sign: float = 1.0) -> Local:
    """Column k of a rotation matrix that stands by rows."""
    return lambda theta: sign * theta[:, [offset + k, offset + 3 + k, offset + 6 + k]]


def given(vector: np.ndarray) -> Local:
    """A vector that does not depend on theta."""
    return lambda theta: np.broadcast_to(np.asarray(vector, theta.dtype), (len(theta), 3))


def directions_of(theta: np.ndarray, dtheta: np.ndarray) -> np.ndarray:
    """Values of theta (1 + p, size); a complex theta stands alone."""
    if np.iscomplexobj(theta):
        return theta[None]
    return np.concatenate([theta[None] + 0j, theta + 1j * STEP * dtheta.T])


def value_of(stack: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The value in a stack, of the kind of ``like``."""
    return stack[0].copy() if np.iscomplexobj(like) else stack[0].real.copy()


def derivative_of(stack: np.ndarray, p: int) -> np.ndarray:
    """Derivatives (..., p) in a stack; zero where it has none."""
    if len(stack) == 1:
        return np.zeros((*stack.shape[1:], p))
    return np.moveaxis(stack[1:].imag / STEP, 0, -1)


class Fields:
    """Poses of bodies (T, 12, 1 + N): origin, then the columns of the rotation matrix."""

    def __init__(self, theta: np.ndarray, N: int) -> None:
        self.theta, self.N = theta, N
        self.poses: dict[int, np.ndarray] = {}
        ground = np.zeros((len(theta), 12, 1 + N), complex)
        for k in range(3):
            ground[:, 3 + 4 * k, 0] = 1.0
        self.poses[GROUND] = ground

    def vector(self, body: int, local: Local) -> np.ndarray:
        """A vector of a body."""
        columns = self.poses[body][:, 3:].reshape(len(self.theta), 3, 3, -1)
        return np.einsum("tk,tkac->tac", local(self.theta), columns)

    def point(self, body: int, local: Local) -> np.ndarray:
        """A point of a body."""
        return self.poses[body][:, :3] + self.vector(body, local)

    def coordinates(self, columns: list[int], along: np.ndarray) -> np.ndarray:
        """Coordinates (k,) along vectors (T, k, 3)."""
        field = np.zeros((len(self.theta), 3, 1 + self.N), complex)
        for j, column in enumerate(columns):
            field[:, :, 1 + column] = along[:, j]
        return field

    def place(self, body: int, origin: np.ndarray, vectors: list[np.ndarray], locals_: list[np.ndarray]) -> None:
        """Pose of a body whose ``origin`` and three vectors have the local coordinates (T, 3) of ``locals_``."""
        inverse = np.linalg.inv(np.stack(locals_[1:], axis=2))  # (T, vector, axis)
        columns = sum(
            inverse[:, a, :, None, None] * vector[:, None] for a, vector in enumerate(vectors)
        )  # (T, axis, 3, 1 + N)
        start = origin - np.einsum("tk,tkac->tac", locals_[0], columns)
        self.poses[body] = np.concatenate([start, columns.reshape(len(self.theta), 9, -1)], axis=1)

    def is_constant(self, field: np.ndarray) -> bool:
        """Whether no coordinate has a part in a field, at theta and along all directions."""
        return nothing(field[:, :, 1:], field)

    def carried(self, body: int, field: np.ndarray, *, point: bool) -> bool:
        """Whether a field is a point or vector of a body, at theta and along all directions."""
        pose = self.poses[body]
        wanted = field - pose[:, :3] if point else field
        columns = np.moveaxis(pose[:, 3:].reshape(len(self.theta), 3, 3, -1), 1, -1)
        columns, wanted = columns.reshape(len(self.theta), -1, 3), wanted.reshape(len(self.theta), -1)
        base = columns[0].real
        local, *_ = np.linalg.lstsq(base, wanted[0].real, rcond=None)
        size = max(np.abs(wanted[0].real).max(), 1e-300)
        if np.abs(base @ local - wanted[0].real).max() > SAME * size:
            return False
        for k in range(1, len(self.theta)):
            turned = columns[k].imag / STEP
            change = wanted[k].imag / STEP - turned @ local
            moved, *_ = np.linalg.lstsq(base, change, rcond=None)
            if np.abs(base @ moved - change).max() > SAME * max(
                size, np.abs(change).max(), size * np.abs(turned).max()
            ):
                return False
        return True


def nothing(part: np.ndarray, whole: np.ndarray) -> bool:
    """Whether a part vanishes against the whole, in value and derivatives."""
    size = max(np.abs(whole[0]).max(), 1e-300)
    if part.size and np.abs(part[0]).max() > SAME * size:
        return False
    change = np.abs(whole[1:].imag).max(initial=0.0) / STEP
    return not (part[1:].size and np.abs(part[1:].imag).max() / STEP > SAME * max(change, size))
