"""Jumps of expressions that forces are made of: where a run goes across a comparison or a sign that changes them.

Expressions are evaluated anew between the stored times where a branch changes, with the branch that is taken and with
the other one. Where the values of both agree there, the expression bends and does not jump.
"""

from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.elements.laws import law_at
from mbsim_cli.model.codes import JUMPING, Operation
from mbsim_cli.model.layout import NONE
from mbsim_cli.model.problem import Block, Branching, Problem
from mbsim_cli.study.diagnostics.steps import Following

SLIGHT = 1e-3  # of the largest value: smaller jumps are not warned of
HALVINGS = 50  # of the time between stored ones
_OF_ONE = ("NEGATE", "SQRT", "EXP", "LOG", "SIN", "COS", "TAN", "SINH", "COSH", "TANH", "ABS", "SIGN")
_NAMED = {"NEGATE": "negative", "ABS": "absolute"}
_OF_TWO = {
    Operation.ADD: np.add,
    Operation.SUBTRACT: np.subtract,
    Operation.MULTIPLY: np.multiply,
    Operation.DIVIDE: np.divide,
    Operation.POWER: np.power,
    Operation.ATAN2: np.arctan2,
    Operation.HYPOT: np.hypot,
    Operation.MINIMUM: np.minimum,
    Operation.MAXIMUM: np.maximum,
    Operation.LESS: np.less,
    Operation.LESS_EQUAL: np.less_equal,
}
_FUNCTIONS = {Operation[name]: getattr(np, _NAMED.get(name, name.lower())) for name in _OF_ONE} | {
    Operation.ASIN: np.arcsin,
    Operation.ACOS: np.arccos,
    Operation.ATAN: np.arctan,
}


class _Jump(NamedTuple):
    time: float
    size: float


class JumpHealth:
    """Which expressions jump, when first and how often, one pass over the stored times."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._theta = problem, problem.theta.real.tolist()
        self._signals: Any = problem.model.signals
        self._largest = [0.0] * len(problem.branchings)
        self._jumps: list[dict[int, list[_Jump]]] = [{} for _ in problem.branchings]  # by the step of the tape
        self._following = Following()

    def add(self, block: Block) -> None:
        """Take the next instants in."""
        if not self._problem.branchings or not len(block.time):
            return
        time, sensors = self._following.of(block)
        with np.errstate(all="ignore"):
            for k, branching in enumerate(self._problem.branchings):
                self._watch(k, branching, time, sensors)

    def _watch(self, k: int, branching: Branching, time: np.ndarray, sensors: np.ndarray) -> None:
        signals, u = self._signals, branching.signal
        read = np.stack([np.zeros_like(time) if row == NONE else sensors[:, row] for row in branching.rows])
        read = np.insert(read, 2, time, axis=0)  # as the places of a tape begin
        values = self._values(u, read)
        self._largest[k] = max(self._largest[k], float(np.nanmax(np.abs(values[signals.result[u]]), initial=0.0)))
        for step in range(signals.first_step[u], signals.first_step[u + 1]):
            if signals.code[step] not in JUMPING:
                continue
            side = values[self._place(u, step)]
            ahead = np.flatnonzero(side[1:] != side[:-1])
            if ahead.size:
                near = self._just_before(u, step, read[:, ahead], read[:, ahead + 1])
                sizes = self._values(u, near, step)[signals.result[u]] - self._values(u, near)[signals.result[u]]
                found = self._jumps[k].setdefault(step, [])
                found += [_Jump(float(t), float(size)) for t, size in zip(time[ahead + 1], sizes, strict=True)]

    def _place(self, u: int, step: int) -> int:
        """Place of what a step of signal u gives."""
        signals = self._signals
        return int(signals.steps[u] + step - signals.first_step[u])

    def _just_before(self, u: int, step: int, before: np.ndarray, behind: np.ndarray) -> np.ndarray:
        """What signal u reads (places, k) just before its step changes, on straight lines between stored times."""
        share, size = np.zeros(before.shape[1]), 1.0
        place = self._place(u, step)
        side = self._values(u, before)[place]
        for _ in range(HALVINGS):
            size *= 0.5
            there = self._values(u, before + (share + size) * (behind - before))
            share += np.where(there[place] == side, size, 0.0)
        return before + share * (behind - before)

    def _values(self, u: int, read: np.ndarray, flipped: int = NONE) -> list[np.ndarray]:
        """All places of a tape from what it reads (places, N); the step ``flipped`` takes the other branch."""
        signals, laws = self._signals, self._problem.model.laws
        offset, count = int(signals.theta[u]), int(signals.steps[u] - signals.numbers[u])
        values = [*read, *(np.full_like(read[0], number) for number in self._theta[offset : offset + count])]
        for step in range(signals.first_step[u], signals.first_step[u + 1]):
            code, (a, b, c) = Operation(int(signals.code[step])), signals.operand[step]
            if code == Operation.LAW:
                found = np.array([law_at(laws, self._theta, int(b), float(x)).real for x in values[a]])
            elif code == Operation.SELECT:
                found = np.where(values[a] != 0.0, values[b], values[c])
            elif code in _FUNCTIONS:
                found = _FUNCTIONS[code](values[a])
            else:
                found = 1.0 * _OF_TWO[code](values[a], values[b])
            if step == flipped:
                found = -found if code == Operation.SIGN else 1.0 - found
            values.append(found)
        return values

    @property
    def warnings(self) -> list[str]:
        """Sentences on expressions that jump."""
        found = []
        codes = getattr(self._signals, "code", ())
        for branching, largest, by_step in zip(self._problem.branchings, self._largest, self._jumps, strict=True):
            for step, every in by_step.items():
                jumps = [jump for jump in every if abs(jump.size) > SLIGHT * largest]
                if not jumps:
                    continue
                what = "a sign" if codes[step] == Operation.SIGN else "a comparison"
                often = f"{len(jumps)} times, first before" if len(jumps) > 1 else "before"
                found.append(
                    f"{branching.place}: the expression jumps where {what} changes, {often} t = {jumps[0].time:.6g} s, "
                    f"by {jumps[0].size:.4g}: steps go across, and derivatives lack the jump; smooth it, as by step or "
                    "tanh"
                )
        return found
