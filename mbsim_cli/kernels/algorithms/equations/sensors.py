"""Sensor values at an instant, and the energy balance."""

from mbsim_cli.kernels.algebra.rot3 import rotate, row9
from mbsim_cli.kernels.algebra.spatial import dot6, inertia_apply, motion_at, sub6
from mbsim_cli.kernels.algebra.vec3 import add3, cross3, dot3, load3, row3
from mbsim_cli.kernels.algorithms.equations.along_measures import along, does_work, energy_along, find_along
from mbsim_cli.kernels.algorithms.equations.armatures import armature_kinetic
from mbsim_cli.kernels.algorithms.equations.constraints import (
    coordinate_measure,
    coordinate_rates,
    measure_factors,
    measure_rates,
)
from mbsim_cli.kernels.algorithms.equations.forces import is_dead_load, measure_and_rate
from mbsim_cli.kernels.algorithms.equations.inverse_dynamics import inertia_at
from mbsim_cli.kernels.algorithms.equations.motion_forces import (
    bodies_of,
    find_motion_force,
    has_quantities,
    is_on_bodies,
    motion_wrench,
    quantities_of,
    quantity,
    vector_of,
)
from mbsim_cli.kernels.algorithms.flexible.elastic_energies import (
    elastic_kinetic,
    elastic_potential,
    elastic_power,
    elastic_strain,
)
from mbsim_cli.kernels.algorithms.motion.bodies import at_origin, no_motion, pose_of
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.elements.attitude import attitude
from mbsim_cli.kernels.elements.element import ENERGY, POWER
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.kernels.elements.measures import is_geometric, moved, point_of
from mbsim_cli.model.codes import Sensor
from mbsim_cli.model.layout import COM, GRAVITY, MASS


@kernel
def sense(model, theta, t, z, zd, zdd, multiplier, kin, out):
    """All sensors, out (width,). Needs V and A of the motion in ``kin``, and leaves there ``kin.kept``."""
    sensors = model.sensors
    for f in range(model.forces.kind.size):
        if is_on_bodies(model.forces.kind[f]):
            find_motion_force(model, theta, t, f, kin)
            for s in range(sensors.kind.size):
                if sensors.kind[s] == Sensor.TYRE and reads_part(sensors, s, f):
                    part = quantity(quantities_of(kin, f), sensors.order[s])
                    out[sensors.first[s]] = part if f == sensors.index[s] else out[sensors.first[s]] + part
    for s in range(sensors.kind.size):
        first = sensors.first[s]
        kind = sensors.kind[s]
        if reads_motion(kind):
            value = body_sensor(model, theta, read_kind(sensors, s), s, kin)
            if kind == Sensor.ALONG:
                out[first] = dot3(sensor_direction(model, theta, s, kin), value)
            else:
                for k in range(3):
                    out[first + k] = value[k]
        elif kind == Sensor.COORDINATE:
            c = sensors.index[s]
            out[first] = z[c] if sensors.order[s] == 0 else (zd[c] if sensors.order[s] == 1 else zdd[c])
        elif kind == Sensor.MEASURE:
            out[first] = measure_of_order(model, theta, sensors.index[s], sensors.order[s], z, zd, zdd, kin)
        elif kind == Sensor.FORCE:
            out[first] = _force_of(model, theta, t, sensors.index[s], z, zd, kin)
        elif kind == Sensor.MULTIPLIER:
            out[first] = multiplier[sensors.index[s]]
        elif kind == Sensor.KINETIC_ENERGY:
            out[first] = kinetic_energy(model, theta, z, zd, kin)
        elif kind == Sensor.POTENTIAL_ENERGY:
            out[first] = potential_energy(model, theta, z, kin)
        elif kind == Sensor.STRAIN_ENERGY:
            out[first] = elastic_strain(model, theta, sensors.index[s], z, kin)
        elif kind == Sensor.ATTITUDE:
            out[first] = _attitude_of(sensors, s, kin)
        elif kind == Sensor.FORCE_ON_BODY:
            force = force_on_body(model, sensors.index[s], kin)
            for part in range(1, 1 + max(sensors.body[s], 0)):
                force = add3(force, force_on_body(model, sensors.index[s] + part, kin))
            for k in range(3):
                out[first + k] = force[k]


@inlined
def reads_motion(kind):
    """Whether the sensor reads the motion of a body: a vector of it, or a component."""
    return (
        kind == Sensor.POSITION
        or kind == Sensor.VELOCITY
        or kind == Sensor.ACCELERATION
        or kind == Sensor.DIRECTION
        or kind == Sensor.ANGULAR_VELOCITY
        or kind == Sensor.ANGULAR_ACCELERATION
        or kind == Sensor.ALONG
    )


@inlined
def reads_part(sensors, s, f):
    """Whether a sensor of a force reads element f: that which it names, or one that belongs to it."""
    part = f - sensors.index[s]
    return part == 0 or 0 < part <= sensors.body[s]


@inlined
def is_sensed(sensors, f):
    """Whether a sensor reads the force f on bodies."""
    found = False
    for s in range(sensors.kind.size):
        of_force = sensors.kind[s] == Sensor.TYRE or sensors.kind[s] == Sensor.FORCE_ON_BODY
        found = found or (of_force and reads_part(sensors, s, f)) or sensors.kind[s] == Sensor.POTENTIAL_ENERGY
    return found


@inlined
def read_kind(sensors, s):
    """Sensor of a body's motion that is read; ALONG reads POSITION, VELOCITY or ACCELERATION by its order."""
    return sensors.order[s] if sensors.kind[s] == Sensor.ALONG else sensors.kind[s]


@inlined
def sensor_direction(model, theta, s, kin):
    """Direction of an ALONG sensor, global axes."""
    R, _ = pose_of(kin, model.sensors.index[s])
    return rotate(R, load3(theta, model.sensors.theta[s] + 3))


@inlined
def _attitude_of(sensors, s, kin):
    R, _ = pose_of(kin, sensors.body[s])
    V = motion_at(kin.V, sensors.body[s])
    still = no_motion(V)
    angle, rate, _, _ = attitude(sensors.index[s], R, V, still, still)
    return angle if sensors.order[s] == 0 else rate


@inlined
def body_sensor(model, theta, kind, s, kin):
    """Three components of a sensor of a body's motion, global axes."""
    b, o = model.sensors.body[s], model.sensors.theta[s]
    R, r = pose_of(kin, b)
    V = at_origin(kin.V, kin, b)
    if kind == Sensor.POSITION:
        return point_of(R, r, load3(theta, o))
    if kind == Sensor.VELOCITY:
        return moved(V, point_of(R, r, load3(theta, o)))
    if kind == Sensor.ACCELERATION:
        x = point_of(R, r, load3(theta, o))
        A = at_origin(kin.A, kin, b)
        return add3(add3(moved(A, x), load3(theta, GRAVITY)), cross3(V[0], moved(V, x)))
    if kind == Sensor.DIRECTION:
        return rotate(R, load3(theta, o))
    if kind == Sensor.ANGULAR_VELOCITY:
        return V[0]
    return at_origin(kin.A, kin, b)[0]


@inlined
def measure_of_order(model, theta, k, order, z, zd, zdd, kin):
    """g, g' or g'' of any measure."""
    measures = model.measures
    if not is_geometric(measures.kind[k]):
        if order == 0:
            return coordinate_measure(measures, theta, k, z)
        rate, second = coordinate_rates(measures, theta, k, z, zd, zdd)
        return rate if order == 1 else second
    factors = measure_factors(model, theta, k, kin)
    if order == 0:
        return factors[0]
    rate, second = measure_rates(model, theta, k, factors, kin)
    return rate if order == 1 else second


@inlined
def value_and_rate(model, theta, k, z, zd, kin):
    """g and g' of any measure."""
    if is_geometric(model.measures.kind[k]):
        g, g1, _ = measure_and_rate(model, theta, k, kin)
        return g, g1
    g = coordinate_measure(model.measures, theta, k, z)
    g1, _ = coordinate_rates(model.measures, theta, k, z, zd, zd)
    return g, g1


@inlined
def force_on_body(model, f, kin):
    """Force [N] that an element exerts on its second body, or torque [N m], global axes; needs ``kin.kept``."""
    return vector_of(model, f, motion_wrench(kin, f))


@inlined
def _force_of(model, theta, t, f, z, zd, kin):
    """Force of an element along its measure."""
    g, g1 = value_and_rate(model, theta, model.forces.measure[f], z, zd, kin)
    find_along(model, theta, t, f, g, g1, kin)
    Q, _, _ = along(model, theta, t, f, kin)
    return Q


@inlined
def kinetic_energy(model, theta, z, zd, kin):
    """Kinetic energy of all bodies."""
    total = 0.0 * kin.V[0, 0]
    for i in range(model.tree.parent.size):
        V = motion_at(kin.V, i)
        total += 0.5 * dot6(V, inertia_apply(inertia_at(kin.inertia, i), V))
    return total + armature_kinetic(model, theta, zd) + elastic_kinetic(model, theta, z, zd, kin)


@inlined
def center_of_mass(tree, theta, kin, i):
    """Global position of the centre of mass of body i."""
    return add3(row3(kin.r, i, 0), rotate(row9(kin.R, i), load3(theta, tree.theta[i] + COM)))


@kernel
def potential_energy(model, theta, z, kin):
    """Energy of weight, strain, springs, constant forces and deflected tyres; needs ``sense``."""
    total = 0.0 * kin.V[0, 0]
    g = load3(theta, GRAVITY)
    for i in range(model.tree.parent.size):
        total -= theta[model.tree.theta[i] + MASS] * dot3(g, center_of_mass(model.tree, theta, kin, i))
    for f in range(model.forces.kind.size):
        if does_work(model.forces, f):
            value, _ = value_and_rate(model, theta, model.forces.measure[f], z, z, kin)
            stored, _ = energy_along(model, theta, f, value)
            total += stored
        elif has_quantities(model.forces.kind[f]):
            total += quantities_of(kin, f)[ENERGY]
        elif is_dead_load(model, f):
            o = model.forces.theta[f]
            R, r = pose_of(kin, model.pairs.b[model.forces.pair[f]])
            total -= dot3(load3(theta, o + 3), point_of(R, r, load3(theta, o)))
    return total + elastic_potential(model, theta, z, kin)


@inlined
def other_power(model, theta, t, z, zd, multiplier, kin):
    """Power of all that has no potential: dampers, laws of time, applied and driving forces. Needs ``sense``."""
    total = 0.0 * kin.V[0, 0]
    for f in range(model.forces.kind.size):
        kind = model.forces.kind[f]
        if does_work(model.forces, f):
            g, g1 = value_and_rate(model, theta, model.forces.measure[f], z, zd, kin)
            _, by_g = energy_along(model, theta, f, g)
            find_along(model, theta, t, f, g, g1, kin)
            Q, _, _ = along(model, theta, t, f, kin)
            total += (Q + by_g) * g1
        elif is_on_bodies(kind) and not is_dead_load(model, f):
            a, b = bodies_of(model, f)
            total += dot6(sub6(at_origin(kin.V, kin, b), at_origin(kin.V, kin, a)), motion_wrench(kin, f))
            if has_quantities(kind):
                total += quantities_of(kin, f)[POWER]
    for i in range(model.constraints.measure.size):
        _, rate, _ = law_value(model.laws, theta, model.constraints.law[i], t)
        total -= multiplier[i] * rate
    return total + elastic_power(model, theta, zd, kin)
