"""Variations of what forces and inertia do on natural coordinates, in p directions; see ``natural.variation``."""

from mbsim_cli.kernels.algebra.spatial import (
    cross_force,
    motion_at,
    motion_at2,
    sub6,
)
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, dot3, load3, load3_of, row3, scale3, sub3
from mbsim_cli.kernels.algorithms.equations.constraint_variation import vary_forces_between, vary_pull_on_coordinates
from mbsim_cli.kernels.algorithms.equations.constraints import rows_of_pair
from mbsim_cli.kernels.algorithms.equations.force_variation import (
    acts_on_bodies,
    vary_along_coordinates,
    vary_force_on_bodies,
)
from mbsim_cli.kernels.algorithms.equations.residual_variation import clear_forces
from mbsim_cli.kernels.algorithms.equations.signals import vary_signals
from mbsim_cli.kernels.algorithms.natural.bodies import (
    POSE,
    columns_in,
    columns_of,
    paired,
    power_of_trio,
    trios_end,
)
from mbsim_cli.kernels.algorithms.natural.equations import held_shape, rigid_rows, shaped
from mbsim_cli.kernels.algorithms.natural.variation import columns2, shape_of, triple2
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import add_to, at, block, width
from mbsim_cli.model.layout import NONE


@kernel
def vary_natural_forces(model, theta, dtheta, touch, t, z, zd, multiplier, lines, dz, dzd, kin, tw, dG_out):
    """dG (n, p): what forces of elements and constraints vary on coordinates, and ``tw.F`` on bodies as they see it."""
    clear_forces(tw, dG_out)
    vary_natural_pulls(model, theta, dtheta, touch, lines, multiplier, z, dz, kin, tw, dG_out)
    vary_signals(model, theta, dtheta, touch, t, z, zd, dz, dzd, kin, tw)
    for f in range(model.forces.kind.size):
        if acts_on_bodies(model, f):
            vary_natural_force(model, theta, dtheta, touch, t, f, kin, tw)
        else:
            for g in range(0, dz.shape[1], width(dz)):
                vary_along_coordinates(model, theta, dtheta, t, f, block(dz, g), z, zd, dz, dzd, kin, tw, dG_out)


@kernel
def vary_natural_force(model, theta, dtheta, touch, t, f, kin, tw):
    """See ``vary_force_on_bodies``, which trees have within their loop; here the tangent calls it too."""
    vary_force_on_bodies(model, theta, dtheta, touch, t, f, kin, tw)


@kernel
def vary_natural_pulls(model, theta, dtheta, touch, lines, multiplier, z, dz, kin, tw, dG_out):
    """See ``vary_constraint_forces``."""
    rows, first = model.constraints.measure, 0
    while first < rows.size:
        last, pair = rows_of_pair(rows, model.measures, first)
        if pair == NONE:
            vary_pull_on_coordinates(model.measures, rows[first], theta, dtheta, z, dz, multiplier[first], dG_out)
        else:
            vary_natural_pull(model, theta, dtheta, touch, lines, multiplier, first, last, kin, tw)
        first = last


@kernel
def vary_natural_pull(model, theta, dtheta, touch, lines, multiplier, first, last, kin, tw):
    """See ``vary_forces_between``."""
    vary_forces_between(model, theta, dtheta, touch, lines, multiplier, first, last, kin, tw)


@inlined
def is_moved(tree, touch, g):
    """Whether the mass matrix or the weight vary in the directions of the block at g."""
    found = False
    for i in range(tree.theta.size):
        found = found or touch.geometry[i, g] or touch.inertia[i, g]
    return found


@kernel
def vary_natural_work(model, theta, dtheta, touch, multiplier, x, W, kin, tw, dG_out):
    """Add to dG (n, p) the variation of M x + Phi_z^T multiplier - work of W, at fixed x and multiplier.

    The wrenches -W (nb + 1, 6) vary by ``tw.F``, as the bodies see it.
    """
    tree, first_rigid = model.tree, 0
    _by_mass(tree, dtheta, touch, x, dG_out)
    for i in range(tree.theta.size):
        n, f = motion_at(W, i)
        R, r = columns_of(kin.pose, i), row3(kin.pose, i, 0)
        half = scale3(0.5, sub3(n, cross3(r, f)))
        last_rigid = rigid_rows(tree, i, first_rigid)
        S = held_shape(model, theta, multiplier, first_rigid, last_rigid)
        for g in range(0, dG_out.shape[1], width(dG_out)):
            k = block(dG_out, g)
            dR, dr = columns2(tw.pose, i, k), triple2(tw.pose, i, 0, k)
            dn, df = sub6(cross_force(motion_at2(tw.N, i, k), (n, f)), motion_at2(tw.F, i, k))
            d_half = scale3(0.5, sub3(dn, add3(cross3(dr, f), cross3(r, df))))
            ea = scale3(-1.0, add3(cross3(d_half, R[0]), cross3(half, dR[0])))
            eb = scale3(-1.0, add3(cross3(d_half, R[1]), cross3(half, dR[1])))
            ec = scale3(-1.0, add3(cross3(d_half, R[2]), cross3(half, dR[2])))
            pull = shaped(S, dR)
            ea, eb, ec = add3(pull[0], ea), add3(pull[1], eb), add3(pull[2], ec)
            if touch.geometry[i, g]:
                for j in range(first_rigid, last_rigid):
                    lam = multiplier[model.constraints.measure.size + j]
                    own = shaped(shape_of(dtheta, tree.shape[j], k), R)
                    ea, eb, ec = axpy3(lam, own[0], ea), axpy3(lam, own[1], eb), axpy3(lam, own[2], ec)
            add_power(tree, theta, i, k, scale3(-1.0, df), (ea, eb, ec), dG_out)
        _by_linear_maps(tree, dtheta, touch, S, i, half, f, R, dG_out)
        first_rigid = last_rigid


@inlined
def _by_mass(tree, dtheta, touch, x, dG_out):
    """Add the variation of M times x (n,)."""
    entry = tree.mass[0]
    for g in range(0, dG_out.shape[1], width(dG_out)):
        if is_moved(tree, touch, g):
            k = block(dG_out, g)
            for c in range(dG_out.shape[0]):
                total = 0.0 * at(dtheta, 0, k)
                for s in range(tree.mass_first[c], tree.mass_first[c + 1]):
                    total += x[tree.mass_column[s]] * at(dtheta, entry + s, k)
                add_to(dG_out, c, k, total)


@inlined
def add_power(tree, theta, i, k, force, columns, dG_out):
    """Add the work of forces, directions k, on the origin of body i and on its columns of R."""
    o = tree.pose[i] + POSE
    for s in range(tree.first[i], trios_end(tree, i), 3):
        x, y, w = power_of_trio(theta, o, force, columns)
        add_to(dG_out, at(tree.column, s), k, x)
        add_to(dG_out, at(tree.column, s + 1), k, y)
        add_to(dG_out, at(tree.column, s + 2), k, w)
        o += 3 * POSE
    for s in range(trios_end(tree, i), tree.first[i + 1]):
        power = paired(columns_in(theta, o), columns)
        add_to(dG_out, tree.column[s], k, power + dot3(load3(theta, o), force))
        o += POSE


@inlined
def _by_linear_maps(tree, dtheta, touch, S, i, half, f, R, dG_out):
    """Add the work of the forces on body i on the variations of its linear map."""
    pull = shaped(S, R)
    ea, eb, ec = (
        add3(cross3(R[0], half), pull[0]), add3(cross3(R[1], half), pull[1]), add3(cross3(R[2], half), pull[2])
    )  # fmt: skip
    for g in range(0, dG_out.shape[1], width(dG_out)):
        if touch.geometry[i, g]:
            k, o = block(dG_out, g), tree.pose[i]
            for s in range(tree.first[i], tree.first[i + 1]):
                o += POSE
                own = (load3_of(dtheta, o + 3, k), load3_of(dtheta, o + 6, k), load3_of(dtheta, o + 9, k))
                power = paired(own, (ea, eb, ec)) - dot3(load3_of(dtheta, o, k), f)
                add_to(dG_out, tree.column[s], k, power)


@kernel
def vary_natural_inertia(tree, theta, dtheta, touch, dzdd, dG_out):
    """Add M dz'' less the variation of the weight."""
    entry, weight = tree.mass[0], tree.weight[0]
    for g in range(0, dG_out.shape[1], width(dG_out)):
        k = block(dG_out, g)
        for c in range(dG_out.shape[0]):
            total = 0.0 * at(dzdd, c, k)
            for s in range(tree.mass_first[c], tree.mass_first[c + 1]):
                total += at(theta, entry + s) * at(dzdd, at(tree.mass_column, s), k)
            add_to(dG_out, c, k, total)
        if is_moved(tree, touch, g):
            for c in range(dG_out.shape[0]):
                add_to(dG_out, c, k, -at(dtheta, weight + c, k))
