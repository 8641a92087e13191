"""A model that is loaded once and runs at many values of its parameters, and the keywords that its methods take."""

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from math import nan
from os import PathLike
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np

from mbsim_cli.assembly.packing import parameter_values
from mbsim_cli.errors import MbsimError, UsageError, expected_size, require_names, require_whole
from mbsim_cli.model.codes import AUTO_INTEGRATOR, INTEGRATORS
from mbsim_cli.model.layout import FlexibleTree
from mbsim_cli.spec.analysis import FORMULATIONS, METHODS
from mbsim_cli.spec.model_file import ModelFile
from mbsim_cli.spec.reading.messages import Named, nearest, suggest
from mbsim_cli.study.assembling import AUTO, Settings, build, named_or_only
from mbsim_cli.study.assembling import load as read
from mbsim_cli.study.listener import SILENT, DeferredInterrupts, Listener
from mbsim_cli.study.plan import Plan, Timing, gradient_parameters, moved, plan_run
from mbsim_cli.study.recording import MemoryRecord
from mbsim_cli.study.result import Residuals, Result
from mbsim_cli.study.run import objectives_of, run
from mbsim_cli.system import helpful

if TYPE_CHECKING:
    from mbsim_cli.assembly.problem import Assembled
    from mbsim_cli.study.fitting.fit import Fit
    from mbsim_cli.study.linearizing import StateSpace
    from mbsim_cli.study.mechanics import Constraints, Mechanics, Motion, State
    from mbsim_cli.study.sweep.study import Study
    from mbsim_cli.study.sweep.study_folder import StudyFolder


_CHOICES = {"sensitivity": METHODS, "formulation": FORMULATIONS, "integrator": (*INTEGRATORS, AUTO_INTEGRATOR)}
_SIZES = {"tolerance": "", "step": " of seconds", "duration": " of seconds", "memory": " of bytes", "accuracy": ""}
OPTIONS = (*_CHOICES, *_SIZES)
PARAMETERS = "parameters"  # the keyword that takes values by name, whatever the names are


def require_distinct(replaced: Mapping[str, Any], names: Collection[str]) -> None:
    """Raise UsageError for an option among keyword arguments that is one of the ``names`` of parameters, too."""
    if PARAMETERS in replaced:
        return  # names beside it are those of options
    for name in OPTIONS:
        if replaced.get(name) is not None and name in names:
            both = f"{name!r} is an option and a parameter of the file; parameters={{{name!r}: ...}} sets the parameter"
            raise UsageError(f"{both}, and {name}=... beside parameters={{}} is the option")


def options_in(replaced: Mapping[str, Any]) -> dict[str, Any]:
    """Options among keyword arguments, by the names of ``Settings``; raise UsageError for invalid values."""
    found = {name: _option(name, replaced[name]) for name in OPTIONS if replaced.get(name) is not None}
    return {"method" if name == "sensitivity" else name: value for name, value in found.items()}


def values_in(replaced: Mapping[str, Any]) -> dict[str, float]:
    """Values of parameters among keyword arguments; raise UsageError for values that are not numbers."""
    others = {name: value for name, value in replaced.items() if name not in (*OPTIONS, PARAMETERS)}
    return united(others, replaced.get(PARAMETERS))


def united(values: Mapping[str, Any], parameters: Any) -> dict[str, float]:
    """Values of keyword arguments, and of the mapping ``parameters``, which may be None."""
    stated = {} if parameters is None else parameters
    if not isinstance(stated, Mapping):
        raise UsageError(f"parameters must be a mapping of names to numbers, not {stated!r}")
    if twice := sorted(map(str, values.keys() & stated.keys())):
        raise UsageError(f"the value of {', '.join(twice)} is given twice, in parameters and as a keyword argument")
    return numbers_of({**values, **stated})


def numbers_of(values: Mapping[str, Any]) -> dict[str, float]:
    """Values of parameters by name; raise UsageError for values that are not numbers."""
    found = {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise UsageError(f"parameters go by their names, not by {name!r}")
        if (number := _number(value)) is None:
            option = nearest(name, OPTIONS)
            hint = f"; did you mean the option {option!r}?" if option else ""
            raise UsageError(f"parameter {name!r} must be a finite number, not {value!r}{hint}")
        found[name] = number
    return found


def _option(name: str, value: Any) -> Any:
    if choices := _CHOICES.get(name):
        if value not in choices:
            hint = suggest(str(value), choices) or f"known: {', '.join(choices)}"
            raise UsageError(f"{name} {value!r} is unknown; {hint}")
        return value
    if name == "step" and value == AUTO:
        return value
    number, relative = _number(value), name in ("tolerance", "accuracy")
    if expected := expected_size(nan if number is None else number, _SIZES[name], relative):
        raise UsageError(f"{name} must be {expected}{', or auto' * (name == 'step')}, not {value!r}")
    return number


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, str | bool) else float(value)
    except (TypeError, ValueError):
        return None


Values = Sequence[float] | np.ndarray | Mapping[str, float]  # of parameters, in their order or by name


class Model:
    """A validated model file; it never changes, so that several threads may run it at once.

    Keyword arguments that replace options of the analysis are those of ``mbsim run``: ``sensitivity`` (none, ddm,
    adjoint, auto or fd), ``formulation``, ``integrator``, ``tolerance``, ``step`` (s, or "auto"), ``accuracy``,
    ``duration`` (s), ``memory`` (bytes). Other keyword arguments are values of parameters, as are all names in
    ``parameters``, a mapping: it takes names that are options, too. ``file`` is the validated file, with ``settings``.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        by: Sequence[str] | None = None,
        all_numbers: bool = False,
        listener: Listener = SILENT,
        parameters: Mapping[str, float] | None = None,
        _texts: Mapping[str, str] | None = None,
        **values: float,
    ):
        """Read and validate a file; ``values``, and ``parameters`` by name, replace its parameters, and constants.

        Gradients are taken ``by`` these parameters, in this order, None for those that the file says. With
        ``all_numbers`` every number of the file is a parameter, named by its path, as ``points.P1.rod.x``. The
        ``listener`` receives messages and progress, and may end a run. Raises ModelError with all that is wrong,
        InputOutputError where the file cannot be read, and UsageError for a name that it does not have.
        """
        overrides = {name: repr(value) for name, value in united(values, parameters).items()}
        self._read(Path(path), Settings(overrides=overrides, all_numbers=all_numbers), listener, by, _texts)

    def _read(
        self,
        path: Path,
        settings: Settings,
        listener: Listener,
        by: Sequence[str] | None = None,
        texts: Mapping[str, str] | None = None,
    ) -> None:
        self.path, self.settings, self._listener = path, settings, listener
        self.file = read(path, settings, texts)
        self._by = None if by is None else self._known(by)
        self._assembled: Assembled | None = None  # whose tables serve further runs
        self._mechanics = local()

    def __repr__(self) -> str:
        named = f"{self.file.name} ({self.path})" if self.file.name else str(self.path)
        objectives = ", ".join(self.objectives) or "none"
        return f"<mbsim model: {named}; {len(self.parameters)} parameters, objectives: {objectives}>"

    def __getstate__(self) -> tuple[Any, ...]:
        """The texts that were read, whatever has become of their files; tables are read anew."""
        return self.path, self.settings, self._listener, self._by, dict(self.file.source.texts)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._read(*state)

    @property
    def parameters(self) -> dict[str, float]:
        """Values of all parameters by name, in the units of the file."""
        scope, label = self.file.expressions.scope(), self.file.parameter_label
        return Named("parameter", {label(name): float(scope[name].real) for name in self.file.parameters})

    @property
    def differentiated(self) -> tuple[str, ...]:
        """Parameters that gradients are taken by, p of them: as ``by`` says, else in the order of the file."""
        if self._by is not None:
            return self._by
        stated = self.file.analysis.sensitivity.parameters
        return tuple(self.parameters if stated == "all" or self.settings.all_numbers else stated)

    @property
    def rho(self) -> np.ndarray:
        """Values (p,) of the parameters that gradients are taken by, where a search begins."""
        values = self.parameters
        return np.array([values[name] for name in self.differentiated])

    @property
    def bounds(self) -> np.ndarray:
        """Least and largest values (p, 2) that the file allows them, infinite where it has none."""
        declared = {p.name: p.bounds for p in parameter_values(self.file, list(self.file.parameters))}
        pairs = [declared[name] or (-np.inf, np.inf) for name in self.differentiated]
        return np.array(pairs).reshape(-1, 2)

    @property
    def objectives(self) -> tuple[str, ...]:
        """Names of the objectives."""
        return tuple(self.file.objectives)

    def run(self, rho: Values | None = None, **replaced: Any) -> Result:
        """Run the analysis and return everything that it found; nothing is written.

        ``rho`` (p,) are values of the parameters ``differentiated``, or of any by name; keyword arguments replace
        parameters by their names, and options of the analysis. Raises ModelError, AnalysisError or UsageError.
        """
        require_distinct(replaced, self.parameters)
        return self.recorded(rho, replaced)

    def recorded(
        self, rho: Values | None, replaced: Mapping[str, Any], every: int | None = None, second_run: bool = True
    ) -> Result:
        """The result of a run with every ``every``-th time point, None: as the file says; errors by a second run."""
        plan, timing = self._plan(rho, replaced)
        plan = plan._replace(second_run=second_run)
        record = MemoryRecord(plan, every)
        with timing.phase("compile"):
            plan.compile(self._listener)
        outcome = run(plan, timing, self._listener, record.add)
        record.end(outcome)
        return Result(record, {"model": str(self.path)} | outcome.report)

    def linearize(
        self,
        at: str | float = "equilibrium",
        *,
        inputs: Sequence[str] = (),
        outputs: Sequence[str] | None = None,
        **values: Any,
    ) -> "StateSpace":
        """State space of small motions about the static equilibrium, the ``start``, or a time of the motion, s.

        ``inputs`` name forces, and laws of forces, ``outputs`` sensors, None for all. Other keyword arguments are
        values of parameters. Raises UsageError, ModelError and AnalysisError.
        """
        from mbsim_cli.study.linearizing import linearized

        if isinstance(at, bool) or not (at in ("equilibrium", "start") or (isinstance(at, int | float) and at >= 0)):
            raise UsageError(f"at must be 'equilibrium', 'start' or a time in seconds, not {at!r}")
        plan, _ = self._plan(None, {"sensitivity": "none", "parameters": values_in(values)})
        return linearized(plan.assembled, at, inputs, outputs)

    def run_many(self, rho: Sequence[Values] | np.ndarray, *, threads: int = 0, **replaced: Any) -> list[Result]:
        """Results of runs at rows of ``rho`` (N, p), or at N mappings of names to values, in their order.

        ``threads`` is the number of runs at once, 0: one for each processor. Other arguments and exceptions are those
        of ``run``; an exception has a note with the row that raised it.
        """
        from concurrent.futures import ThreadPoolExecutor

        require_whole("threads", threads, meaning=", 0 for one on each processor")

        def of(row: int) -> Result:
            try:
                return self.run(rho[row], **replaced)
            except MbsimError as error:
                error.add_note(f"row {row} of rho")
                raise

        with ThreadPoolExecutor(threads or helpful(max(1, len(rho)))) as pool:
            return list(pool.map(of, range(len(rho))))

    def mechanics(self, rho: Values | None = None, **parameters: Any) -> "Mechanics":
        """The mechanism at one time point, at values of its parameters as of ``run``.

        Without any it is saved, one for each thread. Raises ModelError and AnalysisError.
        """
        if rho is None and not parameters and (saved := getattr(self._mechanics, "saved", None)):
            return saved
        from mbsim_cli.study.mechanics import Mechanics

        settings, by, values = self._input(rho, {"sensitivity": "ddm", "parameters": values_in(parameters)})
        file, settings = moved(self.file, settings, values)
        found = Mechanics(build(file, settings, gradient_parameters("ddm", file, settings, by), self._assembled))
        if rho is None and not parameters:
            self._mechanics.saved = found
        return found

    def state(self, t: float = 0.0) -> "State":
        """Positions and velocities (n,) at the start, or at a time of the motion: see ``Mechanics.state``."""
        return self.mechanics().state(t)

    def mass_matrix(self, q: Any, t: float = 0.0, *, derivatives: bool = False) -> Any:
        """M (n, n): see ``Mechanics.mass_matrix``."""
        return self.mechanics().mass_matrix(q, t, derivatives=derivatives)

    def forces(self, q: Any, v: Any, t: float = 0.0, *, derivatives: bool = False) -> Any:
        """Q (n,): see ``Mechanics.forces``."""
        return self.mechanics().forces(q, v, t, derivatives=derivatives)

    def accelerations(self, q: Any, v: Any, t: float = 0.0, *, forces: Any = None, derivatives: bool = False) -> Any:
        """q'' (n,): see ``Mechanics.accelerations``."""
        return self.mechanics().accelerations(q, v, t, forces=forces, derivatives=derivatives)

    def constraints(self, q: Any, v: Any = None, t: float = 0.0) -> "Constraints":
        """Phi (m,) and its Jacobian: see ``Mechanics.constraints``."""
        return self.mechanics().constraints(q, v, t)

    def inverse_dynamics(self, q: Any, v: Any, a: Any, t: float = 0.0, **asked: Any) -> Any:
        """Forces of a motion: see ``Mechanics.inverse_dynamics``."""
        return self.mechanics().inverse_dynamics(q, v, a, t, **asked)

    def kinematics(self, q: Any, v: Any = None, a: Any = None, t: float = 0.0, **asked: Any) -> "Motion":
        """Motion of bodies and points: see ``Mechanics.kinematics``."""
        return self.mechanics().kinematics(q, v, a, t, **asked)

    def step(self, q: Any, v: Any, h: float, t: float = 0.0, *, forces: Any = None) -> "State":
        """The state a time h later: see ``Mechanics.step``."""
        return self.mechanics().step(q, v, h, t, forces=forces)

    def sweep(
        self,
        study: str | Mapping[str, Any] | None = None,
        folder: str | PathLike[str] | None = None,
        *,
        workers: int = 1,
        keep: str | None = None,
        case_timeout: float | None = None,
        max_failures: int | None = None,
        force: bool = False,
        **replaced: Any,
    ) -> "Study":
        """Compute or continue a parameter study, as ``mbsim sweep`` does, and return it.

        ``study`` is the name of one that the file states, None for the only one, or a mapping as under ``study`` in a
        file, with lists or arrays: ``{"zip": {"L_s1": values, "m_A1": others}}``, ``{"sobol": {"parameters": ["L_s1"],
        "count": 64}}``. Rows are stored in ``folder`` (MODEL-STUDY) as they are computed, and the same call continues
        a study that was interrupted; a folder of another study is refused without ``force``, which clears it.

        ``workers`` is the number of processes: 1 is this one, 0 is one for each processor. ``keep`` is "objectives",
        "sensors" or "full". A case that fails, or takes more than ``case_timeout`` seconds, is a row; more than
        ``max_failures`` of them raise AnalysisError. Other keyword arguments replace parameters and options of the
        analysis, as of ``run``. Raises ModelError, UsageError and InputOutputError; after Ctrl-C, KeyboardInterrupt
        behind a complete row.
        """
        from mbsim_cli.study.sweep.running import Work, run_study
        from mbsim_cli.study.sweep.study import Study

        work = Work(workers, case_timeout, max_failures=max_failures)
        planned = self._planned(study, folder, keep, force, replaced)
        return Study(planned.path, run_study(planned, work, DeferredInterrupts(self._listener)))

    def plan(
        self,
        study: str | Mapping[str, Any] | None = None,
        folder: str | PathLike[str] | None = None,
        *,
        keep: str | None = None,
        force: bool = False,
        **replaced: Any,
    ) -> "Study":
        """Plan a parameter study and compute none of its cases: ``Study.forecast`` and ``Study.compute`` continue.

        Arguments, and what is raised, are those of ``sweep``.
        """
        from mbsim_cli.study.sweep.study import Study

        return Study(self._planned(study, folder, keep, force, replaced).path)

    def _planned(
        self,
        study: str | Mapping[str, Any] | None,
        folder: str | PathLike[str] | None,
        keep: str | None,
        force: bool,
        replaced: Mapping[str, Any],
    ) -> "StudyFolder":
        from mbsim_cli.spec.studies import KINDS
        from mbsim_cli.study.sweep.planning import KEPT, StudyRequest, planned

        file, settings = self._with_values(replaced)
        if self._by is not None:
            settings = replace(settings, by=tuple(map(self._keys.__getitem__, self._by)))
        if settings.all_numbers:
            raise UsageError("a study varies parameters of the file; load the model without all_numbers")
        name, stated = (study, None) if study is None or isinstance(study, str) else (None, dict(study))
        if stated is not None and stated.keys().isdisjoint(KINDS):
            raise UsageError(f"a study states its cases under {', '.join(KINDS)}, as {{'zip': {{'NAME': values}}}}")
        if keep not in (None, *KEPT):
            known = ", ".join(KEPT)
            raise UsageError(f"keep must be one of {known}, not {keep!r}; a study that is stated may have names")
        request, where = StudyRequest(name, stated, keep), None if folder is None else Path(folder)
        return planned(file, request, settings, where, "mbsim_cli.sweep", self._listener, force=force)

    def value_and_gradient(
        self, rho: Values | None = None, objective: str | None = None, **replaced: Any
    ) -> tuple[float, np.ndarray]:
        """Value of an objective and its gradient (p,) by ``differentiated``, as ``scipy.optimize.minimize`` takes them.

        ``rho`` as of ``run``. With several objectives one must be named. Histories are not kept. The method is ddm
        unless ``sensitivity`` says otherwise; the gradient is in the unit of the objective over those of the
        parameters. Raises what ``run`` does.
        """
        require_distinct(replaced, self.parameters)
        name, _ = named_or_only(self.file.objectives, objective, "objective")
        plan, _ = self._plan(rho, {"sensitivity": "ddm", **replaced})
        if plan.method == "none":
            raise UsageError("a gradient takes a method; sensitivity 'none' has none")
        found = objectives_of(plan, self._listener)[name]
        return float(found.value), np.asarray(found.gradient, dtype=float)

    def residuals(
        self,
        measured: Mapping[str, Any],
        *,
        times: Mapping[str, Any] | Sequence[float] | np.ndarray | None = None,
        scales: Mapping[str, float] | None = None,
        **replaced: Any,
    ) -> Residuals:
        """Histories minus measurements, and their Jacobian, as ``scipy.optimize.least_squares`` takes them.

        ``measured`` has values by the names of histories, in their shapes and units, NaN where nothing was measured.
        They were measured at ``times`` (M,), s, one array for all or one by each name: histories are interpolated
        between the steps of the run. Those without times were measured at its output times. Residuals are over
        ``scales`` by name, in the same units, 1 without. Keyword arguments as of ``run``, which is called for values
        and Jacobian once. Raises UsageError.
        """
        require_distinct(replaced, self.parameters)
        return Residuals(self, measured, times, scales, replaced)

    def fit(
        self,
        name: str | None = None,
        *,
        evaluations: int | None = None,
        log: str | PathLike[str] | None = None,
        force: bool = False,
        **replaced: Any,
    ) -> "Fit":
        """Estimate parameters from measurements, as ``mbsim fit`` does and a fit of the file states: that of a name.

        ``evaluations`` replaces those of the file. Evaluations are kept in the file ``log`` until the search has ended,
        so that the same call continues after a kill; ``force`` starts again. Other keyword arguments replace parameters
        and options of the analysis, as of ``run``. Raises ModelError, also for a parameter that no reading depends on,
        AnalysisError, UsageError and InputOutputError.
        """
        from mbsim_cli.study.fitting.fit import fit

        if evaluations is not None:
            require_whole("evaluations", evaluations, 1, ", 1 at least")
        model = self.variant(*self._with_values(replaced), self.differentiated)
        where = None if log is None else Path(log)
        return fit(model, name, evaluations=evaluations, listener=self._listener, log=where, force=force)

    def hessian_vector(
        self, rho: Values | None, direction: Sequence[float] | np.ndarray, objective: str | None = None, **replaced: Any
    ) -> np.ndarray:
        """The Hessian of an objective by ``differentiated``, times a direction (p,), as ``minimize`` takes ``hessp``.

        Returns (p,), without an estimate of the discretisation error. ``rho`` as of ``run``. One run and its adjoint in
        complex numbers: UsageError for natural coordinates, bodies that deform, and other analyses without an adjoint.
        Warns (UserWarning) where forces may have corners: second derivatives lack a term where the motion passes one.
        """
        return self._hessian_columns(rho, np.reshape(direction, (-1, 1)), objective, replaced)[:, 0]

    def hessian(self, rho: Values | None = None, objective: str | None = None, **replaced: Any) -> np.ndarray:
        """The Hessian (p, p) of an objective by ``differentiated``: p products with unit directions.

        Arguments, and what is raised, are those of ``hessian_vector``.
        """
        return self._hessian_columns(rho, np.eye(len(self.differentiated)), objective, replaced)

    def _hessian_columns(
        self, rho: Values | None, directions: np.ndarray, objective: str | None, replaced: dict[str, Any]
    ) -> np.ndarray:
        from mbsim_cli.solve.breakpoints import bends
        from mbsim_cli.study.second_derivatives import hessian_vector

        require_distinct(replaced, self.parameters)
        (name, _), p = named_or_only(self.file.objectives, objective, "objective"), len(self.differentiated)
        if len(directions) != p or not np.isfinite(directions).all():
            raise UsageError(f"a direction is {p} finite numbers: {', '.join(self.differentiated)}")
        if replaced.setdefault("sensitivity", "adjoint") != "adjoint":
            raise UsageError("second derivatives are those of the adjoint; leave sensitivity out")
        plan, _ = self._plan(rho, replaced)
        problem = plan.assembled.problem
        if isinstance(problem.model.tree, FlexibleTree):
            raise UsageError("models with bodies that deform have no second derivatives")
        if problem.options.natural:
            raise UsageError("natural coordinates have no second derivatives; take coordinates of joints")
        if problem.options.analysis == "forward_dynamics" and bends(problem):
            corner = "where the motion passes a corner of a force, as of max, abs or if"
            warn(f"{corner}, second derivatives lack a term; smooth the corner over several steps", stacklevel=3)
        columns = [hessian_vector(plan.assembled, name, d, self._listener) for d in directions.T.astype(float)]
        return np.stack(columns, axis=1) if columns else np.zeros((0, 0))

    def _with_values(self, replaced: Mapping[str, Any]) -> tuple[ModelFile, Settings]:
        """The file and the settings, with what keyword arguments replace in them."""
        require_distinct(replaced, self.parameters)
        settings, values = replace(self.settings, **options_in(replaced)), values_in(replaced)
        return moved(self.file, settings, values)

    def variant(
        self, file: ModelFile, settings: Settings, by: Sequence[str], listener: Listener | None = None
    ) -> "Model":
        """Copy with another file, settings, parameters of gradients and listener."""
        found = copy(self)
        found.file, found.settings, found._by, found._assembled = file, settings, tuple(by), None
        found._listener, found._mechanics = listener or self._listener, local()
        return found

    @classmethod
    def with_settings(cls, path: Path, settings: Settings, listener: Listener) -> "Model":
        """A model that is read and run with settings as commands have them."""
        found = cls.__new__(cls)
        found._read(path, settings, listener)
        return found

    @property
    def _keys(self) -> dict[str, str]:
        """Names of the parameters in expressions, by those that they are called by."""
        return {self.file.parameter_label(key): key for key in self.file.parameters}

    def _known(self, by: Sequence[str]) -> tuple[str, ...]:
        """Names of parameters, each once; raises UsageError where they are not."""
        known = self._keys
        require_names("by", by)
        for name in by:
            if not isinstance(name, str):
                raise UsageError(f"by must be names of parameters, not {name!r}")
            if name not in known:
                hint = suggest(name, known)
                raise UsageError(f"by: unknown parameter {name!r}" + (f"; {hint}" if hint else ""))
        return tuple(by)

    def _plan(self, rho: Values | None, replaced: Mapping[str, Any]) -> tuple[Plan, Timing]:
        timing = Timing()
        settings, by, values = self._input(rho, replaced)
        plan = plan_run(self.file, settings, timing, self._listener, by, values=values, before=self._assembled)
        self._assembled = plan.named if plan.named.packing.is_reusable else None
        return plan, timing

    def _input(
        self, rho: Values | None, replaced: Mapping[str, Any]
    ) -> tuple[Settings, list[str] | None, dict[str, float]]:
        """Settings, parameters of gradients (None: those of the file) and values of parameters by name."""
        if rho is not None and not isinstance(rho, Mapping):
            names = self.differentiated
            if np.shape(rho) != (len(names),):
                raise UsageError(f"rho has shape {np.shape(rho)}, not ({len(names)},): {', '.join(names)}")
            rho = dict(zip(names, rho, strict=True))
        by_name, by_keyword = numbers_of(rho or {}), values_in(replaced)
        if twice := sorted(by_name.keys() & by_keyword.keys()):
            raise UsageError(f"the value of {', '.join(twice)} is given twice, by name and as a keyword argument")
        settings = replace(self.settings, **options_in(replaced))
        by = None if self._by is None else list(map(self._keys.__getitem__, self._by))
        return settings, by, by_name | by_keyword
