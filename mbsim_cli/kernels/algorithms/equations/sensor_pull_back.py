"""Pull-back of sensors: adjoints of what they read become adjoints of motion and numbers.

The transpose of ``sensors.vary_sensors``. Spatial vectors are about the global origin, where all bodies must have their
reference points.
"""

from mbsim_cli.kernels.algebra.spatial import (
    accumulate2,
    inertia_apply,
    inertia_at,
    motion_at,
    moved,
    scale6,
    shift_motion,
)
from mbsim_cli.kernels.algebra.vectors import (
    add3,
    add3_to,
    cross3,
    dot3,
    load3,
    load3_of,
    point_of,
    row9,
    scale3,
    unrotate,
)
from mbsim_cli.kernels.algorithms.equations import along_measures, constraints, forces_on_bodies
from mbsim_cli.kernels.algorithms.equations import sensors as values
from mbsim_cli.kernels.algorithms.equations.constraint_derivatives import pull_line_rates
from mbsim_cli.kernels.algorithms.equations.forces import is_dead_load
from mbsim_cli.kernels.algorithms.equations.tree_pull_back import pull_own_inertia
from mbsim_cli.kernels.algorithms.flexible import deforming_bodies
from mbsim_cli.kernels.algorithms.motion.about_origin import pose_of
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, largest, squares, width
from mbsim_cli.kernels.elements.columns import attitude_gradients
from mbsim_cli.kernels.elements.element import ENERGY
from mbsim_cli.kernels.elements.measures import line
from mbsim_cli.model.codes import Force, Sensor
from mbsim_cli.model.layout import COM, GRAVITY, MASS, NONE


@kernel
def pull_sensors(model, theta, t, motion, kin, hat, adj_out):
    """Add the pull-back of hat . sensors, hat (width, p); needs ``sense`` at the state."""
    sensors = model.sensors
    for s in range(sensors.kind.size):
        first, kind, index = sensors.first[s], sensors.kind[s], sensors.index[s]
        for g in range(0, adj_out.each.size, width(adj_out.each)):
            k = block(adj_out.each, g)
            c = at(hat, first, k)
            if not is_asked(hat, first, sensors.first[s + 1], k):
                continue
            if values.reads_motion(kind):
                if kind == Sensor.ALONG:
                    _pull_along(model, theta, s, k, c, kin, adj_out)
                else:
                    _pull_body_sensor(model, theta, kind, s, k, load3_of(hat, first, k), kin, adj_out)
            elif kind == Sensor.COORDINATE:
                if sensors.order[s] == 0:
                    add_to(adj_out.z, index, k, c)
                elif sensors.order[s] == 1:
                    add_to(adj_out.zd, index, k, c)
                else:
                    add_to(adj_out.zdd, index, k, c)
            elif kind == Sensor.MEASURE:
                pull_measure(model, theta, index, sensors.order[s], k, c, motion, kin, adj_out)
            elif kind == Sensor.FORCE:
                _pull_force(model, theta, t, index, k, c, motion, kin, adj_out)
            elif kind == Sensor.MULTIPLIER:
                add_to(adj_out.lam, index, k, c)
            elif kind == Sensor.KINETIC_ENERGY:
                _pull_kinetic_energy(model, theta, k, c, motion, kin, adj_out)
            elif kind == Sensor.POTENTIAL_ENERGY:
                _pull_potential_energy(model, theta, k, c, motion, kin, adj_out)
                deforming_bodies.pull_elastic_potential(model, theta, k, c, motion.z, kin, adj_out)
            elif kind == Sensor.STRAIN_ENERGY:
                deforming_bodies.pull_elastic_strain(model, theta, index, k, c, motion.z, adj_out)
            elif kind == Sensor.ATTITUDE:
                b = sensors.body[s]
                by_turn, rate_by_turn = attitude_gradients(index, pose_of(kin, b)[0], motion_at(kin.V, b))
                of_pose = by_turn if sensors.order[s] == 0 else rate_by_turn
                accumulate2(adj_out.P, b, k, 1.0, _turn(scale3(c, of_pose)))
                if sensors.order[s] != 0:
                    accumulate2(adj_out.D, b, k, 1.0, _turn(scale3(c, by_turn)))
    for f in range(model.forces.kind.size):
        if forces_on_bodies.is_on_bodies(model.forces.kind[f]) and values.is_sensed(sensors, f):
            for g in range(0, adj_out.each.size, width(adj_out.each)):
                _pull_quantities(model, theta, t, f, block(adj_out.each, g), hat, kin, adj_out)


@inlined
def is_asked(hat, first, last, k):
    """Whether a scalar reads a sensor; else its derivatives do not count, which may be undefined."""
    size = 0.0
    for r in range(first, last):
        size += largest(squares(at(hat, r, k)))
    return size != 0.0


@inlined
def _turn(n):
    """The adjoint of a turn."""
    return (n, scale3(0.0, n))


@kernel
def _pull_body_sensor(model, theta, kind, s, k, c, kin, adj_out):
    """Add the pull-back of adjoints c of the three components, global axes."""
    b, o = model.sensors.body[s], model.sensors.theta[s]
    R, r = pose_of(kin, b)
    V, A = motion_at(kin.V, b), motion_at(kin.A, b)
    if kind == Sensor.ANGULAR_VELOCITY:
        accumulate2(adj_out.P, b, k, 1.0, _turn(cross3(V[0], c)))
        accumulate2(adj_out.D, b, k, 1.0, _turn(c))
    elif kind == Sensor.ANGULAR_ACCELERATION:
        accumulate2(adj_out.P, b, k, 1.0, _turn(cross3(A[0], c)))
        accumulate2(adj_out.D, b, k, 1.0, _turn(cross3(V[0], c)))
        accumulate2(adj_out.H, b, k, 1.0, _turn(c))
    elif kind == Sensor.DIRECTION:
        accumulate2(adj_out.P, b, k, 1.0, _turn(cross3(values.body_sensor(model, theta, kind, s, kin), c)))
        add3_to(adj_out.theta, o, k, unrotate(R, c))
    elif kind == Sensor.ACCELERATION:
        _pull_acceleration(point_of(R, r, load3(theta, o)), b, o, k, c, kin, adj_out)
    else:
        x, none = point_of(R, r, load3(theta, o)), scale3(0.0, c)
        at_x, at_rate = (c, none) if kind == Sensor.POSITION else (none, c)
        turned = add3(cross3(x, at_x), cross3(moved(V, x), at_rate))
        accumulate2(adj_out.P, b, k, 1.0, (turned, at_x))
        accumulate2(adj_out.D, b, k, 1.0, (cross3(x, at_rate), at_rate))
        add3_to(adj_out.theta, o, k, unrotate(R, add3(at_x, cross3(at_rate, V[0]))))


@inlined
def _pull_acceleration(x, b, o, k, c, kin, adj_out):
    R, _ = pose_of(kin, b)
    V, A = motion_at(kin.V, b), motion_at(kin.A, b)  # A is less gravity, which pose and rates do not change
    rate = moved(V, x)
    second = add3(moved(A, x), cross3(V[0], rate))
    accumulate2(adj_out.P, b, k, 1.0, _turn(cross3(second, c)))
    accumulate2(adj_out.D, b, k, 1.0, _turn(scale3(2.0, cross3(rate, c))))
    accumulate2(adj_out.H, b, k, 1.0, (cross3(x, c), c))
    shift = add3(cross3(c, A[0]), cross3(cross3(c, V[0]), V[0]))
    add3_to(adj_out.theta, o, k, unrotate(R, shift))
    add3_to(adj_out.theta, GRAVITY, k, c)


@kernel
def _pull_along(model, theta, s, k, c, kin, adj_out):
    sensors, kind = model.sensors, values.read_kind(model.sensors, s)
    carrier = sensors.index[s]
    direction, value = values.sensor_direction(model, theta, s, kin), values.body_sensor(model, theta, kind, s, kin)
    R, _ = pose_of(kin, carrier)
    accumulate2(adj_out.P, carrier, k, 1.0, _turn(scale3(c, cross3(direction, value))))
    add3_to(adj_out.theta, sensors.theta[s] + 3, k, unrotate(R, scale3(c, value)))
    _pull_body_sensor(model, theta, kind, s, k, scale3(c, direction), kin, adj_out)


@kernel
def pull_measure(model, theta, m, order, k, c, motion, kin, adj_out):
    """Add the pull-back of an adjoint of g, g' or g'' of any measure."""
    measures, none = model.measures, 0.0 * c
    value, first, second = c if order == 0 else none, c if order == 1 else none, c if order == 2 else none
    if measures.pair[m] == NONE:
        constraints.pull_coordinate_measure(measures, theta, m, k, motion, value, first, second, adj_out)
    else:
        pair, factors = measures.pair[m], constraints.measure_factors(model, theta, m, kin)
        a, b = model.pairs.a[pair], model.pairs.b[pair]
        L = line(measures.kind[m], factors[1], factors[2])
        if order == 0:
            constraints.between(adj_out.P, a, b, k, c, L)
            constraints.pull_own(measures, model.pairs, theta, m, k, kin, c, scale6(none, L), adj_out.theta)
        else:
            L1, L2 = constraints.moving_line(model, theta, m, factors, kin)
            pull_line_rates(a, b, k, L, L1, L2, first, second, adj_out)
            constraints.pull_own_rates(measures, model.pairs, theta, m, k, kin, first, second, adj_out.theta)


@kernel
def _pull_force(model, theta, t, f, k, c, motion, kin, adj_out):
    m = model.forces.measure[f]
    _, by_g, by_g1 = along_measures.along(model, kin, f)
    pull_measure(model, theta, m, 0, k, by_g * c, motion, kin, adj_out)
    pull_measure(model, theta, m, 1, k, by_g1 * c, motion, kin, adj_out)
    along_measures.pull_along(model, theta, t, f, k, kin, c, adj_out.theta)
    along_measures.pull_to_signal(model, f, 0, k, c, adj_out)


@kernel
def _pull_kinetic_energy(model, theta, k, c, motion, kin, adj_out):
    """As N' . momentum and V . dI V / 2, of rotors a z' dz' and z' da z' / 2: the energy does not see the pose."""
    tree, armatures, zd = model.tree, model.armatures, motion.zd
    for i in range(tree.parent.size):
        V = motion_at(kin.V, i)
        accumulate2(adj_out.D, i, k, c, inertia_apply(inertia_at(kin.inertia, i), V))
        V = shift_motion(V, values.center_of_mass(tree, theta, kin, i))
        half = scale6(0.25 * c, V)  # a half of V . dI V / 2
        pull_own_inertia(theta, tree.theta[i], k, row9(kin.R, i), half, V, half, V, adj_out.theta)
    for i in range(armatures.coordinate.size):
        if armatures.stored[i]:
            j, o = armatures.coordinate[i], armatures.theta[i]
            add_to(adj_out.zd, j, k, theta[o] * zd[j] * c)
            add_to(adj_out.theta, o, k, 0.5 * zd[j] * zd[j] * c)
    deforming_bodies.pull_elastic_kinetic(model, theta, k, c, motion, kin, adj_out)


@kernel
def _pull_potential_energy(model, theta, k, c, motion, kin, adj_out):
    """Without that of tyres and contacts."""
    tree, forces, gravity = model.tree, model.forces, load3(theta, GRAVITY)
    for i in range(tree.parent.size):
        o, x = tree.theta[i], values.center_of_mass(tree, theta, kin, i)
        m = theta[o + MASS]
        add_to(adj_out.theta, o + MASS, k, -dot3(gravity, x) * c)
        add3_to(adj_out.theta, GRAVITY, k, scale3(c, scale3(-m, x)))
        _pull_place(i, o + COM, k, x, scale3(c, scale3(-m, gravity)), kin, adj_out)
    for f in range(forces.kind.size):
        o, m = forces.theta[f], forces.measure[f]
        if along_measures.does_work(forces, f):
            g, _ = values.value_and_rate(model, theta, m, motion, kin)
            _, by_g = along_measures.energy_along(model, theta, f, g)
            pull_measure(model, theta, m, 0, k, by_g * c, motion, kin, adj_out)
            along_measures.pull_energy_along(model, theta, f, k, g, c, adj_out.theta)
        elif is_dead_load(model, f):
            b = model.pairs.b[forces.pair[f]]
            R, r = pose_of(kin, b)
            F, x = load3(theta, o + 3), point_of(R, r, load3(theta, o))
            add3_to(adj_out.theta, o + 3, k, scale3(c, scale3(-1.0, x)))
            _pull_place(b, o, k, x, scale3(c, scale3(-1.0, F)), kin, adj_out)


@inlined
def _pull_place(b, o, k, x, hat, kin, adj_out):
    """From the adjoint of the place x of a body's point whose numbers stand at o."""
    R, _ = pose_of(kin, b)
    accumulate2(adj_out.P, b, k, 1.0, (cross3(x, hat), hat))
    add3_to(adj_out.theta, o, k, unrotate(R, hat))


@kernel
def _pull_quantities(model, theta, t, f, k, hat, kin, adj_out):
    """Of all sensors of the force f on bodies, at once."""
    sensors, zero, asked = model.sensors, 0.0 * at(hat, 0, k), False
    force, quantities = (zero, zero, zero), forces_on_bodies.no_quantities(zero)
    for s in range(sensors.kind.size):
        first, reads = sensors.first[s], values.reads_part(sensors, s, f)
        if not is_asked(hat, first, sensors.first[s + 1], k):
            continue
        if sensors.kind[s] == Sensor.TYRE and reads:
            quantities, asked = forces_on_bodies.with_quantity(quantities, sensors.order[s], at(hat, first, k)), True
        elif sensors.kind[s] == Sensor.FORCE_ON_BODY and reads:
            force, asked = add3(force, load3_of(hat, first, k)), True
        elif sensors.kind[s] == Sensor.POTENTIAL_ENERGY:
            quantities, asked = forces_on_bodies.with_quantity(quantities, ENERGY, at(hat, first, k)), True
    if asked:
        a, _ = forces_on_bodies.bodies_of(model, f)
        accumulate2(adj_out.P, a, k, 1.0, _turn(cross3(values.force_on_body(model, f, kin), force)))
        none = scale3(0.0, force)
        wrench = (force, none) if model.forces.kind[f] == Force.TORQUE else (none, force)  # as ``vector_of`` reads it
        forces_on_bodies.pull_force_on_bodies(model, theta, t, f, k, kin, wrench, quantities, adj_out)
