"""Everything about one instant in natural coordinates, as ``linearise`` of a tree, but for measures and tangent."""

from mbsim_cli.kernels.algorithms.equations.constraints import move_lines
from mbsim_cli.kernels.algorithms.systems.contract import (
    evaluate,
    mass,
    rates,
    vary_bodies_of,
    vary_equations,
    vary_rates,
    vary_residual,
)
from mbsim_cli.kernels.compiler.jit import entry


@entry
def stand(model, theta, at_center, directions, state, sens, kin, comp, eq, tw, out, t):
    """Evaluate at ``state`` (G, Phi, Phi', Phi'', J are left in eq) and vary along ``sens`` and theta."""
    dtheta, touch = directions.dtheta, directions.touch
    evaluate(model, theta, t, at_center, state, kin, comp, eq)
    rates(model, theta, eq.lines, t, state, kin, eq.phi1, eq.phi2)
    mass(model, theta, kin, comp, out.M)
    vary_bodies_of(
        model, theta, dtheta, touch, state.z, state.zd, state.zdd, kin, sens.z, sens.zd, sens.zdd, tw
    )  # fmt: skip
    vary_equations(model, theta, dtheta, touch, eq.lines, t, state.z, sens.z, kin, tw, out.dphi[0])
    move_lines(model, theta, eq.lines, kin, eq.line_rates)
    vary_rates(model, theta, dtheta, touch, eq, t, state, sens, kin, tw, out.dphi[1], out.dphi[2])
    vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, out.dG)
