"""Pull-back of bodies that deform: the transposes of ``flexible.bodies`` and of the variations in ``elastic_energies``.

Spatial vectors are about the global origin, where all bodies must have their reference points.
"""

from mbsim_cli.kernels.algebra.rot3 import rotate, unrotate
from mbsim_cli.kernels.algebra.spatial import accumulate2, motion_at2, shift_motion
from mbsim_cli.kernels.algebra.vec3 import add3, add3_to, axpy3, cross3, dot3, load3, scale3
from mbsim_cli.kernels.algorithms.flexible.bodies import frame_of, take_at_rest, to_origin
from mbsim_cli.kernels.algorithms.flexible.elastic_energies import either
from mbsim_cli.kernels.compiler.jit import inlined, kernel
from mbsim_cli.kernels.compiler.simd import block, width
from mbsim_cli.kernels.elements.flexible_energy import (
    flexible_moment,
    pull_flexible_kinetic,
    pull_flexible_moment,
    pull_flexible_strain,
)
from mbsim_cli.kernels.elements.flexible_pull_back import pull_flexible
from mbsim_cli.kernels.elements.flexible_variation import flexible_slopes
from mbsim_cli.model.layout import GRAVITY


@kernel
def resting_flexible_forces(model, theta, z, x, kin, comp):
    """Take what accelerations x (n,) of a system at rest need of the frames, in ``comp.W``; leaves ``kin.elastic``."""
    tree = model.tree
    for f in range(tree.flexible.size):
        take_at_rest(tree, theta, f, z, x, kin, comp, comp.W)


@kernel
def pull_flexible_bodies(model, theta, z, zd, zdd, stiff, kin, virtual, cov_out):
    """Add what the forces of bodies that deform make of mu . G, but for what F does.

    Needs ``flexible_forces`` at the state, or ``resting_flexible_forces`` and not ``stiff``.
    """
    tree = model.tree
    for f in range(tree.flexible.size):
        i = tree.flexible[f]
        R, r, w, v, alpha, a = frame_of(tree, kin, f)
        flexible_slopes(tree, theta, f, w, alpha, a, zd, zdd, kin.elastic, stiff)
        for g in range(0, virtual.each.size, width(virtual.each)):
            k = block(virtual.each, g)
            turn, shift = shift_motion(motion_at2(virtual.U, i, k), r)
            U = unrotate(R, turn), unrotate(R, shift)
            of_w, of_alpha, of_a = pull_flexible(
                tree, theta, f, k, U, virtual.mu, w, alpha, a, z, zd, zdd, kin.elastic, stiff, cov_out
            )
            # the body sees N'_w, N''_w + N'_w x w, and N'' of its origin + 2 N'_w x v
            turned = add3(of_w, axpy3(2.0, cross3(v, of_a), cross3(w, of_alpha)))
            accumulate2(cov_out.D, i, k, 1.0, _of_turn(rotate(R, turned)))
            accumulate2(cov_out.H, i, k, 1.0, to_origin(R, r, (of_alpha, of_a)))


@inlined
def _of_turn(n):
    return n, scale3(0.0, n)


def _kinetic(model, theta, k, c, z, zd, kin, cov_out):
    """Add the pull-back of c times the kinetic energy."""
    tree = model.tree
    for f in range(tree.flexible.size):
        R, r, w, v, _, _ = frame_of(tree, kin, f)
        of_w, of_v = pull_flexible_kinetic(
            tree, theta, f, k, c, w, v, z, zd, cov_out.z, cov_out.zd, cov_out.theta
        )  # fmt: skip
        accumulate2(cov_out.D, tree.flexible[f], k, 1.0, to_origin(R, r, (of_w, of_v)))


def _potential(model, theta, k, c, z, kin, cov_out):
    """Add the pull-back of c times strain energy and energy of weight."""
    tree, gravity = model.tree, load3(theta, GRAVITY)
    for f in range(tree.flexible.size):
        R, r, _, _, _, _ = frame_of(tree, kin, f)
        mass, moment = flexible_moment(tree, theta, f, z)
        moment, hat = rotate(R, moment), scale3(c, scale3(-1.0, gravity))
        pull_flexible_strain(tree, theta, f, k, c, z, cov_out.z, cov_out.theta)
        pull_flexible_moment(
            tree, theta, f, k, dot3(r, hat), unrotate(R, hat), z, cov_out.z, cov_out.theta
        )  # fmt: skip
        add3_to(cov_out.theta, GRAVITY, k, scale3(c, scale3(-1.0, axpy3(mass, r, moment))))
        pushed = scale3(mass, hat)
        accumulate2(cov_out.P, tree.flexible[f], k, 1.0, (add3(cross3(r, pushed), cross3(moment, hat)), pushed))


def _strain(model, theta, f, k, c, z, cov_out):
    """Add the pull-back of c times the strain energy of body f."""
    pull_flexible_strain(model.tree, theta, f, k, c, z, cov_out.z, cov_out.theta)


def _no_kinetic(model, theta, k, c, z, zd, kin, cov_out):
    pass


def _no_potential(model, theta, k, c, z, kin, cov_out):
    pass


def _no_strain(model, theta, f, k, c, z, cov_out):
    pass


pull_elastic_kinetic = either("pull_elastic_kinetic", "Pull-back of ``elastic_kinetic``.", _kinetic, _no_kinetic)
pull_elastic_potential = either(
    "pull_elastic_potential", "Pull-back of ``elastic_potential``.", _potential, _no_potential
)
pull_elastic_strain = either("pull_elastic_strain", "Pull-back of ``elastic_strain``.", _strain, _no_strain)
