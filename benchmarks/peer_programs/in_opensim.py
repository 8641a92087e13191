"""OpenSim (Simbody): pin, universal and ball joints, loops by point constraints; Runge-Kutta-Merson with error control.

Simbody projects positions and velocities onto the constraints by itself. Accuracy is the one setting of its
integrators; each row of results ends a step.
"""

import numpy as np
import opensim as osim
from common import GROUND, Mechanism, compare


def vec(numbers) -> osim.Vec3:
    return osim.Vec3(*map(float, numbers))


def frame(axes: list[np.ndarray]) -> osim.Vec3:
    """Body-fixed angles about x, y, z of a frame with the axis as z, or with two axes as x and y."""
    if len(axes) == 1:
        z = axes[0]
        x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
        x /= np.linalg.norm(x)
    else:
        x, z = axes[0], np.cross(*axes[:2])
    r = np.column_stack([x, np.cross(z, x), z])
    return vec([np.arctan2(-r[1, 2], r[2, 2]), np.arcsin(np.clip(r[0, 2], -1, 1)), np.arctan2(-r[0, 1], r[0, 0])])


def model(mechanism: Mechanism):
    """The mechanism, its bodies, and the origin of each."""
    made = osim.Model()
    made.setUseVisualizer(False)
    made.setGravity(vec(mechanism.gravity))
    bodies, origins = {GROUND: made.getGround()}, {GROUND: np.zeros(3)}
    for b, rates in zip(mechanism.bodies, mechanism.rates(), strict=True):
        j = b.inertia
        moments = osim.Inertia(*map(float, (*np.diag(j), j[0, 1], j[0, 2], j[1, 2])))
        body, turned = osim.Body(b.name, b.mass, vec(b.center - b.at), moments), frame(b.axes)
        kind = (osim.PinJoint, osim.UniversalJoint, osim.BallJoint)[len(b.axes) - 1]
        place = vec(b.at - origins[b.parent])
        joint = kind(f"to_{b.name}", bodies[b.parent], place, turned, body, osim.Vec3(0), turned)
        for k, rate in enumerate(rates):
            joint.upd_coordinates(k).setDefaultSpeedValue(float(rate))
        made.addBody(body)
        made.addJoint(joint)
        bodies[b.name], origins[b.name] = body, b.at
    for s in mechanism.springs:
        ends = bodies[s.a], vec(s.from_a - origins[s.a]), bodies[s.b], vec(s.to_b - origins[s.b])
        if s.damping:
            a, b = (f"/bodyset/{name}" if name else "/ground" for name in (s.a, s.b))
            law = f"({s.stiffness} * (d - {s.free!r}) + {s.damping} * ddot)"
            force = osim.ExpressionBasedPointToPointForce(a, ends[1], b, ends[3], law)
        else:
            force = osim.PointToPointSpring(*ends, s.stiffness, s.free)
        made.addForce(force)
    for loop in mechanism.loops:
        ends = bodies[loop.a], vec(loop.at - origins[loop.a]), bodies[loop.b], vec(loop.at - origins[loop.b])
        made.addConstraint(osim.PointConstraint(*ends))
    return made, bodies, origins


def settings(mechanism: Mechanism, time: np.ndarray):
    """Series, setting and run of each."""
    osim.Logger.setLevelString("Error")
    made, bodies, origins = model(mechanism)
    name, point = mechanism.seen
    start, tip = made.initSystem(), vec(point - origins[name])
    for tolerance in 10.0 ** -np.arange(2, 10):

        def run(tolerance=tolerance) -> np.ndarray:
            manager = osim.Manager(made)
            manager.setIntegratorMethod(osim.Manager.IntegratorMethod_RungeKuttaMerson)
            manager.setIntegratorAccuracy(float(tolerance))
            manager.initialize(osim.State(start))
            found = []
            for t in time:
                state = manager.integrate(float(t)) if t > 0.0 else manager.getState()
                made.realizePosition(state)
                place = bodies[name].findStationLocationInGround(state, tip)
                found.append([place[i] for i in range(3)])
            return np.array(found)

        yield "OpenSim, Runge-Kutta-Merson", f"accuracy {tolerance:g}", run


if __name__ == "__main__":
    compare(settings)
