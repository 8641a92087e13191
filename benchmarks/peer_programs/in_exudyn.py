"""Exudyn: bodies and joints in absolute coordinates; trapezoidal rule of index 2, fixed steps, modified Newton.

Of its implicit integrators this is the most accurate at a given time here; explicit ones take no loops.
"""

import exudyn as exu
import numpy as np
from common import GROUND, Mechanism, compare
from exudyn.itemInterface import (
    MarkerBodyPosition,
    NodeRigidBody2D,
    ObjectConnectorSpringDamper,
    ObjectGround,
    ObjectJointRevolute2D,
    ObjectRigidBody2D,
    SensorBody,
)
from exudyn.utilities import LoadMassProportional, MarkerBodyMass, RigidBodyInertia


def build(mechanism: Mechanism):
    """The mechanism with a sensor of the point that is compared, and the system's owner."""
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    made = {GROUND: mbs.AddObject(ObjectGround())}
    centers = {GROUND: np.zeros(3)} | {body.name: body.center for body in mechanism.bodies}
    axes = {body.name: body.axes for body in mechanism.bodies}
    moving = motions(mechanism)
    for b in mechanism.bodies:
        v, w = moving[b.name]
        if mechanism.planar:
            node = mbs.AddNode(
                NodeRigidBody2D(referenceCoordinates=[*b.center[:2], 0.0], initialVelocities=[*v[:2], w[2]])
            )
            made[b.name] = mbs.AddObject(ObjectRigidBody2D(mass=b.mass, inertia=b.inertia[2, 2], nodeNumber=node))
        else:
            inertia = RigidBodyInertia(mass=b.mass, inertiaTensor=b.inertia)
            made[b.name] = mbs.CreateRigidBody(
                referencePosition=list(b.center),
                initialVelocity=list(v),
                initialAngularVelocity=list(w),
                inertia=inertia,
            )
        loaded = mbs.AddMarker(MarkerBodyMass(bodyNumber=made[b.name]))
        mbs.AddLoad(LoadMassProportional(markerNumber=loaded, loadVector=list(mechanism.gravity)))

    def marker(name: str, point: np.ndarray) -> int:
        return mbs.AddMarker(MarkerBodyPosition(bodyNumber=made[name], localPosition=list(point - centers[name])))

    places = [(b.parent, b.name, b.at) for b in mechanism.bodies] + [(x.a, x.b, x.at) for x in mechanism.loops]
    for a, b, at in places:
        tree = b in axes and (a, b) in {(body.parent, body.name) for body in mechanism.bodies}
        if mechanism.planar:
            mbs.AddObject(ObjectJointRevolute2D(markerNumbers=[marker(a, at), marker(b, at)]))
        elif not tree or len(axes[b]) == 3:
            mbs.CreateSphericalJoint(itemNumbers=[made[a], made[b]], position=list(at))
        elif len(axes[b]) == 1:
            mbs.CreateRevoluteJoint(itemNumbers=[made[a], made[b]], position=list(at), axis=list(axes[b][0]))
        else:
            turned = np.column_stack([*axes[b], np.cross(*axes[b])])
            mbs.CreateGenericJoint(
                itemNumbers=[made[a], made[b]], position=list(at), rotationMatrixAxes=turned,
                constrainedAxes=[1, 1, 1, 0, 0, 1],
            )  # fmt: skip
    for s in mechanism.springs:
        mbs.AddObject(
            ObjectConnectorSpringDamper(
                markerNumbers=[marker(s.a, s.from_a), marker(s.b, s.to_b)], stiffness=s.stiffness, damping=s.damping,
                referenceLength=s.free,
            )
        )  # fmt: skip
    name, point = mechanism.seen
    sensor = mbs.AddSensor(
        SensorBody(
            bodyNumber=made[name], localPosition=list(point - centers[name]), storeInternal=True,
            outputVariableType=exu.OutputVariableType.Position,
        )
    )  # fmt: skip
    mbs.Assemble()
    return container, mbs, sensor


def motions(mechanism: Mechanism) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Velocity of the centre and angular velocity of each body at the start."""
    found = {GROUND: (np.zeros(3), np.zeros(3))}
    center = {GROUND: np.zeros(3)} | {body.name: body.center for body in mechanism.bodies}
    for b, rates in zip(mechanism.bodies, mechanism.rates(), strict=True):
        v, w = found[b.parent]
        v = v + np.cross(w, b.at - center[b.parent])
        w = w + sum(rate * axis for rate, axis in zip(rates, b.axes, strict=True))
        found[b.name] = v + np.cross(w, b.center - b.at), w
    return found


def settings(mechanism: Mechanism, time: np.ndarray):
    """Series, setting and run of each."""
    interval = time[1] - time[0]
    _container, mbs, sensor = build(mechanism)
    for every in (5, 10, 25, 50, 100, 250):
        chosen = exu.SimulationSettings()
        chosen.timeIntegration.numberOfSteps = round(time[-1] / interval) * every
        chosen.timeIntegration.endTime = float(time[-1])
        chosen.timeIntegration.verboseMode = 0
        chosen.timeIntegration.newton.useModifiedNewton = True
        chosen.solution.file.write = False
        chosen.solution.sensors.writePeriod = float(interval)
        chosen.solution.sensors.append = False
        if len(mechanism.bodies) > 10:
            chosen.linearSolverType = exu.LinearSolverType.EigenSparse

        def run(chosen=chosen) -> np.ndarray:
            mbs.SolveDynamic(chosen, solverType=exu.DynamicSolverType.TrapezoidalIndex2)
            return np.array(mbs.GetSensorStoredData(sensor))[:, 1:4]

        yield "Exudyn, trapezoidal rule of index 2", f"step {interval / every:g} s", run


if __name__ == "__main__":
    compare(settings)
