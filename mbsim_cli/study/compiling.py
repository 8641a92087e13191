"""Kernels and expressions that an analysis needs, loaded or compiled before it is timed; ``mbsim compile``."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from mbsim_cli.assembly.objectives import Objective
from mbsim_cli.errors import AnalysisError, InputOutputError, ModelError, UsageError, counted, one_line
from mbsim_cli.kernels.compiler import watch
from mbsim_cli.kernels.compiler.choice import COMPILER
from mbsim_cli.model.codes import INTEGRATORS
from mbsim_cli.model.problem import Problem
from mbsim_cli.spec.analysis import FORMULATIONS, INTEGRATED, lacks_adjoint
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.study.analyses import ANALYSES
from mbsim_cli.study.assembling import Settings, automatic_of, build, load, stated_method
from mbsim_cli.study.evaluation import blocks_of, rehearse
from mbsim_cli.study.listener import SILENT, Listener

COMPILING = (
    "compiling {}{} and what they call, which later runs find in the cache; it takes up to a minute on a quiet machine "
    "with two cores, and three on a busy one"
)
ENOUGH = 100  # steps of an adaptive integrator, after which it has called all of its kernels


@dataclass
class Compiled:
    """Kernels that had to be compiled, by the names of what Python calls, and the seconds of loading and compiling."""

    names: list[str]
    seconds: float = 0.0


def compile_kernels(
    problem: Problem,
    listener: Listener,
    theta: np.ndarray | None = None,
    objectives: Sequence[Objective] = (),
    *,
    in_vain: bool = True,
) -> Compiled:
    """Load or compile the kernels of an analysis by making its first step; report those that are compiled.

    If that step fails, so does the analysis itself, which keeps its results until then. ``objectives`` are those of an
    adjoint. Kernels that cannot be kept are compiled anyway if ``in_vain``, else InputOutputError is raised before.
    Nothing is done where kernels run as Python.
    """
    start, compiled = perf_counter(), Compiled([])
    if COMPILER == "none":
        return compiled
    companion: watch.Companion | None = None  # from the first kernel that is compiled on
    shown, show, ready = ExitStack(), None, 0  # the count of kernels, from the first that is compiled on
    in_complex = np.iscomplexobj(problem.theta if theta is None else theta)

    def begin(name: str) -> None:
        nonlocal show, companion
        if not in_vain:
            require_keeping()
        sentence = "compiling {}{}" if compiled.names else COMPILING
        compiled.names.append(name)
        listener.say(sentence.format(name, " for complex numbers" if in_complex else ""))
        show = show or shown.enter_context(listener.count("kernels ready:"))
        companion = companion or watch.Companion(compile_kernels, problem, SILENT, theta, objectives)
        companion.start()

    def count() -> None:
        nonlocal ready
        ready += 1
        if show:
            show(ready)

    def waits(name: str) -> None:
        listener.say(f"another run compiles {name}; waiting for it")

    options, few, tape = problem.options, first_step(problem), None
    if options.sensitivity == "adjoint" and theta is None:
        tape = ANALYSES[options.analysis].tape(replace(problem, options=replace(options, memory=None)))
    try:
        with shown, watch.watch_compilation(begin, waits, count), suppress(AnalysisError):
            deque(blocks_of(few, theta, tape), maxlen=0)
            if tape:
                rehearse(few, objectives, tape)
    finally:
        if companion:
            companion.stop()
    compiled.seconds = perf_counter() - start
    if compiled.names and watch.STORE.trouble:
        listener.say(f"compiled kernels cannot be kept for later runs: {watch.STORE.trouble}")
    elif compiled.names:
        names = ", ".join(compiled.names)
        listener.say(f"compiled {counted(len(compiled.names), 'kernel')} in {compiled.seconds:.0f} s: {names}")
    return compiled


def first_step(problem: Problem) -> Problem:
    """The problem of its first step alone; of an adaptive integrator, of the steps that call all of its kernels."""
    options = problem.options
    few = replace(options, duration=options.step, max_steps=min(options.max_steps, ENOUGH))
    return replace(problem, options=few)


def require_keeping() -> None:
    """Raise InputOutputError if compiled kernels cannot be kept."""
    if trouble := watch.STORE.check()[0]:
        raise InputOutputError(f"compiled kernels cannot be kept: {trouble}; mbsim doctor says more")


def compile_objectives(objectives: Sequence[Objective]) -> None:
    """Compile the expressions of objectives and load what differentiates them, before the time of solving."""
    for objective in objectives:
        objective.integrand  # noqa: B018
        compile_objectives(objective.operands)


# Small models that need between them the kernels of all others; which these are depends on the analysis. Rare ones are
# missing: lengths measured at a driven start, and inverse dynamics of ball joints under loads alone.

_ARM = """\
mbsim: 1
gravity: [0, 0, -9.81]
parameters: {L: 0.6, amplitude: 0.8}
dh:
  arm:
    rows:
      slide: {variable: d, alpha: 90 deg, link: {mass: 2}}
      turn: {a: L, link: {mass: 1.5, center_of_mass: [-L/2, 0, 0], inertia: {zz: 0.1}}}
points: {tip: {turn: [0.05, 0, 0]}}
sensors:
  r: {type: position, point: turn.tip}
  tilt: {type: angle, vectors: [ground.x, turn.x], axis: turn.z}
  at_turn: {type: reaction, joint: turn}
objectives: {reach: {integral: "dot(r, r)"}}
"""
_SPRING = """\
forces:
  spring: {type: spring_damper, points: [ground.origin, turn.tip], stiffness: 30, damping: 2, natural_length: 0.3}
"""
_LOAD = """\
forces:
  load: {type: force, point: turn.tip, value: [3, -2, 5], law: {type: harmonic, amplitude: 1, frequency: 0.7}}
"""
_DRIVE = """\
constraints:
  drive: {type: motion, coordinate: turn.angle, law: {type: harmonic, amplitude: amplitude, frequency: 1.5}}
"""
_FOUR_BAR = """\
mbsim: 1
parameters: {L: 0.4}
points:
  A: {ground: [0, 0, 0], crank: [0, 0, 0]}
  B: {crank: [L, 0, 0], coupler: [0, 0, 0]}
  C: {coupler: [1.1, 0, 0], rocker: [0.7, 0, 0]}
  D: {ground: [1.2, 0.1, 0], rocker: [0, 0, 0]}
bodies:
  crank: {shape: {type: rod, length: 0.4, mass: 1}}
  coupler: {shape: {type: rod, length: 1.1, mass: 2}}
  rocker: {shape: {type: rod, length: 0.7, mass: 1.5}}
joints:
  A: {type: revolute, bodies: [ground, crank], point: A, axis: z, initial: {angle: 1, independent: true}}
  B: {type: revolute, bodies: [crank, coupler], point: B, axis: z, initial: {angle: -0.4}}
  C: {type: revolute, bodies: [coupler, rocker], point: C, axis: z}
  D: {type: revolute, bodies: [ground, rocker], point: D, axis: z, initial: {angle: 1.9}}
sensors: {b: {type: reaction, joint: B}}
objectives: {load: {integral: b.force.x**2}}
analysis: {step: 1e-3, duration: 3e-3}
"""
_INVERSE = """\
laws: {swing: {type: harmonic, amplitude: amplitude, frequency: 1.5}}
analysis: {type: inverse_dynamics, sampling: 1e-3, duration: 0.01, motion: {all: swing}}
"""
SPECIMENS = {  # texts by the names of files
    "forward_dynamics.yaml": _ARM + _SPRING + _DRIVE + "analysis: {step: 1e-4, duration: 1e-3}\n",
    "closed_loop.yaml": _FOUR_BAR,
    "equilibrium.yaml": _ARM + _SPRING + "analysis: {type: equilibrium}\n",
    "inverse_dynamics.yaml": _ARM + _SPRING + _INVERSE,
    "inverse_dynamics_in_lanes.yaml": _ARM + _LOAD + _INVERSE,
}


METHODS = ("none", "ddm", "adjoint")


class Variant(NamedTuple):
    """One way to analyse a model."""

    model: str
    formulation: str | None
    integrator: str | None
    sensitivity: str
    compiled: Compiled
    refused: str = ""  # why the model does not allow this analysis
    alone: str = ""  # why there is no loop for eight cases of a study; empty if there is one or none was asked for

    @property
    def report(self) -> dict[str, Any]:
        """Plain data, as ``compile --json`` prints them."""
        names = ("model", "formulation", "integrator", "sensitivity", "refused", "alone")
        compiled = {"compiled": self.compiled.names, "seconds": self.compiled.seconds}
        return {name: getattr(self, name) for name in names} | compiled


def precompile(
    paths: Sequence[Path], every: bool, listener: Listener, lanes: bool, stated: Settings
) -> Iterator[Variant]:
    """Compile what the models' analyses need, with and without gradients; ``every``: all formulations, integrators.

    Without ``paths`` the models are ``SPECIMENS``. Also the loops that run eight cases of a study without gradients:
    for models that state one, with ``every``, and where ``lanes`` asks for them.
    """
    texts = None if paths else SPECIMENS
    planned = [(p, *way) for p in paths or map(Path, SPECIMENS) for way in _planned(p, every, stated, texts)]
    with listener.progress("compiling", len(planned)) as show:
        for done, (path, file, settings) in enumerate(planned, 1):
            methods = (study.sensitivity or stated_method(file, Settings()) for study in file.study.values())
            in_lanes = settings.method == "none" and (lanes or every or "none" in methods)
            yield _variant(path, file, settings, listener, in_lanes)
            show(done)
            listener.poll()


def _planned(
    path: Path, every: bool, stated: Settings, texts: Mapping[str, str] | None
) -> Iterator[tuple[ModelFile, Settings]]:
    """A model, read once, with the settings of each variant."""
    file = load(path, stated, texts)
    ways = [stated]
    if every and file.analysis.type == "forward_dynamics":
        ways = _ways(stated)
    elif automatic_of(file, stated).integrator:
        ways = [replace(stated, integrator=name) for name, each in INTEGRATORS.items() if each.adaptive]
    for way in ways:
        for method in METHODS if file.parameters else METHODS[:1]:
            if method != "adjoint" or not lacks_adjoint(file.analysis, way.formulation, way.integrator):
                yield file, replace(way, method=method)


def _ways(stated: Settings) -> list[Settings]:
    """All formulations, those of open trees with all integrators."""
    return [
        replace(stated, formulation=formulation, integrator=integrator)
        for formulation in FORMULATIONS
        for integrator in (INTEGRATORS if formulation in INTEGRATED else (None,))
    ]


def _variant(path: Path, file: ModelFile, settings: Settings, listener: Listener, lanes: bool) -> Variant:
    """Compile for one way to analyse a model; where the file itself asks for it, the model has to allow it."""
    from mbsim_cli.solve.lanes import why_alone
    from mbsim_cli.study.sweep.evaluating import compile_lanes

    method = str(settings.method)
    try:
        assembled = build(file, settings, [] if method == "none" else None)
    except (ModelError, UsageError) as error:
        if settings.formulation is None and method != "adjoint":  # which not every analysis has
            raise
        return Variant(str(path), settings.formulation, settings.integrator, method, Compiled([]), one_line(error))
    options = assembled.problem.options
    compiled = compile_kernels(assembled.problem, listener, objectives=assembled.objectives, in_vain=False)
    alone = why_alone(assembled.problem) if lanes else ""
    if lanes and not alone:
        start = perf_counter()
        compiled.names += compile_lanes(assembled.problem, listener, require_keeping)[0]
        compiled.seconds += perf_counter() - start
    integrator = options.integrator if options.integrated else None
    return Variant(str(path), options.formulation, integrator, method, compiled, alone=alone)
