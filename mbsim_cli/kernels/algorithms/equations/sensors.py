"""Sensor values at a time point, and the energy balance."""

from mbsim_cli.kernels.algebra.spatial import (
    dot6,
    inertia_apply,
    inertia_at,
    motion_at,
    motion_at2,
    moved,
    scale6,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import add3, add3_to, cross3, dot3, load3, load3_of, point_of, rotate, row3, row9
from mbsim_cli.kernels.algorithms.equations import along_measures, constraints, forces_on_bodies
from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import (
    vary_coordinate_measure,
    vary_geometric_measure,
)
from mbsim_cli.kernels.algorithms.equations.forces import is_dead_load, measure_and_rate
from mbsim_cli.kernels.algorithms.equations.residual_variation import inertia_variation
from mbsim_cli.kernels.algorithms.flexible import deforming_bodies
from mbsim_cli.kernels.algorithms.motion.about_origin import at_origin, at_origin2, between2, pose_of
from mbsim_cli.kernels.algorithms.motion.variation import vary_acceleration, vary_velocity
from mbsim_cli.kernels.algorithms.motion.workspace import motion_alone
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, put, width
from mbsim_cli.kernels.elements.columns import attitude
from mbsim_cli.kernels.elements.element import ENERGY, POWER
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.kernels.elements.measures import vary_direction, vary_point
from mbsim_cli.model.codes import Sensor
from mbsim_cli.model.layout import COM, GRAVITY, MASS, NONE


@kernel
def sense(model, theta, t, motion, multiplier, kin, out):
    """All sensors, out (width,). Needs V and A of the motion in ``kin``, and leaves there ``kin.forces``."""
    sensors = model.sensors
    for f in range(model.forces.kind.size):
        if forces_on_bodies.is_on_bodies(model.forces.kind[f]):
            forces_on_bodies.find_force_on_bodies(model, theta, t, f, kin)
            for s in range(sensors.kind.size):
                if sensors.kind[s] == Sensor.TYRE and reads_part(sensors, s, f):
                    part = forces_on_bodies.quantity(forces_on_bodies.quantities_of(kin, f), sensors.order[s])
                    out[sensors.first[s]] = part if f == sensors.index[s] else out[sensors.first[s]] + part
    for s in range(sensors.kind.size):
        first = sensors.first[s]
        kind = sensors.kind[s]
        if reads_motion(kind):
            value = body_sensor(model, theta, read_kind(sensors, s), s, kin)
            if kind == Sensor.ALONG:
                out[first] = dot3(sensor_direction(model, theta, s, kin), value)
            else:
                for j in range(3):
                    out[first + j] = value[j]
        elif kind == Sensor.COORDINATE:
            c = sensors.index[s]
            rate = motion.zd[c] if sensors.order[s] == 1 else motion.zdd[c]
            out[first] = motion.z[c] if sensors.order[s] == 0 else rate
        elif kind == Sensor.MEASURE:
            out[first] = measure_of_order(model, theta, sensors.index[s], sensors.order[s], motion, kin)
        elif kind == Sensor.FORCE:
            f = sensors.index[s]
            g, g1 = value_and_rate(model, theta, model.forces.measure[f], motion, kin)
            along_measures.find_along(model, theta, t, f, g, g1, kin)
            out[first], _, _ = along_measures.along(model, kin, f)
        elif kind == Sensor.MULTIPLIER:
            out[first] = multiplier[sensors.index[s]]
        elif kind == Sensor.KINETIC_ENERGY:
            out[first] = kinetic_energy(model, theta, motion, kin)
        elif kind == Sensor.POTENTIAL_ENERGY:
            out[first] = potential_energy(model, theta, motion, kin)
        elif kind == Sensor.STRAIN_ENERGY:
            out[first] = deforming_bodies.elastic_strain(model, theta, sensors.index[s], motion.z)
        elif kind == Sensor.ATTITUDE:
            b = sensors.body[s]
            V = motion_at(kin.V, b)
            still = scale6(0.0, V)
            angle, rate, _, _ = attitude(sensors.index[s], pose_of(kin, b)[0], V, still, still)
            out[first] = angle if sensors.order[s] == 0 else rate
        elif kind == Sensor.FORCE_ON_BODY:
            force = force_on_body(model, sensors.index[s], kin)
            for part in range(1, 1 + max(sensors.body[s], 0)):
                force = add3(force, force_on_body(model, sensors.index[s] + part, kin))
            for j in range(3):
                out[first + j] = force[j]


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
def measure_of_order(model, theta, m, order, motion, kin):
    """g, g' or g'' of any measure."""
    measures = model.measures
    if measures.pair[m] == NONE:
        if order == 0:
            return constraints.coordinate_measure(measures, theta, m, motion.z)
        rate, second = constraints.coordinate_rates(measures, theta, m, motion)
        return rate if order == 1 else second
    factors = constraints.measure_factors(model, theta, m, kin)
    if order == 0:
        return factors[0]
    rate, second = constraints.measure_rates(model, theta, m, factors, kin)
    return rate if order == 1 else second


@inlined
def value_and_rate(model, theta, m, motion, kin):
    """g and g' of any measure."""
    if model.measures.pair[m] != NONE:
        g, g1, _ = measure_and_rate(model, theta, m, kin)
        return g, g1
    g = constraints.coordinate_measure(model.measures, theta, m, motion.z)
    g1, _ = constraints.coordinate_rates(model.measures, theta, m, motion)
    return g, g1


@inlined
def force_on_body(model, f, kin):
    """Force [N] that an element exerts on its second body, or torque [N m], global axes; needs ``kin.forces``."""
    return forces_on_bodies.vector_of(model, f, forces_on_bodies.wrench_on_bodies(kin, f))


@inlined
def kinetic_energy(model, theta, motion, kin):
    """Kinetic energy of all bodies and rotors; states have none."""
    total, of_rotors = 0.0 * kin.V[0, 0], 0.0 * theta[0]  # added once, behind those of bodies
    for i in range(model.tree.parent.size):
        V = motion_at(kin.V, i)
        total += 0.5 * dot6(V, inertia_apply(inertia_at(kin.inertia, i), V))
    for i in range(model.armatures.coordinate.size):
        if model.armatures.stored[i]:
            rate = motion.zd[model.armatures.coordinate[i]]
            of_rotors += 0.5 * theta[model.armatures.theta[i]] * rate * rate
    return total + of_rotors + deforming_bodies.elastic_kinetic(model, theta, motion, kin)


@inlined
def center_of_mass(tree, theta, kin, i):
    """Global position of the centre of mass of body i."""
    return add3(row3(kin.r, i, 0), rotate(row9(kin.R, i), load3(theta, tree.theta[i] + COM)))


@kernel
def potential_energy(model, theta, motion, kin):
    """Energy of weight, strain, springs, constant forces and deflected tyres; needs ``sense``."""
    total = 0.0 * kin.V[0, 0]
    g = load3(theta, GRAVITY)
    for i in range(model.tree.parent.size):
        total -= theta[model.tree.theta[i] + MASS] * dot3(g, center_of_mass(model.tree, theta, kin, i))
    for f in range(model.forces.kind.size):
        if along_measures.does_work(model.forces, f):
            value = measure_of_order(model, theta, model.forces.measure[f], 0, motion, kin)
            stored, _ = along_measures.energy_along(model, theta, f, value)
            total += stored
        elif forces_on_bodies.has_quantities(model.forces.kind[f]):
            total += forces_on_bodies.quantities_of(kin, f)[ENERGY]
        elif is_dead_load(model, f):
            o = model.forces.theta[f]
            R, r = pose_of(kin, model.pairs.b[model.forces.pair[f]])
            total -= dot3(load3(theta, o + 3), point_of(R, r, load3(theta, o)))
    return total + deforming_bodies.elastic_potential(model, theta, motion.z, kin)


@inlined
def other_power(model, theta, t, motion, multiplier, kin):
    """Power of all that has no potential: dampers, laws of time, applied and driving forces. Needs ``sense``."""
    total = 0.0 * kin.V[0, 0]
    for f in range(model.forces.kind.size):
        kind = model.forces.kind[f]
        if along_measures.does_work(model.forces, f):
            g, g1 = value_and_rate(model, theta, model.forces.measure[f], motion, kin)
            _, by_g = along_measures.energy_along(model, theta, f, g)
            along_measures.find_along(model, theta, t, f, g, g1, kin)
            Q, _, _ = along_measures.along(model, kin, f)
            total += (Q + by_g) * g1
        elif forces_on_bodies.is_on_bodies(kind) and not is_dead_load(model, f):
            a, b = forces_on_bodies.bodies_of(model, f)
            total += dot6(
                sub6(at_origin(kin.V, kin, b), at_origin(kin.V, kin, a)), forces_on_bodies.wrench_on_bodies(kin, f)
            )
            if forces_on_bodies.has_quantities(kind):
                total += forces_on_bodies.quantities_of(kin, f)[POWER]
    for i in range(model.constraints.measure.size):
        _, rate, _ = law_value(model.laws, theta, model.constraints.law[i], t)
        total -= multiplier[i] * rate
    return total + deforming_bodies.elastic_power(model, theta, motion.zd, kin)


# Variations -----------------------------------------------------------------------------------------------------------


@kernel
def vary_sensors(model, theta, directions, t, motion, sens, kin, tw, out):
    """Fill out (width, p) from dz, dzd, dzdd, dlambda in ``sens`` and the twists of the same; needs ``sense``."""
    for s in range(model.sensors.kind.size):
        for g in range(0, out.shape[1], width(out)):
            _vary_sensor(model, theta, directions, t, s, g, motion, sens, kin, tw, out)
    _vary_quantities(model, theta, directions.dtheta, t, kin, tw, out)


@inlined
def _vary_sensor(model, theta, directions, t, s, g, motion, sens, kin, tw, out):
    """Variation of sensor s in the directions from g on; of forces on bodies see ``_vary_quantities``."""
    dtheta = directions.dtheta
    sensors, k = model.sensors, block(out, g)
    first, kind = sensors.first[s], sensors.kind[s]
    if reads_motion(kind):
        value = _vary_body_sensor(model, theta, dtheta, read_kind(sensors, s), s, k, kin, tw)
        if kind == Sensor.ALONG:
            put(out, first, k, _vary_along(model, theta, dtheta, s, k, value, kin, tw))
        else:
            _put3(out, first, k, value)
    elif kind == Sensor.COORDINATE:
        order = sensors.order[s]
        rows = sens.z if order == 0 else (sens.zd if order == 1 else sens.zdd)
        put(out, first, k, at(rows, sensors.index[s], k))
    elif kind == Sensor.MEASURE:
        m, order = sensors.index[s], sensors.order[s]
        value = vary_any_measure(model, theta, directions, m, g, k, motion, sens, kin, tw, order)
        put(out, first, k, value)
    elif kind == Sensor.FORCE:
        value = _vary_force(model, theta, directions, t, sensors.index[s], g, k, motion, sens, kin, tw)
        put(out, first, k, value)
    elif kind == Sensor.MULTIPLIER:
        put(out, first, k, at(sens.lam, sensors.index[s], k))
    elif kind == Sensor.KINETIC_ENERGY:
        put(out, first, k, _vary_kinetic_energy(model, theta, directions, g, k, motion, sens, kin, tw))
    elif kind == Sensor.POTENTIAL_ENERGY:
        value = _vary_potential_energy(model, theta, directions, g, k, motion, sens, kin, tw)
        value += deforming_bodies.vary_elastic_potential(model, theta, directions, g, k, motion.z, sens, kin, tw)
        put(out, first, k, value)
    elif kind == Sensor.STRAIN_ENERGY:
        value = deforming_bodies.vary_elastic_strain(model, theta, directions, sensors.index[s], g, k, motion.z, sens)
        put(out, first, k, value)
    elif kind == Sensor.ATTITUDE:
        b = sensors.body[s]
        R, V, N, N1 = pose_of(kin, b)[0], motion_at(kin.V, b), motion_at2(tw.N, b, k), motion_at2(tw.N1, b, k)
        _, _, delta, delta_rate = attitude(sensors.index[s], R, V, N, N1)
        put(out, first, k, delta if sensors.order[s] == 0 else delta_rate)


@inlined
def _vary_quantities(model, theta, dtheta, t, kin, tw, out):
    """Variation of sensors of forces on bodies, each of which is varied once, and of the energy that they store."""
    sensors = model.sensors
    for f in range(model.forces.kind.size):
        if forces_on_bodies.is_on_bodies(model.forces.kind[f]) and is_sensed(sensors, f):
            a, b = forces_on_bodies.bodies_of(model, f)
            for g in range(0, out.shape[1], width(out)):
                k = block(out, g)
                N, N1 = between2(tw.N, kin, a, b, k), between2(tw.N1, kin, a, b, k)
                wrench, quantities = forces_on_bodies.vary_with_quantities(
                    model, theta, dtheta, t, f, k, kin, tw, N, N1
                )
                turned = cross3(motion_at2(tw.N, a, k)[0], force_on_body(model, f, kin))
                for s in range(sensors.kind.size):
                    first, further = sensors.first[s], f != sensors.index[s]
                    if sensors.kind[s] == Sensor.TYRE and reads_part(sensors, s, f):
                        change = forces_on_bodies.quantity(quantities, sensors.order[s])
                        if further:
                            add_to(out, first, k, change)
                        else:
                            put(out, first, k, change)
                    elif sensors.kind[s] == Sensor.FORCE_ON_BODY and reads_part(sensors, s, f):
                        change3 = add3(forces_on_bodies.vector_of(model, f, wrench), turned)
                        if further:
                            add3_to(out, first, k, change3)
                        else:
                            _put3(out, first, k, change3)
                    elif sensors.kind[s] == Sensor.POTENTIAL_ENERGY:
                        add_to(out, first, k, quantities[ENERGY])


@inlined
def _put3(out, first, k, value):
    put(out, first, k, value[0])
    put(out, first + 1, k, value[1])
    put(out, first + 2, k, value[2])


@inlined
def _vary_along(model, theta, dtheta, s, k, d_value, kin, tw):
    """Variation of a component, from that of the vector ``d_value``."""
    R, _ = pose_of(kin, model.sensors.index[s])
    direction = sensor_direction(model, theta, s, kin)
    turned = cross3(motion_at2(tw.N, model.sensors.index[s], k)[0], direction)
    d_direction = add3(turned, rotate(R, load3_of(dtheta, model.sensors.theta[s] + 3, k)))
    value = body_sensor(model, theta, read_kind(model.sensors, s), s, kin)
    return dot3(d_direction, value) + dot3(direction, d_value)


@inlined
def _vary_body_sensor(model, theta, dtheta, kind, s, k, kin, tw):
    b, o = model.sensors.body[s], model.sensors.theta[s]
    R, r = pose_of(kin, b)
    V = at_origin(kin.V, kin, b)
    N, N1 = at_origin2(tw.N, kin, b, k), at_origin2(tw.N1, kin, b, k)
    local = load3(theta, o)
    if kind == Sensor.DIRECTION:
        return vary_direction(rotate(R, local), V, N, N1, rotate(R, load3_of(dtheta, o, k))).delta
    dV = vary_velocity(V, N, N1)
    if kind == Sensor.ANGULAR_VELOCITY:
        return dV[0]
    A = at_origin(kin.A, kin, b)
    dA = vary_acceleration(V, A, N, N1, at_origin2(tw.N2, kin, b, k))
    if kind == Sensor.ANGULAR_ACCELERATION:
        return dA[0]
    x = vary_point(point_of(R, r, local), V, N, N1, rotate(R, load3_of(dtheta, o, k)))
    if kind == Sensor.POSITION:
        return x.delta
    if kind == Sensor.VELOCITY:
        return x.delta_rate
    second = add3(add3(dA[1], cross3(dA[0], x.x)), cross3(A[0], x.delta))
    second = add3(second, add3(cross3(dV[0], x.rate), cross3(V[0], x.delta_rate)))
    return add3(second, load3_of(dtheta, GRAVITY, k))


@inlined
def vary_any_measure(model, theta, directions, m, g, k, motion, sens, kin, tw, order):
    """Variation k, the block at g, of the value, first or second derivative of any measure."""
    if model.measures.pair[m] != NONE:
        return vary_geometric_measure(model, theta, directions, m, g, k, kin, tw, order)
    return vary_coordinate_measure(model.measures, theta, directions.dtheta, m, k, motion, motion_alone(sens), order)


@inlined
def _vary_force(model, theta, directions, t, f, start, k, motion, sens, kin, tw):
    m = model.forces.measure[f]
    _, by_g, by_g1 = along_measures.along(model, kin, f)
    dg = vary_any_measure(model, theta, directions, m, start, k, motion, sens, kin, tw, 0)
    dg1 = vary_any_measure(model, theta, directions, m, start, k, motion, sens, kin, tw, 1)
    own = along_measures.own_along(model, theta, directions.dtheta, t, f, k, kin)
    return along_measures.with_signal_variation(model, tw, f, 0, k, by_g * dg + by_g1 * dg1 + own)


@inlined
def _vary_kinetic_energy(model, theta, directions, g, k, motion, sens, kin, tw):
    """N' . momentum and the bodies' own inertia, and likewise of rotors: the energy does not see the pose."""
    dtheta, touch, tree, armatures, zd = directions.dtheta, directions.touch, model.tree, model.armatures, motion.zd
    total = 0.0 * at(dtheta, 0, k)
    of_rotors = total
    for i in range(tree.parent.size):
        V = motion_at(kin.V, i)
        total += dot6(motion_at2(tw.N1, i, k), inertia_apply(inertia_at(kin.inertia, i), V))
        if touch.inertia[i, g]:
            total += 0.5 * dot6(V, inertia_apply(inertia_variation(tree, theta, dtheta, k, kin, i), V))
    for i in range(armatures.coordinate.size):
        if armatures.stored[i]:
            c, o = armatures.coordinate[i], armatures.theta[i]
            of_rotors += 0.5 * zd[c] * zd[c] * at(dtheta, o, k) + theta[o] * zd[c] * at(sens.zd, c, k)
    return (
        total + of_rotors + deforming_bodies.vary_elastic_kinetic(model, theta, directions, g, k, motion, sens, kin, tw)
    )


@inlined
def _vary_potential_energy(model, theta, directions, start, k, motion, sens, kin, tw):
    dtheta = directions.dtheta
    total = 0.0 * at(dtheta, 0, k)
    tree = model.tree
    gravity, d_gravity = load3(theta, GRAVITY), load3_of(dtheta, GRAVITY, k)
    for i in range(tree.parent.size):
        o = tree.theta[i]
        x = center_of_mass(tree, theta, kin, i)
        R, _ = pose_of(kin, i)
        N = at_origin2(tw.N, kin, i, k)
        dx = add3(add3(N[1], cross3(N[0], x)), rotate(R, load3_of(dtheta, o + COM, k)))
        m = theta[o + MASS]
        total -= at(dtheta, o + MASS, k) * dot3(gravity, x) + m * (dot3(d_gravity, x) + dot3(gravity, dx))
    for f in range(model.forces.kind.size):
        o, m = model.forces.theta[f], model.forces.measure[f]
        if along_measures.does_work(model.forces, f):
            g, _ = value_and_rate(model, theta, m, motion, kin)
            _, by_g = along_measures.energy_along(model, theta, f, g)
            dg = vary_any_measure(model, theta, directions, m, start, k, motion, sens, kin, tw, 0)
            total += by_g * dg + along_measures.energy_own_along(model, theta, dtheta, f, k, g)
        elif is_dead_load(model, f):
            b = model.pairs.b[model.forces.pair[f]]
            R, r = pose_of(kin, b)
            N = at_origin2(tw.N, kin, b, k)
            F, x = load3(theta, o + 3), point_of(R, r, load3(theta, o))
            dx = add3(add3(N[1], cross3(N[0], x)), rotate(R, load3_of(dtheta, o, k)))
            total -= dot3(load3_of(dtheta, o + 3, k), x) + dot3(F, dx)
    return total
