"""MuJoCo: Runge-Kutta of order 4; the loop is a soft `connect` of two sites, as stiff as a step allows.

Settings: solref of two steps and solimp near one, the stiffest that MuJoCo's documentation (Solver parameters) calls
stable. Steps are made by ``mujoco.rollout``, without a loop in Python.
"""

import mujoco
import numpy as np
from common import ANGLES, CENTRE_A1, GRAVITY, LENGTH_3B, LENGTH_12, LENGTH_A1, NATURAL, STIFFNESS, reference, report
from mujoco import rollout

ROD_12, ROD_3B = 1.5 * LENGTH_12**2 / 12.0, LENGTH_3B**2 / 12.0
ORDER = 4


def rod(name: str, at: float, child: str, mass: float, centre: float, inertia: float) -> str:
    """A body with a hinge about z at its origin, ``at`` from that of its parent."""
    return (
        f'<body name="{name}" pos="{at} 0 0"><joint type="hinge" axis="0 0 1" name="{name}"/>'
        f'<inertial pos="{centre} 0 0" mass="{mass}" diaginertia="{inertia} {inertia} {inertia}"/>{child}</body>'
    )


def site(name: str, x: float) -> str:
    return f'<site name="{name}" pos="{x} 0 0"/>'


def model(step: float):
    """The five-bar at a time step."""
    last = rod("23", LENGTH_12, site("end", LENGTH_12), 1.5, LENGTH_12 / 2, ROD_12)
    middle = rod("12", LENGTH_A1, site("p2", LENGTH_12) + last, 1.5, LENGTH_12 / 2, ROD_12)
    chain = rod("A1", 0.0, site("p1", LENGTH_A1) + middle, 1.0, CENTRE_A1, 1.0 / 6.0)
    other = rod("3B", 1.0, site("other", LENGTH_3B), 1.0, LENGTH_3B / 2, ROD_3B)
    springs = "".join(
        f'<spatial stiffness="{STIFFNESS}" springlength="{natural}"><site site="B"/><site site="{name}"/></spatial>'
        for natural, name in zip(NATURAL, ("p1", "p2"), strict=True)
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" integrator="RK4" gravity="0 {-GRAVITY} 0">'
        '<flag contact="disable"/></option><compiler inertiafromgeom="false"/>'
        f'<worldbody><site name="B" pos="1 0 0"/>{chain}{other}</worldbody><tendon>{springs}</tendon>'
        f'<equality><connect site1="end" site2="other" solref="{2 * step} 1" '
        'solimp=".9999 .9999 .001 .5 2"/></equality>'
        '<sensor><framepos objtype="site" objname="p2"/></sensor></mujoco>'
    )


def main() -> None:
    time, expected = reference()
    interval = time[1] - time[0]
    for every in (1, 2, 3, 5, 10, 20, 40, 80):
        made = model(interval / every)
        data = mujoco.MjData(made)
        data.qpos[:] = ANGLES[0], ANGLES[1] - ANGLES[0], ANGLES[2] - ANGLES[1], -0.25 * np.pi
        mujoco.mj_forward(made, data)
        start = np.zeros((1, mujoco.mj_stateSize(made, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
        mujoco.mj_getState(made, data, start[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
        first, steps = data.sensordata[:2].copy(), (time.size - 1) * every

        def run(made=made, data=data, start=start, first=first, steps=steps, every=every) -> np.ndarray:
            # a row of sensors is of the beginning of its step
            _, seen = rollout.rollout(made, data, start, nstep=steps + 1)
            return np.vstack([first, seen[0, every::every, :2][: time.size - 1]])

        report(f"RK4, step {interval / every:g} s", run, expected)


if __name__ == "__main__":
    main()
