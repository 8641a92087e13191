"""Objectives of an analysis, with gradients by the direct method or the adjoint."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli.errors import AnalysisError, UsageError, option
from mbsim_cli.kernels.compiler.arguments import forget
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.solve.sides import jumped
from mbsim_cli.spec.analysis import WITH_ADJOINT, WITHOUT_ADJOINT, without_adjoint
from mbsim_cli.study.analyses import ANALYSES, AdjointRequest
from mbsim_cli.study.diagnostics.undetermined import Grazing, UndefinedDirections, UnknownReactions, leaves, masked
from mbsim_cli.study.listener import SILENT, Listener
from mbsim_cli.study.objectives import Accumulator, accumulators, by_few, explicit_parameters
from mbsim_cli.study.streams import with_expressed

if TYPE_CHECKING:
    from mbsim_cli.assembly.densities import DensityField
    from mbsim_cli.assembly.objectives import Objective
    from mbsim_cli.kernels.drivers.record import Record
    from mbsim_cli.solve.resolution import NoSteps, Resolution


def require_adjoint(problem: Problem) -> None:
    """Raise UsageError where an analysis has no adjoint."""
    options = problem.options
    if options.analysis in WITHOUT_ADJOINT:
        raise UsageError(f"{WITHOUT_ADJOINT[options.analysis]} has no adjoint; use {option('sensitivity', 'ddm')}")
    if lacking := without_adjoint(options.formulation, options.integrator, options.error_control):
        raise UsageError(f"{lacking} has no adjoint: {WITH_ADJOINT}; use {option('sensitivity', 'ddm')}")


def reads_reactions(problem: Problem, objectives: Sequence["Objective"]) -> bool:
    """Whether an objective reads a reaction."""
    width = int(problem.model.sensors.first[-1])
    reactions = range(width, width + (problem.reacting.width if problem.reacting else 0))
    read = [leaf for objective in objectives for leaf in leaves(objective)]
    return any(leaf.sensors[name].start in reactions for leaf in read for name in leaf.integrand.sensors)


class Adjoint:
    """The adjoint of one run: the tape of the run, and the gradients of all objectives after it.

    ``accumulators`` hold derivatives at a fixed motion, by the few parameters that objectives read directly.
    """

    def __init__(self, problem: Problem, objectives: Sequence["Objective"]):
        require_adjoint(problem)
        self._problem, self._objectives, self._analysis = problem, objectives, ANALYSES[problem.options.analysis]
        self.tape = self._analysis.tape(problem)
        self._explicit = sorted(set().union(*map(explicit_parameters, objectives)))
        few = (by_few(objective, self._explicit) for objective in objectives)
        self.accumulators = accumulators(few, len(self._explicit))
        self.error = 0.0  # residual of its linear systems, relative
        self.moved: dict[str, np.ndarray] = {}  # derivatives (w,) by the numbers that fields move
        self.sizes: dict[str, np.ndarray] = {}  # (p,) magnitudes of what derivatives are sums of, if known
        self.grazed: np.ndarray = np.zeros((0, 0))

    def at_fixed_motion(self, block: Block) -> Block:
        """The block with zeros as derivatives of its sensors (B, width, number of explicit parameters)."""
        fixed = block._replace(d_sensors=np.broadcast_to(0.0, (*block.sensors.shape, len(self._explicit))))
        inside = tuple(map(self.at_fixed_motion, getattr(block, "inside", ())))
        return fixed._replace(inside=inside) if inside else fixed

    def gradients(
        self, accumulators: Mapping[str, Any], between: Callable[[], None], grazing: Grazing | None = None
    ) -> dict[str, np.ndarray]:
        """Derivatives (p,) of every objective by name, after the run; ``between`` is called after each block.

        Sets ``error``, ``moved``, ``sizes``, and ``grazed`` (E, p): the derivatives of the gaps of E grazing events.
        """
        from mbsim_cli.solve.adjoint.readings import columns_of

        problem, p = self._problem, self._problem.theta_rho.shape[1]
        if problem.moved is not None and problem.moved.shape[1]:  # numbers that fields move, as further parameters
            problem = replace(problem, theta_rho=np.hstack([problem.theta_rho, problem.moved]))
        if not accumulators or not problem.theta_rho.shape[1]:
            return {name: np.zeros(0) for name in accumulators}
        reacting = reads_reactions(self._problem, self._objectives)
        events = grazing.weights(self.tape.time) if grazing else ()
        count = len(accumulators) + len(events)
        columns = columns_of(self._problem, count)
        adjoints = SensorAdjoints(list(accumulators.values()), columns, self.tape.time, events)
        found = self._analysis.pull_back(problem, self.tape, AdjointRequest(count, adjoints, between, reacting))
        self.error = found.error
        gradients = dict(zip(accumulators, found.gradient[:p].T.copy(), strict=False))
        self.moved = dict(zip(accumulators, found.gradient[p:].T.copy(), strict=False))
        if found.sizes is not None:
            self.sizes = dict(zip(accumulators, found.sizes[:p].T, strict=False))
        self.grazed = found.gradient[:p, len(accumulators) :].T.copy()
        by_fields = found.gradient[p:, len(accumulators) :]
        for name, gradient in gradients.items():
            gradient[self._explicit] += accumulators[name].gradient
            if np.isnan(accumulators[name].value):  # zero adjoints would leave finite derivatives
                gradient[:] = self.moved[name][:] = np.nan
            self.moved[name][by_fields.any(axis=1)] = np.nan
        return gradients


def rehearse(problem: Problem, objectives: Sequence["Objective"], tape: Any) -> None:
    """Sweep back through a tape with zero adjoints: this compiles the kernels of the adjoint."""
    from mbsim_cli.solve.adjoint.readings import columns_of

    count = max(1, len(objectives))
    width = columns_of(problem, count)
    request = AdjointRequest(
        count,
        lambda first, record, *length: np.zeros((*record.sensors.shape, width), record.sensors.dtype),
        lambda: None,
        reads_reactions(problem, objectives),
    )
    ANALYSES[problem.options.analysis].pull_back(problem, tape, request)


class SensorAdjoints:
    """Adjoints of the sensors: derivatives of objectives by the values of sensors at each time point.

    ``single`` lists (time points, sensor row, weights) of further numbers; their columns follow the objectives'.
    """

    def __init__(self, accumulators: Sequence[Accumulator], columns: int, time: np.ndarray, single: Sequence[Any] = ()):
        self._columns, self._single, self._behind = columns, single, len(accumulators)
        self._streams = [
            (column, factor, factor * stream.weights(time), stream)
            for column, found in enumerate(accumulators)
            for factor, stream in found.streams
        ]
        # at time points of intervals that are split: columns, and adjoints of sensors
        self._at_splits = dict[float, list[tuple[int, np.ndarray, np.ndarray]]]()
        for column, factor, _, stream in self._streams:
            for split in stream.splits:
                weights = factor * stream.of_value(split.weights, split.at)
                for at, rows in zip(split.time.tolist(), weights, strict=True):
                    for each, row in zip(at, rows, strict=True):
                        self._at_splits.setdefault(each, []).append((column, split.read, row))

    def __call__(self, first: int, record: "Record", length: np.ndarray | None = None) -> np.ndarray:
        """Adjoints (B, width, p) at the rows of a record; rows inside steps weigh a ``length`` (B,) in integrals."""
        rows = slice(first, first + record.time.size)
        out = np.zeros((*record.sensors.shape, self._columns), record.sensors.dtype)
        for column, factor, weights, stream in self._streams:
            here = weights[rows] if length is None else factor * stream.weight_inside * length
            used = np.flatnonzero(here)  # integrands without weight may be undefined
            if not used.size:
                continue
            objective, by_sensors = stream.objective, out[:, :, column]
            sensors = {name: record.sensors[used, objective.sensors[name]] for name in objective.integrand.sensors}
            found = objective.integrand.linearised(sensors, record.time[used], objective.values)
            factors = here[used] * stream.share(np.asarray(found.value))
            for name, partial in found.by_sensor.items():
                by_sensors[used, objective.sensors[name]] += factors[:, None] * partial
            splits = None if length is None else stream.splits_inside(record.time, length, record.sensors)
            if splits:
                of_splits = factor * stream.of_value(*stream.weights_of_splits(splits))
                np.add.at(out[:, :, column], (splits.rows[..., None], stream.columns), of_splits)
        if length is not None:
            return out
        for row, time in enumerate(record.time.tolist() if self._at_splits else ()):
            for column, read, of_split in self._at_splits.get(time, ()):
                out[row, read, column] += of_split
        for column, (points, row, slopes) in enumerate(self._single, start=self._behind):
            here = (points >= first) & (points < first + record.time.size)
            out[points[here] - first, row, column] = slopes[here]
        return out


class Gradient(NamedTuple):
    """A value and its derivatives (p,), with errors; those by ``undefined`` parameters are NaN for a reason."""

    value: float
    gradient: np.ndarray
    uncertainty: Any = None  # ``Uncertainty``; None if errors are not estimated
    undefined: Mapping[str, str] = {}
    error: float = 0.0  # residual of the linear systems of an adjoint, relative
    moved: np.ndarray | None = None  # (w,) derivatives by the numbers that fields move
    largest: float | None = None  # extreme value at a time point, which a smooth maximum or minimum approximates
    has_corners: bool = False  # whether the integrand of a sum over time had corners between time points


def blocks_of(problem: Problem, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Block]:
    """Every time point of an analysis; ``theta`` may replace its numbers, a ``tape`` keeps what an adjoint needs."""
    last = -1.0
    try:
        for block in solved(problem, theta, tape):
            last = block.time[-1] if len(block.time) else last
            yield block
            del block
            forget()  # remembered arguments of kernels hold its memory, which is for the next one
    except AnalysisError as failure:
        from mbsim_cli.assembly.table_ends import until_left

        if theta is None and not np.iscomplexobj(problem.theta):
            yield from until_left(problem, last, lambda changed: solved(changed, None), failure)
        raise
    finally:
        forget()


def solved(problem: Problem, theta: np.ndarray | None, tape: Any = None) -> Iterator[Block]:
    """The blocks of the analysis as its solver gives them."""
    blocks = ANALYSES[problem.options.analysis].solve(problem, theta=theta, tape=tape)
    return blocks if not problem.expressed else (with_expressed(problem.expressed, block) for block in blocks)


def evaluate(
    problem: Problem,
    objectives: Sequence["Objective"],
    consumers: Sequence[Callable[[Block], None]] = (),
    resolution: "Resolution | NoSteps | None" = None,
    listener: Listener = SILENT,
    reactions: UnknownReactions | None = None,
    title: str = "",
) -> dict[str, Gradient]:
    """Run the analysis once; every block goes to the consumers. Return the objectives.

    Objectives need every step, so thinning is left to the consumers. ``resolution`` observes how well the steps
    resolve the motion; without it errors are not estimated. One of the consumers may watch ``reactions``. With a
    ``title`` the listener shows progress.
    """
    options, names = problem.options, problem.names.parameters
    forward = options.analysis == "forward_dynamics"
    unknown, undefined = reactions or UnknownReactions(problem, objectives), UndefinedDirections(problem.names)
    consumers = [*consumers, *([] if reactions else [unknown.add]), undefined.add]
    grazing = None
    if problem.gaps and options.differentiates and forward:
        grazing = Grazing(problem, problem.theta_rho.shape[1] if options.sensitivity == "ddm" else 0)
        consumers.append(grazing.add)
    adjoint = Adjoint(problem, objectives) if options.sensitivity == "adjoint" else None
    with listener.progress(title, options.duration) if title else nullcontext(lambda done: None) as show:
        consumers.append(lambda block: show(float(block.time[-1])))
        found = accumulated(problem, objectives, consumers, resolution=resolution, listener=listener, adjoint=adjoint)
        gradients = {name: each.gradient for name, each in found.items()}
        if adjoint:
            gradients = adjoint.gradients(found, listener.poll, grazing)
    reasons = undefined.reasons
    if grazing and grazing.events:
        reasons = grazing.reasons(adjoint.grazed if adjoint else None) | reasons
    results = {}
    for name, each in found.items():
        gradient, uncertainty, largest = gradients[name], None, getattr(each, "largest", None)
        if resolution is not None:
            uncertainty = each.uncertainty
            if adjoint:
                off = 0.0 if options.analysis == "equilibrium" else np.nan
                uncertainty = uncertainty.with_gradient(np.full(len(gradient), off), adjoint.sizes.get(name))
            if not resolution.enough:
                uncertainty = uncertainty._replace(errors=np.full(len(uncertainty.errors), np.nan))
        lacks = np.isnan(gradient)
        why: dict[str, str] = {}
        if each.reason:
            why = {parameter: each.reason for parameter, d in zip(names, lacks, strict=True) if d}
        why |= reasons
        if forward and lacks.any():  # where samples jump on output times
            jumps = [(names[k], reason) for _, columns, reason in jumped(problem) for k in columns if lacks[k]]
            why |= {parameter: reason for parameter, reason in jumps if parameter not in reasons}
        of_adjoint = (adjoint.error, adjoint.moved.get(name)) if adjoint else (0.0, None)
        largest, gradient = None if largest is None else float(largest), masked(gradient, names, reasons)
        numbers = float(each.value), gradient, uncertainty
        results[name] = Gradient(*numbers, why, *of_adjoint, largest, each.has_corners)
    require_finite(problem, results, unknown.objectives)
    return results


def by_fields(fields: "Sequence[DensityField]", results: Mapping[str, Gradient]) -> dict[str, dict[str, np.ndarray]]:
    """Derivatives (ne,) by the elements of fields, by objective and field."""
    if not fields:
        return {}
    from mbsim_cli.assembly.densities import field_gradients

    moved = {name: result.moved for name, result in results.items() if result.moved is not None}
    return {name: field_gradients(fields, hat) for name, hat in moved.items()}


def accumulated(
    problem: Problem,
    objectives: Sequence["Objective"],
    consumers: Sequence[Callable[[Block], None]] = (),
    theta: np.ndarray | None = None,
    resolution: "Resolution | NoSteps | None" = None,
    listener: Listener = SILENT,
    adjoint: Adjoint | None = None,
) -> dict[str, Accumulator]:
    """Run the analysis once; return the objectives' accumulators by name, with an ``adjoint`` at a fixed motion."""
    found = adjoint.accumulators if adjoint else accumulators(objectives, problem.theta_rho.shape[1])
    with np.errstate(all="ignore"):  # the caller reports numbers that are not finite
        for block in blocks_of(problem, theta, adjoint.tape if adjoint else None):
            shift = resolution.add(block) if resolution and len(block.time) else None
            read = adjoint.at_fixed_motion(block) if adjoint else block
            for each in found.values():
                each.add(read, shift)
            for consume in consumers if len(block.time) else ():  # an empty block has no time points
                consume(block)
            del block, read  # their memory is for the next one
            listener.poll()
    return found


def require_finite(problem: Problem, results: Mapping[str, Gradient], unknown: Collection[str]) -> None:
    """Raise AnalysisError if an objective is not finite, except the ``unknown`` ones, which warnings explain."""
    options = problem.options
    for name, result in results.items():
        if name in unknown:
            continue
        if not np.isfinite(result.value):
            causes = "divide by zero, overflow, take a root or logarithm below zero, or call a law beyond its table"
            raise AnalysisError(f"objective {name} is not a finite number; on this motion its expression may {causes}")
        if np.count_nonzero(~np.isfinite(result.gradient)) <= len(result.undefined):
            continue
        why = "on this motion its expression may have no derivative, as a distance of zero has none"
        if options.adaptive and not options.implicit and options.error_control == "motion":
            grow = f"derivatives grow without bound along the steps of {options.integrator}"
            why += f", or {grow}, which the motion alone chooses: try integrator: esdirk"
        raise AnalysisError(f"the gradient of objective {name} is not a finite number; {why}")
