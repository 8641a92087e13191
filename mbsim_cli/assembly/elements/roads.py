"""Roads of the model file, as laws of x."""

from math import pi
from typing import Any

from mbsim_cli.assembly.elements.laws import LawTable, Term, spline_term
from mbsim_cli.assembly.parameters.vectors import Scalar
from mbsim_cli.assembly.tree.system import System
from mbsim_cli.model.codes import Law


class RoadTable:
    """Gives roads as laws; a named road is stored once."""

    def __init__(self, system: System, laws: LawTable):
        self._system, self._laws, self._known = system, laws, dict[str, int]()

    def number(self, road: Any, path: str) -> int:
        """Number of the law of a road given by name, inline, or not at all: a plane at height 0."""
        if isinstance(road, str):
            path = f"roads.{road}"
        if road is None:
            path = "plane"
        if path not in self._known:
            terms = [Term(Law.CONSTANT, 1, lambda: (0.0,))] if road is None else self._terms(road, path)
            self._known[path] = self._laws.add(path, terms)
        return self._known[path]

    def _terms(self, road: Any, path: str) -> list[Term]:
        if isinstance(road, str):
            road, path = self._system.model_file.roads[road], f"roads.{road}"
        n = self._system.geometry.numbers
        match road.type:
            case "flat":
                return [Term(Law.CONSTANT, 1, lambda: (n(road.height),))]
            case "ramp":
                rise = Term(Law.ONE_SIDED, 3, lambda: (n(road.start), n(road.onset), n(road.slope)))
                level = Term(Law.ONE_SIDED, 3, lambda: (n(road.end), n(road.onset), -n(road.slope)))
                return [rise] if road.end is None else [rise, level]
            case "step":
                return [
                    Term(
                        Law.SMOOTH_STEP,
                        4,
                        lambda: (n(road.position), n(road.position) + n(road.width), 0.0, n(road.height)),
                    )
                ]
            case "sinusoidal":
                return [
                    Term(
                        Law.HARMONIC,
                        4,
                        lambda: (n(road.offset), n(road.amplitude), 2 * pi / n(road.wavelength), n(road.phase)),
                    )
                ]
            case "bumps":
                return [self._bump(road, position) for position in road.positions]
            case "sum":
                return [term for name in road.roads for term in self._terms(name, path)]
            case "table":
                rows, curve = self._system.tables.curve(road, path, n)
                return [spline_term(rows, curve, road.extrapolate)]
        return [spline_term(len(road.x), lambda: (n.vector(road.x), n.vector(road.z)), road.extrapolate)]

    def _bump(self, road: Any, position: Any) -> Term:
        n = self._system.geometry.numbers

        def block() -> tuple[Scalar, ...]:
            omega = pi / n(road.length)
            return 0.0, n(road.height), omega, -omega * n(position)

        return Term(Law.SINE_POWER, 3, block).within(lambda: n(position), lambda: n(position) + n(road.length))
