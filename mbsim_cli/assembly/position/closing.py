"""Closing of loops at t = 0: dependent coordinates, and initial coordinates for the solver."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.elements.measures import MeasureTable
from mbsim_cli.assembly.position.equations import Equations, Group, InitialMeasure, groups
from mbsim_cli.assembly.position.search import (
    CLOSED,
    RANK_TOLERANCE,
    Found,
    Nearest,
    Search,
    dependent_rows,
    determined,
    newton,
    rank,
    unit_rows,
)
from mbsim_cli.assembly.tree.joints import has_velocity, independent, initial_position, initial_velocity
from mbsim_cli.assembly.tree.kinematics import Inertia, Poses, poses
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.codes import Column
from mbsim_cli.model.coordinates import kinds
from mbsim_cli.model.layout import NONE, STEP
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import Scales, scales_of
from mbsim_cli.solve.initial import conjugate, quaternion_product
from mbsim_cli.spec.geometry import Scalar

Accepts = Callable[[np.ndarray, Group], bool]  # of a position (n,) and equations
Start = tuple[np.ndarray, np.ndarray]  # theta (size,) and d theta / d rho (size, p)
# deviations of cut joints from their stated values, of the same and of the mechanism's size, m
AtCuts = Callable[[np.ndarray, Group, float], list[float]]


class Part(NamedTuple):
    """Equations that share no coordinate with any other, at t = 0."""

    rows: np.ndarray  # (k,) numbers of the equations
    columns: np.ndarray  # (l,) numbers of the coordinates
    z: np.ndarray  # (l,)
    phi: np.ndarray  # (k,) residuals; zero where the target is automatic
    J: np.ndarray  # (k, l), rows scaled to unit length
    redundant: list[int]  # equations that follow from earlier ones
    conflict: int  # by how many too many coordinates are declared independent
    held: np.ndarray  # (l,) bool: coordinates that kept their initial values, or the nearest to them
    held_velocity: np.ndarray  # (l,) bool: rates that can keep theirs
    found: Found  # how


class Closing(NamedTuple):
    """The mechanism at t = 0; names as in ``Part``, for all m equations and n coordinates."""

    parts: list[Part]
    z: np.ndarray  # (n,)
    at: Poses
    phi: np.ndarray  # (m,) m or rad
    held: np.ndarray  # (n,) bool
    held_velocity: np.ndarray  # (n,) bool
    scales: Scales
    inertia: Inertia

    @property
    def is_closed(self) -> bool:
        """Whether all constraints are met."""
        return bool((self.gaps <= CLOSED).all())

    @property
    def gaps(self) -> np.ndarray:
        """Violations (m,) of the constraints, lengths in the mechanism's unit."""
        return np.abs(self.phi) / self.scales.rows[: len(self.phi)]

    @property
    def moved(self) -> np.ndarray:
        """Mask (n,) of coordinates whose declared values could not be kept."""
        mask = np.zeros(len(self.z), dtype=bool)
        for part in self.parts:
            mask[part.columns] = part.found.moved
        return mask

    @property
    def J(self) -> np.ndarray:
        """Jacobian (m, n), rows scaled to unit length; dense, for mechanisms with few coordinates."""
        whole = np.zeros((len(self.phi), len(self.z)))
        for part in self.parts:
            whole[np.ix_(part.rows, part.columns)] = part.J
        return whole

    @property
    def noticed(self) -> np.ndarray:
        """Mask (n,) of the coordinates that any equation reads."""
        mask = np.zeros(len(self.z), dtype=bool)
        for part in self.parts:
            mask[part.columns] = np.abs(part.J).max(axis=0, initial=0.0) > 0.0
        return mask

    @property
    def redundant(self) -> list[int]:
        """Rows that follow from earlier ones."""
        return sorted(row for part in self.parts for row in part.redundant)

    @property
    def conflict(self) -> int:
        """Number of coordinates that are declared independent in excess of the degrees of freedom."""
        return sum(part.conflict for part in self.parts)

    @property
    def rank(self) -> int:
        """Number of constraints that do not follow from others."""
        return len(self.phi) - len(self.redundant)

    @property
    def mobility(self) -> int:
        """Degrees of freedom."""
        return len(self.z) - self.rank


def close(
    equations: Equations, stated: np.ndarray, stated_velocity: np.ndarray, own: np.ndarray, accepts: Accepts,
    at_cuts: AtCuts,
) -> Closing:  # fmt: skip
    """Find coordinates that satisfy the equations, starting from the declared ones.

    Where fewer coordinates are declared independent than the mechanism has degrees of freedom, further ones keep their
    initial values: of those that determine the others well, first the ``stated`` ones (n,); of rates those of
    ``stated_velocity`` (n,). Of the coordinates that follow from the others, those of ``own`` (n,) are taken first.
    ``accepts`` rejects positions with cut joints of a group whose axes are opposite. Of several closed positions the
    nearest is taken; ``at_cuts`` gives the deviations of cut joints from their stated values.
    """
    problem = equations.problem
    tree, theta = problem.model.tree, equations.theta
    n, first = kinds(tree).size, tree.initial[0]
    scales = scales_of(problem.model, problem.theta, np.array([row[0] for row in equations.rows], dtype=int))
    masks = (stated, stated_velocity, own)

    def deviations(z: np.ndarray, group: Group) -> list[float]:
        return at_cuts(z, group, scales.size)

    parts = [_close(group, theta, problem, masks, accepts, deviations) for group in groups(equations, scales)]
    z, phi = problem.theta[first : first + n].copy(), np.zeros(equations.m)
    held, held_velocity = np.ones((2, n), dtype=bool)
    for part in parts:
        z[part.columns], phi[part.rows] = part.z, part.phi
        held[part.columns], held_velocity[part.columns] = part.held, part.held_velocity
    at = poses(tree, theta, z.tolist())
    return Closing(parts, z, at, phi, held, held_velocity, scales, Inertia(problem.model, problem.theta, at))


def _close(
    group: Group, theta: list[float], problem: Problem, masks: tuple[np.ndarray, ...], accepts: Accepts,
    at_cuts: Callable[[np.ndarray, Group], list[float]],
) -> Part:  # fmt: skip
    """Close one group of equations."""
    columns, units, m = group.columns, group.units, group.m
    free, (stated_angle, stated_rate, own) = ~problem.independent[columns], (mask[columns] for mask in masks)
    first = problem.model.tree.initial[0]
    declared = problem.theta[first : first + len(problem.independent)]

    def every(z: np.ndarray) -> np.ndarray:
        found = declared.copy()
        found[columns] = z * units
        return found

    search = Search(
        group, theta, declared[columns] / units, free, stated_angle, own,
        lambda z: accepts(every(z), group), lambda z: at_cuts(every(z), group),
    )  # fmt: skip
    found = search.find() if group.is_geometric else search.keep()
    z, rows = found.z, group.of_position
    phi, J = group.at(theta, z)
    scaled = unit_rows(J)
    held, held_velocity = np.ones((2, len(columns)), dtype=bool)
    held[found.dependent] = False
    stated = stated_angle | stated_rate
    held_velocity[determined(scaled, free, stated, beyond=True, last=stated_rate, first=own)] = False
    if np.abs(phi[rows]).max(initial=0.0) > CLOSED:  # the smallest gap is where equations lose their rank
        scaled = unit_rows(group.at(theta, search.generic())[1])
    dependent = dependent_rows(scaled[rows])
    stated_twice = sum(rows[row] >= m for row in dependent)  # declared values of cut joints
    conflict = len(rows) - len(dependent) + stated_twice - rank(scaled[rows][:, free])
    J = unit_rows(J)[:m]
    redundant = [int(group.rows[row]) for row in dependent_rows(J)]
    open_rows = phi[:m] * group.row_units[:m]
    return Part(group.rows, columns, z * units, open_rows, J, redundant, conflict, held, held_velocity, found)


def start_from(equations: Equations, closing: Closing, theta: np.ndarray, theta_rho: np.ndarray) -> Start:
    """The start with dependent coordinates where the loops were closed.

    These are first guesses of the solver, which so finds the closing that was checked; they have no derivatives. Euler
    parameters that the norm alone determines are no guesses: they are declared, with the three others. Coordinates that
    had to leave their declared values keep those of the nearest closed position, with derivatives.
    """
    theta, theta_rho = _nearest(equations, closing, theta, theta_rho)
    if equations.initial_measures:
        return solved(equations, closing, theta, theta_rho)
    theta, tree = theta.copy(), equations.problem.model.tree
    guessed = ~closing.held
    for e_0 in np.flatnonzero(kinds(tree) == Column.EULER_0):
        if closing.held[e_0 : e_0 + 4].sum() == 3:  # the norm alone determines the fourth
            guessed[e_0 : e_0 + 4] = False
    guesses = tree.initial[0] + np.flatnonzero(guessed)
    first, n = tree.initial[0], len(closing.z)
    z, velocity = np.where(guessed, closing.z, theta[first : first + n]), slice(first + n, first + 2 * n)
    rates = rates_at(tree, theta, z)
    # a copy of a thousand columns takes as long as a motion
    if theta_rho[guesses].any() or (rates != theta[velocity]).any():
        theta_rho = theta_rho.copy()
        for column in theta_rho.T:
            d_z = np.where(guessed, 0.0, column[first : first + n])
            column[velocity] = _d_rates_at(tree, theta, column, z, d_z)
        theta_rho[guesses] = 0.0
    theta[velocity], theta[guesses] = rates, closing.z[guessed]
    return theta, theta_rho


def _nearest(equations: Equations, closing: Closing, theta: np.ndarray, theta_rho: np.ndarray) -> Start:
    """The start with moved coordinates where the nearest closed position has them."""
    if not closing.moved.any():
        return theta, theta_rho
    tree, declared, declared_rho, numbers = equations.problem.model.tree, theta, theta_rho, theta.tolist()
    theta, theta_rho = theta.copy(), theta_rho.copy()
    position = slice(tree.initial[0], tree.initial[0] + len(closing.z))
    velocity = slice(position.stop, position.stop + len(closing.z))
    for group, part in zip(groups(equations, closing.scales), closing.parts, strict=True):
        if part.found.moved.any():
            own, units = tree.initial[0] + group.columns, group.units
            nearest = Nearest(group, numbers, declared[own] / units, part.found.weights)
            z = newton(group, numbers, part.found.z, np.flatnonzero(part.found.moved).tolist())
            z = nearest.from_position(z)
            theta[own] = z * units
            for column, given in zip(theta_rho.T, declared_rho.T, strict=True):
                column[own] = nearest.derivative(z, given, given[own] / units) * units
    for column, given in zip(theta_rho.T, declared_rho.T, strict=True):
        column[velocity] = _d_rates_at(tree, declared, given, theta[position], column[position])
    theta[velocity] = rates_at(tree, declared, theta[position])
    return theta, theta_rho


def rates_at(tree: Any, theta: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Declared rates (n,) at the coordinates z (n,): bodies that are turned keep their angular velocities."""
    first, n = tree.initial[0], len(z)
    declared, rates = theta[first : first + n], theta[first + n : first + 2 * n].copy()
    for c in np.flatnonzero(kinds(tree) == Column.EULER_0):
        four = slice(c, c + 4)
        if rates[four].any() and (z[four] != declared[four]).any():
            rates[four] = quaternion_product(quaternion_product(rates[four], conjugate(declared[four])), z[four])
    return rates


def _d_rates_at(tree: Any, theta: np.ndarray, d_theta: np.ndarray, z: np.ndarray, d_z: np.ndarray) -> np.ndarray:
    """Derivatives (n,) of ``rates_at`` along a direction of theta and z."""
    first, n = tree.initial[0], len(z)
    stepped = theta + 1j * STEP * d_theta
    rates, velocity = rates_at(tree, stepped, z + 1j * STEP * d_z), slice(first + n, first + 2 * n)
    return np.where(rates == stepped[velocity], d_theta[velocity], rates.imag / STEP)


def solved(equations: Equations, closing: Closing, theta: np.ndarray, theta_rho: np.ndarray) -> Start:
    """The start with the initial block solved from all equations."""
    tree, n = equations.problem.model.tree, len(closing.z)
    first = tree.initial[0]
    position, velocity = slice(first, first + n), slice(first + n, first + 2 * n)
    numbers, held, held_velocity = theta.tolist(), closing.held, closing.held_velocity
    rows, every = equations.of_position, list(range(equations.m + len(equations.initial_measures)))
    z = newton(equations, numbers, np.where(held, theta[position], closing.z), np.flatnonzero(~held).tolist())
    J = equations.at(numbers, z)[1]

    def completed(rates: np.ndarray, kept: np.ndarray, rows: list[int], defect: np.ndarray) -> np.ndarray:
        """Rates of the coordinates: given ones are kept, the others cancel the residual of the rows."""
        found = np.where(kept, rates, 0.0)
        found[~kept] = np.linalg.lstsq(J[rows][:, ~kept], -defect[rows], rcond=RANK_TOLERANCE)[0]
        return found

    start = np.where(held_velocity, rates_at(tree, theta, z), 0.0)
    zd = completed(start, held_velocity, every, equations.rates(numbers, z, start))
    solved, solved_rho = theta.copy(), theta_rho.copy()
    solved[position], solved[velocity] = z, zd
    for k, column in enumerate(theta_rho.T):
        stepped = (theta + 1j * STEP * column).tolist()
        dz = np.where(held, column[position], 0.0)
        dz = completed(dz, held, rows, equations.at(stepped, z + 1j * STEP * dz)[0].imag / STEP)
        dzd = np.where(held_velocity, _d_rates_at(tree, theta, column, z, dz), 0.0)
        defect = equations.rates(stepped, z + 1j * STEP * dz, zd + 1j * STEP * dzd).imag / STEP
        solved_rho[position, k] = dz
        solved_rho[velocity, k] = completed(dzd, held_velocity, every, defect)
    return solved, solved_rho


def kept_by_constraints(equations: Equations, closing: Closing) -> tuple[np.ndarray, np.ndarray]:
    """Masks (n,) of coordinates and of rates that keep their values once only the constraints must hold."""
    if not equations.initial_measures:
        return closing.held, closing.held_velocity
    rows = [row for row in equations.of_position if row < equations.m]
    masks, J = [], closing.J
    for wanted, held in ((rows, closing.held), (list(range(equations.m)), closing.held_velocity)):
        kept = np.ones(len(held), dtype=bool)
        kept[determined(J[wanted], ~held, np.zeros_like(held))] = False
        masks.append(kept)
    return masks[0], masks[1]


# Which initial coordinates keep their declared values when loops are assembled.


def independent_columns(packed: Any, theta: np.ndarray) -> np.ndarray:
    """``packed.kept`` at the numbers theta: of independent Euler parameters the norm determines the largest."""
    mask, initial = packed.kept.copy(), packed.tree.initial[0]
    for first in np.flatnonzero(kinds(packed.tree) == Column.EULER_0):
        if mask[first : first + 4].any():
            values = theta[initial + first : initial + first + 4]
            mask[first + int(np.argmax(np.abs(values)))] = False
    return mask


def held_columns(system: System) -> tuple[int, ...]:
    """Coordinates that keep their initial values in a static equilibrium."""
    found = []
    for index, name in enumerate(getattr(system.model_file.analysis, "hold", ())):
        coordinate = system.coordinate(name)
        if coordinate.column == NONE:
            message = f"{name!r} belongs to a joint that is cut, and cannot be held"
            system.issue(f"analysis.hold[{index}]", message, coordinate.uncut)
        found.append(system.number_of(coordinate))
    return tuple(found)


def initial_measures(system: System, measures: MeasureTable) -> tuple[InitialMeasure, ...]:
    """Independent initial values of cut joints, and velocities that the file states there."""
    found = []
    for joint in system.topology.cut:
        spec = system.joints[joint]
        declared, rated = independent(spec), has_velocity(spec)
        for place, name in enumerate(system.declared_order(joint)):
            if name not in declared | rated:
                continue
            if name.startswith("e"):
                _refuse_orientation(system, joint, name in declared)
                break
            offset = system.theta.add(partial(_start, system, spec, place))
            measure = measures.coordinate(f"{joint}.{name}", f"joints.{joint}.initial")
            found.append(InitialMeasure(measure, offset, offset + 1, f"{joint}.{name}", name in declared))
    return tuple(found)


def _start(system: System, spec: Any, place: int) -> tuple[Scalar, Scalar]:
    """Initial value and rate of one coordinate."""
    return initial_position(system.geometry, spec)[place], initial_velocity(system.geometry, spec)[place]


def _refuse_orientation(system: System, joint: str, is_independent: bool) -> None:
    """Report that a joint without Euler parameters cannot keep an orientation or its rate."""
    if is_independent:
        system.issue(f"joints.{joint}", "an orientation cannot be independent at a joint that is cut")
    elif system.joints[joint].cut:
        system.warnings.append(f"joint {joint} is cut: its stated angular velocity is not used")
    else:
        message = f"joint {joint!r} is the one of its loop that is cut, and its stated angular velocity would be lost"
        hint = f"cut another joint of the loop, or leave the velocity out of {joint!r}"
        system.issue(f"joints.{joint}", message, hint)
