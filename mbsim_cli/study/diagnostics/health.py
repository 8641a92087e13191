"""Diagnostics of each kind of analysis: drift of constraints, convergence, energy, stability; modes as plain data."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from mbsim_cli.errors import some_of
from mbsim_cli.model.layout import Names
from mbsim_cli.model.problem import MODE_NUMBERS, WORK, Block, InverseBlock, Options, Problem
from mbsim_cli.solve.breakpoints import WHOLE
from mbsim_cli.system import cached_property

if TYPE_CHECKING:
    from mbsim_cli.assembly.objectives import Objective

DRIFT = 1e-6  # m or 1: constraints are met to round-off where the solver works
VIOLATED = 1e-3  # m or 1: more than a long step leaves
ENERGY = 1e-2  # of the energy that moves
AT_REST = 1e-9  # of the energy that is stored: less than that does not move
STILL = 1e-9  # m, rad or 1 in the time of the run: coordinates that move by less do not
IMPACTS = 1.5  # order of errors of derivatives where forces begin like this power of a depth, by Hertz, or a higher one
REACH = 2.0  # times the change in a step: gaps as near as that may close and open between its ends
SHOWN = 4  # constraints of a singular position
UNSTABLE = "the smallest disturbance drives the mechanism away from it"
INCONSISTENT = "bodies that deform, whose data do not fit together to the second order, keep it at no step"
UNITS = ("position", "velocity", "acceleration")


class Diagnostics:
    """Diagnostics of an analysis, which read its blocks, none of them empty; no steps, constraints or integrator."""

    report: Any  # dictionary, as ``run --json`` prints it
    # values where a kind of analysis does not compute them:
    details: Any = MappingProxyType({})  # further entries of the report of a run, as plain data
    warnings: Any = ()  # sentences
    drifts: Any = False  # whether constraints are violated by more than round-off
    drift: Any = 0.0  # largest violation of a constraint, m or 1
    steps: Any = 0  # taken
    work: Any = MappingProxyType({})  # counts of an integrator by name
    divided_order: Any = 0.0  # of errors of derivatives if steps are divided where forces begin in them; 0 if none is

    def add(self, block: Any) -> None:
        """Add the next time points."""
        raise NotImplementedError

    def gradients_solved(self, error: float) -> None:
        """Note the relative residual of gradients that are computed after the run."""


class Health(Diagnostics):
    """Largest and mean diagnostics of a run, one pass.

    ``conserves``: whether the equations conserve energy; ``touches`` is ``Problem.touching``; ``unseen``: whether
    forces may begin where none of these gaps closes; ``bends``: whether they may have corners; ``jumps`` (k,) are
    times, s, at which accelerations jump.
    """

    def __init__(
        self,
        options: Options,
        names: Names,
        conserves: bool = True,
        touches: tuple[np.ndarray, np.ndarray] = (np.zeros(0, int), np.zeros(0)),
        unseen: bool = False,
        bends: bool = False,
        jumps: np.ndarray = np.zeros(0),
    ):
        self._options, self._names, self._conserves = options, names, conserves
        self._unseen, self._bends = unseen, bends
        # samples of a motion that laws prescribe may be far apart: work between them is not known
        self._balances = options.analysis != "kinematics"
        self._jumps = jumps[:, None]
        self._column, self._value = touches
        self._above = np.zeros((2, len(self._column)), bool)  # whether ever above the value, and ever below
        self._near = False  # whether a gap may have closed between two time points
        self._gaps: np.ndarray | None = None  # those at the latest time point
        self._stable = True  # the equilibrium that the motion starts at, if it does
        self._singular: list[tuple[float, np.ndarray]] = []  # times behind singular positions, and constraints there
        self._time_points = self._iterations = self._most = 0
        self._counts = np.zeros(len(WORK), np.int64)
        self._drift = np.zeros(3)
        self._violated: float | None = None  # since when constraints are, s
        self._gradient_error = 0.0
        self._reach = 0.0  # largest of ``Block.reach``
        self._work, self._imbalance, self._moved, self._stored = 0.0, 0.0, 0.0, 0.0
        self._fastest = 0.0  # of all coordinates
        self._start: float | None = None  # energy, J
        self._begun = 0.0  # s
        self._last = (0.0, 0.0)  # time and power of the latest time point
        self._missed, self._unexplained = 0.0, 0.0  # work that the trapezoidal rule may miss; imbalance beyond it
        self._change = (0.0, 0.0)  # of time and power to the latest time point
        self._missed_at = (0.0, 0.0)  # work that is missed at jumps, and difference of energy and work

    def add(self, block: Block) -> None:
        self._time_points += len(block.time)
        if block.rest[0] is not None:
            self._stable = block.rest[0].modes.stable
        self._counts += block.work.sum(axis=0)
        if self._column.size:
            self._add_gaps(block.sensors[:, self._column].real - self._value)
        for row in np.flatnonzero(block.singular.any(axis=1)) if block.singular.any() else ():
            self._singular.append((float(block.time[row]), np.flatnonzero(block.singular[row])))
        self._iterations += int(block.iterations.sum())
        self._most = max(self._most, int(block.iterations.max()))
        self._drift = np.maximum(self._drift, [column.max() for column in block.drift.T])  # quicker than along an axis
        if self._violated is None and self._drift[0] > VIOLATED:
            self._violated = float(block.time[np.argmax(block.drift[:, 0] > VIOLATED)])
        self._gradient_error = max(self._gradient_error, float(block.gradient_error.max()))
        self._reach = max(self._reach, block.reach or 0.0)
        if self._balances:
            self._add_energy(block)

    def _add_gaps(self, gaps: np.ndarray) -> None:
        """Take the gaps (B, g) at the next time points in, each relative to where it closes."""
        above = gaps > 0.0
        self._above |= above.any(axis=0), ~above.all(axis=0)
        if not self._near:
            gaps = gaps if self._gaps is None else np.concatenate([self._gaps, gaps])
            nearest = np.minimum(abs(gaps[1:]), abs(gaps[:-1]))
            self._near = bool((~(nearest > REACH * abs(np.diff(gaps, axis=0)))).any())
            self._gaps = gaps[-1:].copy()

    def gradients_solved(self, error: float) -> None:
        self._gradient_error = max(self._gradient_error, error)

    def _add_energy(self, block: Block) -> None:
        """Compare the energy gained with the work done; power is integrated by the trapezoidal rule."""
        time, power = block.time, block.energy[:, 2]
        mechanical = block.energy[:, 0] + block.energy[:, 1]
        if self._start is None:
            self._start = float(mechanical[0])
            self._last, self._begun = (time[0], power[0]), time[0]
        time, power = np.append(self._last[0], time), np.append(self._last[1], power)
        work = self._work + np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(time))
        difference = mechanical - self._start - work
        imbalance = abs(difference)
        self._imbalance = max(self._imbalance, float(imbalance.max()))
        missed = self._missed_at_jumps(time, difference) + self._missed_work(time, power)
        self._unexplained = max(self._unexplained, float((imbalance - missed).max()))
        self._moved = max(self._moved, float(block.energy[:, 0].max()), float(abs(mechanical - self._start).max()))
        self._fastest = max(self._fastest, float(abs(block.velocity).max(initial=0.0)))
        self._stored = max(self._stored, float(abs(block.energy[:, 1]).max()))
        self._work, self._last = float(work[-1]), (time[-1], power[-1])

    def _missed_at_jumps(self, time: np.ndarray, difference: np.ndarray) -> np.ndarray:
        """Work (B,) that the rule misses in intervals with jumps of power, until each of B + 1 times but the first.

        It is all by which the ``difference`` (B,) of energy and work changes there: times of jumps are known, and steps
        of Runge-Kutta methods end at them. On an output time, the interval to either side has the jump.
        """
        near = WHOLE * self._options.step
        jumps = ((time[:-1] - near < self._jumps) & (self._jumps < time[1:] + near)).any(axis=0)
        missed = self._missed_at[0] + np.cumsum(abs(np.diff(difference, prepend=self._missed_at[1])) * jumps)
        self._missed_at = float(missed[-1]), float(difference[-1])
        return missed

    def _missed_work(self, time: np.ndarray, power: np.ndarray) -> np.ndarray:
        """Work (B,) that the trapezoidal rule may miss until each of B + 1 times but the first; 0 for fixed steps.

        An adaptive integrator takes several steps between output times: power may rise and fall there. Second
        differences bound the error of smooth power with a factor of 3, and that of a jump.
        """
        if not self._options.adaptive:
            return np.zeros(len(time) - 1)
        length, change = (np.append(last, np.diff(row)) for last, row in zip(self._change, (time, power), strict=True))
        self._change = (length[-1], change[-1])
        missed = self._missed + np.cumsum(np.maximum(length[1:], length[:-1]) * abs(np.diff(change)) / 4.0)
        self._missed = float(missed[-1])
        return missed + length[1:] * abs(change[1:]) / 4.0  # what the next second difference will tell

    @property
    def drift(self) -> float:
        return float(self._drift[0])

    @property
    def drifts(self) -> bool:
        return self.drift > DRIFT

    @property
    def work(self) -> dict[str, int]:
        """Counts of the integrator of an open tree by name; empty without one."""
        return dict(zip(WORK, self._counts.tolist(), strict=True)) if self._options.integrated else {}

    @property
    def divided_order(self) -> float:
        """Order of errors of derivatives if forces begin or bend in steps of fixed length; 0 if none does.

        It is ``IMPACTS`` if something has touched or let go, or may have, and 2 if dry friction turned round, whose
        slope jumps nowhere, or where forces may have corners: errors depend on where steps lie there.
        """
        if self._options.adaptive:
            return 0.0
        divided = bool(self._counts[WORK.index("rejected")])
        touched = bool(self._above.all(axis=0).any()) or (divided and (self._unseen or self._near))
        return IMPACTS if touched else 2.0 * (divided or self._bends)

    @property
    def steps(self) -> int:
        """Steps taken; the first time point ends none."""
        return self.work.get("steps", self._time_points - 1)

    @property
    def report(self) -> dict[str, Any]:
        iterations = {"mean": self._iterations / max(1, self.steps), "most": self._most}
        moves = self._fastest * (self._last[0] - self._begun) > STILL and self._moved > AT_REST * self._stored
        imbalance = self._imbalance / self._moved if moves else 0.0  # round-off is no motion
        return {
            **({"work": self.work} if self.work else {"iterations": iterations}),
            "drift": dict(zip(UNITS, map(float, self._drift), strict=True)),
            **({"energy_imbalance": imbalance} if self._balances else {}),
            "gradient_error": self._gradient_error,
        }

    @property
    def warnings(self) -> list[str]:
        report, options = self.report, self._options
        found = [] if self._stable else [f"the motion starts at an unstable equilibrium: {UNSTABLE}"]
        if self._violated is not None:
            found.append(
                f"constraints are violated by up to {self.drift:.1e}, first at t = {self._violated:.6g} s: do they "
                "contradict each other, as two laws for one coordinate do? A shorter step helps only where they do not"
            )
        elif self.drifts:
            cure = "a shorter step or tighter tolerance helps where they do not contradict each other"
            found.append(f"constraints drift by up to {self.drift:.1e}; {cure}")
        if report.get("energy_imbalance", 0.0) > ENERGY and self._unexplained > ENERGY * self._moved:
            shorter = "a tighter tolerance, or a shorter step between output times"
            imbalance = f"{report['energy_imbalance']:.1%} of the energy that moves"
            reason = f"try {shorter if options.adaptive else 'a shorter step'}" if self._conserves else INCONSISTENT
            found.append(f"energy and work differ by {imbalance}; {reason}")
        if not options.integrated and report["iterations"]["mean"] > 0.5 * options.max_iterations:
            found.append(f"steps take {report['iterations']['mean']:.1f} iterations on average; try a shorter step")
        if self._gradient_error > 100 * options.gradient_tolerance:
            found.append(
                f"gradients are converged to {self._gradient_error:.1e} only, not {options.gradient_tolerance:.1e}; "
                f"{'' if options.integrated else 'try a larger penalty; '}the motion may pass a singular configuration"
            )
        if self._reach:
            found.append(
                f"stability, and not accuracy, bounds steps of dop853 (they reach {100.0 * self._reach:.0f} % of its "
                "limit): errors of gradients may grow along them without notice; take integrator: esdirk, or with ddm "
                "error_control: sensitivities"
            )
        if self._singular:
            (time, constraints), *others = self._singular
            shown = some_of([self._names.constraints[row] for row in constraints], SHOWN)
            more = f", and {len(others)} more, the last before t = {others[-1][0]:.6g} s" if others else ""
            lost = "lose their" if len(constraints) > 1 else "loses its"
            found.append(
                f"the mechanism passes a singular position before t = {time:.6g} s, where {shown} {lost} rank{more}; "
                "the motion continues on the same branch; other branches are possible"
            )
        return found


class TimePointHealth(Diagnostics):
    """Base of the diagnostics of analyses with one time point and no steps."""

    def __init__(self, problem: Problem, objectives: Sequence["Objective"]):
        self._problem = problem
        self._integrals = [objective.name for objective in objectives if objective.kind == "integral"]
        self._block: Block | None = None

    def add(self, block: Block) -> None:
        """Add the one time point."""
        self._block = block

    @property
    def _free(self) -> list[str]:
        """Names of the coordinates that no force determines, of an equilibrium."""
        rest, names = self._block.rest[0] if self._block else None, self._problem.names.coordinates
        return [] if rest is None else [names[column] for column in rest.held if column not in self._problem.hold]

    @property
    def warnings(self) -> list[str]:
        """Sentences on integrals over time, and on an equilibrium that is unstable."""
        integrals = self._integrals
        found = [f"objective {name} integrates over no time, and is zero; final: reads it" for name in integrals]
        if self._block and (rest := self._block.rest[0]) is not None and not rest.modes.stable:
            found.append(f"the equilibrium is unstable: {UNSTABLE}")
        return found


class RestHealth(TimePointHealth):
    """Diagnostics of a static equilibrium: whether it is stable, and coordinates that no force determines."""

    @cached_property
    def report(self) -> dict[str, Any]:
        assert self._block is not None
        found = self._block.rest[0]
        squares = found.modes.eigenvalues
        return {
            "stability": "stable" if found.modes.stable else "unstable",
            "neutral_coordinates": self._free,
            "natural_frequencies": (np.sqrt(squares[squares.real > 0.0].real) / (2.0 * np.pi)).tolist(),
            "iterations": found.iterations,
            "drift": float(self._block.drift[0, 0]),
        }


class TorqueHealth(Diagnostics):
    """Diagnostics of inverse dynamics: the largest torque, and where."""

    def __init__(self, problem: Problem):
        self._names = problem.names.coordinates
        self._time_points = 0
        self._largest: tuple[float, str, float] = (0.0, "", 0.0)

    def add(self, block: InverseBlock) -> None:
        self._time_points += len(block.time)
        sizes = np.abs(block.torque)
        if sizes.size and not sizes.max() < self._largest[0]:
            row, column = divmod(int(sizes.argmax()), sizes.shape[1])
            found = (float(sizes[row, column]), self._names[column], float(block.time[row]))
            self._largest = max(self._largest, found)

    @property
    def steps(self) -> int:
        """Steps taken; the first time point ends none."""
        return self._time_points - 1

    @property
    def report(self) -> dict[str, Any]:
        return {"largest_torque": dict(zip(("size", "coordinate", "time"), self._largest, strict=True))}


CLOSE = "eigenvalues that meet have no derivatives each for itself: these are NaN"


class LinearHealth(TimePointHealth):
    """Whether small motions stay small."""

    @property
    def found(self) -> Any:
        """The modes, or the responses."""
        assert self._block is not None
        return self._block.linear[0]

    @cached_property
    def report(self) -> dict[str, Any]:
        assert self._block is not None
        return {
            "stability": "stable" if self.found.stable else "unstable",
            "about": self._problem.options.at,
            "neutral_coordinates": self._free,
            "independent_coordinates": list(self.found.independent),
            "iterations": int(self._block.iterations[0]),
            "drift": float(self._block.drift[0, 0]),
        }

    @property
    def warnings(self) -> list[str]:
        warnings, unsteady = super().warnings, self.found.unsteady
        if unsteady.size:
            warnings.append(
                f"the motion is not steady: eigenvalues of {_modes_in_words(unsteady.tolist())} change by up to "
                f"{100 * self.found.drift[unsteady].max():.2g} % in a time constant; they are those of the start alone"
            )
        return warnings


class ModalHealth(LinearHealth):
    """Also which modes are not unique or have no derivatives."""

    @cached_property
    def report(self) -> dict[str, Any]:
        return super().report | {"neutral": self.found.neutral}

    @property
    def details(self) -> dict[str, Any]:
        return {"modes": plain_modes(self.found, self._problem.names)}

    @property
    def warnings(self) -> list[str]:
        found, modes = super().warnings, self.found
        if self._problem.names.parameters:
            groups = {tuple(sorted({k, *others})) for k, others in enumerate(modes.close) if others}
            found += [f"{_modes_in_words(group)}: {CLOSE}" for group in sorted(groups)]
        return found


def plain_modes(found: Any, names: Any) -> list[dict[str, Any]]:
    """Modes as plain data; derivatives by parameter, none without gradients."""
    parts = {name: number(found.value, found.d_value) for name, number in MODE_NUMBERS.items()}
    listed = []
    for k in range(found.value.size):
        shown = zip(names.coordinates, found.shape[:, k], strict=True)
        shape = {name: [float(part.real), float(part.imag)] for name, part in shown}
        entry: dict[str, Any] = {"number": k + 1} | {name: float(part[0][k]) for name, part in parts.items()}
        entry["gradient"] = {
            name: dict(zip(names.parameters, map(float, part[1][k]), strict=True)) for name, part in parts.items()
        }
        listed.append(entry | {"shape": shape, "equal_to": [other + 1 for other in found.close[k]]})
    return listed


class ResponseHealth(LinearHealth):
    """Also whether an input has no response."""

    @property
    def details(self) -> dict[str, Any]:
        """The frequency response: gains and phases by output and input, one a frequency."""
        found = self.found
        response: dict[str, Any] = {
            "frequencies": found.frequencies.tolist(),
            "inputs": dict(zip(found.inputs, found.input_units, strict=True)),
            "outputs": dict(zip(found.outputs, found.output_units, strict=True)),
        }
        for name, part in (("gain", np.abs(found.value)), ("phase", found.phase)):
            response[name] = {
                output: {given: part[:, o, k].tolist() for k, given in enumerate(found.inputs)}
                for o, output in enumerate(found.outputs)
            }
        return {"frequency_response": response}

    @property
    def warnings(self) -> list[str]:
        found, warnings = self.found, super().warnings
        if not found.stable:
            warnings.append("small motions grow by themselves, and inputs have no steady response")
        if found.resonances.size:
            listed = ", ".join(f"{f:g}" for f in found.resonances[:4])
            warnings.append(f"at {listed} Hz nothing damps a resonance: there is no response, and its numbers are NaN")
        return warnings


def _modes_in_words(modes: Sequence[int]) -> str:
    """Modes in words, counted from 1."""
    names = [str(k + 1) for k in modes]
    return f"mode {names[0]}" if len(names) == 1 else f"modes {', '.join(names[:-1])} and {names[-1]}"
