"""From a model file to numbers: what ``run`` and ``check`` share."""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from mbsim_cli.cli.health import health_of
from mbsim_cli.cli.output import say
from mbsim_cli.cli.reactions import UnknownReactions
from mbsim_cli.cli.signals import poll
from mbsim_cli.cli.undefined import UndefinedDirections, masked
from mbsim_cli.errors import AnalysisError, UsageError
from mbsim_cli.model.problem import OPEN_TREES, Block, Problem

COMPILING = "compiling kernels, once: this takes a minute or two, later runs start at once"
COMPILING_COMPLEX = "compiling kernels for complex numbers, once: this takes minutes, later checks start at once"
NOT_KEPT = "compiled kernels cannot be kept for later runs: {}"
WAITING = "another run compiles the same kernels; waiting for it"
STEP = 1e-30  # of a complex step; its square vanishes beside any value
CONVERGED = 1e-15  # tolerance under a complex step: the imaginary part converges one iteration after the real one
_WITHOUT = {  # options that an analysis has no use for
    "inverse_dynamics": ("formulation", "integrator", "tolerance"),
    "equilibrium": ("formulation", "integrator", "tolerance", "step", "accuracy", "duration"),
}


@dataclass(frozen=True)
class Settings:
    """What the command line replaces in a file's analysis."""

    overrides: Mapping[str, str] = field(default_factory=dict)
    formulation: str | None = None
    integrator: str | None = None
    tolerance: float | None = None
    step: float | str | None = None  # s, or auto
    accuracy: float | None = None  # of an automatic step
    duration: float | None = None
    method: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What replaces an option of the analysis; None replaces nothing."""
        names = ("formulation", "integrator", "tolerance", "step", "duration")
        return {name: getattr(self, name) for name in names}


@dataclass
class Timing:
    """Seconds spent, as ``run --json`` reports them; together about what the command takes."""

    load: float = 0.0
    compile: float = 0.0
    solve: float = 0.0
    write: float = 0.0

    _within = 0.0  # seconds of phases inside the one that runs

    @contextmanager
    def phase(self, name: str, begun: float | None = None) -> Iterator[None]:
        """Count what is done here to a phase, and not to one around it; ``begun`` tells of an earlier beginning."""
        start = perf_counter() if begun is None else begun
        around, self._within = self._within, 0.0
        try:
            yield
        finally:
            spent = perf_counter() - start
            setattr(self, name, getattr(self, name) + spent - self._within)
            self._within = around + spent

    def move(self, seconds: float, name: str, to: str) -> None:
        """Count seconds to another phase."""
        setattr(self, name, getattr(self, name) - seconds)
        setattr(self, to, getattr(self, to) + seconds)


@dataclass(frozen=True)
class Gradient:
    """A value and its derivatives (p,) by the parameters of the analysis, and their estimated discretisation errors.

    Derivatives by ``undefined`` parameters are NaN, for a reason.
    """

    value: float
    gradient: np.ndarray
    uncertainty: Any = None  # assembly.uncertainty.Uncertainty; None where only numbers are compared
    undefined: Mapping[str, str] = field(default_factory=dict)


def load(path: Path, settings: Settings) -> Any:
    """Read and validate a model file."""
    from mbsim_cli import spec

    return spec.load(path, settings.overrides)


def method_of(model_file: Any, settings: Settings) -> str:
    """Sensitivity method: the command line's, else the file's."""
    return settings.method or model_file.analysis.sensitivity.method


def build(model_file: Any, settings: Settings, parameters: list[str] | None) -> Any:
    """Assemble a model; ``parameters`` are those of the direct method, None for the file's choice."""
    from mbsim_cli import assembly

    _require_applicable(model_file.analysis.type, settings)
    formulation = settings.formulation or getattr(model_file.analysis, "formulation", model_file.analysis.type)
    if settings.integrator and formulation not in OPEN_TREES:
        raise UsageError(
            f"--integrator is for open trees ({', '.join(OPEN_TREES)}); {formulation} has none to choose from"
        )
    method = "none" if parameters == [] else "ddm"
    assembled = assembly.build(
        model_file, sensitivity_parameters=parameters, sensitivity=method, read_table=_read_table, **settings.options
    )
    options = assembled.problem.options
    if (settings.step or settings.duration) and options.step > options.duration * (1 + 1e-9):
        raise UsageError(f"the step {options.step:g} s is longer than the duration {options.duration:g} s")
    if settings.tolerance and options.open_tree and options.integrator == "rk4":
        raise UsageError("--tolerance is for adaptive integrators; rk4 takes fixed steps, which --step sets")
    return assembled


def _require_applicable(kind: str, settings: Settings) -> None:
    """Raise UsageError for an option that the kind of analysis has no use for."""
    for name in _WITHOUT.get(kind, ()):
        if getattr(settings, name) is not None:
            raise UsageError(f"--{name} means nothing to an analysis of type {kind}; leave it out")


def _read_table(path: Path, delimiter: str = ",") -> dict[str, np.ndarray]:
    from mbsim_cli.io.tables import read_table

    return read_table(path, delimiter)


def blocks_of(problem: Problem, theta: np.ndarray | None = None) -> Iterator[Any]:
    """Every instant of the analysis that the problem asks for; ``theta`` may replace the numbers of a simulation."""
    last = -1.0
    try:
        for block in _blocks(problem, theta):
            yield block
            last = block.time[-1] if len(block.time) else last
    except AnalysisError as failure:
        from mbsim_cli.assembly.ranges import until_left

        if theta is None:
            yield from until_left(problem, last, lambda changed: _blocks(changed, None), failure)
        raise


def _blocks(problem: Problem, theta: np.ndarray | None) -> Iterator[Any]:
    if problem.options.analysis == "inverse_dynamics":
        from mbsim_cli.solve.inverse_dynamics import inverse

        return inverse(problem)
    if problem.options.analysis == "equilibrium":
        from mbsim_cli.solve.equilibrium import equilibrium

        return equilibrium(problem, theta=theta)
    from mbsim_cli.solve.forward import forward

    return forward(replace(problem, options=replace(problem.options, output_interval=1)), theta=theta)


def resolution_of(problem: Problem) -> Any:
    """What watches how well the steps of an analysis resolve its motion."""
    from mbsim_cli.solve import resolution

    return resolution.resolution_of(problem)


def compile_kernels(problem: Problem, quiet: bool, theta: np.ndarray | None = None) -> float:
    """Load or compile what the analysis needs, by its first step; return the seconds it took."""
    start = perf_counter()
    from mbsim_cli.kernels import _jit

    first_step = replace(problem, options=replace(problem.options, duration=problem.options.step))
    sentences = [COMPILING if theta is None else COMPILING_COMPLEX]
    with _jit.watch_compilation(lambda: say(sentences.pop(), quiet), lambda: say(WAITING, quiet)):
        deque(blocks_of(first_step, theta), maxlen=0)
    if _jit.STORE.trouble and not sentences:
        say(NOT_KEPT.format(_jit.STORE.trouble), quiet)
    return perf_counter() - start


def compile_objectives(objectives: Sequence[Any]) -> None:
    """Compile the expressions of objectives, which loads what differentiates them: no part of solving."""
    for objective in objectives:
        objective.integrand  # noqa: B018
        compile_objectives(objective.operands)


def evaluate(
    problem: Problem,
    objectives: Sequence[Any],
    consumers: Sequence[Callable[[Block], None]] = (),
    resolution: Any = None,
) -> dict[str, Gradient]:
    """Run the analysis once; every block goes to the consumers. Return the objectives.

    Objectives need every step, so thinning is left to the consumers. ``resolution`` watches how well the steps
    resolve the motion.
    """
    unknown, undefined = UnknownReactions(problem, objectives), UndefinedDirections(problem.names)
    watch = (*consumers, unknown.add, undefined.add)
    accumulators = _accumulate(problem, objectives, watch, resolution=resolution)
    reasons, parameters = undefined.reasons, problem.names.parameters
    results = {
        name: Gradient(float(a.value), masked(a.gradient, parameters, reasons), _uncertainty(a, resolution), reasons)
        for name, a in accumulators.items()
    }
    _require_finite(results, unknown.objectives)
    return results


def _uncertainty(accumulator: Any, resolution: Any) -> Any:
    found = accumulator.uncertainty
    return found if resolution is None or resolution.enough else found.unknown()


def _accumulate(
    problem: Problem,
    objectives: Sequence[Any],
    consumers: Sequence[Callable[[Block], None]] = (),
    theta: np.ndarray | None = None,
    resolution: Any = None,
) -> dict[str, Any]:
    """Accumulators of the objectives after a run; inside a shield, interruption waits for the end of a block."""
    from mbsim_cli.assembly.objectives import Accumulator

    p = problem.theta_rho.shape[1]
    accumulators = {objective.name: Accumulator(objective, p) for objective in objectives}
    with np.errstate(all="ignore"):  # what is not finite is reported by the caller, as a sentence
        for block in blocks_of(problem, theta):
            shift = resolution.add(block) if resolution else None
            for take in consumers:
                take(block)
            for accumulator in accumulators.values():
                accumulator.add(block, shift)
            poll()
    return accumulators


def complex_steps(assembled: Any, quiet: bool) -> dict[str, Gradient]:
    """Objectives and their gradients by one run a parameter, in complex numbers: no derivative of ours is used."""
    from mbsim_cli.assembly.objectives import stepped

    problem: Problem = assembled.problem
    directions = problem.theta_rho.T
    options = replace(problem.options, sensitivity="none")
    if not options.open_tree:
        options = replace(options, tolerance=CONVERGED)
    plain = replace(problem, theta_rho=problem.theta_rho[:, :0], options=options)
    compile_kernels(plain, quiet, problem.theta.astype(complex))
    unknown = UnknownReactions(plain, assembled.objectives)
    values = np.zeros((len(directions), len(assembled.objectives)), complex)
    for k, (parameter, direction) in enumerate(zip(assembled.parameters, directions, strict=True)):
        moved = [stepped(objective, k, complex(parameter.value, STEP)) for objective in assembled.objectives]
        run = _accumulate(plain, moved, (unknown.add,), theta=problem.theta + 1j * STEP * direction)
        values[k] = [accumulator.value for accumulator in run.values()]
    names = [objective.name for objective in assembled.objectives]
    results = {n: Gradient(float(v[0].real), v.imag / STEP) for n, v in zip(names, values.T, strict=True)}
    _require_finite(results, unknown.objectives)
    return results


def _require_finite(results: Mapping[str, Gradient], unknown: Collection[str]) -> None:
    """Raise AnalysisError where an objective is no number, other than those that are known not to be."""
    for name, result in results.items():
        undefined = np.count_nonzero(~np.isfinite(result.gradient)) > len(result.undefined)
        if name not in unknown and (undefined or not np.isfinite(result.value)):
            raise AnalysisError(
                f"objective {name} is not a finite number; its integrand may divide by zero or overflow on this motion"
            )


def values_at(path: Path, settings: Settings, model_file: Any, changes: Mapping[str, float]) -> np.ndarray:
    """Objectives of a whole new analysis, from the file on, with changed parameters.

    A change is added to whatever defines the parameter, so that those defined by others still follow them.
    """
    overrides = dict(settings.overrides)
    for name, change in changes.items():
        number = model_file.parameters[name].value
        defined = overrides.get(name) or (number.text if number.literal is None else repr(number.literal))
        overrides[name] = f"({defined}) + ({float(change)!r})"
    changed = replace(settings, overrides=overrides)
    assembled = build(load(path, changed), changed, [])
    health = health_of(assembled.problem, assembled.objectives)
    values = evaluate(assembled.problem, assembled.objectives, (health.add,))
    if health.drifts:
        raise AnalysisError(f"the mechanism does not stay assembled: constraints are violated by {health.drift:.1e}")
    return np.array([result.value for result in values.values()])
