"""Gradients of several numbers from adjoints of the sensors that they read at stored time points; the work arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from mbsim_cli.kernels.compiler.simd import fitting, padded, zeros
from mbsim_cli.kernels.drivers.pull_back import (
    Asked,
    MotionAdjoints,
    ReactionWork,
    pull_back_reactions,
    pull_balance,
    pull_time_points,
)
from mbsim_cli.kernels.drivers.record import Record
from mbsim_cli.kernels.integrators.ali3p_derivatives import AdjointWork, Pulling
from mbsim_cli.model.codes import Sensor
from mbsim_cli.model.layout import FlexibleNatural, LoadedSignals, Model
from mbsim_cli.model.problem import Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.blocks import is_balanced, with_reactions
from mbsim_cli.solve.constraint_forces import Balance, ReactionReader, jacobians, require_balance, with_identities
from mbsim_cli.solve.initial import Initial
from mbsim_cli.solve.natural.joint_motion import NaturalReactionPuller
from mbsim_cli.solve.redundancy import kept_in_range, preimage, without_columns

Seen = Callable[..., np.ndarray]  # (first, record), and of rows inside steps (first, record, length)


@dataclass(frozen=True)
class Pulled:
    """Derivatives (p, k) of k numbers by the parameters, and the largest relative residual.

    ``undefined`` (k,) marks numbers that read NaN. ``sizes`` (p, k): sums of magnitudes of the
    contributions of ``PARTS`` of the run, unless they are unknown.
    """

    gradient: np.ndarray
    error: float
    undefined: np.ndarray
    sizes: np.ndarray | None = None


def columns_of(problem: Problem, count: int) -> int:
    """Number of columns that are pulled back for ``count`` numbers: 1 for a single number of an open tree.

    Open trees may be large. Elsewhere arrays are small, and kernels for one column would be compiled in addition.
    """
    alone = problem.options.analysis == "forward_dynamics" and problem.options.integrated
    return fitting(count) if alone else padded(count)


def each_defined(pull: Callable[..., Pulled]) -> Callable[..., Pulled]:
    """Keep numbers without a derivative from affecting the derivatives of others.

    ``pull`` is called for ``count`` numbers that read sensors, also reactions if ``reacting``.
    ``seen(first, record)`` gives the adjoints (B, width, p), p ``columns_of`` them, of the sensors at the rows of a
    record, the first of which is the time point ``first``. ``between`` is called after every block of records.
    """

    @wraps(pull)
    def pull_back(
        problem: Problem, tape: Any, count: int, seen: Seen, between: Callable[[], None] = lambda: None,
        reacting: bool = False,
    ) -> Pulled:  # fmt: skip
        found = pull(problem, tape, count, seen, between, reacting)
        if len(found.undefined) == 1 or not np.isnan(found.gradient[:, ~found.undefined]).any():
            return found
        for column in np.flatnonzero(~found.undefined).tolist():  # NaN spreads to all columns

            def of_column(first: int, record: Record, *length: np.ndarray, column: int = column) -> np.ndarray:
                hat = seen(first, record, *length)
                hat[:, :, np.arange(hat.shape[2]) != column] = 0.0
                return hat

            alone = pull(problem, tape, count, of_column, between, reacting)
            found.gradient[:, column] = alone.gradient[:, column]
            if found.sizes is not None and alone.sizes is not None:
                found.sizes[:, column] = alone.sizes[:, column]
        return found

    return pull_back


def added(one: MotionAdjoints, other: MotionAdjoints) -> MotionAdjoints:
    """Sums of adjoints of the motion; ``one`` may have no rows, which stands for zeros."""
    return MotionAdjoints(*map(np.add, one, other)) if len(one.z) else other


def set_aside_undefined(hat: np.ndarray, unknown: np.ndarray, undefined: np.ndarray) -> None:
    """Mark in ``undefined`` (p,) the numbers with NaN adjoints, or that read ``unknown`` sensors (B, width).

    Their adjoints in hat (B, width, p) become zero: NaN would spread to those of other numbers.
    """
    undefined |= np.isnan(hat).any(axis=(0, 1)) | (hat[unknown] != 0.0).any(axis=0)
    hat[:, :, undefined] = 0.0


def work_of(model: Model, theta: np.ndarray, p: int, least: np.ndarray | None = None) -> tuple[AdjointWork, Pulling]:
    """Allocate the work of pull-backs of p columns; ``least`` as in ``Problem``, where equations are solved."""
    _, n, m = allocate.sizes(model)
    dtype = theta.dtype.type
    motion = allocate.work(model, theta, least=least)
    kin: Any = motion.kin
    still: Any = allocate.at_rest(kin)
    if isinstance(model.tree, FlexibleNatural):
        still = still._replace(rate=np.zeros_like(kin.rate), second=np.zeros_like(kin.second))
    columns, seen = allocate.columns(n, m, p, dtype), np.zeros(allocate.sensor_width(model), dtype)
    state = allocate.state(model, dtype)
    work = AdjointWork(kin, still, motion.comp, motion.eq, motion.tangent, motion.projection, columns, state, seen)
    made = allocate.allocators(model)
    adj = made.adjoints(model, theta.size, p, dtype)
    rest = adj._replace(zd=zeros((n, p), dtype), zdd=zeros((n, p), dtype))
    nu = (zeros((m, p), dtype) for _ in range(3))
    virtual, none = (made.virtual(model, p, dtype) for _ in range(2))
    return work, Pulling._make([adj, rest, virtual, none, *nu, np.zeros(n, dtype)])


class InstantPuller:
    """Pulls p adjoints, ``padded``, back at a time point; ``theta`` (len(theta), p) sums those of numbers."""

    def __init__(self, model: Model, theta: np.ndarray, p: int) -> None:
        self._model, self._numbers, self._p = model, theta, p
        self._work, self._pulling = work_of(model, theta, p)
        self.theta = self._pulling.adj.theta

    def pull(
        self, record: Record, *, seen: np.ndarray | None = None, mu: np.ndarray | None = None,
        nu: np.ndarray | None = None, nu1: np.ndarray | None = None, nu2: np.ndarray | None = None,
    ) -> MotionAdjoints:  # fmt: skip
        """Adjoints (N, ..., p) of the motion at the rows of a record: see ``Asked``; None stands for zeros."""
        rows, dtype = len(record.time), self._numbers.dtype.type
        _, n, m = allocate.sizes(self._model)
        none = np.zeros((rows, m, self._p), dtype)
        if mu is not None and nu is None:
            nu = none
        if nu1 is not None or nu2 is not None:
            nu1, nu2 = (none if hat is None else hat for hat in (nu1, nu2))
        given = zip((allocate.sensor_width(self._model), n, m, m, m), (seen, mu, nu, nu1, nu2), strict=True)
        hats = (np.zeros((0, width, self._p)) if hat is None else hat for width, hat in given)
        asked = Asked(*(np.ascontiguousarray(hat, dtype) for hat in hats))
        out = allocate.motion_adjoints(self._model, rows, self._p, dtype)
        pull_time_points(self._model, self._numbers, record, asked, self._work, self._pulling, out)
        return out


class BalancePuller:
    """Pulls p adjoints of accelerations and multipliers back; ``theta`` (len(theta), p) sums those of numbers."""

    def __init__(self, problem: Problem, theta: np.ndarray, p: int, *, redundant: bool) -> None:
        self._model, self._theta = problem.model, theta
        self._balance = Balance(problem, theta, np.zeros((theta.size, 0), theta.dtype), redundant=redundant)
        self._control = allocate.control(problem, redundant=redundant)
        self._work, self._pulling = work_of(self._model, theta, p, problem.least)
        self.theta = self._pulling.adj.theta

    def of(self, record: Record) -> tuple[Record, np.ndarray]:
        """See ``Balance.of``."""
        nothing = allocate.sensitivity_record(self._model, len(record.time), 0, self._theta.dtype.type)
        balanced, _, lost = self._balance.of(record, nothing)
        return balanced, lost

    def pull_back(self, record: Record, hat: MotionAdjoints) -> MotionAdjoints:
        """Adjoints of positions and velocities in place of those of a record of ``of``."""
        out = MotionAdjoints(*(part.copy() for part in hat))
        status = pull_balance(self._model, self._theta, self._control, record, self._work, self._pulling, out)
        require_balance(status, record)
        return out


# Multipliers that objectives read, pulled back to the motion and to numbers.
#
# Where equations depend on each other they are kept in the range of J: lambda = P lambda, J w = lambda, and vary by
# P lambda' + (1 - P) J' w. So an adjoint c of them leaves P c to the multipliers as solved, and (1 - P) c to J.
# Derivation: docs/theory/adjoint.md, section 7.


class MultiplierPuller:
    """Takes the adjoints of sensors of multipliers; ``theta`` (len(theta), p) are the sums of those of numbers.

    ``held`` are the coordinates that keep their values in an equilibrium; ``turning`` is True if equations depend on
    each other.
    """

    def __init__(self, problem: Problem, theta: np.ndarray, p: int, held: np.ndarray, *, turning: bool) -> None:
        self._columns, self._equations = allocate.multiplier_sensors(problem.model)
        self._model, self._numbers, self._held = problem.model, theta, held
        self._at_center = allocate.control(problem, redundant=True).at_center
        self._work = allocate.work(problem.model, theta)
        self._turning = turning
        self._instants = InstantPuller(problem.model, theta, p)
        self.theta = self._instants.theta

    def pull_back(self, record: Record, hat: np.ndarray) -> MotionAdjoints:
        """Adjoints of the motion at the rows of a record; their part of hat (N, width, p) becomes zero."""
        (_, n, m), rows, p = allocate.sizes(self._model), len(hat), hat.shape[2]
        of_equations = zeros((rows, m, p), hat.dtype)
        for column, equation in zip(self._columns, self._equations, strict=True):
            of_equations[:, equation] += hat[:, column]
        hat[:, self._columns] = 0.0
        if not self._turning:
            return MotionAdjoints._make([*(zeros((rows, n, p), hat.dtype) for _ in range(3)), of_equations])
        J = jacobians(self._model, self._numbers, self._at_center, self._work, record.time, record.position)
        J = without_columns(J, self._held)
        carried = np.ascontiguousarray(preimage(J, record.reaction[..., None])[..., 0])  # w (N, n)
        kept = kept_in_range(J, of_equations)  # P c
        away = np.ascontiguousarray(of_equations - kept)
        # Phi' of a velocity w is J w and what laws of time add, which is there without it too
        moved, still = (
            self._instants.pull(record._replace(velocity=velocity), nu1=sign * away)
            for velocity, sign in ((carried, 1.0), (np.zeros_like(carried), -1.0))
        )
        at_rest = (zeros((rows, n, p), hat.dtype) for _ in range(2))
        return MotionAdjoints._make([moved.z + still.z, *at_rest, kept])


class ReactionPuller:
    """Pulls p columns of adjoints of reactions back; ``theta`` (len(theta), p) are the sums of those of numbers."""

    def __init__(self, problem: Problem, theta: np.ndarray, p: int) -> None:
        assert problem.reacting is not None
        self._reacting, self._numbers = problem.reacting, theta
        self.model = model = problem.reacting.model
        dtype = theta.dtype.type
        self.reader = ReactionReader(problem, problem.reacting, theta, zeros((theta.size, 0), dtype))
        (_, _, m), made = allocate.sizes(model), allocate.allocators(model)
        virtual, none = (made.virtual(model, p, dtype) for _ in range(2))
        adj = made.adjoints(model, theta.size, p, dtype)
        self._pulling = ReactionWork(adj, virtual, none, zeros((m, p), dtype), np.zeros(m, dtype))
        self._work, self.theta = allocate.work(model, theta), adj.theta

    def pull_back(self, record: Record, hat: np.ndarray) -> MotionAdjoints:
        """Adjoints of the motion at the rows of a record from those of its reactions, hat (N, width, p)."""
        reacting = self._reacting
        out = allocate.motion_adjoints(self.model, len(hat), hat.shape[2], self._numbers.dtype.type)
        multiplier = with_identities(record.reaction, reacting.identities)
        pull_back_reactions(
            self.model, self._numbers, reacting.reactions, self._work, self._pulling, record, multiplier, hat, out
        )
        return out._replace(lam=np.ascontiguousarray(out.lam[:, : out.lam.shape[1] - reacting.identities]))


def shown_with(reactions: ReactionPuller | NaturalReactionPuller | None, record: Record) -> tuple[Record, np.ndarray]:
    """A record with the reactions, if any, behind its other sensors; and a mask (N, width) of undetermined sensors."""
    if reactions is None:
        return record, np.zeros(record.sensors.shape, bool)
    nothing = allocate.sensitivity_record(reactions.model, len(record.time), 0, record.position.dtype.type)
    sensors, _, unknown = with_reactions(record, nothing, reactions.reader)
    return record._replace(sensors=sensors), unknown


class Readings:
    """Adjoints of ``count`` numbers at the time points of a run; ``undefined`` (p,) are those that read no number.

    ``seen`` is as in ``each_defined``, with adjoints of reactions behind the others if ``reacting``. For rows inside
    steps it is called with their weights in integrals; such rows are not numbered.
    """

    def __init__(self, problem: Problem, initial: Initial, count: int, seen: Seen, reacting: bool) -> None:
        model, theta, p = problem.model, initial.theta, columns_of(problem, count)
        self._seen, self._width = seen, allocate.sensor_width(model)
        self._nothing = allocate.motion_adjoints(model, 0, p, theta.dtype.type)  # no rows: nothing reads reactions
        self._reactions: ReactionPuller | NaturalReactionPuller | None = None
        if reacting and problem.options.natural:
            self._reactions = NaturalReactionPuller(problem, initial, p)
        elif reacting:
            self._reactions = ReactionPuller(problem, theta, p)
        turning = initial.redundant.size > 0
        self._balance = self._multipliers = None
        self._forces = allocate.multiplier_sensors(model)[0]
        if is_balanced(problem, reacting):
            self._balance = BalancePuller(problem, theta, p, redundant=turning)
        if self._forces.size and (turning or self._balance):
            self._multipliers = MultiplierPuller(problem, theta, p, initial.held, turning=turning)
        reading = np.flatnonzero(np.isin(model.sensors.kind, (Sensor.FORCE, Sensor.FORCE_ON_BODY)))
        rows = [np.arange(model.sensors.first[s], model.sensors.first[s + 1]) for s in reading]
        self._loads = np.concatenate([allocate.NO_ROWS, *rows])
        self._loaded = InstantPuller(model, theta, p) if isinstance(model.signals, LoadedSignals) else None
        self.undefined = np.zeros(p, bool)

    def of(self, first: int, record: Record, length: np.ndarray | None = None) -> tuple[np.ndarray, MotionAdjoints]:
        """Adjoints of the sensors (B, width, p) at the rows of a record, and of the motion, of B rows or none.

        Rows inside steps have a ``length`` (B,), their weights in integrals.
        """
        reactions, given = self._reactions, self._nothing
        lost = np.zeros(len(record.time), bool)
        if self._balance:
            record, lost = self._balance.of(record)
        shown, unknown = shown_with(reactions, record)
        unknown[np.ix_(lost, self._forces)] = True
        unknown[lost, self._width :] = True
        hat = self._seen(first, shown) if length is None else self._seen(first, shown, length)
        set_aside_undefined(hat, unknown, self.undefined)
        if reactions:
            hat, of_reactions = (np.ascontiguousarray(part) for part in np.split(hat, [self._width], axis=1))
            given = reactions.pull_back(record, of_reactions)
        if self._multipliers:
            given = added(given, self._multipliers.pull_back(record, hat))
        if self._loaded is not None:
            forces = np.zeros_like(hat)
            forces[:, self._loads] = hat[:, self._loads]
            hat[:, self._loads] = 0.0
            given = added(given, self._loaded.pull(record, seen=forces))
        if self._balance:
            given = self._balance.pull_back(record, given)
        return hat, given

    @property
    def of_parameters(self) -> np.ndarray:
        """Derivatives (q, p) by the parameters that do not come from adjoints of theta; (1, p) zeros if none."""
        if isinstance(self._reactions, NaturalReactionPuller):
            return self._reactions.gradient
        return np.zeros((1, self.undefined.size))

    def add_numbers(self, theta_out: np.ndarray) -> None:
        """Add the adjoints (len(theta), p) of numbers, summed over time points, that the sweep does not pull back."""
        for puller in (self._reactions, self._multipliers, self._loaded, self._balance):
            if puller:
                theta_out += puller.theta
