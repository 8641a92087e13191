"""All that a model file brings about, in the order of what it costs to find out."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from mbsim_cli.assembly import Assembled
from mbsim_cli.assembly.scene import moving_scene
from mbsim_cli.errors import InputOutputError, MbsimError
from mbsim_cli.model.problem import Block, Problem
from mbsim_cli.solve import allocate
from mbsim_cli.solve.open_trees.integration import error_control, newton_control, tableau
from mbsim_cli.study import evaluation, verification
from mbsim_cli.study.assembling import AUTO, Settings, build, chosen, stated_method
from mbsim_cli.study.diagnostics.discretisation import Estimates
from mbsim_cli.study.fitting.readings import measured_of
from mbsim_cli.study.listener import SILENT, Listener
from mbsim_cli.study.objectives import accumulator
from mbsim_cli.study.optimizing.design import variables_of
from mbsim_cli.study.optimizing.methods import method_for
from mbsim_cli.study.optimizing.optimize import limits_of
from mbsim_cli.study.plan import Plan, Timing, gradient_parameters
from mbsim_cli.study.reduced_bodies import comment_of, descriptions, flexible_bodies, standard_input
from mbsim_cli.study.sweep.planning import columns_of, design_of
from tests.reduction.reduced import reduce_body

SAME = 1e-10  # relative difference of numbers that round-off makes
INSTANTS = 5
PLAIN = Settings()
_REDUCED: dict[str, Any] = {}


class Effects:
    """What a model file leads to; each part is found when it is first asked for."""

    def __init__(self, model_file: Any):
        self.file = model_file
        self.bodies = [] if model_file.joints else flexible_bodies(model_file)
        if self.bodies:  # is reduced, not run
            self.reduced  # noqa: B018
            return
        stated = stated_method(model_file, PLAIN)
        parameters = gradient_parameters("ddm" if stated == AUTO else stated, model_file, PLAIN)
        self.assembled: Assembled = build(model_file, PLAIN, parameters)
        self.method = chosen(model_file, PLAIN, self.assembled)[0] if stated == AUTO else stated

    def looks(self, section: str) -> tuple[str, ...]:
        """Attributes that show what a section may change, cheap ones first."""
        if self.bodies:
            return ("reduced", "comments")
        of_section = {"checks": ("checked", "told"), "study": ("studied", "told")}
        of_section |= {"measurements": ("measured",), "fit": ("fitted",)}
        of_section |= {"optimization": ("optimized", "told"), "fields": ("solver", "optimized")}
        return of_section.get(section, ("solver", "objectives", "told", "scene"))

    def differs(self, other: "Effects", section: str) -> bool:
        """Whether anything that a section may change is not the same."""
        return any(differ(getattr(self, name), getattr(other, name)) for name in self.looks(section))

    @cached_property
    def reduced(self) -> Any:
        """What ``mbsim reduce`` gives of every body."""
        return {name: self._reduced(name) for name in self.bodies}

    @cached_property
    def comments(self) -> list[str]:
        """What the reduced bodies say that they are of."""
        return [comment_of(self.file, name) for name in self.bodies]

    def _reduced(self, name: str) -> Any:
        """Terms of a body; those of one that stays as it was are known."""
        key = repr((name, self.file.bodies[name], self.file.materials, self.file.fields))
        if key not in _REDUCED:
            _REDUCED[key] = dict(reduce_body(self.file, name).items())
        return _REDUCED[key]

    @cached_property
    def descriptions(self) -> dict[str, str]:
        """Free texts as they are shown."""
        return descriptions(self.file) if self.bodies else self.assembled.info["descriptions"]

    @cached_property
    def solver(self) -> Any:
        """What the solver receives."""
        p = self.assembled.problem
        numbers = (
            p.theta,
            p.theta_rho,
            p.independent,
            p.independent_velocity,
            p.automatic,
            p.hold,
            p.prescribed,
            p.reacting,
            p.moved,
        )
        return (p.model, p.names, self.assembled.sensor_rows, numbers, self.method, controls(p))

    @cached_property
    def objectives(self) -> Any:
        """What the objectives make of one and the same record, with their names and units."""
        width = int(max((rows.stop for rows in self.assembled.sensor_rows.values()), default=0))
        p = self.assembled.problem.theta_rho.shape[1]
        block = record(width, p)
        found = []
        for objective in self.assembled.objectives:
            adding = accumulator(objective, p)
            adding.add(block)
            found.append((objective.name, objective.unit, objective.description, adding.value, adding.gradient))
        return found, list(self.assembled.parameters)

    @cached_property
    def told(self) -> Any:
        """What ``mbsim info`` tells, but for the places where a parameter stands: they say nothing of what it does."""
        info = self.assembled.info
        return info | {"parameters": [p | {"used_in": None} for p in info["parameters"]]}

    @cached_property
    def scene(self) -> Any:
        """What ``mbsim animate`` draws."""
        return moving_scene(self.file, standard_input)

    @cached_property
    def studied(self) -> Any:
        """What ``mbsim sweep`` computes and keeps."""

        def read(stated: Any) -> Any:
            return columns_of(stated, Path(self.file.source.file).parent / stated.file, self.file.parameters)

        def design(study: Any) -> Any:
            try:
                return design_of(study, self.file, read)
            except InputOutputError as error:
                return str(error)

        return {name: (design(study), study.sensitivity, study.keep) for name, study in self.file.study.items()}

    @cached_property
    def optimized(self) -> Any:
        """What ``mbsim optimize`` searches, how and for how long."""
        number, found = self.file.expressions.value, {}
        for name, given in self.file.optimization.items():
            variables = variables_of(self.file, given.varied)
            limits = limits_of(self.file, given)
            ranges = {field: list(map(number, self.file.fields[field].bounds)) for field in given.fields}
            numbers = (
                ranges,
                variables.start,
                variables.low,
                variables.high,
                variables.log,
                number(given.tolerance).real,
            )
            method = method_for(given.algorithm, len(variables.names))
            asked = (given.minimize, given.maximize, variables.names, limits, method, given.evaluations)
            found[name] = (*asked, *numbers)
        return found

    @cached_property
    def measured(self) -> Any:
        """What ``mbsim fit`` compares the model with."""
        number, found = self.file.expressions.value, {}
        for name in self.file.measurements:
            try:
                measured = measured_of(self.file, name)
            except MbsimError as error:
                found[name] = str(error)
                continue
            for column in measured.columns:
                given = column.given
                noise = given.sigma if given.sigma == "auto" else number(given.sigma)
                numbers = (number(given.offset), number(given.scale), number(given.delay), noise, given.sensor)
                found[name, column.name] = (column.times, column.readings, numbers)
            found[name] = {parameter: number(value) for parameter, value in measured.given.parameters.items()}
        return found

    @cached_property
    def fitted(self) -> Any:
        """What ``mbsim fit`` searches, how and for how long."""
        number = self.file.expressions.value
        return {
            name: (
                *vars(variables_of(self.file, given.parameters)).values(),
                given.measurements,
                given.hold_out,
                given.loss,
                None if given.loss_scale is None else number(given.loss_scale),
                given.evaluations,
                number(given.tolerance),
            )
            for name, given in self.file.fit.items()
        }

    @cached_property
    def checked(self) -> Any:
        """What ``mbsim check`` compares, by a stand-in for the solver and without differences of analyses."""
        stand_ins = {
            "load": lambda *_: self.file,
            "run": _outcome,
            "along_direction": lambda *_: (),
        }
        with (
            patch.multiple(verification, **stand_ins),
            patch.object(verification, "compile_kernels"),
            patch.object(Plan, "compile"),
            patch.object(evaluation, "blocks_of", _blocks),
        ):
            return verification.verify(Path("model.yaml"), replace(PLAIN, method="ddm"), 0, SILENT)


def controls(problem: Problem) -> Any:
    """Numbers and choices as the integrators get them."""
    options = problem.options
    steps = round(options.duration / options.step)
    if options.analysis != "forward_dynamics":
        return options.analysis, options.sensitivity, steps, options.step
    common = options.formulation, options.start, options.output_interval, steps, options.sensitivity
    if not options.open_tree:
        return (*common, allocate.control(problem, redundant=False))
    method, varies = tableau(options.integrator), options.sensitivity == "ddm"
    implicit = newton_control(options, stepped=False) if options.integrator == "esdirk" else None
    return (*common, options.step, method, error_control(options, varies=varies), implicit)


def _outcome(plan: Plan, timing: Timing, listener: Listener, add: Callable[[Block], None]) -> Any:
    """Objectives of a record that is anything, and no doubts about it."""
    results = evaluation.evaluate(plan.assembled.problem, plan.assembled.objectives, (add,))
    diagnostics = SimpleNamespace(health=SimpleNamespace(divided_order=0.0))
    found = {"plan": plan, "results": results, "estimates": Estimates(results)}
    return SimpleNamespace(**found, warnings=(), diagnostics=diagnostics)


def _blocks(problem: Problem, theta: np.ndarray | None = None, tape: Any = None) -> Iterator[Block]:
    yield record(int(problem.model.sensors.first[-1]), problem.theta_rho.shape[1])


def record(width: int, p: int) -> Block:
    """A record of sensors that are anything."""
    random = np.random.default_rng(0)
    empty = {name: np.zeros(INSTANTS) for name in Block._fields}
    sensors, d_sensors = random.uniform(0.1, 1, (INSTANTS, width)), random.uniform(0.1, 1, (INSTANTS, width, p))
    given = {"time": np.linspace(0, 0.2, INSTANTS), "sensors": sensors, "d_sensors": d_sensors}
    nothing = dict.fromkeys(("rest", "lost"), np.full(INSTANTS, None))
    nothing |= {"inside": (), "length": None}
    return Block(**empty | given | nothing | {"undetermined": np.zeros(sensors.shape, bool)})


def differ(a: Any, b: Any) -> bool:
    """Whether two results differ by more than round-off."""
    if isinstance(a, float | complex | np.ndarray) or isinstance(b, float | complex | np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or not {a.dtype.kind, b.dtype.kind} <= set("fciu"):
            return a.shape != b.shape or bool((a != b).any())
        size = (
            max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0)) if a.ndim == 0 else np.maximum(abs(a), abs(b))
        )
        with np.errstate(invalid="ignore"):
            same = np.abs(a - b) <= SAME * size
        return not (same | (a == b) | (np.isnan(a) & np.isnan(b))).all()
    if type(a) is not type(b):
        return True
    if is_dataclass(a):
        return any(differ(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, dict):
        return list(a) != list(b) or any(differ(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return len(a) != len(b) or any(map(differ, a, b))
    return bool(a != b)
