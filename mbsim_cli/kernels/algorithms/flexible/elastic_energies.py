"""Energies of bodies that deform, beside those of rigid ones; nothing where there are none."""

from collections.abc import Callable
from inspect import signature

from mbsim_cli.kernels.algebra.rot3 import rotate, unrotate
from mbsim_cli.kernels.algebra.spatial import shift_motion
from mbsim_cli.kernels.algebra.vec3 import add3, axpy3, cross3, dot3, load3, load3_of
from mbsim_cli.kernels.algorithms.by_type import by_type
from mbsim_cli.kernels.algorithms.flexible.bodies import frame_of
from mbsim_cli.kernels.algorithms.motion.bodies import at_origin2
from mbsim_cli.kernels.compiler.simd import at
from mbsim_cli.kernels.elements.flexible_energy import (
    flexible_kinetic,
    flexible_moment,
    flexible_power_lost,
    flexible_strain,
    vary_flexible_kinetic,
    vary_flexible_moment,
    vary_flexible_strain,
)
from mbsim_cli.model.layout import DEFORMING, GRAVITY


def _kinetic(model, theta, z, zd, kin):
    tree, total = model.tree, 0.0 * kin.V[0, 0]
    for f in range(tree.flexible.size):
        _, _, w, v, _, _ = frame_of(tree, kin, f)
        total += flexible_kinetic(tree, theta, f, w, v, z, zd)
    return total


def _no_kinetic(model, theta, z, zd, kin):
    return 0.0


def _strain(model, theta, f, z, kin):
    return flexible_strain(model.tree, theta, f, z)


def _no_strain(model, theta, f, z, kin):
    return 0.0


def _potential(model, theta, z, kin):
    tree, total, gravity = model.tree, 0.0 * kin.V[0, 0], load3(theta, GRAVITY)
    for f in range(tree.flexible.size):
        R, r, _, _, _, _ = frame_of(tree, kin, f)
        mass, moment = flexible_moment(tree, theta, f, z)
        total += flexible_strain(tree, theta, f, z) - dot3(gravity, axpy3(mass, r, rotate(R, moment)))
    return total


def _no_potential(model, theta, z, kin):
    return 0.0


def _power(model, theta, zd, kin):
    tree, total = model.tree, 0.0 * kin.V[0, 0]
    for f in range(tree.flexible.size):
        total += flexible_power_lost(tree, theta, f, zd)
    return total


def _no_power(model, theta, zd, kin):
    return 0.0


def _vary_kinetic(model, theta, dtheta, touch, g, k, z, zd, sens, kin, tw):
    tree, total = model.tree, 0.0 * at(dtheta, 0, k)
    for f in range(tree.flexible.size):
        R, r, w, v, _, _ = frame_of(tree, kin, f)
        turning, shifting = shift_motion(at_origin2(tw.N1, kin, tree.flexible[f], k), r)
        total += vary_flexible_kinetic(
            tree, theta, dtheta, touch.flexible[f, g], f, k, w, v, z, zd, unrotate(R, turning), unrotate(R, shifting),
            sens.z, sens.zd,
        )  # fmt: skip
    return total


def _vary_no_kinetic(model, theta, dtheta, touch, g, k, z, zd, sens, kin, tw):
    return 0.0


def _vary_strain(model, theta, dtheta, touch, f, g, k, z, sens, kin):
    return vary_flexible_strain(
        model.tree, theta, dtheta, touch.flexible[f, g], f, k, z, sens.z
    )  # fmt: skip


def _vary_no_strain(model, theta, dtheta, touch, f, g, k, z, sens, kin):
    return 0.0 * at(dtheta, 0, k)


def _vary_potential(model, theta, dtheta, touch, g, k, z, sens, kin, tw):
    tree, total = model.tree, 0.0 * at(dtheta, 0, k)
    gravity, d_gravity = load3(theta, GRAVITY), load3_of(dtheta, GRAVITY, k)
    for f in range(tree.flexible.size):
        touched = touch.flexible[f, g]
        R, r, _, _, _, _ = frame_of(tree, kin, f)
        mass, moment = flexible_moment(tree, theta, f, z)
        d_mass, d_moment = vary_flexible_moment(tree, theta, dtheta, touched, f, k, z, sens.z)
        moment, d_moment = rotate(R, moment), rotate(R, d_moment)
        turn, shift = shift_motion(at_origin2(tw.N, kin, tree.flexible[f], k), r)
        moved = add3(axpy3(mass, shift, cross3(turn, moment)), axpy3(d_mass, r, d_moment))
        total += vary_flexible_strain(tree, theta, dtheta, touched, f, k, z, sens.z)
        total -= dot3(d_gravity, axpy3(mass, r, moment)) + dot3(gravity, moved)
    return total


def _vary_no_potential(model, theta, dtheta, touch, g, k, z, sens, kin, tw):
    return 0.0


def either(name: str, text: str, elastic: Callable, rigid: Callable):
    """``elastic`` for systems with bodies that deform, ``rigid`` for all others."""
    shape = signature(elastic)
    return by_type("model.tree", name, text, shape, lambda kind: elastic if kind in DEFORMING else rigid)


elastic_kinetic = either("elastic_kinetic", "Kinetic energy of bodies that deform.", _kinetic, _no_kinetic)
elastic_potential = either("elastic_potential", "Their strain energy and that of weight.", _potential, _no_potential)
elastic_strain = either("elastic_strain", "Strain energy of body f of them.", _strain, _no_strain)
elastic_power = either("elastic_power", "Power of their damping.", _power, _no_power)
vary_elastic_kinetic = either(
    "vary_elastic_kinetic", "Variation k of ``elastic_kinetic``.", _vary_kinetic, _vary_no_kinetic
)
vary_elastic_potential = either(
    "vary_elastic_potential", "Variation k of ``elastic_potential``.", _vary_potential, _vary_no_potential
)
vary_elastic_strain = either("vary_elastic_strain", "Variation k of ``elastic_strain``.", _vary_strain, _vary_no_strain)
