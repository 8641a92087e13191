"""What objectives see of stored instants: covectors of sensors, and of the motion where they see it otherwise."""

import numpy as np

from mbsim_cli.kernels.drivers.pull_back_reactions import MotionCovectors
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.adjoint.balance import BalancePuller
from mbsim_cli.solve.adjoint.multipliers import MultiplierPuller
from mbsim_cli.solve.adjoint.pulled import Seen, columns_of
from mbsim_cli.solve.adjoint.reactions import ReactionPuller, nothing_given
from mbsim_cli.solve.balance import is_balanced
from mbsim_cli.solve.natural.reactions_adjoint import NaturalReactionPuller
from mbsim_cli.solve.tape import Began


class Readings:
    """Covectors of ``count`` numbers at the instants of a run; ``undefined`` (p,) are those that read no number.

    ``seen(first, record)`` gives those (B, width, p), p ``columns_of`` them, of the sensors at the rows of a record,
    the first of which is the instant ``first``; also of reactions, behind the others, where they are ``reacting``.
    """

    def __init__(self, problem: Problem, initial: Began, count: int, seen: Seen, reacting: bool) -> None:
        model, theta, p = problem.model, initial.theta, columns_of(problem, count)
        self._seen, self._width = seen, allocate.sensor_width(model)
        self._nothing = nothing_given(model, p, theta.dtype.type)
        self._reactions = _puller_of(problem, initial, p) if reacting else None
        multipliers, turning = allocate.multiplier_sensors(model)[0].size > 0, initial.redundant.size > 0
        self._balance = self._multipliers = None
        self._forces = allocate.multiplier_sensors(model)[0]
        if is_balanced(problem, reacting):
            self._balance = BalancePuller(problem, theta, p, redundant=turning)
        if multipliers and (turning or self._balance):
            self._multipliers = MultiplierPuller(problem, theta, p, initial.held, turning=turning)
        self.undefined = np.zeros(p, bool)

    def of(self, first: int, record: Record) -> tuple[np.ndarray, MotionCovectors]:
        """Covectors of the sensors (B, width, p) at the rows of a record, and of the motion, of B rows or none."""
        reactions, given = self._reactions, self._nothing
        lost = np.zeros(len(record.time), bool)
        if self._balance:
            record, lost = self._balance.of(record)
        shown, unknown = reactions.show(record) if reactions else (record, np.zeros(record.sensors.shape, bool))
        unknown[np.ix_(lost, self._forces)] = True
        unknown[lost, self._width :] = True
        hat = self._seen(first, shown)
        self.undefined |= np.isnan(hat).any(axis=(0, 1)) | (hat[unknown] != 0.0).any(axis=0)
        hat[:, :, self.undefined] = 0.0  # they are no numbers, and what is left unsolved of them is none
        if reactions:
            hat, of_reactions = (np.ascontiguousarray(part) for part in np.split(hat, [self._width], axis=1))
            given = reactions.pull_back(record, of_reactions)
        if self._multipliers:
            turned = self._multipliers.pull_back(record, hat)
            given = MotionCovectors(*map(np.add, given, turned)) if reactions else turned
        if self._balance:
            given = self._balance.pull_back(record, given)
        return hat, given

    @property
    def of_parameters(self) -> np.ndarray:
        """Derivatives (q, p), or (1, p) zeros, by the parameters that are no covectors of numbers."""
        if isinstance(self._reactions, NaturalReactionPuller):
            return self._reactions.gradient
        return np.zeros((1, self.undefined.size))

    def add_numbers(self, theta_out: np.ndarray) -> None:
        """Add covectors of numbers, summed over instants, that are not pulled back with the motion: (len(theta), p)."""
        for puller in (self._reactions, self._multipliers, self._balance):
            if puller:
                theta_out += puller.theta


def _puller_of(problem: Problem, initial: Began, p: int) -> ReactionPuller | NaturalReactionPuller:
    if problem.options.natural:
        return NaturalReactionPuller(problem, initial, p)
    return ReactionPuller(problem, initial.theta, p)
