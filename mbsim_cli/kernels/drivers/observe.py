"""Sensors, energies and their sensitivities at stored time points, whatever computed the motion."""

from mbsim_cli.kernels.algebra.arrays import copy_to
from mbsim_cli.kernels.algebra.spatial import moved, store, store2
from mbsim_cli.kernels.algebra.vectors import add3, cross3, load3, load3_of, point_of, rotate, row3
from mbsim_cli.kernels.algorithms.equations.forces import expect_recorded, follow_angles, measure_and_rate
from mbsim_cli.kernels.algorithms.motion.about_origin import at_origin, at_origin2, column_at_origin, pose_of
from mbsim_cli.kernels.algorithms.motion.variation import vary_acceleration, vary_velocity
from mbsim_cli.kernels.algorithms.motion.workspace import LoadedMotion
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import entry, kernel
from mbsim_cli.kernels.compiler.simd import at, block, width
from mbsim_cli.kernels.drivers.record import recorded_motion
from mbsim_cli.kernels.elements.measures import vary_point
from mbsim_cli.model.layout import GRAVITY, GROUND


@entry
def observe(model, theta, at_center, directions, kin, tw, record, d_record):
    """Fill the rows of sensors, energies and, where there are directions, of the sensors' sensitivities."""
    observe_rows(model, theta, at_center, directions, kin, tw, record, d_record, 0, record.time.size)


@kernel
def observe_rows(model, theta, at_center, directions, kin, tw, record, d_record, first, last):
    """``observe`` for rows from first to last."""
    for row in range(first, last):
        t, state, force = record.time[row], recorded_motion(record, row), record.reaction[row]
        system.place(model, theta, state.z, at_center, kin)
        system.move_bodies(model, theta, state, kin)
        expect_recorded(record.expected, row, kin)
        system.read_sensors(model, theta, t, state, force, kin, record.sensors[row])
        system.energies(model, theta, t, state, force, kin, record.energy[row])
        if directions.dtheta.shape[1] > 0:
            dz, dzd, dzdd = d_record.position[row], d_record.velocity[row], d_record.acceleration[row]
            sens = LoadedMotion(dz, dzd, dzdd, d_record.reaction[row])
            system.move_columns(model, theta, state, kin)
            system.vary_bodies_of(model, theta, directions, state, kin, sens, tw)
            system.vary_readings(model, theta, directions, t, state, sens, kin, tw, d_record.sensors[row])


@entry
def follow_rows(model, theta, kin, turns, record):
    """Fill the rows of expected angles, from ``turns`` on; between rows they change by the mean of their rates."""
    for row in range(record.time.size):
        half = 0.5 * (record.time[row] - turns.time[0])
        system.place(model, theta, record.position[row], True, kin)
        system.move_bodies(model, theta, recorded_motion(record, row), kin)
        for j in range(turns.measure.size):
            m = turns.measure[j]
            _, rate, _ = measure_and_rate(model, theta, m, kin)
            kin.expected[m] = turns.value[j] + half * (turns.rate[j] + rate.real)
        follow_angles(model, theta, kin, turns)
        turns.time[0] = record.time[row]
        copy_to(kin.expected, record.expected[row])


# Places of bodies -----------------------------------------------------------------------------------------------------
#
# Motion of places on rigid bodies at a time point that is evaluated, and its variations in p directions.


@entry
def move_places(tree, theta, kin, body, local, pose_out, motion_out, jacobian_out):
    """Position and R by rows (k, 12) of places ``local`` (k, 3) on bodies (k,); velocity, angular velocity and both
    accelerations (k, 12); velocity and angular velocity by the rates of coordinates (k, 6, n), zero where it is zero.
    """
    gravity = load3(theta, GRAVITY)
    for i in range(body.size):
        b = body[i]
        R, r = pose_of(kin, b)
        x = point_of(R, r, row3(local, i, 0))
        pose_out[i, 0], pose_out[i, 1], pose_out[i, 2] = x
        for j in range(9):
            pose_out[i, 3 + j] = kin.R[b, j]
        V, A = at_origin(kin.V, kin, b), at_origin(kin.A, kin, b)
        rate = moved(V, x)
        second = add3(add3(moved(A, x), gravity), cross3(V[0], rate))
        store(motion_out, i, (rate, V[0]))
        store(motion_out, i, (second, A[0]), 6)
        while b != GROUND:
            for c in range(tree.first_column[b], tree.first_column[b + 1]):
                S = column_at_origin(kin.S, tree, kin, c)
                u, w = moved(S, x), S[0]
                jacobian_out[i, 0, c], jacobian_out[i, 1, c], jacobian_out[i, 2, c] = u
                jacobian_out[i, 3, c], jacobian_out[i, 4, c], jacobian_out[i, 5, c] = w
            b = tree.parent[b]


@entry
def vary_places(dtheta, kin, tw, body, local, d_local, d_pose_out, d_velocity_out, d_acceleration_out):
    """Variations (k, 6, p) of position and rotation, of velocities, and of accelerations; d_local (k, 3, p)."""
    for i in range(body.size):
        b = body[i]
        R, r = pose_of(kin, b)
        x = point_of(R, r, row3(local, i, 0))
        V, A = at_origin(kin.V, kin, b), at_origin(kin.A, kin, b)
        for g in range(0, dtheta.shape[1], width(dtheta)):
            k = block(dtheta, g)
            N, N1 = at_origin2(tw.N, kin, b, k), at_origin2(tw.N1, kin, b, k)
            own = rotate(R, (at(d_local, i, 0, k), at(d_local, i, 1, k), at(d_local, i, 2, k)))
            point = vary_point(x, V, N, N1, own)
            dV = vary_velocity(V, N, N1)
            dA = vary_acceleration(V, A, N, N1, at_origin2(tw.N2, kin, b, k))
            second = add3(add3(dA[1], cross3(dA[0], x)), cross3(A[0], point.delta))
            second = add3(second, add3(cross3(dV[0], point.rate), cross3(V[0], point.delta_rate)))
            store2(d_pose_out, i, k, (point.delta, N[0]))
            store2(d_velocity_out, i, k, (point.delta_rate, dV[0]))
            store2(d_acceleration_out, i, k, (add3(second, load3_of(dtheta, GRAVITY, k)), dA[0]))
