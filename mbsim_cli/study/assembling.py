"""From a model file to a problem, with what the caller replaces."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from mbsim_cli.caller import either, option
from mbsim_cli.errors import UsageError
from mbsim_cli.model.problem import OPEN_TREES
from mbsim_cli.study.analyses import ANALYSES
from mbsim_cli.study.choice import AUTO
from mbsim_cli.study.settings import Settings


def load(path: str | PathLike[str], settings: Settings, texts: Mapping[str, str] | None = None) -> Any:
    """Read and validate a model file; ``texts`` by file name take the place of files."""
    from mbsim_cli import spec

    return spec.load(path, settings.overrides, texts, every_number=settings.all_numbers)


def stated_method(model_file: Any, settings: Settings) -> str:
    """Sensitivity method: the caller's, else the file's; gradients by every number are direct where none is stated."""
    stated = settings.method or model_file.analysis.sensitivity.method
    return "ddm" if settings.all_numbers and stated == "none" and settings.method is None else stated


def build(model_file: Any, settings: Settings, parameters: Sequence[str] | None, before: Any = None) -> Any:
    """Assemble a model; ``parameters`` are those of the direct method, None for the file's choice.

    A method that is still to be chosen is taken for the direct one. What was assembled ``before`` of the same file
    saves time.
    """
    from mbsim_cli import assembly

    _require_applicable(model_file.analysis.type, settings)
    formulation = settings.formulation or getattr(model_file.analysis, "formulation", model_file.analysis.type)
    if settings.integrator and formulation not in OPEN_TREES:
        raise UsageError(
            f"{option('integrator')} is for open trees ({', '.join(OPEN_TREES)}); {formulation} has none to choose from"
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
        adjoint = option("sensitivity", "adjoint") + either(" (mbsim check: --method adjoint)", "")
        raise UsageError(f"{option('memory')} is for what an adjoint keeps of a run; add {adjoint}, or leave it out")
    if options.sensitivity == "adjoint":
        from mbsim_cli.study.adjoint import require_adjoint

        require_adjoint(assembled.problem)
    if (settings.step or settings.duration) and options.step > options.duration * (1 + 1e-9):
        raise UsageError(f"the step {options.step:g} s is longer than the duration {options.duration:g} s")
    if settings.tolerance and options.open_tree and not options.adaptive:
        what = f"{option('tolerance')} is for adaptive integrators; {options.integrator} takes fixed steps"
        raise UsageError(f"{what}, which {option('step')} sets")
    return assembled


def by_adjoint(assembled: Any) -> Any:
    """The same model, differentiated by the adjoint."""
    options = replace(assembled.problem.options, sensitivity="adjoint")
    problem, choices = replace(assembled.problem, options=options), assembled.choices | {"sensitivity": "adjoint"}
    return replace(assembled, problem=problem, choices=choices)


def _require_applicable(kind: str, settings: Settings) -> None:
    """Raise UsageError for an option that the kind of analysis has no use for."""
    for name in ANALYSES[kind].without:
        if getattr(settings, name) is not None:
            raise UsageError(f"{option(name)} means nothing to an analysis of type {kind}; leave it out")


def _standard_input(model_file: Any, name: str, numbers: Any) -> Any:
    from mbsim_cli.study.reducing import standard_input  # scipy is slow to import, and rigid models need none

    return standard_input(model_file, name, numbers)


def _read_table(path: Path, delimiter: str = ",") -> Mapping[str, np.ndarray]:
    from mbsim_cli.io.tables import read_table

    return read_table(path, delimiter)
