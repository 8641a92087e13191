"""Kernels compiled before any run needs them: by the first steps of a model's analyses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from mbsim_cli.errors import ModelError, UsageError, one_line
from mbsim_cli.model.integrators import INTEGRATORS
from mbsim_cli.study.assembling import build, load, stated_method
from mbsim_cli.study.choice import without_adjoint
from mbsim_cli.study.compiling import Compiled, compile_kernels
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.settings import Settings
from mbsim_cli.study.sweep.lanes import compile_lanes, without_lanes

METHODS = ("none", "ddm", "adjoint")


@dataclass(frozen=True)
class Variant:
    """One way to analyse a model."""

    model: str
    formulation: str | None
    integrator: str | None
    sensitivity: str
    compiled: Compiled
    refused: str = ""  # why such a model has no such analysis
    alone: str = ""  # what has no loop for eight cases of a study, where there might be one

    @property
    def report(self) -> dict[str, Any]:
        """Plain data, as ``compile --json`` prints them."""
        names = ("model", "formulation", "integrator", "sensitivity", "refused", "alone")
        told = {"compiled": self.compiled.names, "seconds": self.compiled.seconds}
        return {name: getattr(self, name) for name in names} | told


def precompile(paths: Sequence[Path], every: bool, listener: Listener, lanes: bool = False) -> Iterator[Variant]:
    """Compile what the models' analyses need, with and without gradients; ``every``: all formulations, integrators.

    Also the loops that run eight cases of a study without gradients: for models that state one, with ``every``, and
    where ``lanes`` asks for them.
    """
    planned = [(path, file, settings) for path in paths for file, settings in _planned(path, every)]
    with listener.progress("compiling", len(planned)) as show:
        for done, (path, file, settings) in enumerate(planned, 1):
            in_lanes = settings.method == "none" and (lanes or every or _varies_without_gradients(file))
            yield _variant(path, file, settings, listener, in_lanes)
            show(done)
            listener.poll()


def _planned(path: Path, every: bool) -> Iterator[tuple[Any, Settings]]:
    """A model, read once, with the settings of each variant."""
    file = load(path, Settings())
    ways = list(_ways()) if every and file.analysis.type == "forward_dynamics" else [Settings()]
    for way in ways:
        for method in METHODS if file.parameters else METHODS[:1]:
            if method != "adjoint" or not without_adjoint(file.analysis, way):
                yield file, replace(way, method=method)


def _ways() -> Iterator[Settings]:
    """All formulations, those of open trees with all integrators."""
    from mbsim_cli.spec.analysis import FORMULATIONS, OPEN_TREES

    for formulation in FORMULATIONS:
        for integrator in INTEGRATORS if formulation in OPEN_TREES else (None,):
            yield Settings(formulation=formulation, integrator=integrator)


def _varies_without_gradients(file: Any) -> bool:
    """Whether a model states a study without gradients."""
    return any((study.sensitivity or stated_method(file, Settings())) == "none" for study in file.study.values())


def _variant(path: Path, file: Any, settings: Settings, listener: Listener, lanes: bool) -> Variant:
    """Compile for one way to analyse a model; where the file itself asks for it, the model has to allow it."""
    method = str(settings.method)
    try:
        assembled = build(file, settings, [] if method == "none" else None)
    except (ModelError, UsageError) as error:
        if settings.formulation is None and method != "adjoint":  # which not every analysis has
            raise
        return Variant(str(path), settings.formulation, settings.integrator, method, Compiled([]), one_line(error))
    options = assembled.problem.options
    compiled = compile_kernels(assembled.problem, listener, objectives=assembled.objectives, in_vain=False)
    alone = without_lanes(assembled.problem) if lanes else ""
    if lanes and not alone:
        start = perf_counter()
        compiled.names += compile_lanes(assembled.problem, listener)
        compiled.seconds += perf_counter() - start
    integrator = options.integrator if options.open_tree else None
    return Variant(str(path), options.formulation, integrator, method, compiled, alone=alone)
