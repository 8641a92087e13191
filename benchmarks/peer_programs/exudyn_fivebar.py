"""Exudyn: planar rigid bodies and revolute joints in absolute coordinates; trapezoidal rule of index 2, fixed steps.

Of its implicit integrators this is the most accurate at a given time here; explicit ones take no loops.
"""

import exudyn as exu
import numpy as np
from common import ANGLES, CENTRE_A1, GRAVITY, LENGTH_3B, LENGTH_12, LENGTH_A1, NATURAL, STIFFNESS, reference, report
from exudyn.itemInterface import (
    MarkerBodyPosition,
    NodeRigidBody2D,
    ObjectConnectorSpringDamper,
    ObjectGround,
    ObjectJointRevolute2D,
    ObjectRigidBody2D,
    SensorBody,
)
from exudyn.utilities import LoadMassProportional, MarkerBodyMass


def build(interval: float):
    """The mechanism with a sensor of point 2 in rows of ``interval``."""
    container = exu.SystemContainer()
    mbs = container.AddSystem()
    ground = mbs.AddObject(ObjectGround())
    away = np.array([np.cos(ANGLES[0]), np.sin(ANGLES[0])])
    p1 = LENGTH_A1 * away
    p2 = p1 + LENGTH_12 * np.array([np.cos(ANGLES[1]), np.sin(ANGLES[1])])
    rods = (
        ("A1", np.zeros(2), ANGLES[0], LENGTH_A1, 1.0, CENTRE_A1, 1.0 / 6.0),
        ("12", p1, ANGLES[1], LENGTH_12, 1.5, LENGTH_12 / 2, 1.5 * LENGTH_12**2 / 12),
        ("23", p2, ANGLES[2], LENGTH_12, 1.5, LENGTH_12 / 2, 1.5 * LENGTH_12**2 / 12),
        ("3B", np.array([1.0, 0.0]), -0.25 * np.pi, LENGTH_3B, 1.0, LENGTH_3B / 2, LENGTH_3B**2 / 12),
    )
    begin, end, body = {}, {}, {}
    for name, origin, angle, length, mass, centre, inertia in rods:
        place = origin + centre * np.array([np.cos(angle), np.sin(angle)])
        node = mbs.AddNode(NodeRigidBody2D(referenceCoordinates=[*place, angle]))
        body[name] = mbs.AddObject(ObjectRigidBody2D(mass=mass, inertia=inertia, nodeNumber=node))
        begin[name], end[name] = (
            mbs.AddMarker(MarkerBodyPosition(bodyNumber=body[name], localPosition=[x - centre, 0, 0]))
            for x in (0.0, length)
        )
        loaded = mbs.AddMarker(MarkerBodyMass(bodyNumber=body[name]))
        mbs.AddLoad(LoadMassProportional(markerNumber=loaded, loadVector=[0, -GRAVITY, 0]))
    at = {x: mbs.AddMarker(MarkerBodyPosition(bodyNumber=ground, localPosition=[x, 0, 0])) for x in (0.0, 1.0)}
    joints = [(at[0.0], begin["A1"]), (end["A1"], begin["12"]), (end["12"], begin["23"]), (end["23"], end["3B"])]
    for pair in [*joints, (at[1.0], begin["3B"])]:
        mbs.AddObject(ObjectJointRevolute2D(markerNumbers=list(pair)))
    for marker, natural in ((end["A1"], NATURAL[0]), (end["12"], NATURAL[1])):
        mbs.AddObject(
            ObjectConnectorSpringDamper(
                markerNumbers=[at[1.0], marker], referenceLength=natural, stiffness=STIFFNESS, damping=0.0
            )
        )
    sensor = mbs.AddSensor(
        SensorBody(
            bodyNumber=body["12"], localPosition=[LENGTH_12 / 2, 0, 0], storeInternal=True,
            outputVariableType=exu.OutputVariableType.Position,
        )
    )  # fmt: skip
    mbs.Assemble()
    return container, mbs, sensor


def main() -> None:
    time, expected = reference()
    interval = time[1] - time[0]
    _container, mbs, sensor = build(interval)  # which owns the system
    for every in (5, 10, 25, 50, 100, 250):
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = round(time[-1] / interval) * every
        settings.timeIntegration.endTime = float(time[-1])
        settings.timeIntegration.verboseMode = 0
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.solution.file.write = False
        settings.solution.sensors.writePeriod = float(interval)
        settings.solution.sensors.append = False

        def run(settings=settings) -> np.ndarray:
            mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.TrapezoidalIndex2)
            return np.array(mbs.GetSensorStoredData(sensor))[:, 1:3]

        report(f"trapezoidal index 2, step {interval / every:g} s", run, expected)


if __name__ == "__main__":
    main()
