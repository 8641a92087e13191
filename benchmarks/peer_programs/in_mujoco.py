"""MuJoCo: loops are soft `connect` constraints of two sites, as stiff as a step allows.

Settings: solref of two steps and solimp near one, the stiffest that MuJoCo's documentation (Modeling, Solver
parameters) calls stable. Steps are made by ``mujoco.rollout``, without a loop in Python.
"""

import mujoco
import numpy as np
from common import GROUND, Mechanism, compare
from mujoco import rollout


def text(numbers) -> str:
    return " ".join(f"{x:.17g}" for x in numbers)


def model(mechanism: Mechanism, step: float, integrator: str):
    """The mechanism at a time step."""
    origins = {GROUND: np.zeros(3)} | {body.name: body.at for body in mechanism.bodies}
    sites: dict[str, str] = dict.fromkeys(origins, "")
    equality, tendons = "", ""

    def site(name: str, body: str, point) -> str:
        sites[body] += f'<site name="{name}" pos="{text(point - origins[body])}"/>'
        return name

    site("seen", *mechanism.seen)
    for k, loop in enumerate(mechanism.loops):
        a, b = site(f"a{k}", loop.a, loop.at), site(f"b{k}", loop.b, loop.at)
        stiff = f'solref="{2 * step} 1" solimp=".9999 .9999 .001 .5 2"'
        equality += f'<connect site1="{a}" site2="{b}" {stiff}/>'
    for k, s in enumerate(mechanism.springs):
        a, b = site(f"from{k}", s.a, s.from_a), site(f"to{k}", s.b, s.to_b)
        numbers = f'stiffness="{s.stiffness}" damping="{s.damping}" springlength="{s.free:.17g}"'
        tendons += f'<spatial {numbers}><site site="{a}"/><site site="{b}"/></spatial>'

    def tree(parent: str) -> str:
        made = sites[parent]
        for b in mechanism.bodies:
            if b.parent == parent:
                joints = "".join(f'<joint type="hinge" axis="{text(axis)}"/>' for axis in b.axes)
                upper = *np.diag(b.inertia), b.inertia[0, 1], b.inertia[0, 2], b.inertia[1, 2]
                inertial = f'pos="{text(b.center - b.at)}" mass="{b.mass}" fullinertia="{text(upper)}"'
                inside = f"{joints}<inertial {inertial}/>{tree(b.name)}"
                made += f'<body name="{b.name}" pos="{text(b.at - origins[parent])}">{inside}</body>'
        return made

    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step}" integrator="{integrator}" gravity="{text(mechanism.gravity)}">'
        '<flag contact="disable"/></option><compiler inertiafromgeom="false" balanceinertia="true"/>'
        f"<worldbody>{tree(GROUND)}</worldbody><tendon>{tendons}</tendon><equality>{equality}</equality>"
        '<sensor><framepos objtype="site" objname="seen"/></sensor></mujoco>'
    )


def settings(mechanism: Mechanism, time: np.ndarray):
    """Series, setting and run of each."""
    interval, large = time[1] - time[0], len(mechanism.bodies) > 10
    kind, rates = (
        mujoco.mjtState.mjSTATE_FULLPHYSICS,
        {b.name: r for b, r in zip(mechanism.bodies, mechanism.rates(), strict=True)},
    )
    for integrator in ("RK4", "implicitfast"):
        for every in (20, 40, 80, 160, 320) if mechanism.loops and large else (1, 2, 3, 5, 10, 20, 40, 80):
            made = model(mechanism, interval / every, integrator)
            data = mujoco.MjData(made)
            for name, rate in rates.items():
                first = made.body_dofadr[made.body(name).id]
                data.qvel[first : first + len(rate)] = rate
            mujoco.mj_forward(made, data)
            start = np.zeros((1, mujoco.mj_stateSize(made, kind)))
            mujoco.mj_getState(made, data, start[0], kind)
            first, steps = data.sensordata[:3].copy(), (time.size - 1) * every

            def run(made=made, data=data, start=start, first=first, steps=steps, every=every) -> np.ndarray:
                # a row of sensors is of the beginning of its step
                _, seen = rollout.rollout(made, data, start, nstep=steps + 1)
                return np.vstack([first, seen[0, every::every, :3][: time.size - 1]])

            yield f"MuJoCo {integrator}", f"step {interval / every:g} s", run


if __name__ == "__main__":
    compare(settings)
