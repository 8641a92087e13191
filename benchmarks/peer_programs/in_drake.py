"""Drake: loops are ball constraints, for its discrete solver SAP alone; chains by Runge-Kutta of order 3.

A discrete plant is of first order in its step. A continuous one has the error control of Drake's Simulator; its
accuracy is the one setting.
"""

import numpy as np
from common import GROUND, Mechanism, compare
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
from pydrake.multibody.tree import (
    BallRpyJoint,
    FixedOffsetFrame,
    LinearSpringDamper,
    RevoluteJoint,
    SpatialInertia,
    UnitInertia,
    UniversalJoint,
)
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator


def model(mechanism: Mechanism, step: float):
    """The mechanism at a time step, 0 of a continuous plant, with its start and the body that is compared."""
    plant = MultibodyPlant(time_step=step)
    if step:
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    plant.mutable_gravity_field().set_gravity_vector(mechanism.gravity)
    bodies, origins, joints = {GROUND: plant.world_body()}, {GROUND: np.zeros(3)}, []
    for b in mechanism.bodies:
        away, j = b.center - b.at, b.inertia / b.mass + shifted(b.center - b.at)
        inertia = SpatialInertia(b.mass, away, UnitInertia(*np.diag(j), j[0, 1], j[0, 2], j[1, 2]))
        bodies[b.name], origins[b.name] = plant.AddRigidBody(b.name, inertia), b.at
        joints.append(joint(plant, b, bodies, b.at - origins[b.parent]))
    for s in mechanism.springs:
        ends = bodies[s.a], s.from_a - origins[s.a], bodies[s.b], s.to_b - origins[s.b]
        plant.AddForceElement(LinearSpringDamper(*ends, s.free, s.stiffness, s.damping))
    for x in mechanism.loops:
        plant.AddBallConstraint(bodies[x.a], x.at - origins[x.a], bodies[x.b], x.at - origins[x.b])
    plant.Finalize()
    context, velocities = plant.CreateDefaultContext(), np.zeros(plant.num_velocities())
    for each, rates in zip(joints, mechanism.rates(), strict=True):
        first = each.velocity_start()
        velocities[first : first + len(rates)] = rates
    plant.SetVelocities(context, velocities)
    return plant, plant.GetPositionsAndVelocities(context), bodies[mechanism.seen[0]], origins[mechanism.seen[0]]


def shifted(r: np.ndarray) -> np.ndarray:
    """Inertia of a unit mass at r about the origin."""
    return r @ r * np.eye(3) - np.outer(r, r)


def joint(plant: MultibodyPlant, body, bodies: dict, place: np.ndarray):
    """The joint that carries a body."""
    name, carrier, carried = f"to_{body.name}", bodies[body.parent].body_frame(), bodies[body.name].body_frame()
    if len(body.axes) == 1:
        moved = plant.AddFrame(FixedOffsetFrame(f"{name}_a", carrier, RigidTransform(place)))
        return plant.AddJoint(RevoluteJoint(name, moved, carried, body.axes[0]))
    turned = RotationMatrix(np.column_stack([*body.axes[:2], np.cross(*body.axes[:2])]))
    first = plant.AddFrame(FixedOffsetFrame(f"{name}_a", carrier, RigidTransform(turned, place)))
    second = plant.AddFrame(FixedOffsetFrame(f"{name}_b", carried, RigidTransform(turned, np.zeros(3))))
    return plant.AddJoint((UniversalJoint if len(body.axes) == 2 else BallRpyJoint)(name, first, second))


def settings(mechanism: Mechanism, time: np.ndarray):
    """Series, setting and run of each."""
    interval, large = time[1] - time[0], len(mechanism.bodies) > 10

    def runs(step: float, accuracy: float):
        plant, start, body, origin = model(mechanism, step)
        seen = mechanism.seen[1] - origin

        def run() -> np.ndarray:
            simulator = Simulator(plant)
            context = simulator.get_mutable_context()
            plant.SetPositionsAndVelocities(context, start)
            if accuracy:
                ResetIntegratorFromFlags(simulator, "runge_kutta3", max_step_size=time[-1])
                simulator.get_mutable_integrator().set_target_accuracy(accuracy)
            simulator.Initialize()
            found = []
            for t in time:
                simulator.AdvanceTo(t)
                found.append(plant.EvalBodyPoseInWorld(context, body).multiply(seen))
            return np.array(found)

        return run

    if mechanism.loops:
        for every in (5, 20) if large else (10, 50, 250, 1000):
            yield "Drake, SAP", f"step {interval / every:g} s", runs(interval / every, 0.0)
    else:
        for accuracy in 10.0 ** -np.arange(2, 11, 2):
            yield "Drake, Runge-Kutta of order 3", f"accuracy {accuracy:g}", runs(0.0, accuracy)


if __name__ == "__main__":
    compare(settings)
