"""Forces of all elements, with the expressions that they read: values, variations, pull-backs."""

from mbsim_cli.kernels.algorithms.equations.force_pull_back import pull_forces
from mbsim_cli.kernels.algorithms.equations.force_variation import vary_forces
from mbsim_cli.kernels.algorithms.equations.forces import forces_of_elements
from mbsim_cli.kernels.algorithms.equations.signals import find_signals, pull_signals, vary_signals
from mbsim_cli.kernels.compiler.jit import inlined


@inlined
def element_forces(model, theta, t, z, zd, kin, W_out, Q_out):
    """Add the forces of all elements to the bodies W (nb + 1, 6) and the coordinates Q (n,).

    Leaves in ``kin.kept`` the forces that depend on the motion of their bodies, in ``kin.signals`` the expressions.
    """
    find_signals(model, theta, t, z, zd, kin)
    forces_of_elements(model, theta, t, z, zd, kin, W_out, Q_out)


@inlined
def vary_element_forces(model, theta, dtheta, touch, t, z, zd, dz, dzd, kin, tw, dG_out):
    """Add the variation of -Q of all force elements, as the bodies see them; needs ``element_forces`` at the state."""
    vary_signals(model, theta, dtheta, touch, t, z, zd, dz, dzd, kin, tw)
    vary_forces(model, theta, dtheta, touch, t, z, zd, dz, dzd, kin, tw, dG_out)


@inlined
def pull_element_forces(model, theta, t, z, zd, kin, virtual, cov_out):
    """Add the pull-back of -W . U, and of -Q . mu of forces on coordinates; needs ``element_forces`` at the state."""
    pull_forces(model, theta, t, z, zd, kin, virtual, cov_out)
    pull_signals(model, theta, t, z, zd, kin, cov_out)
