"""Analyses and their objectives: blocks of instants, consumed once."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mbsim_cli.assembly.densities import DensityField, field_gradients
from mbsim_cli.errors import AnalysisError
from mbsim_cli.kernels.compiler.arguments import forget
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.study.adjoint import Adjoint
from mbsim_cli.study.analyses import ANALYSES
from mbsim_cli.study.diagnostics.reactions import UnknownReactions
from mbsim_cli.study.diagnostics.undefined import UndefinedDirections, masked
from mbsim_cli.study.listener import SILENT, Listener
from mbsim_cli.study.objectives import accumulators
from mbsim_cli.study.objectives.maximum import Maximum


@dataclass(frozen=True)
class Gradient:
    """A value and its derivatives (p,) by the parameters of the analysis, and their estimated discretisation errors.

    Derivatives by ``undefined`` parameters are NaN, for a reason.
    """

    value: float
    gradient: np.ndarray
    uncertainty: Any = None  # objectives.uncertainty.Uncertainty; None where only numbers are compared
    undefined: Mapping[str, str] = field(default_factory=dict)
    error: float = 0.0  # relative size of what an adjoint left unsolved
    moved: np.ndarray | None = None  # (w,) derivatives by the numbers that fields move
    largest: float | None = None  # value at an instant, that a smooth maximum stands for


def blocks_of(problem: Problem, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Any]:
    """Every instant of the analysis that the problem asks for; ``theta`` may replace the numbers of a simulation.

    A ``tape`` keeps what an adjoint needs.
    """
    last = -1.0
    try:
        for block in solved(problem, theta, tape):
            last = block.time[-1] if len(block.time) else last
            yield block
            del block  # its memory is for the next one
    except AnalysisError as failure:
        from mbsim_cli.assembly.ranges import until_left

        if theta is None and not np.iscomplexobj(problem.theta):
            yield from until_left(problem, last, lambda changed: solved(changed, None), failure)
        raise
    finally:
        forget()


def solved(problem: Problem, theta: np.ndarray | None, tape: Any = None) -> Iterator[Any]:
    """The blocks of the analysis as its solver gives them."""
    analysis = ANALYSES[problem.options.analysis]
    return analysis.blocks(problem, theta) if tape is None else analysis.taped(problem, tape)


def resolution_of(problem: Problem, parameters: Sequence[Any], times: np.ndarray | None = None) -> Any:
    """What watches how well the steps of an analysis resolve its motion, and its derivatives by ``parameters``."""
    from mbsim_cli.solve import resolution

    return resolution.resolution_of(problem, [parameter.value for parameter in parameters], times)


def evaluate(
    problem: Problem,
    objectives: Sequence[Any],
    consumers: Sequence[Callable[[Block], None]] = (),
    resolution: Any = None,
    listener: Listener = SILENT,
    reactions: UnknownReactions | None = None,
) -> dict[str, Gradient]:
    """Run the analysis once; every block goes to the consumers. Return the objectives.

    Objectives need every step, so thinning is left to the consumers. ``resolution`` watches how well the steps
    resolve the motion; one of the consumers may watch ``reactions``.
    """
    unknown, undefined = reactions or UnknownReactions(problem, objectives), UndefinedDirections(problem.names)
    watch = (*consumers, *(() if reactions else (unknown.add,)), undefined.add)
    adjoint = Adjoint(problem, objectives) if problem.options.sensitivity == "adjoint" else None
    found = accumulated(problem, objectives, watch, resolution=resolution, listener=listener, adjoint=adjoint)
    gradients = {name: a.gradient for name, a in found.items()}
    if adjoint:
        gradients = adjoint.gradients(found, listener.poll)
    reasons, parameters = undefined.reasons, problem.names.parameters
    results = {
        name: Gradient(
            float(a.value),
            masked(gradients[name], parameters, reasons),
            _uncertainty(a, resolution, len(gradients[name]) if adjoint else None, problem.options.analysis),
            reasons,
            adjoint.error if adjoint else 0.0,
            adjoint.moved.get(name) if adjoint else None,
            float(a.largest) if isinstance(a, Maximum) else None,
        )
        for name, a in found.items()
    }
    require_finite(results, unknown.objectives)
    return results


def _uncertainty(found_by: Any, resolution: Any, unseen: int | None, analysis: str) -> Any:
    """That of a value and of its derivatives; those of so many ``unseen`` ones are not known where time passes."""
    found = found_by.uncertainty
    if unseen is not None:
        found = found.with_gradient(np.full(unseen, 0.0 if analysis == "equilibrium" else np.nan))
    return found if resolution is None or resolution.enough else found.unknown()


def by_fields(fields: Sequence[DensityField], results: Mapping[str, Gradient]) -> dict[str, dict[str, np.ndarray]]:
    """Derivatives (ne,) by the elements of fields, by objective and field."""
    moved = {name: result.moved for name, result in results.items() if fields and result.moved is not None}
    return {name: field_gradients(fields, hat) for name, hat in moved.items()}


def accumulated(
    problem: Problem,
    objectives: Sequence[Any],
    consumers: Sequence[Callable[[Block], None]] = (),
    theta: np.ndarray | None = None,
    resolution: Any = None,
    listener: Listener = SILENT,
    adjoint: Adjoint | None = None,
) -> dict[str, Any]:
    """Accumulators of the objectives after a run; inside a shield, interruption waits for the end of a block.

    With an ``adjoint.whole_run`` their derivatives are those at a fixed motion.
    """
    found = adjoint.accumulators if adjoint else accumulators(objectives, problem.theta_rho.shape[1])

    def add(block: Block) -> None:
        shift = resolution.add(block) if resolution else None
        seen = adjoint.at_fixed_motion(block) if adjoint else block
        for each in found.values():
            each.add(seen, shift)
        for take in consumers:
            take(block)

    with np.errstate(all="ignore"):  # what is not finite is reported by the caller, as a sentence
        for block in blocks_of(problem, theta, adjoint.tape if adjoint else None):
            if len(block.time):  # none where the next instant is far
                add(block)
            del block  # its memory is for the next one
            listener.poll()
    return found


def require_finite(results: Mapping[str, Gradient], unknown: Collection[str]) -> None:
    """Raise AnalysisError where an objective is no number, other than those that are known not to be."""
    for name, result in results.items():
        undefined = np.count_nonzero(~np.isfinite(result.gradient)) > len(result.undefined)
        if name not in unknown and (undefined or not np.isfinite(result.value)):
            raise AnalysisError(
                f"objective {name} is not a finite number; its integrand may divide by zero or overflow on this motion"
            )
