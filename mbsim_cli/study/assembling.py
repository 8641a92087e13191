"""From a model file to a problem: what a caller replaces, the choice of the method of gradients, and the assembly.

``Settings`` holds what the command line or Python replaces in a file's analysis; ``costs_of`` and ``chosen`` compare
the direct method with the adjoint before a run; ``build`` assembles.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.errors import UsageError, option
from mbsim_cli.model.coordinates import kinds
from mbsim_cli.model.problem import INTEGRATED, Problem
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.study.analyses import ANALYSES

# Settings that replace those of a file's analysis.

AUTO = "auto"  # a step that is chosen


@dataclass(frozen=True)
class Settings:
    """Settings of the command line or of Python that replace those of a file's analysis; None replaces nothing."""

    overrides: Mapping[str, str] = field(default_factory=dict)
    formulation: str | None = None
    integrator: str | None = None
    tolerance: float | None = None
    step: float | str | None = None  # s, or auto
    accuracy: float | None = None  # of an automatic step
    duration: float | None = None
    method: str | None = None
    all_numbers: bool = False  # gradients by every number of the file
    memory: float | None = None  # bytes, of an adjoint
    by: tuple[str, ...] | None = None  # parameters of gradients; None: those of the file
    without: tuple[str, ...] = ()  # methods whose agreement is not checked

    @property
    def options(self) -> dict[str, Any]:
        """Those that replace an option of the analysis, by name; None replaces nothing."""
        names = ("formulation", "integrator", "tolerance", "step", "duration", "memory")
        return {name: getattr(self, name) for name in names}


# Costs of gradients by two exact methods, estimated before a run, in units of the time that it takes without them.
#
# Both take eight columns at a time: the direct method parameters, the adjoint objectives. The factors are means of
# the times that ``benchmarks/adjoint.py`` measures, of mechanisms of 5 to 43 coordinates, without those that both
# methods share.

TOGETHER = 8
STAGES = 5  # of a step of an open tree, at least
# of forward dynamics, over the motion: a block of parameters along with it; a sweep back, and what more objectives add
PARAMETERS, SWEEP, FURTHER = 0.7, 1.4, 0.7
STEPPED, SWEPT = 1.4, 2.2  # the same of open trees
AGAIN = 0.6  # the motion made once more, where there is no memory for all of it: objectives are not
# of an equilibrium, over one evaluation along eight directions
SEARCH, VARIED, PULLED = 10.0, 0.35, 3.0
# of inverse dynamics, over the torques: entries of their matrices; instants and their coordinates pulled back
ENTRY, INSTANT, COORDINATE = 0.042, 2.5, 0.14


class Costs(NamedTuple):
    """Times of gradients by each method, beyond that of the analysis alone, over it."""

    ddm: float
    adjoint: float

    @property
    def quicker(self) -> str:
        """The method that takes less; the direct one where both take the same."""
        return "adjoint" if self.adjoint < self.ddm else "ddm"

    def sentence(self) -> str:
        """Both, in words."""
        other = "ddm" if self.quicker == "adjoint" else "adjoint"
        times = {name: f"{1.0 + getattr(self, name):.1f}" for name in self._fields}
        return f"about {times[self.quicker]} times the analysis alone, and {times[other]} by {other}"


def costs_of(problem: Problem, objectives: int, memory: float) -> Costs:
    """Costs of gradients of so many objectives by a problem's parameters; ``memory`` bytes may hold its instants."""
    n, p = kinds(problem.model.tree).size, problem.theta_rho.shape[1]
    blocks, further = -(-p // TOGETHER), max(0, -(-objectives // TOGETHER) - 1)
    kind = problem.options.analysis
    if kind == "equilibrium":
        search = SEARCH * -(-n // TOGETHER)
        return Costs(VARIED * blocks / search, PULLED * (1 + further) / search)
    if kind == "inverse_dynamics":
        return Costs(ENTRY * (2 * n + p), (INSTANT + COORDINATE * n) * (1 + 0.5 * further))
    if kind == "kinematics":  # both over the samples alone, which are solved three times and more often for positions
        return Costs(VARIED * blocks, PULLED * (1 + further))
    again = AGAIN if steps_of(problem) * _bytes_of_instant(problem) > memory else 0.0
    if problem.options.integrated:
        return Costs(STEPPED * blocks, SWEPT * (1 + further) + again)
    return Costs(PARAMETERS * blocks, SWEEP + FURTHER * further + again)


def steps_of(problem: Problem) -> int:
    """Steps of an analysis; none of an equilibrium."""
    return round(problem.options.duration / problem.options.step)


def _bytes_of_instant(problem: Problem) -> int:
    """The bytes that an adjoint keeps of an instant."""
    model = problem.system.model if problem.options.natural else problem.model
    n, m = kinds(model.tree).size, model.constraints.measure.size
    rates = 2 * STAGES * n if problem.options.integrated else 0
    return 8 * (5 * n + rates + 4 * m + int(model.sensors.first[-1]) + 8)


# Which of two exact methods gives gradients sooner: the direct one, by its parameters, or the adjoint.


def chosen(model_file: ModelFile, settings: Settings, assembled: Any) -> tuple[str, str]:
    """The method for an assembled model, and why in words."""
    from mbsim_cli.solve.tape import MEMORY
    from mbsim_cli.spec.analysis import lacks_adjoint

    analysis, problem, objectives = model_file.analysis, assembled.problem, len(assembled.objectives)
    lacking = lacks_adjoint(analysis, settings.formulation, settings.integrator)
    if lacking:
        return "ddm", f"{lacking} has no adjoint"
    costs = costs_of(problem, objectives, MEMORY if settings.memory is None else settings.memory)
    p, steps = problem.theta_rho.shape[1], steps_of(problem)
    counts = [counted(p, "parameter"), counted(objectives, "objective"), *([counted(steps, "step")] if steps else [])]
    return costs.quicker, f"{', '.join(counts)}: {costs.sentence()}"


def counted(number: int, what: str) -> str:
    """A number of things in words."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# From a model file to a problem, with what the caller replaces.


def load(path: str | PathLike[str], settings: Settings, texts: Mapping[str, str] | None = None) -> Any:
    """Read and validate a model file; ``texts`` by file name take the place of files."""
    from mbsim_cli import spec

    return spec.load(path, settings.overrides, texts, every_number=settings.all_numbers)


def named_or_only(known: Mapping[str, Any], name: str | None, section: str, example: str) -> tuple[str, Any]:
    """Name and entry of a section of the model file: the one asked for, or the only one; raises UsageError."""
    if name is None and len(known) == 1:
        return next(iter(known.items()))
    if name is None or name not in known:
        article = "an" if section[0] in "aeiou" else "a"
        asked = f"name {article} {section}" if name is None else f"unknown {section} {name!r}"
        has = ", ".join(known) or f"none: write one under {section}, as {example}"
        raise UsageError(f"{asked}: the model has {has}")
    return name, known[name]


def stated_method(model_file: ModelFile, settings: Settings) -> str:
    """Sensitivity method: the caller's, else the file's; gradients by every number are direct where none is stated."""
    stated = settings.method or model_file.analysis.sensitivity.method
    return "ddm" if settings.all_numbers and stated == "none" and settings.method is None else stated


def build(model_file: ModelFile, settings: Settings, parameters: Sequence[str] | None, before: Any = None) -> Any:
    """Assemble a model; ``parameters`` are those of the direct method, None for the file's choice.

    A method that is still to be chosen is taken for the direct one. What was assembled ``before`` of the same file
    saves time.
    """
    from mbsim_cli import assembly

    kind = model_file.analysis.type
    for name in ANALYSES[kind].without:
        if getattr(settings, name) is not None:
            raise UsageError(f"{option(name)} means nothing to an analysis of type {kind}; leave it out")
    formulation = settings.formulation or getattr(model_file.analysis, "formulation", kind)
    if settings.integrator and formulation not in INTEGRATED:
        raise UsageError(
            f"{option('integrator')} is for {', '.join(INTEGRATED)}; {formulation} has none to choose from"
        )
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


def by_adjoint(assembled: Any) -> Any:
    """The same model, differentiated by the adjoint."""
    options = replace(assembled.problem.options, sensitivity="adjoint")
    problem, choices = replace(assembled.problem, options=options), assembled.choices | {"sensitivity": "adjoint"}
    return replace(assembled, problem=problem, choices=choices)


def _standard_input(model_file: ModelFile, name: str, numbers: Any) -> Any:
    from mbsim_cli.study.reduced_bodies import standard_input  # scipy is slow to import, and rigid models need none

    return standard_input(model_file, name, numbers)


def _read_table(path: Path, delimiter: str = ",") -> Mapping[str, np.ndarray]:
    from mbsim_cli.io.tables import read_table

    return read_table(path, delimiter)
