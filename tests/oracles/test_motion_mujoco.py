"""Motions of random mechanisms, as their model files say, and gradients against MuJoCo.

MuJoCo gives accelerations of trees in joint coordinates. Loops are closed here, by multipliers of its Jacobians, and
scipy integrates.
"""

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mbsim_cli as mbsim

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.oracles
from tests.oracles.twins import DURATION, LAST, VALUES, Twins  # noqa: E402  (it needs MuJoCo)


class Motion:
    """What MuJoCo makes of a mechanism, two of whose sites a ``loop`` keeps together."""

    def __init__(self, twins: Twins, loop=()):
        self.model, self.data = twins.mujoco()
        self.loop = [self.model.site(site).id for site in loop]
        start = np.concatenate([self.data.qpos, self.data.qvel])
        self.at = solve_ivp(self.rates, (0, DURATION), start, "DOP853", rtol=1e-12, atol=1e-12, dense_output=True).sol

    def stand(self, state) -> None:
        self.data.qpos, self.data.qvel = np.split(state, [self.model.nq])
        mujoco.mj_forward(self.model, self.data)

    def tip(self, time: float) -> np.ndarray:
        self.stand(self.at(time))
        return self.data.site(f"tip.{LAST}").xpos.copy()

    def turning(self) -> np.ndarray:
        """Rates of MuJoCo's coordinates."""
        rates = np.zeros(self.model.nq)
        for kind, q, v in zip(self.model.jnt_type, self.model.jnt_qposadr, self.model.jnt_dofadr, strict=True):
            if kind == mujoco.mjtJoint.mjJNT_BALL:
                spin = np.append(0.0, 0.5 * self.data.qvel[v : v + 3])  # in axes of the body
                mujoco.mju_mulQuat(rates[q : q + 4], self.data.qpos[q : q + 4], spin)
            else:
                rates[q] = self.data.qvel[v]
        return rates

    def jacobian(self) -> np.ndarray:
        """That (3, nv) of what parts the sites of the loop."""
        one, other = np.zeros((2, 3, self.model.nv))
        for matrix, site in zip((one, other), self.loop, strict=True):
            mujoco.mj_jacSite(self.model, self.data, matrix, None, site)
        return other - one

    def force(self, state) -> np.ndarray:
        """The force (3,) on the second body that keeps the loop."""
        return self.closed(state)[1]

    def closed(self, state) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations and the force with which the loop stays closed."""
        self.stand(state)
        free, J, inverse = self.data.qacc.copy(), self.jacobian(), np.zeros((3, self.model.nv))
        mujoco.mj_solveM(self.model, self.data, inverse, J)
        along, change = 1e-6 * np.append(self.turning(), np.zeros(self.model.nv)), []
        for nearby in (state + along, state - along):
            self.stand(nearby)
            change.append(self.jacobian() @ self.data.qvel)
        force = -np.linalg.solve(J @ inverse.T, J @ free + (change[0] - change[1]) / 2e-6)
        return free + force @ inverse, force

    def rates(self, time, state) -> np.ndarray:
        self.stand(state)
        turning = self.turning()
        return np.append(turning, self.closed(state)[0] if self.loop else self.data.qacc)


def loaded(twins: Twins, folder) -> mbsim.Model:
    file = folder / "model.yaml"
    file.write_text(json.dumps(twins.model))
    return mbsim.load(file)


def heights(motion_of, name: str) -> float:
    """How the tip's height at the end changes with a parameter, by differences of MuJoCo's motions."""
    change = 1e-4 * VALUES[name]
    above, below = (motion_of(**{name: VALUES[name] + sign * change}).tip(DURATION)[2] for sign in (1, -1))
    return (above - below) / (2 * change)


@pytest.mark.parametrize("seed", range(12))
def test_trees(seed, tmp_path):
    twins = Twins(seed)
    result = loaded(twins, tmp_path).run(formulation="recursive", tolerance=1e-12, sensitivity="ddm")
    motion = Motion(twins)
    for time, tip in zip(result["time"], result["tip"], strict=True):
        assert np.allclose(tip, motion.tip(time), rtol=0, atol=1e-9)
    for name in VALUES:
        expected = heights(lambda **values: Motion(Twins(seed, **values)), name)
        assert np.isclose(result.objectives["height"].by(name), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_loops(seed, tmp_path):
    """A ball closes a loop. The motion is of the second order in the step: two steps give the fourth."""

    def closed(**values: float) -> tuple[Twins, Motion]:
        twins = Twins(seed, chain=True, **values)
        return twins, Motion(twins, twins.close(LAST, "ground"))

    twins, motion = closed()
    model = loaded(twins, tmp_path)
    coarse, fine = (model.run(step=step, sensitivity="ddm") for step in (2e-3, 1e-3))

    def limit(of):
        return of(fine) + (of(fine) - of(coarse)) / 3.0

    force = motion.force(motion.at(DURATION))
    assert np.allclose(limit(lambda run: run["tip"][-1]), motion.tip(DURATION), rtol=0, atol=5e-7)
    assert np.allclose(limit(lambda run: run["pull.force"][-1]), force, rtol=0, atol=2e-6 * np.linalg.norm(force))
    for name in VALUES:
        found = limit(lambda run, name=name: run.objectives["height"].by(name))
        assert np.isclose(found, heights(lambda **values: closed(**values)[1], name), rtol=1e-5, atol=1e-6)
