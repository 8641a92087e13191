"""Initial values that contradict each other: a law and a stated start, and velocities that loops do not allow together.

Velocities are those that the file states, and those that laws give.

Positions that the file states without ``independent`` are where the search for closed loops starts, and may move.
Velocities and what a law drives are either kept or refused.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mbsim_cli.assembly.elements.laws import law_at
from mbsim_cli.assembly.parameters.numbers import STEP
from mbsim_cli.assembly.position.closing import Closing, scaled_group
from mbsim_cli.assembly.position.equations import Equations
from mbsim_cli.assembly.position.groups import Group, groups
from mbsim_cli.assembly.position.search import RANK_TOLERANCE, TINY
from mbsim_cli.assembly.tree.geometry import split
from mbsim_cli.assembly.tree.joints import EULER_NAMES, has_position, has_velocity, initial_position, initial_velocity
from mbsim_cli.assembly.tree.system import System, unit_of
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Problem
from mbsim_cli.model.scales import scales_of

AGREES = 1e-3  # of the larger of two values: they are often written with three or four digits
INDEPENDENT = 1e-6  # part of a row that others must lack
NOTHING = 1e-6  # rad or the mechanism's unit of length (a second): values below it agree with zero


def wanted_at_start(problem: Problem, row: int) -> float:
    """What constraint ``row`` asks its measure to be at t = 0."""
    table, theta = problem.model.constraints, problem.theta.tolist()
    law = law_at(problem.model.laws, theta, table.law[row], 0.0) if table.law[row] != NONE else 0.0
    return float(theta[table.theta[row]] + law)


def check_driven(system: System, equations: Equations) -> None:
    """Record laws of motion that begin elsewhere than the coordinate that they drive, or with another velocity."""
    problem, geometry = equations.problem, system.geometry
    declared = system.model_file.constraints
    driven = [row for row, name in enumerate(problem.names.constraints) if _is_driven(declared.get(name))]
    length = scales_of(problem.model, problem.theta).length if driven else 1.0
    automatic = {index for index, _ in problem.automatic}
    for row in driven:
        name = problem.names.constraints[row]
        spec = declared[name]
        joint, coordinate = split(spec.coordinate)
        place, unit = system.declared_order(joint).index(coordinate), unit_of(coordinate)
        nothing = NOTHING * (length if unit == "m" else 1.0)
        target, law = problem.model.constraints.theta[row], problem.model.constraints.law[row]
        stated = initial_position(geometry, system.joints[joint])[place].real
        wanted = wanted_at_start(problem, row)
        fixed = coordinate in has_position(system.joints[joint]) and target not in automatic
        if fixed and _differ(stated, wanted, nothing):
            system.issue(
                f"constraints.{name}",
                f"law {wanted:.6g}, position {stated:.6g} {unit}: at t = 0 the law puts {spec.coordinate} elsewhere "
                f"than joints.{joint}.initial",
                "offset: auto makes the law start from the coordinate's position; or leave one of them out",
            )
        stated = initial_velocity(geometry, system.joints[joint])[place].real
        rate = law_rate(problem, law)
        if coordinate in has_velocity(system.joints[joint]) and _differ(stated, rate, nothing):
            system.issue(
                f"constraints.{name}",
                f"law {rate:.6g}, stated velocity {stated:.6g} {unit}/s: at t = 0 the law moves {spec.coordinate} "
                f"with another velocity than joints.{joint}.initial",
                "leave the velocity out: the law gives it",
            )


def _is_driven(spec: Any) -> bool:
    return spec is not None and spec.type == "motion"


def _differ(a: float, b: float, nothing: float) -> bool:
    return abs(a - b) > max(AGREES * max(abs(a), abs(b)), nothing)


def check_rates(system: System, equations: Equations, closing: Closing, stated: np.ndarray) -> None:
    """Record velocities that the file states and no motion of the loops has together; ``stated`` is a mask (n,)."""
    for group in groups(equations):
        mask = stated[group.columns]
        if mask.any() or equations.initial_measures:
            _check_group(system, _Velocities(equations.problem, group, closing, mask))


def check_laws(system: System, equations: Equations, closing: Closing) -> None:
    """Record equations that follow from others at t = 0, and whose laws ask for another velocity than theirs."""
    problem = equations.problem
    redundant, laws = set(closing.redundant), problem.model.constraints.law
    if not redundant or not (laws != NONE).any():
        return
    for group in groups(equations):
        dependent = [row for row in map(int, group.rows) if row in redundant]
        if dependent and (laws[group.rows] != NONE).any():
            velocities = _Velocities(problem, group, closing, np.zeros(len(group.columns), dtype=bool))
            for row in dependent:
                _check_law(system, velocities, row)


def _check_law(system: System, velocities: "_Velocities", row: int) -> None:
    """A velocity that an equation asks for must be the one that follows from those before it."""
    J, value = velocities.of_equation(row)
    combination = velocities.combination(J)
    if combination is None:
        return
    follows = float(combination @ velocities.values)
    if _differ(value, follows, NOTHING):
        name = velocities.problem.names.constraints[row].partition(".")[0]
        section = "joints" if name in system.joints else "constraints"
        hint = "leave out one of them"
        system.issue(f"{section}.{name}", velocities.opposition(row, value, follows, combination), hint)


def _check_group(system: System, velocities: "_Velocities") -> None:
    """Each is added to the constraints in turn; one that follows from those before it must agree with them."""
    found: dict[str, str] = {}
    for name, row, value in velocities.stated():
        combination = velocities.combination(row)
        if combination is None:
            velocities.add(name, row, value)
            continue
        follows = float(combination @ velocities.values)
        if _differ(value, follows, NOTHING):
            found.setdefault(split(name)[0], velocities.contradiction(name, value, follows, combination))
    for joint, message in found.items():
        hint = "state the velocities of as many coordinates as the mechanism has degrees of freedom"
        deforms = joint in (body.name for body in system.elastic)
        system.issue(f"bodies.{joint}.flexible.initial" if deforms else f"joints.{joint}.initial", message, hint)


class _Velocities:
    """Independent linear equations for the velocities of a group (l,): those of constraints, then stated ones."""

    def __init__(self, problem: Problem, group: Group, closing: Closing, mask: np.ndarray) -> None:
        self.problem, self.group, self.mask = problem, group, mask
        self.units = closing.scales.names
        self.length, self.theta = closing.scales.length, problem.theta.tolist()
        self.system = scaled_group(group, problem, closing.scales)
        self.J = self.system.at(self.theta, closing.z[group.columns] / self.system.columns)[1]
        redundant = set(closing.redundant)
        sizes = np.abs(self.J).max(axis=1, initial=0.0)
        self.first = [i for i, row in enumerate(group.rows) if row not in redundant and sizes[i] > TINY]
        self.rows = self.J[self.first]
        laws = problem.model.constraints.law[group.rows[self.first]]
        self.values = np.array([self._law_rate(law) for law in laws]) / self.system.rows[self.first]
        names = [problem.names.constraints[row] for row in group.rows[self.first]]
        self.names = [f"constraint {name!r}" if law != NONE else "" for name, law in zip(names, laws, strict=True)]

    def stated(self) -> Iterator[tuple[str, np.ndarray, float]]:
        """Name, row (l,) and value of each stated velocity, those declared independent first."""
        columns, names, l = self.group.columns, self.problem.names.coordinates, len(self.mask)
        first = self.problem.model.tree.initial[0] + len(names)
        order = np.argsort(~self.problem.independent[columns], kind="stable")
        for i in order[self.mask[order]]:
            name = names[columns[i]]
            sign = -1.0 if name.startswith("-") else 1.0
            value = sign * self.theta[first + columns[i]] / self.system.columns[i]
            yield name.lstrip("-"), np.where(np.arange(l) == i, sign, 0.0), value
        for row, initial in enumerate(self.system.initial_measures, start=self.system.m):
            yield initial.coordinate, self.J[row], self.theta[initial.rate] / self.system.rows[row]

    def of_equation(self, row: int) -> tuple[np.ndarray, float]:
        """Row (l,) of an equation, and the velocity that it asks for."""
        i = self._place(row)
        return self.J[i], self._law_rate(self.problem.model.constraints.law[row]) / self.system.rows[i]

    def _place(self, row: int) -> int:
        """Where an equation stands in the group."""
        return int(np.flatnonzero(self.group.rows == row)[0])

    def add(self, name: str, row: np.ndarray, value: float) -> None:
        """One more equation."""
        self.rows, self.values = np.vstack([self.rows, row]), np.append(self.values, value)
        self.names.append(f"that of {name} ({value * self._scale(name):.6g} {unit_of(split(name)[1])}/s)")

    def combination(self, row: np.ndarray) -> np.ndarray | None:
        """Factors of the equations whose sum is a row, None where there are none."""
        if not len(self.rows):
            return None
        sizes = np.maximum(np.linalg.norm(self.rows, axis=1), TINY)
        factors = np.linalg.lstsq((self.rows / sizes[:, None]).T, row, rcond=RANK_TOLERANCE)[0] / sizes
        left = row - factors @ self.rows
        return factors if np.linalg.norm(left) < INDEPENDENT * np.linalg.norm(row) else None

    def contradiction(self, name: str, value: float, follows: float, combination: np.ndarray) -> str:
        """What a stated velocity is, and what follows from which others."""
        joint, coordinate = split(name)
        if coordinate in EULER_NAMES:
            others = self._sources(combination, without=f"that of {joint}.")
            return f"the stated angular velocity of {joint} contradicts {others}"
        unit, scale = unit_of(coordinate), self._scale(name)
        return (
            f"the velocity of {name} is stated as {value * scale:.6g} {unit}/s, but from "
            f"{self._sources(combination)} follows {follows * scale:.6g} {unit}/s"
        )

    def _sources(self, combination: np.ndarray, without: str = "\n") -> str:
        """Names of the equations with a part in a combination, in words."""
        parts = zip(self.names, combination, strict=True)
        sources = [source for source, factor in parts if source and abs(factor) > NOTHING]
        return " and ".join(source for source in sources if not source.startswith(without)) or "the constraints"

    def opposition(self, row: int, value: float, follows: float, combination: np.ndarray) -> str:
        """What velocity an equation asks for, and what follows from which others."""
        scale = self.system.rows[self._place(row)]
        unit = f"{self.units[row] or '1'}/s"
        return (
            f"at t = 0 it asks for a velocity of {value * scale:.6g} {unit}, but from "
            f"{self._sources(combination)} follows {follows * scale:.6g} {unit}: no motion has both"
        )

    def _scale(self, name: str) -> float:
        """Unit that a coordinate is measured in here."""
        names = [self.problem.names.coordinates[column].lstrip("-") for column in self.group.columns]
        if name in names:
            return float(self.system.columns[names.index(name)])
        return self.length if unit_of(split(name)[1]) == "m" else 1.0

    def _law_rate(self, law: int) -> float:
        return law_rate(self.problem, law) if law != NONE else 0.0


def law_rate(problem: Problem, law: int) -> float:
    """Derivative of a law at t = 0."""
    return float(law_at(problem.model.laws, problem.theta.tolist(), law, complex(0.0, STEP)).imag / STEP)
