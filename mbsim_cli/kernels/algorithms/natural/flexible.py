"""Bodies that deform in natural coordinates: frames with linear maps, and what their inertia does on coordinates.

The wrench of such a body acts on its frame like that of a force element (``flexible.bodies``): it works on the origin
and on the columns of R. M is not constant, as it turns with the frame and changes with the shape. Derivation:
docs/theory/natural_coordinates.md.
"""

from mbsim_cli.kernels.algebra.spatial import (
    add6,
    cross_motion,
    dot6,
    motion_at,
    motion_at2,
    scale6,
    shift_motion,
    store,
    sub6,
)
from mbsim_cli.kernels.algebra.vectors import add3, axpy3, cross3, load3, row3, scale3, sub3, unrotate
from mbsim_cli.kernels.algorithms.flexible.bodies import (
    changed_row,
    changed_wrench,
    elastic_count,
    frame_of,
    resting_force,
    seen_change,
    take_at_rest,
    to_origin,
    vary_resting_force,
    wrench_column,
)
from mbsim_cli.kernels.algorithms.motion.kinematics import apply_to_body, apply_to_body2, pose_of
from mbsim_cli.kernels.algorithms.natural.bodies import (
    POSE,
    columns_in,
    columns_of,
    half_turn,
    moved_by,
    store_pose,
    twist_of,
)
from mbsim_cli.kernels.algorithms.natural.variation import columns2, triple2, vary_linear
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import block, width
from mbsim_cli.kernels.elements.flexible import flexible_slopes, flexible_tangent


@inlined
def _own(tree, i, j):
    """Offset of what the j-th coordinate of body i moves it by."""
    return tree.pose[i] + POSE * (1 + j)


@inlined
def _place_twists(tree, theta, i, kin, out):
    """Twists (k, 6) of the k coordinates of body i."""
    for j in range(tree.first[i + 1] - tree.first[i]):
        o = _own(tree, i, j)
        a, b, c = columns_in(theta, o)
        store(out, j, twist_of(kin.pose, i, load3(theta, o), a, b, c))


@kernel
def add_natural_elastic_mass(tree, theta, kin, comp, M_out):
    """Add to M (n, n) the inertia of bodies that deform; needs ``flexible_forces`` or ``flexible_shape``."""
    for f in range(tree.flexible.size):
        i, (R, r) = tree.flexible[f], pose_of(kin, tree.flexible[f])
        still = scale3(0.0, r)
        flexible_tangent(tree, theta, f, 0.0, 0.0, still, kin.elastic, comp.D)
        _place_twists(tree, theta, i, kin, comp.moves)
        for j in range(tree.first[i + 1] - tree.first[i]):
            S = shift_motion(motion_at(comp.moves, j), r)
            _add_column(tree, f, j, R, r, unrotate(R, S[0]), unrotate(R, S[1]), still, comp, M_out)
        _elastic_columns(tree, f, R, r, comp, M_out)


@kernel
def clear_elastic_mass(tree, M_out):
    """Clear those entries of M (n, n) that ``add_natural_elastic_mass`` adds to."""
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        for j in range(tree.first[i], tree.first[i + 1]):
            for l in range(tree.first[i], tree.first[i + 1]):
                M_out[tree.column[l], tree.column[j]] = 0.0
            for c in range(tree.elastic[f], tree.elastic[f + 1]):
                M_out[tree.column[j], c] = 0.0
                M_out[c, tree.column[j]] = 0.0
        for c in range(tree.elastic[f], tree.elastic[f + 1]):
            for d in range(tree.elastic[f], tree.elastic[f + 1]):
                M_out[c, d] = 0.0


@kernel
def add_natural_elastic_tangent(tree, theta, beta, gamma, state, kin, comp, T_out):
    """Add to T (n, n) what bodies that deform feel of their motion; needs ``flexible_forces``.

    What carrying their forces along does is part of ``natural.tangent``.
    """
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        R, r, w, v, alpha, a = frame_of(tree, kin, f)
        flexible_slopes(tree, theta, f, w, alpha, a, state.zd, state.zdd, kin.elastic, True)
        flexible_tangent(tree, theta, f, beta, gamma, w, kin.elastic, comp.D)
        _place_twists(tree, theta, i, kin, comp.moves)
        for j in range(tree.first[i + 1] - tree.first[i]):
            N1, N2 = _changes(theta, _own(tree, i, j), i, beta, gamma, motion_at(comp.moves, j), kin)
            dw, dalpha, da = seen_change(R, r, w, v, N1, N2)
            _add_column(tree, f, j, R, r, dalpha, da, dw, comp, T_out)
        _elastic_columns(tree, f, R, r, comp, T_out)


@inlined
def _changes(theta, o, i, beta, gamma, S, kin):
    """N', N'' of body i as a coordinate with the twist S moves by gamma, its rate by beta, its acceleration by one."""
    dr, L, V, A = load3(theta, o), columns_in(theta, o), motion_at(kin.V, i), motion_at(kin.A, i)
    r, r1, R = row3(kin.pose, i, 0), row3(kin.rate, i, 0), columns_of(kin.pose, i)
    own, N = half_turn(R, L), scale6(gamma, S)
    dw = axpy3(gamma, half_turn(L, columns_of(kin.rate, i)), scale3(beta, own))
    dv = sub3(sub3(scale3(beta, dr), cross3(dw, r)), scale3(gamma, cross3(V[0], dr)))
    N1 = sub6((dw, dv), cross_motion(N, V))
    turned = axpy3(gamma, half_turn(L, columns_of(kin.second, i)), own)
    moved = sub3(sub3(dr, cross3(turned, r)), scale3(gamma, cross3(A[0], dr)))
    moved = sub3(sub3(moved, cross3(dw, r1)), scale3(beta, cross3(V[0], dr)))
    return N1, sub6((turned, moved), add6(cross_motion(N1, V), cross_motion(N, A)))


@inlined
def _add_column(tree, f, j, R, r, dalpha, da, dw, comp, T_out):
    """Add the column of the j-th coordinate of the frame of body f, which changes its motion by dalpha, da, dw."""
    i, c = tree.flexible[f], tree.elastic[f]
    column, wrench = tree.column[tree.first[i] + j], to_origin(R, r, changed_wrench(comp.D, dalpha, da, dw))
    for l in range(tree.first[i + 1] - tree.first[i]):
        T_out[tree.column[tree.first[i] + l], column] += dot6(motion_at(comp.moves, l), wrench)
    for l in range(elastic_count(tree, f)):
        T_out[c + l, column] += changed_row(comp.D, 6 + l, dalpha, da, dw)


@inlined
def _elastic_columns(tree, f, R, r, comp, T_out):
    """Add the columns of the elastic coordinates of body f."""
    i, c, n = tree.flexible[f], tree.elastic[f], elastic_count(tree, f)
    for k in range(n):
        wrench = to_origin(R, r, wrench_column(comp.D, 9 + k))
        for l in range(tree.first[i + 1] - tree.first[i]):
            T_out[tree.column[tree.first[i] + l], c + k] += dot6(motion_at(comp.moves, l), wrench)
        for l in range(n):
            T_out[c + l, c + k] += comp.D[6 + l, 9 + k]


@kernel
def vary_elastic_rest(model, theta, dtheta, touch, z, x, dz, kin, comp, tw, dG_out):
    """What accelerations x (n,) of a system at rest take of bodies that deform, and its variation.

    Forces go to ``comp.held`` and ``tw.F``, elastic rows to dG (n, p); needs ``vary_natural``.
    """
    tree = model.tree
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        second, A = _resting_motion(tree, theta, i, x, kin)
        apply_to_body(comp.held, kin, i, -1.0, resting_force(tree, theta, f, A, z, x, kin, comp))
        for g in range(0, dz.shape[1], width(dz)):
            k = block(dz, g)
            change = vary_linear(tree, theta, dtheta, touch.geometry[i, g], i, k, 0.0, x, touch.still)
            dA = _resting_change(i, k, kin, tw, A, second, change)
            dF = vary_resting_force(tree, theta, dtheta, touch, f, g, k, A, dA, z, x, dz, kin, comp, dG_out)
            apply_to_body2(tw.F, kin, i, k, 1.0, dF)


@inlined
def _resting_motion(tree, theta, i, x, kin):
    """Accelerations of the pose of body i without velocities, and their twist."""
    second = moved_by(tree, theta, i, x)
    return second, twist_of(kin.pose, i, second[0], second[1], second[2], second[3])


@kernel
def resting_bodies(model, theta, z, x, kin, comp):
    """Take what accelerations x (n,) of a system at rest need of bodies that deform, in ``comp.held``.

    Leaves the motion of their frames in ``kin``, which is one without velocities, and ``kin.elastic``.
    """
    tree = model.tree
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        second, A = _resting_motion(tree, theta, i, x, kin)
        store_pose(kin.second, i, second[0], second[1], second[2], second[3])
        store(kin.A, i, A)
        take_at_rest(tree, theta, f, z, x, kin, comp, comp.held)


@inlined
def _resting_change(i, k, kin, tw, A, second, change):
    """N'' of body i without velocities, whose pose has the accelerations ``second``, which vary by ``change``."""
    dr, r = triple2(tw.pose, i, 0, k), row3(kin.pose, i, 0)
    turned = half_turn(columns2(tw.pose, i, k), (second[1], second[2], second[3]))
    turned = add3(turned, half_turn(columns_of(kin.pose, i), (change[1], change[2], change[3])))
    moved = sub3(sub3(change[0], cross3(turned, r)), cross3(A[0], dr))
    return sub6((turned, moved), cross_motion(motion_at2(tw.N, i, k), A))
