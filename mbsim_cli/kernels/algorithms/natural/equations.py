"""Equations of a system in natural coordinates: a constant mass matrix, rigidity by dot products; see ``natural``."""

from mbsim_cli.kernels.algebra.spatial import axpy6, motion_at, scale6
from mbsim_cli.kernels.algebra.vec3 import axpy3, cross3, dot3, load3, row3, scale3, sub3
from mbsim_cli.kernels.algorithms.equations.constraints import constraint_rates, constraints
from mbsim_cli.kernels.algorithms.equations.element_forces import element_forces
from mbsim_cli.kernels.algorithms.equations.forces import clear_wrenches, constraint_forces
from mbsim_cli.kernels.algorithms.natural.bodies import (
    POSE,
    column_of,
    columns_in,
    columns_of,
    paired,
    power_of_trio,
    trios_end,
    turn_of_trio,
)
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, put
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.kernels.elements.measures import is_geometric, wrap_angle


@inlined
def shape_at(theta, o):
    """S of an equation of rigidity: its diagonal, and xy, xz, yz."""
    return load3(theta, o), load3(theta, o + 3)


@inlined
def rigid_rows(tree, i, first):
    """The end of the equations of rigidity of body i, which start at the number ``first``."""
    last = first
    while last < tree.rigid.size and tree.rigid[last] == i:
        last += 1
    return last


@inlined
def held_shape(model, theta, multiplier, first, last):
    """Sum of multiplier S over the equations of rigidity from first to last."""
    S, before = scale6(0.0, shape_at(theta, 0)), model.constraints.measure.size
    for j in range(first, last):
        S = axpy6(multiplier[before + j], shape_at(theta, model.tree.shape[j]), S)
    return S


@inlined
def shaped(S, columns):
    """Columns of R S: what equations of rigidity pull the columns of R by."""
    (xx, yy, zz), (xy, xz, yz) = S
    a, b, c = columns
    return (
        axpy3(xx, a, axpy3(xy, b, scale3(xz, c))),
        axpy3(xy, a, axpy3(yy, b, scale3(yz, c))),
        axpy3(xz, a, axpy3(yz, b, scale3(zz, c))),
    )


@kernel
def natural_constraints(model, theta, t, z, kin, phi_out, jacobian_out, line_out):
    """Phi (m,), Phi_z (m, n) and the gradient lines of those equations that measures give."""
    tree = model.tree
    constraints(model, theta, t, z, kin, phi_out, jacobian_out, line_out)
    for i in range(model.constraints.measure.size):
        k = model.constraints.measure[i]
        if is_geometric(model.measures.kind[k]):
            pair, L = model.measures.pair[k], motion_at(line_out, i)
            _add_row(tree, theta, kin, model.pairs.b[pair], 1.0, L, i, jacobian_out)
            _add_row(tree, theta, kin, model.pairs.a[pair], -1.0, L, i, jacobian_out)
    for j in range(tree.defined.size):
        i, c = tree.defined[j], tree.definition[j]
        phi_out[i] = wrap_angle(model.measures.kind[model.constraints.measure[i]], phi_out[i] - z[c])
        jacobian_out[i, c] = -1.0
    for j in range(tree.rigid.size):
        i, b, o = model.constraints.measure.size + j, tree.rigid[j], tree.shape[j]
        columns = columns_of(kin.pose, b)
        pull = shaped(shape_at(theta, o), columns)
        phi_out[i] = 0.5 * (paired(columns, pull) - theta[o] - theta[o + 1] - theta[o + 2])
        start = tree.pose[b] + POSE * (1 - tree.first[b])
        last = tree.rigid_first[j] + tree.rigid_trios[j]
        for s in range(tree.rigid_first[j], last):
            k = at(tree.rigid_entry, s)
            along = turn_of_trio(theta, start + POSE * k, pull)
            for axis in range(3):
                put(jacobian_out, i, at(tree.column, k + axis), along[axis])
        for s in range(last, tree.rigid_first[j + 1]):
            k = tree.rigid_entry[s]
            jacobian_out[i, tree.column[k]] = paired(columns_in(theta, start + POSE * k), pull)


@inlined
def _add_row(tree, theta, kin, body, sign, L, i, jacobian_out):
    """Add the power of the line L on what coordinates move a body by; the ground has none."""
    if body >= 0:
        push, o, last = pushed(kin.pose, body, L), tree.pose[body] + POSE, trios_end(tree, body)
        for s in range(tree.first[body], last, 3):
            power = power_of_trio(theta, o, L[1], push)
            for axis in range(3):
                add_to(jacobian_out, i, at(tree.column, s + axis), sign * power[axis])
            o += 3 * POSE
        for s in range(last, tree.first[body + 1]):
            jacobian_out[i, tree.column[s]] += sign * (dot3(load3(theta, o), L[1]) + paired(columns_in(theta, o), push))
            o += POSE


@kernel
def natural_rates(model, theta, lines, t, z, zd, zdd, kin, phi1_out, phi2_out):
    """Phi' and Phi'' (m,) of the motion in ``kin``."""
    tree = model.tree
    constraint_rates(model, theta, lines, t, z, zd, zdd, kin, phi1_out, phi2_out)
    for j in range(tree.defined.size):
        phi1_out[tree.defined[j]] -= zd[tree.definition[j]]
        phi2_out[tree.defined[j]] -= zdd[tree.definition[j]]
    for j in range(tree.rigid.size):
        i, b, o = model.constraints.measure.size + j, tree.rigid[j], tree.shape[j]
        columns, rates = columns_of(kin.pose, b), columns_of(kin.rate, b)
        S = shape_at(theta, o)
        pull, pull1 = shaped(S, columns), shaped(S, rates)
        phi1_out[i] = paired(rates, pull)
        phi2_out[i] = paired(columns_of(kin.second, b), pull) + paired(rates, pull1)


@kernel
def natural_forces(model, theta, t, z, zd, multiplier, lines, kin, W_out, Q_out):
    """Forces of elements and constraints on the bodies W (nb + 1, 6) and the coordinates Q (n,), but for rigidity."""
    clear_wrenches(W_out, Q_out)
    element_forces(model, theta, t, z, zd, kin, W_out, Q_out)
    hold(model, theta, z, multiplier, lines, kin, W_out, Q_out)


@kernel
def hold(model, theta, z, multiplier, lines, kin, W_out, Q_out):
    """Add -Phi_z^T multiplier, but for rigidity."""
    constraint_forces(model, theta, z, kin, multiplier, lines, W_out, Q_out)
    for j in range(model.tree.defined.size):
        Q_out[model.tree.definition[j]] += multiplier[model.tree.defined[j]]


@inlined
def pushed(pose, i, W):
    """Forces on the columns of R that a wrench exerts on body i."""
    n, f = W
    half = scale3(0.5, sub3(n, cross3(row3(pose, i, 0), f)))
    return cross3(half, column_of(pose, i, 0)), cross3(half, column_of(pose, i, 1)), cross3(half, column_of(pose, i, 2))


@kernel
def natural_residual(model, theta, zdd, multiplier, kin, W, Q, G_out):
    """G (n,) = M z'' - weight - Q - work of W + that of rigidity."""
    tree, first = model.tree, 0
    weight, entry = tree.weight[0], tree.mass[0]
    for c in range(G_out.size):
        total = -theta[weight + c] - Q[c]
        for s in range(tree.mass_first[c], tree.mass_first[c + 1]):
            total += at(theta, entry + s) * at(zdd, at(tree.mass_column, s))
        G_out[c] = total
    for i in range(tree.theta.size):
        last = rigid_rows(tree, i, first)
        pull = shaped(held_shape(model, theta, multiplier, first, last), columns_of(kin.pose, i))
        wrench = motion_at(W, i)
        push, f, o = pushed(kin.pose, i, wrench), wrench[1], tree.pose[i] + POSE
        push = sub3(push[0], pull[0]), sub3(push[1], pull[1]), sub3(push[2], pull[2])
        for s in range(tree.first[i], trios_end(tree, i), 3):
            power = power_of_trio(theta, o, f, push)
            for axis in range(3):
                add_to(G_out, at(tree.column, s + axis), -power[axis])
            o += 3 * POSE
        for s in range(trios_end(tree, i), tree.first[i + 1]):
            G_out[tree.column[s]] -= dot3(load3(theta, o), f) + paired(columns_in(theta, o), push)
            o += POSE
        first = last


@kernel
def natural_mass(tree, theta, M_out):
    """M (n, n), constant; where it has none, M_out stays zero."""
    entry = tree.mass[0]
    for c in range(tree.mass_first.size - 1):
        for s in range(tree.mass_first[c], tree.mass_first[c + 1]):
            put(M_out, c, at(tree.mass_column, s), at(theta, entry + s))


@kernel
def natural_speeds(model, theta, t, J, sparsity, zd, phi1_out):
    """Phi' (m,) = J zd - law' of any velocities."""
    for i in range(phi1_out.size):
        speed = 0.0 * zd[0]
        if i < model.constraints.law.size:
            _, law1, _ = law_value(model.laws, theta, model.constraints.law[i], t)
            speed -= law1
        for s in range(sparsity.row_first[i], sparsity.row_first[i + 1]):
            c = at(sparsity.row_column, s)
            speed += at(J, i, c) * at(zd, c)
        phi1_out[i] = speed
