"""One step of the index-3 augmented Lagrangian with projections (ALI3-P), trapezoidal rule in positions.

Paper 000, equations (9)-(11). The unknown is the acceleration correction x, with z -= h^2/4 x, z' -= h/2 x,
z'' -= x. The tangent of an earlier time point is kept while it contracts. Derivation: docs/theory/ali3p.md.
"""

from typing import NamedTuple

import numpy as np

from mbsim_cli.kernels.algebra.arrays import clear, copy_to, scaled, set_identity
from mbsim_cli.kernels.algorithms.elimination import constrained_solve
from mbsim_cli.kernels.algorithms.elimination.constrained_solve import BY_PENALTY
from mbsim_cli.kernels.algorithms.equations.constraints import constraint_speeds
from mbsim_cli.kernels.algorithms.equations.signals import with_loads
from mbsim_cli.kernels.algorithms.systems import contract as system
from mbsim_cli.kernels.compiler.jit import kernel, merged
from mbsim_cli.kernels.compiler.simd import as_column
from mbsim_cli.model.codes import Status


class State(NamedTuple):
    """Motion at a time point and its multipliers."""

    z: np.ndarray  # (n,)
    zd: np.ndarray  # (n,)
    zdd: np.ndarray  # (n,)
    lam: np.ndarray  # (m,)
    sigma: np.ndarray  # (m,)
    kappa: np.ndarray  # (m,)


class Equations(NamedTuple):
    """Equations of motion and constraints at an iterate."""

    J: np.ndarray  # (m, n)
    lines: np.ndarray  # (m, LINE_SIZE) gradient lines and their factors
    line_rates: np.ndarray  # (m, 12) their first and second time derivatives, where sensitivities want them
    phi: np.ndarray  # (m,)
    phi1: np.ndarray  # (m,)
    phi2: np.ndarray  # (m,)
    G: np.ndarray  # (n,)
    Q: np.ndarray  # (n,)


class Control(NamedTuple):
    """Choices of the integrator, all plain numbers."""

    h: float  # complex where the run is and a piece of a step ends at a time point that a number moves
    until: float  # end of a step that is such a piece, else WHOLE
    at_center: bool  # RTdyn0
    tolerance: float
    gradient_tolerance: float
    max_iterations: int
    ratio: float  # of penalty term to inertia
    projection_ratio: float
    mass_projection: bool  # else identity
    redundant: bool
    correction_tolerance: float  # of the solution for a correction of Newton's, relative
    shortest: float  # length that steps are divided to where a force begins within them
    amplified: float  # how much larger than its floor round-off of corrections is
    bends: bool  # whether tyres or contacts are among the forces, or laws of measures or rates: stops, dry friction


WHOLE = -1.0


@kernel
def end_of_step(control, step):
    """Time at which step number ``step`` ends, or its piece."""
    return step * control.h.real if control.until == WHOLE else control.until


# Decisions of Newton's iteration -------------------------------------------------------------------------------------
#
# ``size`` is that of a correction, ``previous`` that of the one before; their ratio is the contraction. Sizes of
# corrections and of accelerations are in the norm of the tangent's diagonal. ``floor`` is what round-off of positions
# makes of a correction.

# Which tangent: an old one serves while it contracts, and while vectors of the mechanism turn little in a step.
FEW = 3  # corrections in a step, above which the next step begins with a new tangent
TURNED = 0.1  # rad that vectors turn in a step, above which the tangent is formed anew
STALE = 0.1  # contraction above which the tangent is formed anew

# Which correction is the last: a small one, or one that is small once it contracts as those before.
MARGIN = 1e-2  # of the tolerance, that the last correction is below: gradients lose digits
SHIFT = 10.0  # floors of a correction after which positions that were evaluated before it still serve: 1e-15
ONCE = 2  # corrections in a step, at most, after which the next step may end with its first one
CHECKED = 8  # steps, of which one takes two corrections: contraction shows that an old tangent still serves
IMAGINARY = 6  # corrections of a complex motion, at least: then imaginary parts, which no size counts, have converged

# Round-off: corrections that are small and no longer shrink.
ROUND_OFF = 1e-6  # of accelerations: a smaller correction may be round-off, and is no failure
AMPLIFIED = 1e6  # floors of a correction, the same: near singular positions round-off is so much larger
STALLED = 0.5  # contraction above which a small correction no longer shrinks
BLOWN_UP = 10.0  # ratio of a new tangent's correction to one that stalled, above which it only amplifies round-off

# Friction and stops bend the force: where a correction grows, the iterate before is taken again, or half way to it.
REGAINED = 4.0  # by which the share of a correction that is taken grows again
RETREATS = 3  # evaluations for each correction that may be taken, with those that are taken back

# Constraints that the penalty alone does not meet, near singular positions.
BY_UPDATES = 1e-3  # tolerance of the solution, so that multipliers are updated
HARDER = 1e3  # by which the ratio of penalty term to inertia is raised
HARDEST = 1e9  # that ratio, at most: updates mend the digits that elimination loses to it


@kernel
def newton(model, theta, t, control, scale, latest, checks, state, work):
    """Iterate to the motion at t; return status, iterations and the new scale.

    ``scale`` is the largest acceleration so far, in the norm of the tangent's diagonal: what the tolerance
    is relative to. ``latest`` counts the iterations of the step before, 0 where ``work.tangent`` holds no usable
    tangent; ``checks`` says that the first correction is not to be the last. ``work`` (drivers.simulate.Work) receives
    kinematics, constraints and forces, of positions that differ from those of the state by round-off, and of the
    accelerations before the last correction. The constants above say when each decision is taken.
    """
    h, eq, columns, before = control.h, work.eq, work.column, work.iterate
    fresh, previous, share, bends = 0 < latest <= FEW, np.inf, 1.0, control.bends
    tolerance, ratio = control.correction_tolerance, control.ratio
    # corrections before one may be the last
    least = IMAGINARY if np.iscomplexobj(state.z) else int(checks or latest == 0 or latest > ONCE)
    careful = False  # since a correction grew: then tangents are of the iterates they act on, and shares are halved
    stalled_at = np.inf  # size at which corrections by an old tangent have just stalled
    remaining = control.max_iterations  # corrections that may still be taken; going back is none
    for iteration in range(RETREATS * control.max_iterations):
        if remaining == 0:
            break
        formed = not fresh
        if not find_correction(model, theta, t, control, tolerance, ratio, formed, state, work):
            return Status.SINGULAR, iteration, scale
        fresh = True
        size, acceleration, floor = size_of_correction(h, state, work.tangent, columns)
        largest = max(scale, acceleration)
        if not np.isfinite(size) and (iteration == 0 or not bends):
            return Status.NOT_FINITE, iteration, scale
        close = size <= max(ROUND_OFF * largest, AMPLIFIED * floor)

        # may it be taken? beyond the bend of a characteristic corrections swing
        if bends and not close:
            if not size <= previous:
                share = go_back(careful, share, before, state)
                fresh, previous, careful = careful, (previous if careful else np.inf), True
                continue
            if careful and not formed and size > STALE * previous:
                fresh, previous = False, np.inf  # the iterate serves, and goes on by a tangent of its own
                continue
        remaining -= 1
        scale = largest

        # is it the last one? the first, by an old tangent, does not show by itself that the equations are solved
        stalled = close and share == 1.0 and size > STALLED * previous
        if stalled_at < np.inf and (not close or size > BLOWN_UP * stalled_at):
            return Status.OK, iteration + 1, scale
        enough = is_enough(control, scale, size, previous, floor)
        done = iteration >= least and (enough or (stalled and formed))
        share = 1.0 if done or close else min(1.0, REGAINED * share)
        if bends and not done:
            copy_iterate(state, before)
        apply_correction(h, share, state, columns)
        if done:
            if not enough:  # too large for the positions evaluated last to serve
                system.evaluate(model, theta, t, control.at_center, state, work.kin, work.comp, eq)
            return Status.OK, iteration + 1, scale

        # which tangent serves the next one? behind a singular position an old one points the wrong way, and stalls
        stalled_at = np.inf
        if stalled and iteration > 0:
            stalled_at, fresh = size, False
        if size > STALE * previous:
            fresh = False
            if formed and control.correction_tolerance >= BY_PENALTY:  # too soft near a singular position
                tolerance, ratio = BY_UPDATES, max(ratio, min(HARDER * ratio, HARDEST))
        previous = size
    return Status.NO_CONVERGENCE, control.max_iterations, scale


@kernel
def find_correction(model, theta, t, control, tolerance, ratio, forms, state, work):
    """Evaluate the equations and solve for their correction, by a new tangent if it ``forms`` one; False if singular.

    ``work.column`` receives the errors x (n, 1) of z'' and mu (m, 1) of the multipliers.
    """
    h, kin, comp, eq, factor, columns = control.h, work.kin, work.comp, work.eq, work.tangent, work.column
    system.evaluate(model, theta, t, control.at_center, state, kin, comp, eq)
    if forms:
        system.tangent(model, theta, t, 0.5 * h, 0.25 * h * h, state, eq.lines, state.lam, kin, comp, factor.T)
        if not constrained_solve.factor_penalised(ratio, factor):
            return False
    solve_residual(h, tolerance, eq, factor, columns)
    return with_loads(model, theta, state.z, False, factor, kin, columns)


@kernel
def is_enough(control, scale, size, previous, floor):
    """Whether a correction of this ``size`` is the last one, by itself or by the ``previous`` one."""
    tiny = MARGIN * control.tolerance * scale
    if size <= tiny + control.amplified * floor:
        return True
    # the next correction, if the contraction stays, is as small; positions evaluated before this one serve
    return size <= SHIFT * floor and (previous == np.inf or size * size <= (tiny + floor) * previous)


@kernel
def solve_residual(h, tolerance, eq, factor, columns):
    """Solve for the residual as the right-hand side (n, 1), (m, 1): the solution is the error of z''."""
    for c in range(eq.G.size):
        columns.b[c, 0] = eq.G[c]
    for r in range(eq.phi.size):
        columns.e[r, 0] = 4.0 * eq.phi[r] / (h * h)
    constrained_solve.solve_constrained(factor, tolerance, columns)


@kernel
def size_of_correction(h, state, factor, columns):
    """Size of the correction, that of corrected accelerations, and the round-off floor, in one norm."""
    size, acceleration, floor = 0.0, 0.0, 0.0
    for c in range(state.z.size):
        x, w = columns.x[c, 0], factor.weight[c]
        size += w * (x.real * x.real + x.imag * x.imag)
        corrected = state.zdd[c].real - x.real
        acceleration += w * corrected * corrected
        floor += w * (factor.extent[c] + state.z[c].real * state.z[c].real)
    return np.sqrt(size), np.sqrt(acceleration), 4e-16 / (h.real * h.real) * np.sqrt(floor)


@kernel
def copy_iterate(state, out):
    """Copy what corrections change: z, z', z'' and lambda."""
    copy_to(state.z, out.z)
    copy_to(state.zd, out.zd)
    copy_to(state.zdd, out.zdd)
    copy_to(state.lam, out.lam)


@kernel
def go_back(half, share, before, state):
    """Go back to the iterate before, by ``half`` only half way; return the share of the correction to take next."""
    part = 0.5 if half else 1.0
    for c in range(state.z.size):
        state.z[c] += part * (before.z[c] - state.z[c])
        state.zd[c] += part * (before.zd[c] - state.zd[c])
        state.zdd[c] += part * (before.zdd[c] - state.zdd[c])
    for r in range(state.lam.size):
        state.lam[r] += part * (before.lam[r] - state.lam[r])
    return 0.5 * share if half else 1.0


@kernel
def apply_correction(h, share, state, columns):
    """Take a share of the correction away."""
    for c in range(state.z.size):
        x = share * columns.x[c, 0]
        state.z[c] -= 0.25 * h * h * x
        state.zd[c] -= 0.5 * h * x
        state.zdd[c] -= x
    for r in range(state.lam.size):
        state.lam[r] -= share * columns.mu[r, 0]


PROJECTED = 1e-11  # tolerance of projections, relative to the rates that they change


@merged
def project(model, theta, t, control, state, work):
    """Mass-orthogonal projection of velocities and accelerations, equations (10), (11).

    Needs ``systems.compose`` at the state, and ``work.eq.J`` for that of ``work.projection``. Leaves in ``work.kin``
    the projected velocities, in ``work.projection`` the projection matrix, and in ``work.corrections`` (2, n) what
    both rates have gained: z' - z'* and z'' - z''*.
    """
    kin, comp, eq, factor, columns = work.kin, work.comp, work.eq, work.projection, work.column
    if control.mass_projection:
        system.mass(model, theta, kin, comp, factor.T)
    else:
        set_identity(factor.T)
    if not constrained_solve.factor_penalised(control.projection_ratio, factor):
        return Status.SINGULAR
    constraint_speeds(model, theta, t, eq.J, factor.sparsity, state.zd, eq.phi1)
    _project_rate(eq.phi1, control.projection_ratio, state.zd, state.sigma, factor, columns, work.corrections[0])
    system.move_bodies(model, theta, state, kin)
    system.rates(model, theta, t, state, eq.lines, kin, eq.phi1, eq.phi2)
    _project_rate(eq.phi2, control.projection_ratio, state.zdd, state.kappa, factor, columns, work.corrections[1])
    scaled(-1.0, columns.residual, eq.phi2)
    return Status.OK


@merged
def _project_rate(defect, ratio, rate, multiplier_out, factor, columns, correction_out):
    """Move ``rate`` onto the constraint whose value it violates by ``defect``."""
    clear(columns.b)
    scaled(-1.0, defect, columns.e)
    constrained_solve.solve_one_change(factor, ratio, PROJECTED, as_column(rate), columns)
    for c in range(rate.size):
        correction_out[c] = columns.x[c, 0]
        rate[c] += columns.x[c, 0]
    copy_to(columns.mu, multiplier_out)
