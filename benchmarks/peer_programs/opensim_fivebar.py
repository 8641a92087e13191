"""OpenSim (Simbody): pin joints, the loop by a point constraint; Runge-Kutta-Merson with its error control.

Simbody projects positions and velocities onto the constraints by itself. Accuracy is the one setting of its
integrators; each row of results ends a step.
"""

import numpy as np
import opensim as osim
from common import ANGLES, CENTRE_A1, GRAVITY, LENGTH_3B, LENGTH_12, LENGTH_A1, NATURAL, STIFFNESS, reference, report


def model():
    """The five-bar, and its bar between points 1 and 2."""
    made, none = osim.Model(), osim.Vec3(0)
    made.setUseVisualizer(False)
    made.setGravity(osim.Vec3(0, -GRAVITY, 0))
    ground, bodies = made.getGround(), {}
    rods = (
        ("A1", None, 0.0, 1.0, CENTRE_A1, 1.0 / 6.0, ANGLES[0]),
        ("12", "A1", LENGTH_A1, 1.5, LENGTH_12 / 2, 1.5 * LENGTH_12**2 / 12, ANGLES[1] - ANGLES[0]),
        ("23", "12", LENGTH_12, 1.5, LENGTH_12 / 2, 1.5 * LENGTH_12**2 / 12, ANGLES[2] - ANGLES[1]),
        ("3B", None, 1.0, 1.0, LENGTH_3B / 2, LENGTH_3B**2 / 12, -0.25 * np.pi),
    )
    for name, parent, place, mass, centre, inertia, angle in rods:
        body = osim.Body(name, mass, osim.Vec3(centre, 0, 0), osim.Inertia(inertia, inertia, inertia))
        on = ground if parent is None else bodies[parent]
        joint = osim.PinJoint(f"j{name}", on, osim.Vec3(place, 0, 0), none, body, none, none)
        joint.updCoordinate().setDefaultValue(float(angle))
        made.addBody(body)
        made.addJoint(joint)
        bodies[name] = body
    for body, at, natural in (("A1", LENGTH_A1, NATURAL[0]), ("12", LENGTH_12, NATURAL[1])):
        made.addForce(
            osim.PointToPointSpring(
                ground, osim.Vec3(1, 0, 0), bodies[body], osim.Vec3(at, 0, 0), STIFFNESS, float(natural)
            )
        )
    made.addConstraint(
        osim.PointConstraint(bodies["23"], osim.Vec3(LENGTH_12, 0, 0), bodies["3B"], osim.Vec3(LENGTH_3B, 0, 0))
    )
    return made, bodies["12"]


def main() -> None:
    time, expected = reference()
    osim.Logger.setLevelString("Error")
    made, bar = model()
    start, tip = made.initSystem(), osim.Vec3(LENGTH_12, 0, 0)
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
                place = bar.findStationLocationInGround(state, tip)
                found.append((place[0], place[1]))
            return np.array(found)

        report(f"accuracy {tolerance:g}", run, expected)


if __name__ == "__main__":
    main()
