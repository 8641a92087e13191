"""Jumps of expressions that forces are made of: where a run goes across a comparison or a sign that changes them.

Expressions are evaluated anew between the stored times where a branch changes, with the branch that is taken and with
the other one. Where the values of both agree there, the expression bends and does not jump.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mbsim_cli.assembly.elements.signals import CODES, WATCHED
from mbsim_cli.kernels.elements.laws import law_value
from mbsim_cli.model.codes import Operation
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import CLOSED_LOOPS, OPEN_TREES, Block, Branching, Problem
from mbsim_cli.spec.expressions.program import OPERATIONS
from mbsim_cli.study.diagnostics.steps import Following

SLIGHT = 1e-3  # of the largest value: smaller jumps are not warned of
HALVINGS = 50  # of the time between stored ones
_VALUES = {CODES[name]: operation.value for name, operation in OPERATIONS.items() if name in CODES}


def _leaps(code: int, before: np.ndarray, behind: np.ndarray) -> np.ndarray:
    """Where an operation changes its branch: of atan2 by more than half a turn, of others at all."""
    return np.abs(behind - before) > (np.pi if code == Operation.ATAN2 else 0.0)


LACKING = "derivatives lack the jump"
_CHANGES = {
    Operation.SIGN: "a sign changes",
    Operation.ATAN2: "atan2 jumps by a turn",
    **dict.fromkeys((Operation.LESS, Operation.LESS_EQUAL), "a comparison changes"),
}


class Expressions:
    """Expressions that may jump, step by step; ``theta`` has axes behind its own where numbers vary."""

    def __init__(self, problem: Problem, theta: np.ndarray | None = None):
        self.signals: Any = problem.model.signals
        self._laws, self._theta = problem.model.laws, problem.theta.real if theta is None else theta
        self._constant = problem.theta.real  # of laws, whose numbers do not vary here

    def read(self, branching: Branching, time: np.ndarray, sensors: np.ndarray) -> np.ndarray:
        """What an expression reads (places, N), from sensors (N, width): g, g', t, and its inputs."""
        read = [np.zeros_like(time) if row == NONE else sensors[:, row] for row in branching.rows]
        return np.stack([*read[:2], time, *read[2:]])

    def place(self, u: int, step: int) -> int:
        """Place of what a step of expression u gives."""
        return int(self.signals.steps[u] + step - self.signals.first_step[u])

    def steps(self, u: int, codes: Any) -> list[int]:
        """Steps of expression u that are such operations."""
        return [k for k in range(*self.signals.first_step[u : u + 2]) if self.signals.code[k] in codes]

    def read_by(self, u: int, places: Iterable[int]) -> tuple[set[int], set[int]]:
        """Places of expression u that some depend on, themselves included, and the codes of their operations."""
        found, codes, ahead = set[int](), set[int](), list(places)
        while ahead:
            place = ahead.pop()
            step = place - int(self.signals.steps[u]) + int(self.signals.first_step[u])
            if place not in found and step >= self.signals.first_step[u]:
                code = int(self.signals.code[step])
                codes.add(code)
                count = 3 if code == Operation.SELECT else 1 if code >= Operation.NEGATE or code == Operation.LAW else 2
                ahead += self.signals.operand[step, :count].tolist()
            found.add(place)
        return found, codes

    def values(self, u: int, read: np.ndarray, flipped: int = NONE) -> list[np.ndarray]:
        """All places of an expression from what it reads (places, N); the step ``flipped`` takes the other branch."""
        signals = self.signals
        offset, count = int(signals.theta[u]), int(signals.steps[u] - signals.numbers[u])
        values = [*read, *(number + np.zeros_like(read[0]) for number in self._theta[offset : offset + count])]
        for step in range(signals.first_step[u], signals.first_step[u + 1]):
            code, (a, b, c) = Operation(int(signals.code[step])), signals.operand[step]
            if code == Operation.LAW:
                found = np.array([law_value(self._laws, self._constant, b, float(x))[0] for x in values[a].real])
            elif code >= Operation.NEGATE:
                found = _VALUES[code](values[a])
            else:
                operands = (a, b, c) if code == Operation.SELECT else (a, b)
                found = _VALUES[code](*(values[place] for place in operands))
            if step == flipped:
                turned = found - np.copysign(2.0 * np.pi, found)
                found = turned if code == Operation.ATAN2 else -found if code == Operation.SIGN else 1.0 - found
            values.append(found)
        return values


class JumpHealth:
    """Expressions that jump: first time and number of jumps, in one pass over the stored times."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._expressions = problem, Expressions(problem)
        self._largest = [0.0] * len(problem.branchings)
        self._jumps: list[dict[int, list[tuple[float, float]]]] = [{} for _ in problem.branchings]  # times and sizes
        self._following = Following()

    def add(self, block: Block) -> None:
        time, sensors = self._following.of(block)
        with np.errstate(all="ignore"):
            for k, branching in enumerate(self._problem.branchings):
                self._watch(k, branching, time, sensors)

    def _watch(self, k: int, branching: Branching, time: np.ndarray, sensors: np.ndarray) -> None:
        expressions, u = self._expressions, branching.signal
        read, result = expressions.read(branching, time, sensors), expressions.signals.result[u]
        values = expressions.values(u, read)
        self._largest[k] = max(self._largest[k], float(np.nanmax(np.abs(values[result]), initial=0.0)))
        for step in expressions.steps(u, WATCHED):
            side = values[expressions.place(u, step)]
            ahead = np.flatnonzero(_leaps(expressions.signals.code[step], side[:-1], side[1:]))
            if ahead.size:
                near = self._just_before(u, step, read[:, ahead], read[:, ahead + 1])
                sizes = expressions.values(u, near, step)[result] - expressions.values(u, near)[result]
                found = self._jumps[k].setdefault(step, [])
                found += zip(map(float, time[ahead + 1]), map(float, sizes), strict=True)

    def _just_before(self, u: int, step: int, before: np.ndarray, behind: np.ndarray) -> np.ndarray:
        """Inputs of signal u (places, k) just before its step changes, interpolated linearly between stored times."""
        share, size = np.zeros(before.shape[1]), 1.0
        code, place = self._expressions.signals.code[step], self._expressions.place(u, step)
        side = self._expressions.values(u, before)[place]
        for _ in range(HALVINGS):
            size *= 0.5
            there = self._expressions.values(u, before + (share + size) * (behind - before))
            share += np.where(_leaps(code, there[place], side), 0.0, size)
        return before + share * (behind - before)

    @property
    def warnings(self) -> list[str]:
        found: dict[tuple[str, int], str] = {}
        other = CLOSED_LOOPS[0] if self._problem.model.constraints.measure.size else OPEN_TREES[0]
        instead = "" if self._problem.options.integrated else f", or use formulation: {other}, whose steps end there"
        codes = getattr(self._expressions.signals, "code", ())
        for branching, largest, by_step in zip(self._problem.branchings, self._largest, self._jumps, strict=True):
            for step, every in by_step.items():
                jumps = [(time, size) for time, size in every if abs(size) > SLIGHT * largest]
                if not jumps:
                    continue
                often = f"{len(jumps)} times, first before" if len(jumps) > 1 else "before"
                when = f"{often} t = {jumps[0][0]:.6g} s, by {jumps[0][1]:.4g}"
                key = branching.place, step
                if branching.place.startswith("cables.") and codes[step] == Operation.ATAN2:
                    key = branching.place, NONE  # once: a cable has many forces
                    off = "it leaves the side that it goes round, or wraps more than 315 degrees"
                    sentence = f"the cable jumps by a turn about a pulley, {when} N: {off}; {LACKING}"
                else:
                    advice = f"steps go across, and {LACKING}; smooth it, as by step or tanh{instead}"
                    sentence = f"the expression jumps where {_CHANGES[codes[step]]}, {when}: {advice}"
                found.setdefault(key, f"{branching.place}: {sentence}")
        return list(found.values())
