"""From a model file to a problem: what a caller replaces, the choice of the method of gradients, and the assembly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbsim_cli import spec
from mbsim_cli.errors import UsageError, counted, option
from mbsim_cli.model.codes import AUTO_INTEGRATOR, INTEGRATORS
from mbsim_cli.model.coordinates import kinds
from mbsim_cli.model.problem import INTEGRATED, Problem
from mbsim_cli.spec.analysis import OF_FORMULATION, lacks_adjoint
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.study.analyses import ANALYSES

if TYPE_CHECKING:
    from mbsim_cli.assembly.parameters.numbers import Numbers
    from mbsim_cli.assembly.problem import Assembled
    from mbsim_cli.assembly.tree.elastic import Supplied

AUTO = "auto"  # value of ``step`` and of ``method``: mbsim chooses


@dataclass(frozen=True)
class Settings:
    """Settings of the command line or of Python that replace those of a file's analysis; None replaces nothing."""

    overrides: Mapping[str, str] = field(default_factory=dict)
    formulation: str | None = None
    integrator: str | None = None
    tolerance: float | None = None
    step: float | str | None = None  # s, or auto
    accuracy: float | None = None  # relative, which the automatic step or tolerance keeps
    duration: float | None = None  # s
    method: str | None = None  # none | ddm | adjoint | auto | fd
    all_numbers: bool = False  # gradients by every number of the file
    memory: float | None = None  # bytes, of an adjoint
    by: tuple[str, ...] | None = None  # parameters of gradients; None: those of the file
    without: tuple[str, ...] = ()  # methods that ``mbsim check`` leaves out

    @property
    def options(self) -> dict[str, Any]:
        """The settings that are options of ``assembly.build``, by name; None keeps the file's value."""
        names = ("formulation", "integrator", "tolerance", "step", "duration", "memory")
        return {name: getattr(self, name) for name in names}


class Automatic(NamedTuple):
    """What mbsim chooses before a run."""

    step: bool
    integrator: bool
    tolerance: bool  # so that errors keep to an accuracy; and the integrator, if none is stated


def automatic_of(model_file: ModelFile, settings: Settings) -> Automatic:
    """What is to be chosen; raises UsageError for an accuracy that neither step nor tolerance depends on."""
    automatic = stated_option(model_file, settings, "step") == AUTO
    integrator = stated_option(model_file, settings, "integrator")
    integrated = stated_option(model_file, settings, "formulation") in INTEGRATED
    controlled = integrated and (integrator in (None, AUTO_INTEGRATOR) or INTEGRATORS[integrator].adaptive)
    to_accuracy = settings.accuracy is not None and not automatic
    if to_accuracy and not controlled:
        reason = f"{option('accuracy')} is what {option('step', 'auto')} keeps to"
        adaptive = " and ".join(name for name, each in INTEGRATORS.items() if each.adaptive)
        raise UsageError(f"{reason}, or the tolerance of {adaptive}; a step that is given has none")
    return Automatic(automatic, integrated and integrator == AUTO_INTEGRATOR, to_accuracy)


def stated_option(model_file: ModelFile, settings: Settings, name: str) -> Any:
    """An option of the analysis: from the settings, else from the file, else None."""
    return getattr(settings, name) or getattr(model_file.analysis, name, None)


# Costs of gradients by the direct method and the adjoint, relative to the time of the analysis without gradients. Both
# handle eight columns at once: parameters or objectives. The factors are mean times measured by
# ``benchmarks/adjoint.py`` for mechanisms of 5 to 43 coordinates, without the work that both methods share.

TOGETHER = 8
STAGES = 5  # of a step of an open tree, at least
# forward dynamics: per block of parameters; the backward sweep, and each further block of objectives
PARAMETERS, SWEEP, FURTHER = 0.7, 1.4, 0.7
STEPPED, SWEPT = 1.4, 2.2  # open trees: per block of parameters; the backward sweep
AGAIN = 0.6  # recomputing the motion from checkpoints, if memory is too small for the whole tape
# equilibrium, in evaluations along eight directions: the search, a block of parameters, a block of objectives
SEARCH, VARIED, PULLED = 10.0, 0.35, 3.0
# inverse dynamics, over the torques: a column of the derivative matrices; the adjoint, and its part per coordinate
ENTRY, TIME_POINT, COORDINATE = 0.042, 2.5, 0.14


class Costs(NamedTuple):
    """Additional time of gradients by each method, relative to the time of the analysis."""

    ddm: float
    adjoint: float

    @property
    def quicker(self) -> str:
        """The faster method; ddm if both take the same time."""
        return "adjoint" if self.adjoint < self.ddm else "ddm"

    def sentence(self) -> str:
        """Both costs in words."""
        other = "ddm" if self.quicker == "adjoint" else "adjoint"
        times = {name: f"{1.0 + getattr(self, name):.1f}" for name in self._fields}
        return f"about {times[self.quicker]} times the analysis alone, and {times[other]} by {other}"


def costs_of(problem: Problem, objectives: int, memory: float) -> Costs:
    """Costs of gradients of ``objectives`` numbers by the problem's parameters, with ``memory`` bytes for the tape."""
    n, p = kinds(problem.model.tree).size, problem.theta_rho.shape[1]
    blocks, further = -(-p // TOGETHER), max(0, -(-objectives // TOGETHER) - 1)
    kind = problem.options.analysis
    if kind == "equilibrium":
        search = SEARCH * -(-n // TOGETHER)
        return Costs(VARIED * blocks / search, PULLED * (1 + further) / search)
    if kind == "inverse_dynamics":
        return Costs(ENTRY * (2 * n + p), (TIME_POINT + COORDINATE * n) * (1 + 0.5 * further))
    if kind == "kinematics":  # both over the samples alone, which are solved three times and more often for positions
        return Costs(VARIED * blocks, PULLED * (1 + further))
    model = problem.system.model if problem.options.natural else problem.model
    n, m = kinds(model.tree).size, model.constraints.measure.size
    rates = 2 * STAGES * n if problem.options.integrated else 0
    of_time_point = 8 * (5 * n + rates + 4 * m + int(model.sensors.first[-1]) + 8)  # on the tape, bytes
    again = AGAIN if steps_of(problem) * of_time_point > memory else 0.0
    if problem.options.integrated:
        return Costs(STEPPED * blocks, SWEPT * (1 + further) + again)
    return Costs(PARAMETERS * blocks, SWEEP + FURTHER * further + again)


def steps_of(problem: Problem) -> int:
    """Number of steps of an analysis; 0 for an equilibrium."""
    return round(problem.options.duration / problem.options.step)


def chosen(model_file: ModelFile, settings: Settings, assembled: "Assembled") -> tuple[str, str]:
    """The faster method of gradients for an assembled model, ddm or adjoint, and the reason in words."""
    from mbsim_cli.solve.tape import MEMORY

    analysis, problem, objectives = model_file.analysis, assembled.problem, len(assembled.objectives)
    if lacking := lacks_adjoint(analysis, settings.formulation, settings.integrator):
        return "ddm", f"{lacking} has no adjoint"
    costs = costs_of(problem, objectives, MEMORY if settings.memory is None else settings.memory)
    p, steps = problem.theta_rho.shape[1], steps_of(problem)
    counts = [counted(p, "parameter"), counted(objectives, "objective"), *([counted(steps, "step")] if steps else [])]
    return costs.quicker, f"{', '.join(counts)}: {costs.sentence()}"


def load(path: str | PathLike[str], settings: Settings, texts: Mapping[str, str] | None = None) -> ModelFile:
    """Read and validate a model file; ``texts`` by file name take the place of files."""
    return spec.load(path, settings.overrides, texts, every_number=settings.all_numbers)


def named_or_only(known: Mapping[str, Any], name: str | None, section: str, example: str = "") -> tuple[str, Any]:
    """Name and entry of the requested item of a section, or of the only one; raises UsageError."""
    if name is None and len(known) == 1:
        return next(iter(known.items()))
    if name is None or name not in known:
        article = "an" if section[0] in "aeiou" else "a"
        asked = f"name {article} {section}" if name is None else f"unknown {section} {name!r}"
        none = f"none: write one under {section}, as {example}" if example else "none"
        raise UsageError(f"{asked}: the model has {', '.join(known) or none}")
    return name, known[name]


def stated_method(model_file: ModelFile, settings: Settings) -> str:
    """Sensitivity method: the caller's, else the file's; gradients by every number are direct where none is stated."""
    stated = settings.method or model_file.analysis.sensitivity.method
    return "ddm" if settings.all_numbers and stated == "none" and settings.method is None else stated


def build(
    model_file: ModelFile, settings: Settings, parameters: Sequence[str] | None, before: "Assembled | None" = None
) -> "Assembled":
    """Assemble a model with gradients by ``parameters``; None takes those of the file, an empty list none.

    For the method auto the model is assembled as for ddm. ``before`` is a model assembled from the same file, whose
    tables are reused. Raises ModelError and UsageError.
    """
    from mbsim_cli import assembly

    kind = model_file.analysis.type
    for name in ANALYSES[kind].without:
        if getattr(settings, name) is not None:
            raise UsageError(f"{option(name)} means nothing to an analysis of type {kind}; leave it out")
    of_file = getattr(model_file.analysis, "formulation", kind)
    formulation, integrated = settings.formulation or of_file, ", ".join(INTEGRATED)
    if settings.integrator and formulation not in INTEGRATED:
        raise UsageError(f"{option('integrator')} is for {integrated}; {formulation} has none to choose from")
    if (formulation in INTEGRATED) != (of_file in INTEGRATED):
        for name in (key.removeprefix(".analysis.") for key in settings.overrides):
            if name in OF_FORMULATION:
                message = f"analysis.{name} is set for {of_file}, the formulation of the file"
                raise UsageError(f"{message}, and has no effect on {formulation}")
    stated = stated_method(model_file, settings)
    own = "adjoint" if stated == "adjoint" else "ddm"
    method = "none" if parameters is not None and not parameters else own
    assembled = assembly.build(
        model_file, sensitivity_parameters=parameters, sensitivity=method, read_table=_read_table,
        standard_input=_standard_input, before=before, **settings.options,
    )  # fmt: skip
    options = assembled.problem.options
    if settings.memory is not None and stated not in ("adjoint", AUTO):
        adjoint = option("sensitivity", "adjoint")
        raise UsageError(f"{option('memory')} is for what an adjoint keeps of a run; add {adjoint}, or leave it out")
    if options.sensitivity == "adjoint":
        from mbsim_cli.study.evaluation import require_adjoint

        require_adjoint(assembled.problem)
    if (settings.step or settings.duration) and options.step > options.duration * (1 + 1e-9):
        raise UsageError(f"the step {options.step:g} s is longer than the duration {options.duration:g} s")
    if settings.tolerance and options.integrated and not options.adaptive:
        what = f"{option('tolerance')} is for adaptive integrators; {options.integrator} takes fixed steps"
        raise UsageError(f"{what}, which {option('step')} sets")
    return assembled


def _standard_input(model_file: ModelFile, name: str, numbers: "Numbers") -> "Supplied":
    from mbsim_cli.study.reduced_bodies import standard_input  # scipy is slow to import, and rigid models need none

    return standard_input(model_file, name, numbers)


def _read_table(path: Path, delimiter: str = ",") -> Mapping[str, np.ndarray]:
    from mbsim_cli.io.tables import read_table

    return read_table(path, delimiter)
