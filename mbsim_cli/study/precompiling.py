"""Kernels compiled before they are needed, as ``mbsim compile`` does: of given models, or of specimens of each kind."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from mbsim_cli.errors import ModelError, UsageError, one_line
from mbsim_cli.model.codes import INTEGRATORS
from mbsim_cli.study.assembling import Settings, build, load, stated_method
from mbsim_cli.study.compiling import Compiled, compile_kernels
from mbsim_cli.study.listener import Listener
from mbsim_cli.study.sweep.evaluating import compile_lanes, without_lanes

# Small models that need between them the kernels of all others; which these are depends on the analysis.
#
# Rare ones are missing: lengths measured at a driven start, and inverse dynamics of ball joints under loads alone.

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
_SPECIMENS = {
    "forward_dynamics": _ARM + _SPRING + _DRIVE + "analysis: {step: 1e-4, duration: 1e-3}\n",
    "closed_loop": _FOUR_BAR,
    "equilibrium": _ARM + _SPRING + "analysis: {type: equilibrium}\n",
    "inverse_dynamics": _ARM + _SPRING + _INVERSE,
    "inverse_dynamics_in_lanes": _ARM + _LOAD + _INVERSE,
}


@contextmanager
def specimens() -> Iterator[list[Path]]:
    """Files of the models, as long as they are needed."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.yaml" for name in _SPECIMENS]
        for path, text in zip(paths, _SPECIMENS.values(), strict=True):
            path.write_text(text)
        yield paths


# Kernels compiled before any run needs them: by the first steps of a model's analyses.

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
    from mbsim_cli.spec.analysis import lacks_adjoint

    file = load(path, Settings())
    ways = list(_ways()) if every and file.analysis.type == "forward_dynamics" else [Settings()]
    for way in ways:
        for method in METHODS if file.parameters else METHODS[:1]:
            if method != "adjoint" or not lacks_adjoint(file.analysis, way.formulation, way.integrator):
                yield file, replace(way, method=method)


def _ways() -> Iterator[Settings]:
    """All formulations, those of open trees with all integrators."""
    from mbsim_cli.spec.analysis import FORMULATIONS, INTEGRATED

    for formulation in FORMULATIONS:
        for integrator in INTEGRATORS if formulation in INTEGRATED else (None,):
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
    integrator = options.integrator if options.integrated else None
    return Variant(str(path), options.formulation, integrator, method, compiled, alone=alone)
