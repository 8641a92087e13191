"""Everything about one instant of a system of any kind that its start needs."""

from mbsim_cli.kernels._jit import entry
from mbsim_cli.kernels.algorithms.systems import evaluate, rates, tangent, vary_bodies_of, vary_equations, vary_residual


@entry
def stand(model, theta, t, at_center, directions, state, sens, work, tw, dphi_out, dG_out, T_out):
    """Leave G, Phi, Phi', Phi'', J in ``work.eq``; dPhi (m, p) and dG (n, p) along ``sens`` and theta; and M in T."""
    kin, comp, eq = work.kin, work.comp, work.eq
    evaluate(model, theta, t, at_center, state, kin, comp, eq)
    rates(model, theta, eq.lines, t, state, kin, eq.phi1, eq.phi2)
    tangent(model, theta, t, 0.0, 0.0, state, eq, kin, comp, T_out)
    vary_bodies_of(
        model, theta, directions.dtheta, directions.touch, state.z, state.zd, state.zdd, kin, sens.z, sens.zd,
        sens.zdd, tw,
    )  # fmt: skip
    vary_equations(model, theta, directions.dtheta, directions.touch, eq.lines, t, state.z, sens.z, kin, tw, dphi_out)
    vary_residual(model, theta, directions, t, state, sens, eq, kin, comp, tw, dG_out)
