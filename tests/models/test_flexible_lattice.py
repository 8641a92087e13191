"""A body of given matrices that deforms in space, hung on a ball, against d'Alembert's principle for its points.

The body is a lattice of point masses and springs, so that sums over points are its integrals, with nothing left out.
"""

import itertools
import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.io import mmwrite
from scipy.linalg import eigh
from scipy.sparse import coo_matrix
from scipy.spatial.transform import Rotation

import mbsim_cli as mbsim

MODES = 8
DURATION = 0.25
SPIN = [2.0, -1.0, 4.0]  # at the start
GRAVITY = [1.0, -9.81, 2.0]
POINTS = np.array([[0.1 * i, y, z] for i in range(9) for y in (-0.04, 0.04) for z in (-0.05, 0.05)])
MASSES = np.linspace(0.05, 0.15, len(POINTS))
HELD = 4  # points at the root
END = slice(-4, None)


def stiffness() -> np.ndarray:
    """Springs between neighbours, along all diagonals; three rows a point."""
    K = np.zeros((3 * len(POINTS), 3 * len(POINTS)))
    for i, j in itertools.combinations(range(len(POINTS)), 2):
        between = POINTS[j] - POINTS[i]
        length = np.linalg.norm(between)
        if length < 0.17:
            ends = np.zeros((3, 3 * len(POINTS)))
            ends[:, 3 * i : 3 * i + 3], ends[:, 3 * j : 3 * j + 3] = -np.eye(3), np.eye(3)
            along = between @ ends / length
            K += 2e4 / length * np.outer(along, along)
    return K


def ours(folder, step: float) -> np.ndarray:
    """Where (3,) the middle of the far end is at last."""
    return loaded(folder).run(step=step)["end"][-1]


def loaded(folder) -> mbsim.Model:
    mmwrite(folder / "M.mtx", coo_matrix(np.diag(np.repeat(MASSES, 3))), symmetry="symmetric")
    mmwrite(folder / "K.mtx", coo_matrix(stiffness()), symmetry="symmetric")
    rows = np.column_stack([np.arange(len(POINTS)), POINTS])
    np.savetxt(folder / "nodes.csv", rows, delimiter=",", header="node,x,y,z", comments="")
    flexible = {
        "mesh": {"type": "matrices", "stiffness": "K.mtx", "mass": "M.mtx", "nodes": "nodes.csv"},
        "sets": {"root": {"x": 0}, "end": {"x": 0.8}},
        "frame": {"fixed": "root"}, "modes": {"count": MODES}, "nodes": {"end": {"set": "end"}},
    }  # fmt: skip
    start = {"angular_velocity": [SPIN[0], SPIN[1], "spin"]}
    model = {
        "mbsim": 1, "parameters": {"spin": SPIN[2], "g": GRAVITY[1]}, "gravity": [GRAVITY[0], "g", GRAVITY[2]],
        "bodies": {"lattice": {"flexible": flexible}},
        "joints": {"ball": {"type": "spherical", "bodies": ["ground", "lattice"], "point": "origin", "initial": start}},
        "sensors": {"end": {"type": "position", "point": "lattice.end"}},
        "objectives": {"height": {"final": "end.y"}}, "analysis": {"step": 2e-4, "duration": DURATION},
    }  # fmt: skip
    (folder / "model.yaml").write_text(json.dumps(model))
    return mbsim.load(folder / "model.yaml")


def by_hand(spin: float = SPIN[2], g: float = GRAVITY[1]) -> np.ndarray:
    """The same from accelerations of all points along all ways in which the body can move, in its own axes."""
    free = slice(3 * HELD, None)
    squares, shapes = eigh(stiffness()[free, free], np.diag(np.repeat(MASSES, 3)[free]))
    modes = np.zeros((3 * len(POINTS), MODES))
    modes[free] = shapes[:, :MODES]
    modes = modes.reshape(len(POINTS), 3, MODES)

    def rates(time, state):
        turn, w, q, q_t = np.split(state, np.cumsum([4, 3, MODES]))
        place, flow = POINTS + modes @ q, modes @ q_t
        turning = np.stack([np.cross(axis, place) for axis in np.eye(3)], axis=2)
        ways = np.concatenate([turning, modes], axis=2)
        down = Rotation.from_quat(turn).inv().apply([GRAVITY[0], g, GRAVITY[2]])
        rest = np.cross(w, np.cross(w, place)) + 2.0 * np.cross(w, flow) - down
        inertia = np.einsum("nia,n,nib->ab", ways, MASSES, ways)
        force = -np.einsum("nia,n,ni->a", ways, MASSES, rest)
        force[3:] -= squares[:MODES] * q
        w_t, q_tt = np.split(np.linalg.solve(inertia, force), [3])
        turn_t = 0.5 * np.append(turn[3] * w + np.cross(turn[:3], w), -turn[:3] @ w)  # (x, y, z, w)
        return np.concatenate([turn_t, w_t, q_t, q_tt])

    start = np.concatenate([[0, 0, 0, 1], [*SPIN[:2], spin], np.zeros(2 * MODES)])
    turn, _, q, _ = np.split(
        solve_ivp(rates, (0, DURATION), start, "DOP853", rtol=1e-10, atol=1e-12).y[:, -1], np.cumsum([4, 3, MODES])
    )
    return Rotation.from_quat(turn).apply(POINTS + modes @ q)[END].mean(axis=0)


@pytest.mark.slow
def test_swing(tmp_path):
    """Of the second order in the step, two steps give the fourth."""
    coarse, fine = ours(tmp_path, 2e-4), ours(tmp_path, 1e-4)
    assert np.allclose(fine + (fine - coarse) / 3.0, by_hand(), rtol=0, atol=5e-8)


@pytest.mark.slow
def test_gradients(tmp_path):
    """Of the end's height, against differences of the motion by hand; two steps give the fourth order."""
    model = loaded(tmp_path)
    coarse, fine = (model.run(step=step, sensitivity="ddm").objectives["height"] for step in (2e-4, 1e-4))
    adjoint = model.run(step=1e-4, sensitivity="adjoint").objectives["height"]
    for name, value in (("spin", SPIN[2]), ("g", GRAVITY[1])):
        h = 1e-2 * value
        above, below = (by_hand(**{name: value + change})[1] for change in (h, -h))
        found = fine.by(name) + (fine.by(name) - coarse.by(name)) / 3.0
        assert found == pytest.approx((above - below) / (2 * h), rel=1e-4)
        assert adjoint.by(name) == pytest.approx(fine.by(name), rel=1e-9)
