"""Stored time points: blocks of the rows that kernels fill, and which of them read forces of constraints."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.drivers.record import Record, SensitivityRecord
from mbsim_cli.model.layout import LoadedSignals
from mbsim_cli.model.problem import Block, Options, Problem
from mbsim_cli.solve import allocate

if TYPE_CHECKING:
    from mbsim_cli.solve.constraint_forces import Balance, ReactionReader
    from mbsim_cli.solve.natural.joint_motion import NaturalReactions

Reader: TypeAlias = "ReactionReader | NaturalReactions"

# Integrals over time are summed inside each step by Gauss's rule of order 8, that of ``dop853``.

_NEAR, _FAR = (float(np.sqrt(3 / 7 - sign * 2 / 7 * np.sqrt(6 / 5))) for sign in (1.0, -1.0))
SHARES = 0.5 + 0.5 * np.array([-_FAR, -_NEAR, _NEAR, _FAR])  # of a step that has passed
WEIGHTS = (18.0 + np.sqrt(30.0) * np.array([-1.0, 1.0, 1.0, -1.0])) / 72.0  # of its length
RULE = SHARES, WEIGHTS


def block_of(
    record: Record, d_record: SensitivityRecord, p: int, iterations: np.ndarray, work: np.ndarray,
    reader: "Reader | None", broken: np.ndarray | None = None, free: np.ndarray | None = None,
    singular: np.ndarray | None = None, lost: Mapping[float, str] | None = None,
) -> Block:  # fmt: skip
    """A block; directions beyond the p parameters are dropped, and derivatives in ``broken`` directions are NaN.

    Reactions follow the other sensors. ``lost`` maps times to the reason why forces of constraints are not found.
    """
    sensors, d_sensors, undetermined = with_reactions(record, d_record, reader)
    varied = [array[..., :p] for array in (*d_record[:4], d_sensors)]
    diagnostics = iterations, record.drift, record.energy, d_record.error, work
    rows = record.time.size
    broken = np.zeros((rows, p), np.int64) if broken is None else broken
    free, singular = (np.zeros(record.lam.shape, dtype=bool) if mask is None else mask for mask in (free, singular))
    if broken.any():
        for array in varied:
            if array.shape[2]:  # an adjoint run has none here
                np.copyto(array, np.nan, where=broken[:, None, :] != 0)
    at_rest, reasons, linear = np.full((3, rows), None)
    if lost or (reader and reader.lost):
        known = {**(lost or {}), **(reader.lost if reader else {})}
        reasons[:] = [known.get(t) for t in record.time.real.tolist()]
        undetermined |= np.isnan(sensors) & (reasons != None)[:, None]  # noqa: E711, time point by time point
    findings: list[Any] = [*diagnostics, broken, free, singular, undetermined, at_rest, reasons, linear]
    return Block(*record[:7], sensors, *varied, *findings)


def with_reactions(
    record: Record, d_record: SensitivityRecord, reader: "Reader | None"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sensors (N, width), their derivatives (N, width, p), and which are undetermined; those of reactions last."""
    determined = np.zeros(record.sensors.shape, bool)
    if reader is None:
        return record.sensors, d_record.sensors, determined
    return side_by_side((record.sensors, d_record.sensors, determined), reader.read(record, d_record))


def side_by_side(sensors: Sequence[np.ndarray], behind: Sequence[np.ndarray]) -> Any:
    """Sensors (N, width), and what belongs to them (N, width, ...), with others behind them."""
    return tuple(np.concatenate(pair, axis=1) for pair in zip(sensors, behind, strict=True))


class BrokenOff(AnalysisError):
    """A run that failed after the time points of ``block``."""

    def __init__(self, sentence: str, block: Block) -> None:
        super().__init__(sentence)
        self.block = block


Group = TypeVar("Group", bound=tuple)  # a named tuple of arrays


def first_rows(group: Group, count: int) -> Group:
    """The first rows of every array in a named tuple."""
    return type(group)(*(array[:count] for array in group))


def other_rows(group: Group, first: int) -> Group:
    """The rows from ``first`` on."""
    return type(group)(*(array[first:] for array in group))


def put_back(arrays: Sequence[np.ndarray], kept: Sequence[np.ndarray]) -> None:
    """Write copies of arrays back into these."""
    for array, copied in zip(arrays, kept, strict=True):
        array[...] = copied


# How many steps are made at once: interruption and progress wait for a tenth of a second at most, roughly.
#
# No measured time enters: sums over blocks, and so results, must not depend on the speed of the machine.

PATIENCE = 0.1  # seconds


def steps_at_once(options: Options, n: int, p: int) -> int:
    """Steps (at least 1) per call of the compiled loop, for n coordinates with p directions."""
    if options.implicit:
        seconds = 1e-5 * n * n * (1 + n / 50 + p / 5)  # for one step, roughly
    elif options.formulation == "recursive":
        seconds = 1e-6 * n * (1 + p / 4)
    else:
        seconds = 2e-7 * n * n * (1 + p / 5)
    return max(1, int(PATIENCE / (1e-5 + seconds)))


def is_balanced(problem: Problem, reacting: bool) -> bool:
    """Whether sensors read forces of constraints behind projections, also reactions where they are ``reacting``."""
    options, model = problem.options, problem.model
    projected = options.analysis == "forward_dynamics" and not options.integrated and model.constraints.measure.size > 0
    reads = allocate.multiplier_sensors(model)[0].size > 0 or isinstance(model.signals, LoadedSignals)
    return bool(projected and (reads or (reacting and not options.natural)))  # natural ones are read of the tree


def reader_of(
    problem: Problem, theta: np.ndarray, dtheta: np.ndarray, balance: "Balance | None" = None
) -> "Reader | None":
    """The reader of reactions, if any sensor reads them."""
    if problem.reacting is None:
        return None
    if problem.options.natural:
        from mbsim_cli.solve.natural.joint_motion import NaturalReactions

        return NaturalReactions(problem, problem.reacting, theta, dtheta)
    from mbsim_cli.solve.constraint_forces import ReactionReader

    return ReactionReader(problem, problem.reacting, theta, dtheta, balance)
